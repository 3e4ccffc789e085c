"""A packet's stations inside a switch, and the laws they apply: buffer, pause, marking, watchdog."""
