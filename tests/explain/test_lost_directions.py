"""A lost frame is told as data or as an answer by what the event log has of it, and holds a message for as long."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.dataplane.state.codes import EventKind
from fabric.explain import message_account
from fabric.explain.acknowledgements import return_path, unanswered
from fabric.explain.control import control_of
from fabric.explain.direction import Direction
from fabric.explain.evidence import Evidence
from fabric.explain.message import explain_message
from fabric.explain.message_losses import Moments, losses_text, lost_packets
from fabric.explain.pause_tree import Cause, Origin, PauseSpan
from fabric.explain.step_network import Network, Sent
from fabric.render.json import to_json
from fabric.units import PS_PER_NS, parse_time_ps
from tests.explain.explained import incast, simulated

FULL, ANSWER, TAIL = 4096 + 62, 66, 62 + 4
"""Bytes of frames over IPv4: a full packet, an ACK, and a last packet with 4 B of payload (IB annex A17)."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Two messages of host5, one of them with a last packet as small as an ACK."""
    sends = [
        {"kind": "permutation", "hosts": ["host5", "host1"], "size": size, "shift": 1, "name": name}
        for name, size in (("whole", "64KiB"), ("rest", "65540B"))
    ]
    return simulated(tmp_path_factory.mktemp("ways"), workload=sends)


class Dropped(Evidence):
    """A run with other drop events: (port, reason, queue pair, bytes, moment in ns)."""

    def __init__(self, evidence: Evidence, drops: Sequence[tuple[str, str, int, int, int]]) -> None:
        super().__init__(evidence.run)
        self._drops = drops

    def events(self, kinds: Sequence[str]) -> Any:  # noqa: ANN401  as of Evidence
        if list(kinds) != ["drop"]:
            return super().events(kinds)
        ports, reasons, pairs, sizes, times = zip(*self._drops, strict=True)
        none = np.zeros(len(ports), np.int64)
        return {
            "time_ps": np.array(times, np.int64) * PS_PER_NS,
            "kind": np.full(len(ports), int(EventKind.DROP)),
            "port": np.array([self.port_named(it) for it in ports], np.int64),
            "prio": none + 3,
            "reason": np.array(reasons, object),
            "qp": np.array(pairs, np.int64),
            "a": np.array(sizes, np.int64),
            "b": none, "c": none, "d": none,
        }  # fmt: skip


def row_of(evidence: Evidence, name: str) -> dict[str, Any]:
    found: dict[str, Any] = evidence.run.messages().slice(evidence.message_row(name), 1).to_pylist()[0]
    return found


def from_host5(evidence: Evidence, entry: str) -> dict[str, Any]:
    rows = evidence.run.messages().to_pylist()
    return next(it for it in rows if it["src"] == "host5" and it["id"].startswith(entry))


def told(evidence: Evidence, message: dict[str, Any], port: str, reason: str, size: int) -> Direction:
    moment = (message["start_ns"] + message["end_ns"]) // 2
    dropped = Dropped(evidence, [(port, reason, message["qp"], size, moment)])
    [lost] = lost_packets(dropped, message, message["start_ns"], message["end_ns"])
    return lost.direction


@pytest.mark.parametrize("size", [FULL, TAIL, 0])
@pytest.mark.parametrize("reason", ["headroom", "ingress_threshold", "fcs", "ttl", "no_route"])
def test_data_lost_at_the_port_that_it_came_in_by_is_no_acknowledgement(ran: Evidence, size: int, reason: str) -> None:
    message = from_host5(ran, "rest")
    for name in message["path"][:-1]:
        entered = ran.fabric.ports[ran.port_named(name)].peer
        assert told(ran, message, ran.fabric.port_name(entered), reason, size) is Direction.FORTH


@pytest.mark.parametrize("reason", ["egress_threshold", "wred", "link_down"])
def test_data_lost_at_the_port_that_it_was_to_leave_by_is_no_acknowledgement(ran: Evidence, reason: str) -> None:
    message = from_host5(ran, "rest")
    for name in message["path"]:
        assert told(ran, message, name, reason, TAIL) is Direction.FORTH


def test_an_acknowledgement_is_told_by_its_size_wherever_it_was_lost(ran: Evidence) -> None:
    message = from_host5(ran, "whole")
    for name in message["path"][:-1]:
        entered = ran.fabric.port_name(ran.fabric.ports[ran.port_named(name)].peer)
        assert told(ran, message, entered, "egress_threshold", ANSWER) is Direction.BACK
    assert told(ran, message, message["path"][-1], "headroom", ANSWER) is Direction.BACK


def test_data_lost_at_another_spine_than_that_of_the_end_is_data(ran: Evidence) -> None:
    message = from_host5(ran, "whole")
    used = message["path"][2].partition(":")[0]
    other = "spine2" if used == "spine1" else "spine1"
    away = next(
        ran.fabric.port_name(port)
        for port in ran.ports_between(*(int(ran.fabric.by_name[message[it]].id) for it in ("src", "dst")))
        if ran.fabric.node_of(port).name == other
    )
    for size in (FULL, 0):
        assert told(ran, message, away, "egress_threshold", size) is Direction.FORTH


def test_a_frame_of_unknown_size_off_every_shortest_path_has_no_known_direction(ran: Evidence) -> None:
    message = from_host5(ran, "whole")
    beside = ran.fabric.port_name(ran.fabric.ports[ran.port_named("host7:eth0")].peer)
    moment = message["end_ns"] - 1
    dropped = Dropped(ran, [(beside, "egress_threshold", message["qp"], 0, moment)])
    lost = lost_packets(dropped, message, message["start_ns"], message["end_ns"])
    assert lost[0].direction is Direction.UNKNOWN
    assert "1 of its packets or acknowledgements lost at leaf2" in losses_text(dropped, lost)
    assert told(ran, message, beside, "egress_threshold", FULL) is Direction.FORTH


def test_data_of_a_later_message_that_was_lost_does_not_hold_one_that_has_arrived(ran: Evidence) -> None:
    message = from_host5(ran, "whole")
    after = message["arrived_ns"] + 1
    for losses, held in ((Moments([after], []), False), (Moments([], [after]), True)):
        parts = message_account.account(ran, message, message["end_ns"], losses, "harm", timed_out=False)
        taken = {what: time for what, time, _ in parts}
        assert (taken["delivered, not acknowledged: acknowledgements lost"] > 0) is held
    dropped = Dropped(ran, [(message["path"][1], "egress_threshold", message["qp"], FULL, after)])
    rows = to_json(explain_message(dropped, message["id"]))["time"]["account"]
    assert not [it for it in rows if "acknowledgements lost" in it["what"]]


def test_a_lost_acknowledgement_is_made_up_for_by_the_next_progress(ran: Evidence) -> None:
    message = from_host5(ran, "whole")
    [(start, stop)] = unanswered(ran, message["qp"], [message["start_ns"] + 1000])
    assert start < stop <= message["end_ns"]


@pytest.mark.parametrize(
    ("transport", "windowed", "signal"),
    [
        ({"cc": "dctcp"}, True, "DCTCP"),
        ({"cc": "dcqcn", "dcqcn": "hpcc-dcqcn-vwin"}, True, "DCQCN"),
        ({"cc": "dcqcn", "window": "off", "dcqcn": "hpcc-dcqcn-vwin"}, False, "DCQCN"),
        ({"cc": "dcqcn", "window": "1MB"}, True, "DCQCN"),
        ({"cc": "dcqcn", "overrides": [{"host": "host5", "cc": "swift"}]}, True, "Swift"),
        ({"cc": "dctcp", "overrides": [{"workload": "incast", "cc": "timely"}]}, False, "TIMELY"),
        ({"cc": "hpcc", "overrides": [{"host": "host5", "cc": "dctcp", "window": "off"}]}, False, "DCTCP"),
    ],
)
def test_the_window_and_the_signal_are_those_of_the_messages_own_control(
    tmp_path: Path, transport: dict[str, Any], windowed: bool, signal: str
) -> None:
    evidence = simulated(
        tmp_path, transport=transport, workload=incast(1, "4KB"), run={"duration": "100us", "seed": 2},
        switches={"asic": "trident3", "ecn": {"kmin": "60KB", "kmax": "60001B", "pmax": 1.0}},
    )  # fmt: skip
    found = control_of(evidence, row_of(evidence, "incast/0"))
    assert (found.windowed, found.signal.partition(":")[0]) == (windowed, signal)


def paused_by(ran: Evidence, stopped: str, spans: Sequence[tuple[str, int, int]]) -> Evidence:
    """A run in which pauses (origin, from, to in ns) stop a port in class 3."""
    evidence = Evidence(ran.run)
    sender = ran.fabric.ports[ran.port_named(stopped)].peer
    origins = [Origin(Cause.BROKEN_NIC, ran.fabric.ports[ran.port_named(name)].id, 3) for name, *_ in spans]
    evidence.__dict__["pauses"] = [
        PauseSpan(sender, 3, start * PS_PER_NS, origin, -1, held=[(start * PS_PER_NS, stop * PS_PER_NS)])
        for origin, (_, start, stop) in zip(origins, spans, strict=True)
    ]
    return evidence


def test_only_pauses_in_the_time_that_was_taken_are_named(ran: Evidence) -> None:
    stopped = "leaf2:Ethernet0"
    evidence = paused_by(ran, stopped, [("host1:eth0", 0, 100), ("host2:eth0", 300, 400), ("host3:eth0", 700, 800)])
    port = ran.port_named(stopped)
    left, (what, taken, cause) = message_account._paused(evidence, [(0, 1000)], port, 3, "held:", [(250, 350)])
    assert (left, taken) == ([(0, 300), (350, 1000)], 50)
    assert "host2:eth0" in cause
    assert "host1" not in cause
    assert "host3" not in cause
    assert what == "held: paused by host5"
    _, (what, taken, cause) = message_account._paused(evidence, left, port, 4, "held:")
    assert (what, taken, cause) == ("held: paused by host5", 0, "")


def test_a_link_that_acknowledgements_only_may_have_taken_is_named_with_perhaps(ran: Evidence) -> None:
    message = from_host5(ran, "whole")
    possible = [ran.fabric.port_name(ran.fabric.ports[it].id) for it in return_path(ran, message).possible]
    assert possible
    evidence = paused_by(ran, possible[0], [("host1:eth0", 0, ran.end_ns)])
    parts = message_account.account(evidence, message, message["end_ns"], Moments([], []), "", timed_out=False)
    named = [what for what, time, _ in parts if time and "paused by" in what]
    assert any(it.startswith("delivered, not acknowledged: ") for it in named)
    assert all(f"perhaps {possible[0]} paused by " in it for it in named)


def test_a_step_waits_for_lost_data_and_for_the_last_acknowledgement_before_a_timeout_only(ran: Evidence) -> None:
    message = from_host5(ran, "whole")
    start, middle, end = 0, 10_000, 1_000_000_000
    sent = Sent(message["qp"], 3, message["path"], message["size_bytes"], start, end, 0)
    timer = int(parse_time_ps(ran.run.manifest["scenario"]["resolved"]["transport"]["retransmit_timeout"])) // PS_PER_NS

    def causes(size: int, timeout: int) -> set[str]:
        network = Network(Dropped(ran, [(message["path"][1], "egress_threshold", message["qp"], size, middle)]))
        moments = {message["qp"]: np.array([timeout], np.int64)}
        network.__dict__.update(_recoveries=moments, _timeouts=moments)
        return {it.cause for it in network.parts(sent) if it.what == "lost, not recovered yet"}

    assert causes(FULL, middle + timer + 1) == {"packets lost at leaf2 (egress_threshold)"}
    assert causes(ANSWER, middle + timer) == {"acknowledgements lost at leaf2 (egress_threshold)"}
    assert causes(ANSWER, middle + timer + 1) == set()


def test_a_step_of_a_run_without_a_timer_can_be_explained(ran: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ran.run.manifest["scenario"]["resolved"]["transport"], "retransmit_timeout", "off")
    message = from_host5(ran, "whole")
    sent = Sent(message["qp"], 3, message["path"], message["size_bytes"], 0, message["arrived_ns"], 0)
    assert sum(it.end_ns - it.start_ns for it in Network(ran).parts(sent)) == message["arrived_ns"]
