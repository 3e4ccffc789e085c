"""Fabrics as facts: builders, addressing, paths, analysis, files in and out, drawings. No behaviour of any device."""
