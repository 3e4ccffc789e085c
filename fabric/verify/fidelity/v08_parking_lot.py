"""V8: without congestion control PFC shares by ingress port, for any number of flows behind it; DCQCN by flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import TraceBit
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.theory.routing import shares_by_port_bps
from fabric.verify.fidelity.experiment import compiled, emulator, jain, port, wire_bytes
from fabric.verify.fidelity.table import Finding, Row, between, exactly, within

_NAME: Final = "v08-parking-lot"
_MS: Final = 10**9
_SHARE: Final = 0.05
_SEEDS: Final = 8


def _rates(case: CompiledScenario, settle_ps: int, end_ps: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(rate of each flow on the wire, bit/s; data packets that each uplink of the remote leaf carried)."""
    engine = emulator(case, record=TraceBit(0))
    engine.advance(settle_ps)
    before = engine.state.rqps["expected_psn"].astype(np.int64)
    engine.advance(end_ps)
    moved = engine.state.rqps["expected_psn"] - before
    uplinks = [port(case.fabric, "leaf2", f"spine{number}") for number in (1, 2)]
    return moved * wire_bytes(case) * 8e12 / (end_ps - settle_ps), engine.state.ports["tx_pkts"][uplinks].astype(
        np.int64
    )


def _by_port() -> Sequence[Finding]:
    findings: list[Finding] = []
    seen: set[int] = set()
    for seed in range(1, _SEEDS + 1):
        case = compiled(_NAME, f"run.seed={seed}")
        rates, carried = _rates(case, 2 * _MS, 10 * _MS)
        used = int((carried > 0).sum())
        if used in seen:
            continue
        seen.add(used)
        # Which two of the three share an uplink does not matter: the remote flows are compared in order of size.
        remote = ["host5", "host6", "host7"]
        split = [["host2"], remote] if used == 1 else [["host2"], remote[:2], remote[2:]]
        shares = shares_by_port_bps(case.fabric.links[0].rate_bps, split)
        expected = sorted(float(shares[name]) for name in remote)
        name = f"{used} of 2 uplinks used"
        findings.append(within(f"{name}: the near sender, bit/s", float(shares["host2"]), float(rates[0]), _SHARE))
        findings += [
            within(f"{name}: far sender {place}, bit/s", share, ours, _SHARE)
            for place, (share, ours) in enumerate(zip(expected, sorted(rates[1:].tolist()), strict=True), start=1)
        ]
        findings.append(
            within(
                f"{name}: near sender over the best far one",
                float(shares["host2"]) / expected[-1],
                float(rates[0] / rates[1:].max()),
                _SHARE,
            )
        )
    findings.append(exactly("placements met: one uplink used, and two", 2, len(seen)))
    return findings


def _by_flow() -> Sequence[Finding]:
    case = compiled(
        _NAME,
        "transport.cc=dcqcn",
        "transport.dcqcn=paper-2015",
        "run.duration=400ms",
        "switches.ecn={kmin: 40KB, kmax: 200KB, pmax: 0.1}",
    )
    rates, _ = _rates(case, 200 * _MS, 400 * _MS)
    fair = case.fabric.links[0].rate_bps / len(rates)
    return (
        *(
            between(f"DCQCN: flow {number}, bit/s", fair, float(rate), 0.9 * fair, 1.1 * fair, "10 %")
            for number, rate in enumerate(rates, start=1)
        ),
        between("DCQCN: Jain's index", 1.0, jain(rates), 0.98, 1.0, "at least 0.98"),
    )


ROWS: Final = (
    Row(
        "V8/pfc",
        "Parking lot without congestion control: shares follow ingress ports",
        "asic",
        "C",
        "equal parts per ingress port; phenomenon: Zhu et al., SIGCOMM 2015, section 2.2",
        _by_port,
    ),
    Row(
        "V8/dcqcn",
        "Parking lot with DCQCN: equal shares",
        "asic",
        "C",
        "fair share; claim: Zhu et al., SIGCOMM 2015, section 6",
        _by_flow,
        slow=True,
    ),
)
