"""Alertmanager: who is told of what, once."""
