"""Root causes from metrics alone: which device, port and class began it, and why. Start reading at diagnose.py."""
