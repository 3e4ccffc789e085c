"""Verification of the emulator: invariants, deadlock search, and comparisons with other systems."""
