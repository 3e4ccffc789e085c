"""What the files state of a VXLAN segment, as the lines of the switch's own language.

A reader of configurations derives what acts: whether a segment is in BGP, which targets it imports. In a comparison
each of these stands for a line, and is named as that line.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabric.configs.capabilities import Language
from fabric.configs.identity import Vni
from fabric.configs.model import Where


def segment_lines(language: Language, vni: Vni) -> Iterator[tuple[Where, str]]:
    """Place and value of each line."""
    lines = language in {"eos", "nxos"}
    own = vni.where[-1:] if vni.where and vni.where[-1] in {"vn-segment", "vni"} else ()
    number = vni.where if own or not lines else (*vni.where, "vni")
    yield number, vni.number if lines else "present"
    if not lines:  # a row, or a mapping, has all targets of one direction
        for way, targets in (("import", vni.imports), ("export", vni.exports)):
            field = f"{way}-rts" if language == "sonic" else way
            if targets:
                yield (*vni.targets_where, field), ",".join(sorted(targets))
        if vni.distinguisher and vni.distinguisher_where:
            yield vni.distinguisher_where, vni.distinguisher
        return
    block = vni.targets_where[:-1] if vni.targets_where[-1:] == ("route-target",) else vni.targets_where
    if vni.in_bgp and language == "eos":
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
    if vni.in_tunnel and language == "nxos":
        of_vrf = " associate-vrf" if vni.vrf else ""
        yield ("interface", "nve1", f"member vni {vni.number}{of_vrf}"), "present"
    if vni.group:
        yield ("interface", "nve1", f"member vni {vni.number}", f"mcast-group {vni.group}"), "present"
    elif vni.replicates and language == "nxos":
        yield ("interface", "nve1", f"member vni {vni.number}", "ingress-replication protocol bgp"), "present"
