"""Acts: what an operator can do in a playbook. One file an act, registered in registry.py."""
