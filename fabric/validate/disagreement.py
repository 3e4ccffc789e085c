"""Which of several switches is wrong where they disagree, and whether the files can tell.

Checks that compare switches ask, in this order: what most of them do; which of them the baseline has otherwise; which
of them contradicts its own other lines; which of them does not follow the rule that the rest of the fabric follows.
Where nothing tells, a finding names both sides and says that the files do not tell: a guess sends half of the readers
to the wrong switch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from fabric.configs.identity import Identity, Vni
from fabric.configs.model import Device
from fabric.validate.facts import Facts

Row = TypeVar("Row")
UNDECIDED: Final = "the files do not say which is wrong"
_RULE: Final = "the usual rule of route targets"


def told_apart(rows: Sequence[Row], questions: Iterable[Callable[[Row], bool]]) -> list[Row]:
    """Rows that the first question that tells them apart says are wrong; none where no question does."""
    for is_wrong in questions:
        found = [row for row in rows if is_wrong(row)]
        if 0 < len(found) < len(rows):
            return found
    return []


def changed(facts: Facts, device: Device, value: Callable[[Device], object]) -> bool | None:
    """Whether a value of a switch differs from the baseline's; None where there is no baseline of this switch."""
    before = None if facts.before is None else facts.before.devices.get(device.name)
    return None if before is None else value(before) != value(device)


def same_vni(identity: Identity, vni: Vni) -> Vni | None:
    """The entry of another state of a switch for the same VLAN or VRF."""
    every = (*identity.vnis, *identity.routed_vnis)
    return next((it for it in every if (it.vlan, it.vrf) == (vni.vlan, vni.vrf)), None)


def contradicts_itself(vni: Vni) -> bool:
    """Whether a VNI imports nothing of what it exports itself, so that two equal switches would not exchange routes."""
    return bool(vni.imports and vni.exports and not vni.imports & vni.exports)


def is_unusual(facts: Facts, device: Device, vni: Vni) -> bool:
    """Whether a route target of a VNI is not made by the rule that most targets of the fabric follow.

    A rule is a target in which the VNI, the VLAN and the AS number of its switch are replaced by their names. Of two
    rules that are followed equally often the one that names the VNI counts, as automatic targets do (RFC 8365 section
    5.1.2.1).
    """
    if _RULE not in facts.notes:
        count = Counter(
            rule
            for it in facts.devices
            for one in (*it.identity.vnis, *it.identity.routed_vnis)
            for rule in _rules(it, one)
        )
        best = sorted(count, key=lambda rule: (count[rule], rule.endswith(":vni")), reverse=True)
        tied = len(best) > 1 and _weight(count, best[0]) == _weight(count, best[1])
        facts.notes[_RULE] = None if not best or tied else best[0]
    usual = facts.notes[_RULE]
    return usual is not None and bool(_rules(device, vni) - {usual})


def _weight(count: Counter[str], rule: str) -> tuple[int, bool]:
    return count[rule], rule.endswith(":vni")


def _rules(device: Device, vni: Vni) -> set[str]:
    found = set()
    for target in vni.imports | vni.exports:
        high, _, low = target.rpartition(":")
        number = "vni" if low == vni.number else "vlan" if low == vni.vlan else low
        found.add(f"{'as' if high == device.asn else high}:{number}")
    return found


def claims(device: Device, address: str) -> bool:
    """Whether other lines of a switch say that an address is its own: its router ID, what it advertises, its RDs."""
    own = device.identity
    distinguishers = (it.distinguisher.rpartition(":")[0] for it in (*own.vnis, *own.routed_vnis))
    return address == own.router_id.value or f"{address}/32" in own.networks or address in distinguishers
