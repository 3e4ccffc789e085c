"""Campaigns: random fabrics, loads and faults, and how well the diagnosis names the faults. Start at generate.py."""
