"""Tables of a CONFIG_DB whose name is mistyped.

No daemon subscribes to such a table, so that all of its rows are without effect. They are read as those of the table
that was meant: the name is the one mistake, and what they say is judged as it will be.
Source: sonic-swss-common consumerstatetable.cpp, subscriberstatetable.cpp (a daemon reads the tables that it names).
"""

from __future__ import annotations

from typing import Any, Final

from fabric.configs.model import Defect, Meant
from fabric.configs.sonic.shape import READ
from fabric.configs.text.spelling import slip_of
from fabric.units import count

_OTHERS: Final = frozenset(("DSCP_TO_FC_MAP",))
"""Tables of SONiC that are not read here, and whose names are near that of one that is (sonic-yang-models)."""
_LONG_NAME: Final = 8
"""A name of so many letters may have two slips."""


def mistyped_tables(data: dict[str, Any]) -> dict[str, str]:
    """Mistyped name to the table that is meant: one that is read, of which the file has no row with the same key."""
    found: dict[str, str] = {}
    for name, rows in data.items():
        if name in READ or name in _OTHERS or "|" in name or not _is_table(rows):
            continue
        meant = slip_of(name, READ) or (slip_of(name, READ, 2) if len(name) >= _LONG_NAME else "")
        own = data.get(meant, {})
        if meant and isinstance(own, dict) and not own.keys() & rows.keys():
            found[name] = meant
    return found


def _is_table(rows: object) -> bool:
    """Whether a value is a mapping of rows of text, as every table that is read."""
    return isinstance(rows, dict) and all(
        isinstance(row, dict) and all(isinstance(it, str | list) for it in row.values()) for row in rows.values()
    )


def defect_of(name: str, meant: str, rows: dict[str, dict[str, str | list[str]]]) -> Defect:
    """What is wrong with a mistyped table (R5), and each of its rows as it was meant."""
    shown = f"its {count(len(rows), 'row')} {'is' if len(rows) == 1 else 'are'}"
    text = f"'{name[:60]}' is no table of CONFIG_DB (did you mean '{meant}'?), so {shown} without effect"
    its: list[Meant] = []
    for key, fields in rows.items():
        its.append(Meant((name, key), (meant, key)))
        its += [Meant((), (meant, key, it), _text(value)) for it, value in fields.items()]
    return Defect("R5", (name,), name[:120], text, meant=tuple(its))


def _text(value: str | list[str]) -> str:
    """A list as the database has it: joined by commas."""
    return value if isinstance(value, str) else ",".join(map(str, value))
