"""Faults: each compiles to dated edits and a line of ground truth."""
