"""The dictionary of a run's data: each name beside its own meaning."""

from __future__ import annotations

from fabric.dataplane.state.codes import DropReason
from fabric.runs.dictionary import dictionary
from fabric.runs.observables import DROP_HELP


def test_every_drop_reason_has_its_own_meaning() -> None:
    found = {it["reason"]: it["meaning"] for it in dictionary()["drop_reasons"]}
    assert found == {reason.name.lower(): DROP_HELP[reason] for reason in DropReason}
    assert found["wred"] == "early drop of a packet that is not ECN-capable"
    assert found["ttl"] == "time to live ran out (forwarding loop)"


def test_counters_of_drops_say_the_same_as_the_reason() -> None:
    reasons = {it["reason"]: it["meaning"] for it in dictionary()["drop_reasons"]}
    counters = {it["name"]: it["meaning"] for it in dictionary()["observables"]}
    assert {name: counters[f"drop_{name}_pkts"] for name in reasons} == {
        name: f"Discarded: {meaning}." for name, meaning in reasons.items()
    }
