"""The window loop, the driver around it, and the one interface through which counters are read."""
