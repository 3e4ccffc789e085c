"""The glossary has one meaning for each term, and words that it replaced do not come back."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

GONE: Final = re.compile(
    r"\b(plays|played|playing|crew|dealing|heard|wear|worn|happenings|steer|steered|anew|by turns|stands? still|"
    r"circles? of)\b",
    re.IGNORECASE,
)
"""Of the words that were replaced those that the field uses for nothing else; the others have another meaning there."""
WHERE: Final = (
    "fabric/**/*.py", "telemetry/**/*.py", "playbooks/**/*.py", "playbooks/**/*.md", "playbooks/**/*.yml",
    "bench/**/*.py", "tools/*.py", "scenarios/**/*.yml", "docs/*.md", "docs/howto/*.md", "docs/tutorials/*.md",
    "docs/runbooks/*.md", "examples/*", "README.md", "CONTRIBUTING.md",
)  # fmt: skip
"""Not docs/decisions: the pages of decisions are the history, so they keep their words."""
ALLOWED: Final = frozenset({("fabric/scenario/schema/expectations.py", '"arp.heard"')})
"""A name of earlier versions that is still read."""


def terms(page: str) -> list[str]:
    """First cells of the tables above the replaced words, divided at commas outside parentheses."""
    cells = re.findall(r"^\| ([^|]+) \| ", page.partition("## Words that were replaced")[0], re.MULTILINE)
    return [it.strip() for cell in cells if cell != "term" for it in re.split(r", (?![^(]*\))", cell)]


def test_every_term_has_one_meaning(repo_root: Path) -> None:
    found = terms((repo_root / "docs/glossary.md").read_text(encoding="utf-8"))
    assert len(found) > 150
    assert not [term for term, count in Counter(found).items() if count > 1], "say of which field each is"


def test_replaced_words_do_not_come_back(repo_root: Path) -> None:
    files = {path for pattern in WHERE for path in repo_root.glob(pattern)} - {repo_root / "docs/glossary.md"}
    assert len(files) > 1000
    found = []
    for path in sorted(files):
        name, text = path.relative_to(repo_root).as_posix(), path.read_text(encoding="utf-8")
        if GONE.search(text):
            found += [
                f"{name}:{number}: {line.strip()}"
                for number, line in enumerate(text.splitlines(), 1)
                if GONE.search(line) and not any(name == file and words in line for file, words in ALLOWED)
            ]
    assert not found, "use the word of docs/glossary.md"
