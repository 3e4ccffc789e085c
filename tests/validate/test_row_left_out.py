"""Rows that a change deletes: what takes their place is said, in the verdict, the comparison and the rollout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fabrics import Judge, small_fabric

from fabric.cli.main import main
from fabric.validate.checks.base import Severity
from fabric.validate.judge import Request
from fabric.validate.judge import judge as judged


def _write(folder: Path, fabric: dict[str, Any]) -> Path:
    folder.mkdir()
    for name, tables in fabric.items():
        (folder / f"{name}.json").write_text(json.dumps(tables), encoding="utf-8")
    return folder


def test_deleted_lossless_groups_are_listed_and_the_switch_makes_them_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, fabric = _write(tmp_path / "old", small_fabric()), small_fabric()
    fabric["leaf1"]["BUFFER_PG"] = {}
    new = _write(tmp_path / "new", fabric)
    verdict = judged(Request([new], baseline=old))
    (line,) = verdict.changes
    assert line.startswith("leaf1: ")
    assert "BUFFER_PG of group 3: present → absent; the switch makes it again" in line
    assert "no row states, so that the switch makes them: " in verdict.headroom
    assert " of leaf1" in verdict.headroom
    (back,) = judged(Request([old], baseline=new)).changes
    assert "absent → present; the switch made it before" in back
    main(["rollout", str(old), str(new)])
    out = capsys.readouterr().out
    assert "groups left to the switch" in out
    assert "less headroom" not in out


def test_groups_that_the_switch_does_not_make_again_are_less_headroom(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, fabric = _write(tmp_path / "old", small_fabric()), small_fabric()
    fabric["leaf1"]["BUFFER_PG"] = {}
    fabric["leaf1"]["CABLE_LENGTH"] = {"AZURE": dict.fromkeys(fabric["leaf1"]["PORT"], "0m")}
    main(["rollout", str(old), str(_write(tmp_path / "new", fabric))])
    out = capsys.readouterr().out
    assert "less headroom" in out
    assert "groups left to the switch" not in out


def test_lossless_queues_in_a_pool_that_lossy_ones_fill_are_an_error(judge: Judge) -> None:
    fabric = small_fabric()
    leaf = fabric["leaf2"]
    leaf["BUFFER_POOL"]["egress_lossy_pool"] = {"size": "60817392", "type": "egress", "mode": "dynamic"}
    leaf["BUFFER_PROFILE"]["egress_lossy_profile"] = {"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "3"}
    leaf["BUFFER_QUEUE"] |= {f"{port}|0-2": {"profile": "egress_lossy_profile"} for port in leaf["PORT"]}
    assert not [it for it in judge(fabric) if it.check.id == "B13"]
    leaf["BUFFER_PROFILE"]["egress_lossless_profile"]["pool"] = "egress_lossy_pool"
    (found,) = [it for it in judge(fabric) if it.check.id == "B13"]
    assert (found.device, found.severity) == ("leaf2", Severity.ERROR)
    assert found.fix is not None
    assert "egress_lossless_pool" in found.fix.command


def test_a_baseline_that_is_not_there_is_refused_and_an_empty_one_is_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = _write(tmp_path / "before", small_fabric()), _write(tmp_path / "new", small_fabric())
    assert main(["validate", str(new), "--baseline", str(old)[:-1]]) == 2
    assert "did you mean 'before'?" in capsys.readouterr().err
    (tmp_path / "none").mkdir()
    assert main(["validate", str(new), "--baseline", str(tmp_path / "none")]) == 0


def test_a_changed_time_of_a_watchdog_turns_none_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, fabric = _write(tmp_path / "old", small_fabric()), small_fabric()
    fabric["leaf1"]["PFC_WD"]["Ethernet0"]["detection_time"] = "400"
    main(["rollout", str(old), str(_write(tmp_path / "new", fabric))])
    out = capsys.readouterr().out
    assert "watchdog settings" in out
    assert "watchdog on" not in out


def test_a_headroom_profile_in_an_egress_pool_gets_the_lossless_pool(judge: Judge) -> None:
    fabric = small_fabric()
    fabric["leaf2"]["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"]["pool"] = "egress_lossless_pool"
    found = [it for it in judge(fabric) if it.check.id == "B12"]
    assert {it.fix.command for it in found if it.fix is not None} == {
        "sonic-db-cli CONFIG_DB HSET 'BUFFER_PROFILE|pg_lossless_400000_40m_profile' pool ingress_lossless_pool"
    }
