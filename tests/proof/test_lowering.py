"""A configuration as a scenario: every setting with its origin, and what cannot be expressed is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from broken_fabrics import Broken, every, nothing, put, written
from fabrics import HOSTS, switch

from fabric.configs.model import Device, Language, Port, Watchdog
from fabric.configs.text.jsonfile import FixedLines
from fabric.proof.cut import Cut, Cutter, NoCutError
from fabric.proof.lowering.lower import Lowering, lower
from fabric.proof.lowering.switch_rows import watchdog_of
from fabric.proof.recipe import scenario_of
from fabric.proof.recipes import chain
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import build_scenario
from fabric.validate.facts import Facts


def lowered(tmp_path: Path, change: Any = nothing, **more: Any) -> tuple[Cut, Lowering]:  # noqa: ANN401
    network = Broken("H1", "", change, **more).network(tmp_path)
    cut = Cutter(Facts(network)).chain("leaf1", "Ethernet16")
    return cut, lower(cut, 26)


def of_port(found: Lowering, port: str) -> dict[str, Any]:
    return next(it for it in found.sections["switches"]["overrides"] if it.get("port") == port)


def of_switch(found: Lowering, name: str) -> dict[str, Any]:
    return next(it for it in found.sections["switches"]["overrides"] if it.get("switch") == name)


def test_a_chain_has_the_hops_of_the_finding_and_hosts_at_its_ends(tmp_path: Path) -> None:
    cut, found = lowered(tmp_path)
    assert [hop.device for hop in cut.hops] == ["leaf2", "spine1", "leaf1"]
    assert (cut.hops[-1].enters, cut.senders, cut.receiver) == ("Ethernet16", ("host3",), "host1")
    assert len(found.sections["topology"]["nodes"]) == 5
    assert not cut.assumed


def test_a_chain_leaves_by_the_port_where_it_is_told_to(tmp_path: Path) -> None:
    network = Broken("H1", "", nothing).network(tmp_path)
    cut = Cutter(Facts(network)).chain("leaf1", "Ethernet16", enters=False)
    assert (cut.hops[0].device, cut.hops[0].leaves) == ("leaf1", "Ethernet16")


def test_a_peer_that_was_not_given_is_a_stand_in_and_said_so(tmp_path: Path) -> None:
    leaf = switch("leaf1", "1", "ToRRouter", {"Ethernet0": ("host1", "eth0"), "Ethernet8": ("core1", "Ethernet4")})
    network = written(tmp_path, {"leaf1": leaf}, HOSTS)
    cut = Cutter(Facts(network)).chain("leaf1", "Ethernet8")
    assert cut.senders == ("core1",)
    assert cut.assumed == ("core1 stands in for what is beyond leaf1 Ethernet8",)


def test_a_switch_with_one_port_has_no_chain(tmp_path: Path) -> None:
    network = written(tmp_path, {"leaf1": switch("leaf1", "1", "ToRRouter", {"Ethernet0": ("host1", "eth0")})}, HOSTS)
    with pytest.raises(NoCutError, match="no path leaves leaf1"):
        Cutter(Facts(network)).chain("leaf1", "Ethernet0")


def test_every_value_of_a_port_is_that_of_its_profile_with_file_and_line(tmp_path: Path) -> None:
    _, found = lowered(tmp_path)
    port = of_port(found, "leaf1:Ethernet16")
    assert port["buffer"]["headroom"] == "77824B"
    assert port["buffer"]["reserved"] == "47104B"  # NVIDIA, private headroom: size 124,928 less xoff
    assert port["ecn_by_queue"] == {"3": {"kmin": "400000B", "kmax": "1600000B", "pmax": 0.2}}
    assert port["ecn"] == "off"
    assert (port["lossless"], port["pfc_send"], port["pfc_honour"]) == ([3], [3], [3])
    assert port["scheduler"] == {"0": 50, "3": 50, "6": "strict"}
    assert found.origins["leaf1:Ethernet16 buffer.headroom"].endswith(".json:87")
    assert "assumed" in found.origins["leaf1:Ethernet16 response"]


_FOUR: Final = every(
    put("leaf1", "BUFFER_PROFILE", "four", pool="ingress_lossless_pool", xon="1000", xoff="50000", size="60000"),
    put("leaf1", "BUFFER_PROFILE", "four", static_th="300000"),
    put("leaf1", "BUFFER_PG", "Ethernet16|4", profile="four"),
    put("leaf1", "PORT_QOS_MAP", "Ethernet16", pfc_enable="3,4"),
)


def test_a_group_with_another_profile_has_its_own_values(tmp_path: Path) -> None:
    _, found = lowered(tmp_path, _FOUR)
    port = of_port(found, "leaf1:Ethernet16")
    assert port["lossless"] == [3, 4]
    assert port["buffer"]["dynamic_th"] == 0
    assert port["buffer_pg"]["4"]["headroom"] == "50000B"
    assert port["buffer_pg"]["4"]["static_th"] == "300000B"
    assert of_port(found, "leaf1:Ethernet0")["lossless"] == [3]
    assert found.origins["leaf1:Ethernet16 buffer_pg"].count(".json:") == 1


def test_lossy_groups_of_one_port_have_their_own_limits(tmp_path: Path) -> None:
    change = every(
        *(
            every(
                put("leaf1", "BUFFER_PROFILE", f"lossy{n}", pool="ingress_lossless_pool", dynamic_th=th, size="0"),
                put("leaf1", "BUFFER_PG", f"Ethernet16|{n}", profile=f"lossy{n}"),
            )
            for n, th in ((0, "3"), (1, "-1"))
        )
    )
    port = of_port(lowered(tmp_path, change)[1], "leaf1:Ethernet16")
    assert port["buffer"]["lossy_dynamic_th"] == 3
    assert port["buffer_pg"] == {"1": {"lossy_dynamic_th": -1}}


def test_each_queue_has_its_own_curve(tmp_path: Path) -> None:
    change = every(
        put("leaf1", "WRED_PROFILE", "V", ecn="ecn_all", green_min_threshold="1000", green_max_threshold="2000"),
        put("leaf1", "WRED_PROFILE", "V", green_drop_probability="1"),
        put("leaf1", "QUEUE", "Ethernet16|0", wred_profile="V"),
    )
    curves = of_port(lowered(tmp_path, change)[1], "leaf1:Ethernet16")["ecn_by_queue"]
    assert {queue: it["kmin"] for queue, it in curves.items()} == {"0": "1000B", "3": "400000B"}


def test_a_port_with_another_map_has_it(tmp_path: Path) -> None:
    change = every(
        put("leaf1", "DSCP_TO_TC_MAP", "N", _26="3", _48="5"),
        put("leaf1", "PORT_QOS_MAP", "Ethernet0", dscp_to_tc_map="N"),
    )
    _, found = lowered(tmp_path, change)  # data enters leaf1 by Ethernet16
    assert of_switch(found, "leaf1")["dscp_to_tc"]["48"] == 6
    assert of_port(found, "leaf1:Ethernet0")["dscp_to_tc"]["48"] == 5
    assert "dscp_to_tc" not in of_port(found, "leaf1:Ethernet16")


def test_asymmetric_pfc_obeys_every_priority_and_sends_those_it_is_set_to(tmp_path: Path) -> None:
    _, found = lowered(tmp_path, put("leaf1", "PORT", "Ethernet16", pfc_asym="on"))
    port = of_port(found, "leaf1:Ethernet16")
    assert (port["pfc_send"], port["pfc_honour"]) == ([3], [0, 1, 2, 3, 4, 5, 6, 7])
    assert found.not_lowered == []


def test_each_port_has_its_own_watchdog(tmp_path: Path) -> None:
    change = every(
        put("leaf1", "PFC_WD", "Ethernet16", detection_time="400", action="alert"),
        put("leaf1", "PORT_QOS_MAP", "Ethernet0", pfcwd_sw_enable=""),
    )
    _, found = lowered(tmp_path, change)  # data leaves leaf1 by Ethernet0
    assert of_switch(found, "leaf1")["watchdog"]["detection"] == "400ms"
    assert of_port(found, "leaf1:Ethernet0")["port_watchdog"] == "off"
    assert of_switch(found, "leaf2")["watchdog"]["detection"] == "200ms"
    assert "port_watchdog" not in of_port(found, "leaf2:Ethernet16")


def test_a_lossy_queue_has_its_own_limit(tmp_path: Path) -> None:
    change = every(
        put("leaf1", "BUFFER_POOL", "egress_lossy_pool", size="9000000", type="egress", mode="dynamic"),
        put("leaf1", "BUFFER_PROFILE", "q0", pool="egress_lossy_pool", size="1000", dynamic_th="1"),
        put("leaf1", "BUFFER_QUEUE", "Ethernet0|0", profile="q0"),
    )
    _, found = lowered(tmp_path, change)
    assert of_port(found, "leaf1:Ethernet0")["egress"] == {
        "lossless": {"dynamic_th": 7}, "lossy": {"dynamic_th": 1, "reserved": "1000B"}
    }  # fmt: skip
    assert of_switch(found, "leaf1")["egress_pools"] == {"lossless": "60817392B", "lossy": "9000000B"}


def test_a_rewritten_dscp_is_sorted_as_the_next_switch_sorts_it(tmp_path: Path) -> None:
    change = every(
        put("leaf2", "TC_TO_DSCP_MAP", "R", _3="10"),
        put("leaf2", "PORT_QOS_MAP", "Ethernet16", tc_to_dscp_map="R"),
        put("spine1", "DSCP_TO_TC_MAP", "M", _10="5"),
    )
    _, found = lowered(tmp_path, change)  # leaf2 -> spine1 -> leaf1
    sorted_as = {name: of_switch(found, name)["dscp_to_tc"]["26"] for name in ("leaf2", "spine1", "leaf1")}
    assert sorted_as == {"leaf2": 3, "spine1": 5, "leaf1": 0}
    assert any("tc_to_dscp of the switch before" in it for it in found.assumed)


def test_routes_of_a_cut_out_are_given_and_shortest_paths_without_any(tmp_path: Path) -> None:
    network = Broken("H1", "", nothing).network(tmp_path)
    cutter = Cutter(Facts(network))
    cut = cutter.routed("leaf1", "leaf2", ["leaf1", "spine1"])
    cut.routes["leaf1"] = {cut.receiver: ("Ethernet16",)}
    found = lower(cut, 26)
    assert found.sections["routing"] == "given"
    assert found.sections["routes"]["leaf1"] == {cut.receiver: ["Ethernet16"]}
    assert found.sections["routes"]["spine2"] == {cut.senders[0]: ["Ethernet8"]}
    assert cutter.nearer(cut, "leaf1", "leaf2") == ("Ethernet16", "Ethernet24")
    assert "routing" not in lower(cutter.chain("leaf1", "Ethernet16"), 26).sections


def test_a_host_with_link_wide_pause_has_no_pfc(tmp_path: Path) -> None:
    _, found = lowered(tmp_path, hosts={"global_pause": True})
    assert all(it["pfc_priorities"] == [] for it in found.sections["hosts"]["overrides"])


def test_with_the_big_red_switch_a_lossless_queue_holds_nothing(tmp_path: Path) -> None:
    _, found = lowered(tmp_path, put("leaf1", "PFC_WD", "GLOBAL", BIG_RED_SWITCH="enable"))
    assert of_port(found, "leaf1:Ethernet0")["egress"]["lossless"] == {"static_th": "0B"}


@pytest.mark.parametrize("change", [_FOUR, put("leaf1", "PORT", "Ethernet16", pfc_asym="on")])
def test_what_ports_have_for_themselves_compiles(tmp_path: Path, change: Any) -> None:  # noqa: ANN401
    cut, found = lowered(tmp_path, change)
    plan = chain.chain(cut, 26, "leaf1", "Ethernet16")
    compile_scenario(build_scenario(scenario_of(plan, found, "own"), Path("own.yml")))


def test_a_map_is_written_out_and_a_hole_is_class_0(tmp_path: Path) -> None:
    _, found = lowered(tmp_path, put("leaf1", "DSCP_TO_TC_MAP", "M", _26=None))
    table = of_switch(found, "leaf1")["dscp_to_tc"]
    assert len(table) == 64
    assert (table["26"], of_switch(found, "leaf2")["dscp_to_tc"]["26"]) == (0, 3)


def test_headroom_that_no_memory_backs_is_not_there(tmp_path: Path) -> None:
    _, found = lowered(tmp_path, put("leaf1", "BUFFER_PROFILE", "pg_lossless_400000_40m_profile", size="90000"))
    assert of_port(found, "leaf1:Ethernet16")["buffer"]["headroom"] == "52112B"
    assert any(it.startswith("leaf1:Ethernet16 buffer.headroom") for it in found.assumed)


def test_a_port_without_a_lossless_group_sends_no_pause(tmp_path: Path) -> None:
    _, found = lowered(tmp_path, lambda fabric: fabric["leaf1"]["BUFFER_PG"].pop("Ethernet16|3"))
    if of_port(found, "leaf1:Ethernet16")["pfc_send"]:  # the switch makes the group from its table
        _, found = lowered(
            tmp_path / "b",
            every(
                lambda fabric: fabric["leaf1"]["BUFFER_PG"].pop("Ethernet16|3"),
                put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="0m"),
            ),
        )
    port = of_port(found, "leaf1:Ethernet16")
    assert (port["lossless"], port["pfc_send"], port["pfc_honour"]) == ([], [], [3])
    assert port["buffer"]["headroom"] == "0B"


def test_the_cable_is_as_long_as_the_links_say_and_else_as_the_longer_end(tmp_path: Path) -> None:
    _, found = lowered(tmp_path, put("leaf1", "CABLE_LENGTH", "AZURE", Ethernet16="5m"))
    link = next(it for it in found.sections["topology"]["links"] if {it["a"], it["b"]} == {"spine1", "leaf1"})
    assert link["cable"] == "40m"
    assert any("spine1--leaf1 cable" in it for it in found.assumed)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("leaf1", "SCHEDULER", "data", pir="1000000", meter_type="packets"), "shaper of queue 3: in packets"),
        (
            every(
                put("leaf1", "BUFFER_PROFILE", "lossy", pool="ingress_lossless_pool", static_th="100000", size="0"),
                put("leaf1", "BUFFER_PG", "Ethernet16|0", profile="lossy"),
            ),
            "a lossy group with a static limit",
        ),
        (put("spine1", "PORT", "Ethernet8", speed="200000"), "such a link stays down"),
        (put("leaf1", "WRED_PROFILE", "W", ecn="ecn_none"), "drops instead of marking"),
    ],
)
def test_what_a_scenario_cannot_say_is_listed(tmp_path: Path, change: Any, words: str) -> None:  # noqa: ANN401
    _, found = lowered(tmp_path, change)
    assert any(words in it for it in found.not_lowered)


def test_hosts_have_their_own_settings_and_a_tag_that_is_trusted_means_no_class_with_pfc(tmp_path: Path) -> None:
    _, found = lowered(tmp_path, hosts={"trust": "pcp", "rdma_timeout": 10, "rdma_retries": 3})
    assert all(it["pfc_priorities"] == [] for it in found.sections["hosts"]["overrides"])
    transport = found.sections["transport"]
    assert (transport["retransmit_timeout"], transport["retries"]) == (f"{4096 << 10}ns", 3)


def test_a_congestion_control_is_lowered_if_scenarios_have_it(tmp_path: Path) -> None:
    _, found = lowered(tmp_path, hosts={"cc": "zero-touch"})
    assert any("zero-touch" in it for it in found.not_lowered)
    assert "cc" not in found.sections["transport"]
    for name in ("timely", "swift"):
        _, known = lowered(tmp_path, hosts={"cc": name})
        assert known.sections["transport"]["cc"] == name


def test_the_lowered_clean_fabric_compiles(tmp_path: Path) -> None:
    network = Broken("H1", "", nothing).network(tmp_path)
    cut = Cutter(Facts(network)).chain("leaf1", "Ethernet16")
    plan = chain.chain(cut, 26, "leaf1", "Ethernet16")
    case = compile_scenario(build_scenario(scenario_of(plan, lower(cut, 26), "clean"), Path("clean.yml")))
    assert {node.name for node in case.fabric.nodes} == {"host1", "host3", "leaf1", "leaf2", "spine1"}


def test_a_copy_of_a_cut_out_is_changed_alone(tmp_path: Path) -> None:
    cut, _ = lowered(tmp_path)
    other = cut.copied()
    other.network.devices["leaf1"].profiles["pg_lossless_400000_40m_profile"].xoff_bytes = 1
    assert cut.network.devices["leaf1"].profiles["pg_lossless_400000_40m_profile"].xoff_bytes == 77_824


@pytest.mark.parametrize(
    ("language", "stated_ms", "detection_ms", "poll"),
    [
        ("nxos", None, 100, "100ms"),  # multiplier 1 of the fixed poll
        ("sonic", None, 100, "100ms"),
        ("nvue", 100, 300, "100ms"),
        ("eos", None, 200, "100ms"),
        ("eos", None, 100, "50ms"),
        ("eos", 500, 200, "100ms"),  # shortened, not refused
        ("sonic", 200, 100, None),
        ("nxos", None, 50, None),
    ],
)
def test_a_watchdog_polls_as_stated_else_as_its_system(
    language: Language, stated_ms: int | None, detection_ms: int, poll: str | None
) -> None:
    port = Port("p1", ())
    port.watchdog, port.watched = Watchdog((), "drop", detection_ms, detection_ms), frozenset({3})
    device = Device("leaf1", "leaf1", language, FixedLines(), watchdog_poll_ms=stated_ms, ports={"p1": port})
    found = watchdog_of(device, port)
    assert (found["poll"] if isinstance(found, dict) else None) == poll
