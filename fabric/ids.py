"""Identifiers: plain integers that index tables, kept apart by type."""

from __future__ import annotations

from typing import NewType

NodeId = NewType("NodeId", int)
"""Row of a device (switch or host) in every per-device table."""
PortId = NewType("PortId", int)
"""Row of a port in every per-port table; the ports of one node are contiguous."""
LinkId = NewType("LinkId", int)
"""Row of a cable in Fabric.links."""
QueueId = NewType("QueueId", int)
"""port * 8 + traffic class."""
QpId = NewType("QpId", int)
"""Row of a queue pair."""
Asn = NewType("Asn", int)
"""BGP autonomous system number, 4 bytes (RFC 6793)."""
Vni = NewType("Vni", int)
"""VXLAN network identifier, 24 bits (RFC 7348)."""
