"""A packet's stations inside a switch, and their rules: buffer, ECN marking, hashing, PFC watchdog."""
