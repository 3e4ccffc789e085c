"""Builders: one module for each kind of `topology:`."""
