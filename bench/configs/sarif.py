"""Scores a tool's SARIF against the answer, whichever tool wrote it.

A result is right where it has the level warning or error, names a switch that the answer allows (as the file, as a
logical location, or as a word of its message), and contains the answer's word, such as the port or the field. Rules of
this project's own output are compared as well. Results that the tool also gives of the working fabric are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Self

from fabric.errors import FabricError

OWN: Final = "fabric validate"


@dataclass(frozen=True, slots=True)
class Answer:
    """One mutant and what a tool should say of it."""

    id: str
    """'sonic-10-007': language, switches, number; also its folder and its SARIF file."""
    language: str
    switches: int
    title: str
    devices: tuple[str, ...]
    where: str
    checks: tuple[str, ...]
    """Rules of this project that name it; other tools have their own."""

    @classmethod
    def of_json(cls, row: Mapping[str, Any]) -> Self:
        """Of what JSON keeps of an answer, which has lists for tuples."""
        return cls(**{**row, "devices": tuple(row["devices"]), "checks": tuple(row["checks"])})


@dataclass(frozen=True, slots=True)
class Scored:
    """What a tool said of one mutant."""

    answer: Answer
    found: bool
    first: bool
    right: int
    new: int
    seconds: float = 0.0


def results(document: Mapping[str, Any]) -> tuple[str, list[Mapping[str, Any]]]:
    """(name of the tool, its warnings and errors in its order). Raises: FabricError."""
    try:
        runs = document["runs"]
        name = str(runs[0]["tool"]["driver"]["name"]) if runs else ""
        rows = [it for run in runs for it in run.get("results", [])]
        return name, [it for it in rows if it.get("level", "warning") in {"warning", "error"}]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise FabricError(f"the document is no SARIF log: {error!r}", "give SARIF 2.1.0") from error


def scored(
    answer: Answer, document: Mapping[str, Any], healthy: Mapping[str, Any] | None, seconds: float = 0.0
) -> Scored:
    """The score of one mutant; `healthy`: the tool's log of the working fabric."""
    tool, rows = results(document)
    known = {_key(it) for it in results(healthy)[1]} if healthy is not None else set()
    new = [it for it in rows if _key(it) not in known]
    hits = [_right(answer, it, own=tool == OWN) for it in new]
    return Scored(answer, any(hits), bool(hits) and hits[0], sum(hits), len(hits), seconds)


def _key(result: Mapping[str, Any]) -> str:
    return json.dumps([result.get("ruleId"), _files(result), _message(result)])


def _message(result: Mapping[str, Any]) -> str:
    return str(result.get("message", {}).get("text", ""))


def _files(result: Mapping[str, Any]) -> list[str]:
    places = (it.get("physicalLocation", {}) for it in result.get("locations", []))
    return [str(it.get("artifactLocation", {}).get("uri", "")) for it in places]


def _right(answer: Answer, result: Mapping[str, Any], *, own: bool) -> bool:
    if own and result.get("ruleId") not in answer.checks:
        return False
    named = {PurePosixPath(it).stem for it in _files(result)}
    logical = (row for it in result.get("locations", []) for row in it.get("logicalLocations", []))
    named |= {str(row.get("fullyQualifiedName", row.get("name", ""))).split("/")[0] for row in logical}
    named |= set(re.findall(r"[A-Za-z]+[\w-]*\d+", _message(result)))
    return bool(named & set(answer.devices)) and answer.where in json.dumps(result, ensure_ascii=False)


def shares(rows: Sequence[Scored]) -> tuple[float, float, float]:
    """(recall, precision, share with the right cause first)."""
    if not rows:
        return 0.0, 0.0, 0.0
    new = sum(it.new for it in rows)
    return (
        sum(it.found for it in rows) / len(rows),
        sum(it.right for it in rows) / new if new else 0.0,
        sum(it.first for it in rows) / len(rows),
    )
