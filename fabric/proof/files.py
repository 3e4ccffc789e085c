"""Scenario files of proofs, and their folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from fabric.runs.owned import OwnedFolder
from fabric.validate.proofs import Proof
from fabric.visible import visible

_LONGEST: Final = 50
"""A scenario's name has at most 63 characters; '.remedied' is added to it."""
_OTHER: Final = re.compile(r"[^A-Za-z0-9.]+")
INDEX: Final = "proofs.json"
COMMAND: Final = "fabric validate --prove-out"
"""Who writes the folder, in its list of files."""
ROLLOUT: Final = "fabric rollout --prove-out"
"""The same of a rollout."""


def stem(*words: str) -> str:
    """A name of files and scenarios: 'H1-leaf1-Ethernet16'."""
    return "-".join(_OTHER.sub("-", word).strip("-.") for word in words)[:_LONGEST].strip("-.")


def scenario_text(raw: Mapping[str, Any], heads: Iterable[str], origins: Mapping[str, str]) -> str:
    """A scenario as YAML, with what it shows, and the origin of every value, in comments before it."""
    lines = [f"# {visible(line)}" for line in heads]
    if origins:
        lines += ["#", "# Where the values are from:"]
        lines += [f"#   {visible(what)}: {visible(where)}" for what, where in origins.items()]
    body = yaml.safe_dump(dict(raw), sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)
    return "\n".join(lines) + "\n" + body


class Folder:
    """A folder of scenarios. Each proof is written as soon as it is made, so that an interruption keeps it.

    Parameters
    ----------
    more    add to what this call has written; otherwise the files of an earlier call are removed
    command    COMMAND or ROLLOUT: one never removes the files of the other

    Raises: InputErrors where the folder has files of others only.
    """

    def __init__(self, path: Path, *, more: bool = False, command: str = COMMAND) -> None:
        self._owned = OwnedFolder(path, "--prove-out", command, more=more)

    def write(self, proof: Proof) -> Proof:
        """Write the scenarios of a proof, and say where. A proof without a scenario is returned as it is."""
        if not proof.scenario:
            return proof
        name = self._free(stem(proof.check, proof.device, proof.object), ".yml", ".remedied.yml")
        self._owned.write(f"{name}.remedied.yml", proof.remedied)
        return replace(proof, file=str(self._owned.write(f"{name}.yml", proof.scenario)))

    def _free(self, first: str, *suffixes: str) -> str:
        name, number = first, 1
        while any(self._owned.has(f"{name}{suffix}") for suffix in suffixes):
            number += 1
            name = f"{first}-{number}"
        return name

    def add(self, name: str, suffix: str, text: str) -> str:
        """Write a file of another kind than a proof, and return its path."""
        return str(self._owned.write(f"{self._free(name, suffix)}{suffix}", text))

    def index(self, found: Iterable[Proof]) -> None:
        """Every result, without the scenarios."""
        self._index([it.as_dict(scenarios=False) for it in found])

    def index_of_states(self, found: Mapping[str, Iterable[Proof]]) -> None:
        """Every result of a rollout, without the scenarios, each with its state."""
        self._index([{"state": state} | it.as_dict(scenarios=False) for state, its in found.items() for it in its])

    def _index(self, rows: list[dict[str, Any]]) -> None:
        self._owned.write(INDEX, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
