"""Counts in sentences: what is zero is not told, and one is no plural."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fabric.explain.pause_tree import Blast, Cause, Episode, Origin
from fabric.explain.pauses import sentence
from fabric.ids import NodeId, PortId
from fabric.runs import verdict
from fabric.topology.builders.assemble import assemble
from fabric.topology.model import Fabric, LinkSpec, NodeSpec, Role
from fabric.units import counted, inventory
from playbooks.live import paused_words
from telemetry.live.shown import incident_text, status_text


@pytest.fixture(scope="module")
def pair() -> Fabric:
    nodes = [NodeSpec("host1", Role.HOST, 0), NodeSpec("leaf1", Role.LEAF, 1)]
    return assemble("pair", nodes, [LinkSpec("host1", "leaf1", 10**11, 10**6)])


@pytest.mark.parametrize(
    ("hosts", "switches", "said"),
    [
        (0, 1, "1 switch was paused for"),
        (1, 0, "1 host was paused for"),
        (0, 2, "2 switches were paused for"),
        (1, 1, "1 host and 1 switch were paused for"),
        (15, 6, "15 hosts and 6 switches were paused for"),
        (0, 0, "no device was paused for"),
    ],
)
def test_a_pause_tree_counts_only_what_was_paused(pair: Fabric, hosts: int, switches: int, said: str) -> None:
    node = SimpleNamespace(paused_ps=10**9, depth=0)
    episode = Episode(Origin(Cause.BROKEN_NIC, PortId(0), 3), (node,), 10**9, 2 * 10**9)
    blast = Blast(tuple(map(NodeId, range(hosts))), tuple(map(NodeId, range(switches))), 1, 0)
    text = sentence(pair, episode, blast)
    assert f"deep: {said}" in text
    assert text.endswith("1 message waited")


@pytest.mark.parametrize(
    ("paused", "hosts", "said"),
    [(0, 16, "0 of 16 hosts are paused"), (1, 16, "1 of 16 hosts is paused"), (1, 1, "1 of 1 host is paused")],
)
def test_a_live_run_counts_its_hosts(paused: int, hosts: int, said: str) -> None:
    status = {"scenario": "s", "state": "running", "sim_time_seconds": 0.001, "duration_seconds": 0.002, "loop": False}
    status |= {"dilation": 1000, "realtime_ratio": 0.001, "slipped_seconds": 0, "hosts_paused": paused, "hosts": hosts}
    assert status_text(status).endswith(said)


@pytest.mark.parametrize(
    ("hosts", "ports", "said"),
    [
        (0, 3, "3 switch ports paused"),
        (1, 0, "1 host paused"),
        (13, 1, "13 hosts and 1 switch port paused"),
        (0, 0, "nothing paused"),
    ],
)
def test_the_status_of_a_playbook_counts_only_what_is_paused(hosts: int, ports: int, said: str) -> None:
    assert paused_words(hosts, ports) == said


@pytest.mark.parametrize(
    ("hosts", "switches", "said"),
    [(0, 1, "1 switch was paused for"), (1, 1, "1 host and 1 switch were paused for"), (0, 0, "no device was paused")],
)
def test_a_tree_of_a_live_run_counts_only_what_was_paused(hosts: int, switches: int, said: str) -> None:
    incident = {"text": "storm", "since_seconds": 0.001, "open": True, "depth": 1, "paused_seconds": 0.001}
    assert f"1 deep, {said}" in incident_text({**incident, "hosts": ["h"] * hosts, "switches": ["s"] * switches})


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([(0, "port"), (0, "host")], ""),
        ([(1, "port"), (0, "host")], "1 port"),
        ([(2, "host"), (1, "switch", "switches")], "2 hosts and 1 switch"),
        ([(1, "host"), (2, "switch", "switches")], "1 host and 2 switches"),
    ],
)
def test_parts_of_zero_are_left_out(parts: list[tuple[int, str]], said: str) -> None:
    assert counted(*parts) == said


def test_a_fabric_of_one_switch_is_told_in_the_singular() -> None:
    assert inventory(1, 1, 1) == "1 host, 1 switch, 1 cable"
    assert inventory(1024, 2, 0) == "1,024 hosts, 2 switches, 0 cables"


@pytest.mark.parametrize(
    ("switches", "said"),
    [
        (3, ["2 hosts paused by s0", "1 host paused by s1", "1 host paused by s2"]),
        (4, ["2 hosts paused by s0", "1 host paused by s1", "1 host paused by s2", "1 host paused by s3"]),
        (
            5,
            ["2 hosts paused by s0", "1 host paused by s1", "1 host paused by s2", "2 hosts paused by 2 more switches"],
        ),
    ],
)
def test_a_line_for_one_more_switch_names_it(switches: int, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = switches + 1  # two of them on the first switch
    fabric = SimpleNamespace(
        nodes=[SimpleNamespace(ports=[port]) for port in range(hosts)],
        peer_of=lambda port: SimpleNamespace(name=f"s{port % switches}"),
    )
    now = SimpleNamespace(fabric=fabric, prios={"pauses": np.ones((hosts, 8), int)})
    monkeypatch.setattr(verdict, "paused_hosts", lambda _: np.arange(hosts))
    found = verdict._pfc(now, {"pfc.pause_frames": 9, "headroom.peak_ratio": None}, {"pfc": {"paused_ports": []}})
    assert [text for _, text in found] == said
