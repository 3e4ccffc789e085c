"""Lines of EOS and NX-OS hold in their order, whatever their number, depth or length."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.configs.load import load_network, parse_device
from fabric.configs.model import Device
from fabric.errors import InputErrors
from fabric.validate.runner import validate

_EOS = "! device: leaf1 (DCS-7050CX3-32S, EOS-4.30.1F)\nhostname leaf1\n"
_NXOS = "feature bgp\nhostname leaf1\n"
_USE = "interface Ethernet1\n   ip access-group A in\n"
_HUGE = "9" * 5000


def eos(text: str) -> Device:
    return parse_device(_EOS + text, "leaf1.cfg")


def nxos(text: str) -> Device:
    return parse_device(_NXOS + text, "leaf1.cfg")


def test_a_block_after_no_of_it_begins_anew() -> None:
    old, new = "   10 permit ip any host 10.0.0.1\n", "   10 deny ip any any\n"
    device = eos(f"ip access-list A\n{old}no ip access-list A\nip access-list A\n{new}{_USE}")
    assert [rule.permit for rule in device.filters["A"].rules] == [False]
    device = eos("route-map A permit 10\n   match tag 1\nno route-map A\nroute-map A permit 10\n   match tag 2\n")
    assert [clause.tags for clause in device.identity.policies.route_maps["A"]] == [frozenset("2")]
    peer = "router bgp 65001\n   neighbor 10.0.0.{} remote-as 65002\n"
    device = eos(f"{peer.format(1)}no router bgp 65001\n{peer.format(2)}")
    assert [session.address for session in device.sessions] == ["10.0.0.2"]


def test_a_block_without_a_new_one_is_gone() -> None:
    device = eos(
        "ip access-list A\n   10 permit ip any any\nip access-list A\n   20 deny ip any any\n"
        f"no ip access-list A\n{_USE}"
    )
    assert "A" not in device.filters


@pytest.mark.parametrize(("reader", "name"), [(eos, "Ethernet{}"), (nxos, "Ethernet1/{}")])
def test_the_last_block_of_a_port_holds(reader: Callable[[str], Device], name: str) -> None:
    one, many = name.format(1), name.format("1-4")
    device = reader(f"interface {one}\n  description x\ninterface {many}\n  mtu 1600\ninterface {one}\n  mtu 9000\n")
    assert [port.mtu for port in device.ports.values()] == [9000, 1600, 1600, 1600]
    device = reader(f"interface {many}\n  mtu 1600\ninterface {one}\n  mtu 9000\ninterface {many}\n  mtu 9100\n")
    assert {port.mtu for port in device.ports.values()} == {9100}


def test_a_secondary_address_may_stand_in_a_later_block() -> None:
    first = "interface Ethernet1\n   no switchport\n   ip address 10.0.0.1/24\ninterface Ethernet1-2\n   mtu 9000\n"
    assert not eos(f"{first}interface Ethernet1\n   ip address 10.0.1.1/24 secondary\n").defects


def test_a_stated_mtu_stays_where_a_later_block_routes_the_port() -> None:
    device = eos(
        "interface Ethernet1-4\n   mtu 9214\n   no switchport\n"
        "interface Ethernet1\n   no switchport\n   ip address 10.0.0.1/31\n"
    )
    assert device.ports["Ethernet1"].mtu == 9214
    device = eos("interface Ethernet1-2\n   speed 100g-4\ninterface Ethernet1\n   no switchport\n")
    assert [device.ports[f"Ethernet{it}"].mtu for it in (1, 2)] == [1500, 9214]


@pytest.mark.parametrize("name", ["Port-channel1", "port-channel1", "port-channel 1", "PORT-CHANNEL1"])
def test_a_bundle_is_known_in_any_case(name: str) -> None:
    for read, own in ((nxos, "Ethernet1/1"), (eos, "Ethernet1")):
        device = read(
            f"interface {name}\n  mtu 9000\n  shutdown\n  lacp min-links 2\n"
            f"interface {own}\n  channel-group 1 mode active\n"
        )
        lag = device.lags[device.ports[own].lag or ""]
        assert (device.ports[own].mtu, bool(lag.shut), lag.min_links.value) == (9000, True, "2")


def test_groups_follow_the_last_pfc_mode() -> None:
    buffers = (
        "policy-map type network-qos N\n  class type network-qos c-8q-nq3\n    pause pfc-cos 3\n"
        "policy-map type queuing I\n  class type queuing c-in-q3\n"
        "    pause buffer-size 200000 pause-threshold 100000 resume-threshold 90000\n"
        "system qos\n  service-policy type network-qos N\n  service-policy type queuing input I\n"
    )
    device = nxos(
        f"{buffers}interface Ethernet1/1-2\n  priority-flow-control mode off\n"
        "interface Ethernet1/1\n  priority-flow-control mode on\n"
    )
    assert [set(port.groups) for port in device.ports.values()] == [{3}, set()]


def test_deep_nesting_is_refused_with_its_line() -> None:
    with pytest.raises(InputErrors) as error:
        eos("\n".join(" " * depth + "a" for depth in range(1500)))
    problem = error.value.problems[0]
    assert str(problem).count("leaf1.cfg:67") == 1
    assert "64 blocks" in str(problem)


def test_many_lines_are_read_in_a_time_that_their_number_decides() -> None:
    begun = time.process_time()
    block = "router bgp 65001\n"
    rows = [f"   neighbor 10.{it // 250}.{it % 250}.1 remote-as 1\n" for it in range(8000)]
    gone = [row.replace("neighbor", "no neighbor").replace(" remote-as 1", "") for row in rows]
    assert not eos(block + "".join(rows) + "".join(gone)).sessions
    device = eos("".join(f"ip access-list A\n   {it + 1} permit ip any any\n" for it in range(8000)) + _USE)
    assert len(device.filters["A"].rules) == 8000
    assert time.process_time() - begun < 12  # about 1 s; a guard against reading a block once per line


_PORT = "interface {port}\n  channel-group 1 mode active\ninterface port-channel1\n  {line}\n"
_PEER = "interface {port}\n  mtu 9000\nrouter bgp 65001\n  neighbor 10.0.0.1 remote-as 65002\n  {line}\n"


@pytest.mark.parametrize("number", [_HUGE, "²", "٣"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (_PORT, "lacp min-links {}"),
        (_PORT, "switchport mode trunk\n  switchport trunk native vlan {}"),
        (_PORT, "switchport access vlan {}"),
        (_PEER, "neighbor 10.0.0.1 ebgp-multihop {}"),
        (_PEER, "neighbor 10.0.0.1 timers {} 9"),
        (_PEER, "neighbor 10.0.0.1 ttl maximum-hops {}"),
        (_PEER, "neighbor 10.0.0.1 maximum-routes {}"),
        (_PEER, "neighbor 10.0.0.1\n    ebgp-multihop {}"),
        (_PEER, "neighbor 10.0.0.1\n    timers 3 {}"),
        (_PEER, "neighbor 10.0.0.1\n    ttl-security hops {}"),
        (_PEER, "neighbor 10.0.0.1\n    address-family ipv4 unicast\n      maximum-prefix {}"),
        (_PEER, "timers bgp {} 9"),
    ],
)
def test_a_number_that_is_none_is_no_error_of_the_reader(text: str, line: str, number: str) -> None:
    for read, port in ((eos, "Ethernet1"), (nxos, "Ethernet1/1")):
        device = read(text.format(port=port, line=line.format(number)))
        if number == _HUGE:
            assert device.defects or device.unread or device.unjudged


def test_a_number_of_nvue_is_bounded() -> None:
    pfc = "- set:\n    qos:\n      pfc:\n        p:\n          port-buffer: '{}'\n          xoff-threshold: '{}'\n"
    for number in (_HUGE, "²"):
        assert parse_device(pfc.format(number, number), "leaf1.yaml").defects


def test_a_vni_above_24_bits_is_refused() -> None:
    text = "- set:\n    bridge:\n      domain:\n        br_default:\n          vlan-vni-offset: {}\n"
    text += "          vlan:\n            '10':\n              vni:\n                auto: {{}}\n"
    low, high = (parse_device(text.format(it), "leaf1.yaml") for it in (16_777_205, 16_777_210))
    assert [it.number for it in low.identity.vnis] == ["16777215"]
    assert not high.identity.vnis
    assert any("16777220 is outside" in it.text for it in high.defects)


@pytest.mark.parametrize("address", ["10.999.0.1/24", f"10.{_HUGE}.0.1/24", "10.0.0.1/99"])
def test_the_gateway_of_a_vlan_is_an_address(address: str) -> None:
    for device in (
        eos(f"interface Vlan10\n   ip address virtual {address}\n"),
        nxos(f"interface Vlan10\n  fabric forwarding mode anycast-gateway\n  ip address {address}\n"),
    ):
        assert not device.identity.gateways
        assert [it.check for it in device.defects if "is no address" in it.text] == ["R5"]


def test_a_network_statement_without_a_prefix_is_no_error_of_a_check(tmp_path: Path) -> None:
    vtep = "interface Loopback1\n   ip address 10.0.0.1/32\ninterface Vxlan1\n   vxlan source-interface Loopback1\n"
    vtep += "   vxlan vlan 10 vni 10010\nrouter bgp 65001\n   network 10.999.0.1/32\n"
    vtep += "   neighbor 10.1.0.1 remote-as 65002\n   neighbor 10.1.0.1 send-community extended\n"
    (tmp_path / "leaf1.cfg").write_text(_EOS + vtep)
    assert validate(load_network([tmp_path])).causes is not None


@pytest.mark.parametrize(("reader", "name"), [(eos, "Ethernet{}"), (nxos, "Ethernet1/{}")])
def test_no_takes_a_line_from_one_port_of_a_range(reader: Callable[[str], Device], name: str) -> None:
    one, many = name.format(2), name.format("1-3")
    device = reader(f"interface {many}\n  mtu 1600\ninterface {one}\n  no mtu\n")
    plain = reader(f"interface {one}\n  description x\n").ports[one].mtu
    assert [device.ports[name.format(it)].mtu for it in (1, 2, 3)] == [1600, plain, 1600]
    assert not device.unread
    device = reader(f"interface {one}\n  mtu 1600\ninterface {many}\n  no mtu\n")
    assert device.ports[one].mtu == plain
    device = reader(f"interface {many}\n  mtu 1600\ninterface {many}\n  no mtu\ninterface {one}\n  mtu 1700\n")
    assert [device.ports[name.format(it)].mtu for it in (1, 2, 3)] == [plain, 1700, plain]


def test_a_list_of_ports_may_leave_the_kind_out() -> None:
    listed = "interface Ethernet3/1,4/1\n   mtu 1600\n"
    assert {name: port.mtu for name, port in eos(listed).ports.items()} == {"Ethernet3/1": 1600, "Ethernet4/1": 1600}
    ranged = "interface Ethernet1/1-2,4,2/1-3/1\n   mtu 1600\n"
    assert list(eos(ranged).ports) == [f"Ethernet{it}" for it in ("1/1", "1/2", "1/4", "2/1", "3/1")]


@pytest.mark.parametrize(("reader", "vrf"), [(eos, "vrf RED"), (nxos, "vrf member RED")])
def test_a_vrf_after_an_address_deletes_it(reader: Callable[[str], Device], vrf: str) -> None:
    rows = ("  no switchport\n", "  ip address 10.0.0.1/31\n", f"  {vrf}\n")
    for order, wrong in (((0, 1, 2), 1), ((0, 2, 1), 0)):
        device = reader("interface Ethernet1/1\n" + "".join(rows[it] for it in order))
        assert sum("deletes the address" in it.text for it in device.defects) == wrong


def test_ranges_that_would_grow_too_large_are_refused() -> None:
    rows = "".join(f"   description {it}\n" for it in range(2000))
    with pytest.raises(InputErrors, match="when written out"):
        eos(f"interface Ethernet1-4000\n   mtu 1600\n{rows}interface Ethernet1-2000\n   no mtu\n")


@pytest.mark.parametrize(("reader", "lag"), [(eos, "Port-Channel11"), (nxos, "port-channel11")])
def test_a_lag_whose_name_has_a_hyphen_is_one_block_that_continues(reader: Callable[[str], Device], lag: str) -> None:
    member = "interface Ethernet1/1\n  channel-group 11 mode active\n"
    device = reader(f"{member}interface {lag}\n  mtu 1600\ninterface {lag}\n  no mtu\n")
    assert device.ports["Ethernet1/1"].mtu == reader(f"{member}interface {lag}\n").ports["Ethernet1/1"].mtu


def test_the_trust_of_a_lag_outlasts_a_second_block() -> None:
    text = "interface Ethernet1/1\n  channel-group 11 mode active\ninterface Port-Channel11\n   qos trust dscp\n"
    first, again = eos(text), eos(f"{text}interface Port-Channel11\n   description x\n")
    assert again.ports["Ethernet1/1"].maps == first.ports["Ethernet1/1"].maps


@pytest.mark.parametrize(("reader", "name"), [(eos, "Ethernet{}"), (nxos, "Ethernet1/{}")])
def test_default_takes_a_line_back_and_its_no_form(reader: Callable[[str], Device], name: str) -> None:
    one, many = name.format(2), name.format("1-3")
    plain = reader(f"interface {one}\n  description x\n").ports[one]
    device = reader(f"interface {many}\n  mtu 1600\n  shutdown\ninterface {one}\n  default mtu\n  default shutdown\n")
    assert device.ports[one].mtu == plain.mtu
    assert device.ports[one].admin_up == plain.admin_up
    assert device.ports[name.format(3)].mtu == 1600
    assert not device.unread
    device = reader(f"interface {one}\n  no shutdown\n  mtu 1600\ndefault interface {one}\n")
    assert (device.ports[one].mtu, device.ports[one].admin_up) == (plain.mtu, plain.admin_up)


@pytest.mark.parametrize("line", ["switchport mode dot1q-tunnel", "traffic-loopback source system device mac"])
def test_a_port_in_a_mode_that_is_not_read_could_act_on_roce(line: str) -> None:
    device = eos(f"interface Ethernet1\n   switchport access vlan 10\n   {line}\n")
    assert [it.roce for it in device.unread if line in it.what] == ["port mode"]


def test_a_part_of_a_port_of_nvue_needs_its_port_split() -> None:
    text = "- set:\n    system: {{hostname: leaf1}}\n    interface:\n"
    text += "      swp1s{}: {{type: swp}}\n      swp1: {{link: {{{}}}}}\n"
    split = "breakout: {2x: {}}"
    for part, link, wrong in ((0, split, ""), (1, split, ""), (2, split, "split in 2"), (0, "mtu: 9216", "no 'link")):
        device = parse_device(text.format(part, link), "leaf1.yaml")
        assert [wrong in it.text for it in device.defects if "does not exist" in it.text] == [True] * bool(wrong)


@pytest.mark.parametrize(
    "blocks", ["interface Ethernet1/1-4\n", "".join(f"interface Ethernet1/{it}\n" for it in "1234")]
)
@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("default interface Ethernet1/2-3", [9000, 1500, 1500, 9000]),
        ("default interface ethernet 1/2-3", [9000, 1500, 1500, 9000]),
        ("default interface Ethernet1/1, Ethernet1/4", [1500, 9000, 9000, 1500]),
        ("default interface Ethernet1/2", [9000, 1500, 9000, 9000]),
    ],
)
def test_default_takes_the_settings_of_each_port_of_a_range_back(blocks: str, line: str, left: list[int]) -> None:
    lines = "".join(f"{it}\n  no switchport\n  mtu 9000\n" for it in blocks.splitlines())
    device = parse_device(f"feature bgp\nhostname a\n{lines}{line}\n", "a.cfg")
    assert [device.ports[f"Ethernet1/{number}"].mtu for number in range(1, 5)] == left
