"""A hook of the wheel's build: every page of docs/ goes into the package, where `fabric docs` finds it.

Pictures and the site's own files stay out: the pages are read in a terminal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_LEFT_OUT = ("man", "site")
"""Manual pages have a place of their own; a built site is made of these pages."""


def pages(docs: Path) -> list[Path]:
    """The Markdown files that travel, relative to docs/, sorted."""
    found = (path.relative_to(docs) for path in docs.rglob("*.md"))
    return sorted(path for path in found if path.parts[0] not in _LEFT_OUT)


class ShippedPages(BuildHookInterface):  # type: ignore[type-arg]  hatchling's parameter is its own configuration
    """Called by hatchling (pyproject.toml, hooks.custom)."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the pages; an editable installation reads docs/ itself."""
        if version == "editable":
            return
        docs = Path(self.root) / "docs"
        for page in pages(docs):
            build_data["force_include"][str(docs / page)] = f"fabric/shipped_files/docs/{page.as_posix()}"
