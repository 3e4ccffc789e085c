"""Command-line options that several verbs share."""
