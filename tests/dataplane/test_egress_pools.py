"""Egress pools: sizes, limits of queues and ports, guarantees; against the arithmetic of dynamic thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.codes import DropReason
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario, compile_scenario
from fabric.scenario.load import build_scenario
from fabric.verify.conservation import check

US = 10**6
CELL = 254
"""Of the default chip."""
FRAME_CELLS = 5
"""1,024 B of payload make frames of 1,086 B: five cells."""
KB = 1000


def compiled(
    switches: dict[str, Any],
    *,
    receivers: tuple[str, ...] = ("host1",),
    priorities: tuple[int, ...] = (0,),
    pfc: str = "off",
    **sections: Any,  # noqa: ANN401
) -> CompiledScenario:
    """Six senders behind one switch, so that lossy traffic overloads every receiver's port."""
    messages = [
        {"src": f"host{3 + number % 6}", "dst": receiver, "size": "2MB", "priority": priority}
        for receiver in receivers
        for priority in priorities
        for number in range(6)
    ]
    raw = {
        "name": "egress",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 1,
            "spines": 1,
            "hosts_per_leaf": 8,
            "host_rate": "100G",
            "fabric_rate": "100G",
        },
        "transport": {"cc": "none", "mtu": "1024B", "retransmit_timeout": "off", "window": "off"},
        "pfc": pfc,
        "switches": {"ecn": "off", "scheduler": {6: "strict"}, **switches},
        "workload": [{"kind": "messages", "messages": messages}],
        "run": {"duration": "1ms"},
        **sections,
    }
    return compile_scenario(build_scenario(raw, Path("egress.yml")))


def simulated(result: CompiledScenario, until_us: int = 60, **options: Any) -> Emulator:  # noqa: ANN401  as Emulator's
    engine = Emulator(result.fabric, result.params, result.edits, **options)
    for moment in range(5, until_us + 1, 5):
        engine.advance(moment * US)
        assert not check(engine.state, engine.fabric, engine.now_ps)
        pools = engine.state.pools
        assert (pools["used_bytes"] <= pools["size_bytes"]).all() or not result.params.egress_detail
    return engine


def dropped(engine: Emulator) -> dict[str, int]:
    drops = engine.snapshot().drops["pkts"].sum(axis=(0, 1))
    return {reason.name: int(drops[reason]) for reason in DropReason if drops[reason]}


def pool(engine: Emulator, name: str, field: str) -> int:
    place = ["ingress", "egress_lossless", "egress_lossy"].index(name)
    return int(engine.state.pools[place][field])


def held(engine: Emulator, host: str, queue: int) -> int:
    """Bytes in cells that the queue towards a host holds."""
    port = engine.fabric.ports[engine.fabric.by_name[host].first_port].peer
    return int(engine.state.queues["use_bytes"][8 * port + queue])


def test_without_a_word_about_egress_nothing_is_accounted_in_detail() -> None:
    engine = simulated(compiled({}))
    assert not engine.state.config[0]["egress_detail"]
    assert not engine.state.queues["use_bytes"].any()


@pytest.mark.parametrize("dynamic_th", [-3, -1, 0, 1, 3])
def test_one_queue_alone_stops_where_its_limit_equals_the_free_pool(dynamic_th: int) -> None:
    """U = alpha (S - U), so U = S alpha / (1 + alpha), up to one frame."""
    size = 200 * KB
    engine = simulated(
        compiled({"egress_pools": {"lossy": f"{size}B"}, "egress": {"lossy": {"dynamic_th": dynamic_th}}})
    )
    alpha = 2.0**dynamic_th
    limit = size * alpha / (1 + alpha)
    frame = FRAME_CELLS * CELL
    assert limit - 2 * frame <= held(engine, "host1", 0) <= limit + frame * alpha / (1 + alpha)
    assert set(dropped(engine)) == {"EGRESS_THRESHOLD"}


def test_two_queues_share_by_the_formula_for_two() -> None:
    """U = S alpha / (1 + N alpha) each: with alpha 1 and two queues a third of the pool."""
    size = 300 * KB
    engine = simulated(
        compiled(
            {"egress_pools": {"lossy": f"{size}B"}, "egress": {"lossy": {"dynamic_th": 0}}},
            receivers=("host1", "host2"),
        )
    )
    for host in ("host1", "host2"):
        assert held(engine, host, 0) == pytest.approx(size / 3, abs=2 * FRAME_CELLS * CELL)


def test_a_full_pool_drops_packets_below_the_queues_limit_with_its_own_reason() -> None:
    engine = simulated(
        compiled(
            {"egress_pools": {"lossy": "100KB"}, "egress": {"lossy": {"static_th": "80KB"}}},
            receivers=("host1", "host2"),
        )
    )
    assert dropped(engine)["EGRESS_POOL"] > 0
    assert 100 * KB - FRAME_CELLS * CELL < pool(engine, "egress_lossy", "peak_bytes") <= 100 * KB
    alone = simulated(compiled({"egress_pools": {"lossy": "100KB"}, "egress": {"lossy": {"static_th": "80KB"}}}))
    assert set(dropped(alone)) == {"EGRESS_THRESHOLD"}
    assert pool(alone, "egress_lossy", "peak_bytes") <= 80 * KB


def test_a_ports_limit_bounds_all_its_queues_together_and_no_other_port() -> None:
    limits = {
        "egress_pools": {"lossy": "1MB"},
        "egress": {"lossy": {"static_th": "80KB"}, "port_lossy": {"static_th": "100KB"}},
    }
    engine = simulated(compiled(limits, receivers=("host1", "host2"), priorities=(0, 1)))
    for host in ("host1", "host2"):
        together = held(engine, host, 0) + held(engine, host, 1)
        assert 100 * KB - 6 * FRAME_CELLS * CELL < together <= 100 * KB
    assert dropped(engine)["EGRESS_PORT"] > 0
    assert int(engine.state.shares["peak_bytes"].max()) <= 100 * KB


def test_a_dynamic_limit_of_a_port_follows_the_free_pool() -> None:
    size = 300 * KB
    engine = simulated(
        compiled(
            {
                "egress_pools": {"lossy": f"{size}B"},
                "egress": {"lossy": {"static_th": "1MB"}, "port_lossy": {"dynamic_th": 0}},
            },
            priorities=(0, 1),
        )
    )
    together = held(engine, "host1", 0) + held(engine, "host1", 1)
    assert together == pytest.approx(size / 2, abs=2 * FRAME_CELLS * CELL)
    assert set(dropped(engine)) == {"EGRESS_PORT"}


def test_a_guarantee_is_used_first_and_never_by_others() -> None:
    """One queue fills the pool; the other still has its reserve."""
    reserved = 10 * FRAME_CELLS * CELL
    limits = {"egress_pools": {"lossy": "60KB"}, "egress": {"lossy": {"static_th": "60KB", "reserved": f"{reserved}B"}}}
    engine = simulated(compiled(limits, receivers=("host1", "host2")))
    shared = [max(held(engine, host, 0) - reserved, 0) for host in ("host1", "host2")]
    assert sum(shared) == pool(engine, "egress_lossy", "used_bytes") <= 60 * KB
    assert min(held(engine, host, 0) for host in ("host1", "host2")) >= reserved
    assert sum(held(engine, host, 0) for host in ("host1", "host2")) > 60 * KB


def test_lossless_packets_are_lost_at_egress_where_their_pool_is_too_small() -> None:
    """A known configuration error: an egress_lossless_pool smaller than the ingress admits."""
    fine = simulated(compiled({"egress_pools": {}}, pfc="on", priorities=(3,)))
    assert not dropped(fine)
    small = simulated(compiled({"egress_pools": {"lossless": "100KB"}}, pfc="on", priorities=(3,)))
    assert set(dropped(small)) == {"EGRESS_POOL"}
    assert small.snapshot().drops["pkts"][:, 3, DropReason.EGRESS_POOL].sum() == dropped(small)["EGRESS_POOL"]


def test_ports_may_have_limits_of_their_own() -> None:
    limits = {
        "egress_pools": {"lossy": "1MB"},
        "egress": {"lossy": {"static_th": "200KB"}},
        "overrides": [{"port": "leaf1:Ethernet0", "egress": {"lossy": {"static_th": "50KB"}}}],
    }
    engine = simulated(compiled(limits, receivers=("host1", "host2")))
    assert held(engine, "host1", 0) <= 50 * KB < held(engine, "host2", 0) <= 200 * KB


def test_pools_have_use_and_watermark_among_the_results() -> None:
    engine = simulated(compiled({"egress_pools": {"lossy": "100KB"}, "egress": {"lossy": {"static_th": "80KB"}}}), 30)
    now = engine.snapshot(reset_watermarks=True).pools[2]
    assert now["used_bytes"] > 0
    assert now["watermark_bytes"] >= now["used_bytes"]
    assert now["peak_bytes"] >= now["watermark_bytes"]
    assert int(engine.state.pools[2]["watermark_bytes"]) == int(engine.state.pools[2]["used_bytes"])


@pytest.mark.parametrize("options", [{"scheduler": "sequential"}, {"threads": 2}])
def test_the_result_does_not_depend_on_the_scheduler_and_threads(options: dict[str, Any]) -> None:
    result = compiled(
        {
            "egress_pools": {"lossy": "100KB", "lossless": "300KB"},
            "egress": {
                "lossy": {"dynamic_th": 1, "reserved": "3KB"},
                "port_lossy": {"dynamic_th": 2},
                "port_lossless": {"static_th": "200KB"},
            },
        },
        pfc="on",
        priorities=(0, 3),
        receivers=("host1", "host2"),
    )
    assert simulated(result, **options).digest() == simulated(result).digest()


@pytest.mark.parametrize(
    ("switches", "pfc", "words"),
    [
        ({"egress_pools": {"lossy": "1GB"}}, "off", "switches.egress_pools.lossy: leaf1: a pool of 1GB"),
        ({"egress": {"lossy": {"reserved": "5MB"}}}, "off", "switches.egress_pools.lossy: leaf1: .* reserves of"),
        (
            {"egress": {"lossy": {"dynamic_th": 1, "static_th": "1KB"}}},
            "off",
            "dynamic_th and static_th are both given",
        ),
        ({"egress": {"lossless": {"dynamic_th": 1}}}, "off", "egress.lossless: has no effect: no priority is lossless"),
        ({"egress_pools": {"lossless": "1MB"}}, "off", "egress_pools.lossless: has no effect"),
        ({"egress": {"port_lossy": {}}}, "on", "egress.port_lossy: has no effect without a limit"),
        ({"egress": {"lossy": {"dynamic_th": 9}}}, "on", "egress.lossy.dynamic_th: 9 is out of range"),
        ({"overrides": [{"port": "leaf1:*", "egress_pools": {"lossy": "1MB"}}]}, "on", "egress_pools: belongs to a"),
    ],
)
def test_bad_input_is_named_with_its_place(switches: dict[str, Any], pfc: str, words: str) -> None:
    with pytest.raises(InputErrors, match=words):
        compiled(switches, pfc=pfc)


@pytest.mark.parametrize(
    "switches",
    [
        {"egress_pools": {"lossless": "auto"}},
        {"egress_pools": {"lossless": "auto", "lossy": "auto"}},
        {"egress": {"lossless": None}},
    ],
)
def test_what_is_there_anyway_may_be_written_out_where_no_priority_is_lossless(switches: dict[str, Any]) -> None:
    compiled(switches, pfc="off")
