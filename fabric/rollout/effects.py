"""What an edit of CONFIG_DB does on a running SONiC, as a table with its sources.

Sources: sonic-utilities 691b1bbc, generic_config_updater (gcu_field_operation_validators.conf.json,
field_operation_validators.py, patch_sorter.py, change_applier.py) and its release branches; sonic-swss e6b0c5b5,
orchagent (bufferorch.cpp, qosorch.cpp, portsorch.cpp, pfcwdorch.cpp) and cfgmgr (buffermgr.cpp, buffermgrdyn.cpp). The
first row that fits an edit holds. What no row names is not known. Chips: a release lists those on which it allows a
field; the list is not part of a configuration and is not applied here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from fabric.rollout.edits import Edit, Tables

RELEASES: Final = ("202405", "202411", "202505", "202511")
"""Oldest first."""
_GCU: Final = "sonic-utilities generic_config_updater, field operation validators"
_SORTER: Final = "sonic-utilities generic_config_updater/patch_sorter.py"
_SWSS: Final = "sonic-swss orchagent"


class Kind(Enum):
    """What an edit does on a running switch."""

    LIVE = "live"
    FLAP = "flap"
    """A port, or a BGP session, goes down and comes back."""
    REFUSED = "refused"
    """`config apply-patch` refuses it: `config reload` is needed, which restarts all ports."""
    DIFFERS = "ConfigDB and chip differ"
    """The edit is stored and the chip keeps its old setting, until the object is made again."""
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the table."""

    tables: str
    """Names, separated by blanks."""
    kind: Kind
    text: str
    source: str
    fields: str = ""
    """'' is every field and whole rows; '-' is whole rows only."""
    ops: str = "add remove replace"
    keys: str = ""
    since: str = RELEASES[0]
    until: str = RELEASES[-1]
    dynamic: bool | None = None
    """Only with (without) the dynamic buffer model; None: with both."""

    def fits(self, edit: Edit, release: str, *, dynamic: bool) -> bool:
        """Whether it is about this edit on this release."""
        fields = self.fields.split()
        return (
            edit.table in self.tables.split()
            and edit.op in self.ops.split()
            and (not fields or (edit.field or "-") in fields)
            and (not self.keys or edit.key in self.keys.split())
            and self.since <= release <= self.until
            and self.dynamic in {None, dynamic}
        )


_GREEN: Final = "green_min_threshold green_max_threshold green_drop_probability"
_BOUND: Final = (
    "PORT_QOS_MAP QUEUE BUFFER_PG BUFFER_QUEUE BUFFER_PORT_INGRESS_PROFILE_LIST BUFFER_PORT_EGRESS_PROFILE_LIST"
)
RULES: Final = (
    Rule(
        "BUFFER_PROFILE",
        Kind.DIFFERS,
        "the pool and the kind of threshold of a profile are kept as they are, with an info line: use a new name",
        _SWSS + "/bufferorch.cpp",
        fields="pool",
    ),
    Rule(
        "BUFFER_PROFILE",
        Kind.DIFFERS,
        "the pool and the kind of threshold of a profile are kept as they are, with an info line: use a new name",
        _SWSS + "/bufferorch.cpp",
        fields="dynamic_th static_th",
        ops="add remove",
    ),
    Rule("BUFFER_PROFILE", Kind.LIVE, "replaced in place", _GCU, fields="dynamic_th xoff", ops="replace"),
    Rule(
        "BUFFER_PROFILE",
        Kind.LIVE,
        "whole profiles may come and go",
        _GCU,
        fields="-",
        ops="add remove",
        since="202511",
    ),
    Rule("BUFFER_PROFILE", Kind.REFUSED, "only dynamic_th and xoff may be replaced", _GCU),
    Rule(
        "BUFFER_POOL",
        Kind.DIFFERS,
        "type and mode of a pool are kept as they are, with an info line: use a new name",
        _SWSS + "/bufferorch.cpp",
        fields="type mode",
    ),
    Rule(
        "BUFFER_POOL",
        Kind.LIVE,
        "replaced in place",
        _GCU,
        fields="size xoff",
        ops="replace",
        keys="ingress_lossless_pool",
        until="202505",
    ),
    Rule(
        "BUFFER_POOL",
        Kind.LIVE,
        "replaced in place",
        _GCU,
        fields="size",
        ops="replace",
        keys="egress_lossy_pool",
        until="202505",
    ),
    Rule("BUFFER_POOL", Kind.REFUSED, "pools may not be changed", _GCU),
    Rule(
        "WRED_PROFILE",
        Kind.LIVE,
        "orchagent orders minimum and maximum, which are never crossed",
        _GCU + "; " + _SWSS + "/qosorch.cpp",
        since="202511",
    ),
    Rule(
        "WRED_PROFILE",
        Kind.LIVE,
        "green minimum, maximum and probability of AZURE_LOSSLESS",
        _GCU,
        fields=_GREEN,
        ops="replace",
        keys="AZURE_LOSSLESS",
        until="202411",
    ),
    Rule(
        "WRED_PROFILE",
        Kind.LIVE,
        "green minimum, maximum and probability",
        _GCU,
        fields=_GREEN,
        ops="replace",
        since="202505",
        until="202505",
    ),
    Rule(
        "WRED_PROFILE",
        Kind.REFUSED,
        "only green minimum, maximum and probability may be replaced, to 202411 of AZURE_LOSSLESS alone",
        _GCU,
    ),
    Rule("PFC_WD", Kind.LIVE, "counting begins again (assumed)", _GCU + "; " + _SWSS + "/pfcwdorch.cpp"),
    Rule("PORT_QOS_MAP", Kind.UNKNOWN, "the switch's own row ('global'), which belongs to no port", "", keys="global"),
    Rule(_BOUND, Kind.FLAP, "the sorter takes the port down, edits, and brings it up", _SORTER),
    Rule("PORT", Kind.FLAP, "create-only: the row is removed and added again", _SORTER, fields="lanes"),
    Rule(
        "PORT", Kind.FLAP, "orchagent takes the port down first", _SWSS + "/portsorch.cpp", fields="speed fec autoneg"
    ),
    Rule(
        "PORT",
        Kind.FLAP,
        "the port goes down or comes up; Mellanox and Barefoot remove the lossless group of a port that is down and "
        "make it again, and the patch may fail (sonic-buildimage issue 23403)",
        "sonic-swss cfgmgr/buffermgr.cpp",
        fields="admin_status",
    ),
    Rule(
        "BGP_NEIGHBOR",
        Kind.FLAP,
        "create-only: the session is removed and added again",
        _SORTER,
        fields="asn holdtime keepalive name local_addr",
    ),
    Rule(
        "CABLE_LENGTH",
        Kind.LIVE,
        "the group grows, then the pool shrinks",
        "sonic-swss cfgmgr/buffermgrdyn.cpp",
        dynamic=True,
    ),
    Rule(
        "CABLE_LENGTH",
        Kind.DIFFERS,
        "the length is only remembered: the group keeps its headroom until it is bound again",
        "sonic-swss cfgmgr/buffermgr.cpp",
        until="202505",
    ),
    Rule(
        "CABLE_LENGTH",
        Kind.LIVE,
        "the group is bound again; a profile of that name is never refreshed",
        "sonic-swss cfgmgr/buffermgr.cpp, pull request 4004",
        since="202511",
    ),
    Rule(
        "DSCP_TO_TC_MAP",
        Kind.LIVE,
        "the map is set in place, for all its ports at once",
        _SWSS + "/qosorch.cpp",
        ops="add remove replace",
    ),
)
APPLIER_S: Final = 1
"""Seconds that the applier waits after each table that it has written (change_applier.py)."""
ROLLBACK: Final = "`config rollback` is refused where the patch back is refused (sonic-utilities issue 20664)"


@dataclass(frozen=True, slots=True)
class Effect:
    """What one edit does."""

    kind: Kind
    text: str
    source: str
    flaps: tuple[str, ...] = ()
    """Ports and BGP sessions that go down."""


def effect_of(edit: Edit, release: str, before: Tables) -> Effect:
    """What an edit does on a release. `before` is the CONFIG_DB that it is made to."""
    meta = before.get("DEVICE_METADATA", {}).get("localhost", {})
    dynamic = isinstance(meta, dict) and meta.get("buffer_model") == "dynamic"
    rule = next((it for it in RULES if it.fits(edit, release, dynamic=dynamic)), None)
    if rule is None:
        return Effect(Kind.UNKNOWN, "no source says what a running switch does with it", "")
    if rule.kind is not Kind.FLAP:
        return Effect(rule.kind, rule.text, rule.source)
    if edit.table == "BGP_NEIGHBOR":
        return Effect(rule.kind, rule.text, rule.source, (f"BGP {edit.key}",))
    up = tuple(port for port in edit.ports if _is_up(before, port))
    if not up and edit.field != "admin_status":
        return Effect(Kind.LIVE, "the port is down", rule.source)
    text = rule.text
    if edit.table == "PORT_QOS_MAP" and edit.op == "remove" and not edit.field:
        text += "; PFC of the port is off without the row"
    return Effect(rule.kind, text, rule.source, up or edit.ports)


def _is_up(tables: Tables, port: str) -> bool:
    row = tables.get("PORT", {}).get(port)
    return isinstance(row, dict) and row.get("admin_status") == "up"
