"""docs/gnmi.md: every served path, and the metric of the catalogue that has its value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from telemetry.gnmi import openconfig, sonic
from telemetry.gnmi.leaf import Leaf

_HEAD: Final = """\
# Paths of the gNMI server

Generated from `telemetry/gnmi` by `make docs`; edit it there. How to use the server: [gNMI](howto/gnmi.md). Each value
is that of a metric of the [catalogue](metrics.md); samples that have the same path are added. `{label}` in a path is a
label of the metric.
"""


def markdown() -> str:
    """The page."""
    models = "".join(f"| `{name}` | {version} |\n" for name, version in openconfig.MODELS.items())
    return (
        f"{_HEAD}\n## OpenConfig\n\n{_table(openconfig.LEAVES)}\n## SONiC\n\nTarget `{sonic.DATABASE}/SWITCH`; all "
        f"values are strings.\n\n{_table(sonic.LEAVES)}\n## Models\n\n| model | version |\n|---|---|\n{models}"
    )


def _table(leaves: Iterable[Leaf]) -> str:
    rows = (f"| `{it.path}` | {it.form} | `{it.metric}` | {it.note} |\n" for it in leaves)
    return "| path | type | metric | note |\n|---|---|---|---|\n" + "".join(rows)
