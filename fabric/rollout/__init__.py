"""A rollout of switch configurations: what each edit does, which mixed states are safe, a safe order."""
