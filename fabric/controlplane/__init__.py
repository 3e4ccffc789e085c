"""Routing protocols without I/O: bytes and times in, actions out. Standard library only."""
