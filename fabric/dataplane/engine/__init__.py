"""The window loop, the driver around it, and the one door through which counters are read."""
