"""Arista EOS: a running-config to the neutral model."""
