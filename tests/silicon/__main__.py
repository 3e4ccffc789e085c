"""`python -m tests.silicon`: write docs/silicon.md."""

from __future__ import annotations

from tests.silicon.page_of_chips import PAGE, page

PAGE.write_text(page(), encoding="utf-8")
