"""Comparison with what is not ours: other simulators' recorded runs, closed forms, published set-ups."""
