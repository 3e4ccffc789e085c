"""What the files state of a VXLAN segment, as the lines of the switch's own language.

A reader of configurations derives what acts: whether a segment is in BGP, which targets it imports. In a comparison
each of these stands for a line, and is named as that line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fabric.configs.capabilities import CAPABILITIES, Language
from fabric.configs.identity import Vni
from fabric.configs.model import Where

_TARGETS: Final[Mapping[Language, str]] = {"sonic": "{}-rts", "nvue": "{}"}
"""Names of both directions of targets, where one field has all of a direction."""
_MEMBERS: Final[Mapping[Language, Where]] = {"nxos": ("interface", "nve1")}
"""The tunnel, where its block lists the segments that it carries."""


def segment_lines(language: Language, vni: Vni) -> Iterator[tuple[Where, str]]:
    """Place and value of each line."""
    lines, tunnel = CAPABILITIES[language].blocks_of_lines, _MEMBERS.get(language)
    own = vni.where[-1:] if vni.where and vni.where[-1] in {"vn-segment", "vni"} else ()
    number = vni.where if own or not lines else (*vni.where, "vni")
    yield number, vni.number if lines else "present"
    if not lines:  # a row, or a mapping, has all targets of one direction
        for way, targets in (("import", vni.imports), ("export", vni.exports)):
            if targets:
                yield (*vni.targets_where, _TARGETS[language].format(way)), ",".join(sorted(targets))
        if vni.distinguisher and vni.distinguisher_where:
            yield vni.distinguisher_where, vni.distinguisher
        return
    block = vni.targets_where[:-1] if vni.targets_where[-1:] == ("route-target",) else vni.targets_where
    if vni.in_bgp:
        block = ("router bgp", f"vrf {vni.vrf}" if vni.vrf else f"vlan {vni.vlan}")
        yield block, "present"
    if vni.instance:
        yield ("evpn", f"vni {vni.number}"), "present"
    if vni.learned:
        yield (*block, "redistribute learned"), "present"
    for way, targets in (("import", vni.imports), ("export", vni.exports)):
        for target in targets:
            yield (*block, f"route-target {way} {target}"), "present"
    if vni.distinguisher and vni.distinguisher_where:
        yield vni.distinguisher_where, vni.distinguisher
    if tunnel is None:
        return
    member = f"member vni {vni.number}"
    if vni.in_tunnel:
        yield (*tunnel, f"{member} associate-vrf" if vni.vrf else member), "present"
    if vni.group:
        yield (*tunnel, member, f"mcast-group {vni.group}"), "present"
    elif vni.replicates:
        yield (*tunnel, member, "ingress-replication protocol bgp"), "present"
