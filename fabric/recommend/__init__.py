"""Recommended headroom, alpha and marking curve for each class of ports, found by simulated runs."""
