"""Every family of reliability tests; report.py says how one is added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.reliability import doors, doors_bgp, folder_kills
from tests.reliability.report import Family, Section

FAMILIES: Final[Mapping[str, Family]] = {
    "folder-kills": Family(Section.FOLDERS, folder_kills.rows),
    "doors": Family(Section.DOORS, doors.rows),
    "doors-bgp": Family(Section.DOORS, doors_bgp.rows),
}
