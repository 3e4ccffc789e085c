"""The traffic class and PFC priority of a DSCP at one port of a switch."""

from __future__ import annotations

from fabric.configs.model import Device, Port


def value_of(device: Device, port: Port, kind: str, key: int) -> int | None:
    """The value of a map of the port; the identity where a PFC map is absent; None for a hole or no map."""
    found = device.map_of(port, kind)
    if found is None:
        return key if kind.startswith("pfc_to_") else None
    return found.entries.get(key, key if kind == "pfc_to_pg" else None)


def classes_of(device: Device, port: Port, priority: int) -> tuple[int, ...]:
    """Traffic classes that leave in the queue a pause of this priority stops."""
    queue = value_of(device, port, "pfc_to_queue", priority)
    map_ = device.map_of(port, "tc_to_queue")
    return () if map_ is None or queue is None else tuple(tc for tc, q in map_.entries.items() if q == queue)


def lossless_class(device: Device, port: Port, dscp: int) -> tuple[int | None, int | None]:
    """Traffic class of a DSCP, and the PFC priority that protects it; None where there is none."""
    tc = value_of(device, port, "dscp_to_tc", dscp)
    if tc is None:
        return None, None
    return tc, next((p for p in sorted(port.lossless) if tc in classes_of(device, port, p)), None)
