"""dataplane/switch: admission, XOFF and XON, marking, egress limits, tunnels, flowlets, TTL, MTU."""

from __future__ import annotations

import pytest

from fabric.dataplane.state.codes import DropReason, Ecn, EventKind, LoadBalance, Semantics
from fabric.dataplane.switch import admission, buffer, ecn, egress, egress_pool, forward, ttl, vtep
from tests.dataplane import worlds
from tests.edges.bench import AT, CLASS, US, Bench, Row


def lossless_group(bench: Bench, **fields: int) -> Row:
    """A lossless group with a static limit of 10,000 B and 3,000 B of headroom, in a pool with room."""
    group, pool = bench.group(), bench.ingress_pool()
    group["lossless"], group["limit_bytes"], group["xoff_bytes"], group["reserved_bytes"] = 1, 10_000, 3_000, 0
    group["xon_bytes"], group["xon_offset_bytes"] = 2_000, 4_000
    pool["size_bytes"], pool["headroom_size_bytes"] = 1_000_000, 0
    for name, value in fields.items():
        group[name] = value
    return group


def admit(bench: Bench, charged: int) -> int:
    return int(buffer.admit(bench.state, bench.port * 8 + CLASS, charged))


# ===== admission (rules 1 and 2 of switch/buffer) =====


@pytest.mark.parametrize(("charged", "shared", "headroom"), [(1000, 10_000, 0), (1001, 9_000, 1001)])
def test_a_group_fills_its_limit_to_the_byte_before_it_uses_headroom(
    bench: Bench, charged: int, shared: int, headroom: int
) -> None:
    group = lossless_group(bench, use_bytes=9_000)
    assert admit(bench, charged) == buffer.ADMITTED
    assert (group["use_bytes"], group["headroom_bytes"], group["admitted_pkts"]) == (shared, headroom, 1)


@pytest.mark.parametrize(("charged", "shared", "headroom"), [(1000, 2000, 0), (1001, 1000, 1001)])
def test_a_group_fills_its_pool_to_the_byte(bench: Bench, charged: int, shared: int, headroom: int) -> None:
    group, pool = lossless_group(bench, use_bytes=1000), bench.ingress_pool()
    pool["size_bytes"], pool["used_bytes"] = 5000, 4000
    assert admit(bench, charged) == buffer.ADMITTED
    assert (group["use_bytes"], group["headroom_bytes"]) == (shared, headroom)
    assert pool["used_bytes"] == (5000 if not headroom else 4000)


@pytest.mark.parametrize(("charged", "reason"), [(1000, buffer.ADMITTED), (1001, DropReason.INGRESS_THRESHOLD)])
def test_a_lossy_group_drops_beyond_its_limit(bench: Bench, charged: int, reason: int) -> None:
    group = lossless_group(bench, use_bytes=9_000, lossless=0)
    assert admit(bench, charged) == reason
    assert group["headroom_bytes"] == 0


@pytest.mark.parametrize(("charged", "reason"), [(1000, buffer.ADMITTED), (1001, DropReason.HEADROOM)])
def test_private_headroom_is_used_to_the_byte(bench: Bench, charged: int, reason: int) -> None:
    group = lossless_group(bench, use_bytes=10_000, headroom_bytes=2_000)
    assert admit(bench, charged) == reason
    assert group["headroom_bytes"] == (3_000 if reason == buffer.ADMITTED else 2_000)


@pytest.mark.parametrize(("charged", "reason"), [(500, buffer.ADMITTED), (501, DropReason.SHARED_HEADROOM_POOL)])
def test_shared_headroom_is_used_to_the_byte(bench: Bench, charged: int, reason: int) -> None:
    lossless_group(bench, use_bytes=10_000)
    pool = bench.ingress_pool()
    pool["headroom_size_bytes"], pool["headroom_used_bytes"] = 5000, 4500
    assert admit(bench, charged) == reason
    assert pool["headroom_used_bytes"] == (5000 if reason == buffer.ADMITTED else 4500)


def test_a_group_without_headroom_drops_with_its_own_reason(bench: Bench) -> None:
    lossless_group(bench, use_bytes=10_000, xoff_bytes=0)
    assert admit(bench, 1) == DropReason.NO_HEADROOM


@pytest.mark.parametrize(("charged", "use", "used"), [(1000, 1000, 0), (1001, 1001, 1), (1500, 1500, 500)])
def test_a_reserve_costs_the_pool_nothing_until_it_is_full(bench: Bench, charged: int, use: int, used: int) -> None:
    group = lossless_group(bench, reserved_bytes=1000)
    assert admit(bench, charged) == buffer.ADMITTED
    assert (group["use_bytes"], bench.ingress_pool()["used_bytes"]) == (use, used)
    assert buffer.shared_bytes(bench.state, bench.port * 8 + CLASS) == used


@pytest.mark.parametrize(("charged", "reason"), [(1000, buffer.ADMITTED), (1001, DropReason.NO_HEADROOM)])
def test_a_reserve_is_available_when_the_pool_is_used_up(bench: Bench, charged: int, reason: int) -> None:
    lossless_group(bench, reserved_bytes=1000, xoff_bytes=0)
    bench.ingress_pool()["used_bytes"] = bench.ingress_pool()["size_bytes"]
    assert admit(bench, charged) == reason


@pytest.mark.parametrize(("shift", "limit"), [(1, 8000), (0, 4000), (-1, 2000), (-2, 1000)])
def test_a_dynamic_limit_is_a_power_of_two_times_the_free_pool(bench: Bench, shift: int, limit: int) -> None:
    group = lossless_group(bench, limit_bytes=-1, shift=shift)
    bench.ingress_pool()["size_bytes"], bench.ingress_pool()["used_bytes"] = 9000, 5000
    assert buffer.limit_bytes(bench.state, bench.port * 8 + CLASS) == limit
    group["use_bytes"] = limit
    assert admit(bench, 1) == buffer.ADMITTED
    assert group["headroom_bytes"] == 1
    group["use_bytes"], group["headroom_bytes"] = limit - 1, 0
    assert admit(bench, 1) == buffer.ADMITTED
    assert group["headroom_bytes"] == 0


@pytest.mark.parametrize("limit", [0, -1])
def test_a_static_limit_of_0_is_not_a_dynamic_limit(bench: Bench, limit: int) -> None:
    lossless_group(bench, limit_bytes=limit, shift=0)
    assert buffer.limit_bytes(bench.state, bench.port * 8 + CLASS) == (0 if limit == 0 else 1_000_000)


@pytest.mark.parametrize(("charged", "reason"), [(3000, buffer.ADMITTED), (3001, DropReason.HEADROOM)])
def test_the_ns3_model_drops_a_packet_that_fits_entirely_in_neither_limit_nor_headroom(
    bench: Bench, charged: int, reason: int
) -> None:
    """SwitchMmu::CheckIngressAdmission there compares the packet with each alone; a reserve does not help it."""
    bench.config["semantics"] = Semantics.NS3_RDMA
    lossless_group(bench, reserved_bytes=9_999, limit_bytes=0)
    assert admit(bench, charged) == reason


@pytest.mark.parametrize(("limit", "reason"), [(3001, buffer.ADMITTED), (3000, DropReason.HEADROOM)])
def test_the_ns3_model_admits_packets_up_to_the_limit(bench: Bench, limit: int, reason: int) -> None:
    bench.config["semantics"] = Semantics.NS3_RDMA
    lossless_group(bench, limit_bytes=limit)
    assert admit(bench, 3001) == reason


# ===== XOFF and XON (rules 3 and 5) =====


@pytest.mark.parametrize(("use", "headroom", "sent"), [(10_000, 0, 1), (9_999, 0, 0), (9_999, 1, 1), (0, 1, 1)])
def test_xoff_is_sent_at_the_limit_or_when_headroom_is_in_use(bench: Bench, use: int, headroom: int, sent: int) -> None:
    group = lossless_group(bench, use_bytes=use, headroom_bytes=headroom)
    buffer.check_pause(bench.state, bench.switch, bench.port, bench.port * 8 + CLASS, AT)
    assert (group["xoff_sent"], bench.prio()["xoff_sent"], group["xoff_count"]) == (sent, sent, sent)
    buffer.check_pause(bench.state, bench.switch, bench.port, bench.port * 8 + CLASS, AT)
    assert group["xoff_count"] == sent, "a pause is asked for once"


@pytest.mark.parametrize(("use", "sent"), [(10_000, 1), (9_999, 0)])
def test_xoff_is_sent_at_the_limit_also_by_a_group_that_was_beyond_it_before(bench: Bench, use: int, sent: int) -> None:
    group = lossless_group(bench, use_bytes=use, least_margin_bytes=-5_000)
    buffer.check_pause(bench.state, bench.switch, bench.port, bench.port * 8 + CLASS, AT)
    assert group["xoff_sent"] == sent


@pytest.mark.parametrize(("lossless", "classes"), [(0, 1 << CLASS), (1, 0), (1, 1 << 4)])
def test_no_xoff_for_a_lossy_group_or_where_the_port_has_no_pfc(bench: Bench, lossless: int, classes: int) -> None:
    group = lossless_group(bench, use_bytes=10_000, lossless=lossless)
    bench.state.ports[bench.port]["pfc_classes"] = classes
    buffer.check_pause(bench.state, bench.switch, bench.port, bench.port * 8 + CLASS, AT)
    assert group["xoff_sent"] == 0


def test_the_least_distance_to_the_limit_is_recorded_with_the_limit_at_that_time(bench: Bench) -> None:
    group = lossless_group(bench, least_margin_bytes=5000)
    for use, limit, margin in ((6000, 10_000, 4000), (2000, 10_000, 4000), (4000, 8000, 4000), (4001, 8000, 3999)):
        group["use_bytes"], group["limit_bytes"] = use, limit
        buffer.check_pause(bench.state, bench.switch, bench.port, bench.port * 8 + CLASS, AT)
        assert group["least_margin_bytes"] == margin
    assert (group["peak_limit_bytes"], group["peak_share_ratio"]) == (8000, 4001 / 8000)


@pytest.mark.parametrize(
    ("use", "xon", "offset", "headroom", "resumed"),
    [
        (6000, 2000, 4000, 0, True),  # limit - offset is the higher level: at it, and a byte above
        (6001, 2000, 4000, 0, False),
        (2000, 2000, 9000, 0, True),  # xon is
        (2001, 2000, 9000, 0, False),
        (0, 0, 10_000, 0, True),
        (1, 0, 10_000, 0, False),
        (0, 2000, 4000, 1, False),  # headroom must be empty at any level
    ],
)
def test_xon_is_sent_at_the_higher_of_xon_and_limit_less_offset_to_the_byte(
    bench: Bench, use: int, xon: int, offset: int, headroom: int, *, resumed: bool
) -> None:
    group = lossless_group(bench, use_bytes=use, xon_bytes=xon, xon_offset_bytes=offset, headroom_bytes=headroom)
    group["xoff_sent"] = bench.prio()["xoff_sent"] = 1
    buffer.check_resume(bench.state, bench.switch, bench.port, bench.port * 8 + CLASS, 0, AT)
    assert bool(group["xoff_sent"]) is not resumed
    assert bench.prio()["tx_xon_pkts"] == resumed
    assert bench.logged(EventKind.RESUME_SENT) == resumed


@pytest.mark.parametrize(
    ("use", "limit", "resumed"), [(6000, 10_000, True), (6001, 10_000, False), (0, 1000, True), (1, 1000, False)]
)
def test_the_ns3_model_resumes_when_empty_or_an_offset_below_the_limit(
    bench: Bench, use: int, limit: int, *, resumed: bool
) -> None:
    bench.config["semantics"] = Semantics.NS3_RDMA
    group = lossless_group(bench, use_bytes=use, limit_bytes=limit, xon_bytes=9_000)
    group["xoff_sent"] = 1
    buffer.check_resume(bench.state, bench.switch, bench.port, bench.port * 8 + CLASS, 0, AT)
    assert bool(group["xoff_sent"]) is not resumed


def test_no_xon_where_no_xoff_was_sent(bench: Bench) -> None:
    lossless_group(bench)
    buffer.check_resume(bench.state, bench.switch, bench.port, bench.port * 8 + CLASS, 0, AT)
    assert bench.state.ports[bench.port]["tx_pause_pkts"] == 0


@pytest.mark.parametrize(
    ("charged", "headroom", "use", "used", "headroom_used"),
    [
        (500, 300, 4000, 3000, 4800),
        (800, 0, 4000, 3000, 4500),
        (1000, 0, 3800, 2800, 4500),
        (4800, 0, 0, 0, 4500),
        (4000, 0, 800, 0, 4500),
    ],
)
def test_a_departure_frees_headroom_first_then_shared_bytes_then_the_reserve(
    bench: Bench, charged: int, headroom: int, use: int, used: int, headroom_used: int
) -> None:
    group = lossless_group(bench, use_bytes=4000, headroom_bytes=800, reserved_bytes=1000)
    pool = bench.ingress_pool()
    pool["used_bytes"], pool["headroom_size_bytes"], pool["headroom_used_bytes"] = 3000, 10_000, 5300
    buffer.release_only(bench.state, bench.port * 8 + CLASS, charged)
    assert (group["headroom_bytes"], group["use_bytes"], pool["used_bytes"]) == (headroom, use, used)
    assert pool["headroom_used_bytes"] == headroom_used


def test_freed_private_headroom_is_added_to_no_pool(bench: Bench) -> None:
    group, pool = lossless_group(bench, use_bytes=4000, headroom_bytes=800), bench.ingress_pool()
    pool["used_bytes"] = 4000
    buffer.release_only(bench.state, bench.port * 8 + CLASS, 1000)
    assert (group["headroom_bytes"], group["use_bytes"]) == (0, 3800)
    assert (pool["used_bytes"], pool["headroom_used_bytes"]) == (3800, 0)


@pytest.mark.parametrize(("use", "limit"), [(4_000, 10_000), (4_001, 8_000)])
def test_of_equal_distances_to_the_limit_the_first_is_recorded(bench: Bench, use: int, limit: int) -> None:
    group = lossless_group(bench, use_bytes=use, headroom_bytes=1, least_margin_bytes=4_000, limit_bytes=8_000)
    group["peak_limit_bytes"] = 10_000
    buffer.check_pause(bench.state, bench.switch, bench.port, bench.port * 8 + CLASS, AT)
    assert group["peak_limit_bytes"] == limit


# ===== marking =====


@pytest.mark.parametrize(
    ("depth", "draw", "marked"),
    [
        (10_000, 0.0, False),
        (10_001, 0.0, True),
        (10_001, 0.0000199, True),  # 0.2 x 1 / 10,000
        (10_001, 0.00002, False),
        (15_000, 0.0999, True),
        (15_000, 0.1, False),
        (19_999, 0.2, False),
        (20_000, 0.9999, True),
        (20_001, 0.9999, True),
    ],
)
def test_the_marking_probability_rises_from_0_at_kmin_to_pmax_below_kmax_and_is_1_from_kmax(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, depth: int, draw: float, *, marked: bool
) -> None:
    monkeypatch.setattr("fabric.dataplane.state.rng.draw", lambda *_: draw)
    queue = bench.queue()
    queue["kmin_bytes"], queue["kmax_bytes"], queue["pmax_ratio"] = 10_000, 20_000, 0.2
    assert ecn.should_mark(bench.state, bench.switch, bench.port * 8 + CLASS, depth) is marked


@pytest.mark.parametrize(("depth", "marked"), [(9_999, False), (10_000, False), (10_001, True)])
def test_a_step_marks_above_its_threshold_only(bench: Bench, depth: int, *, marked: bool) -> None:
    """Kmin = Kmax, as DCTCP has it: marked if the queue is greater than K (Alizadeh et al., SIGCOMM 2010, 3.1)."""
    queue = bench.queue()
    queue["kmin_bytes"], queue["kmax_bytes"], queue["pmax_ratio"] = 10_000, 10_000, 1.0
    assert ecn.should_mark(bench.state, bench.switch, bench.port * 8 + CLASS, depth) is marked


@pytest.mark.parametrize(("depth", "marked"), [(20_000, False), (20_001, True)])
def test_the_ns3_model_marks_with_certainty_only_above_kmax(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, depth: int, *, marked: bool
) -> None:
    monkeypatch.setattr("fabric.dataplane.state.rng.draw", lambda *_: 0.5)
    bench.config["semantics"] = Semantics.NS3_RDMA
    queue = bench.queue()
    queue["kmin_bytes"], queue["kmax_bytes"], queue["pmax_ratio"] = 10_000, 20_000, 0.2
    assert ecn.should_mark(bench.state, bench.switch, bench.port * 8 + CLASS, depth) is marked


# ===== who may join a queue =====


def refusal(bench: Bench, size: int, **fields: int) -> int:
    return int(egress.refusal(bench.state, bench.switch, bench.port, CLASS, bench.packet(size=size, **fields)))


@pytest.mark.parametrize(("size", "reason"), [(1000, buffer.ADMITTED), (1001, DropReason.EGRESS_THRESHOLD)])
@pytest.mark.parametrize("dynamic", [True, False])
def test_a_queue_fills_its_limit_to_the_byte(bench: Bench, size: int, reason: int, *, dynamic: bool) -> None:
    queue = bench.queue()
    queue["depth_bytes"], queue["limit_bytes"], queue["shift"] = 4000, -1 if dynamic else 5000, -1
    pool = bench.state.pools[queue["pool"]]
    pool["size_bytes"], pool["used_bytes"] = 14_000, 4_000
    assert refusal(bench, size) == reason


def test_a_queue_with_limit_0_admits_no_packet(bench: Bench) -> None:
    bench.queue()["limit_bytes"], bench.queue()["shift"] = 0, 0
    assert refusal(bench, 100) == DropReason.EGRESS_THRESHOLD


def test_a_port_that_is_down_and_a_queue_in_storm_drop_packets_with_their_reasons(bench: Bench) -> None:
    port = bench.state.ports[bench.port]
    port["wd_dropping"] = 1 << 4
    assert refusal(bench, 100) == buffer.ADMITTED
    port["wd_dropping"] = 1 << CLASS
    assert refusal(bench, 100) == DropReason.WATCHDOG
    port["up"] = 0
    assert refusal(bench, 100) == DropReason.LINK_DOWN


@pytest.mark.parametrize(
    ("ecn_bits", "drops", "reason"),
    [(Ecn.NOT_ECT, 1, DropReason.WRED), (Ecn.ECT0, 1, buffer.ADMITTED), (Ecn.NOT_ECT, 0, buffer.ADMITTED)],
)
def test_only_a_packet_that_is_not_ecn_capable_is_dropped_by_wred(
    bench: Bench, ecn_bits: Ecn, drops: int, reason: int
) -> None:
    queue = bench.queue()
    queue["depth_bytes"], queue["kmin_bytes"], queue["kmax_bytes"], queue["drop_non_ect"] = 3000, 1000, 2000, drops
    assert refusal(bench, 100, ecn=ecn_bits) == reason


def in_detail(bench: Bench) -> Row:
    """A queue with a static limit of 5,000 B beyond its reserve of 1,000 B, whose port may use 8,000 B of the pool."""
    bench.config["egress_detail"] = 1
    queue = bench.queue()
    queue["limit_bytes"], queue["reserved_bytes"], queue["share"] = 5000, 1000, 0
    pool = bench.state.pools[queue["pool"]]
    pool["size_bytes"], pool["used_bytes"] = 100_000, 0
    return queue


@pytest.mark.parametrize(("size", "reason"), [(1000, buffer.ADMITTED), (1001, DropReason.EGRESS_THRESHOLD)])
def test_a_queue_with_egress_detail_fills_reserve_and_limit_to_the_byte(bench: Bench, size: int, reason: int) -> None:
    in_detail(bench)["use_bytes"] = 5000
    assert refusal(bench, size) == reason


@pytest.mark.parametrize(("limit", "found"), [(0, 0), (1, 1), (-1, 2000)])
def test_a_static_egress_limit_of_0_is_not_a_dynamic_limit(limit: int, found: int) -> None:
    assert egress_pool._limit(limit, 1000, 1) == found


def test_packets_in_a_queue_are_counted_and_a_flush_is_logged_once(bench: Bench) -> None:
    bench.state.ports[bench.out]["busy_until_ps"] = AT + US
    lossless_group(bench, use_bytes=2000)
    bench.ingress_pool()["used_bytes"] = 2000
    queue = bench.queue(bench.out)
    for size in (1000, 500):
        packet = bench.packet(size=size, charged=size)
        egress.enqueue(bench.state, bench.switch, bench.out, CLASS, packet, AT)
    assert (queue["depth_pkts"], queue["depth_bytes"], queue["peak_bytes"]) == (2, 1500, 1500)
    assert (queue["enqueued_pkts"], queue["enqueued_bytes"]) == (2, 1500)
    egress.flush_queue(bench.state, bench.switch, bench.out, CLASS, DropReason.LINK_DOWN, AT)
    assert (queue["depth_pkts"], queue["depth_bytes"], queue["head"], queue["tail"]) == (0, 0, 0, 0)
    assert (queue["dropped_pkts"], queue["flushed_pkts"], queue["flushed_bytes"]) == (2, 2, 1500)
    assert (bench.group()["use_bytes"], bench.ingress_pool()["used_bytes"]) == (500, 500)
    log = bench.emulator.drain_events()
    flushed = log[log["kind"] == EventKind.DROP]
    assert [(int(row["a"]), int(row["b"]), int(row["port"])) for row in flushed] == [(1500, 2, bench.out)]
    assert bench.drops() == {"LINK_DOWN": 2}


def test_the_flush_of_an_empty_queue_is_not_logged(bench: Bench) -> None:
    egress.flush_queue(bench.state, bench.switch, bench.port, CLASS, DropReason.LINK_DOWN, AT)
    assert bench.logged(EventKind.DROP) == 0


@pytest.mark.parametrize(("size", "reason"), [(1000, buffer.ADMITTED), (1001, DropReason.EGRESS_POOL)])
def test_an_egress_pool_is_filled_to_the_byte(bench: Bench, size: int, reason: int) -> None:
    queue = in_detail(bench)
    queue["use_bytes"] = 1000
    bench.state.pools[queue["pool"]]["used_bytes"] = 99_000
    assert refusal(bench, size) == reason


@pytest.mark.parametrize(("size", "reason"), [(1000, buffer.ADMITTED), (1001, DropReason.EGRESS_PORT)])
def test_a_ports_share_of_an_egress_pool_is_filled_to_the_byte(bench: Bench, size: int, reason: int) -> None:
    queue = in_detail(bench)
    queue["use_bytes"], queue["share"] = 1000, 1
    shares = bench.state.shares.copy()
    if len(shares) < 2:  # row 0 is unused
        shares = shares.repeat(2)
        bench.emulator.state = bench.state._replace(shares=shares)
    bench.state.shares[1]["limit_bytes"], bench.state.shares[1]["used_bytes"] = 8000, 7000
    assert refusal(bench, size) == reason


def test_a_queue_with_egress_detail_frees_the_bytes_that_it_charged(bench: Bench) -> None:
    queue = in_detail(bench)
    pool = bench.state.pools[queue["pool"]]
    row = bench.port * 8 + CLASS
    for size, use, used in ((600, 600, 0), (400, 1000, 0), (500, 1500, 500)):
        egress_pool.take(bench.state, row, size)
        assert (queue["use_bytes"], pool["used_bytes"], pool["peak_bytes"]) == (use, used, used)
    for size, use, used in ((500, 1000, 0), (400, 600, 0), (600, 0, 0)):
        egress_pool.give(bench.state, row, size)
        assert (queue["use_bytes"], pool["used_bytes"]) == (use, used)
    assert pool["peak_bytes"] == pool["watermark_bytes"] == 500


# ===== VXLAN =====


@pytest.mark.parametrize("inner", list(Ecn))
@pytest.mark.parametrize("outer", list(Ecn))
def test_ecn_at_the_end_of_a_tunnel_is_rfc_6040s_table(outer: Ecn, inner: Ecn) -> None:
    """Section 4.2, figure 4: CE outside makes an ECN-capable packet CE and drops another."""
    bench = Bench(worlds.World(leaves=1, hosts=3, vxlan=True))
    packet = bench.packet(ecn=outer, dscp=0, inner_tos=26 << 2 | inner, flags=4, size=1050)
    kept = vtep.decapsulate(bench.state, packet, 0)
    frame = bench.state.packets[packet]
    assert bool(kept) is not (outer == Ecn.CE and inner == Ecn.NOT_ECT)
    assert (frame["dscp"], frame["size"], frame["flags"]) == (26, 1000, 0)
    assert not kept or frame["ecn"] == (Ecn.CE if outer == Ecn.CE else inner)
    assert bench.state.segments[0]["decap_pkts"] == 1


@pytest.mark.parametrize(("copy", "outer"), [(1, Ecn.CE), (0, Ecn.NOT_ECT)])
def test_ecn_at_the_beginning_of_a_tunnel_is_copied_or_cleared(copy: int, outer: Ecn) -> None:
    """Section 4.1: normal mode and compatibility mode."""
    bench = Bench(worlds.World(leaves=1, hosts=3, vxlan=True))
    bench.config["vxlan_ecn_copy"] = copy
    packet = bench.packet(ecn=Ecn.CE, dscp=26, size=1000)
    vtep.encapsulate(bench.state, packet, 0)
    frame = bench.state.packets[packet]
    assert (frame["ecn"], frame["inner_tos"], frame["size"], frame["flags"]) == (outer, 26 << 2 | Ecn.CE, 1050, 4)
    assert frame["words"] >= 0xC000, "RFC 7348 section 5: a dynamic port"
    assert frame["ttl"] == 64


# ===== MTU, TTL, flowlets =====


@pytest.mark.parametrize(("over", "dropped"), [(0, {}), (1, {"MTU": 1})])
def test_a_frame_of_the_mtu_and_its_fcs_passes_and_a_byte_more_does_not(
    bench: Bench, over: int, dropped: dict[str, int]
) -> None:
    bench.state.ports[bench.out]["mtu_bytes"] = 1500
    packet = bench.packet(size=1504 + over)
    admission.admit(bench.state, bench.switch, bench.port, packet, bench.out, 1504 + over, AT)
    assert bench.drops() == dropped
    assert bench.state.ports[bench.out]["tx_pkts"] == (0 if over else 1)


@pytest.mark.parametrize(("before", "alive", "after"), [(0, False, 0), (1, False, 1), (2, True, 1), (64, True, 63)])
def test_a_packet_that_arrives_with_ttl_1_is_dropped(bench: Bench, before: int, after: int, *, alive: bool) -> None:
    packet = bench.packet(ttl=before)
    assert ttl.spend(bench.state, packet) is alive
    assert bench.state.packets[packet]["ttl"] == after


@pytest.fixture
def fan() -> Bench:
    """A leaf with two spines that moves flows after gaps of more than 5 us."""
    return Bench(worlds.World(leaves=2, spines=2, hosts=2, balance=LoadBalance.FLOWLET))


def test_a_next_hop_is_local_if_it_is_a_host_and_not_if_it_is_the_first_switch(fan: Bench) -> None:
    """The first switch has the number after the last host's."""
    leaf, spine = fan.fabric.switches[0].id, fan.fabric.by_name["spine0"].id
    assert leaf == len(fan.fabric.hosts)
    last = leaf - 1
    assert not forward.is_local(fan.state, forward.group_of(fan.state, spine, 0))
    assert forward.is_local(fan.state, forward.group_of(fan.state, leaf, 0))
    assert forward.is_local(fan.state, forward.group_of(fan.state, fan.fabric.by_name["leaf1"].id, last))


@pytest.mark.parametrize(("since_ps", "moves"), [(5 * US, False), (5 * US + 1, True)])
def test_a_flow_may_move_after_a_gap_longer_than_the_flowlet_gap(fan: Bench, since_ps: int, *, moves: bool) -> None:
    packet = fan.packet(dst=fan.fabric.hosts[3].id)
    group = forward.group_of(fan.state, fan.switch, fan.fabric.hosts[3].id)
    first = int(forward.choose(fan.state, fan.switch, packet, group, AT))
    fan.state.ports[first]["busy_until_ps"] = AT + 100 * US
    second = int(forward.choose(fan.state, fan.switch, packet, group, AT + since_ps))
    assert (second != first) is moves


@pytest.mark.parametrize(("other_bytes", "moves"), [(99_999, True), (100_000, False), (100_001, False)])
def test_a_new_flowlet_takes_the_port_that_is_free_first_and_its_previous_port_on_a_tie(
    fan: Bench, other_bytes: int, *, moves: bool
) -> None:
    packet = fan.packet(dst=fan.fabric.hosts[3].id)
    group = forward.group_of(fan.state, fan.switch, fan.fabric.hosts[3].id)
    row = fan.state.groups[group]
    ports = [int(fan.state.members[int(row["first"]) + k]["port"]) for k in range(2)]
    own = ports[forward.packet_hash(fan.state, fan.switch, packet) % 2]
    other = next(port for port in ports if port != own)
    # Over all classes, and a queue counts as long as it takes at the port's rate.
    fan.queue(own)["depth_bytes"], fan.queue(own, 7)["depth_bytes"] = 60_000, 40_000
    fan.queue(other)["depth_bytes"] = other_bytes
    assert (int(forward.choose(fan.state, fan.switch, packet, group, AT)) == other) is moves
