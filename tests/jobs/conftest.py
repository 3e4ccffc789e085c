"""Makes small_jobs.py importable by the tests beside it (tests are not packages)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
