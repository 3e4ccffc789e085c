"""Safe orders and hazards of rollouts of a small fabric."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from fabrics import HOSTS, Tables, small_fabric

from fabric.rollout.output.data import as_json
from fabric.rollout.output.page import as_html
from fabric.rollout.output.text import as_text
from fabric.rollout.output.words import verdict
from fabric.rollout.plan import Rollout
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.proofs import Proof

Fabric = dict[str, Tables]
Plan = Callable[..., Rollout]
Hosts = Callable[..., dict[str, Any]]
Mapped = Callable[[Fabric, dict[str, str]], Fabric]


def order(found: Rollout) -> list[str]:
    assert found.solution.order is not None
    return [str(move) for move in found.solution.order.moves]


def with_mtu(fabric: Fabric, mtu: str) -> Fabric:
    for tables in fabric.values():
        for row in tables["PORT"].values():
            row["mtu"] = mtu
    return fabric


def test_nothing_to_change_is_safe(plan: Plan) -> None:
    found = plan(small_fabric(), small_fabric())
    assert found.safe
    assert found.change.units == ()
    assert "nothing changes" in verdict(found)


def test_every_order_of_a_class_that_moves_is_hazardous_and_a_split_is_safe(
    plan: Plan, two_classes: Fabric, mapped: Mapped, hosts_with: Hosts
) -> None:
    # PROOF: with DSCP 26 in class 3 here and 4 there, a pause of one class does not stop the other's queue.
    before = hosts_with(pfc_enable="3,4")
    after = hosts_with(pfc_enable="3,4", ecn_np_prio=4, ecn_rp_prio=4)
    found = plan(two_classes, mapped(two_classes, {"26": "4"}), before, after)
    assert not found.safe
    assert "every order is hazardous" in verdict(found)
    bad = found.solution.counterexample
    assert bad is not None
    assert {it.check.id for it in bad.hazards} >= {"M2"}
    assert sum(level > 0 for level in bad.state) == 1
    assert found.nearest == "all OLD"
    assert found.exposed is not None
    assert (found.exposed.paths, found.exposed.every) == (2, 4)
    assert found.split is not None
    assert (found.split.dscp, found.split.beside) == (26, 30)
    assert found.split.safe
    assert [it.kind for it in found.remedies] == ["split", "window"]
    for stage in found.split.stages:
        assert all(it.checked.safe for it in stage.solution.listed)
    moved = [stage.solution.change.end for stage in found.split.stages]
    assert [len(it) for it in moved] == [4, 1, 4]


def test_the_states_of_the_class_that_moves_are_hazardous_one_by_one(
    plan: Plan, two_classes: Fabric, mapped: Mapped, hosts_with: Hosts
) -> None:
    hosts = hosts_with(pfc_enable="3,4", cc="none")
    found = plan(two_classes, mapped(two_classes, {"26": "4"}), hosts, every=True)
    alone = {it.checked.text: it.checked.safe for it in found.solution.listed if it.why == "one changed"}
    assert alone == {f"NEW: {name}": False for name in ("leaf1", "leaf2", "spine1", "spine2")}


def test_a_new_code_point_goes_on_all_switches_before_the_hosts_and_the_old_one_goes_after(
    plan: Plan, two_classes: Fabric, mapped: Mapped, hosts_with: Hosts
) -> None:
    before = hosts_with(pfc_enable="3,4")
    after = hosts_with(pfc_enable="3,4", roce_dscp=30, ecn_np_prio=4, ecn_rp_prio=4)
    found = plan(two_classes, mapped(two_classes, {"26": "0", "30": "4"}), before, after)
    assert found.safe
    assert found.solution.by_steps
    assert found.solution.obvious_hazard is not None
    assert found.solution.obvious_hazard[0].unit.name == "leaf1"
    made = order(found)
    assert {it.partition(": ")[2] for it in made[:4]} == {"classes"}
    assert [it.partition(": ")[0] for it in made[4:7]] == ["hosts"] * 3
    assert {it.partition(": ")[2] for it in made[7:]} == {"classes removed"}
    assert sum(it.on_order for it in found.solution.listed) == len(made)
    assert all(it.checked.safe for it in found.solution.listed if it.on_order)


def test_hosts_get_their_smaller_mtu_before_the_switches(plan: Plan, hosts_with: Hosts) -> None:
    found = plan(small_fabric(), with_mtu(small_fabric(), "4500"), HOSTS, hosts_with(mtu=4200))
    assert found.safe
    assert order(found)[2:] == ["hosts: the last host (host4)", "leaf1", "leaf2", "spine1", "spine2"]
    assert found.solution.obvious_hazard is not None


def test_a_larger_mtu_begins_in_the_core(plan: Plan) -> None:
    found = plan(with_mtu(small_fabric(), "9100"), small_fabric())
    assert order(found) == ["spine1", "spine2", "leaf1", "leaf2"]


@pytest.mark.parametrize("back", [False, True])
def test_a_second_lossless_class_without_roce_comes_and_goes_switch_by_switch(
    plan: Plan, two_classes: Fabric, hosts_with: Hosts, back: bool
) -> None:
    ends = [(small_fabric(), HOSTS), (two_classes, hosts_with(pfc_enable="3,4"))]
    (old, old_hosts), (new, new_hosts) = reversed(ends) if back else ends
    found = plan(old, new, old_hosts, new_hosts)
    assert found.safe
    assert not found.solution.by_steps
    assert any(it.checked.harmless for it in found.solution.listed)


def test_pfc_that_goes_while_roce_needs_it_is_a_hazard(plan: Plan) -> None:
    new = small_fabric()
    for tables in new.values():
        for row in tables["PORT_QOS_MAP"].values():
            row.update(pfc_enable="", pfcwd_sw_enable="")
    found = plan(small_fabric(), new, least=Severity.ERROR)
    bad = [it for it in found.solution.listed if not it.checked.safe]
    assert bad
    assert all(any(h.check.id == "L1" for h in it.checked.hazards) for it in bad if it.why == "one changed")


def test_findings_of_old_and_new_are_no_hazards(plan: Plan) -> None:
    old, new = small_fabric(), small_fabric()
    for fabric in (old, new):
        fabric["leaf1"]["DSCP_TO_TC_MAP"]["M"]["26"] = "0"
    new["leaf2"]["WRED_PROFILE"]["W"]["green_min_threshold"] = "300000"
    found = plan(old, new)
    assert found.shared
    assert found.worse == ()
    assert found.safe


def test_a_state_that_equals_another_but_for_names_is_validated_once(plan: Plan) -> None:
    new = small_fabric()
    for tables in new.values():
        tables["WRED_PROFILE"]["W"]["green_min_threshold"] = "300000"
    few, every = plan(small_fabric(), new), plan(small_fabric(), new, every=True)
    assert few.safe
    assert every.safe
    assert len(few.solution.listed) < len(every.solution.listed)
    assert sum(it.stands_for for it in few.solution.listed) == sum(it.stands_for for it in every.solution.listed)
    assert {it.stands_for for it in every.solution.listed} == {1}


def test_a_search_that_ends_at_its_limit_says_so(
    plan: Plan, two_classes: Fabric, mapped: Mapped, hosts_with: Hosts
) -> None:
    ends = hosts_with(pfc_enable="3,4"), hosts_with(pfc_enable="3,4", ecn_np_prio=4, ecn_rp_prio=4)
    found = plan(two_classes, mapped(two_classes, {"26": "4"}), *ends, most=1)
    assert not found.safe
    assert len(found.solution.listed) == 1
    assert not found.solution.complete
    assert verdict(found).startswith("HAZARD, not decided")


def test_a_limit_that_ends_before_any_hazard_is_no_safe_order(plan: Plan) -> None:
    found = plan(with_mtu(small_fabric(), "9100"), small_fabric(), most=1)
    assert not found.safe
    assert found.solution.counterexample is None
    assert verdict(found).startswith("not decided")


def test_a_warning_is_a_hazard_where_that_is_asked_for(plan: Plan) -> None:
    new = with_mtu(small_fabric(), "9100")
    assert all(it.checked.safe for it in plan(small_fabric(), new).solution.listed)
    found = plan(small_fabric(), new, least=Severity.WARN)
    assert not all(it.checked.safe for it in found.solution.listed)


def test_a_prover_is_asked_for_the_hazards_that_are_shown(plan: Plan, two_classes: Fabric, mapped: Mapped) -> None:
    asked: list[tuple[str, ...]] = []

    def prove(network: object, hazards: Sequence[Finding]) -> tuple[list[Proof], str]:
        assert network is not None
        asked.append(tuple(it.check.id for it in hazards))
        one = hazards[0]
        shown = Proof(one.check.id, one.device, one.object, "proven", "14,115 packets lost", scenario="name: shown")
        return [shown], ""

    hosts = {"default": {**HOSTS["default"], "pfc_enable": "3,4"}}
    found = plan(two_classes, mapped(two_classes, {"26": "4"}), hosts, prove=prove)
    bad = found.solution.counterexample
    assert bad is not None
    assert asked == [tuple(it.check.id for it in its) for its in (bad.hazards, found.worse)]
    words = "simulated, M2 spine1 DSCP 26: proven: 14,115 packets lost"
    assert f"  {words}\n" in as_text(found)
    assert f"<p>{words}</p><details><summary>scenario</summary>" in as_html(found)
    [proof] = json.loads(as_json(found))["proofs"]
    assert (proof["result"], proof["scenario"]) == ("proven", "name: shown")


def test_a_switch_that_is_added_is_one_step(plan: Plan) -> None:
    old = small_fabric()
    del old["spine2"]
    found = plan(old, small_fabric())
    assert [(unit.name, [step.title for step in unit.steps]) for unit in found.change.units] == [("spine2", ["added"])]


def test_each_stage_inside_a_switch_is_validated(plan: Plan, two_classes: Fabric, hosts_with: Hosts) -> None:
    found = plan(small_fabric(), copy.deepcopy(two_classes), HOSTS, hosts_with(pfc_enable="3,4"))
    inside = [it.checked.text for it in found.solution.listed if it.why == "inside a switch"]
    assert any("leaf1 after 'PFC on'" in it for it in inside)
    assert any("spine2 after 'PFC on'" in it for it in inside)
