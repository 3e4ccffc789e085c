"""Comparison with external references: recorded runs of other simulators, closed forms, published set-ups."""
