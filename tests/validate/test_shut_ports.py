"""A port that is shut is the cause; sessions between loopbacks, and hosts, without a way are what follows from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fabric.validate.checks.base import Severity
from tests.mistakes.mistake import good, write
from tests.mistakes.score import judged

UPLINKS = {
    "sonic": ("Ethernet24", "Ethernet32"),
    "eos": ("Ethernet3/1", "Ethernet4/1"),
    "nxos": ("Ethernet1/3", "Ethernet1/4"),
    "nvue": ("swp3", "swp4"),
}


def shut(language: str, content: Any, port: str) -> Any:  # noqa: ANN401  text or JSON
    """The file of a switch with this port down."""
    if language == "sonic":
        content["PORT"][port]["admin_status"] = "down"
        return content
    if language == "nvue":
        content["interface"][port].setdefault("link", {})["state"] = {"down": {}}
        return content
    head = f"interface {port}\n"
    before, _, after = content.partition(head)
    own = re.match(r"(?:[ \t].*\n)*", after)
    assert own is not None
    block = own[0].replace("no shutdown", "shutdown")
    indent = re.match(r"\s*", block)
    assert indent is not None
    return before + head + ("" if "shutdown" in block else f"{indent[0]}shutdown\n") + block + after[own.end() :]


@pytest.mark.parametrize("ports", [1, 2])
@pytest.mark.parametrize(
    ("language", "interior"),
    [("sonic", ""), ("eos", ""), ("nxos", ""), ("nvue", ""), ("eos", "ospf"), ("nxos", "isis"), ("nvue", "ospf")],
)
def test_a_shut_port_is_the_only_cause(language: str, interior: str, ports: int, tmp_path: Path) -> None:
    files = good(language, loopbacks=True, interior=interior)
    name = next(it for it in files if it.startswith("leaf1."))
    for port in UPLINKS[language][:ports]:
        files[name] = shut(language, files[name], port)
    write(language, files, tmp_path)
    (cause,) = (it for it in judged(tmp_path) if it.check.id != "N5")
    assert cause.check.id == "L12"
    assert {it.severity for it in cause.findings} == {Severity.ERROR}
    assert {it.object for it in cause.findings} == set(UPLINKS[language][:ports])
    assert ("P22" in cause.counts) == (not interior or ports > 1)


def test_a_loopback_that_is_not_advertised_is_a_cause_beside_a_shut_port(tmp_path: Path) -> None:
    files = good("eos", loopbacks=True)
    files["leaf1.cfg"] = shut("eos", files["leaf1.cfg"], "Ethernet3/1")
    files["spine2.cfg"] = files["spine2.cfg"].replace("network 10.0.0.12/32", "network 10.0.0.99/32")
    write("eos", files, tmp_path)
    causes = {it.check.id: it for it in judged(tmp_path)}
    assert "L12" in causes
    assert "P22" in causes, {id_: it.counts for id_, it in causes.items()}


def test_a_shut_port_over_which_the_other_end_has_no_session_is_a_warning(tmp_path: Path) -> None:
    """The other end took the link out of its routing: its traffic is gone before the port is."""
    files = good("eos")
    files["leaf1.cfg"] = shut("eos", files["leaf1.cfg"], "Ethernet3/1")
    address = re.search(r"interface Ethernet3/1\n(?:   .*\n)*?   ip address (\d+\.\d+\.\d+\.\d+)/", files["leaf1.cfg"])
    assert address is not None
    head = f"   neighbor {address[1]} remote-as"
    assert head in files["spine1.cfg"]
    files["spine1.cfg"] = files["spine1.cfg"].replace(head, f"   neighbor {address[1]} shutdown\n{head}", 1)
    write("eos", files, tmp_path)
    found = {it.object: it.severity for cause in judged(tmp_path) for it in cause.findings if it.check.id == "L12"}
    assert found == {"Ethernet3/1": Severity.WARN}
