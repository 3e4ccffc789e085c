"""A setting that a peer group or a template states is repaired there, and its line is that of the group."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from fabric.configs.load import load_network
from fabric.validate.fix.search import find
from fabric.validate.fix.told import told
from fabric.validate.judge import Request, judge
from fabric.validate.runner import validate
from tests.mistakes import frr
from tests.mistakes.mistake import good, write

LANGUAGES = ("frr", "eos", "nxos", "nvue")
_MEMBER = {
    "frr": (r" neighbor (10\.1\.\S+) remote-as 65000\n", r" neighbor \1 peer-group SPINES\n"),
    "eos": (r"   neighbor (10\.1\.\S+) remote-as 65000\n", r"   neighbor \1 peer group SPINES\n"),
    "nxos": (r"  neighbor (10\.1\.\S+)\n    remote-as 65000\n", r"  neighbor \1\n    inherit peer SPINES\n"),
}
"""A neighbour's AS number, and its group in the place of that."""
_GROUP = {
    "frr": " neighbor SPINES peer-group\n neighbor SPINES remote-as {}\n",
    "eos": "   neighbor SPINES peer group\n   neighbor SPINES remote-as {}\n",
    "nxos": "  template peer SPINES\n    remote-as {}\n",
}
_FILE = {"frr": "leaf1.frr.conf", "eos": "leaf1.cfg", "nxos": "leaf1.cfg", "nvue": "leaf1.yaml"}


def grouped(language: str, asn: int, folder: Path) -> Path:
    """The working fabric whose leaf1 has its spines in a group, which states this AS number."""
    files: dict[str, Any] = copy.deepcopy(frr.good() if language == "frr" else good(language))
    if language == "nvue":
        bgp = files[_FILE[language]]["vrf"]["default"]["router"]["bgp"]
        bgp["peer-group"] = {"SPINES": {"remote-as": asn}}
        for row in bgp["neighbor"].values():
            del row["remote-as"]
            row["peer-group"] = "SPINES"
    else:
        text, count = re.subn(*_MEMBER[language], files[_FILE[language]])
        assert count == 2
        first = re.search(_MEMBER[language][1].replace(r"\1", r"\S+"), text)
        assert first is not None
        files[_FILE[language]] = text[: first.start()] + _GROUP[language].format(asn) + text[first.start() :]
    folder.mkdir()
    write("sonic" if language == "frr" else language, files, folder)
    return folder


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_group_with_the_right_number_has_no_finding(language: str, tmp_path: Path) -> None:
    verdict = validate(load_network([grouped(language, 65000, tmp_path / "new")]))
    assert not [it for it in verdict.findings if it.check.id.startswith("P")]


@pytest.mark.parametrize("baseline", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_as_number_of_a_group_is_repaired_in_the_group(language: str, baseline: bool, tmp_path: Path) -> None:
    old = grouped(language, 65000, tmp_path / "old")
    request = Request([grouped(language, 65009, tmp_path / "new")], baseline=old if baseline else None)
    verdict = judge(request)
    plan = find(request, verdict)
    assert plan.asked
    assert plan.gone == plan.asked
    assert len(plan.changes) == 1
    file = str(tmp_path / "new" / _FILE[language])
    assert "65000" in plan.end.text(file)
    assert "65009" not in plan.end.text(file)
    first = told(verdict, plan).causes[0]
    assert first.check.id == "P2"
    assert first.first.place is not None
    assert "65009" in Path(file).read_text(encoding="utf-8").split("\n")[first.first.place.line - 1]


@pytest.mark.parametrize("language", ["eos", "nxos", "nvue"])
def test_one_member_with_another_number_is_repaired_at_the_member(language: str, tmp_path: Path) -> None:
    folder = grouped(language, 65000, tmp_path / "new")
    spine = next(folder.glob("spine1.*"))
    text = spine.read_text(encoding="utf-8")
    spine.write_text(text.replace("65000", "65010"), encoding="utf-8")
    other = next(folder.glob("leaf2.*"))
    at = other.read_text(encoding="utf-8")
    other.write_text(at.replace("65000", "65010", 1), encoding="utf-8")
    found = [it for it in validate(load_network([folder])).findings if it.check.id == "P2" and it.device == "leaf1"]
    assert found
    assert all(it.fix is None or "SPINES" not in it.fix.command for it in found)


def test_bgpd_takes_no_number_of_a_member_whose_group_has_one(tmp_path: Path) -> None:
    folder = grouped("frr", 65009, tmp_path / "new")
    file = folder / _FILE["frr"]
    text = file.read_text(encoding="utf-8")
    text = text.replace(" neighbor 10.1.0.1 peer-group SPINES\n", " neighbor 10.1.0.1 peer-group SPINES\n"
                        " neighbor 10.1.0.1 remote-as 65000\n")  # fmt: skip
    file.write_text(text, encoding="utf-8")
    verdict = validate(load_network([folder]))
    assert any(it.check.id == "R9" and "does not take 65000" in it.text for it in verdict.findings)
    assert any(it.check.id == "P2" for it in verdict.findings)
