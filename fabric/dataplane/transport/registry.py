"""Every congestion control of the engine: its kernels by hook, and its fields on the wire.

To add one: a member of codes.CongestionControl, a file of kernels in this folder, and an entry of CONTROLS; then the
model of its parameters (scenario/compile/controls.py) and its part of docs/congestion-control.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from fabric.dataplane.state.codes import CongestionControl
from fabric.dataplane.transport import cubic, dcqcn, dctcp, hpcc, ns3_dcqcn, ns3_dctcp, pint, swift, timely

Kernel = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One congestion control. A hook that is None has the default of transport/hooks."""

    code: CongestionControl
    title: str
    """Name in messages and reports."""

    # ===== at the sender; when each is called, and its arguments: transport/hooks =====
    start: Kernel | None = None
    stamp: Kernel | None = None
    sent: Kernel | None = None
    acknowledged: Kernel | None = None
    notified: Kernel | None = None
    catch_up: Kernel | None = None
    next_change_ps: Kernel | None = None
    change_line: Kernel | None = None
    settle: Kernel | None = None
    look: Kernel | None = None

    # ===== at switches =====
    forwarded: Kernel | None = None

    # ===== at receivers =====
    consumed: Kernel | None = None

    # ===== on the wire =====
    cnps: bool = False
    """The receiver answers a marked packet with a CNP (IB annex A17.9.1), at most one per cnp_interval."""
    echo: bool = False
    """ACKs and NAKs carry PacketFlag.ECHO if their data packet was marked."""
    telemetry_bytes: int = 0
    """What every data frame and its answer carry more for this control; above 0, State.telemetry holds it."""
    mark_changes: Kernel | None = None
    """At the receiver, with coalesced ACKs: whether to send the pending ACK before this packet is counted."""

    @property
    def reads_marks(self) -> bool:
        """Whether its senders are told of marks, and slow down for them."""
        return self.cnps or self.echo


CONTROLS: Final[tuple[Control, ...]] = (
    Control(
        code=CongestionControl.DCQCN,
        title="DCQCN",
        sent=dcqcn.sent,
        notified=dcqcn.notify,
        catch_up=dcqcn.advance,
        change_line=dcqcn.change_line,
        look=dcqcn.look,
        cnps=True,
    ),
    Control(code=CongestionControl.NONE, title="no congestion control"),
    Control(
        code=CongestionControl.NS3_DCQCN,
        title="DCQCN of the public ns-3 RDMA simulator",
        sent=ns3_dcqcn.sent,
        acknowledged=ns3_dcqcn.acknowledged,
        catch_up=ns3_dcqcn.advance,
        next_change_ps=ns3_dcqcn.next_change_ps,
        settle=ns3_dcqcn.settle,
        echo=True,
    ),
    Control(
        code=CongestionControl.DCTCP,
        title="DCTCP",
        start=dctcp.start,
        acknowledged=dctcp.acknowledged,
        echo=True,
        mark_changes=dctcp.changes,
    ),
    Control(
        code=CongestionControl.HPCC,
        title="HPCC",
        start=hpcc.start,
        stamp=hpcc.stamp,
        forwarded=hpcc.forwarded,
        sent=hpcc.sent,
        acknowledged=hpcc.acknowledged,
        change_line=hpcc.change_line,
        telemetry_bytes=42,
    ),
    Control(
        code=CongestionControl.TIMELY,
        title="TIMELY",
        start=timely.start,
        stamp=timely.stamp,
        acknowledged=timely.acknowledged,
        change_line=timely.change_line,
        telemetry_bytes=8,
    ),
    Control(
        code=CongestionControl.NS3_DCTCP,
        title="DCTCP of the public ns-3 RDMA simulator",
        start=ns3_dctcp.start,
        acknowledged=ns3_dctcp.acknowledged,
        echo=True,
    ),
    Control(
        code=CongestionControl.PINT,
        title="HPCC-PINT",
        start=pint.start,
        stamp=pint.stamp,
        forwarded=pint.forwarded,
        sent=hpcc.sent,
        acknowledged=pint.acknowledged,
        change_line=pint.change_line,
        telemetry_bytes=2,
    ),
    Control(
        code=CongestionControl.SWIFT,
        title="Swift",
        start=swift.start,
        stamp=swift.stamp,
        consumed=swift.consumed,
        sent=swift.sent,
        acknowledged=swift.acknowledged,
        change_line=swift.change_line,
        telemetry_bytes=12,
    ),
    Control(
        code=CongestionControl.CUBIC,
        title="CUBIC",
        start=cubic.start,
        sent=cubic.sent,
        acknowledged=cubic.acknowledged,
        change_line=cubic.change_line,
        echo=True,
    ),
)
"""In the order of a hook's comparisons: the most common first."""


def control_of(code: int) -> Control:
    """The entry of a member of CongestionControl."""
    return next(control for control in CONTROLS if control.code == code)


def mask_of(chosen: Callable[[Control], bool]) -> int:
    """Bit c is set if the control of code c is chosen: a constant for kernels."""
    return sum(1 << control.code for control in CONTROLS if chosen(control))
