"""Packet captures of a run. The only package that makes bytes of data packets, with scapy."""
