"""Who sends what to whom and when: traffic patterns, compiled to a list of messages."""
