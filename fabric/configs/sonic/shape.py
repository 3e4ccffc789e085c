"""The form of a CONFIG_DB: tables of rows of text. A table that is read and has another form refuses the file, because
no switch loads it so. Others are listed as not read, of whatever form: `show runningconfiguration all` adds the text
of the routing daemons as "bgpraw" (sonic-utilities, show/main.py).

`config load` writes each field of each row as one string of the database: a list is joined by commas, a number is
written out (sonic-py-swsssdk, configdb.py: typed_to_raw). A table or a row that is no mapping has no fields, and
YANG takes no other value than text for a field that is read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fabric.configs.model import Where
from fabric.configs.sonic.schema import MAP_TABLES, SCHEMA
from fabric.configs.text.jsonfile import JsonText
from fabric.errors import InputErrors, Problem, first_few

_LISTS: Final = frozenset(("list", "refs", "priorities"))
"""Kinds of fields that JSON may have as a list."""
_FREE: Final = frozenset((*MAP_TABLES, "CABLE_LENGTH"))
"""Tables whose fields are names: every value is text."""
_WITHOUT_SCHEMA: Final = frozenset(("ACL_TABLE", "ACL_RULE", "FLEX_COUNTER_TABLE", "MGMT_INTERFACE", "VNET"))
"""Tables that are read row by row, without rules for their fields."""
READ: Final = frozenset((*SCHEMA, *_FREE, *_WITHOUT_SCHEMA))
"""Tables that some reader asks for."""


def check_shape(source: JsonText, file: str) -> None:
    """Raises: InputErrors with the file, the line, the field and the remedy of what is read and has another form."""
    problems = [
        Problem(f"{file}:{source.line(where)}", f"{'|'.join(where)} is {kind_of(value)} where {needed} needed", remedy)
        for where, value, needed, remedy in _misfits(source.value)
    ]
    if problems:
        question = "is it a CONFIG_DB? give `sonic-cfggen -d --print-data`"
        raise InputErrors("configuration", first_few(problems, file, question))


def _misfits(data: dict[str, Any]) -> Iterator[tuple[Where, Any, str, str]]:
    """(path, value, what is needed, remedy) of everything of another form."""
    for name, table in data.items():
        head, bar, _ = name.partition("|")
        if head not in READ:
            continue
        rows = {"": table} if bar else table
        if not isinstance(rows, dict):
            yield (
                (name,),
                rows,
                "a mapping of rows is",
                f'write "{name}": {{"KEY": {{"FIELD": "VALUE"}}}}, or remove it',
            )
            continue
        for key, row in rows.items():
            where = (name, key) if not bar else (name,)
            if not isinstance(row, dict):
                yield where, row, "a mapping of fields is", f'write "{where[-1]}": {{"FIELD": "VALUE"}}, or remove it'
                continue
            for field, value in row.items():
                rule = SCHEMA.get(head, {}).get(field.removesuffix("@"))
                if rule is None and head not in _FREE:
                    continue
                if _is_text(value, many=rule is not None and rule.kind in _LISTS):
                    continue
                yield (*where, field), value, "text is", "write the value as text, in quotation marks"


def _is_text(value: object, *, many: bool) -> bool:
    """Whether it is text or a whole number, which is written as text; or a list of them, where one is possible."""
    if many and isinstance(value, list):
        return all(_is_text(item, many=False) for item in value)
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def kind_of(value: object) -> str:
    """The kind of a JSON value in words."""
    if value is None:
        return "null"
    return {bool: "true or false", int: "a number", float: "a fraction", str: "text", list: "a list"}.get(
        type(value), "a mapping"
    )
