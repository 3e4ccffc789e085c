"""Cisco NX-OS: a running-config to the neutral model."""
