"""Verdicts: headroom arithmetic, conservation laws, queueing theory, and checks of configurations."""
