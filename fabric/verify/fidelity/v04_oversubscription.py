"""V4: constant streams oversubscribe one port: weights divide it, PFC pauses lossless streams, lossy streams lose
packets.

As sonic-mgmt's PFC congestion and oversubscription plan has it: two lossy and two lossless streams into one port whose
queues have equal weights. The plan's streams come from two generator ports; here each has a NIC of the stream's rate,
which sends without end. Rates are shares of the port on the wire, and may be off by 2 % of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import N_CLASSES
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.verify.fidelity.experiment import PS_PER_S, compiled, emulator, frame_bytes, port, wire_bytes
from fabric.verify.fidelity.table import Finding, Row, between, exactly

_NAME: Final = "v04-oversubscription"
_STREAMS: Final[Mapping[str, int]] = {"lossy1": 0, "lossy2": 1, "lossless1": 3, "lossless2": 4}
"""Stream -> priority."""
_LOSSLESS: Final = (3, 4)
_MS: Final = PS_PER_S // 1000
_OF_LINE: Final = 0.02
_ROCE: Final = 0.05


def _case(percent: Mapping[str, int], *sets: str) -> CompiledScenario:
    rates = [f"topology.links[{place}].rate={percent[stream]}G" for place, stream in enumerate(_STREAMS)]
    return compiled(_NAME, *rates, *sets)


def _sent(engine: Emulator) -> dict[str, int]:
    """Bytes of each stream that the port has sent."""
    first = port(engine.fabric, "switch", "receiver") * N_CLASSES
    sent = engine.state.queues["sent_bytes"]
    return {stream: int(sent[first + priority]) for stream, priority in _STREAMS.items()}


def _shares(case: CompiledScenario, engine: Emulator, begin_ps: int, end_ps: int) -> dict[str, float]:
    """Each stream's share of the port, on the wire."""
    engine.advance(begin_ps)
    before = _sent(engine)
    engine.advance(end_ps)
    line = case.fabric.links[-1].rate_bps * (end_ps - begin_ps) / PS_PER_S / 8 * frame_bytes(case) / wire_bytes(case)
    return {stream: (sent - before[stream]) / line for stream, sent in _sent(engine).items()}


def _share(name: str, expected: float, ours: float, slack: float = _OF_LINE) -> Finding:
    return between(
        f"{name}, share of the port", expected, ours, expected - slack, expected + slack, f"{slack:.0%} of the port"
    )


def _lost(engine: Emulator, *, lossless: bool) -> int:
    """Packets discarded in lossless classes, or in the others."""
    drops = engine.snapshot().drops["pkts"].sum(axis=2)
    return int(sum(int(drops[:, c].sum()) for c in range(N_CLASSES) if (c in _LOSSLESS) == lossless))


def _out_of_sequence(engine: Emulator) -> int:
    """Of lossless streams."""
    return int(
        engine.state.rqps["out_of_sequence"][[list(_STREAMS).index(it) for it in ("lossless1", "lossless2")]].sum()
    )


def _pauses(engine: Emulator) -> int:
    return int(engine.state.prios["tx_xoff_pkts"].sum())


def _oversubscribed(name: str, percent: Mapping[str, int], *, lossy: bool) -> Sequence[Finding]:
    case = _case(percent)
    engine = emulator(case)
    shares = _shares(case, engine, 5 * _MS, 20 * _MS)
    lost = _lost(engine, lossless=False)
    return (
        *(_share(f"{name}: {stream}", 0.25, share) for stream, share in shares.items()),
        exactly(f"{name}: lossless packets lost", 0, _lost(engine, lossless=True)),
        exactly(f"{name}: lossless packets out of sequence", 0, _out_of_sequence(engine)),
        exactly(f"{name}: lossy packets lost (1: yes)", int(lossy), int(lost > 0)),
        exactly(f"{name}: PAUSE frames (1: yes)", int(not lossy), int(_pauses(engine) > 0)),
    )


def _divided() -> Sequence[Finding]:
    even = {"lossy1": 25, "lossy2": 25, "lossless1": 30, "lossless2": 30}
    return (
        *_oversubscribed("lossless 30 + 30, lossy 25 + 25", even, lossy=False),
        *_oversubscribed("lossless 25 + 30, lossy 25 + 25", {**even, "lossless1": 25}, lossy=False),
        *_oversubscribed(
            "lossless 25 + 25, lossy 30 + 30",
            {"lossy1": 30, "lossy2": 30, "lossless1": 25, "lossless2": 25},
            lossy=True,
        ),
    )


_EVEN: Final = dict.fromkeys(_STREAMS, 24)
"""Less than the port takes: a shortfall of a stream has another cause."""
_IDLE: Final = dict.fromkeys(_STREAMS, 1)


def _storm(*more: str) -> str:
    words = ", ".join(["kind: pause-storm", "hosts: [receiver]", "priorities: [3]", "at: 5ms", *more])
    return f"faults=[{{{words}}}]"


def _stormed() -> Sequence[Finding]:
    case = _case(_EVEN, _storm("duration: 5ms"))
    engine = emulator(case)
    during = _shares(case, engine, 6 * _MS, 10 * _MS)
    after = _shares(case, engine, 15 * _MS, 20 * _MS)
    return (
        exactly("storm on priority 3: its stream, share of the port", 0.0, during["lossless1"]),
        *(
            _share(f"storm on priority 3: {stream}", 0.24, share)
            for stream, share in during.items()
            if stream != "lossless1"
        ),
        *(_share(f"after the storm: {stream}", 0.24, share) for stream, share in after.items()),
        exactly("storm: packets lost", 0, _lost(engine, lossless=True) + _lost(engine, lossless=False)),
    )


def _throttled() -> Sequence[Finding]:
    """A pause of some share of the time leaves the rest of the line rate to its priority. The plan says a stream of 25
    % is reduced 'to 90 %' in one place and 'by 90 %' in another.
    """
    findings = []
    for words, left in (("to 90 %", 0.225), ("by 90 %", 0.025)):
        # The other streams send almost nothing: they would share the rest of the time.
        case = _case({**_IDLE, "lossless1": 25}, _storm("duration: 20ms", f"duty: {1 - left}", "quanta: 2000"))
        engine = emulator(case)
        shares = _shares(case, engine, 10 * _MS, 20 * _MS)
        findings += [
            _share(f"throttled {words}: {stream}", left if stream == "lossless1" else 0.01, share)
            for stream, share in shares.items()
        ]
        findings.append(
            exactly(f"throttled {words}: packets lost", 0, _lost(engine, lossless=True) + _lost(engine, lossless=False))
        )
    return findings


_FAST: Final = [f"topology.links[{place}].rate=100G" for place in range(len(_STREAMS))]
_ONE_CLASS: Final = [f"workload[0].messages[{place}].priority=3" for place in range(len(_STREAMS))]


def _many_to_one() -> Sequence[Finding]:
    """RoCE: N lossless senders of line rate, without congestion control and with it."""
    case = compiled(_NAME, *_FAST, *_ONE_CLASS)
    engine = emulator(case)
    engine.advance(5 * _MS)
    before = engine.state.rqps["expected_psn"].astype(float)
    engine.advance(20 * _MS)
    rates = (engine.state.rqps["expected_psn"] - before) * wire_bytes(case) * 8 * PS_PER_S / (15 * _MS)
    fair = case.fabric.links[-1].rate_bps / len(rates)
    hosts, pauses = engine.state.hosts, _pauses(engine)
    # DCQCN settles within 200 ms; until then PFC sends pauses.
    calm = emulator(
        compiled(
            _NAME,
            *_FAST,
            *_ONE_CLASS,
            "transport.cc=dcqcn",
            "transport.dcqcn=paper-2015",
            "switches.ecn={kmin: 40KB, kmax: 200KB, pmax: 0.1}",
            "run.duration=300ms",
        )
    )
    calm.advance(200 * _MS)
    settling = _pauses(calm)
    calm.advance(300 * _MS)
    return (
        *(
            between(
                f"4 to 1, no congestion control: sender {place}, bit/s",
                fair,
                float(rate),
                fair * (1 - _ROCE),
                fair * (1 + _ROCE),
                f"{_ROCE:.0%}",
            )
            for place, rate in enumerate(rates, start=1)
        ),
        exactly("4 to 1: packets lost", 0, _lost(engine, lossless=True)),
        exactly("4 to 1: NAKs", 0, int(hosts["naks_sent"].sum())),
        exactly("4 to 1: PAUSE frames (1: yes)", 1, int(pauses > 0)),
        exactly("4 to 1: packets marked or notified", 0, int(hosts["ecn_received"].sum() + hosts["cnp_sent"].sum())),
        exactly("4 to 1 with DCQCN: PAUSE frames once it has settled", 0, _pauses(calm) - settling),
    )


_PLAN: Final = "sonic-mgmt PFC_Congestion_Oversubscription_Test_Plan; equal weights of four queues"

ROWS: Final = (
    Row(
        "V4/shares",
        "Oversubscription by 5 and 10 %: equal weights, pauses for the lossless, drops for the lossy",
        "asic",
        "C",
        _PLAN,
        _divided,
    ),
    Row("V4/storm", "A storm on one priority stops its stream and no other", "asic", "C", _PLAN, _stormed),
    Row("V4/throttle", "A pause of so much of the time leaves the rest of the line", "asic", "C", _PLAN, _throttled),
    Row(
        "V4/many-to-one",
        "Lossless senders of line rate share by sender, with pauses; hardly any with DCQCN",
        "asic",
        "C",
        "sonic-mgmt test_rocev2_pfc_congestion_ai.py; equal parts per ingress port",
        _many_to_one,
    ),
)
