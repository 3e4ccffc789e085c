"""The answer of GET /api/v1/roots as a page: what `fabric explain roots` prints of a live run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fabric.errors import FabricError
from fabric.render.document import Document, Prose, Section, Status, worst
from fabric.units import NS_PER_S, listed
from telemetry.live.shown import time_text
from telemetry.sources.roots_table import STATUS_OF_RANK, and_more, roots_table

_PARTS: Final = ("device", "port", "class", "members", "open", "change_before", "runbooks", "playbook")
"""Fields of a root that its row does not have."""
_NOTE: Final = (
    "From the samples of a run that goes on, by docs/diagnosis.md: a root may become clearer with the next samples. "
    "Who was hurt is known at the end: `fabric serve --out DIR`, then `fabric explain roots DIR`."
)


def live_roots(url: str, found: Mapping[str, Any]) -> Document:
    """The page. Raises: FabricError where the answer has not the fields of this version."""
    try:
        return _page(url, found)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FabricError(f"{url} answers like another version", "use the same version on both sides") from error


def _page(url: str, found: Mapping[str, Any]) -> Document:
    roots = found["roots"]
    span = f"pass {found['pass']}, {time_text(found['from_seconds'])} to {time_text(found['until_seconds'])}"
    if not roots:
        verdict = f"no root cause in {span}: no metric shows a fault"
        return Document("Roots", url, Status.GOOD, verdict, (), (Section("roots", "Root causes", (Prose(_NOTE),)),))
    rows = tuple(
        (
            it["kind"], it["place"], listed(it["members"], 3), round(it["since_seconds"] * NS_PER_S),
            round(it["until_seconds"] * NS_PER_S), it["confidence"],
        )
        for it in roots
    )  # fmt: skip
    parts = tuple({name: it[name] for name in _PARTS} for it in roots)
    table = roots_table(rows, [it["rank"] for it in roots], _NOTE, parts)
    prose = [Prose(_sentences(it), STATUS_OF_RANK[it["rank"]]) for it in roots]
    verdict = f"{roots[0]['title']}: {roots[0]['place']}{and_more(len(roots))} ({span})"
    status = worst([STATUS_OF_RANK[it["rank"]] for it in roots])
    return Document("Roots", url, status, verdict, (), (Section("roots", "Root causes", (table, *prose)),))


def _sentences(root: Mapping[str, Any]) -> str:
    books = [f"docs/runbooks/{name}.md" for name in root["runbooks"]]
    read = ", ".join([*books, *([f"fabric playbook show {root['playbook']}"] if root["playbook"] else [])])
    return (
        f"{root['place']}: {root['title']}{', and it lasts' if root['open'] else ''}. {'; '.join(root['evidence'])}. "
        f"First: {root['act']}. "
        f"Changed before: {root['change_before'] or 'nothing that is known'}." + (f" Read: {read}." if read else "")
    )
