"""`fabric validate --fix` over the corpus of mistakes: what it clears, what it leaves and why; nothing is new."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonpatch
import pytest

from fabric.validate.causes import Cause
from fabric.validate.edits import Row
from fabric.validate.fix import search
from fabric.validate.fix.files import patches, write_copies
from fabric.validate.fix.state import Change, State
from fabric.validate.output.fix import as_data, as_text
from tests.fix.fix_page import PAGE, row
from tests.fix.fix_trials import plan_of, trial, warned
from tests.mistakes.mistake import LANGUAGES, Mistake, put, replaced, write
from tests.mistakes.score import CASES

ROOT = Path(__file__).resolve().parents[2]
BY_ID = {case.id: case for case in CASES}
RESTORED = (
    "sonic: RoCE is in a lossy class",
    "sonic: the profile of a short cable",
    "eos: MTU differs",
    "eos: the route target differs",
    "nxos: the session is shut",
    "nvue: a port is shut",
    "nvue: PFC on another priority",
    "nvue: a cable length with its unit",
    "nxos: the router ID has a length",
    "sonic: EVPN between loopbacks: the group does not exist",
    "sonic: the AS is None",
    "eos: a loopback is used twice",
    "nvue: two leaves have one AS",
    "sonic: the ends are in different subnets",
    "nxos: a session at one end only",
    "sonic: the table of the DSCP map has a plural",
)
"""Mistakes after whose fix the files mean the same as those of the working fabric."""


@pytest.mark.parametrize("name", RESTORED)
def test_a_mistake_is_undone_and_nothing_else_changes(name: str, tmp_path: Path) -> None:
    found = trial(BY_ID[name], tmp_path)
    assert (found.outcome, found.restored, found.new) == ("clean", True, 0), found


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sonic: the gateway's address differs", "the files do not say which is wrong"),
        ("eos: two leaves have one AS", "in the plan of the fabric"),
        ("nvue: the gateway's MAC differs", "the files do not say which is wrong"),
        ("sonic: the neighbour is another", "the cabling has to be looked at"),
    ],
)
def test_a_fact_that_no_file_has_is_asked_for(name: str, reason: str, tmp_path: Path) -> None:
    found = trial(BY_ID[name], tmp_path)
    assert (found.outcome, found.changes) == ("none", ())
    assert any(reason in it for it in found.reasons), found.reasons


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[::6], ids=lambda case: case.id)
def test_the_page_says_what_a_sample_of_the_corpus_gives(case: Mistake, tmp_path: Path) -> None:
    assert row(trial(case, tmp_path)) in PAGE.read_text(encoding="utf-8"), "run: python -m tests.fix"


def test_the_page_has_every_mistake_and_no_new_finding() -> None:
    text = PAGE.read_text(encoding="utf-8")
    total = next(line for line in text.splitlines() if line.startswith("| all |"))
    assert total.split("|")[2].strip() == str(len(CASES))
    assert total.split("|")[-2].strip() == "0"


def test_a_patch_gives_the_files_that_the_plan_was_tried_on(tmp_path: Path) -> None:
    broken, fixed = tmp_path / "broken", tmp_path / "fixed"
    broken.mkdir()
    BY_ID["sonic: RoCE is in a lossy class"].write(broken)
    plan = plan_of(broken)
    (name, text), *others = patches(plan).items()
    assert (name, others) == ("leaf1.patch.json", [])
    tree = json.loads((broken / "leaf1.json").read_text(encoding="utf-8"))
    write_copies(plan, fixed)
    assert jsonpatch.apply_patch(tree, json.loads(text)) == json.loads(
        (fixed / "leaf1.json").read_text(encoding="utf-8")
    )
    assert {it.name for it in fixed.glob("[!.]*")} == {it.name for it in broken.iterdir()}
    assert not warned(fixed)


def test_the_commands_of_a_switch_leave_every_block_that_they_open(tmp_path: Path) -> None:
    BY_ID["eos: EVPN is not activated"].write(tmp_path)
    assert patches(plan_of(tmp_path)) == {
        "leaf1.commands.txt": "configure session fabric-fix\n! set neighbor 10.1.0.1 evpn to activate\n"
        "router bgp 65101\naddress-family evpn\nneighbor 10.1.0.1 activate\nexit\nexit\n"
        "show session-config diffs\ncommit\n"
    }


def test_a_host_at_fault_gets_the_change_not_the_switches(tmp_path: Path) -> None:
    files = LANGUAGES["sonic"].good()
    files["hosts.json"] = replaced('"trust": "dscp"', '"trust": "pcp"')(files["hosts.json"])
    write("sonic", files, tmp_path)
    plan = plan_of(tmp_path)
    assert not plan.asked - plan.gone
    assert patches(plan) == {
        "hosts.commands.txt": "# every host that the hosts file does not name: set default.trust to dscp\n"
        "mlnx_qos -i INTERFACE --trust dscp\n"
    }
    hosts = json.loads(plan.end.contents[str(tmp_path / "hosts.json")])
    assert hosts == {
        "default": {**json.loads(plan.start.text(str(tmp_path / "hosts.json")))["default"], "trust": "dscp"}
    }


def test_two_mistakes_have_one_change_each(tmp_path: Path) -> None:
    files = LANGUAGES["sonic"].good()
    put("DSCP_TO_TC_MAP", "M", "26", value="0")(files["leaf1.json"])
    put("WRED_PROFILE", "W", "ecn", value="ecn_none")(files["spine2.json"])
    write("sonic", files, tmp_path)
    plan = plan_of(tmp_path)
    assert not plan.end.bad
    assert sorted((it.device, it.rows[0].path[0]) for it in plan.changes) == [
        ("leaf1", "DSCP_TO_TC_MAP"),
        ("spine2", "WRED_PROFILE"),
    ]


def test_headroom_takes_the_memory_that_it_needs_from_the_pool(tmp_path: Path) -> None:
    """H4's remedy alone would break B1: 458,336 B of headroom and the pool exceed the buffer by 140,944 B."""
    files = LANGUAGES["sonic"].good()
    profile = "BUFFER_PROFILE", "pg_lossless_400000_40m_profile"
    put(*profile, "xoff", value="19000")(files["leaf1.json"])
    put(*profile, "size", value="57000")(files["leaf1.json"])
    put("BUFFER_POOL", "ingress_lossless_pool", "size", value="60500000")(files["leaf1.json"])
    write("sonic", files, tmp_path)
    plan = plan_of(tmp_path)
    assert not plan.end.bad
    assert {row.path[1:]: row.value for change in plan.changes for row in change.rows} == {
        (profile[1], "xoff"): "96048",
        (profile[1], "size"): "143152",
        ("ingress_lossless_pool", "size"): str(60_500_000 - 140_944),
    }


def test_a_remedy_that_nothing_repairs_names_the_condition_that_it_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only candidate mends the marking and takes the headroom; headroom has no remedy here."""
    files = LANGUAGES["sonic"].good()
    put("WRED_PROFILE", "W", "ecn", value="ecn_none")(files["leaf1.json"])
    write("sonic", files, tmp_path)
    rows = (
        Row(("WRED_PROFILE", "W", "ecn"), "ecn_all"),
        Row(("BUFFER_PROFILE", "pg_lossless_400000_40m_profile", "xoff"), "19000"),
    )

    def candidates(_: State, cause: Cause, *__: object, **___: object) -> Iterator[tuple[bool, tuple[Change, ...]]]:
        if cause.check.id == "E3":
            yield True, (Change("leaf1", "set two fields", "a rule", rows),)

    monkeypatch.setattr(search, "candidates", candidates)
    plan = plan_of(tmp_path)
    left = next(it for it in plan.left if it.cause.check.id == "E3")
    assert left.reason.startswith("its change breaks H1 (")
    assert ") on leaf1: xoff 19000 B is 77048 B less than the need" in left.reason
    assert "below bound A of 802.3, 23168 B" in left.reason
    assert left.conflict[0].check.id == "H1"
    assert f"because: {left.reason}" in as_text(plan, [])
    assert {"id": "H1", "device": "leaf1"}.items() <= as_data(plan)["left"][0]["breaks"][0].items()


def test_a_missing_row_has_no_change_of_the_cables_length() -> None:
    """The next longer row of the table is not the cable's, and a length that other ports have is not either."""
    plan = plan_of(ROOT / "docs/howto/validate-example/after")
    (left,) = plan.left
    assert left.cause.check.id == "H2"
    assert left.reason == "the row is part of the platform's table, not of the configuration"
    assert not any(row.path[0] == "CABLE_LENGTH" for change in plan.changes for row in change.rows)
    pfc = next(it for it in plan.changes if it.rows[0].path[-1] == "pfc_enable")
    assert [row.path[-1] for row in pfc.rows] == ["pfc_enable", "pfcwd_sw_enable"]
    assert "pfc_enable: empty → 3" in as_text(plan, [])
    assert not plan.new
