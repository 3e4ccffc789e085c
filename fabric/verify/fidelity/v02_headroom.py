"""V2: headroom to the cell: the exact size loses no packet, one cell less loses one.

The closed form counts the frames whose transmission begins before the PAUSE acts. SONiC's formula is
checked against two shipped rows, so that this page can compare with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fabric.configs.buffers.headroom import vendor_row
from fabric.configs.buffers.platforms import PLATFORMS
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import N_CLASSES
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.theory.headroom import Hop, need_bytes
from fabric.verify.fidelity.experiment import compiled, frame_bytes, port, simulate, wire_bytes
from fabric.verify.fidelity.table import Finding, Row, exactly, within

_NAME: Final = "v02-headroom"
_LOSSLESS, _BACKGROUND = 3, 0
CASES: Final = (
    ("100G", "5m", "500ns"),
    ("100G", "40m", "2us"),
    ("100G", "300m", "1us"),
    ("400G", "40m", "1158400ps"),
    ("25G", "5m", "1638400ps"),
)
"""Rate, cable, response of the sender."""


def _sets(rate: str, cable: str, response: str) -> list[str]:
    return [
        *(
            f"topology.links[{link}].{field}={value}"
            for link in (0, 1)
            for field, value in (("rate", rate), ("cable", cable))
        ),
        f"hosts.response={response}",
        "faults[0].at=400us",
        "faults[0].duration=1ms",
        "run.duration=1ms",
    ]


def hop_of(case: CompiledScenario) -> Hop:
    """The sender's cable. Nothing is sent to the sender, and the last frame before XOFF fills the limit exactly."""
    link, frame = case.fabric.links[0], frame_bytes(case)
    switch = case.params.switches[case.fabric.by_name["switch"].id]
    return Hop(
        rate_bps=link.rate_bps,
        delay_ps=link.delay_ps,
        response_ps=case.params.ports[port(case.fabric, "sender", "switch")].flow_control.response_ps,
        own_frame_bytes=frame,
        frame_bytes=frame,
        least_frame_bytes=frame,
        cell_bytes=switch.cell_bytes,
        latency_ps=switch.latency_ps,
        without=frozenset({"own", "limit"}),
    )


def _group(engine: Emulator) -> int:
    return port(engine.fabric, "switch", "sender") * N_CLASSES + _LOSSLESS


def _drops(engine: Emulator) -> int:
    return int(engine.state.drops["pkts"].sum())


def _in_flight() -> Sequence[Finding]:
    findings = []
    for rate, cable, response in CASES:
        sets = _sets(rate, cable, response)
        case = compiled(_NAME, *sets)
        cell = case.params.switches[case.fabric.by_name["switch"].id].cell_bytes
        needed = need_bytes(hop_of(case))
        enough = simulate(compiled(_NAME, *sets, f"switches.buffer.headroom={needed}B"))
        short = simulate(compiled(_NAME, *sets, f"switches.buffer.headroom={needed - cell}B"))
        name = f"{rate}, {cable}, response {response}"
        findings += [
            exactly(
                f"{name}: headroom used, bytes", needed, int(enough.state.pgs[_group(enough)]["headroom_peak_bytes"])
            ),
            exactly(f"{name}: packets lost with that headroom", 0, _drops(enough)),
            exactly(f"{name}: packets lost with one cell less", 1, _drops(short)),
        ]
    return findings


def _beside_background() -> Sequence[Finding]:
    """Half test priority, half background; the storm stops the first and leaves the whole cable to the second."""
    flows = (
        "[{id: tested, src: sender, dst: receiver, size: 100MB, priority: 3},"
        " {id: background, src: sender, dst: receiver, size: 100MB, priority: 0}]"
    )
    case = compiled(_NAME, f"workload[0].messages={flows}", "faults[0].duration=900us")
    engine = simulate(case, 90_000_000)
    egress = port(case.fabric, "switch", "receiver") * N_CLASSES
    start = engine.state.queues["sent_bytes"].copy()
    before = start[egress + _LOSSLESS] / (start[egress + _LOSSLESS] + start[egress + _BACKGROUND])
    engine.advance(400_000_000)
    settled = engine.state.queues["sent_bytes"].copy()
    engine.advance(900_000_000)
    gained = engine.state.queues["sent_bytes"] - settled
    line = case.fabric.links[0].rate_bps / 8 * 500e-6 * frame_bytes(case) / wire_bytes(case)
    return (
        within("before the storm: share of the tested priority", 0.5, float(before), 0.01),
        exactly("in the storm: bytes of the tested priority that pass", 0, int(gained[egress + _LOSSLESS])),
        within(
            "in the storm: bytes of the background that pass",
            line,
            int(gained[egress + _BACKGROUND]),
            0.001,
            "0.1 %: a frame at either end",
        ),
        exactly("packets lost", 0, _drops(engine)),
    )


def _sonic() -> Sequence[Finding]:
    rows = (("MSN3700", 100, 5, 9216, 33_792), ("SN5600", 400, 40, 9100, 283_648))
    return [
        exactly(
            f"{name}, {gbps}G, {metres} m: xoff, bytes",
            shipped,
            vendor_row(PLATFORMS[f"ACS-{name}"].asic, gbps * 1000, metres, port_mtu=mtu).xoff_bytes,
        )
        for name, gbps, metres, mtu, shipped in rows
    ]


ROWS: Final = (
    Row(
        "V2/in-flight",
        "Headroom used after a PAUSE, to the cell",
        "asic",
        "C",
        "IEEE 802.1Q annex on PFC buffer requirements, counted in frames",
        _in_flight,
    ),
    Row(
        "V2/background",
        "A stormed priority stops, its neighbour takes the cable, nothing is lost",
        "asic",
        "C",
        "set-up: sonic-mgmt PFC_PAUSE_RESPONSE_HEADROOM_README",
        _beside_background,
    ),
    Row(
        "V2/formula",
        "SONiC's headroom formula gives the shipped rows",
        "-",
        "R",
        "sonic-swss buffer_headroom_mellanox.lua; sonic-buildimage pg_profile_lookup.ini of ACS-MSN3700 and ACS-SN5600",
        _sonic,
    ),
)
