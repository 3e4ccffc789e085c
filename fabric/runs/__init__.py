"""One run from a compiled scenario to a finished run directory, and the interface to read it."""
