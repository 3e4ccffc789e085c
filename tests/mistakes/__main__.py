"""`python -m tests.mistakes`: write docs/mistakes.md."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.mistakes.page import PAGE, page

with tempfile.TemporaryDirectory(prefix="fabric-mistakes-") as work:
    PAGE.write_text(page(Path(work)), encoding="utf-8")
print(PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE, file=sys.stderr)  # noqa: T201
