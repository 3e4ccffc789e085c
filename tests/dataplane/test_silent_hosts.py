"""Hosts that send nothing before they receive a packet: flooded, then learnt (RFC 7432 sections 10 to 12)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.controlplane.evpn.evpn_nlri import EVPN, key_of
from fabric.controlplane.network import events as e
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.engine.edits import UnknownMac
from fabric.dataplane.state.codes import DropReason
from fabric.errors import InputErrors
from fabric.forwarding.tables import changes, forwarding_at
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.verify import conservation
from tests.forked import UNCOMPILED, printed

MS = 10**9
KNOWN_MS = 3.15
"""The silent host receives its first packet after 1 ms; leaves elsewhere know it two hops of 1 ms and these delays
later."""
FAST = {
    "update_delay": "1ms",
    "fib_delay": "50us",
    "carrier_delay": "50us",
    "prune_delay": "20us",
    "learn_delay": "100us",
    "jitter": "off",
}
SIZE = 40 * 4096


def compiled(*work: dict[str, Any], silent: tuple[str, ...] = ("host5",), **more: Any) -> CompiledScenario:  # noqa: ANN401
    messages = [
        {"id": "first", "src": "host1", "dst": "host5", "size": f"{SIZE}B", "start": "1ms"},
        {"id": "known", "src": "host1", "dst": "host5", "size": f"{SIZE}B", "start": "6ms"},
    ]
    raw = {
        "name": "silent",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 3,
            "spines": 2,
            "hosts_per_leaf": 2,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "vxlan": {"silent": list(silent)},
        "routing": "bgp",
        "bgp": FAST,
        "workload": [{"kind": "messages", "messages": messages}, *work],
        "run": {"duration": "8ms", "stop": "duration"},
        **more,
    }
    return compile_scenario(
        build_scenario({key: value for key, value in raw.items() if value is not None}, Path("silent.yml"))
    )


def simulated(result: CompiledScenario, until_ms: float = 8, **options: Any) -> Emulator:  # noqa: ANN401  its own
    engine = Emulator(result.fabric, result.params, result.edits, reroute_delay_ps=result.reroute_delay_ps, **options)
    for share in range(1, 9):
        engine.advance(int(share * until_ms * MS / 8))
        assert conservation.check(engine.state, engine.fabric, engine.now_ps) == []
    return engine


def received(engine: Emulator) -> dict[str, int]:
    """Frames that arrived at each host."""
    return {host.name: int(engine.state.ports["rx_pkts"][host.first_port]) for host in engine.fabric.hosts}


def test_frames_for_a_silent_host_reach_every_port_of_the_vni_until_it_has_answered() -> None:
    engine = simulated(compiled(), until_ms=5)
    others = received(engine)
    # 40 packets of 4 KiB: to its own leaf's ports and by head-end replication to the others; host1 receives 40 ACKs.
    assert {name: others[name] for name in ("host2", "host3", "host4", "host5", "host6")} == dict.fromkeys(
        ("host2", "host3", "host4", "host5", "host6"), 40
    )
    assert others["host1"] == 40
    assert engine.state.segments["bum_sent_pkts"].sum() == 2 * 40
    assert engine.state.segments["bum_delivered_pkts"].sum() == 5 * 40


def test_a_leaf_with_few_ports_has_packet_rows_for_a_copy_to_every_vtep() -> None:
    leaves = {
        "kind": "leaf-spine",
        "leaves": 24,
        "spines": 1,
        "hosts_per_leaf": 1,
        "host_rate": "100G",
        "fabric_rate": "100G",
    }
    engine = simulated(compiled(topology=leaves), until_ms=5)  # checks conservation
    assert engine.state.segments["bum_sent_pkts"].sum() == 23 * 40


def test_frames_for_a_host_that_has_answered_reach_it_alone() -> None:
    before, after = received(simulated(compiled(), until_ms=5)), received(simulated(compiled(), until_ms=8))
    assert after["host5"] == before["host5"] + 40
    assert {name: after[name] - before[name] for name in ("host2", "host3", "host4", "host6")} == dict.fromkeys(
        ("host2", "host3", "host4", "host6"), 0
    )


def test_nothing_is_lost_and_both_messages_arrive() -> None:
    engine = simulated(compiled())
    assert engine.snapshot().drops["pkts"][:, :, DropReason.NO_ROUTE].sum() == 0
    assert engine.snapshot().drops["pkts"].sum() == 0
    assert engine.finished


def test_there_is_no_route_of_type_2_before_it_answers_and_one_without_an_address_then() -> None:
    result = compiled()
    assert result.control is not None
    guest = next(it for it in result.control.plan.endpoints if it.name == "host5")

    def routes(time_ms: float) -> list[str]:
        assert result.control is not None
        speaker = result.control.at(int(time_ms * 10**6)).switches[0].speaker
        return [key_of(key).text for keys, _ in speaker.loc_rib(EVPN) for key in keys if guest.mac in key_of(key).text]

    assert routes(0.9) == []
    assert routes(8) == [f"[2]:[0]:[48]:[{guest.mac}]"]  # no MAC+IP: it sent no gratuitous ARP
    [seen] = [event for event in result.control.events if isinstance(event, e.HostSeen)]
    assert (seen.time_ns, seen.arp, seen.mac) == (10**6, False, guest.mac)


def test_leaves_flood_for_it_until_bgp_has_advertised_it() -> None:
    result = compiled()
    edits = [
        (edit.time_ps / MS, result.fabric.nodes[edit.switch].name, edit.unknown)
        for edit in result.edits
        if isinstance(edit, UnknownMac)
    ]
    assert [it for it in edits if it[0] == 0] == [(0, leaf, True) for leaf in ("leaf1", "leaf2", "leaf3")]
    learnt = {leaf: time_ms for time_ms, leaf, unknown in edits if not unknown}
    assert learnt["leaf3"] == pytest.approx(1.1)
    assert learnt["leaf1"] == learnt["leaf2"] == pytest.approx(KNOWN_MS, abs=0.01)


def test_a_leaf_under_which_both_are_floods_too() -> None:
    engine = simulated(
        compiled(
            silent=("host2",),
            workload=[
                {
                    "kind": "messages",
                    "messages": [
                        {"src": "host1", "dst": "host2", "size": f"{SIZE}B", "start": "1ms"},
                        {"src": "host3", "dst": "host1", "size": "4KB", "start": "1ms"},
                    ],
                }
            ],
        ),
        until_ms=5,
    )
    assert received(engine)["host6"] == 40
    assert engine.finished


def test_arp_for_a_silent_host_is_never_suppressed() -> None:
    """From an ARP reply the leaf learns the MAC and no binding, so it floods every request, also later."""
    ask = {"kind": "arp", "hosts": ["host1"], "targets": ["host5"], "interval": "1ms", "stop": "8ms"}
    spoken = {"kind": "arp", "hosts": ["host1"], "targets": ["host4"], "interval": "1ms", "stop": "8ms"}
    segments = simulated(compiled(ask)).state.segments
    assert (segments["arp_flooded"].sum(), segments["arp_suppressed"].sum()) == (8, 0)
    segments = simulated(compiled(spoken)).state.segments
    assert (segments["arp_flooded"].sum(), segments["arp_suppressed"].sum()) == (0, 8)


def test_a_silent_host_that_sends_is_learnt_then() -> None:
    result = compiled(silent=("host1",))
    assert result.control is not None
    [seen] = [event for event in result.control.events if isinstance(event, e.HostSeen)]
    assert seen.time_ns == 10**6
    engine = simulated(result)
    assert engine.snapshot().drops["pkts"].sum() == 0
    assert engine.finished
    # ACKs come from a leaf that has not received its route by BGP yet, and are flooded as well.
    assert engine.state.segments["bum_sent_pkts"].sum() == 2 * 40


def test_path_and_tables_show_flooded_and_not_black_hole() -> None:
    result = compiled()
    timeline = changes(result.edits, result.fabric, result.params, None)
    leaf, host = result.fabric.by_name["leaf1"].id, result.fabric.by_name["host5"].id
    at = forwarding_at(result.fabric, result.params, timeline, MS // 2)
    assert (leaf, host) in at.unknown
    assert at.next_ports(leaf, host) == ()
    assert forwarding_at(result.fabric, result.params, timeline, 5 * MS).unknown == frozenset()


def test_a_fabric_without_silent_hosts_has_no_row_more() -> None:
    result = compiled(silent=(), vxlan={})
    assert not any(isinstance(edit, UnknownMac) for edit in result.edits)
    assert result.params.vxlan is not None
    assert not result.params.vxlan.tunnels


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"routing": "shortest-path", "bgp": None}, "has no effect without routing: bgp"),
        ({"silent": ("nobody",)}, "nobody"),
        (
            {
                "vxlan": {
                    "silent": ["host5"],
                    "tenants": [
                        {
                            "name": "red",
                            "l3_vni": 50,
                            "segments": [
                                {"name": "a", "vni": 10, "hosts": ["host[1-3]"]},
                                {"name": "b", "vni": 11, "hosts": ["host[4-6]"]},
                            ],
                        }
                    ],
                }
            },
            "it would ask for a silent host by ARP",
        ),
    ],
)
def test_silent_hosts_that_cannot_be_are_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(InputErrors, match=words) as caught:
        compiled(**changed)
    assert any("vxlan.silent" in problem.path for problem in caught.value.problems)


def test_compiled_and_plain_kernels_agree_about_floods() -> None:
    code = (
        "from tests.dataplane.test_silent_hosts import compiled, simulated; from fabric.dataplane.state.digest "
        "import digest; "
        "print(digest(simulated(compiled(), until_ms=3).state))"
    )
    assert printed(code) == printed(code, env=UNCOMPILED)
