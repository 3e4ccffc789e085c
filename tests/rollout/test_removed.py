"""Rollouts that remove or replace a switch: what is lost at the end, and on the way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from routed_fabric import write_routed

from fabric.configs.network import Network
from fabric.rollout.output.data import as_json
from fabric.rollout.output.markdown import as_markdown
from fabric.rollout.output.page import as_html
from fabric.rollout.output.text import as_text
from fabric.rollout.plan import Request, Rollout, carry_out, prepare
from fabric.validate.checks.base import Finding
from fabric.validate.proofs import Proof


def planned(old: Path, new: Path) -> Rollout:
    return carry_out(prepare(Request(old, new)))


def hazards(found: Rollout) -> dict[str, list[str]]:
    """State to the checks that find a hazard in it."""
    return {it.checked.text: [one.check.id for one in it.checked.hazards] for it in found.solution.listed}


def test_a_spine_of_two_can_go_in_any_order(tmp_path: Path) -> None:
    # A link that leads to a switch which is not there is dark: no finding says that its file is missing.
    found = planned(write_routed(tmp_path / "old"), write_routed(tmp_path / "new", (1,)))
    assert found.safe
    assert hazards(found)["NEW: spine2 (removed)"] == []


def test_a_spine_that_new_still_names_is_worse_than_old(tmp_path: Path) -> None:
    found = planned(write_routed(tmp_path / "old"), write_routed(tmp_path / "new", (1,), stale=(2,)))
    assert not found.safe
    assert found.passable
    assert [(it.check.id, it.device) for it in found.worse] == [("R11", "spine2")]
    assert "leaf1:Ethernet4 to spine2:Ethernet1" in as_text(found)


def test_findings_of_new_alone_are_given_to_the_simulation_of_new(tmp_path: Path) -> None:
    asked: list[tuple[Network, list[str]]] = []
    proof = Proof("R11", "spine2", "configuration", "proven", "2 packets lost", scenario="name: proof\n")

    def prove(network: Network, hazards: Sequence[Finding]) -> tuple[Sequence[Proof], str]:
        asked.append((network, [it.check.id for it in hazards]))
        return [proof], "1 of R12 (no packet shows it)"

    old, new = write_routed(tmp_path / "old"), write_routed(tmp_path / "new", (1,), stale=(2,))
    found = carry_out(prepare(Request(old, new)), prove=prove)
    assert found.shown is None
    [(network, ids)] = asked
    assert (set(network.devices), ids) == ({"leaf1", "leaf2", "spine1"}, ["R11"])
    assert (found.proofs, found.proofs_of_new) == ((), (proof,))
    for rendered in (as_text(found), as_markdown(found), as_html(found)):
        assert "simulated, R11 spine2 configuration: proven: 2 packets lost" in rendered
        assert "not simulated, of NEW: 1 of R12 (no packet shows it)" in rendered
    data = json.loads(as_json(found))
    assert [it["id"] for it in data["proofs_of_new"]] == ["R11"]
    assert data["not_simulated"] == ["of NEW: 1 of R12 (no packet shows it)"]


def test_removing_every_spine_loses_the_paths_between_leaves(tmp_path: Path) -> None:
    found = planned(write_routed(tmp_path / "old"), write_routed(tmp_path / "new", ()))
    assert not found.safe
    assert [(it.check.id, it.device, it.text) for it in found.worse] == [
        ("O1", "leaf2", "no path to leaf1; OLD has one")
    ]


def test_a_spine_that_is_replaced_goes_after_the_new_one_is_connected(tmp_path: Path) -> None:
    found = planned(write_routed(tmp_path / "old", (1,)), write_routed(tmp_path / "new", (2,)))
    assert found.worse == ()
    assert hazards(found)["NEW: spine1 (removed)"] == ["O1"]
    # The leaves drop the old session with the edit that makes the new one: whole switches have no safe order.
    assert not found.safe
    bad = found.solution.counterexample
    assert bad is not None
    assert "O1" in {it.check.id for it in bad.hazards}


def test_a_spine_is_replaced_in_two_rollouts(tmp_path: Path) -> None:
    ends = [write_routed(tmp_path / name, spines) for name, spines in (("a", (1,)), ("b", (1, 2)), ("c", (2,)))]
    assert planned(ends[0], ends[1]).safe
    assert planned(ends[1], ends[2]).safe
