"""A switch that is named and not given fails the run; a folder that is not read is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fabrics import switch

from fabric.cli.main import main
from fabric.configs.load import load_network
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.runner import validate

PAIR: dict[str, dict[str, Any]] = {
    "leaf1": switch("leaf1", "65101", "LeafRouter", {"Ethernet0": ("spine1", "Ethernet0"), "Ethernet8": ("h", "eth0")}),
    "leaf2": switch(
        "leaf2", "65102", "LeafRouter", {"Ethernet0": ("spine1", "Ethernet8"), "Ethernet8": ("h2", "eth0")}
    ),
}
SPINE = {
    "spine1": switch(
        "spine1", "65001", "SpineRouter", {"Ethernet0": ("leaf1", "Ethernet0"), "Ethernet8": ("leaf2", "Ethernet0")}
    )
}


def write(folder: Path, fabric: dict[str, dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, tables in fabric.items():
        (folder / f"{name}.json").write_text(json.dumps(tables), encoding="utf-8")
    return folder


def missing(folder: Path, **more: Any) -> list[Finding]:  # noqa: ANN401
    return list(validate(load_network([folder], **more), only={"R11"}).findings)


def test_a_neighbour_that_is_a_switch_and_was_not_given_is_an_error(tmp_path: Path) -> None:
    (found,) = missing(write(tmp_path, PAIR))
    assert (found.device, found.severity) == ("spine1", Severity.ERROR)
    assert missing(write(tmp_path, SPINE)) == []


def test_hosts_are_no_missing_switches(tmp_path: Path) -> None:
    tables = switch(
        "leaf1", "65101", "LeafRouter", {"Ethernet0": ("dgx1", "eth0"), "Ethernet8": ("host1", "Ethernet1")}
    )
    assert missing(write(tmp_path, {"leaf1": tables})) == []


def test_a_switch_that_a_links_file_names_is_missing(tmp_path: Path) -> None:
    links = tmp_path / "links.yml"
    links.write_text("links: [{a: [leaf9, Ethernet0], b: [spine9, Ethernet0]}]\n", encoding="utf-8")
    assert {it.device for it in missing(write(tmp_path / "new", PAIR), links=links)} == {"leaf9", "spine9"}


def test_one_switch_alone_gets_a_note(tmp_path: Path) -> None:
    (found,) = missing(write(tmp_path, {"leaf1": PAIR["leaf1"]}))
    assert found.severity is Severity.INFO


def test_a_switch_that_only_the_baseline_has_fails_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = switch("leaf3", "65103", "LeafRouter", {"Ethernet0": ("host1", "eth0")})
    old = write(tmp_path / "old", {**PAIR, **SPINE, "leaf3": alone})
    new = write(tmp_path / "new", {**PAIR, **SPINE})
    command = ["validate", str(new), "--baseline", str(old), "--only", "R11"]
    assert main(command) == 1
    assert "the baseline has it, and it was not given" in capsys.readouterr().out
    rules = tmp_path / "accept.yml"
    rules.write_text("- {check: R11, device: leaf3, reason: removed, expires: 2999-01-01}\n", encoding="utf-8")
    assert main([*command, "--suppress", str(rules)]) == 0


def test_a_folder_in_a_folder_is_named_unless_an_option_reads_it(tmp_path: Path) -> None:
    folder = write(tmp_path, {**PAIR, **SPINE})
    write(folder / "old", PAIR)
    (folder / "nics").mkdir()
    (folder / "nics" / "hosts.yml").write_text("default: {roce_dscp: 26}\n", encoding="utf-8")
    network = load_network([folder], hosts=folder / "nics")
    assert [item.what for item in network.unread] == [
        "folder 'old': its files were not read; name it, too, to read them"
    ]
