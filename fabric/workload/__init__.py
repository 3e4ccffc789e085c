"""Traffic patterns, compiled to a list of messages: source, destination, size, start."""
