"""Simulated proofs of findings: configurations lowered to scenarios, traffic that shows a finding, and its evidence."""
