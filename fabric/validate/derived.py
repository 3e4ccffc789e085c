"""Values of the model that follow from other statements of a file, replaced by those statements in a comparison.

NX-OS states the priorities with PFC once, in the network-qos policy; those of ports, and the maps to groups and queues,
follow. Cumulus sizes the pools of its RoCE macro by what the ports need, and its watchdog has its timers for all ports,
so that a port states only whether it is on. A watchdog looks at the priorities with PFC.
"""

from __future__ import annotations

from typing import Final

from fabric.configs.model import Device, Where
from fabric.validate.frr_fixes import in_frr

Values = dict[tuple[str, ...], tuple[str, Where]]
"""Path in the model to the value, and the place of the construct that states it."""

_OF_A_CLASS: Final = 4
"""Length of the place of a line of a class: ('policy-map', policy, class, word)."""
_OF_NETWORK_QOS: Final = ("pfc_to_pg", "pfc_to_queue")


def stated(device: Device, other: Device, values: Values) -> Values:
    """The values of a switch without those that follow from others, and with the statements that they follow from.

    Parameters
    ----------
    other    the same switch in the state that it is compared with
    """
    found = {path: value for path, value in values.items() if not _follows(device, path, value[1])}
    for name, port in device.ports.items():
        far = other.ports.get(name)
        if far is None:
            continue
        if port.lossless != far.lossless and (port.watched, far.watched) == (port.lossless, far.lossless):
            found.pop(("ports", name, "watched"), None)
        of_a_class = device.capabilities.pfc_in_one_policy and len(port.pfc_where) == _OF_A_CLASS
        if of_a_class and port.lossless and far.lossless:
            found.pop(("ports", name, "lossless"), None)
            shown = ",".join(map(str, sorted(port.lossless)))
            found["network_qos", *port.pfc_where[1:3], "value"] = shown, (*port.pfc_where[:3], "pause pfc-cos")
        if device.capabilities.watchdog_timers_for_all_ports and (port.watchdog is None) != (far.watchdog is None):
            found = {path: value for path, value in found.items() if path[:3] != ("ports", name, "watchdog")}
            found.pop(("ports", name, "watched"), None)
            place = ("interface", name, "qos", "pfc-watchdog", "state")
            found["ports", name, "watchdog", "value"] = "disable" if port.watchdog is None else "enable", place
    if in_frr(device, device.identity.asn_where):
        found.pop(("identity", "networks"), None)
        for prefix in device.identity.networks:
            where = (device.identity.asn_where[0], "router bgp", f"network {prefix}")
            found["identity", "networks", prefix, "value"] = "present", where
    return found


def _follows(device: Device, path: tuple[str, ...], where: Where) -> bool:
    if device.capabilities.pfc_in_one_policy and path[:1] in {("maps",), ("global_maps",)}:
        return path[1] in _OF_NETWORK_QOS
    return path[:1] == ("pools",) and path[-1] == "size_bytes" and where[-1:] == ("roce",)
