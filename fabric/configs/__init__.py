"""Vendor configuration text to one neutral QoS model."""
