"""One cable at the moment of a pause: a sender, a switch whose egress is stopped, and frames in the other direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import EventKind, TraceBit
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.theory.headroom import Hop, cells, response_ps
from fabric.topology.quantities import exact_time
from fabric.units import parse_time_ps

LOSSLESS: Final = 3
HEADERS: Final = 62
"""Of a data packet that is not a message's first; the first has a RETH of 16 bytes more."""
RETH: Final = 16
FIRST_PS: Final = 5_000_000


@dataclass(frozen=True, slots=True)
class Case:
    """A cable and its frames; sizes of frames with FCS."""

    gbps: int = 400
    metres: int = 40
    cell: int = 144
    response: str = "half"
    latency: str = "600ns"
    frame: int = 4096 + HEADERS
    least: int = 0
    """A second flow of the class has frames of this size; 0: none."""
    own: int = 4096 + HEADERS + RETH
    """The frame in the other direction."""
    mtu: int = 9100

    @property
    def charge(self) -> int:
        return cells(self.frame, self.cell)

    def hop(self, without: Sequence[str] = ()) -> Hop:
        """The same for the formula."""
        word = self.response
        rate_bps = self.gbps * 10**9
        return Hop(
            rate_bps,
            self.metres * 5_000,
            response_ps(word if word in {"half", "worst"} else parse_time_ps(word), rate_bps),
            self.own,
            self.frame,
            self.least or self.frame,
            self.cell,
            parse_time_ps(self.latency),
            without=frozenset(without),
        )


@dataclass(frozen=True, slots=True)
class Result:
    """What one run did to the group of the sender's port."""

    peak: int
    """Headroom taken, bytes."""
    lost: int
    xoff_ps: int
    """When XOFF was wanted."""


def compiled(case: Case, limit: int, headroom: int | str, extra: Sequence[dict[str, Any]] = ()) -> CompiledScenario:
    """The scenario; the receiver pauses the class before the first frame, so nothing is acknowledged."""
    rate, cable = f"{case.gbps}G", f"{case.metres}m"
    flows: list[dict[str, Any]] = [{"id": "tested", "src": "sender", "dst": "receiver", "size": "4MB", "priority": 3}]
    if case.least:
        flows.append({**flows[0], "id": "small"})
    tree = {
        "name": "headroom",
        "topology": {
            "kind": "custom",
            "nodes": [
                *({"name": name, "role": "host"} for name in ("sender", "receiver", "other")),
                {"name": "switch", "role": "leaf"},
            ],
            "links": [{"a": it, "b": "switch", "rate": rate, "cable": cable} for it in ("sender", "receiver", "other")],
        },
        "switches": {
            "memory": "32MB",
            "cell": f"{case.cell}B",
            "ecn": "off",
            "lossless": [LOSSLESS],
            "latency": case.latency,
            "mtu": f"{case.mtu}B",
            "buffer": {
                "static_th": f"{limit}B",
                "headroom": headroom if isinstance(headroom, str) else f"{headroom}B",
                "reserved": "0B",
                "xon": "0B",
                "xon_offset": "0B",
            },
        },
        "hosts": {"response": case.response, "latency": "1ms", "mtu": f"{case.mtu}B"},
        "transport": {"cc": "none", "retransmit_timeout": "off", "window": "off"},
        "workload": [
            {"kind": "messages", "messages": [{"start": exact_time(FIRST_PS), **flow} for flow in [*flows, *extra]]}
        ],
        "faults": [{"kind": "pause-storm", "hosts": ["receiver"], "priorities": [3], "at": "1us", "duration": "5ms"}],
        "run": {"duration": "6ms", "stop": "duration"},
        "telemetry": {"events": []},
    }
    return compile_scenario(build_scenario(tree, Path("headroom.yml")))


def run(
    case: Case, limit: int, headroom: int | str, extra: Sequence[dict[str, Any]] = (), payloads: Sequence[int] = ()
) -> Result:
    """Run until everything that was under way has arrived; `payloads` are those of the extra flows."""
    made = compiled(case, limit, headroom, extra)
    sizes = [case.frame - HEADERS, *([case.least - HEADERS] if case.least else []), *payloads]
    params = made.params
    pairs = replace(params.queue_pairs, payload_bytes=np.array(sizes, dtype=np.int64))
    engine = Emulator(made.fabric, replace(params, queue_pairs=pairs), made.edits, record=TraceBit.PAUSE)
    engine.advance(FIRST_PS + limit * 8000 // case.gbps * 2 + 8 * (case.metres * 5_000) + 20_000_000)
    port = next(
        int(own.id) for own, peer in made.fabric.neighbours(made.fabric.by_name["switch"].id) if peer.name == "sender"
    )
    log = engine.drain_events()
    sent = log[(log["kind"] == EventKind.PAUSE_SENT) & (log["port"] == port)]
    return Result(
        int(engine.state.pgs[port * 8 + LOSSLESS]["headroom_peak_bytes"]),
        int(engine.state.drops["pkts"].sum()),
        int(sent["time_ps"][0]),
    )


def own_frame(case: Case, begins_ps: int) -> dict[str, Any]:
    """A message of one packet to the sender, whose frame the switch begins to send at this moment."""
    wire_ps = (case.own + 20) * 8000 // case.gbps
    start = begins_ps - wire_ps - case.metres * 5_000 - parse_time_ps(case.latency)
    return {
        "id": "own",
        "src": "other",
        "dst": "sender",
        "size": f"{case.own - HEADERS - RETH}B",
        "priority": 0,
        "start": exact_time(start),
    }


def limit_of(case: Case) -> int:
    """A limit that no whole number of frames fills exactly."""
    return 12 * case.charge + 1
