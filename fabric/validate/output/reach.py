"""Reachability for readers and machines: a short table, the explanation of one pair of hosts, and both as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from fabric.validate.output.text import many
from fabric.validate.reach_table import Failure, Row, between_segments, pairs_of, table_of
from fabric.validate.reachability import Reachability, Verdict
from fabric.validate.segments import Host
from fabric.validate.sessions import Cause
from fabric.visible import in_json, visible

_EXAMPLES: Final = 4
_WORD: Final = {True: "reaches", False: "does not reach", None: "undecided"}


def as_text(reach: Reachability, pair: Sequence[str]) -> str:
    """The table, or one pair. Raises: InputErrors for a name that is no host's."""
    if pair:
        lines = [line for one, other, verdict in pairs_of(reach, *pair) for line in _pair(one, other, verdict)]
        return "".join(f"{visible(line)}\n" for line in lines)
    up = sum(it.down is None for it in reach.sessions)
    names = {host.name for host in reach.hosts}
    rows = table_of(reach).segments
    sessions = f"{up} of {many(len(reach.sessions), 'BGP session')} up"
    lines = [f"{many(len(names), 'host')} in {many(len(rows), 'segment')}; {sessions}"]
    lines += [f"  {peering} is down: {peering.down}" for peering in reach.sessions if peering.down is not None]
    lines += [f"  undecided: {cause}" for cause in reach.unknown]
    for row in rows:
        vrf = f" (VRF {row.vrf})" if row.vrf != "default" else ""
        lines.append(f"{row.name}{vrf}: {many(row.hosts, 'host')} at {', '.join(row.switches)}: {_count(row)}")
        lines += _failures(row)
    between = between_segments(reach)
    if between:
        lines.append("between segments:")
    for row in between:
        lines.append(f"{row.name}: {_count(row)}")
        lines += _failures(row)
    return "".join(f"{visible(line)}\n" for line in lines)


def _count(row: Row) -> str:
    undecided = f", {row.unknown} undecided" if row.unknown else ""
    return f"{row.reaching} of {row.pairs} ordered pairs reach{undecided}"


def _verb(failure: Failure) -> str:
    if failure.reaches is None:
        return "undecided"
    return "fails" if failure.pairs == 1 else "fail"


def _failures(row: Row) -> list[str]:
    lines = []
    for failure in row.failures:
        shown = ", ".join(f"{one} → {other}" for one, other in failure.examples[:_EXAMPLES])
        more = ", ..." if failure.pairs > min(len(failure.examples), _EXAMPLES) else ""
        lines.append(f"  {many(failure.pairs, 'pair')} {_verb(failure)} ({shown}{more}):")
        lines.append(f"      {failure.cause}")
    return lines


def _pair(source: Host, target: Host, verdict: Verdict) -> list[str]:
    lines = [f"{source.name} ({_at(source)}) → {target.name} ({_at(target)}): {_WORD[verdict.reaches]}"]
    if verdict.cause is not None:
        lines.append(f"  {verdict.cause.text}")
        lines += [f"    {item}" for item in verdict.cause.evidence]
    return lines


def _at(host: Host) -> str:
    return ", ".join((*map(str, host.groups), host.segment))


def as_json(reach: Reachability, pair: Sequence[str]) -> str:
    """The same for machines. Raises: InputErrors for a name that is no host's."""
    value: dict[str, Any]
    if pair:
        value = {
            "pairs": [
                {
                    "from": one.name,
                    "to": other.name,
                    "segments": [one.segment, other.segment],
                    "reaches": verdict.reaches,
                    **_cause(verdict.cause),
                }
                for one, other, verdict in pairs_of(reach, *pair)
            ]
        }
    else:
        value = {
            "segments": [_row(row) for row in table_of(reach).segments],
            "between_segments": [_row(row) for row in between_segments(reach)],
            "sessions": [
                {"a": it.a.device.name, "b": it.b.device.name, "up": it.down is None, **_cause(it.down)}
                for it in reach.sessions
            ],
            "undecided": [_cause(cause) for cause in reach.unknown],
        }
    return in_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def _row(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "vrf": row.vrf,
        "switches": list(row.switches),
        "hosts": row.hosts,
        "pairs": row.pairs,
        "reaching": row.reaching,
        "undecided": row.unknown,
        "failures": [
            {
                "pairs": failure.pairs,
                "reaches": failure.reaches,
                "examples": [{"from": one, "to": other} for one, other in failure.examples],
                **_cause(failure.cause),
            }
            for failure in row.failures
        ],
    }


def _cause(cause: Cause | None) -> dict[str, Any]:
    return {
        "reason": None if cause is None else cause.text,
        "evidence": [
            {
                "label": item.label,
                "value": item.value,
                "file": item.place.file if item.place else None,
                "line": item.place.line if item.place else None,
            }
            for item in (cause.evidence if cause is not None else ())
        ],
    }
