"""Runs of a search, counted, and the losses that they find in the fabric as it is configured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from fabric.configs.model import Place
from fabric.proof.files import scenario_text, stem
from fabric.proof.outcome import simulate
from fabric.proof.recipes.chain import sentence
from fabric.proof.search.bench import HALF, Bench, Moved, Traffic
from fabric.proof.search.rungs import Rungs, read
from fabric.units import count

AS_CONFIGURED: Final = Moved()
_BISECTIONS: Final = 6


@dataclass(frozen=True, slots=True)
class Hit:
    """A loss of RoCE that no finding names, with the traffic that shows it."""

    family: str
    """incast, step, storm, failover, mutated, cycle or pod."""
    device: str
    reason: str
    port: str
    """Where the packets were discarded, or the port that was looked at where nothing moves."""
    text: str
    condition: str
    """'only if ...': the assumed response of a peer that it depends on; '' where it loses with any."""
    scenario: str
    """For `fabric run`, which exits with 1."""
    file: str = ""
    loses: bool = True
    """False: pauses spread, and nothing is lost."""
    place: Place | None = None
    """Of the port in its configuration; None: a host lost the packets."""
    more: str = ""
    """What tells it from another one of the same family, reason and port."""

    @property
    def name(self) -> str:
        """Of the scenario, and of its file."""
        return stem("search", self.family, self.reason, self.device, self.port, *filter(None, [self.more]))

    @property
    def title(self) -> str:
        """What it is: a cycle of waits is named by check D1 where it needs no failure."""
        if self.family == "cycle" and self.reason != "deadlock":
            return "loss while a cyclic buffer dependency fills"
        if self.family == "cycle":
            return "deadlock after a failure" if self.more else "deadlock, as check D1 says"
        if not self.loses:
            return "pauses that spread"
        return f"loss without a finding ({self.family})"


@dataclass
class Runs:
    """Simulates; one for a whole search."""

    seed: int
    count: int = 0
    hits: dict[tuple[str, str, str], Hit] = field(default_factory=dict)

    def run(self, bench: Bench, traffic: Traffic, moved: Moved = AS_CONFIGURED) -> Rungs:
        """One run."""
        self.count += 1
        raw = bench.scenario(traffic, "search", moved, self.seed)
        return read(bench, simulate(raw, "search.yml"), hot_pairs(bench, traffic))

    def knows(self, bench: Bench, traffic: Traffic, rungs: Rungs) -> bool:
        """Whether a loss of its family, switch and reason is noted."""
        return self._key(bench, traffic, rungs) in self.hits

    def keep(self, bench: Bench, traffic: Traffic, rungs: Rungs) -> None:
        """Note a loss, unless its family, switch and reason are known."""
        self.keep_one(bench, [(traffic, rungs)])

    def keep_one(self, bench: Bench, lost: Sequence[tuple[Traffic, Rungs]]) -> None:
        """Note the loss of several that needs least of an assumption; the first one of equals."""
        new = [it for it in lost if self._key(bench, *it) not in self.hits]
        if not new:
            return
        shares = []
        for traffic, _ in new:
            shares.append(self._least_response(bench, traffic))
            if not shares[-1]:
                break
        best = min(range(len(shares)), key=lambda number: shares[number])
        traffic, rungs = new[best]
        key = self._key(bench, traffic, rungs)
        condition = f"only if a peer takes more than {shares[best]:.2f} of the time that 802.3 31B.3.7 allows it"
        hit = Hit(*key, _port(bench, rungs), told(traffic, rungs), condition if shares[best] else "", "")
        raw = bench.scenario(traffic, hit.name, seed=self.seed)
        self.hits[key] = replace(hit, scenario=_text(bench, raw, hit), place=_place(bench, hit))

    @staticmethod
    def _key(bench: Bench, traffic: Traffic, rungs: Rungs) -> tuple[str, str, str]:
        if rungs.loss is None:
            return traffic.name, bench.member.device, "deadlock"
        return traffic.name, rungs.loss.switch, rungs.loss.reason

    def _least_response(self, bench: Bench, traffic: Traffic) -> float:
        """The share of the time of 802.3 above which it loses; 0 where it loses with peers that stop at once."""
        if self.run(bench, traffic, Moved(response=0.0)).bad:
            return 0.0
        low, high = 0.0, HALF
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.run(bench, traffic, Moved(response=middle)).bad else (middle, high)
        return low or high


def hot_pairs(bench: Bench, traffic: Traffic) -> frozenset[tuple[str, str]]:
    """(source, destination) of the messages to a port that cannot keep up: it has several senders, or a fault."""
    slow = {host for it in traffic.faults for host in it.get("hosts", ())} | {bench.cut.receiver}
    links = {it["link"] for it in traffic.faults if "link" in it}
    slow |= {host for host, (device, port) in bench.cut.hosts.items() if f"{device}:{port}" in links}
    pairs = {(src, dst) for src, dst, _, _ in traffic.messages}
    ends = [dst for _, dst in pairs]
    return frozenset((src, dst) for src, dst in pairs if dst in slow or ends.count(dst) > 1)


def told(traffic: Traffic, rungs: Rungs) -> str:
    """'leaf1 Ethernet0 dropped 37 frames ...: 3 hosts send 24 MB'."""
    senders = count(len({src for src, _, _, _ in traffic.messages}), "sender")
    total = sum(size for _, _, size, _ in traffic.messages)
    faults = "".join(f", {it['kind']}" for it in traffic.faults)
    load = f"{senders}, {count(len(traffic.messages), 'message')}, {total:,} B{faults}"
    what = sentence(rungs.loss) if rungs.loss else "packets wait for each other in a cycle"
    return f"{what}; {load}"


def _port(bench: Bench, rungs: Rungs) -> str:
    return bench.member.port if rungs.loss is None else rungs.loss.port.partition(":")[2]


def _place(bench: Bench, hit: Hit) -> Place | None:
    device = bench.cut.network.devices.get(hit.device)
    port = device.ports.get(hit.port) if device is not None else None
    return None if device is None or port is None else device.place(port.where)


def _text(bench: Bench, raw: dict[str, Any], hit: Hit) -> str:
    kind = bench.member.kind.title
    condition = f" ({hit.condition})" if hit.condition else ""
    where = f"{bench.member.device} {bench.member.port}"
    heads = [f"Search, {hit.family}: {hit.text}{condition}", f"As configured, around {where}: {kind}"]
    return scenario_text(raw, heads, bench.lowering.origins)
