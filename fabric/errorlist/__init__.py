"""The catalogue of errors: every message that refuses an input, with an id, its cause and its remedy."""
