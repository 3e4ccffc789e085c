"""The command line: one file per verb, and the composition root that joins them."""
