"""Many runs: parameter sweeps, tuning, and what follows from their results."""
