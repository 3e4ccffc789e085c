"""EVPN and VXLAN tables without I/O. Standard library only. Start reading at vtep.py."""
