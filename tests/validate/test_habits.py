"""Mistakes of tests/mistakes/habits.py, and what is like them and right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.configs.load import load_network
from fabric.validate.runner import validate
from tests.mistakes.habits import CASES
from tests.mistakes.mistake import Edit, Mistake, put, replaced
from tests.mistakes.score import scores

_WAITS = "   neighbor 10.1.0.1 remote-as 65000\n"
_MORE_PORTS = range(30, 70)


def _more_ports_of_nvue(tree: Any) -> Any:  # noqa: ANN401  a tree of NVUE
    tree["interface"] |= {f"swp{number}": {"type": "swp", "link": {"state": "down"}} for number in _MORE_PORTS}
    return tree


def _more_ports_of_nxos(text: Any) -> Any:  # noqa: ANN401  the text of a file
    return text + "".join(f"interface Ethernet1/{number}\n  shutdown\n" for number in _MORE_PORTS)


def test_each_of_them_is_found_and_its_cause_comes_first(tmp_path: Path) -> None:
    wrong = {it.mistake.id: it.message for it in scores(tmp_path, CASES) if not it.first}
    assert not wrong


@pytest.mark.parametrize(
    ("language", "file", "edit"),
    [
        ("eos", "leaf1.cfg", replaced(_WAITS, f"{_WAITS}   neighbor 10.1.0.1 passive\n")),
        ("eos", "leaf1.cfg", replaced("   router-id 10.0.0.1\n", "   router-id 10.0.0.1\n   no shutdown\n")),
        # 26 / 8 is 3, what the line said
        ("eos", "leaf1.cfg", replaced("qos map dscp 48", "no qos map dscp 26\nqos map dscp 48")),
        ("nvue", "leaf1.yaml", put("system", "forwarding", "ecmp-hash", value={"source-port": "on"})),
    ],
)
def test_what_is_like_them_and_right_has_no_finding(language: str, file: str, edit: Edit, tmp_path: Path) -> None:
    (score,) = scores(tmp_path, [Mistake(language, "right", "", "", "", file, edit)])
    assert not score.causes, score.message


@pytest.mark.parametrize(
    ("language", "file", "edit"),
    [("nvue", "leaf1.yaml", _more_ports_of_nvue), ("nxos", "leaf1.cfg", _more_ports_of_nxos)],
)
def test_the_watchdog_times_of_sonics_script_apply_to_no_other_system(
    language: str, file: str, edit: Edit, tmp_path: Path
) -> None:
    Mistake(language, "right", "", "", "", file, edit).write(tmp_path)
    network = load_network([tmp_path])
    assert len(network.devices["leaf1"].ports) > 32
    assert "W9" not in {it.check.id for it in validate(network).findings}
