"""`nv unset` takes away what the lines before it set, and nothing that later lines set."""

from __future__ import annotations

import pytest

from fabric.configs.load import parse_device
from fabric.configs.model import Device

_BASE = """nv set system hostname leaf01
nv set interface swp1-4 type swp
nv set interface swp1-4 link speed 400G
nv set interface swp1-4 link mtu 9216
nv set qos roce enable on
"""


def read(more: str) -> Device:
    device = parse_device(_BASE + more, "leaf01.txt")
    assert not device.unread
    return device


@pytest.mark.parametrize(
    ("lines", "mtus"),
    [
        ("nv unset interface swp1-4 link mtu\n", [None] * 4),
        ("nv unset interface swp2 link mtu\nnv set interface swp2 link mtu 1500\n", [9216, 1500, 9216, 9216]),
        ("nv set interface swp3 link mtu 1500\nnv unset interface swp3 link mtu 1500\n", [9216, 9216, None, 9216]),
        ("nv unset interface swp2-3 link mtu\nnv set interface swp1-4 link mtu 4000\n", [4000] * 4),
    ],
)
def test_an_unset_value_is_gone_until_it_is_set_again(lines: str, mtus: list[int | None]) -> None:
    ports = read(lines).ports
    default = parse_device("nv set system hostname a\nnv set interface swp1 type swp\n", "a.txt").ports["swp1"].mtu
    expected = [default if it is None else it for it in mtus]
    assert [ports[f"swp{number}"].mtu for number in range(1, 5)] == expected


def test_an_unset_port_is_gone_and_the_others_of_its_range_stay() -> None:
    assert list(read("nv unset interface swp3\n").ports) == ["swp1", "swp2", "swp4"]


def test_an_unset_part_takes_all_below_it_along() -> None:
    assert read("nv set router bgp autonomous-system 65001\nnv unset router bgp\n").asn == ""
    assert not any(it.lossless for it in read("nv unset qos roce\n").ports.values())


def test_one_of_several_values_is_unset_alone() -> None:
    device = read("nv set interface bond1 bond member swp1\nnv set interface bond1 bond member swp2\n")
    assert [it.name for it in device.ports.values() if it.lag] == ["swp1", "swp2"]
    device = read(
        "nv set interface bond1 bond member swp1\nnv set interface bond1 bond member swp2\n"
        "nv unset interface bond1 bond member swp1\n"
    )
    assert [it.name for it in device.ports.values() if it.lag] == ["swp2"]


def test_a_line_after_the_unset_one_is_where_the_value_stands() -> None:
    device = read("nv unset interface swp1-4 link mtu\nnv set interface swp1-4 link mtu 9000\n")
    assert device.place(device.ports["swp1"].where, "link", "mtu").line == 7
