"""The schema of a scenario file: one strict model for each mapping."""
