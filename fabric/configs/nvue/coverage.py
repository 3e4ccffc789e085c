"""Which leaves of NVUE's tree the reader uses; every other leaf of the file is listed as not judged.

A pattern is a path with '*' for one word and `swp` for the name of a switch port. It covers the leaf at its end and
everything below it; of QoS, where that end may have keys and nothing below them, one word more. A leaf of QoS that is
in neither list of this file is not understood: it is misspelt, or of a version that this reader does not know. A test
changes the value of every pattern's leaf and sees the model change, so that a pattern claims nothing that is not read.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Final

from fabric.configs.model import Defect, Leaf, Meant, Unread
from fabric.configs.nvue.reader import Reader, leaves_of
from fabric.configs.text.roce_effect import effect_of
from fabric.configs.text.spelling import slip_of

_TEXT: Final = """
system hostname
system global anycast-mac
system global system-mac
system global fabric-mac
system forwarding ecmp-hash ip-protocol
system forwarding ecmp-hash source-ip
system forwarding ecmp-hash destination-ip
system forwarding ecmp-hash source-port
system forwarding ecmp-hash destination-port
acl * rule * action
acl * rule * match
acl * type
bridge domain * ageing
bridge domain * vlan * vni
bridge domain * vlan-vni-offset
evpn vni * rd
evpn vni * route-target
maintenance unit * mode
mlag mac-address
nve vxlan enable
nve vxlan state
nve vxlan encapsulation dscp action
nve vxlan mlag shared-address
evpn enable
evpn state
router bgp enable
router policy as-path-list * rule * action
router policy as-path-list * rule * aspath-exp
router policy community-list * rule * action
router policy community-list * rule * community
router policy prefix-list * rule * action
router policy prefix-list * rule * match
router policy prefix-list * type
router policy route-map * rule * action
router policy route-map * rule * match
router policy route-map * rule * set community
vrf default router bgp enable
vrf default router bgp address-family * enable
vrf default router bgp address-family ipv4-unicast admin-distance external
vrf default router bgp address-family ipv4-unicast multipaths ebgp
vrf default router bgp address-family ipv4-unicast network
vrf default router bgp address-family ipv4-unicast redistribute connected
nve vxlan source address
nve vxlan port
nve vxlan flooding enable
nve vxlan flooding state
router bgp autonomous-system
router bgp graceful-shutdown
router bgp router-id
vrf * evpn vni
vrf * loopback ip address
vrf default router bgp autonomous-system
vrf * router bgp neighbor * address-family * enable
vrf * router bgp neighbor * address-family * policy
vrf * router bgp neighbor * address-family * route-reflector-client
vrf * router bgp neighbor * address-family * nexthop-setting
vrf * router bgp neighbor * address-family * attribute-mod next-hop-self
vrf * router bgp neighbor * address-family ipv4-unicast prefix-limits inbound maximum
vrf * router bgp neighbor * address-family ipv4-unicast prefix-limits inbound warning-only
vrf * router bgp neighbor * enable
vrf * router bgp neighbor * peer-group
vrf * router bgp neighbor * remote-as
vrf * router bgp neighbor * timers hold
vrf * router bgp neighbor * timers keepalive
vrf * router bgp neighbor * shutdown
vrf * router bgp neighbor * type
vrf * router bgp neighbor * multihop-ttl
vrf * router bgp neighbor * passive-mode
vrf * router bgp neighbor * local-as asn
vrf * router bgp neighbor * local-as enable
vrf * router bgp neighbor * ttl-security enable
vrf * router bgp neighbor * ttl-security hops
vrf * router bgp peer-group * local-as asn
vrf * router bgp peer-group * local-as enable
vrf * router bgp peer-group * ttl-security enable
vrf * router bgp peer-group * ttl-security hops
vrf * router bgp peer-group * multihop-ttl
vrf * router bgp peer-group * passive-mode
vrf * router bgp neighbor * update-source
vrf * router bgp peer-group * address-family * enable
vrf * router bgp peer-group * address-family * policy
vrf * router bgp peer-group * address-family * route-reflector-client
vrf * router bgp peer-group * address-family * nexthop-setting
vrf * router bgp peer-group * address-family * attribute-mod next-hop-self
vrf * router bgp peer-group * address-family ipv4-unicast prefix-limits inbound maximum
vrf * router bgp peer-group * address-family ipv4-unicast prefix-limits inbound warning-only
vrf * router bgp peer-group * remote-as
vrf * router bgp peer-group * shutdown
vrf * router bgp peer-group * timers hold
vrf * router bgp peer-group * timers keepalive
vrf * router bgp peer-group * update-source
vrf default router bgp route-reflection cluster-id
vrf default router bgp router-id
vrf default router ospf enable
vrf default router ospf router-id
vrf default router ospf area * network
vrf default router ospf max-metric administrative
vrf default router ospf redistribute connected
router ospf enable
router ospf router-id
interface * router ospf enable
interface * router ospf area
interface * router ospf network-type
interface * router ospf passive
interface * router ospf timers hello-interval
interface * router ospf timers dead-interval
interface * router ospf authentication enable
interface * router ospf mtu-ignore
interface * router ospf cost
vrf default router static * distance
vrf default router static * via
qos advance-buffer-config default-global
qos congestion-control * traffic-class * ecn
qos congestion-control * traffic-class * max-threshold
qos congestion-control * traffic-class * min-threshold
qos congestion-control * traffic-class * probability
qos congestion-control * traffic-class * red
qos egress-queue-mapping default-global switch-priority * traffic-class
qos egress-scheduler * traffic-class * bw-percent
qos egress-scheduler * traffic-class * mode
qos egress-shaper * port-max-rate
qos egress-shaper * traffic-class * max-rate
qos mapping * dscp * switch-priority
qos mapping * port-default-sp
qos link-pause * rx
qos link-pause * tx
qos mapping * trust
qos pfc * cable-length
qos pfc * port-buffer
qos pfc * rx
qos pfc * switch-priority
qos pfc * tx
qos pfc * xoff-threshold
qos pfc * xon-threshold
qos pfc-watchdog polling-interval
qos pfc-watchdog robustness
qos remark * rewrite
qos remark * switch-priority * dscp
qos roce cable-length
qos roce enable
qos roce mode
qos roce state
qos traffic-pool * memory-percent
qos traffic-pool * switch-priority
interface * acl
interface * bond lacp-bypass
interface * bond member
interface * bond mode
interface * bridge domain
interface * ip address
interface * ip vrf
interface * ip vrr address
interface * ip vrr mac-address
interface * ip vrr enable
interface * ip vrr state
interface * ip ipv4 forward
interface vlan link mtu
interface vlan link state
interface swp link auto-negotiate
interface swp link fec
interface swp link mtu
interface swp link speed
interface swp link state
interface swp qos congestion-control profile
interface swp qos egress-scheduler profile
interface swp qos egress-shaper profile
interface swp qos link-pause profile
interface swp qos mapping profile
interface swp qos pfc profile
interface swp qos pfc-watchdog
interface swp qos remark profile
interface * type
interface * vlan
"""
READ: Final = tuple(tuple(line.split()) for line in _TEXT.split("\n") if line)


def _trie() -> dict[str, Any]:
    root: dict[str, Any] = {}
    for pattern in READ:
        here = root
        for word in pattern[:-1]:
            here = here.setdefault(word, {})
        here[pattern[-1]] = None
    return root


_ROOT: Final = _trie()


_OWN_READER: Final = ("qos", "advance-buffer-config")
"""Its reader lists what it does not know."""
_KEYS: Final = 1
"""Words below the end of a pattern of QoS."""


def is_qos(path: tuple[str, ...]) -> bool:
    """Whether a path is of QoS: of the switch, or of an interface."""
    return path[0] == "qos" or (path[0] == "interface" and path[2:3] == ("qos",))


def covered(path: tuple[str, ...]) -> bool:
    """Whether a leaf is read: a pattern ends at it or above it."""
    deepest = _KEYS if is_qos(path) and path[:2] != _OWN_READER else len(path)
    return _ends_above(_ROOT, _by_kind(path), 0, deepest)


def _ends_above(tree: dict[str, Any], path: tuple[str, ...], at: int, deepest: int) -> bool:
    """Whether a pattern ends at a leaf or above it, `deepest` words at most; the words before `at` are matched."""
    for word in (path[at], "*") if at < len(path) else ():
        if word in tree:
            below = tree[word]
            if len(path) - at <= 1 + deepest if below is None else _ends_above(below, path, at + 1, deepest):
                return True
    return False


_UNJUDGED_QOS: Final = frozenset(
    (
        "qos mapping * pcp * switch-priority",
        "qos remark * switch-priority * pcp",
        "qos egress-shaper * traffic-class * min-rate",
        "interface * qos counters",
    )
)
"""Leaves of QoS that NVUE has (Cumulus Linux user guide, "Quality of Service"), and that no check uses."""


def _known_to_nvue(path: tuple[str, ...]) -> bool:
    return any(
        len(words) <= len(path) and all(a in {"*", b} for a, b in zip(words, path, strict=False))
        for words in (it.split() for it in _UNJUDGED_QOS)
    )


def _meant(path: tuple[str, ...]) -> str:
    """The word that may be meant by the first one that NVUE does not have at its place: " (did you mean ...?)"."""
    stop = _stop(path)
    if stop is None:
        return ""
    at, known, ends = stop
    close = [] if ends else get_close_matches(_by_kind(path)[at], sorted(known), 1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _respelt(path: tuple[str, ...]) -> tuple[str, ...]:
    """The path with the word that was meant in the place of the first one that NVUE does not have; () without one.

    One slip only, and only where the whole path is one that is read then.
    """
    stop = _stop(path)
    if stop is None:
        return ()
    at, known, _ = stop
    word = _by_kind(path)[at]
    right = slip_of(word, known) if word not in known else ""
    found = (*path[:at], right, *path[at + 1 :])
    return found if right and covered(found) else ()


def _stop(path: tuple[str, ...]) -> tuple[int, frozenset[str], bool] | None:
    """The index of the first word behind which no pattern goes on, the words that patterns have in its place, and
    whether a pattern ends with it; None where the whole path leads on.
    """
    trees: list[dict[str, Any]] = [_ROOT]
    for at, word in enumerate(_by_kind(path)):
        below = [tree[it] for tree in trees for it in (word, "*") if tree.get(it) is not None]
        if not below:
            known = frozenset({it for tree in trees for it in tree} - {"*"})
            return at, known, any(it in tree for tree in trees for it in (word, "*"))
        trees = below
    return None


_OF_PORTS: Final = (("qos", "roce"), ("qos", "pfc"))
"""Parts of QoS that make ports lossless."""


def _list_mistyped(reader: Reader) -> set[tuple[str, ...]]:
    """Add a defect (R5) for every word that is one slip from the one that NVUE has there; the leaves below them."""
    found: dict[tuple[str, ...], list[tuple[Leaf, tuple[str, ...]]]] = {}
    for path, value in leaves_of(reader.written):
        if not covered(path) and (right := _respelt(path)):
            at = next(number for number, (a, b) in enumerate(zip(path, right, strict=True)) if a != b)
            found.setdefault(path[: at + 1], []).append(((path, value), right))
    for begin, its in found.items():
        right = its[0][1]
        text = f"'{begin[-1]}' is no word of NVUE here (did you mean '{right[len(begin) - 1]}'?)"
        meant = tuple(Meant(path, new, value) for (path, value), new in its)
        where = (*reader.base, *begin)
        of_ports = right[:2] in _OF_PORTS  # which ports it is of is not known here
        root = ("interface",) if of_ports else reader.where(*right[: len(begin)])
        reader.device.defects.append(Defect("R5", where, ".".join(begin)[:120], text, root, meant=meant))
    slips = {path for its in found.values() for (path, _), _ in its}
    reader.device.unread = [
        it for it in reader.device.unread if not it.leaves or {path for path, _ in it.leaves} - slips
    ]
    return slips


def _known_mapping(path: tuple[str, ...]) -> bool:
    """Whether a path is the beginning of a pattern: an empty mapping there says no more than that it is there."""

    def match(tree: dict[str, Any] | None, rest: tuple[str, ...]) -> bool:
        if not rest or tree is None:
            return not rest
        return any(word in tree and match(tree[word], rest[1:]) for word in (rest[0], "*"))

    return match(_ROOT, _by_kind(path))


def _by_kind(path: tuple[str, ...]) -> tuple[str, ...]:
    """A path with 'swp' for the names of switch ports, whose link and QoS are read, and 'vlan' for those of VLANs."""
    if path[0] != "interface" or len(path) < 2 or "." in path[1]:
        return path
    kind = next((it for it in ("swp", "vlan") if path[1].startswith(it)), "")
    return ("interface", kind, *path[2:]) if kind else path


def _general(path: tuple[str, ...]) -> str:
    """A path with '*' for the interface, so that the same leaf of many interfaces is one."""
    return " ".join((path[0], "*", *path[2:]) if path[0] == "interface" and len(path) > 1 else path)


def list_unjudged(reader: Reader) -> None:
    """Add every leaf that is not read, and was not listed as not understood, to the device. After all reading."""
    found: dict[str, list[Leaf]] = {}
    slips = _list_mistyped(reader)
    for path, value in leaves_of(reader.written):
        if path in slips:
            continue
        listed = any(path[:length] in reader.unread_paths for length in range(1, len(path) + 1))
        if not listed and not covered(path) and not (value == "" and _known_mapping(path)):
            found.setdefault(_general(path), []).append((path, value))
    for what, leaves in found.items():
        first = leaves[0][0]
        place = reader.device.place((*reader.base, *first))
        if is_qos(first) and not _known_to_nvue(first):
            more = f" and {len(leaves) - 1} like it" if len(leaves) > 1 else ""
            text = f"{'.'.join(first)}{more}{_meant(first)}"
            reader.device.unread.append(Unread(place, text, tuple(leaves), effect_of(what, leaves)))
            continue
        effect = "" if what.startswith("system ") else effect_of(what, leaves)
        reader.device.unjudged.append(Unread(place, what, tuple(leaves), effect))
