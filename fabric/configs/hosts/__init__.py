"""Captured outputs of a host's tools -> the settings of its NICs, and the traffic class that its applications set."""
