"""Probes: the numbers that the steps of a playbook read. A probe is one definition, registered in registry.py."""
