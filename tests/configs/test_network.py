"""Links and hosts: every accepted form, and one error per problem with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric.configs.load import _hosts, load_network
from fabric.configs.network import parse_hosts, parse_links
from fabric.configs.text.yamlfile import YamlText
from fabric.errors import InputErrors
from fabric.validate.runner import validate

ENDS = (("leaf1", "Ethernet0"), ("spine1", "Ethernet8"))


def links(text: str) -> Any:  # noqa: ANN401
    source = YamlText(text, "links.yml")
    return parse_links(source.value, source, "links.yml")


@pytest.mark.parametrize(
    "text",
    [
        "links:\n- {a: [leaf1, Ethernet0], b: [spine1, Ethernet8]}\n",
        "links:\n- {a: 'leaf1:Ethernet0', b: 'spine1:Ethernet8'}\n",
        "name: lab\ntopology:\n  nodes: {}\n  links:\n  - endpoints: ['leaf1:Ethernet0', 'spine1:Ethernet8']\n",
        "links:\n- leaf1: {ifname: Ethernet0}\n  spine1: {ifname: Ethernet8}\n",
        "links:\n- interfaces: [{node: leaf1, ifname: Ethernet0}, {node: spine1, ifname: Ethernet8}]\n",
        "- {a: [leaf1, Ethernet0], b: [spine1, Ethernet8]}\n",
    ],
)
def test_every_form_of_a_link_means_the_same(text: str) -> None:
    (cable,) = links(text)
    assert (cable.a, cable.b) == ENDS


def test_a_bad_link_is_named_with_its_line_and_the_others_too() -> None:
    with pytest.raises(InputErrors) as caught:
        links(
            "links:\n- {a: [leaf1, Ethernet0], b: [spine1, Ethernet8]}\n- {a: [x]}\n- {a: 'l:1', b: 's:2', "
            "length_m: 40m}\n"
        )
    assert [problem.path.partition(": ")[2] for problem in caught.value.problems] == ["links[1]", "links[2].length_m"]
    assert [problem.path[:11] for problem in caught.value.problems] == ["links.yml:3", "links.yml:4"]


def hosts(text: str) -> Any:  # noqa: ANN401
    source = YamlText(text, "hosts.yml")
    return parse_hosts(source.value, source, "hosts.yml")


def test_a_host_has_its_own_settings_over_the_default() -> None:
    named, default = hosts("default: {roce_dscp: 24, mtu: 9000, pfc_enable: 3}\nhost1: {mtu: 4200}\n")
    assert (named["host1"].roce_dscp, named["host1"].mtu, default.mtu) == (24, 4200, 9000)
    assert default.pfc_enable == {3}
    assert named["host1"].place.line == 2


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("default: {mtu: 0}", "68..65535"),
        ("default: {rocedscp: 26}", "roce_dscp"),
        ("default: {trust: foo}", "dscp"),
        ("default: {pfc_enable: 9}", "0..7"),
        ("default: {global_pause: maybe}", "wrong type"),
        ("default: 3", "no mapping"),
        ("[]", "not a mapping"),
        ("default: {cc: dcqn}", "dcqcn"),
    ],
)
def test_a_bad_host_setting_is_refused_with_the_remedy(text: str, word: str) -> None:
    with pytest.raises(InputErrors) as caught:
        hosts(text)
    assert word in str(caught.value)


def test_aliases_that_multiply_are_refused() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{','.join(['*' + a] * 10)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
    )
    with pytest.raises(InputErrors, match="once aliases are followed"):
        YamlText(bomb, "x.yml")


DUMP = """DCBX mode: OS controlled
Priority trust state: dscp
dscp2prio mapping:
\tprio:0 dscp:07,06,05,04,03,02,01,00,
Receive buffer size (bytes): 130944,262000,0,0,0,0,0,0,max_buffer_size=2097024
Cable len: 7
PFC configuration:
\tpriority    0   1   2   3   4   5   6   7
\tenabled     0   0   0   1   0   0   0   0
\tbuffer      0   0   0   1   0   0   0   0
"""


def test_the_output_of_mlnx_qos_is_a_hosts_settings(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("default: {roce_dscp: 24}\n", encoding="utf-8")
    (tmp_path / "host1.txt").write_text(DUMP, encoding="utf-8")
    found = _hosts(tmp_path)
    host, default = found.hosts["host1"], found.default
    assert (host.trust, host.pfc_enable, host.cable_m, host.rx_buffer_bytes) == ("dscp", {3}, 7, 262_000)
    assert host.roce_dscp == 24
    assert default is not None


def test_a_dump_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "host1.txt").write_text(DUMP[: DUMP.index("\tenabled")], encoding="utf-8")
    with pytest.raises(InputErrors, match="eight priorities"):
        _hosts(tmp_path)


FRR = "!\nfrr version 8.4\nfrr defaults datacenter\nhostname host1\nrouter bgp 65201\n neighbor 10.0.0.1 remote-as 1\n"


def test_a_host_that_runs_frr_is_no_switch_and_is_listed(tmp_path: Path) -> None:
    (tmp_path / "host1.conf").write_text(FRR, encoding="utf-8")
    with pytest.raises(InputErrors, match="only FRR configurations"):
        load_network([tmp_path])
    (tmp_path / "leaf1.json").write_text('{"PORT": {"Ethernet0": {"speed": "100000"}}}', encoding="utf-8")
    network = load_network([tmp_path])
    assert list(network.devices) == ["leaf1"]
    assert [item.place.file for item in validate(network).unread] == [str(tmp_path / "host1.conf")]
