"""Every metric, declared once: names, labels, rows, and how each value follows from a Snapshot."""
