"""What the lines of other switches say of a mistyped number; policies of the two directions are two lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.baseline import changes
from fabric.validate.fix import lines
from fabric.validate.fix.search import find
from fabric.validate.judge import Request, judge
from tests.mistakes.mistake import good, write

POLICIES = "   neighbor 10.1.0.1 route-map A in\n   neighbor 10.1.0.1 route-map B out\n"


def written(folder: Path, language: str, old: str, new: str, *, usual: str = "64", before: str = "") -> Path:
    """The good fabric with so many paths everywhere, and leaf1 with another line."""
    files = good(language)
    for name in (it for it in files if it.endswith(".cfg")):
        files[name] = files[name].replace("maximum-paths 4\n", f"maximum-paths {usual}\n")
        if before:
            files[name] = before + files[name].replace(
                "   neighbor 10.1.0.1 remote-as", f"{POLICIES}   neighbor 10.1.0.1 remote-as"
            )
    assert old in files["leaf1.cfg"]
    files["leaf1.cfg"] = files["leaf1.cfg"].replace(old, new)
    folder.mkdir()
    write(language, files, folder)
    return folder


@pytest.mark.parametrize("language", ["eos", "nxos"])
@pytest.mark.parametrize(
    ("typed", "usual", "meant"),
    [("4O", "64", "64"), ("6O", "64", "64"), ("64O", "64", "64"), ("4O", "40", "40"), ("l6", "16", "16")],
)
def test_a_number_with_a_letter_is_that_of_the_peers(
    language: str, typed: str, usual: str, meant: str, tmp_path: Path
) -> None:
    folder = written(tmp_path / "it", language, f"maximum-paths {usual}\n", f"maximum-paths {typed}\n", usual=usual)
    request = Request([folder])
    verdict = judge(request)
    assert verdict.causes[0].check.id == "R5"
    assert f"did you mean 'maximum-paths {meant}'" in verdict.causes[0].first.text
    plan = find(request, verdict)
    assert not plan.left
    assert f"maximum-paths {meant}\n" in plan.end.text(str(folder / "leaf1.cfg"))


def test_a_value_that_each_neighbour_has_for_itself_is_not_that_of_the_peers(tmp_path: Path) -> None:
    """Most neighbours of the fabric have the spines' AS number; the spine's own neighbour was meant."""
    files = good("eos")
    files["spine1.cfg"] = files["spine1.cfg"].replace("remote-as 65101", "remote-as 651O1")
    write("eos", files, tmp_path)
    said = [it.text for it in judge(Request([tmp_path])).findings if it.check.id == "R5"]
    assert said
    assert all("65000" not in it for it in said)


def test_a_route_map_of_one_direction_is_repaired_and_the_other_stays(tmp_path: Path) -> None:
    maps = "route-map A permit 10\nroute-map B permit 10\n"
    old = written(tmp_path / "old", "eos", "route-map B out", "route-map B out", before=maps)
    new = written(tmp_path / "new", "eos", "route-map B out", "route-map BB out", before=maps)
    said = changes(load_network([old]), load_network([new]))
    assert said == ("leaf1: router bgp neighbor 10.1.0.1 route-map out: B → BB",)
    request = Request([new], baseline=old)
    plan = find(request, judge(request))
    assert not plan.left
    assert plan.end.text(str(new / "leaf1.cfg")) == (old / "leaf1.cfg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "head"),
    [
        ("neighbor 10.1.0.1 route-map A in", "neighbor 10.1.0.1 route-map in"),
        ("neighbor 10.1.0.1 prefix-list A out", "neighbor 10.1.0.1 prefix-list out"),
        ("route-map A in", "route-map in"),
        ("ip access-group A in", "ip access-group in"),
        ("route-map A permit 10", "route-map A permit 10"),
    ],
)
def test_a_policy_is_a_line_for_each_direction(line: str, head: str) -> None:
    assert lines.head(line) == head
