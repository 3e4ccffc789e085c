"""Packet memory and headroom of switch chips, in any language: formulas, tables of chips, thresholds."""
