"""Events of the control plane in the estimate of a run: counted before any of them is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import admitted_fabric, place
from fabric.scenario.estimate.admission import Admission, compiling
from fabric.scenario.estimate.estimator import estimate
from fabric.scenario.estimate.figures import Estimate
from fabric.scenario.estimate.machine import Limit, Machine
from fabric.scenario.load import build_scenario
from fabric.scenario.schema.scenario import Scenario

BASE: dict[str, Any] = {
    "name": "events",
    "topology": {
        "kind": "leaf-spine",
        "leaves": 4,
        "spines": 2,
        "hosts_per_leaf": 2,
        "host_rate": "100G",
        "fabric_rate": "100G",
    },
    "routing": "bgp",
    "vxlan": {},
    "workload": [{"kind": "messages", "messages": [{"id": "a", "src": "host1", "dst": "host3", "size": "1MB"}]}],
    "run": {"duration": "1s"},
}
CHURN = {"kind": "endpoint-churn", "at": "0s", "until": "900ms", "per_minute": 120_000}
SMALL = Machine(Limit(4_000_000_000, "MemAvailable"), 0)
SESSIONS = 8


def scenario(*faults: dict[str, Any], **changes: Any) -> Scenario:  # noqa: ANN401  parts of a scenario
    return build_scenario({**BASE, **changes, "faults": list(faults)}, Path("events.yml"))


def estimated(*faults: dict[str, Any], **changes: Any) -> Estimate:  # noqa: ANN401  parts of a scenario
    given = scenario(*faults, **changes)
    return estimate(given, admitted_fabric(given, compiling("events.yml")))


def objection(*faults: dict[str, Any], **changes: Any) -> str:  # noqa: ANN401  parts of a scenario
    admit = Admission("events.yml", machine=lambda: SMALL)
    with pytest.raises(InputErrors) as error:
        admit(estimated(*faults, **changes))
    return "\n".join(f"{it.path}: {it.text} ({it.hint})" for it in error.value.problems)


@pytest.mark.parametrize(
    ("fault", "events"),
    [
        ({"kind": "mac-move", "host": "host1", "to": "leaf2", "at": "1ms", "arps": 1}, 1),
        ({"kind": "mac-move", "host": "host1", "to": "leaf2", "at": "1ms", "arps": 5, "arp_interval": "300ms"}, 4),
        ({"kind": "host-leave", "hosts": ["host*"], "at": "1ms"}, 8),
        ({"kind": "host-leave", "hosts": ["host1", "host2"], "at": "1ms", "until": "5ms"}, 4),
        ({"kind": "link-flap", "link": "leaf1--spine1", "at": "1ms", "down": "1ms", "up": "1ms", "count": 30}, 60),
        ({"kind": "link-down", "link": "leaf1--spine2", "at": "1ms", "until": "3ms"}, 2),
        ({"kind": "bgp-crash", "switch": "leaf1", "at": "1ms", "until": "3ms"}, 2),
        ({"kind": "link-rate", "link": "leaf1--spine1", "at": "1ms", "rate": "10G"}, 0),
    ],
)
def test_events_of_a_fault_are_counted_until_the_end_of_the_run(fault: dict[str, Any], events: int) -> None:
    found = estimated(fault).figures.get("control events")
    assert (found.likely if found else 0) == events


def test_the_churn_that_is_drawn_is_the_churn_that_was_estimated() -> None:
    given = scenario(CHURN)
    placed = place(given, compiling("events.yml"))
    assert placed.control is not None
    assert len(placed.control.events) == pytest.approx(estimated(CHURN)["control events"].likely, rel=0.1)


def test_a_churn_that_fits_no_memory_is_refused_where_its_rate_is() -> None:
    text = objection({**CHURN, "until": "199s", "per_minute": 10_000_000}, run={"duration": "200s"})
    assert "events.yml: faults[0].per_minute: the run takes at least" in text
    assert "(per_minute: " in text


def test_a_churn_that_takes_hours_is_asked_about_where_its_rate_is() -> None:
    text = objection({**CHURN, "until": "499s", "per_minute": 1_000_000}, run={"duration": "500s"})
    assert "events.yml: faults[0].per_minute" in text
    assert "--yes" in text


def test_without_bgp_a_flapping_cable_costs_no_control_plane() -> None:
    flap = {"kind": "link-flap", "link": "leaf1--spine1", "at": "1ms", "down": "1ms", "up": "1ms", "count": 30}
    given = build_scenario(
        {**{key: it for key, it in BASE.items() if key not in {"routing", "vxlan"}}, "faults": [flap]}, Path("x.yml")
    )
    assert "control events" not in estimate(given, admitted_fabric(given, compiling("x.yml"))).figures


def test_two_churns_are_two_shares_and_the_larger_one_is_named() -> None:
    small = {**CHURN, "per_minute": 600}
    shares = [it.field for it in estimated(small, CHURN).shares["time"] if it.field.startswith("faults")]
    assert shares == ["faults[1].per_minute", "faults[0].per_minute"]
    assert estimated(CHURN)["route changes"].likely == pytest.approx(1_800 * SESSIONS)
