"""Counters that cannot be true: files and scrapes of any exporter, judged without knowing the traffic."""
