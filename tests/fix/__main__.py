"""`python -m tests.fix`: write docs/fixes.md. It takes some minutes of one processor."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.fix.fix_page import PAGE, page
from tests.fix.fix_trials import trials

with tempfile.TemporaryDirectory(prefix="fabric-fixes-") as work:
    PAGE.write_text(page(list(trials(Path(work)))), encoding="utf-8")
print(PAGE, file=sys.stderr)  # noqa: T201
