"""Units of a rollout, and the networks of its mixed states."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabrics import HOSTS, Tables, small_fabric

from fabric.rollout.plan import Request, carry_out, prepare
from fabric.rollout.units import Change

Fabric = dict[str, Tables]
Write = Callable[..., Path]


def change_of(old: Path, new: Path, **options: Any) -> Change:  # noqa: ANN401
    return prepare(Request(old, new, **options)).checker.change


def state_with(change: Change, **levels: int) -> tuple[int, ...]:
    return tuple(levels.get(unit.name, 0) for unit in change.units)


def test_hosts_of_both_kinds_are_known_while_they_move(tmp_path: Path, write_fabric: Write) -> None:
    after = {"default": {**HOSTS["default"], "roce_dscp": 30}}
    old = write_fabric(tmp_path / "old", small_fabric(), HOSTS)
    change = change_of(old, write_fabric(tmp_path / "new", small_fabric(), after))
    networks = [change.network((level,)) for level in range(4)]
    assert [it.roce_dscps for it in networks] == [(26,), (26, 30), (26, 30), (30,)]
    marks = [[network.host(f"host{n}") for n in (1, 2, 3, 4)] for network in networks]
    assert [[it.roce_dscp for it in row if it] for row in marks] == [
        [26, 26, 26, 26],
        [30, 26, 26, 26],
        [30, 30, 30, 26],
        [30, 30, 30, 30],
    ]


def test_a_switch_between_its_steps_has_the_edits_of_the_first_ones(tmp_path: Path, write_fabric: Write) -> None:
    fabric = copy.deepcopy(small_fabric())
    fabric["leaf1"]["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = "4"
    old = write_fabric(tmp_path / "old", small_fabric(), HOSTS)
    change = change_of(old, write_fabric(tmp_path / "new", fabric, HOSTS))
    assert [unit.name for unit in change.units] == ["leaf1"]
    ports = [change.network((level,)).devices["leaf1"].ports["Ethernet0"] for level in range(3)]
    assert [sorted(port.lossless) for port in ports] == [[3], [3, 4], [4]]
    assert change.as_whole().end == (1,)


def test_a_links_file_that_differs_is_a_unit(tmp_path: Path, write_fabric: Write) -> None:
    links = [{"a": ["leaf1", "Ethernet16"], "b": ["spine1", "Ethernet8"]}]
    files = []
    for number, length in enumerate((30, 60)):
        files.append(tmp_path / f"links{number}.json")
        files[-1].write_text(json.dumps([{**links[0], "length_m": length}]), encoding="utf-8")
    old = write_fabric(tmp_path / "old", small_fabric(), HOSTS)
    new = write_fabric(tmp_path / "new", small_fabric(), HOSTS)
    change = change_of(old, new, links=files)
    assert [unit.kind for unit in change.units] == ["links"]
    assert [change.network((level,)).links[0].length_m for level in (0, 1)] == [30, 60]
    assert change_of(old, new, links=files[:1]).units == ()


def test_links_of_neighbour_tables_follow_the_switches(tmp_path: Path, write_fabric: Write) -> None:
    fabric = small_fabric()
    for name, port in (("leaf1", "Ethernet16"), ("spine1", "Ethernet8")):
        del fabric[name]["DEVICE_NEIGHBOR"][port]
    old = write_fabric(tmp_path / "old", small_fabric(), HOSTS)
    change = change_of(old, write_fabric(tmp_path / "new", fabric, HOSTS))
    number = [len(change.network(state).links) for state in (change.start, state_with(change, leaf1=1), change.end)]
    assert number == [8, 8, 7]


def test_an_added_switch_is_not_there_before(tmp_path: Path, write_fabric: Write) -> None:
    fabric = small_fabric()
    del fabric["spine2"]
    old = write_fabric(tmp_path / "old", fabric, HOSTS)
    change = change_of(old, write_fabric(tmp_path / "new", small_fabric(), HOSTS))
    assert "spine2" not in change.network(change.start).devices
    assert "spine2" in change.network(change.end).devices


def test_a_state_is_named_by_its_shorter_side(tmp_path: Path, write_fabric: Write) -> None:
    fabric = small_fabric()
    for tables in fabric.values():
        tables["WRED_PROFILE"]["W"]["green_min_threshold"] = "300000"
    old = write_fabric(tmp_path / "old", small_fabric(), HOSTS)
    change = change_of(old, write_fabric(tmp_path / "new", fabric, HOSTS))
    assert change.text_of(change.start) == "all OLD"
    assert change.text_of(change.end) == "all NEW"
    assert change.text_of(state_with(change, leaf1=1)) == "NEW: leaf1"
    assert change.text_of(state_with(change, leaf1=1, leaf2=1, spine1=1)) == "OLD: spine2, all others NEW"


def test_switches_between_the_same_steps_are_named_together(
    tmp_path: Path, write_fabric: Write, two_classes: Fabric
) -> None:
    old = write_fabric(tmp_path / "old", small_fabric(), HOSTS)
    change = change_of(old, write_fabric(tmp_path / "new", two_classes, HOSTS))
    assert (
        change.text_of(state_with(change, leaf1=1, spine1=1)) == "leaf1, spine1 after 'more headroom', all others OLD"
    )


def test_the_estimate_is_the_number_of_states_where_no_hazard_is_met(tmp_path: Path, write_fabric: Write) -> None:
    fabric = small_fabric()
    for tables in fabric.values():
        tables["WRED_PROFILE"]["W"]["green_min_threshold"] = "300000"
    old = write_fabric(tmp_path / "old", small_fabric(), HOSTS)
    prepared = prepare(Request(old, write_fabric(tmp_path / "new", fabric, HOSTS)))
    assert len(carry_out(prepared).solution.listed) == prepared.states
