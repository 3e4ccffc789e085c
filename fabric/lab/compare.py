"""Comparison of a real fabric with its model, row by row, after each event of a scenario.

Times are not compared (docs/performance.md and the control plane's figures have them): after each event both sides get
time to converge, and then their tables are compared.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fabric.controlplane.network.config import ControlConfig, Jitter
from fabric.controlplane.network.events import ControlEvent, Drain, HostGone, HostSeen
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import ControlPlan
from fabric.lab.laboratory import Laboratory
from fabric.lab.modelled import model
from fabric.lab.observed import ask, observe
from fabric.lab.tables import TITLES, Tables
from fabric.lab.ties import adopt_order

NS_PER_S: Final = 1_000_000_000
SETTLE_S: Final = 30.0
"""Longest time until a real fabric has the model's tables: start-up and link recovery need a few seconds."""
_POLL_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Row:
    """One row that differs. None: no such row on that side."""

    node: str
    table: str
    key: str
    real: Any
    modelled: Any

    def __str__(self) -> str:
        return f"{self.node} {self.table} {self.key}: real {json.dumps(self.real)}, model {json.dumps(self.modelled)}"


@dataclass(frozen=True, slots=True)
class Stage:
    """Result of the comparison after one event, or after the start."""

    what: str
    rows: int
    """Number of compared rows of all switches."""
    differences: tuple[Row, ...]
    by_order: tuple[Row, ...]
    """Rows that differed until the model adopted the order of arrival of equal paths at the real routers: ties.py."""
    settled_s: float
    """Wall clock time from the event to equal tables, or to the time limit."""


def differences(real: Mapping[str, Tables], modelled: Mapping[str, Tables]) -> Iterator[Row]:
    """Every row that is missing on one side or differs."""
    for node in modelled:
        for table in TITLES:
            ours, theirs = modelled[node].get(table, {}), real[node].get(table, {})
            yield from (
                Row(node, table, key, theirs.get(key), ours.get(key))
                for key in sorted({*ours, *theirs})
                if theirs.get(key) != ours.get(key)
            )


def count_rows(tables: Mapping[str, Tables]) -> int:
    """Number of rows of all tables of all switches."""
    return sum(len(rows) for by_name in tables.values() for rows in by_name.values())


def as_frr(config: ControlConfig) -> ControlConfig:
    """The configuration with the delays of FRR on Linux instead of the scenario's: the order of two changes must be
    that of the real daemons. Without random delays.
    """
    frr = ControlConfig()
    return replace(
        config,
        jitter=Jitter.OFF,
        **{
            name: getattr(frr, name)
            for name in (
                "update_delay_ns",
                "fib_delay_ns",
                "carrier_delay_ns",
                "prune_delay_ns",
                "learn_delay_ns",
                "bond_delay_ns",
                "start_delay_ns",
                "session_delay_ns",
            )
        },
    )


def compare(
    lab: Laboratory,
    plan: ControlPlan,
    config: ControlConfig,
    groups: Sequence[Sequence[ControlEvent]],
    *,
    settle_s: float = SETTLE_S,
    report: Callable[[str], None] = lambda _: None,
) -> Iterator[Stage]:
    """Compare after the start of a laboratory, and after each group of events.

    Events of a group are applied together; differences of their times of 1 s or more are kept.
    """
    network = Network(plan, as_frr(config))
    network.converge()
    yield _settle(lab, network, "start", settle_s)
    for group in groups:
        what = ", then ".join(dict.fromkeys(_words(plan, event) for event in group))
        report(what)
        last_ns = first_ns = group[0].time_ns
        for event in group:
            time.sleep((event.time_ns - last_ns) / NS_PER_S)
            last_ns = event.time_ns
            lab.apply(event)
        at_ns = network.now_ns - network.epoch_ns + NS_PER_S
        network.schedule([replace(event, time_ns=at_ns + event.time_ns - first_ns) for event in group])
        network.advance(at_ns + last_ns - first_ns + 60 * NS_PER_S)
        yield _settle(lab, network, what, settle_s)


def stages_of(events: Sequence[ControlEvent]) -> Iterator[list[ControlEvent]]:
    """Group events into stages. Frames of a host at one port share a stage, and so does a break-before-make move: gone
    there, seen here. The next move of the same host is another stage.
    """
    group: list[ControlEvent] = []
    for event in sorted(events, key=lambda it: it.time_ns):
        if group and not _continues(group[-1], event):
            yield group
            group = []
        group.append(event)
    if group:
        yield group


def _continues(last: ControlEvent, event: ControlEvent) -> bool:
    if not isinstance(event, HostSeen) or not isinstance(last, HostSeen | HostGone):
        return False
    if (last.mac, last.vni) != (event.mac, event.vni):
        return False
    return isinstance(last, HostGone) or (last.router, last.port) == (event.router, event.port)


def _words(plan: ControlPlan, event: ControlEvent) -> str:
    """'CableDown spine1:lf1', 'HostSeen 02:00:00:00:00:01 leaf2:m1', 'Drain spine2 on'."""
    cable, router = getattr(event, "cable", None), getattr(event, "router", None)
    words = [type(event).__name__, getattr(event, "mac", "")]
    if cable is not None:
        end = plan.interfaces[plan.cables[cable].a]
        words.append(f"{plan.routers[end.router].name}:{end.name}")
    if router is not None:
        words.append(plan.routers[router].name + (f":{event.port}" if isinstance(event, HostSeen) else ""))
    if isinstance(event, Drain):
        words.append("on" if event.on else "off")
    return " ".join(filter(None, words))


def _settle(lab: Laboratory, network: Network, what: str, settle_s: float) -> Stage:
    own, began_s = model(network), time.monotonic()
    modelled, before = own, dict[str, Tables]()
    while True:
        raw = ask(lab)
        real = observe(lab, raw)
        if real == before and any(differences(real, modelled)) and adopt_order(network, raw):
            modelled = model(network)
        found = tuple(differences(real, modelled))
        passed_s = time.monotonic() - began_s
        if not found or passed_s > settle_s:
            by_order = tuple(
                row
                for row in differences(real, own)
                if (row.node, row.table, row.key) not in {(it.node, it.table, it.key) for it in found}
            )
            return Stage(what, count_rows(modelled), found, by_order, passed_s)
        before = real
        time.sleep(_POLL_S)
