"""The network time of one message of a transfer by cause, for the critical path of a schedule.

Every instant from posting to arrival counts for the first of these that applies, as in message.py:

1. a port on its path was paused in its class: the origin of the pause tree is the cause;
2. data of its queue pair had been lost and was not recovered yet, or the acknowledgement that would have stopped its
   timer had been lost;
3. its reaction point allowed less than 95 % of line rate: the port on the path that marked most is named, as an ECMP
   collision where the hash had given it more than its share (balance.py);
4. an earlier message of its queue pair had not arrived yet;
5. none of these: its own transfer, which is propagation and latency, transmission, and the rest queueing.

Intervals of rule 5 have no order in time, so they are listed as propagation, transmission, queueing; queueing may be an
ECMP collision as in rule 3. Where a link of the path ran below its speed, or has less than its peers have
(topology/peer_rates.py), the additional time is the link's: its share of rules 4 and 5, and pauses and marks that began
at its port.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.codes import DropReason
from fabric.explain.balance import Balance
from fabric.explain.direction import Direction, Directions
from fabric.explain.drops import HOLE_REASONS
from fabric.explain.evidence import Evidence
from fabric.explain.intervals import subtract
from fabric.explain.message_account import FULL_RATE_RATIO
from fabric.explain.pauses import origin_text
from fabric.render.document import Unit, show
from fabric.topology.model import Link
from fabric.topology.peer_rates import peer_rates
from fabric.units import PS_PER_NS, PS_PER_S, parse_size_bytes, parse_time_ps

Span = tuple[int, int]
HEADER_BYTES: Final = 14 + 20 + 8 + 12 + 4 + 4 + 20
"""Ethernet, IPv4, UDP, BTH, ICRC, FCS; preamble and gap between frames."""


@dataclass(frozen=True, slots=True)
class Part:
    """One interval of a message's network time."""

    start_ns: int
    end_ns: int
    what: str
    where: str
    cause: str
    """What the summary counts it under."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A message of a transfer, posted."""

    qp: int
    priority: int
    path: Sequence[str]
    """Ports 'device:port', sender first; empty without a single path."""
    size_bytes: int
    start_ns: int
    end_ns: int
    """Arrival, or the end of the run."""
    ahead_until_ns: int
    """When the last earlier message of its queue pair arrived; 0 where there is none."""
    arrived: bool = True


class Network:
    """Splits network times. Tables of the run are read once."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._balance = Balance(evidence)
        resolved = evidence.run.manifest["scenario"]["resolved"]
        timer = resolved["transport"].get("retransmit_timeout")
        self._timer_ns = _time(None if timer == "off" else timer) // PS_PER_NS
        self._payload = _size(resolved["transport"].get("mtu"), 4096)
        self._latency_ps = _time(resolved["switches"].get("latency")), _time(resolved["hosts"].get("latency"))
        self._peers_bps = peer_rates(evidence.fabric)

    def parts(self, sent: Sent) -> list[Part]:
        """In order of time; they cover start to end without a gap."""
        left: list[Span] = [(sent.start_ns, sent.end_ns)]
        found: list[Part] = []
        for spans, what, where, cause in self._harms(sent):
            before = left
            left, taken = subtract(left, sorted(spans))
            if taken:
                inside, _ = subtract(before, left)
                found += [Part(start, stop, what, where, cause) for start, stop in inside]
        ahead = min(sent.ahead_until_ns, sent.end_ns)
        for start, stop in left:
            middle = min(max(ahead, start), stop)
            found += self._behind(sent, start, middle)
        own, _ = subtract(left, [(sent.start_ns, ahead)]) if ahead > sent.start_ns else (left, 0)
        found += self._own_way(sent, own)
        return sorted(found, key=lambda part: part.start_ns)

    # ===== harms with separate times =====

    def _harms(self, sent: Sent) -> Iterator[tuple[list[Span], str, str, str]]:
        fabric = self._evidence.fabric
        for name in sent.path:
            sender = fabric.ports[self._evidence.port_named(name)].peer
            for span in self._evidence.pauses_of(self._evidence.port_named(name), sent.priority):
                held = [(start // PS_PER_NS, stop // PS_PER_NS) for start, stop in span.held]
                held = [it for it in held if it[0] < sent.end_ns and it[1] > sent.start_ns]
                if held:
                    slow = self.slow_port(int(span.origin.port), sent.start_ns, sent.end_ns)
                    peer = fabric.node_of(sender).name
                    cause = slow or f"pause that began at {origin_text(fabric, span.origin)}"
                    yield held, "paused", f"{name} by {peer}", cause
        for drop, until, device, cause in self._losses(sent):
            yield [(drop, until)], "lost, not recovered yet", device, cause
        throttled = self._throttled(sent)
        if throttled:
            where, cause = self._marker(sent)
            yield throttled, "rate below line rate", where, cause

    @cached_property
    def _drops(self) -> dict[int, list[tuple[int, int, DropReason, int]]]:
        """Queue pair -> (moment in ns, PortId, reason, bytes of the frame)."""
        events = self._evidence.events(["drop"])
        found: dict[int, list[tuple[int, int, DropReason, int]]] = {}
        columns = (events[name].tolist() for name in ("qp", "time_ps", "port", "reason", "a"))
        for qp, time_ps, port, name, size_bytes in zip(*columns, strict=True):
            if qp >= 0 and port >= 0:
                found.setdefault(qp, []).append((time_ps // PS_PER_NS, port, DropReason[name.upper()], size_bytes))
        return found

    @cached_property
    def _recoveries(self) -> dict[int, NDArray[np.int64]]:
        return self._moments(["timeout", "nak_sent", "loss_declared"])

    @cached_property
    def _timeouts(self) -> dict[int, NDArray[np.int64]]:
        return self._moments(["timeout"])

    def _moments(self, kinds: Sequence[str]) -> dict[int, NDArray[np.int64]]:
        """Queue pair -> moments of its events in ns, ascending."""
        events = self._evidence.events(kinds)
        qp, times = events["qp"], events["time_ps"] // PS_PER_NS
        return {int(it): np.sort(times[qp == it]) for it in np.unique(qp)}

    def _losses(self, sent: Sent) -> Iterator[tuple[int, int, str, str]]:
        """(from, to, device, cause).

        Lost acknowledgements do not delay data, unless a window waits for one. A lost one was the last only where the
        timer ran out no later than its length after the loss, because every progress starts it again.
        """
        inside = [it for it in self._drops.get(sent.qp, ()) if sent.start_ns <= it[0] < sent.end_ns]
        if not inside:
            return
        directions = self._directions(sent)
        for drop, port, reason, size_bytes in inside:
            back = directions.of(port, reason, size_bytes) is Direction.BACK
            times = (self._timeouts if back else self._recoveries).get(sent.qp, np.empty(0, np.int64))
            place = int(np.searchsorted(times, drop, side="right"))
            until = int(times[place]) if place < len(times) else sent.end_ns
            if back and (place == len(times) or until - drop > self._timer_ns):
                continue
            what = "acknowledgements" if back else "packets"
            device = self._evidence.fabric.node_of(port).name
            hole = ", a black hole" if reason in HOLE_REASONS else ""
            cause = f"{what} lost at {device} ({reason.name.lower()}{hole})"
            yield drop, min(max(until, drop + 1), sent.end_ns), device, cause

    def _directions(self, sent: Sent) -> Directions:
        fabric, ends = self._evidence.fabric, None
        if sent.path:
            last = fabric.peer_of(self._evidence.port_named(sent.path[-1]))
            ends = sent.path[0].partition(":")[0], last.name
        return Directions(self._evidence, sent.qp, ends, sent.path, np.array([sent.size_bytes], np.int64))

    @cached_property
    def _rates(self) -> dict[int, tuple[NDArray[np.int64], NDArray[Any]]]:
        return self._evidence.item_series("qp_rate_bps")

    def _throttled(self, sent: Sent) -> list[Span]:
        times, rates = self._rates.get(sent.qp, (np.empty(0, np.int64), np.empty(0)))
        if not times.size or not sent.path:
            return []
        # Where its own port has lost lanes, a rate below that of the lanes left is no throttling.
        line = self._speed_bps(self._evidence.port_named(sent.path[0]), sent.start_ns, sent.end_ns)
        slow = (rates < FULL_RATE_RATIO * line) & (rates > 0)
        ends = np.r_[times[1:], self._evidence.end_ns]
        inside = slow & (times < sent.end_ns) & (ends > sent.start_ns)
        return list(zip(times[inside].tolist(), ends[inside].tolist(), strict=True))

    def _marker(self, sent: Sent) -> tuple[str, str]:
        """(port that marked most on the path, cause)."""
        marked = self._evidence.counter("ecn_marked_pkts")
        counts = {name: marked.get((self._evidence.port_named(name), sent.priority), 0) for name in sent.path[1:]}
        name = max(counts, key=lambda it: counts[it], default="")
        control = self._evidence.notified_by.partition(":")[0]
        if not name or not counts[name]:
            return sent.path[0], f"rate cut by {control}"
        slow = self.slow_port(self._evidence.port_named(name), sent.start_ns, sent.end_ns)
        if not slow and self._collides(name, sent):
            return name, f"ECMP collision at {name}: rate cut by {control}, its marks"
        return name, slow or f"rate cut by {control}, marks of {name}"

    def _collides(self, name: str, sent: Sent) -> bool:
        return self._balance.collides(self._evidence.port_named(name), sent.start_ns, sent.end_ns)

    # ===== the rest =====

    @cached_property
    def _speeds(self) -> dict[int, tuple[NDArray[np.int64], NDArray[Any]]]:
        return {port: found for (port, _), found in self._evidence.series("rate_bps").items()}

    def _speed_bps(self, port: int, start_ns: int, end_ns: int) -> int:
        """Lowest speed of a port in an interval."""
        nominal = self._evidence.fabric.links[self._evidence.fabric.ports[port].link].rate_bps
        times, rates = self._speeds.get(port, (np.empty(0, np.int64), np.empty(0)))
        if not times.size:
            return nominal
        first = max(int(np.searchsorted(times, start_ns, side="right")) - 1, 0)
        last = max(int(np.searchsorted(times, end_ns)), first + 1)
        return int(min(int(rates[first:last].min()) or nominal, nominal))

    def _nominal_bps(self, link: Link) -> int:
        """Rate of a link, or that of its peers where it is slower than they are."""
        return self._peers_bps.get(link.id, link.rate_bps)

    def slow_port(self, port: int, start_ns: int, end_ns: int) -> str:
        """'slow link leaf1:Ethernet0--host3:eth0 (25G instead of 100G)', or '... (100G where its peers have 400G)'; ''
        where the port ran at its speed, and its peers are no faster.
        """
        fabric = self._evidence.fabric
        link = fabric.links[fabric.ports[port].link]
        rate, nominal = self._speed_bps(port, start_ns, end_ns), self._nominal_bps(link)
        if rate >= nominal:
            return ""
        ends = f"{fabric.port_name(link.a)}--{fabric.port_name(link.b)}"
        than = f"instead of {show(link.rate_bps, Unit.BPS)}"
        if rate == link.rate_bps:
            than = f"where its peers have {show(nominal, Unit.BPS)}"
        return f"slow link {ends} ({show(rate, Unit.BPS)} {than})"

    def _slowest(self, sent: Sent) -> tuple[str, float]:
        """(cause, share of the time of transmissions that it adds); ('', 0) where all links ran at their speed, and no
        peer of the slowest is faster.
        """
        fabric = self._evidence.fabric
        ports = [self._evidence.port_named(name) for name in sent.path]
        if not ports:
            return "", 0.0
        rates = [self._speed_bps(port, sent.start_ns, sent.end_ns) for port in ports]
        slowest = int(np.argmin(rates))
        nominal = min(self._nominal_bps(fabric.links[fabric.ports[port].link]) for port in ports)
        if rates[slowest] >= nominal:
            return "", 0.0
        return self.slow_port(ports[slowest], sent.start_ns, sent.end_ns), 1 - rates[slowest] / nominal

    def _behind(self, sent: Sent, start: int, stop: int) -> Iterator[Part]:
        if stop <= start:
            return
        cause, share = self._slowest(sent)
        middle = stop - int((stop - start) * share)
        what, where = "behind an earlier message", f"queue pair {sent.qp}"
        if middle > start:
            yield Part(start, middle, what, where, "waiting in the queue pair behind an earlier message")
        if stop > middle:
            yield Part(middle, stop, what, where, cause)

    def _own_way(self, sent: Sent, spans: Sequence[Span]) -> Iterator[Part]:
        """Propagation, transmission, a slow link's addition, queueing: amounts, laid one after another."""
        fabric = self._evidence.fabric
        total = sum(stop - start for start, stop in spans)
        if not total:
            return
        if not sent.arrived or not sent.path:
            text = "network" if sent.arrived else "not arrived"
            yield from _laid(spans, [(total, text, "", text if sent.arrived else "a message that did not arrive")])
            return
        ports = [self._evidence.port_named(name) for name in sent.path]
        links = [fabric.links[fabric.ports[port].link] for port in ports]
        switch_ps, host_ps = self._latency_ps
        flight = (sum(link.delay_ps for link in links) + switch_ps * (len(links) - 1) + host_ps) // PS_PER_NS
        packets = max(-(-sent.size_bytes // self._payload), 1)
        bits = (sent.size_bytes + packets * HEADER_BYTES) * 8
        packet = min(sent.size_bytes, self._payload) + HEADER_BYTES
        rates = [self._nominal_bps(link) for link in links]
        nominal = min(rates)
        # The last packet is sent once more by every further hop.
        forward = sum(packet * 8 * PS_PER_S // rate for rate in rates) - packet * 8 * PS_PER_S // nominal
        send = (bits * PS_PER_S // nominal + forward) // PS_PER_NS
        if sent.ahead_until_ns > sent.start_ns:  # its packets follow those of the message before it
            flight, send = 0, bits * PS_PER_S // nominal // PS_PER_NS
        flight = min(flight, total)
        send = min(send, total - flight)
        cause, share = self._slowest(sent)
        extra = (
            min(int(bits * PS_PER_S // PS_PER_NS / nominal * share / (1 - share)), total - flight - send)
            if cause
            else 0
        )
        rest = total - flight - send - extra
        slow_at = min(
            sent.path, key=lambda name: self._speed_bps(self._evidence.port_named(name), sent.start_ns, sent.end_ns)
        )
        deepest = self._deepest(sent)
        slow = self.slow_port(self._evidence.port_named(deepest), sent.start_ns, sent.end_ns) if deepest else ""
        held = f"queueing and latency at {deepest}" if deepest else "queueing and latency"
        if deepest and self._collides(deepest, sent):
            held = f"ECMP collision at {deepest}: queueing and latency"
        yield from _laid(
            spans,
            [
                (flight, "propagation", " ".join(sent.path[-1:]), "propagation and latency"),
                (send, "transmission", sent.path[0], "transmission at line rate"),
                (extra, "transmission", slow_at, cause),
                (rest, "queueing", deepest, slow or held),
            ],
        )

    @cached_property
    def _depths(self) -> dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[Any]]]:
        return self._evidence.series("queue_watermark_bytes")

    def _deepest(self, sent: Sent) -> str:
        """The port of the path whose queue was deepest meanwhile; '' where no queue was."""
        found, most = "", 0
        for name in sent.path:
            times, values = self._depths.get(
                (self._evidence.port_named(name), sent.priority), (np.empty(0, np.int64), np.empty(0))
            )
            # A watermark belongs to the interval before its sample.
            first = int(np.searchsorted(times, sent.start_ns))
            last = int(np.searchsorted(times, sent.end_ns)) + 1
            depth = int(values[first:last].max(initial=0))
            if depth > most:
                found, most = name, depth
        return found


def _laid(spans: Sequence[Span], amounts: Sequence[tuple[int, str, str, str]]) -> Iterator[Part]:
    """Amounts that add up to the spans, laid into them in order."""
    left = [list(span) for span in spans]
    for amount, what, where, cause in amounts:
        to_lay = amount
        while to_lay > 0:
            taken = min(to_lay, left[0][1] - left[0][0])
            if taken:
                yield Part(left[0][0], left[0][0] + taken, what, where, cause)
            left[0][0] += taken
            to_lay -= taken
            if left[0][0] == left[0][1]:
                left.pop(0)


def _size(text: Any, default: int) -> int:  # noqa: ANN401  a JSON value
    return default if text is None else text if isinstance(text, int) else parse_size_bytes(str(text))


def _time(text: Any) -> int:  # noqa: ANN401  a JSON value
    return 0 if text is None else text if isinstance(text, int) else parse_time_ps(str(text))
