"""VLAN_SUB_INTERFACE of SONiC: addresses, tags, VRFs and shut ones, judged as sub-interfaces of other systems are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.configs.load import load_network
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate
from tests.fix.fix_trials import plan_of
from tests.mistakes.mistake import good, write
from tests.mistakes.score import judged

Tables = dict[str, dict[str, Any]]
Edit = Callable[[Tables], None]
SUB = "VLAN_SUB_INTERFACE"


def moved(tables: Tables, port: str, name: str, **fields: str) -> None:
    """The addresses of a port moved to its sub-interface."""
    rows = tables["INTERFACE"]
    addresses = [it.partition("|")[2] for it in rows if it.startswith(f"{port}|")]
    tables.setdefault(SUB, {})[name] = {"admin_status": "up", **fields}
    for address in addresses:
        del rows[f"{port}|{address}"]
        tables[SUB][f"{name}|{address}"] = {}
    del rows[port]


def fabric(folder: Path, edit: Edit = lambda _: None, *, short: bool = False) -> Path:
    """The link of leaf1 and spine1 between their sub-interfaces 10."""
    files = good("sonic")
    moved(
        files["leaf1.json"], "Ethernet24", "Eth24.10" if short else "Ethernet24.10", **{"vlan": "10"} if short else {}
    )
    moved(files["spine1.json"], "Ethernet8", "Ethernet8.10", vlan="10")
    edit(files["leaf1.json"])
    write("sonic", files, folder)
    return folder


@pytest.mark.parametrize("short", [False, True])
def test_a_working_link_over_sub_interfaces_has_no_finding(short: bool, tmp_path: Path) -> None:
    assert not judged(fabric(tmp_path, short=short))
    device = load_network([tmp_path]).devices["leaf1"]
    assert device.addresses["Ethernet24.10"] == ("10.1.0.0/31",)
    assert device.identity.tags_sent["Ethernet24.10"].value == "10"
    assert not [it.what for it in (*device.unread, *device.unjudged) if SUB in it.what]


def row(name: str, **fields: str) -> Edit:
    def edit(tables: Tables) -> None:
        tables[SUB].setdefault(name, {}).update(fields)

    return edit


def without(key: str, field: str = "") -> Edit:
    def edit(tables: Tables) -> None:
        del (tables[SUB][key] if field else tables[SUB])[field or key]

    return edit


def renumbered(tables: Tables) -> None:
    tables[SUB]["Ethernet24.10|10.1.0.8/31"] = tables[SUB].pop("Ethernet24.10|10.1.0.0/31")


@pytest.mark.parametrize(
    ("edit", "check", "said"),
    [
        (row("Ethernet24.10", vlan="11"), "P1", "VLAN tag 11 here, VLAN tag 10 there"),
        (row("Ethernet24.10", admin_status="down"), "L12", "down here, up at spine1:Ethernet8.10"),
        (renumbered, "P1", "10.1.0.8"),
        (without("Ethernet24.10"), "R9", "has no row 'VLAN_SUB_INTERFACE|Ethernet24.10'"),
        (row("Ethernet25.10"), "R1", "Ethernet25 is neither a port nor a LAG"),
        (row("Eth24.20"), "R9", "has a short name and no 'vlan'"),
        (row("Eth24.20", vlan="10"), "R9", "has VLAN tag 10, and so has Ethernet24.10"),
        (row("Ethernet24.4095"), "R5", "'4095' is no VLAN tag"),
        (row("Ethernet24.10", vlan="ten"), "R5", "vlan"),
        (row("Ethernet24.10|10.1.0.0", x="1"), "R5", "'10.1.0.0' is no address with its prefix length"),
    ],
)
def test_a_mistake_is_found_at_the_sub_interface(edit: Edit, check: str, said: str, tmp_path: Path) -> None:
    causes = judged(fabric(tmp_path, edit))
    found = [it for cause in causes for it in cause.findings if it.check.id == check and said in it.text]
    assert found, [(it.check.id, it.first.text) for it in causes]
    assert {it.device for it in found} <= {"leaf1", "spine1"}


def test_a_session_over_a_shut_sub_interface_is_down_for_that(tmp_path: Path) -> None:
    causes = judged(fabric(tmp_path, row("Ethernet24.10", admin_status="down")))
    assert [it.check.id for it in causes] == ["L12"]
    plan = plan_of(tmp_path)
    assert not plan.end.bad
    (change,) = plan.changes
    assert [it.path for it in change.rows] == [(SUB, "Ethernet24.10", "admin_status")]
    assert change.command == "config interface startup Ethernet24.10"


def test_a_sub_interface_that_is_shut_at_both_ends_has_no_finding(tmp_path: Path) -> None:
    files = good("sonic")
    for name, sub in (("leaf1", "Ethernet24.20"), ("spine1", "Ethernet8.20")):
        files[f"{name}.json"][SUB] = {sub: {"admin_status": "down"}}
    write("sonic", files, tmp_path)
    assert not judged(tmp_path)


def test_a_sub_interface_of_a_lag_is_read(tmp_path: Path) -> None:
    files = good("sonic")
    files["leaf1.json"]["PORTCHANNEL"] = {"PortChannel1": {"admin_status": "up"}}
    files["leaf1.json"][SUB] = {"Po1.7": {"vlan": "7", "vrf_name": "VrfRed"}, "Po1.7|10.7.0.1/24": {}}
    files["leaf1.json"]["VRF"] = {"VrfRed": {}}
    write("sonic", files, tmp_path)
    device = load_network([tmp_path]).devices["leaf1"]
    assert device.addresses["PortChannel1.7"] == ("10.7.0.1/24",)
    assert device.identity.interface_vrfs["PortChannel1.7"] == "VrfRed"
    assert not [it for it in validate(load_network([tmp_path])).findings if it.severity >= Severity.ERROR]
