"""The user's file: strict schema, loading with all errors together, and compiling to a run."""
