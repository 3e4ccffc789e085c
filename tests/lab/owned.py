"""Namespaces and daemons of one test, with a record as a laboratory's: whatever ends the test, `fabric lab down` finds
what is left of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fabric.lab.netns import Namespaces
from fabric.lab.record import Kind, Record
from fabric.lab.teardown import take_down
from tests.lab.leftovers import new_name


@contextmanager
def owned() -> Iterator[tuple[Record, Namespaces]]:
    """A record and the namespaces that it lists; all of it is removed after the block."""
    record = Record.create(new_name(), "test", Kind.TEST)
    spaces = Namespaces(record)
    try:
        yield record, spaces
    finally:
        spaces.close()
        assert take_down(record).left == []
