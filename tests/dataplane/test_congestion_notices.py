"""Congestion notices: when a switch announces a queue to its neighbours, what they do then, and what it costs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
from test_load_balancing import compiled, ended, uplinks

from fabric import shipped
from fabric.cli.main import main
from fabric.dataplane.engine.driver import Emulator
from fabric.dataplane.state.compiled.jit import entry
from fabric.dataplane.state.types import State
from fabric.dataplane.switch import notice
from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.verify.conservation import check

SLOW: Final = [{"a": "leaf2", "b": "spine1", "rate": "25G"}]
"""A link behind a spine, of which the queues of the other leaf show nothing."""
LONG: Final = {"kind": "permutation", "size": "500KB", "shift": 4}
NOTICES: Final = {"load_balancing": "adaptive", "congestion_notices": "20KB"}
KB: Final = 1000


def run(switches: dict[str, Any], threads: int = 1) -> tuple[CompiledScenario, Emulator]:
    it = compiled(switches, {}, SLOW, LONG)
    return it, ended(it, threads)


@entry
def levels(state: State, waiting: int, threshold_bytes: int) -> int:
    return notice.level_of(waiting, threshold_bytes)


@entry
def renewed(state: State, device: int, port: int, waiting: int, now_ps: int) -> int:
    """So many bytes wait at a port; returns the frames that its switch has sent since."""
    state.ports[port]["nonempty"], state.queues[port * 8]["depth_bytes"] = 1, waiting
    before = 0
    for other in range(state.ports.shape[0]):
        before += int(state.ports[other]["tx_notice_pkts"])
    notice.renew(state, device, port, now_ps)
    sent = 0
    for other in range(state.ports.shape[0]):
        state.ports[other]["busy_until_ps"] = 0
        sent += int(state.ports[other]["tx_notice_pkts"])
    return sent - before


@entry
def behind(state: State, port: int, target: int, now_ps: int) -> int:
    return notice.behind_ps(state, port, target, now_ps)


def idle() -> tuple[CompiledScenario, State, int, int]:
    """Two leaves and four spines; spine1, and its port to leaf2."""
    it = compiled(NOTICES, {}, SLOW, LONG)
    spine, leaf = it.fabric.by_name["spine1"], it.fabric.by_name["leaf2"]
    [port] = [port for port in spine.ports if it.fabric.peer_of(port) is leaf]
    return it, Emulator(it.fabric, it.params, it.edits).state, int(spine.id), int(port)


def test_local_queues_do_not_show_a_slow_link_behind_a_spine_and_notices_do() -> None:
    (alone, without), (it, with_) = run({"load_balancing": "adaptive"}), run(NOTICES)
    even, avoided = uplinks(alone, without), uplinks(it, with_)
    assert min(even) > 0.95 * max(even)
    assert avoided[0] < 0.7 * min(avoided[1:])
    assert int(with_.state.queues["peak_bytes"].max()) < 0.7 * int(without.state.queues["peak_bytes"].max())
    ends = [int(engine.state.messages["end_ps"].max()) for engine in (without, with_)]
    assert ends[1] < 0.8 * ends[0]


def test_every_notice_is_received_and_takes_64_bytes_of_its_link_and_none_is_sent_to_hosts() -> None:
    it, engine = run(NOTICES)
    ports = engine.state.ports
    assert int(ports["tx_notice_pkts"].sum()) == int(ports["rx_notice_pkts"].sum()) > 0
    hosts = [int(port) for host in it.fabric.hosts for port in host.ports]
    assert not ports["tx_notice_pkts"][hosts].any()
    assert not ports["rx_notice_pkts"][hosts].any()
    assert not ports["tx_pause_pkts"].any()
    assert check(engine.state, it.fabric, engine.now_ps) == []


def test_without_notices_none_is_sent() -> None:
    _, engine = run({"load_balancing": "adaptive"})
    assert not engine.state.ports["tx_notice_pkts"].any()


def test_runs_with_notices_are_the_same_for_any_threads() -> None:
    assert len({run(NOTICES, threads)[1].digest() for threads in (1, 2, 3)}) == 1


@pytest.mark.parametrize(
    ("waiting", "level"),
    [(0, 0), (19_999, 0), (20_000, 1), (39_999, 1), (40_000, 2), (1_279_999, 6), (1_280_000, 7), (10**9, 7)],
)
def test_a_level_begins_at_the_threshold_and_at_each_doubling(waiting: int, level: int) -> None:
    assert levels(idle()[1], waiting, 20_000) == level


def test_a_rise_is_announced_at_once_and_a_fall_below_half_of_the_level() -> None:
    _, state, spine, port = idle()
    steps = [(19_999, 0), (20_000, 1), (39_999, 0), (40_000, 1), (20_000, 0), (19_999, 1), (10_000, 0), (9_999, 1)]
    assert [renewed(state, spine, port, waiting, 10**6) > 0 for waiting, _ in steps] == [sent > 0 for _, sent in steps]
    assert int(state.notices[port]["level"]) == 0


@pytest.mark.parametrize(("later_ps", "sent"), [(notice.HOLD_PS // 2 - 1, 0), (notice.HOLD_PS // 2, 1)])
def test_a_level_is_announced_again_after_half_of_the_time_for_which_it_counts(later_ps: int, sent: int) -> None:
    _, state, spine, port = idle()
    renewed(state, spine, port, 20_000, 10**6)
    assert renewed(state, spine, port, 20_000, 10**6 + later_ps) == sent


def noticed(state: State, it: CompiledScenario, port: int, drain_ps: int, until_ps: int) -> int:
    """leaf1 has received a notice about a port of spine1; returns its own port to spine1."""
    [own] = [own for own in it.fabric.by_name["leaf1"].ports if it.fabric.peer_of(own).name == "spine1"]
    row = int(state.notices[own]["first"]) + int(state.ports[port]["index"])
    state.noticed[row] = (drain_ps, until_ps)
    return int(own)


@pytest.mark.parametrize(("now_ps", "added_ps"), [(10**6, 77), (2 * 10**6, 77), (2 * 10**6 + 1, 0)])
def test_a_notice_counts_until_its_time_is_over(now_ps: int, added_ps: int) -> None:
    it, state, _, port = idle()
    own = noticed(state, it, port, 77, 2 * 10**6)
    target = int(it.fabric.by_name["host5"].id)
    assert behind(state, own, target, now_ps) == added_ps


def test_a_notice_does_not_count_for_hosts_that_the_neighbour_reaches_by_another_port() -> None:
    it, state, _, port = idle()
    own = noticed(state, it, port, 77, 2 * 10**6)
    assert behind(state, own, int(it.fabric.by_name["host1"].id), 10**6) == 0


@pytest.mark.parametrize(
    ("switches", "text"),
    [
        ({"congestion_notices": "100KB"}, "has no effect without load_balancing: adaptive or flowlet"),
        ({"load_balancing": "adaptive", "congestion_notices": "0B"}, "is 0"),
    ],
)
def test_notices_without_effect_are_refused(switches: dict[str, Any], text: str) -> None:
    with pytest.raises(InputErrors, match=text):
        compiled(switches)


def test_notices_are_refused_where_switches_tunnel(capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["switches.load_balancing=adaptive", "switches.congestion_notices=50KB"]
    words = (word for it in sets for word in ("--set", it))
    assert main(["scenario", "check", str(shipped.scenario(Path("tenant-routing"))), *words]) == 2
    refused = capsys.readouterr().err
    assert "switches.congestion_notices: does not work with vxlan" in " ".join(refused.split())
    assert "remove congestion_notices or vxlan" in refused


def path_shown(switches: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """`fabric path host1 host5` of the scenario of these tests."""
    rates = {"host_rate": "100G", "fabric_rate": "100G", "link_overrides": SLOW}
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 4, **rates}
    run_of = {"workload": [LONG], "run": {"duration": "1ms"}}
    raw = {"name": "notices", "topology": topology, "switches": switches, **run_of}
    (folder / "notices.yml").write_text(json.dumps(raw), encoding="utf-8")
    assert main(["path", "host1", "host5", str(folder / "notices.yml"), "--json"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("balance", ["adaptive", "flowlet"])
def test_the_view_of_a_path_names_the_queues_that_are_announced_to_a_switch(
    balance: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = path_shown({"load_balancing": balance, "congestion_notices": "20KB"}, tmp_path, capsys)
    assert re.search(r"leaf1 sends .* It receives notices .*: spine1:[^ ]+ \(20,000 bytes\), spine2:", shown)


def test_the_view_of_a_path_without_notices_names_the_rule_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = path_shown({"load_balancing": "adaptive"}, tmp_path, capsys)
    assert "leaf1 sends each packet to the port whose queues drain first." in shown
    assert "It receives notices" not in shown
