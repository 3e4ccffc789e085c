"""A checked scenario becomes the parameters, messages and dated edits of one run."""
