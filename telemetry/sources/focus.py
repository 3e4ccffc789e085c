"""The first root cause of a run as the answer at the top of its page, and as the moment and layer its map opens on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.controlplane.network.run import ControlRun
from fabric.explain import fabric_map, layers
from fabric.explain.evidence import Evidence
from fabric.explain.fabric_map import Focus
from fabric.render.document import Answer, Fact, Status, Unit
from fabric.units import count
from telemetry.diagnosis.root import STOPS, Kind, Root
from telemetry.sources.incidents import Hurt, completed
from telemetry.sources.recorded import control_of
from telemetry.sources.roots import roots_of
from telemetry.sources.roots_table import STATUS_OF_RANK

LAYERS: Final[Mapping[Kind, str]] = {
    Kind.LINK_DOWN: layers.LINKS,
    Kind.LINK_FLAP: layers.LINKS,
    Kind.LANES_LOST: layers.LINKS,
    Kind.SWITCH_DOWN: layers.LINKS,
    Kind.BLACK_HOLE: layers.HOLES,
    Kind.DEADLOCK: layers.PAUSES,
    Kind.WATCHDOG_FLAPPING: layers.PAUSES,
    Kind.BROKEN_NIC: layers.PAUSES,
    Kind.SLOW_RECEIVER: layers.PAUSES,
    Kind.ECN_WRONG: layers.QUEUE,
    Kind.CC_OFF: layers.QUEUE,
    Kind.INCAST: layers.QUEUE,
    Kind.MICROBURST: layers.QUEUE,
    Kind.POLARISED: layers.BALANCE,
    Kind.ELEPHANTS: layers.BALANCE,
    Kind.LOSSY_OVERLOAD: layers.LOSS,
    Kind.BAD_OPTIC: layers.LOSS,
    Kind.STRAGGLER: layers.JOB,
}
"""Layer that shows a kind; of others that of losses where traffic is lost (STOPS), else the load."""
_HURT: Final = (
    ("pfc_rx_paused_ns", "paused"),
    ("retransmitted_pkts", "sent packets again"),
    ("timeouts", "waited for a timeout"),
)
"""Observables whose growth at a host during a root cause makes it a victim, and their words."""


def focus_of(evidence: Evidence) -> Focus:
    """The first root cause of a run. Raises: RunDirError."""
    control = control_of(evidence.run)
    return focus_on(evidence, roots_of(evidence.run, control=control), control)


def focus_on(evidence: Evidence, roots: list[Root], control: ControlRun | None = None) -> Focus:
    """The first of these root causes, or that there is none. `control`: control_of() the run."""
    if not roots:
        return Focus(Answer(Status.GOOD, "None. No metric of this run shows a fault."))
    first = roots[0]
    meaning = first.meaning
    hurt = hurt_by(evidence, first)
    [incident] = completed(evidence.run, [first], control=control, evidence=evidence)
    facts = (
        Fact("kind", "Kind", first.kind.value),
        Fact("place", "Where", first.place),
        Fact("act", "First act", incident.act),
        Fact("cost", "Cost in this run", cost_of(evidence.run.summary)),
        Fact("change", "Changed before", incident.change_line),
        Fact("began_ns", "Since", first.began_ns, Unit.NS),
        Fact("ended_ns", "Last seen", first.ended_ns, Unit.NS),
        *([Fact("routes", "Routes", incident.routes)] if incident.routes else []),
        Fact("hurt", "Who was hurt", _words(hurt, incident.hurt, first)),
        Fact("read", "Read", ", ".join(incident.reading)),
    )
    evident = f" Evidence: {first.evidence[0]}." if first.evidence else ""
    more = f" {count(len(roots) - 1, 'more root')}: fabric explain roots." if len(roots) > 1 else ""
    title = f"{meaning.title[0].upper()}{meaning.title[1:]}"
    answer = Answer(STATUS_OF_RANK[first.rank], f"{title}: {first.place}.{evident}{more}", facts, fabric_map.KEY)
    layer = LAYERS.get(first.kind, layers.LOSS if first.kind in STOPS else layers.LOAD)
    victims = tuple(
        sorted({name for names in (*hurt.values(), dict(incident.hurt.hosts)) for name in names} - {first.device})
    )
    return Focus(
        answer, layer, first.began_ns, first.ended_ns,
        (first.device, *(it for it in first.members if first.kind is Kind.DEADLOCK)), first.port, victims,
        "" if first.rank > 1 else f"{meaning.title}: {first.place}",
    )  # fmt: skip


def cost_of(summary: Mapping[str, Any]) -> str:
    """Packets lost and messages not delivered in the whole run, in words: with several roots they share it."""
    metrics = summary["metrics"]
    total, done = int(metrics.get("messages.total") or 0), int(metrics.get("messages.done") or 0)
    failed, lost = int(metrics.get("messages.failed") or 0), int(metrics.get("drops.total") or 0)
    parts = [f"{count(lost, 'packet')} lost"] if lost else []
    parts += [f"{failed:,} of {count(total, 'message')} failed"] if failed else []
    left = total - done - failed
    parts += [f"{left:,} of {count(total, 'message')} not done"] if left > 0 else []
    return ", ".join(parts) or "time only: no packet was lost, every message was done"


def hurt_by(evidence: Evidence, root: Root) -> dict[str, tuple[str, ...]]:
    """What happened -> hosts to which it happened while the root cause lasted, the root itself left out."""
    fabric = evidence.fabric
    found: dict[str, tuple[str, ...]] = {}
    for name, words in _HURT:
        hosts: set[str] = set()
        if name == "pfc_rx_paused_ns":
            for (port, _), (times, values) in evidence.series(name).items():
                node = fabric.node_of(port)
                if node.is_host and _grew(times, values, root):
                    hosts.add(node.name)
        else:
            for node_id, (times, values) in evidence.device_series(name).items():
                if _grew(times, values, root):
                    hosts.add(fabric.nodes[node_id].name)
        hosts.discard(root.device)
        if hosts:
            found[words] = tuple(sorted(hosts))
    return found


def _grew(times: NDArray[np.int64], values: NDArray[Any], root: Root) -> bool:
    """Whether a counter grew between the begin and the end of a root cause."""
    rows = np.searchsorted(times, [root.began_ns, root.ended_ns], side="right") - 1
    before, after = (float(values[row]) if row >= 0 else 0.0 for row in rows.tolist())
    return after > before


def _words(hosts: Mapping[str, tuple[str, ...]], hurt: Hurt, root: Root) -> str:
    """'15 hosts paused, 3 hosts sent packets again; of 31 messages under way: 3 failed'."""
    if root.kind is Kind.STRAGGLER:
        found = [f"the other ranks of {root.device}: they wait for it"]
    else:
        who = {words: names[0] if len(names) == 1 else count(len(names), "host") for words, names in hosts.items()}
        found = [", ".join(f"{it} {words}" for words, it in who.items()), *hurt.message_lines]
    found += [f"job {it.words}" for it in hurt.jobs]
    return "; ".join(filter(None, found)) or "no host was paused or sent packets again; no message was under way"
