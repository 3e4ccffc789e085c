"""Every family of reliability tests; report.py says how one is added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.reliability import (
    doors,
    doors_bgp,
    folder_concurrent,
    folder_damage,
    folder_foreign,
    folder_full_disk,
    folder_kills,
    output_streams,
)
from tests.reliability.report import Family, Section

FAMILIES: Final[Mapping[str, Family]] = {
    "folder-kills": Family(Section.FOLDERS, folder_kills.rows),
    "folder-damage": Family(Section.FOLDERS, folder_damage.rows),
    "folder-foreign": Family(Section.FOLDERS, folder_foreign.rows),
    "folder-concurrent": Family(Section.FOLDERS, folder_concurrent.rows),
    "folder-full-disk": Family(Section.FOLDERS, folder_full_disk.rows),
    "output-streams": Family(Section.FOLDERS, output_streams.rows),
    "doors": Family(Section.DOORS, doors.rows),
    "doors-bgp": Family(Section.DOORS, doors_bgp.rows),
}
