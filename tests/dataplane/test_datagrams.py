"""Datagrams without a transport: rate, sizes, marks, losses, and what they leave in the counters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabric.dataplane.engine.counters import Snapshot
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.host.datagrams import QUEUE_PKTS
from fabric.dataplane.state.codes import DropReason
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.verify import conservation

FABRIC = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 2,
    "hosts_per_leaf": 2,
    "host_rate": "100G",
    "fabric_rate": "100G",
}
END_PS = 10**9
PS_PER_BIT = 10
"""At 100 Gb/s."""


def load(**fields: Any) -> dict[str, Any]:  # noqa: ANN401  of the entry
    plain = {"kind": "datagrams", "senders": ["host1"], "receivers": ["host3"], "frame": "1000B"}
    if "rate" not in fields:
        plain["load"] = 1.0
    if "stop" not in fields:
        plain["count"] = 100
    return {**plain, **fields}


def tree(*workload: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401  sections
    return {
        "name": "datagrams",
        "topology": FABRIC,
        "workload": list(workload),
        "run": {"duration": "1ms", "stop": "duration"},
        **more,
    }


def simulated(raw: dict[str, Any], steps: int = 10, **options: Any) -> Emulator:  # noqa: ANN401  the emulator's own
    compiled = compile_scenario(build_scenario(raw, Path("datagrams.yml")))
    engine = Emulator(compiled.fabric, compiled.params, compiled.edits, **options)
    for share in range(1, steps + 1):
        engine.advance(share * END_PS // steps)
        assert conservation.check(engine.state, engine.fabric, engine.now_ps) == []
    return engine


def lost(now: Snapshot, reason: DropReason) -> int:
    return int(now.datagram_drops["pkts"][:, :, reason].sum())


def refusal(raw: dict[str, Any]) -> str:
    with pytest.raises(InputErrors) as caught:
        compile_scenario(build_scenario(raw, Path("datagrams.yml")))
    return str(caught.value)


@pytest.mark.parametrize("frame", [64, 65, 1518, 9234])
def test_datagrams_of_any_size_fill_a_port_at_its_rate_and_none_is_lost(frame: int) -> None:
    now = simulated(
        tree(load(frame=f"{frame}B"), hosts={"mtu": "9216B"}, switches={"mtu": "9216B"}), steps=1
    ).snapshot()
    port = int(now.streams["port"][0])
    assert now.rstreams["received_pkts"].tolist() == [100]
    assert now.ports["tx_bytes"][port] == 100 * frame
    spacing = now.rstreams["last_ps"] - now.rstreams["first_ps"]
    assert spacing.tolist() == [99 * (frame + 20) * 8 * PS_PER_BIT]
    assert now.finished


def test_parts_of_a_picosecond_add_up() -> None:
    now = simulated(tree(load(rate="7G", count=1000, frame="64B")), steps=1).snapshot()
    exact = 999 * 84 * 8 * 10**12 / 7e9
    assert abs(int(now.rstreams["last_ps"][0] - now.rstreams["first_ps"][0]) - exact) <= 1


def test_stop_is_the_end_of_the_stream_and_no_datagram_is_at_it() -> None:
    # 1250 B with preamble and gap take 100 ns at 100 Gb/s.
    for stop, count in (("1us", 10), ("1001ns", 11)):
        now = simulated(tree(load(frame="1230B", stop=stop)), steps=1).snapshot()
        assert now.streams["sent_pkts"].tolist() == [count], stop


def test_ecn_capable_datagrams_are_marked_and_others_dropped_by_wred() -> None:
    curve = {"kmin": "20KB", "kmax": "40KB", "pmax": 0.5}
    for ect in (True, False):
        entry = load(senders=["host1", "host2"], count=500, ect=ect, dscp=26)
        drops = {**curve, "drop_non_ect": not ect}
        now = simulated(tree(entry, switches={"ecn": drops}), steps=2).snapshot()
        marked, dropped = int(now.rstreams["marked_pkts"].sum()), lost(now, DropReason.WRED)
        assert (marked > 0, dropped > 0) == (ect, not ect)
        assert int(now.rstreams["received_pkts"].sum()) + dropped == 1000
        assert now.hosts["datagrams_marked"].sum() == marked


def test_losses_are_counted_by_place_class_and_reason_apart_from_those_of_rdma() -> None:
    entry = load(senders=["host1", "host2"], count=2000, dscp=0)
    small = {"buffer": {"lossy_dynamic_th": -4}, "memory": "500KB"}
    rdma = {"kind": "incast", "receiver": "host3", "senders": ["host1", "host2"], "size": "100KB", "priority": 0}
    raw = tree(entry, rdma, switches=small, pfc="off", transport={"cc": "none"})
    now = simulated(raw).snapshot()
    dropped = now.datagram_drops["pkts"]
    assert dropped.sum() > 0
    assert (dropped <= now.drops["pkts"]).all()
    assert now.drops["pkts"].sum() > dropped.sum()  # RDMA of the same class loses packets too
    assert set(np.nonzero(dropped)[1].tolist()) == {0}
    assert int(now.streams["sent_pkts"].sum() - now.rstreams["received_pkts"].sum()) == int(dropped.sum())


def test_a_frame_larger_than_the_mtu_behind_the_nic_is_lost_there() -> None:
    mtu = {"hosts": {"mtu": "9216B"}, "switches": {"mtu": "4500B"}}
    for frame, reason in (("4518B", 0), ("4519B", 100)):
        assert lost(simulated(tree(load(frame=frame), **mtu), steps=1).snapshot(), DropReason.MTU) == reason


def test_a_paused_sender_keeps_a_full_queue_and_refuses_the_rest() -> None:
    storm = {"kind": "pause-storm", "hosts": ["host3"], "at": "1us", "duration": "900us"}
    entry = load(dscp=26, count=8000, start="10us", frame="1000B")
    now = simulated(tree(entry, faults=[storm], switches={"memory": "4MB"}), steps=4).snapshot()
    refused = int(now.streams["refused_pkts"][0])
    assert refused > 0
    assert refused == now.hosts["datagrams_refused"].sum()
    assert refused + int(now.streams["sent_pkts"][0]) == 8000
    assert lost(now, DropReason.HEADROOM) == 0
    queue = now.queues[int(now.streams["port"][0]), int(now.streams["tc"][0])]
    assert queue["peak_bytes"] == QUEUE_PKTS * 1000


def test_a_slow_receiver_buffers_datagrams_and_loses_those_beyond_its_buffer() -> None:
    raw = tree(load(count=2000, dscp=0), hosts={"drain": "10G", "rx_buffer": "300KB"})
    now = simulated(raw, steps=4).snapshot()
    assert lost(now, DropReason.RX_BUFFER) > 0
    assert lost(now, DropReason.RX_BUFFER) == now.hosts["rx_discards"].sum()
    assert int(now.rstreams["received_pkts"][0]) + lost(now, DropReason.RX_BUFFER) == 2000


def test_an_overlay_carries_datagrams() -> None:
    now = simulated(tree(load(frame="1518B", ect=True), vxlan={}), steps=1).snapshot()
    assert now.rstreams["received_pkts"].tolist() == [100]
    assert now.segments["encap_pkts"].sum() == now.segments["decap_pkts"].sum() == 100


def test_threads_do_not_change_the_result() -> None:
    entry = load(senders=["host*"], receivers=["host[34]", "host[12]"], count=800, frame="64B", jitter="3us")
    entry["senders"], entry["receivers"] = ["host1", "host2", "host3"], ["host4"]
    digests = {simulated(tree(entry), steps=2, threads=threads).digest() for threads in (1, 2)}
    assert len(digests) == 1


def test_a_lost_cable_loses_datagrams_and_the_stream_goes_on() -> None:
    down = {"kind": "link-down", "link": "host1--leaf1", "at": "3us", "until": "6us"}
    now = simulated(tree(load(count=200), faults=[down]), steps=1).snapshot()
    assert lost(now, DropReason.LINK_DOWN) > 0
    assert int(now.rstreams["received_pkts"][0]) + lost(now, DropReason.LINK_DOWN) == 200


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"load": 0.5, "rate": "1G"}, "rate and load are both given, or neither"),
        ({"stop": "1us", "count": 3}, "count and stop are both given, or neither"),
        ({"start": "2us", "stop": "1us"}, "is before the last start"),
        ({"start": "2us", "stop": "2us"}, "no datagram would be sent"),
        ({"rate": "200G"}, "200G is more than host1:eth0 sends, 100G"),
        ({"frame": "63B"}, "64"),
        ({"frame": "9619B"}, "workload[0].frame"),
        ({"receivers": ["host1"]}, "'host1' would send to itself"),
        ({"receivers": ["host3", "host4"]}, "2 receivers for 1 senders"),
        ({"senders": ["hots1"]}, "did you mean 'host1'?"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_field(fields: dict[str, Any], words: str) -> None:
    assert words in refusal(tree(load(**fields)))


def test_ipv6_needs_larger_frames() -> None:
    assert "66 B" in refusal(tree(load(frame="64B"), transport={"ip": 6}))
    assert simulated(tree(load(frame="66B"), transport={"ip": 6}), steps=1).snapshot().finished


def test_silent_hosts_and_the_other_model_are_refused() -> None:
    silent = tree(load(), vxlan={"silent": ["host3"]}, routing="bgp")
    assert "'host3' is a silent host" in refusal(silent)
    assert "not part of model hpcc-ns3" in refusal({**tree(load()), "model": "hpcc-ns3"})


def test_drop_non_ect_has_an_effect_on_datagrams_only_where_some_are_not_ecn_capable() -> None:
    curve = {"switches": {"ecn": {"kmin": "1KB", "kmax": "2KB", "pmax": 0.5, "drop_non_ect": True}}}
    assert "every packet is ECN-capable" in refusal(tree(load(ect=True), **curve))
    compile_scenario(build_scenario(tree(load(), **curve), Path("datagrams.yml")))
