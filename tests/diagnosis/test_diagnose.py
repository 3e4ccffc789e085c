"""Each kind of root is named with its place, and the same fabric without the fault has none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from fabric.topology.model import Link
from telemetry.diagnosis import cables, queues
from telemetry.diagnosis.control import control_roots
from telemetry.diagnosis.root import Kind, Root
from telemetry.diagnosis.view import View
from telemetry.diagnosis.waits import Origin, Waits
from tests.diagnosis.conftest import LEAF_SPINE, Diagnose, scenario

_INCAST = {"kind": "incast", "receiver": "host1", "senders": ["host[5-9]", "host1[0-2]"], "size": "20MB"}
_STORAGE = {
    "name": "storage",
    "kind": "incast",
    "receiver": "host1",
    "senders": ["*"],
    "size": "32KB",
    "repeat": 40,
    "interval": "120us",
    "jitter": "80us",
}
_ROOT = Path(__file__).parents[2]
_FAST = LEAF_SPINE | {"fabric_rate": "400G"}
_NOT_SLOWED = {"cc": "none", "retransmit_timeout": "1ms"}
_MARKING = {"asic": "trident3", "ecn": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}}

# kind, device, further devices that may be named instead, scenario; the twin is the scenario without its faults
_FAULTS: list[tuple[str, str, set[str], dict[str, Any]]] = [
    ("link-down", "leaf1", {"spine1"}, scenario({"kind": "link-down", "link": "leaf1--spine1", "at": "2ms"})),
    (
        "link-flap",
        "leaf1",
        {"spine1"},
        scenario(
            {"kind": "link-flap", "link": "leaf1--spine1", "at": "2ms", "count": 4, "down": "300us", "up": "700us"}
        ),
    ),
    (
        "lanes-lost",
        "leaf1",
        {"spine2"},
        scenario({"kind": "link-rate", "link": "leaf1--spine2", "rate": "25G", "at": "2ms"}),
    ),
    (
        "bad-optic",
        "leaf2",
        {"spine2"},
        scenario({"kind": "bit-errors", "link": "leaf2--spine2", "ratio": 1.0e-6, "at": "2ms"}),
    ),
    (
        "silent-loss",
        "leaf3",
        {"spine1"},
        scenario({"kind": "drop-every", "port": "leaf3:Ethernet16", "every": 50, "at": "2ms"}),
    ),
    ("broken-nic", "host1", set(), scenario(
        {"kind": "pause-storm", "hosts": ["host1"], "at": "2ms", "duration": "20ms"}, workload=[_STORAGE])),
    ("slow-receiver", "host1", set(), scenario(
        {"kind": "slow-receiver", "hosts": ["host1"], "drain": "10G", "at": "2ms"}, workload=[_STORAGE])),
    (
        "headroom-short",
        "leaf1",
        set(),
        scenario(
            {"kind": "config-drift", "ports": "leaf1:*", "headroom": "20KB", "at": "3ms"},
            topology=_FAST,
            transport=_NOT_SLOWED,
            workload=[_INCAST],
        ),
    ),
    (
        "pfc-missing",
        "leaf1",
        set(),
        scenario(
            {"kind": "config-drift", "ports": "leaf1:Ethernet1[6-9]", "pfc_priorities": [], "at": "1ms"},
            topology=_FAST,
            transport=_NOT_SLOWED,
            workload=[_INCAST],
        ),
    ),
    (
        "ecn-wrong",
        "leaf1",
        set(),
        scenario(
            {"kind": "config-drift", "ports": "leaf1:*", "ecn": "off", "at": "1ms"},
            topology=_FAST,
            switches=_MARKING,
            transport={"dcqcn": "hpcc-dcqcn"},
            workload=[_INCAST],
        ),
    ),
    (
        "black-hole",
        "spine1",
        set(),
        scenario({"kind": "route", "switches": ["spine1"], "hosts": ["host5"], "via": [], "at": "2ms"}),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "device", "others", "data"), _FAULTS, ids=[it[0] for it in _FAULTS])
def test_a_fault_is_named_with_its_place(
    kind: str, device: str, others: set[str], data: Mapping[str, Any], diagnosed: Diagnose
) -> None:
    found = diagnosed(data)
    assert found, "no root was found"
    assert found[0].kind == kind, found
    assert found[0].device in {device, *others}
    assert others <= found[0].devices
    twin = [it for it in diagnosed(dict(data) | {"faults": []}) if it.rank < 2]
    assert kind not in {it.kind for it in twin}, twin


def _first(kind: str, found: Sequence[Root]) -> Root:
    assert found, "no root was found"
    assert found[0].kind == kind, found
    return found[0]


def test_a_wrong_dscp_map_is_the_switch_that_has_it(diagnosed: Diagnose) -> None:
    """Its neighbours lose packets; counters of both ends of its cables name it."""
    wrong = {"switch": "leaf2", "dscp_to_tc": {26: 1}}
    data = scenario(switches={"asic": "trident3", "overrides": [wrong]})
    root = _first("dscp-map", diagnosed(data))
    assert (root.device, root.priority) == ("leaf2", 3)


def test_a_port_that_obeys_no_pause_is_named_and_not_the_one_that_loses(diagnosed: Diagnose) -> None:
    deaf = {"port": "spine1:Ethernet0", "pfc_honour": []}
    data = scenario(
        topology=_FAST, transport=_NOT_SLOWED, workload=[_INCAST],
        switches={"asic": "trident3", "overrides": [deaf]},
    )  # fmt: skip
    root = _first("pfc-missing", diagnosed(data))
    assert (root.device, root.port, root.priority) == ("spine1", "Ethernet0", 3)


def test_two_faults_are_two_roots(diagnosed: Diagnose) -> None:
    found = diagnosed(
        scenario(
            {"kind": "pause-storm", "hosts": ["host1"], "at": "2ms", "duration": "20ms"},
            {"kind": "bit-errors", "link": "leaf4--spine2", "ratio": 1.0e-6, "at": "2ms"},
            workload=[_STORAGE],
        )
    )
    assert {(it.kind.value, it.device) for it in found if it.rank < 2} >= {("broken-nic", "host1")}
    assert any(it.kind == "bad-optic" and it.devices == {"leaf4", "spine2"} for it in found)


def test_a_host_that_pauses_both_of_its_switches_is_one_root(diagnosed: Diagnose) -> None:
    topology = {
        "kind": "dual-tor", "racks": 2, "hosts_per_rack": 3, "spines": 2, "host_rate": "100G", "fabric_rate": "100G",
    }  # fmt: skip
    slow = {"kind": "slow-receiver", "hosts": ["host4"], "drain": "5G", "at": "500us"}
    load = {"kind": "incast", "receiver": "host4", "senders": ["host1", "host2", "host3"], "size": "10MB"}
    qps = {"qp": {"per": "pair", "count": 4}}
    found = diagnosed(scenario(slow, topology=topology, workload=[load], transport=qps))
    [root] = [it for it in found if it.kind is Kind.SLOW_RECEIVER]
    assert root.device == "host4"
    assert len(root.evidence) == 2
    assert root.port in {"eth0", "eth1"}


def test_an_outage_that_begins_between_samples_is_one(diagnosed: Diagnose) -> None:
    root = _first("link-down", diagnosed(scenario({"kind": "link-down", "link": "leaf1--spine1", "at": "2.2ms"})))
    assert root.evidence[0].startswith("1 outage")


def test_a_black_hole_is_named_beside_a_link_that_went_down_elsewhere(diagnosed: Diagnose) -> None:
    found = diagnosed(
        scenario(
            {"kind": "link-down", "link": "leaf4--spine2", "at": "1ms"},
            {"kind": "route", "switches": ["spine1"], "hosts": ["host5"], "via": [], "at": "3ms"},
        )
    )
    assert {it.kind.value for it in found if it.rank < 2} == {"black-hole", "link-down"}


def test_a_switch_that_hangs_without_a_routing_protocol_is_named_and_not_its_cables(diagnosed: Diagnose) -> None:
    """Its neighbours' acknowledgements die in it as well, so it sends nothing."""
    data = scenario({"kind": "switch-crash", "switch": "spine1", "carrier": "kept", "at": "2ms"})
    assert _first("switch-hang", diagnosed(data)).device == "spine1"


def test_a_silent_cable_at_little_load_is_no_hung_switch(diagnosed: Diagnose) -> None:
    """Between two frames a switch sends none, and its other neighbours' frames arrive."""
    quiet = [{"kind": "poisson", "sizes": "fixed", "size": "16KB", "load": 0.004, "stop": "10ms"}]
    run = {"duration": "10ms", "stop": "duration"}
    fault = {"kind": "link-silent", "link": "leaf2--spine1", "at": "1ms"}
    roots = diagnosed(scenario(fault, workload=quiet, run=run, telemetry={"interval": "20us", "events": []}))
    assert [(it.kind, set(it.devices)) for it in roots] == [(Kind.SILENT_LOSS, {"leaf2", "spine1"})]


_LOSING = [
    {"kind": "link-silent", "link": "leaf2--spine1"},
    {"kind": "drop-every", "port": "leaf2:Ethernet16", "every": 50},
    {"kind": "drop-every", "port": "leaf2:Ethernet16", "every": 400},
    {"kind": "bit-errors", "link": "leaf2--spine1", "ratio": 1.0e-7},
]


@pytest.mark.slow  # 10 s each
@pytest.mark.parametrize("fault", _LOSING, ids=lambda it: f"{it['kind']} {it.get('every', '')}")
def test_a_loss_is_over_when_its_cable_is_repaired_and_lasts_until_now_before(
    fault: dict[str, Any], diagnosed: Diagnose
) -> None:
    """Frames in flight at the repair are no loss after it; a rare loss is not over because an interval has none."""
    changes = {
        "workload": [{"kind": "poisson", "sizes": "fixed", "size": "64KB", "load": 0.3, "stop": "12ms"}],
        "run": {"duration": "12ms", "stop": "duration"},
        "telemetry": {"interval": "100us", "events": []},
    }
    kinds = {Kind.SILENT_LOSS, Kind.BAD_OPTIC}
    (repaired,) = (
        it for it in diagnosed(scenario(fault | {"at": "2ms", "until": "5ms"}, **changes)) if it.kind in kinds
    )
    (lasting,) = (it for it in diagnosed(scenario(fault | {"at": "2ms"}, **changes)) if it.kind in kinds)
    assert 4_200_000 <= repaired.ended_ns <= 5_200_000
    assert lasting.ended_ns >= 11_800_000


@pytest.mark.parametrize("kind", ["link-down", "link-flap"])
def test_what_switches_discard_for_a_host_without_a_cable_is_no_fault_of_theirs(kind: str, diagnosed: Diagnose) -> None:
    how = {"count": 2, "down": "800us", "up": "200us"} if kind == "link-flap" else {}
    roots = diagnosed(scenario({"kind": kind, "link": "leaf3--host11", "at": "2ms", **how}))
    assert [(it.kind.value, set(it.devices)) for it in roots] == [(kind, {"host11", "leaf3"})]


def test_a_mac_address_that_moves_explains_packets_without_a_route(diagnosed: Diagnose) -> None:
    moves = [
        {"kind": "mac-move", "host": "host1", "to": "leaf2" if n % 2 else "leaf1", "at": f"{n}ms", "arps": 1}
        for n in range(1, 6)
    ]
    bgp = {"update_delay": "100us", "fib_delay": "50us", "learn_delay": "100us"}
    found = diagnosed(scenario(*moves, routing="bgp", bgp=bgp, vxlan={}))
    assert _first("mac-move", found)
    assert "black-hole" not in {it.kind.value for it in found}


def test_one_move_to_a_place_where_the_host_is_not_is_the_root_of_its_losses(diagnosed: Diagnose) -> None:
    move = {"kind": "mac-move", "host": "host1", "to": "leaf2", "at": "2ms", "arps": 1}
    bgp = {"update_delay": "100us", "fib_delay": "50us", "learn_delay": "100us"}
    found = diagnosed(scenario(move, routing="bgp", bgp=bgp, vxlan={}))
    assert [(it.kind.value, it.device) for it in found if it.rank < 2] == [("mac-move", "leaf2")]
    assert "had no next hop at leaf2" in found[0].evidence[0]


def test_one_frame_that_never_arrives_is_a_silent_loss_and_frames_in_flight_are_none() -> None:
    def of(*gap: int, sent: int = 30) -> list[int]:
        """Samples that are sure, of a cable of 100G and 1.5 us with this difference of its two ends."""
        size = len(gap)
        view = SimpleNamespace(
            sent=[np.full(size, float(sent))],
            sent_bytes=[np.full(size, 4_000.0 * sent)],
            rate_bps=[np.full(size, 100e9)],
            interval_s=np.full(size, 1e-3),
            size=size,
        )
        least = np.minimum.accumulate(np.array(gap, float)[::-1])[::-1]
        return [int(it) for it in np.flatnonzero(cables._sure(cast("View", view), 0, 3.5e-6, least))]

    assert of(0, 0, 0, 1, 1, 2, *[1] * 7) == list(range(3, 13))  # chance of one frame under way: 0.11 at each
    assert of(0, 1, 0, 1, 1, 0, 1, 0) == []
    assert of(0, 0, 0, 0, 0, 0, 0, 1, 1) == []  # at two samples it may be chance
    assert of(1, 1, 1, 1, 1, 1, 1, 1, 1, sent=400) == []  # a busy cable always has frames under way


def test_frames_in_flight_after_a_repair_are_no_loss_and_a_rare_loss_is_not_over_at_once() -> None:
    def of(*gap: int, sent: int = 200) -> tuple[int, int]:
        """(frames lost, the last interval) on a cable of 100G and 1.5 us with this difference of its two ends."""
        size = len(gap)
        view = SimpleNamespace(
            sent=[np.full(size, float(sent))],
            arrived=[sent - np.diff(np.array(gap, float), prepend=0.0)],
            sent_bytes=[np.full(size, 4_000.0 * sent)],
            rate_bps=[np.full(size, 100e9)],
            interval_s=np.full(size, 1e-3),
            size=size,
            peer=lambda port: port,
        )
        least = np.minimum.accumulate(np.array(gap, float)[::-1])[::-1]
        lost = np.diff(least, prepend=0.0)
        link = SimpleNamespace(delay_ps=1_500_000)
        kept = cables._while_losing(cast("View", view), cast("Link", link), 0, lost)
        return int(kept.sum()), cables._last(cast("View", view), 0, kept)

    burst = [0] * 4 + [40, 80, 120] + [120, 121, 120] * 8
    assert of(*burst) == (120, 6)
    assert of(*burst, 121, 122, 122) == (120, 6)  # two are in flight
    assert of(*burst, 122, 162, 202) == (202, 33)  # and lost again
    rare = [number // 4 for number in range(40)]
    assert of(*rare) == (9, 39)  # one in 800 frames: none in the last 799 says nothing
    assert of(*rare, *[9] * 40)[1] < 40


def test_a_tier_that_is_full_without_a_pause_is_oversubscribed(diagnosed: Diagnose) -> None:
    load = {"kind": "permutation", "shift": 4, "size": "1MB", "repeat": 40, "interval": "1ns"}
    run = {"duration": "4ms", "stop": "duration"}
    found = diagnosed(scenario(workload=[load], transport={"cc": "dctcp", "qp": {"per": "pair", "count": 8}}, run=run))
    assert {it.kind.value for it in found} == {"oversubscription"}
    assert sorted(it.device for it in found) == ["leaf1", "leaf2", "leaf3", "leaf4"]


def test_short_headroom_is_named_from_one_long_sample(diagnosed: Diagnose) -> None:
    drift = {"kind": "config-drift", "ports": "leaf1:*", "headroom": "20KB", "at": "0s"}
    data = scenario(
        drift, topology=_FAST, transport=_NOT_SLOWED, workload=[_INCAST | {"size": "5MB"}],
        telemetry={"interval": "3ms", "events": []},
    )  # fmt: skip
    assert _first("headroom-short", diagnosed(data)).device == "leaf1"


_POISSON = {"name": "background", "kind": "poisson", "sizes": "fixed", "size": "64KB", "load": 0.25, "stop": "2ms"}
_LOAD = {"name": "all", "kind": "permutation", "shift": 5, "size": "20MB"}


@pytest.mark.parametrize(
    "changes",
    [
        {"topology": LEAF_SPINE | {"fabric_delay": "100us"}},
        {"switches": {"asic": "trident3", "tc_to_queue": {3: 4}}},
        {"transport": {"cc": "timely"}, "switches": {"asic": "trident3", "ecn": "off"}, "workload": [_INCAST]},
        {"telemetry": {"interval": "1ms", "events": []}},
    ],
    ids=["long cables", "queues apart from classes", "timely without marks", "two samples"],
)
def test_a_healthy_fabric_has_no_root(changes: dict[str, Any], diagnosed: Diagnose) -> None:
    run = {"duration": "2ms", "stop": "duration"}
    data = scenario(telemetry={"interval": "100us", "events": []}, run=run, workload=[_POISSON])
    assert [it for it in diagnosed(data | changes) if it.rank < 2] == []


@pytest.mark.parametrize(
    ("cables", "interval", "duration"),
    [
        ({"host_cable": "1m"}, "100us", "1ms"),
        ({"fabric_cable": "2m"}, "20us", "1ms"),
        ({"fabric_cable": "300m"}, "50us", "1ms"),
    ],
    ids=["short", "with samples of a few frames", "long"],
)
def test_full_cables_lose_nothing(cables: dict[str, str], interval: str, duration: str, diagnosed: Diagnose) -> None:
    """Bursts of ACKs are many frames in flight; the tier has half of what hosts send, which is the only root."""
    load = _LOAD | {"size": "2MB", "repeat": 3, "interval": "300us"}
    telemetry, run = {"interval": interval, "events": []}, {"duration": duration, "stop": "duration"}
    found = diagnosed(scenario(topology=LEAF_SPINE | cables, workload=[load], telemetry=telemetry, run=run))
    assert {it.kind.value for it in found if it.rank < 2} <= {"oversubscription"}


def test_a_bgp_speaker_that_crashes_is_the_root_of_its_sessions(diagnosed: Diagnose) -> None:
    bgp = {"routing": "bgp", "bgp": {"update_delay": "1ms", "fib_delay": "500us"}}
    root = _first("bgp-down", diagnosed(scenario({"kind": "bgp-crash", "switch": "spine1", "at": "2ms"}, **bgp)))
    assert root.device == "spine1"


@pytest.mark.parametrize(
    ("fault", "kind"), [("bgp-crash", "bgp-down"), ("switch-crash", "switch-down")], ids=lambda it: it
)
@pytest.mark.parametrize("vxlan", [False, True])
def test_what_other_leaves_discard_for_hosts_that_are_cut_off_is_no_fault_of_theirs(
    fault: str, kind: str, vxlan: bool, diagnosed: Diagnose
) -> None:
    bgp = {"routing": "bgp", "bgp": {"update_delay": "200us", "fib_delay": "100us"}}
    found = diagnosed(
        scenario({"kind": fault, "switch": "leaf1", "at": "2ms"}, **bgp, **({"vxlan": {}} if vxlan else {}))
    )
    assert _first(kind, found).device == "leaf1"
    assert "black-hole" not in {it.kind.value for it in found}


@pytest.mark.parametrize(
    ("file", "changes", "kind", "devices"),
    [
        ("alerts/deadlock.yml", {}, "deadlock", {"s1", "s2", "s3", "s4"}),
        ("alerts/spine-crash.yml", {}, "switch-hang", {"spine1"}),
        ("alerts/arp-flood.yml", {}, "arp-flood", {"leaf1", "leaf2", "leaf3", "leaf4"}),
        ("alerts/cnp-ignored.yml", {"run": {"duration": "8ms", "stop": "duration"}}, "cc-off", {"leaf1"}),
        ("alerts/storm-flapping.yml", {}, "watchdog-flapping", {"host1"}),
        ("alerts/pfc-off.yml", {}, "lossy-overload", {"leaf1"}),
        ("alerts/straggler.yml", {}, "straggler", {"train"}),
        ("polarised.yml", {}, "polarised", {"p1-spine1", "p2-spine1", "p2-spine4"}),
        ("vxlan-mtu.yml", {}, "mtu", {"leaf1"}),
        ("tenant-leaf-crash.yml", {}, "switch-down", {"leaf4"}),
    ],
)
@pytest.mark.slow
def test_shipped_scenarios(
    file: str, changes: Mapping[str, Any], kind: str, devices: set[str], diagnosed: Diagnose
) -> None:
    data = yaml.safe_load((_ROOT / "scenarios" / file).read_text(encoding="utf-8"))
    found = _first(kind, diagnosed(data | changes))
    assert found.device in devices


@pytest.mark.parametrize("file", ["permutation.yml", "websearch.yml", "nearly-slow-receiver.yml", "arp-suppressed.yml"])
@pytest.mark.slow
def test_healthy_fabrics_have_no_root(file: str, diagnosed: Diagnose) -> None:
    data = yaml.safe_load((_ROOT / "scenarios/alerts" / file).read_text(encoding="utf-8"))
    assert [it for it in diagnosed(data) if it.rank < 2] == []


_TENANT = {1, 5, 9, 13, 14}


@pytest.mark.parametrize("direction", ["export", "import"])
def test_evpn_routes_that_a_policy_rejects_from_the_start_are_the_root_and_not_their_victims(
    direction: str, diagnosed: Diagnose
) -> None:
    data = scenario(
        {
            "kind": "route-policy",
            "switch": "leaf4",
            "direction": direction,
            "rules": [{"match": {"family": "evpn"}, "accept": False}],
            "at": "0s",
        },
        routing="bgp",
        bgp={"update_delay": "200us", "fib_delay": "100us"},
        vxlan={
            "tenants": [
                {
                    "name": "training",
                    "l3_vni": 50010,
                    "segments": [{"name": "gpu", "vni": 10010, "hosts": ["host1", "host5", "host9"]}],
                    "routed": ["host13", "host14"],
                },
                {"name": "other", "vni": 10030, "hosts": [f"host{it}" for it in range(1, 17) if it not in _TENANT]},
            ]
        },
        workload=[
            {
                "kind": "messages",
                "messages": [
                    {"src": "host1", "dst": "host13", "size": "1MB", "start": "1ms"},
                    {"src": "host14", "dst": "host5", "size": "1MB", "start": "1ms"},
                ],
            }
        ],
        telemetry={"interval": "200us", "events": []},
        run={"duration": "3ms", "stop": "duration"},
    )
    roots = diagnosed(data)
    assert [(it.kind, it.device) for it in roots if it.rank < 2] == [(Kind.EVPN_LOSS, "leaf4")]
    [root] = [it for it in roots if it.kind is Kind.EVPN_LOSS]
    assert root.members == (("leaf1", "leaf2") if direction == "export" else ())
    assert "packets had no next hop at " in root.evidence[0]


def moved(*counts: tuple[str, str, int]) -> list[Root]:
    """Roots of a control plane of which only moves of MAC addresses are known: (device, VNI, moves)."""

    def series(metric: str, **_: str) -> Iterator[tuple[dict[str, str], NDArray[np.float64]]]:
        if metric == "fabric_evpn_mac_moves_total":
            yield from (({"device": it, "vni": vni}, np.array([0.0, number])) for it, vni, number in counts)

    view = SimpleNamespace(
        series=series, drops=lambda _: {}, size=2, span=lambda _: (0, 1), fabric=SimpleNamespace(hosts=())
    )
    return list(control_roots(cast("Any", view), frozenset()))


def test_the_leaf_whose_hosts_left_is_the_root_of_lost_routes_and_of_what_is_lost_meanwhile(
    diagnosed: Diagnose,
) -> None:
    data = yaml.safe_load((_ROOT / "scenarios/drills/evpn-loss.yml").read_text(encoding="utf-8"))
    leave = {"kind": "host-leave", "hosts": ["host5", "host6", "host7", "host8"], "at": "4ms"}
    found = diagnosed(data | {"faults": [leave]})
    roots = [it for it in found if it.kind in {Kind.EVPN_LOSS, Kind.BLACK_HOLE, Kind.BGP_DOWN, Kind.MAC_MOVE}]
    assert [(it.kind, it.device) for it in roots] == [(Kind.EVPN_LOSS, "leaf2")]
    assert {"spine1", "leaf1"} <= roots[0].devices


def test_a_queue_has_caused_the_xoffs_of_its_switch_that_its_paused_time_is_of_all() -> None:
    sides = {0: "spine1", 1: "spine1", 2: "spine1", 3: "spine2"}
    view = cast(
        "View",
        SimpleNamespace(
            size=2, device=sides.__getitem__, xoffs={(2, 3): np.array([60.0, 8.0]), (2, 4): np.array([9.0, 9.0]),
                                                     (3, 3): np.array([5.0, 5.0])},
        ),
    )  # fmt: skip
    one, other, far = (
        Origin((port, 3), is_host=False, paused_s=np.array(paused))
        for port, paused in ((0, [1.0, 0.0]), (1, [3.0, 2.0]), (3, [9.0, 9.0]))
    )
    found = Waits([one, other, far], {})
    assert queues._caused(view, one, found).tolist() == [15.0, 0.0]
    assert queues._caused(view, other, found).tolist() == [45.0, 8.0]
    assert queues._caused(view, far, found).tolist() == [5.0, 5.0]


def test_moves_of_addresses_of_several_vnis_are_not_those_of_one() -> None:
    assert moved(("leaf1", "10", 4), ("leaf1", "20", 4), ("leaf2", "10", 3)) == []
    [root] = moved(("leaf1", "10", 4), ("leaf1", "20", 5))
    assert (root.kind, root.device, root.evidence) == (Kind.MAC_MOVE, "leaf1", ("5 moves of MAC addresses in VNI 20",))
