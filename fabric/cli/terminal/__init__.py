"""Terminal output of verbs: progress, log lines, and output streams that accept every character."""
