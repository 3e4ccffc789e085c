"""Causes of what a run shows: pause trees, drops, the time of a message, and the report of a run."""
