"""pg_profile_lookup.ini: the table from port speed and cable length to headroom that a SONiC switch reads.

Columns: speed cable size xon xoff threshold [xon_offset], white space between, `#` comments. The key is matched as
text by the switch: a cable of 60m has no row in a table that knows 40m and 300m.
Source: sonic-swss cfgmgr/buffermgr.cpp lines 33-104.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from fabric.configs.buffers.headroom import Row
from fabric.configs.buffers.platforms import Platform, find_platform
from fabric.configs.text.jsonfile import read_file
from fabric.errors import InputErrors, Problem, first_few

_FORM = "columns: speed cable size xon xoff threshold [xon_offset], such as '400000 40m 124928 37888 77824 0'"
_CABLE = re.compile(r"([0-9]{1,7})m")
_COLUMNS = 6


@dataclass(frozen=True, slots=True)
class HeadroomTable:
    """Rows by (speed in Mb/s, cable in m), and where they are from."""

    source: str
    rows: dict[tuple[int, int], Row] = field(default_factory=dict)
    lines: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def of_platform(cls, platform: Platform) -> HeadroomTable:
        """The shipped table of a platform whose formula is known."""
        rows = {(speed, cable): platform.row(speed, cable) for speed, cable in platform.keys}
        return cls(f"the formula of {platform.name}", rows)

    def get(self, speed_mbps: int, cable_m: int) -> Row | None:
        """The row for exactly this speed and cable."""
        return self.rows.get((speed_mbps, cable_m))

    @property
    def cables_m(self) -> list[int]:
        """Every cable length some row is for."""
        return sorted({cable for _, cable in self.rows})


def parse_table(text: str, file: str) -> HeadroomTable:
    """Read a table. Raises InputErrors with every bad line."""
    table = HeadroomTable(file)
    problems: list[Problem] = []
    wrong: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        cable = _CABLE.fullmatch(words[1]) if len(words) > 1 else None
        numbers = [words[0], *words[2:]]
        if (
            cable is None
            or not _COLUMNS <= len(words) <= _COLUMNS + 1
            or not all(re.fullmatch(r"-?[0-9]{1,12}", word) for word in numbers)
        ):
            wrong.append((len(problems), line.strip()[:80]))
            problems.append(Problem(f"{file}:{number}", "the line is no row of a headroom table", _FORM))
            continue
        speed, size, xon, xoff, threshold, *offset = map(int, numbers)
        key = (speed, int(cable[1]))
        if key in table.rows:
            problems.append(
                Problem(
                    f"{file}:{number}",
                    f"{speed} {words[1]} has a row already, on line {table.lines[key]}",
                    "remove one of them",
                )
            )
        table.rows[key] = Row(speed, key[1], size, xon, xoff, threshold, offset[0] if offset else 0)
        table.lines[key] = number
    if table.rows:  # else it may be another kind of file, whose content is never repeated
        for place, line in wrong:
            problems[place] = Problem(problems[place].path, f"'{line}' is no row of a headroom table", _FORM)
    if not table.rows and not problems:
        problems.append(Problem(file, "no row of a headroom table in it", "give the switch's pg_profile_lookup.ini"))
    if problems:
        raise InputErrors("headroom table", first_few(problems, file, "is this a headroom table?"))
    return table


@dataclass(frozen=True, slots=True)
class HeadroomTables:
    """The tables of a fabric: those the user gave, per HWSKU or for all, then those of known platforms."""

    by_hwsku: dict[str, HeadroomTable] = field(default_factory=dict)
    default: HeadroomTable | None = None
    shipped: dict[str, HeadroomTable] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Platform to its table, once a switch has asked for it: a fabric asks for each of its ports."""

    @classmethod
    def load(cls, arguments: list[str]) -> HeadroomTables:
        """From `FILE` (for every switch) and `HWSKU=FILE` arguments. Raises InputErrors, OSError."""
        by_hwsku: dict[str, HeadroomTable] = {}
        default: HeadroomTable | None = None
        for argument in arguments:
            hwsku, equals, path = argument.rpartition("=")
            if not path or (equals and not hwsku):
                raise InputErrors(
                    "options",
                    [
                        Problem(
                            "--pg-profile-lookup",
                            f"'{argument}' names no " + ("file" if not path else "HWSKU"),
                            "write HWSKU=FILE or FILE",
                        )
                    ],
                )
            table = parse_table(read_file(Path(path)), path)
            if (hwsku in by_hwsku) if equals else default is not None:
                text = f"two tables for {hwsku or 'every switch'}"
                raise InputErrors("options", [Problem("--pg-profile-lookup", text, "give one, or write HWSKU=FILE")])
            if equals:
                by_hwsku[hwsku] = table
            else:
                default = table
        return cls(by_hwsku, default)

    def find(self, hwsku: str, platform: str) -> HeadroomTable | None:
        """The table of a switch; None where nothing is known of it."""
        if hwsku in self.by_hwsku:
            return self.by_hwsku[hwsku]
        if self.default is not None:
            return self.default
        known = find_platform(hwsku) or (find_platform(platform) if not hwsku else None)
        if known is not None and known.name not in self.shipped:
            self.shipped[known.name] = HeadroomTable.of_platform(known)
        return None if known is None else self.shipped[known.name]
