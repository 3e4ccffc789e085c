"""The sign that the end of a startup.yaml is missing: its last line is a key without a value.

NVUE writes an empty mapping as `{}` (`nv config show`; /etc/nvue.d/startup.yaml), so that a key at the end with nothing
behind it began a section whose lines did not arrive.
"""

from __future__ import annotations

from typing import Any

from fabric.configs.model import Defect
from fabric.configs.nvue.reader import Reader


def check_end(reader: Reader) -> None:
    """Add a defect (R13) where the last line of the file begins a section without lines."""
    here: Any = reader.source.value
    where: tuple[str, ...] = ()
    while isinstance(here, dict | list) and here:
        key, here = (len(here) - 1, here[-1]) if isinstance(here, list) else list(here.items())[-1]
        where = (*where, str(key))
    if here is None and where:
        text = f"its last line, '{where[-1][:60]}:', begins a section without lines"
        reader.device.defects.append(Defect("R13", where, "configuration", text))
