"""A baseline: a finding that a new mistake hides is not called fixed, and one that comes back is not called new."""

from __future__ import annotations

import copy
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabric.cli.main import main
from fabric.configs.load import parse_device
from fabric.configs.network import Network
from fabric.validate.hidden import Statements
from fabric.validate.judge import Request, judge
from tests.mistakes.mistake import LANGUAGES, Edit, put, write
from tests.recordings import SONIC

Tables = dict[str, Any]
QUEUE = put("TC_TO_QUEUE_MAP", "M", "3", value="4")
"""M5: no class uses the queue of priority 3."""
WATCHDOG = put("PFC_WD", "Ethernet24", "action", value="alert")
PROFILE = put("PORT_QOS_MAP", "Ethernet24", "pfc_enable", value="")
"""PFC off at one end: whether its queue has a class is not judged any more."""


def folder(home: Path, name: str, edits: Sequence[Edit]) -> Path:
    files = LANGUAGES["sonic"].good()
    for edit in edits:
        files["leaf1.json"] = edit(files["leaf1.json"])
    (home / name).mkdir()
    write("sonic", files, home / name)
    return home / name


def compared(home: Path, old: Sequence[Edit], new: Sequence[Edit], *words: str) -> int:
    names = [str(folder(home, name, edits)) for name, edits in (("old", old), ("new", new))]
    return main(["validate", names[1], "--baseline", names[0], *words])


def keys(rows: Sequence[dict[str, str]]) -> set[tuple[str, str]]:
    return {(it["id"], it["object"]) for it in rows}


def test_a_mistake_that_is_hidden_is_not_fixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared(tmp_path, [QUEUE], [QUEUE, PROFILE], "--json")
    found = json.loads(capsys.readouterr().out)
    assert ("M5", "Ethernet24|3") in keys(found["hidden"])
    assert ("M5", "Ethernet24|3") not in keys(found["fixed"])
    row = next(it for it in found["hidden"] if (it["id"], it["object"]) == ("M5", "Ethernet24|3"))
    assert row["by"]["id"] in {it["id"] for it in found["findings"]}
    main(["validate", str(tmp_path / "new"), "--baseline", str(tmp_path / "old")])
    text = capsys.readouterr().out
    assert "gone  M5   leaf1  Ethernet24|3" in text
    assert "fixed, or hidden by" in " ".join(text.split())
    assert "hidden or fixed" in text.splitlines()[-1]


def test_what_was_hidden_is_named_as_it_becomes_visible(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = compared(tmp_path, [QUEUE, PROFILE], [QUEUE], "--json")
    found = json.loads(capsys.readouterr().out)
    assert ("M1", "Ethernet24") in keys([it["finding"] for it in found["visible"]])
    assert ("M1", "Ethernet24") in keys(found["findings"])
    assert code == 1
    main(["validate", str(tmp_path / "new"), "--baseline", str(tmp_path / "old"), "--format", "markdown"])
    assert "its statement is as before; " in capsys.readouterr().out


def test_a_mistake_that_is_repaired_is_fixed_beside_a_new_one_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = put("DSCP_TO_TC_MAP", "M", "48", value="3")
    compared(tmp_path, [WATCHDOG], [new], "--json")
    found = json.loads(capsys.readouterr().out)
    assert {it["id"] for it in found["fixed"]} == {"W7", "W10"}
    assert found["hidden"] == []
    assert found["visible"] == []


@pytest.mark.parametrize("style", ["text", "html", "markdown"])
def test_every_format_says_what_is_gone(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared(tmp_path, [QUEUE], [QUEUE, PROFILE], "--format", style)
    text = capsys.readouterr().out
    assert "fixed, or hidden by" in " ".join(text.split())
    assert "M5" in text


def test_a_file_of_one_line_is_compared_as_one_of_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared(tmp_path, [QUEUE, PROFILE], [QUEUE], "--json")
    expected = json.loads(capsys.readouterr().out)
    for file in tmp_path.glob("*/leaf*.json"):
        file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8"))), encoding="utf-8")
    main(["validate", str(tmp_path / "new"), "--baseline", str(tmp_path / "old"), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert expected["visible"]
    for name in ("fixed", "hidden"):
        assert keys(found[name]) == keys(expected[name])
    assert keys([it["finding"] for it in found["visible"]]) == keys([it["finding"] for it in expected["visible"]])


def curve_too_late(tree: Tables) -> Tables:
    return put("WRED_PROFILE", "W", "green_min_threshold", value="9000000")(tree)


def without_curve(tree: Tables) -> Tables:
    """No WRED profile, and no binding of it."""
    found = copy.deepcopy(tree)
    del found["WRED_PROFILE"]
    for row in found["QUEUE"].values():
        row.pop("wred_profile", None)
    return found


def test_a_curve_that_is_deleted_with_its_bindings_is_not_fixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compared(tmp_path, [curve_too_late], [curve_too_late, without_curve], "--json")
    found = json.loads(capsys.readouterr().out)
    assert ("E1", "WRED_PROFILE|W") in keys(found["gone"])
    assert ("E1", "WRED_PROFILE|W") not in keys(found["fixed"])
    for style, words in (("text", "not judged any more, its statement was removed"), ("html", "Gone, and not known")):
        main(["validate", str(tmp_path / "new"), "--baseline", str(tmp_path / "old"), "--format", style])
        assert words in " ".join(capsys.readouterr().out.split())


def test_a_curve_that_is_set_right_is_fixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared(tmp_path, [curve_too_late], [], "--json")
    found = json.loads(capsys.readouterr().out)
    assert ("E1", "WRED_PROFILE|W") in keys(found["fixed"])
    assert found["gone"] == []


def test_an_object_that_nothing_uses_is_fixed_by_its_removal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spare = put("WRED_PROFILE", "SPARE", value={"green_min_threshold": "400000", "green_max_threshold": "1600000"})
    compared(tmp_path, [spare], [], "--json")
    found = json.loads(capsys.readouterr().out)
    assert ("R2", "WRED_PROFILE|SPARE") in keys(found["fixed"])


def test_findings_of_a_switch_that_is_not_given_are_not_fixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder(tmp_path, "old", [WATCHDOG])
    new = folder(tmp_path, "new", [])
    (new / "leaf1.json").unlink()
    main(["validate", str(new), "--baseline", str(tmp_path / "old"), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [it for it in found["fixed"] if it["device"] == "leaf1"] == []
    assert {it["why"] for it in found["gone"]} == {"leaf1 was not given"}
    assert "W10" in {it["id"] for it in found["gone"]}


def test_findings_of_a_port_that_has_no_link_any_more_are_not_fixed(tmp_path: Path) -> None:
    """The notes of H1 of ports whose neighbour was taken out of all tables."""
    states = []
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        states.append(tmp_path / name)
        for file in (SONIC / "fabric_ok").glob("[ls]*.json"):
            tables = json.loads(file.read_text(encoding="utf-8"))
            if name == "new":
                rows = tables["DEVICE_NEIGHBOR"].items()
                tables["DEVICE_NEIGHBOR"] = {port: it for port, it in rows if it["name"] != "leaf2"}
                tables.pop("BGP_NEIGHBOR")
            (states[-1] / file.name).write_text(json.dumps(tables), encoding="utf-8")
    (states[1] / "leaf2.json").unlink()
    verdict = judge(Request([states[1]], baseline=states[0], only="H1"))
    assert {(it.device, it.check.id) for it in verdict.fixed} == set()
    why = {it.why for it in verdict.gone if it.finding.device == "spine1"}
    assert why
    assert all("is down or has no link" in it for it in why)


def block_removed(lines: str, head: str) -> str:
    """A running-config without one block."""
    found, inside = [], False
    for line in lines.splitlines(keepends=True):
        inside = line.strip() == head or (inside and line.startswith(" "))
        found += [] if inside else [line]
    return "".join(found)


def test_a_block_of_lines_that_is_removed_is_not_there_any_more(tmp_path: Path) -> None:
    old = (
        "! device: leaf1 (DCS, EOS-4.32.1F)\nhostname leaf1\n!\n"
        "interface Ethernet1\n   mtu 9214\n!\ninterface Ethernet2\n   mtu 9214\n!\n"
    )
    networks = []
    for state, text in (("old", old), ("new", block_removed(old, "interface Ethernet1"))):
        file = tmp_path / f"{state}.cfg"
        file.write_text(text, encoding="utf-8")
        device = parse_device(text, str(file))
        networks.append(Network({device.name: device}))
    statements = Statements(*networks)
    assert statements.removed(("leaf1", ("interface", "Ethernet1", "mtu")))
    assert not statements.removed(("leaf1", ("interface", "Ethernet2", "mtu")))


def one_line_json(tree: object) -> str:
    return json.dumps({"set": tree})


def one_line_yaml(tree: object) -> str:
    return f"set: {yaml.safe_dump(tree, default_flow_style=True, width=10**6)}"


def commands(tree: object, *words: str) -> str:
    if isinstance(tree, dict) and tree:
        return "".join(commands(value, *words, str(key)) for key, value in tree.items())
    last = () if isinstance(tree, dict) else (str(tree),)
    return shlex.join(("nv", "set", *words, *last)) + "\n"


@pytest.mark.parametrize("text", [one_line_json, one_line_yaml, commands, LANGUAGES["nvue"].text])
def test_only_the_statement_itself_has_changed_in_every_form_of_nvue(text: Callable[[object], str]) -> None:
    old = LANGUAGES["nvue"].good()["leaf1.yaml"]
    new = put("interface", "swp3", "link", "mtu", value=1500)(copy.deepcopy(old))
    new = put("bridge", "domain", "br_default", "vlan", "100", "vni", value={"10200": {}})(new)
    networks = []
    for state, tree in (("old", old), ("new", new)):
        device = parse_device(text(tree), f"{state}/leaf1.txt")
        networks.append(Network({device.name: device}))
    statements = Statements(*networks)
    base = ("1", "set") if text is LANGUAGES["nvue"].text else ("set",)
    vlan = ("bridge", "domain", "br_default", "vlan", "100")
    changed = {("interface", "swp3"), ("interface", "swp3", "link", "mtu"), vlan, (*vlan, "vni", "10100")}
    same = {("interface", "swp3", "qos"), ("interface", "swp4"), ("interface", "swp4", "link", "mtu"), ("evpn",)}
    assert {it for it in changed | same if statements.changed(("leaf1", (*base, *it)))} == changed
