"""Algorithms of collective operations, one file each; registered in fabric/collectives/registry.py."""
