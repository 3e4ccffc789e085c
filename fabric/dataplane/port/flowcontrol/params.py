"""Parameters of each link flow control at one port; what all kinds have is state/params.FlowControlParams."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabric.dataplane.state.codes import INFINITY_PS, FlowControl
from fabric.dataplane.state.params import FlowControlParams


@dataclass(frozen=True, slots=True, kw_only=True)
class PfcParams(FlowControlParams):
    """PFC (IEEE 802.1Q clause 36). PAUSE is honoured for `classes` and, by switches, sent for them, but for those of
    `ignored` and `unsent`; `response_ps` is the time of 802.3 clause 31B.3.7.
    """

    kind: FlowControl = field(default=FlowControl.PFC, init=False)
    pause_quanta: int
    """Timer value of XOFF frames, in 512 bit times; 0: no timers, a pause lasts until XON (models without timers)."""

    unsent: int = 0
    """Bitmap of the classes for which the port sends no PAUSE (802.1Qbb PFCRequests alone off)."""
    ignored: int = 0
    """Bitmap of the classes whose PAUSE the port does not obey."""

    @property
    def obeyed(self) -> int:
        """Bitmap of the classes that the peer can stop."""
        return self.classes & ~self.ignored

    def port_values(self) -> dict[str, int]:
        """First values by field of PORT."""
        own = {"pause_quanta": self.pause_quanta, "pfc_unsent": self.unsent, "pfc_ignored": self.ignored}
        return FlowControlParams.port_values(self) | own  # super() fails in a dataclass with slots

    def class_values(self) -> dict[str, int]:
        """First values by field of PRIO: no refresh is due."""
        return FlowControlParams.class_values(self) | {"refresh_ps": INFINITY_PS}
