"""LLDP neighbour tables -> links: what the switches see of each other, one file per switch, named after it.

Read are `lldpcli show neighbors -f json` (Cumulus, SONiC's lldp container, hosts), SONiC's LLDP_ENTRY_TABLE as
`sonic-db-dump -n APPL_DB -k 'LLDP_ENTRY_TABLE:*'` prints it, and EOS `show lldp neighbors | json`. Management ports
are left out. Source: IEEE 802.1AB; lldpd's JSON writer; sonic-lldp-syncd; EOS eAPI.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fabric.configs.model import Place
from fabric.configs.network import Cable, End
from fabric.configs.text.jsonfile import refuse

_MANAGEMENT: Final = ("eth0", "mgmt", "management", "ma")
_TABLE: Final = "LLDP_ENTRY_TABLE"


def is_lldp(value: Any) -> bool:  # noqa: ANN401
    """Whether this is one of the three dumps."""
    return isinstance(value, dict) and (
        "lldp" in value or "lldpNeighbors" in value or any(str(key).startswith(_TABLE) for key in value)
    )


def parse_lldp(value: Any, lines: Any, file: str, switch: str) -> list[Cable]:  # noqa: ANN401
    """The links one switch sees. Raises InputErrors where the dump has none."""
    if not is_lldp(value):
        raise refuse(
            file,
            "no LLDP table in it",
            "give `lldpcli show neighbors -f json`, SONiC's LLDP_ENTRY_TABLE or "
            "EOS `show lldp neighbors | json`, one file per switch",
            "links",
        )
    found = [
        Cable((switch, port), peer, Place(file, lines.line(())))
        for port, peer in (*_lldpcli(value), *_sonic(value), *_eos(value))
        if all(peer) and not port.lower().startswith(_MANAGEMENT)
    ]
    if not found:
        raise refuse(file, "no neighbour in it", "is LLDP running on the switch's ports?", "links")
    return found


def merge(cables: list[Cable]) -> tuple[Cable, ...]:
    """Each link once, though both of its ends report it."""
    found: dict[frozenset[End], Cable] = {}
    for cable in cables:
        found.setdefault(frozenset((cable.a, cable.b)), cable)
    return tuple(found.values())


def _text(value: Any) -> str:  # noqa: ANN401
    return value if isinstance(value, str) else ""


def _mappings(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """lldpcli writes one interface as a mapping, several as a list of mappings."""
    rows = value if isinstance(value, list) else [value]
    return [row for row in rows if isinstance(row, dict)]


def _lldpcli(value: dict[str, Any]) -> Iterator[tuple[str, End]]:
    for top in _mappings(value.get("lldp")):
        for row in _mappings(top.get("interface")):
            for port, seen in row.items():
                for one in _mappings(seen):
                    chassis, remote = one.get("chassis"), one.get("port")
                    name = (
                        next((key for key, it in chassis.items() if isinstance(it, dict) and key != "id"), "")
                        if (isinstance(chassis, dict))
                        else ""
                    )
                    identity = remote.get("id") if isinstance(remote, dict) else None
                    kind = _text(identity.get("type")) if isinstance(identity, dict) else ""
                    by_name = _text(identity.get("value")) if kind in {"ifname", "local"} and identity else ""
                    yield (
                        str(port),
                        (name, by_name or _text((remote or {}).get("descr") if isinstance(remote, dict) else "")),
                    )


def _sonic(value: dict[str, Any]) -> Iterator[tuple[str, End]]:
    for key, row in value.items():
        head, _, port = str(key).replace("|", ":").partition(":")
        if head == _TABLE and isinstance(row, dict):
            fields = row.get("value", row)  # sonic-db-dump wraps fields in {type, value}
            if isinstance(fields, dict):
                # SONiC sends its port's alias as id and its name as description
                yield (
                    port,
                    (
                        _text(fields.get("lldp_rem_sys_name")),
                        _text(fields.get("lldp_rem_port_desc")) or _text(fields.get("lldp_rem_port_id")),
                    ),
                )


def _eos(value: dict[str, Any]) -> Iterator[tuple[str, End]]:
    for row in _mappings(value.get("lldpNeighbors", [])):
        name = _text(row.get("neighborDevice")).partition(".")[0]
        yield _text(row.get("port")), (name, _text(row.get("neighborPort")))
