"""NVUE's carving, profiles of interfaces, and what `nv config show` folds: read, judged, nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network, parse_device
from fabric.configs.model import Curve, Device
from fabric.errors import InputErrors
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate

TEXT = """- header: {{model: SN5600}}
- set:
    system: {{hostname: leaf01}}
    qos:
      roce: {{enable: on, mode: lossless}}
      pfc:
        default-global: {{switch-priority: {{'3': {{}}}}, cable-length: 40, {pfc}}}
        off: {{tx: disable, rx: disable}}
      mapping: {{portwise: {{trust: port, port-default-sp: 3}}}}
      remark: {{default-global: {{rewrite: l2, switch-priority: {{'3': {{dscp: 0}}}}}},
               bleach: {{rewrite: l3, switch-priority: {{'3': {{dscp: 0}}}}}}}}
      egress-scheduler: {{heavy: {{traffic-class: {{'3': {{mode: dwrr, bw-percent: 80}}, '6': {{mode: strict}}}}}}}}
      congestion-control: {{late: {{traffic-class: {{'3': {{min-threshold: 9000000, max-threshold: 9900000}}}}}}}}
      traffic-pool: {{{pools}}}
      advance-buffer-config: {{default-global: {{{advanced}}}}}
    interface:
      swp1-3: {{link: {{mtu: 9216, speed: 400G, state: {{up: {{}}}}}}, qos: {{pfc-watchdog: {{}}}}, type: swp}}
      swp4s0-1: {{link: {{speed: 100G, state: down}}, qos: {{{port}}}}}
"""
POOLS = "roce-lossless: {memory-percent: 60}, default-lossy: {memory-percent: 40}"
ADVANCED = "ingress-lossless-buffer: {shared-alpha: alpha_1}, egress-lossless-buffer: {shared-alpha: alpha_infinity}"


def read(pfc: str = "tx: enable", pools: str = POOLS, advanced: str = ADVANCED, port: str = "") -> Device:
    return parse_device(TEXT.format(pfc=pfc, pools=pools, advanced=advanced, port=port), "leaf01.yaml")


def judged(tmp_path: Path, **more: str) -> set[tuple[str, str, str]]:
    text = TEXT.format(**{"pfc": "tx: enable", "pools": POOLS, "advanced": ADVANCED, "port": "", **more})
    (tmp_path / "leaf01.yaml").write_text(text, encoding="utf-8")
    network = load_network([tmp_path])
    network.devices["leaf01"].maps["dscp_to_tc"]["default-global"].entries.update(  # the macro's 24..31 is M8's
        dict.fromkeys((24, 25, 27, 28, 29, 30, 31), 0)
    )
    return {(it.check.id, it.object, it.text) for it in validate(network).findings if it.severity > Severity.INFO}


def test_a_class_written_as_a_number_is_read_and_judged_as_one_written_as_a_word(tmp_path: Path) -> None:
    def own(text: str) -> tuple[set[tuple[str, str, str]], list[str]]:
        (tmp_path / "leaf01.yaml").write_text(text, encoding="utf-8")
        network = load_network([tmp_path])
        found = validate(network).findings
        wheres = [it.where for it in network.devices["leaf01"].wreds.values()]
        assert all(isinstance(word, str) for where in wheres for word in where)
        return {(it.check.id, it.object, it.text) for it in found}, [str(it.evidence) for it in found]

    text = TEXT.format(pfc="tx: enable", pools=POOLS, advanced=ADVANCED, port="congestion-control: {profile: late}")
    late = "min-threshold: 9900000, max-threshold: 9000000"
    text = text.replace("min-threshold: 9000000, max-threshold: 9900000", late)
    text = text.replace("qos: {pfc-watchdog: {}}", "qos: {pfc-watchdog: {}, congestion-control: {profile: late}}")
    assert own(text) == own(text.replace("'3'", "3").replace("'6'", "6"))
    assert {"E1"} <= {check for check, _, _ in own(text)[0]}


def test_everything_in_the_sample_is_understood_and_ports_are_unfolded() -> None:
    device = read()
    assert not device.unread
    assert not device.defects
    assert list(device.ports) == ["swp1", "swp2", "swp3", "swp4s0", "swp4s1"]
    assert [port.admin_up for port in device.ports.values()] == [True] * 3 + [False] * 2
    assert [port.watchdog is not None for port in device.ports.values()] == [True] * 3 + [False] * 2


def test_a_traffic_pool_is_its_percentage_of_what_headroom_leaves() -> None:
    device = read()
    pool = device.pools["ingress-pool 1"]
    headroom = 3 * 96_520  # bound D of 400G, 40 m, MTU 9216
    assert pool.size_bytes == (158_229_504 - headroom) * 60 // 100
    profile = device.profile_of(device.ports["swp1"].groups[3])
    assert profile is not None
    assert (profile.pool, profile.dynamic_th, profile.lossless, profile.assumed) == ("ingress-pool 1", 0, True, True)


def test_headroom_that_is_stated_is_what_lies_above_the_threshold_in_the_port_buffer() -> None:
    device = read("port-buffer: 25000, xoff-threshold: 10000, xon-threshold: 2000")
    profile = device.profile_of(device.ports["swp1"].groups[3])
    assert profile is not None
    assert (profile.xoff_bytes, profile.size_bytes, profile.xon_bytes, profile.assumed) == (15_000, 25_000, 2000, False)


def test_a_port_takes_the_profiles_it_names_and_the_global_ones_for_the_rest() -> None:
    device = read(
        port="mapping: {profile: portwise}, remark: {profile: bleach}, egress-scheduler: {profile: heavy}, "
        "congestion-control: {profile: late}, pfc: {profile: off}"
    )
    own, other = device.ports["swp4s0"], device.ports["swp1"]
    dscp, usual = device.map_of(own, "dscp_to_tc"), device.map_of(other, "dscp_to_tc")
    assert dscp is not None
    assert usual is not None
    assert (set(dscp.entries.values()), usual.entries[26]) == ({3}, 3)
    remark = device.map_of(own, "tc_to_dscp")
    assert remark is not None
    assert remark.entries == {3: 0}
    assert device.schedulers[own.queues[3].scheduler or ""].weight == 80
    assert device.schedulers[other.queues[3].scheduler or ""].weight == 50
    assert device.wreds[own.queues[3].wred or ""].curve == Curve(9_000_000, 9_900_000, 100)
    assert (own.lossless, other.lossless) == (frozenset(), frozenset({3}))


@pytest.mark.parametrize("family", ["pfc", "mapping", "remark", "egress-scheduler", "congestion-control"])
def test_a_profile_that_is_not_there_is_a_dangling_reference(family: str) -> None:
    defects = read(port=f"{family}: {{profile: nope}}").defects
    assert {(item.check, item.object) for item in defects} == {("R1", f"interface.swp4s0-1.qos.{family}.profile")}


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"pools": "roce-lossless: {memory-percent: 70}, default-lossy: {memory-percent: 40}"}, "sums up to 110"),
        ({"pools": "roce-lossless: {memory-percent: 101}"}, "outside 0..100"),
        ({"pools": "roce-lossless: {memory-percent: 10}, default-lossless: {memory-percent: 10}"}, "one lossless pool"),
        ({"advanced": "ingress-lossless-buffer: {shared-alpha: alpha_3}"}, "none of alpha_0"),
        ({"advanced": "ingress-pool: {'3': {memory-percent: 1, mode: elastic}}"}, "none of static, dynamic"),
        ({"pools": "default-lossy: {memory-percent: 9, switch-priority: '9'}"}, "outside 0..7"),
    ],
)
def test_carving_that_nvue_refuses_is_a_defect(more: dict[str, str], word: str) -> None:
    defects = read(**more).defects
    assert defects
    assert all(item.check == "R5" for item in defects)
    assert any(word in item.text for item in defects)


def test_what_no_check_can_use_is_listed() -> None:
    device = read(pools=POOLS + ", gold: {memory-percent: 1}", advanced=ADVANCED + ", colour: {a: 1}")
    assert [item.what for item in device.unread] == [
        "qos.traffic-pool.gold with memory-percent",
        "qos.advance-buffer-config.default-global.colour with a",
    ]


def test_the_sample_is_clean_and_its_headroom_is_not_judged(tmp_path: Path) -> None:
    assert judged(tmp_path) == set()


def test_pfc_on_a_priority_that_a_lossy_pool_claims_is_found(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        pools="roce-lossless: {memory-percent: 50}, default-lossy: {memory-percent: 50, switch-priority: '0-7'}",
    )
    assert {(id_, object_) for id_, object_, _ in found} == {("M4", f"swp{n}|3") for n in (1, 2, 3)}


def test_headroom_of_a_few_frames_is_below_the_bounds(tmp_path: Path) -> None:
    found = judged(tmp_path, pfc="port-buffer: 25000, xoff-threshold: 10000, xon-threshold: 2000")
    assert {object_.split("|")[0] for id_, object_, text in found if id_ == "H1" and "bound A" in text} == {
        "swp1",
        "swp2",
        "swp3",
    }


def test_an_alpha_that_lets_one_group_take_all_is_found(tmp_path: Path) -> None:
    assert {id_ for id_, _, _ in judged(tmp_path, advanced="ingress-lossless-buffer: {shared-alpha: alpha_64}")} == {
        "B3"
    }


def test_an_egress_limit_below_the_pause_is_found(tmp_path: Path) -> None:
    found = judged(tmp_path, advanced=ADVANCED.replace("shared-alpha: alpha_infinity", "shared-bytes: 100000"))
    assert {id_ for id_, _, _ in found} >= {"B7"}


def test_an_interface_that_bleaches_the_dscp_is_found(tmp_path: Path) -> None:
    found = judged(tmp_path, port="remark: {profile: bleach}")
    assert found == set()  # the ports are down
    text = TEXT.format(pfc="tx: enable", pools=POOLS, advanced=ADVANCED, port="remark: {profile: bleach}")
    (tmp_path / "leaf01.yaml").write_text(text.replace("state: down", "state: up"), encoding="utf-8")
    ids = {(it.check.id, it.object) for it in validate(load_network([tmp_path])).findings if it.check.id == "M12"}
    assert ids == {("M12", "swp4s0"), ("M12", "swp4s1")}


def test_a_tunnel_that_sets_its_own_dscp_is_found(tmp_path: Path) -> None:
    text = TEXT.format(pfc="tx: enable", pools=POOLS, advanced=ADVANCED, port="") + (
        "    nve: {vxlan: {enable: on, source: {address: 10.0.0.1}, encapsulation: {dscp: {action: set, value: 0}}}}\n"
    )
    (tmp_path / "leaf01.yaml").write_text(text, encoding="utf-8")
    assert "T2" in {it.check.id for it in validate(load_network([tmp_path])).findings}


@pytest.mark.parametrize(
    ("tree", "place", "words"),
    [
        ("{qos: 7}", "leaf01.yaml:2", "qos is '7' where a mapping is needed"),
        ("{qos: {pfc: text}}", "leaf01.yaml:2", "qos.pfc is 'text' where a mapping is needed"),
    ],
)
def test_a_file_of_another_form_is_an_error_with_place_field_and_remedy(tree: str, place: str, words: str) -> None:
    with pytest.raises(InputErrors) as error:
        parse_device(f"- header: {{model: SN5600}}\n- set: {tree}\n", "leaf01.yaml")
    first = error.value.problems[0]
    assert (first.path, words in first.text, first.hint.startswith("write the settings of")) == (place, True, True)
