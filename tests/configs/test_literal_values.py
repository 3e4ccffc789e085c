"""Names and values are literal, as on the switch: blanks at an end and invisible characters are errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.cli.main import main
from fabric.configs.load import load_network, parse_device
from fabric.errors import InputErrors

PORTS: Final[dict[str, Any]] = {"Ethernet0": {"speed": "400000", "admin_status": "up"}}


def defects(tables: dict[str, Any]) -> list[tuple[str, str]]:
    return [(it.check, it.text) for it in parse_device(json.dumps({"PORT": PORTS, **tables}), "x.json").defects]


@pytest.mark.parametrize("name", ["leaf1 ", " leaf1", "leaf1\u00a0", "le\u200baf1", "leaf1\n"])
def test_a_name_that_is_not_what_it_looks_like_is_an_error(name: str) -> None:
    found = defects({"DEVICE_METADATA": {"localhost": {"hostname": name}}})
    assert [check for check, _ in found] == ["R5"]


def test_a_reference_with_a_blank_at_its_end_dangles() -> None:
    pool = {"p": {"type": "ingress", "mode": "dynamic", "size": "1000"}}
    profile = {"x": {"pool": "p ", "size": "0", "dynamic_th": "0"}}
    assert defects({"BUFFER_POOL": pool, "BUFFER_PROFILE": profile}) == [
        ("R1", "pool names BUFFER_POOL 'p ', which is not in the file")
    ]


@pytest.mark.parametrize("key", ["p ", "p\u00a0"])
def test_a_key_with_a_blank_is_an_error(key: str) -> None:
    (found,) = defects({"BUFFER_POOL": {key: {"type": "ingress", "mode": "dynamic", "size": "1000"}}})
    assert found[0] == "R5"


@pytest.mark.parametrize(("field", "value"), [("speed", "400000 "), ("mtu", " 9100"), ("admin_status", "up ")])
def test_a_number_or_word_with_a_blank_is_an_error(field: str, value: str) -> None:
    (found,) = defects({"PORT": {"Ethernet0": {"speed": "400000", field: value}}})
    assert found[0] == "R5"


def test_priorities_are_separated_by_commas_alone() -> None:
    (found,) = defects({"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3, 4"}}})
    assert found == ("R5", "pfc_enable '3, 4' is no list of priorities 0..7")


EOS: Final = "! device: leaf1 (DCS-7060X6-64PE, EOS-4.32.1F)\nhostname leaf1\n"


@pytest.mark.parametrize("blank", ["\u00a0", "\u2003", "\u200b"])
def test_a_line_of_a_running_config_with_another_blank_is_an_error(blank: str) -> None:
    device = parse_device(f"{EOS}qos profile ROCE{blank}\ninterface Ethernet1/1\n   service-profile ROCE\n", "x.cfg")
    assert {it.check for it in device.defects} == {"R1", "R5"}
    assert any(f"U+{ord(blank):04X}" in it.text for it in device.defects)


def test_words_for_people_may_hold_any_blank() -> None:
    device = parse_device(f"{EOS}interface Ethernet1/1\n   description to\u00a0host\n", "x.cfg")
    assert not device.defects


def test_line_numbers_count_line_feeds_alone() -> None:
    device = parse_device(f"{EOS}interface Ethernet1/1\n   description a\u2028b\x0bc\nfoo bar\n", "x.cfg")
    assert [it.place.line for it in device.unread] == [5]


@pytest.mark.parametrize("name", ["leaf1\u00a0", "leaf1 "])
def test_a_name_of_nvue_is_literal(name: str) -> None:
    device = parse_device(json.dumps({"set": {"system": {"hostname": name}}}), "x.json")
    assert [it.check for it in device.defects] == ["R5"]


def test_a_config_db_with_a_byte_order_mark_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "leaf1.json"
    file.write_text(json.dumps({"PORT": PORTS}), encoding="utf-8-sig")
    with pytest.raises(InputErrors, match="byte order mark"):
        load_network([file])
    file.write_text(json.dumps({"PORT": PORTS}), encoding="utf-8")
    assert load_network([file]).devices


@pytest.mark.parametrize("style", ["text", "markdown", "html", "junit", "json", "sarif"])
def test_no_control_character_of_a_file_reaches_the_output(
    style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "x\x1b[31m\u202e\x07"
    tables = {
        "DEVICE_METADATA": {"localhost": {"hostname": evil, "region": evil}},
        "PORT": {evil: {"speed": evil, "alias": evil}},
        f"ACL_{evil}": {evil: {evil: evil}},
        "BUFFER_POOL": {evil: {evil: evil}},
    }
    (tmp_path / "leaf1.json").write_text(json.dumps(tables), encoding="utf-8")
    main(["validate", str(tmp_path), "--format", style, *(["--all"] if style == "text" else [])])
    out = capsys.readouterr()
    assert not {"\x1b", "\u202e", "\x07"} & set(out.out + out.err)


NVUE: Final = "nv set system hostname leaf1\n"


@pytest.mark.parametrize("number", ["6510\uff11", "65101x", "1.2.3"])
@pytest.mark.parametrize("language", ["sonic", "nvue"])
def test_an_as_number_is_written_in_plain_digits(number: str, language: str) -> None:
    if language == "sonic":
        tables = {"PORT": PORTS, "DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "bgp_asn": number}}}
        device = parse_device(json.dumps(tables), "x.json")
    else:
        device = parse_device(f"{NVUE}nv set router bgp autonomous-system '{number}'\n", "leaf1.txt")
    assert "R5" in {it.check for it in device.defects}


_CLASS: Final = {
    "nxos": "feature bgp\nclass-map type qos match-any RDMA\n  match dscp 26\npolicy-map type qos IN\n  class {name}\n"
    "    set qos-group 3\n",
    "eos": f"{EOS}class-map type qos match-any RDMA\n   match dscp 26\n!\npolicy-map type quality-of-service IN\n"
    "   class {name}\n      set traffic-class 3\n",
}


@pytest.mark.parametrize("language", _CLASS)
@pytest.mark.parametrize(("name", "number"), [("RDMA", 0), ("class-default", 0), ("rdma", 1), ("RDMA2", 1)])
def test_a_class_whose_class_map_is_not_in_the_file_is_a_mistake(language: str, name: str, number: int) -> None:
    device = parse_device(_CLASS[language].format(name=name), "x.cfg")
    assert [it.check for it in device.defects] == ["R1"] * number
