"""A rollout as text, JSON and Markdown."""
