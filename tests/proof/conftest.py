"""Makes the modules beside the tests importable, and the fabrics of tests/validate (tests are not packages)."""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "validate")]
