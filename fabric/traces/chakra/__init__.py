"""Chakra execution traces (.et): messages, reader and writer."""
