"""The memory of a run: a few wide tables, their owners, and the structures that order events in them."""
