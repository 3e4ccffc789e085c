"""Changes of a configuration as data: rows of tables, and statements of configuration languages.

A `Row` is one field of SONiC's CONFIG_DB, or of a hosts file, with its new value. Statements are what the switch takes
in its own language: lines of configuration mode (EOS, NX-OS), or `nv` commands (Cumulus). Patches, command files and
fixed copies are made from them by `fabric.validate.fix`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fabric.configs.model import Where

BETWEEN_LINES: Final = "; "
"""Joins lines of configuration mode in a command that is shown on one line."""
BETWEEN_COMMANDS: Final = " && "
"""Joins commands of a shell."""


@dataclass(frozen=True, slots=True)
class Row:
    """One change of a tree: the field at a path gets a value."""

    path: Where
    """(table, key, field) of CONFIG_DB, or (table, key) for a whole row; (host, field) of a hosts file."""
    value: str | None
    """None removes it; '' with the path of a row: the row is there, without fields."""


def rows(table: str, key: str, fields: Mapping[str, object]) -> tuple[Row, ...]:
    """Several fields of one row; without fields, the row itself."""
    found = tuple(Row((table, key, name), str(value)) for name, value in fields.items())
    return found or (Row((table, key), ""),)


def statements(command: str, *, tables: bool, shell: bool) -> tuple[str, ...]:
    """The statements of a command of `commands.py` or `routing_fixes.py`; () for SONiC, which takes rows.

    Parameters
    ----------
    tables    the switch has tables (SONiC)
    shell     its statements are commands of a shell (Cumulus), else lines of configuration mode
    """
    if tables or not command:
        return ()
    return tuple(command.split(BETWEEN_COMMANDS if shell else BETWEEN_LINES))
