"""What a search adds to a verdict, as data that every output shows: one section a class of ports, and the losses.

`fabric.proof` makes it; text and Markdown are made there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fabric.configs.model import Place
from fabric.visible import in_markup, visible

LOSS_RULE: Final = "search-loss"
MARGIN_RULE: Final = "search-margin"


@dataclass(frozen=True, slots=True)
class SearchLoss:
    """RoCE that is lost although no check names it."""

    name: str
    """Of the scenario; stable from run to run."""
    title: str
    """'loss without a finding (incast)'."""
    device: str
    port: str
    place: Place | None
    text: str
    condition: str
    """'only if ...'; '' where it is lost with every response of the peers."""
    scenario: str
    """For `fabric run`, which exits with 1."""
    file: str
    loses: bool = True
    """False: pauses spread, and nothing is lost."""

    @property
    def fails(self) -> bool:
        """Whether it sets the exit code."""
        return self.loses and not self.condition

    @property
    def words(self) -> str:
        """Title and text, with its condition."""
        return f"{self.title}: {self.text}" + (f" ({self.condition})" if self.condition else "")

    @property
    def level(self) -> str:
        """Of SARIF; a loss that needs a slow peer, and pauses that spread, set no exit code, as in text."""
        return "error" if self.fails else "note"


@dataclass(frozen=True, slots=True)
class SearchClass:
    """Ladders and margins of one class of ports."""

    heading: str
    tables: tuple[tuple[Sequence[str], Sequence[Sequence[str]]], ...]
    """(titles, rows)."""
    remarks: tuple[str, ...]
    place: Place | None
    """Of its first port."""


@dataclass(frozen=True, slots=True)
class Searched:
    """Everything that a search found."""

    classes: tuple[SearchClass, ...]
    losses: tuple[SearchLoss, ...]
    endings: tuple[str, ...]
    """Sentences about the whole search."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """For JSON, without scenarios."""


# SARIF ----------------------------------------------------------------------------------------------------------------


def sarif_rules() -> list[dict[str, Any]]:
    """reportingDescriptors (SARIF 3.49) of the results of a search."""
    return [
        {
            "id": LOSS_RULE,
            "name": "LossWithoutAFinding",
            "shortDescription": {"text": "RoCE is lost or blocked in simulated traffic"},
            "fullDescription": {"text": "Traffic that a search found; its scenario is attached."},
            "help": {"text": "fabric run on the attached scenario shows the loss."},
            "defaultConfiguration": {"level": "error"},
        },
        {
            "id": MARGIN_RULE,
            "name": "MarginsOfAClassOfPorts",
            "shortDescription": {"text": "how far a class of ports is from mark, pause, headroom and loss"},
            "fullDescription": {"text": "Ladders and margins of one class of ports, by simulation."},
            "help": {"text": "docs/howto/margins.md explains both tables."},
            "defaultConfiguration": {"level": "note"},
        },
    ]


def sarif_results(searched: Searched, first_rule: int) -> list[dict[str, Any]]:
    """A result for each loss, and one of kind 'informational' (SARIF 3.27.9) for each class of ports.

    Parameters
    ----------
    first_rule    index of the first of `sarif_rules` among the rules of the run
    """
    losses = [
        {
            "ruleId": LOSS_RULE,
            "ruleIndex": first_rule,
            "level": it.level,
            "message": {"text": f"{it.words}. Do: fabric run {_file(it)}"},
            "partialFingerprints": {"loss/v1": _hash(it.name)},
            "locations": _locations(it.place),
            "properties": {"devices": [it.device], "scenario": _uri(_file(it))},
        }
        for it in searched.losses
    ]
    classes = [
        {
            "ruleId": MARGIN_RULE,
            "ruleIndex": first_rule + 1,
            "kind": "informational",
            "level": "none",
            "message": {"text": "\n".join(_lines(it))},
            "partialFingerprints": {"class/v1": _hash(it.heading)},
            "locations": _locations(it.place),
        }
        for it in searched.classes
    ]
    return losses + classes


def sarif_artifacts(searched: Searched) -> list[dict[str, Any]]:
    """The scenarios with their text (SARIF 3.24, 3.3)."""
    return [
        {"location": {"uri": _uri(_file(it))}, "contents": {"text": it.scenario}, "description": {"text": it.words}}
        for it in searched.losses
    ]


def _file(it: SearchLoss) -> str:
    return it.file or f"{it.name}.yml"


def _uri(file: str) -> str:
    return quote(os.fsencode(Path(file).as_posix()))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


def _locations(place: Place | None) -> list[dict[str, Any]]:
    if place is None:
        return []
    path = Path(place.file)
    uri = path.as_uri() if path.is_absolute() else _uri(place.file)
    return [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": place.line}}}]


# JUnit ----------------------------------------------------------------------------------------------------------------


def junit_cases(searched: Searched) -> Iterator[tuple[str, str, str]]:
    """(name, text of the failure or '', text beside it) of each test case: a loss fails, margins do not."""
    for loss in searched.losses:
        command = f"fabric run {_file(loss)}"
        text = f"{loss.words}\n  do: {command}"
        if not loss.fails:
            yield f"loss {loss.name}", "", f"{text}\n{loss.scenario}"
        else:
            yield f"loss {loss.name}", text, loss.scenario
    for it in searched.classes:
        yield f"margins {it.heading}", "", "\n".join(_lines(it))


def _lines(it: SearchClass) -> Iterator[str]:
    yield it.heading
    for titles, rows in it.tables:
        for row in rows:
            cells = (f"{title} {cell}" for title, cell in zip(titles[1:], row[1:], strict=True) if cell)
            yield f"{titles[0]} {row[0]}: {'; '.join(cells)}"
    yield from it.remarks


# HTML -----------------------------------------------------------------------------------------------------------------


def html_parts(searched: Searched) -> list[str]:
    """Losses with their scenarios folded away, then the tables of each class."""
    parts = ["<h2>Search</h2>"]
    for loss in searched.losses:
        level = "error" if loss.fails else "info"
        parts.append(
            f'<section class="{level}"><h2>{_shown(loss.title)}</h2><p>{_shown(loss.words)}</p>'
            f"<p><code>fabric run {_shown(_file(loss))}</code></p>"
            "<details><summary>scenario: fabric run shows it</summary>"
            f'<pre tabindex="0" role="region" aria-label="Scenario">{in_markup(loss.scenario)}</pre></details>'
            "</section>"
        )
    for it in searched.classes:
        tables = "".join(_table(titles, rows) for titles, rows in it.tables if rows)
        rows = "".join(f"<li>{_shown(text)}</li>" for text in it.remarks)
        parts.append(f"<h2>{_shown(it.heading)}</h2>{tables}" + (f"<ul>{rows}</ul>" if rows else ""))
    return [*parts, *(f"<p>{_shown(text)}</p>" for text in searched.endings)]


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{_shown(it)}</th>" for it in titles)
    body = "".join("<tr>" + "".join(f"<td>{_shown(it)}</td>" for it in row) + "</tr>" for row in rows)
    return f'<div class="wide" tabindex="0"><table><tr>{head}</tr>{body}</table></div>'


def _shown(text: str) -> str:
    return in_markup(visible(text))
