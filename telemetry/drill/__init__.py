"""Drills: an incident is simulated, its cause is hidden, and an operator's diagnosis is scored."""
