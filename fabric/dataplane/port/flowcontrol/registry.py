"""Every link flow control that the engine knows: its kernels by hook.

To add one: a member of codes.FlowControl, a file of kernels beside this one, an entry of KINDS, and the steps in
docs/flow-control.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from fabric.dataplane.port.flowcontrol import pfc
from fabric.dataplane.state.codes import FlowControl

Kernel = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One link flow control. A hook that is None does nothing; when each is called: port/flowcontrol/hooks."""

    code: FlowControl
    title: str
    """In messages and reports."""

    # ===== at the sender =====
    sent: Kernel | None = None
    received: Kernel | None = None

    # ===== at the receiver =====
    arrived: Kernel | None = None
    freed: Kernel | None = None
    full: Kernel | None = None
    drained: Kernel | None = None

    # ===== at both =====
    expire: Kernel | None = None
    speed_changed: Kernel | None = None
    link_lost: Kernel | None = None
    disabled: Kernel | None = None


KINDS: Final[tuple[Kind, ...]] = (
    Kind(
        code=FlowControl.PFC,
        title="PFC",
        received=pfc.receive,
        full=pfc.begin,
        drained=pfc.end,
        expire=pfc.expire,
        speed_changed=pfc.change_speed,
        link_lost=pfc.forget,
        disabled=pfc.release,
    ),
)
"""In the order in which a hook asks for them: the most common first."""
