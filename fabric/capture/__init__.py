"""Packet captures of a run, and journals. A separate process encodes data packets, with scapy."""
