"""What is drawn in a control plane: each use has a named random stream of the run's seed.

Of a fabric that runs FRR 8.4, these are drawn (Jitter.FRR), each with its source:

    boot        when the daemon of a switch is up: up to boot_spread after the switch is
    dial        when an end of a cable acts on an event of its interface or on a timer: up to dial_jitter later
    keepalive   where in its interval each session's KEEPALIVE is at time 0: sessions of a real fabric came up at
                different times. The interval itself is exact: bgpd jitters no timer (bgp_fsm.c, bgp_timer_set, and the
                thread of bgp_keepalives.c)
    collision   whether the connection that survives a collision is lost all the same (network.py, _collide)
    bfd         age of the last BFD packet; its interval is 75 to 100 % of the configured one (RFC 5880 section 6.8.7;
                bfdd/bfd.c, ptm_bfd_start_xmt_timer)

Jitter.RFC4271 draws the same but the collision, which is a defect of FRR's, and also the ConnectRetry, Keepalive and
MinRouteAdvertisementInterval timers: 0.75 to 1.0 of their value each time (RFC 4271 section 10). Jitter.OFF draws
nothing: every number is 0.
"""

from __future__ import annotations

from collections import Counter

from fabric.control.config import Jitter
from fabric.state.streams import stream_key


class Draws:
    """Random numbers of one control plane: a function of seed, name and how often the name was drawn from before."""

    def __init__(self, seed: int, jitter: Jitter) -> None:
        self._seed = seed
        self._jitter = jitter
        self._drawn: Counter[str] = Counter()

    def ratio(self, name: str) -> float:
        """The next number of a stream, in [0, 1); 0 where nothing is drawn. `name`: 'leaf1.boot'."""
        if self._jitter is Jitter.OFF:
            return 0.0
        self._drawn[name] += 1
        return stream_key(self._seed, f"control.{name}.{self._drawn[name]}") / 2**63

    def timer_key(self, router: str) -> int | None:
        """Key of a speaker's jittered timers; None: they are exact."""
        return stream_key(self._seed, f"control.{router}.timers") if self._jitter is Jitter.RFC4271 else None
