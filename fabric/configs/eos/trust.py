"""Which field of a packet gives its traffic class at each EOS port: its DSCP, or its CoS.

A port is switched unless it says `no switchport`; a switched port trusts the CoS and a routed one the DSCP where no
line says more. Members of a port-channel have its mode and its trust. A packet without an 802.1Q tag has the CoS of
the port, 0 without a line. The default DSCP of a port (`qos dscp`) is that of packets without one: it classifies
packets that are not IP, on ports that trust DSCP, and so no RoCEv2 packet. A port of a port-channel or with a profile
that is not in the file, and one with an address, is left as routed: the rest of its lines are elsewhere.
Source: EOS User Manual, "Quality of Service": trust mode, CoS and DSCP of a port, map of CoS to traffic class.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from fabric.configs.model import TRUST_COS, Port
from fabric.configs.running_config.reader import Line, TextReader, numbers

_CLASS_OF_COS: Final = (1, 0, 2, 3, 4, 5, 6, 7)
"""EOS User Manual, "QoS Configuration Procedures": the default CoS to traffic class map."""
ROUTED_BY_DEFAULT: Final = r"switchport default mode routed"
"""Global line after which ports that say nothing are routed."""


@dataclass(slots=True)
class Spoken:
    """Blocks that hold for one port: an interface's own, and those of its profiles, in the order of their lines."""

    blocks: list[Line] = field(default_factory=list)
    policy: str | None = None
    """Of a port-channel: the policy that classifies its packets."""

    def last(self, *patterns: str) -> tuple[Line, str] | None:
        """The last line that matches one of the patterns, and its block."""
        found = None
        for block in self.blocks:
            for pattern in patterns:
                for line, _ in block.find(pattern):
                    if found is None or found[0] is not block or line.number > found[2]:
                        found = block, line.text, line.number
        return None if found is None else found[:2]

    def routed(self, *, by_default: bool) -> bool:
        """Whether the interface is a routed one."""
        texts = [line.text for block in self.blocks for line in block.children]
        modes = [text for text in texts if text.startswith("switchport") or text == "no switchport"]
        if modes:
            return modes[-1] == "no switchport"
        return by_default or any(text.startswith(("ip address ", "ipv6 address ")) for text in texts)


def read_trust(reader: TextReader, spoken: dict[str, Spoken], bundles: dict[str, Spoken]) -> None:
    """Give a map of its own to every port whose packets are classified by their CoS.

    Parameters
    ----------
    spoken     port to its blocks
    bundles    number of a port-channel to its blocks

    A policy decides first; of a port with one the CoS classifies what no class of the policy sets.
    """
    by_default = reader.root.has(ROUTED_BY_DEFAULT)
    classes = _classes(reader)
    profiles = {match[1] for _, match in reader.root.find(r"qos profile (\S+)")}
    _default_dscp(reader, [block for it in (*spoken.values(), *bundles.values()) for block in it.blocks])
    for name, blocks in spoken.items():
        port = reader.device.ports[name]
        own = bundles.get(port.lag.removeprefix("Port-Channel"), blocks) if port.lag else blocks
        stated = own.last(r"qos trust (?:dscp|cos)", r"no qos trust")
        blocks.last(r"qos trust (?:dscp|cos)", r"no qos trust")  # of a member: understood, and of no effect
        profile = own.last(r"service-profile \S+")
        missing = profile is not None and profile[1].split()[1] not in profiles
        elsewhere = missing or (port.lag and own is blocks)
        by_dscp = stated[1] == "qos trust dscp" if stated else elsewhere or own.routed(by_default=by_default)
        if not by_dscp:
            _by_tag(reader, stated[0] if stated else own.blocks[-1], port, own, classes)


def _default_dscp(reader: TextReader, blocks: list[Line]) -> None:
    """`qos dscp` of ports and profiles: only its range matters, since every RoCEv2 packet carries a DSCP."""
    for block in blocks:
        for line, match in block.find(r"qos dscp (\d+)"):
            reader.number(line, match[1], 0, 63, "qos dscp")


def _classes(reader: TextReader) -> list[int]:
    """CoS to traffic class."""
    found = list(_CLASS_OF_COS)
    for _, match in reader.root.find(r"qos map cos ([\d ,-]+) to traffic-class ([0-7])"):
        for cos in numbers(match[1].replace(" ", ","), 7):
            found[cos] = int(match[2])
    return found


def _by_tag(reader: TextReader, block: Line, port: Port, own: Spoken, classes: list[int]) -> None:
    """All packets, or those that a policy says nothing of, have the class of the port's CoS: hosts send no tag."""
    where = reader.note(block, *block.text.split(" ", 1))
    cos = own.last(r"qos cos [0-7]")
    entries = dict.fromkeys(range(64), classes[int(cos[1][-1]) if cos else 0])
    name = f"{TRUST_COS} in {block.text}" + (f" of {port.name}" if block.text.startswith("qos profile") and cos else "")
    maps = reader.device.maps["dscp_to_tc"]
    policy = maps.get(port.maps.get("dscp_to_tc", ""))
    if policy is None:
        reader.map_("dscp_to_tc", name, where, entries)
    else:
        name = f"{policy.name} and {name}"
        decided = policy.stated or frozenset()
        entries |= {dscp: policy.entries[dscp] for dscp in decided}
        maps[name] = replace(policy, name=name, entries=entries)
    port.maps["dscp_to_tc"] = name
