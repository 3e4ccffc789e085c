"""Time series of a run, sampled at simulated times and stored in columns."""
