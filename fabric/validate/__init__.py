"""The linter of switch configurations: facts, checks, remedies and their output."""
