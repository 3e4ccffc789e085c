"""CONFIG_DB files: what is read, what is reported as not understood, what the switch would add itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fabric.configs.model import Device, Leaf
from fabric.configs.network import Network
from fabric.configs.sonic.buffermgr import add_run_time_buffers
from fabric.configs.sonic.parse import parse_sonic
from fabric.configs.sonic.pgtable import HeadroomTables, parse_table
from fabric.configs.sonic.rows import Rows
from fabric.configs.sonic.shape import READ
from fabric.configs.text.jsonfile import JsonText
from fabric.errors import InputErrors
from fabric.validate.runner import validate
from tests.mistakes import sonic

TABLE = parse_table("400000 40m 124928 37888 77824 0\n", "pg.ini")


def read(tables: dict[str, Any]) -> Device:
    return parse_sonic(JsonText(json.dumps(tables, indent=1), "leaf1.json"), "leaf1.json")


def one_port(**more: dict[str, Any]) -> dict[str, Any]:
    return {
        "PORT": {
            "Ethernet0": {"speed": "400000", "admin_status": "up", "mtu": "9100"},
            "Ethernet8": {"speed": "400000", "admin_status": "up"},
        },
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m"}},
        "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}},
        **more,
    }


def test_lists_and_ranges_in_keys_are_spread_over_ports_and_indices() -> None:
    device = read(
        one_port(
            BUFFER_PROFILE={"x": {"pool": "p"}},
            BUFFER_POOL={"p": {"type": "ingress"}},
            BUFFER_PG={"Ethernet0,Ethernet8|3-4": {"profile": "x"}},
        )
    )
    assert {name: sorted(port.groups) for name, port in device.ports.items()} == {
        "Ethernet0": [3, 4],
        "Ethernet8": [3, 4],
    }


def test_references_in_brackets_mean_the_same_as_plain_ones() -> None:
    device = read(
        one_port(
            BUFFER_PROFILE={"x": {"pool": "[BUFFER_POOL|p]", "size": "0"}},
            BUFFER_POOL={"p": {"type": "ingress", "mode": "dynamic", "size": "1000000"}},
            BUFFER_PG={"Ethernet0|3": {"profile": "[BUFFER_PROFILE|x]"}},
        )
    )
    assert device.ports["Ethernet0"].groups[3].profile == "x"
    assert device.profiles["x"].pool == "p"
    assert {it.check for it in device.defects} == {"R3"}


@pytest.mark.parametrize(
    ("tables", "check", "word"),
    [
        ({"BUFFER_PG": {"Ethernet0|3": {"profile": "nope"}}}, "R1", "nope"),
        ({"BUFFER_PG": {"Ethernet4|3": {"profile": "NULL"}}}, "R1", "Ethernet4"),
        ({"BUFFER_PG": {"Ethernet0|5-3": {"profile": "NULL"}}}, "R5", "5-3"),
        ({"BUFFER_PG": {"Ethernet0|0-999": {"profile": "NULL"}}}, "R5", "0-999"),
        ({"BUFFER_PG": {"Ethernet0": {"profile": "NULL"}}}, "R5", "port|index"),
        (
            {
                "BUFFER_PROFILE": {"x": {"pool": "p", "size": "0", "dynamic_th": "8"}},
                "BUFFER_POOL": {"p": {"type": "ingress", "mode": "dynamic", "size": "1000000"}},
            },
            "R5",
            "-8..7",
        ),
        ({"PFC_WD": {"Ethernet0": {"detection_time": "20"}}}, "R5", "100..5000"),
        ({"CABLE_LENGTH": {"AZURE": {"Ethernet0": "40"}}}, "R5", "40m"),
        ({"SCHEDULER": {"s": {"weight": 0}}}, "R5", "1..100"),
        ({"WRED_PROFILE": {"w": {"ecn": "ecn_some"}}}, "R5", "ecn_none"),
        ({"DSCP_TO_TC_MAP": {"m": {"64": "1"}}}, "R5", "64"),
    ],
)
def test_what_the_switch_would_refuse_is_a_defect(tables: dict[str, Any], check: str, word: str) -> None:
    defects = read({**one_port(), **tables}).defects
    assert [it.check for it in defects] == [check]
    assert word in defects[0].text + defects[0].object


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"PORT": 7}, "PORT is a number where a mapping of rows is needed"),
        ({"QUEUE": "x"}, "QUEUE is text where a mapping of rows is needed"),
        ({"ACL_RULE": []}, "ACL_RULE is a list where a mapping of rows is needed"),
        ({"WRED_PROFILE": {"w": []}}, "WRED_PROFILE|w is a list where a mapping of fields is needed"),
        ({"VNET": {"row": "x"}}, "VNET|row is text where a mapping of fields is needed"),
        ({"PORT|Ethernet0": 7}, "PORT|Ethernet0 is a number where a mapping of fields is needed"),
        ({"WRED_PROFILE": {"w": {"ecn": None}}}, "WRED_PROFILE|w|ecn is null where text is needed"),
        ({"PORT": {"Ethernet0": {"mtu": 9.1}}}, "PORT|Ethernet0|mtu is a fraction where text is needed"),
        ({"PORT": {"Ethernet0": {"mtu": [9100]}}}, "PORT|Ethernet0|mtu is a list where text is needed"),
        ({"DSCP_TO_TC_MAP": {"m": {"26": True}}}, "DSCP_TO_TC_MAP|m|26 is true or false where text is needed"),
        ({"CABLE_LENGTH": {"AZURE": {"Ethernet0": {}}}}, "CABLE_LENGTH|AZURE|Ethernet0 is a mapping where text"),
    ],
)
def test_a_file_of_another_form_is_one_error_with_place_field_and_remedy(tables: dict[str, Any], words: str) -> None:
    with pytest.raises(InputErrors) as error:
        read({**one_port(), **tables})
    (problem,) = error.value.problems
    assert words in problem.text
    assert re.search(r":\d+$", problem.path)
    assert problem.hint.startswith("write ")


@pytest.mark.parametrize(
    ("tables", "leaves"),
    [
        ({"bgpraw": "router bgp 65101\n"}, [(("bgpraw",), "router bgp 65101\n")]),
        ({"NOT_READ": ["a", 1]}, [(("NOT_READ",), '["a", 1]')]),
        ({"NOT_READ": {"row": "x", "next": {}}}, [(("NOT_READ", "row"), "x"), (("NOT_READ", "next"), "{}")]),
        ({"NOT_READ|row": 7}, [(("NOT_READ", "row"), "7")]),
        ({"NOT_READ": None}, [(("NOT_READ",), "null")]),
    ],
)
def test_a_table_that_is_not_read_may_have_any_form(tables: dict[str, Any], leaves: list[Leaf]) -> None:
    device = read({**one_port(), **tables})
    (unread,) = device.unread
    assert unread.what == f"table {next(iter(tables)).partition('|')[0]}"
    assert list(unread.leaves) == leaves
    assert not device.defects


def test_the_form_of_every_table_that_a_reader_asks_for_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    for name in ("raw", "keys"):
        original = getattr(Rows, name)
        monkeypatch.setattr(Rows, name, lambda rows, table, of=original: (asked.add(table), of(rows, table))[1])
    for tree in (tree for name, tree in sonic.good(loopbacks=True).items() if name.startswith("leaf")):
        read({**tree, "BGP_GLOBALS": {"default": {"local_asn": "65101"}}})
    assert len(asked) > 50
    assert asked <= READ


def test_numbers_lists_and_fields_that_are_not_read_are_as_config_load_takes_them() -> None:
    device = read(
        {
            **one_port(),
            "PORT": {"Ethernet0": {"lanes": ["0", "1"], "mtu": 9100, "speed": "400000"}},
            "FEATURE": {"bgp": {"has_global_scope": True}},
        }
    )
    assert not device.defects
    assert device.ports["Ethernet0"].mtu == 9100
    assert device.ports["Ethernet0"].lanes == 2


def test_two_profiles_on_one_group_are_a_defect_and_the_same_one_twice_is_not() -> None:
    profiles = {"a": {"pool": "p", "size": "0"}, "b": {"pool": "p", "size": "0"}}
    pool = {"p": {"type": "ingress", "mode": "dynamic", "size": "1000000"}}
    for second, expected in (("b", ["R4"]), ("a", [])):
        device = read(
            one_port(
                BUFFER_PROFILE=profiles,
                BUFFER_POOL=pool,
                BUFFER_PG={"Ethernet0|3-4": {"profile": "a"}, "Ethernet0|3": {"profile": second}},
            )
        )
        assert [it.check for it in device.defects] == expected


def test_unknown_tables_and_fields_are_listed_with_their_lines() -> None:
    tables = one_port(AAA={"x": {}}, BUFFER_POOL={"p": {"type": "ingress", "colour": "blue"}})
    device, lines = read(tables), json.dumps(tables, indent=1).splitlines()
    assert [it.what for it in device.unread] == ["field 'colour' of BUFFER_POOL", "table AAA"]
    assert [
        '"colour"' in lines[device.unread[0].place.line - 1],
        '"AAA"' in lines[device.unread[1].place.line - 1],
    ] == [True, True]


def test_a_place_is_the_line_of_the_field_or_of_what_holds_it() -> None:
    device = read(one_port())
    lines = json.dumps(one_port(), indent=1).splitlines()
    assert '"mtu"' in lines[device.place(("PORT", "Ethernet0", "mtu")).line - 1]
    assert '"Ethernet8"' in lines[device.place(("PORT", "Ethernet8", "mtu")).line - 1]


def test_elements_of_lists_have_lines_too() -> None:
    source = JsonText('{"links": [\n {"a": [1, [2]]},\n {"a": 1,\n  "b": 2}]}', "x.json")
    assert [source.line(("links", "0")), source.line(("links", "1")), source.line(("links", "1", "b"))] == [2, 3, 4]


def test_a_key_given_twice_is_found_with_both_lines() -> None:
    text = '{"PORT": {"Ethernet0": {"speed": "1000",\n"speed": "2000"}}}'
    device = parse_sonic(JsonText(text, "x.json"), "x.json")
    assert [(it.check, it.object) for it in device.defects] == [("R8", "PORT|Ethernet0|speed")]
    assert "lines 1 and 2" in device.defects[0].text


def test_the_switch_adds_the_lossless_groups_of_its_table() -> None:
    device = read(one_port())
    add_run_time_buffers(device, TABLE)
    profile = device.profile_of(device.ports["Ethernet0"].groups[3])
    assert profile is not None
    assert (profile.name, profile.xoff_bytes) == ("pg_lossless_400000_40m_profile", 77824)
    assert "pg.ini" in profile.derived
    assert not device.ports["Ethernet8"].groups


def test_a_cable_without_a_row_gets_no_lossless_group() -> None:
    device = read(one_port(CABLE_LENGTH={"AZURE": {"Ethernet0": "60m"}}))
    add_run_time_buffers(device, TABLE)
    assert device.ports["Ethernet0"].missing_row == (400_000, 60)
    assert not device.ports["Ethernet0"].groups


def test_a_profile_that_is_there_already_is_used_even_if_it_is_wrong() -> None:
    wrong = {"pool": "p", "xoff": "1", "size": "1", "xon": "0", "dynamic_th": "0"}
    device = read(
        one_port(BUFFER_POOL={"p": {"type": "ingress"}}, BUFFER_PROFILE={"pg_lossless_400000_40m_profile": wrong})
    )
    add_run_time_buffers(device, TABLE)
    profile = device.profile_of(device.ports["Ethernet0"].groups[4])
    assert profile is not None
    assert profile.xoff_bytes == 1


def test_without_a_table_the_headroom_is_unknown_not_absent() -> None:
    device = read(one_port())
    add_run_time_buffers(device, HeadroomTables().find("Force10-S6000", ""))
    assert device.ports["Ethernet0"].headroom_unknown
    assert device.ports["Ethernet0"].missing_row is None


def test_the_dynamic_model_computes_headroom_for_the_ports_own_mtu() -> None:
    tables = one_port(
        DEVICE_METADATA={"localhost": {"hwsku": "ACS-SN5600", "buffer_model": "dynamic"}},
        BUFFER_POOL={
            "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic"},
            "egress_lossless_pool": {"type": "egress", "mode": "dynamic", "size": "158229504"},
        },
        BUFFER_PG={"Ethernet0|3-4": {"profile": "NULL"}},
        LOSSLESS_TRAFFIC_PATTERN={"AZURE": {"mtu": "1024", "small_packet_percentage": "100"}},
    )
    device = read(tables)
    add_run_time_buffers(device, None)
    profile = device.profile_of(device.ports["Ethernet0"].groups[3])
    assert profile is not None
    assert profile.xoff_bytes == 283_648  # 400G, 40 m, MTU 9100: the worked example of the formula
    size = device.pools["ingress_lossless_pool"].size_bytes
    assert size is not None
    assert 0 < size < 158_229_504 - 2 * profile.size_bytes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"PORT": {"Ethernet0": {"speed"',
        "[1, 2]",
        "{}",
        '{"links": []}',
        "[" * 100_000,
        '{"PORT": ' + "9" * 5000 + "}",
        "\x00",
        "null",
        '"x"',
    ],
)
def test_a_file_that_is_no_config_db_is_one_clear_error(text: str) -> None:
    from fabric.configs.text.jsonfile import read_text

    with pytest.raises(InputErrors) as caught:
        parse_sonic(JsonText(read_text(text.encode(), "x.json"), "x.json"), "x.json")
    assert caught.value.problems[0].path.startswith("x.json")
    assert caught.value.problems[0].hint


@pytest.mark.vendor_files
def test_every_stock_configuration_is_read_without_a_defect_but_old_references(vendor_files: Path) -> None:
    for path in sorted([*vendor_files.glob("rendered/*.json"), *vendor_files.glob("full_config_db/*")]):
        if "dutQosConfig" in path.name:  # a test's dump, not a CONFIG_DB
            continue
        device = parse_sonic(JsonText(path.read_text(encoding="utf-8"), path.name), path.name)
        assert {it.check for it in device.defects} <= {"R3"}, path.name
        assert device.ports


@pytest.mark.parametrize(
    ("speed", "cable", "percent", "xoff"),
    [
        (25_000, 5, 50, 22_528),
        (100_000, 40, 50, 55_296),
        (200_000, 300, 50, 148_480),
        (400_000, 40, 50, 119_808),
        (800_000, 300, 50, 476_160),
        (25_000, 5, 100, 48_128),
        (400_000, 40, 100, 283_648),
        (800_000, 300, 100, 1_149_952),
    ],
)
def test_dynamic_headroom_is_what_the_switchs_own_script_computes(
    speed: int, cable: int, percent: int, xoff: int
) -> None:
    device = read(
        {
            "DEVICE_METADATA": {"localhost": {"hwsku": "ACS-SN5600", "buffer_model": "dynamic"}},
            "PORT": {"Ethernet0": {"speed": str(speed), "admin_status": "up", "lanes": "1,2,3,4,5,6,7,8"}},
            "CABLE_LENGTH": {"AZURE": {"Ethernet0": f"{cable}m"}},
            "BUFFER_PG": {"Ethernet0|3-4": {"profile": "NULL"}},
            "LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "1024", "small_packet_percentage": str(percent)}},
        }
    )
    add_run_time_buffers(device, None)
    profile = device.profile_of(device.ports["Ethernet0"].groups[3])
    assert profile is not None
    assert profile.xoff_bytes == xoff
    assert profile.xon_bytes == 2 * 19 * 1024  # eight lanes
    assert "computed by the switch" in profile.derived


def dynamic(**metadata: str) -> Device:
    device = read(
        {
            "DEVICE_METADATA": {"localhost": {"buffer_model": "dynamic", **metadata}},
            "PORT": {
                f"Ethernet{n}": {"speed": "400000", "admin_status": "up", "lanes": "1,2,3,4,5,6,7,8"} for n in (0, 8)
            },
            "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m", "Ethernet8": "40m"}},
            "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic"}},
            "BUFFER_PG": {"Ethernet0|3-4": {"profile": "NULL"}, "Ethernet8|3-4": {"profile": "NULL"}},
            "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}, "Ethernet8": {"pfc_enable": "3,4"}},
            "LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "1024", "small_packet_percentage": "50"}},
        }
    )
    add_run_time_buffers(device, None)
    return device


def test_tofino_has_a_pool_of_fixed_size_and_shared_headroom_per_port() -> None:
    pool = dynamic(hwsku="newport").pools["ingress_lossless_pool"]
    assert (pool.size_bytes, pool.shared_headroom_bytes) == (43_067_728, int(2 * 2 * 400 * 176 * 0.7))


def test_the_dynamic_model_of_an_unknown_chip_is_not_judged_and_says_what_to_do() -> None:
    device = dynamic(hwsku="DellEMC-Z9332f-O32")
    assert all(port.headroom_unknown for port in device.ports.values())
    found = list(validate(Network({device.name: device}), only={"H2", "M4"}).findings)
    assert [(it.check.id, it.severity.word) for it in found] == [("H2", "info")]
    assert "no formula of the dynamic model is published for 'DellEMC-Z9332f-O32'" in found[0].text
    assert "write its BUFFER_PROFILEs out" in found[0].text


def test_a_shared_headroom_pool_makes_the_private_part_small_without_an_oversubscription_ratio() -> None:
    tables = {
        "DEVICE_METADATA": {"localhost": {"buffer_model": "dynamic", "hwsku": "ACS-SN5600"}},
        "PORT": {"Ethernet0": {"speed": "400000", "admin_status": "up"}},
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m"}},
        "BUFFER_PG": {"Ethernet0|3": {"profile": "NULL"}},
        "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "xoff": "4000000"}},
    }
    device = read(tables)
    add_run_time_buffers(device, None)
    profile = device.profile_of(device.ports["Ethernet0"].groups[3])
    assert profile is not None
    assert profile.size_bytes == profile.xon_bytes < profile.xoff_bytes


POOL = {"p": {"type": "ingress", "mode": "dynamic", "size": "1000000"}}


@pytest.mark.parametrize(
    ("tables", "name", "word"),
    [
        ({"BUFFER_POOL": {"p": {"size": "5"}}}, "BUFFER_POOL|p", "no type and no mode"),
        (
            {"BUFFER_POOL": POOL, "BUFFER_PROFILE": {"x": {"size": "0", "dynamic_th": "0"}}},
            "BUFFER_PROFILE|x",
            "no pool",
        ),
        ({"PFC_WD": {"Ethernet0": {"action": "drop"}}}, "PFC_WD|Ethernet0", "no detection_time"),
        ({"SCHEDULER": {"s": {"type": "STRICT", "cir": "100", "pir": "50"}}}, "SCHEDULER|s", "pir 50 needs a cir"),
        ({"SCHEDULER": {"s": {"type": "STRICT", "pbs": "50"}}}, "SCHEDULER|s", "pbs 50 needs a cbs"),
        ({"BUFFER_POOL": {"p": {**POOL["p"], "size": "5", "percentage": "50"}}}, "BUFFER_POOL|p", "without size"),
        ({"WRED_PROFILE": {"w" * 33: {"ecn": "ecn_all"}}}, "WRED_PROFILE|" + "w" * 33, "33 characters"),
        (
            {"VXLAN_TUNNEL": {name: {"src_ip": "10.0.0.1"} for name in "abc"}},
            "VXLAN_TUNNEL",
            "3 rows, the switch takes 2",
        ),
        (
            {"PORT": {"Ethernet0": {"speed": "400000", "lanes": "1,2,3,4"}, "Ethernet8": {"lanes": "4,5"}}},
            "PORT|Ethernet8",
            "lane 4 is Ethernet0's already",
        ),
    ],
)
def test_what_yang_asks_for_beside_right_values_is_a_defect(tables: dict[str, Any], name: str, word: str) -> None:
    (defect,) = read({**one_port(), **tables}).defects
    assert (defect.check, defect.object) == ("R9", name)
    assert word in defect.text


def test_a_dynamic_headroom_profile_and_the_global_row_of_the_watchdog_need_less() -> None:
    device = read(
        one_port(
            BUFFER_POOL=POOL,
            BUFFER_PROFILE={"x": {"pool": "p", "headroom_type": "dynamic", "dynamic_th": "0"}},
            PFC_WD={"GLOBAL": {"POLL_INTERVAL": "200"}},
        )
    )
    assert not device.defects
