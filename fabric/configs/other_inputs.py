"""Files of links or hosts that were given as a switch's configuration: the error names the option that takes them."""

from __future__ import annotations

from typing import Any, Final

from fabric.configs.network import HOST_SETTINGS
from fabric.configs.text.jsonfile import refuse

_ENDS: Final = ({"a", "b"}, {"endpoints"}, {"interfaces"})
"""Keys of a link, in the three forms that `--links` takes."""


def refuse_other_inputs(value: Any, file: str) -> None:  # noqa: ANN401  JSON or YAML
    """Raises InputErrors where a value is a file of links or of hosts' settings."""
    if _is_links(value):
        raise refuse(file, "a list of links, and no switch's configuration", f"give it with --links {file}")
    if _is_hosts(value):
        raise refuse(file, "settings of hosts, and no switch's configuration", f"give it with --hosts {file}")


def _is_links(value: Any) -> bool:  # noqa: ANN401
    top = value.get("topology", value) if isinstance(value, dict) else {"links": value}
    rows = top.get("links") if isinstance(top, dict) else None
    if not isinstance(rows, list) or not rows:
        return False
    return all(isinstance(row, dict) and any(ends <= row.keys() for ends in _ENDS) for row in rows)


def _is_hosts(value: Any) -> bool:  # noqa: ANN401
    rows = list(value.values()) if isinstance(value, dict) else []
    return bool(rows) and all(isinstance(row, dict) and row and row.keys() <= HOST_SETTINGS for row in rows)
