"""The result of a run once, in several renderings."""
