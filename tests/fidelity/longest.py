"""Fast rows of theory whose tests are slow all the same: `fabric fidelity --fast` runs them, once."""

from __future__ import annotations

from typing import Final

LONGEST: Final = frozenset({"V6/quick", "V9/innocent", "V16/quick"})
"""8 to 15 s each, with the right engine and with each mutant; the others of a family take less than 3 s together."""
