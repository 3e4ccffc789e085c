"""Smallest changes that clear findings: their candidates, their trial on copies in memory, and their files."""
