"""Every family of reliability tests; report.py describes how to add one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.reliability import (
    folder_concurrent,
    folder_damage,
    folder_foreign,
    folder_full_disk,
    folder_kills,
    found_by_use,
    hostile_text,
    input_files,
    interfaces,
    interfaces_access,
    interfaces_bgp,
    laboratory,
    output_streams,
    oversized,
    scenario_fuzz,
    supply_chain,
)
from tests.reliability.report import Family, Section, kept, page

FAMILIES: Final[Mapping[str, Family]] = {
    "folder-kills": Family(Section.FOLDERS, folder_kills.rows),
    "folder-damage": Family(Section.FOLDERS, folder_damage.rows, folder_damage.some_rows),
    "folder-foreign": Family(Section.FOLDERS, folder_foreign.rows),
    "folder-concurrent": Family(Section.FOLDERS, folder_concurrent.rows),
    "folder-full-disk": Family(Section.FOLDERS, folder_full_disk.rows),
    "output-streams": Family(Section.FOLDERS, output_streams.rows, output_streams.some_rows),
    "input-files": Family(Section.INPUTS, input_files.rows, input_files.some_rows),
    "hostile-text": Family(Section.INPUTS, hostile_text.rows, hostile_text.some_rows),
    "scenario-fuzz": Family(Section.INPUTS, scenario_fuzz.rows, scenario_fuzz.some_rows),
    "oversized": Family(Section.INPUTS, oversized.rows, oversized.some_rows),
    "interfaces": Family(Section.INTERFACES, interfaces.rows),
    "interfaces-access": Family(Section.INTERFACES, interfaces_access.rows),
    "interfaces-bgp": Family(Section.INTERFACES, interfaces_bgp.rows),
    "laboratory": Family(Section.LABORATORY, laboratory.rows),
    "supply-chain": Family(Section.SUPPLY_CHAIN, supply_chain.rows, supply_chain.some_rows),
    "found-by-use": Family(Section.USE, found_by_use.rows, found_by_use.collected_rows),
}


def kept_page() -> str:
    """docs/reliability.md of the rows that are kept."""
    return page(FAMILIES, {name: kept(name) for name in FAMILIES})
