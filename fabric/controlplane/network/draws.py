"""Random values of a control plane. Each use has a named random stream of the run's seed.

Jitter.FRR draws, for a fabric of FRR 8.4 routers:

    boot        delay of a switch's daemon after the switch: up to boot_spread
    dial        delay of an end of a cable after an event of its interface or a timer: up to dial_jitter
    keepalive   phase of each session's KEEPALIVE at time 0: sessions of a real fabric came up at different times. The
                interval is exact: bgpd jitters no timer (bgp_fsm.c, bgp_timer_set, and the thread of bgp_keepalives.c)
    collision   whether the connection that survives a collision is lost after all (network.py, _collide)
    bfd         age of the last BFD packet; the interval is 75 to 100 % of the configured one (RFC 5880 section 6.8.7;
                bfdd/bfd.c, ptm_bfd_start_xmt_timer)

Jitter.RFC4271 draws the same except the collision, which is a defect of FRR, and the ConnectRetry, Keepalive and
MinRouteAdvertisementInterval timers: 0.75 to 1.0 of their value each time (RFC 4271 section 10). With Jitter.OFF every
number is 0.
"""

from __future__ import annotations

from collections import Counter

from fabric.controlplane.network.config import Jitter
from fabric.dataplane.state.streams import stream_key


class Draws:
    """Random numbers of one control plane: a function of seed, stream name and number of earlier draws."""

    def __init__(self, seed: int, jitter: Jitter) -> None:
        self._seed = seed
        self._jitter = jitter
        self._drawn: Counter[str] = Counter()

    def ratio(self, name: str) -> float:
        """The next number of a stream, in [0, 1); 0 with Jitter.OFF. `name`: 'leaf1.boot'."""
        if self._jitter is Jitter.OFF:
            return 0.0
        self._drawn[name] += 1
        return stream_key(self._seed, f"control.{name}.{self._drawn[name]}") / 2**63

    def timer_key(self, router: str) -> int | None:
        """Key of a speaker's timer jitter; None: exact timers."""
        return stream_key(self._seed, f"control.{router}.timers") if self._jitter is Jitter.RFC4271 else None
