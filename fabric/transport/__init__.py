"""Congestion control of a queue pair: when its rate falls, and how it rises again."""
