"""Congestion control of a queue pair: cuts and increases of its rate."""
