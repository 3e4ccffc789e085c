"""Links and hosts: every accepted form, and one error per problem with its line."""

from __future__ import annotations

from typing import Any

import pytest

from fabric.configs.network import parse_hosts, parse_links
from fabric.configs.yamlfile import YamlText
from fabric.errors import InputErrors

ENDS = (("leaf1", "Ethernet0"), ("spine1", "Ethernet8"))


def links(text: str) -> Any:  # noqa: ANN401
    source = YamlText(text, "links.yml")
    return parse_links(source.value, source, "links.yml")


@pytest.mark.parametrize("text", [
    "links:\n- {a: [leaf1, Ethernet0], b: [spine1, Ethernet8]}\n",
    "links:\n- {a: 'leaf1:Ethernet0', b: 'spine1:Ethernet8'}\n",
    "name: lab\ntopology:\n  nodes: {}\n  links:\n  - endpoints: ['leaf1:Ethernet0', 'spine1:Ethernet8']\n",
    "links:\n- leaf1: {ifname: Ethernet0}\n  spine1: {ifname: Ethernet8}\n",
    "links:\n- interfaces: [{node: leaf1, ifname: Ethernet0}, {node: spine1, ifname: Ethernet8}]\n",
    "- {a: [leaf1, Ethernet0], b: [spine1, Ethernet8]}\n"])
def test_every_form_of_a_link_means_the_same(text: str) -> None:
    (cable,) = links(text)
    assert (cable.a, cable.b) == ENDS


def test_a_bad_link_is_named_with_its_line_and_the_others_too() -> None:
    with pytest.raises(InputErrors) as caught:
        links("links:\n- {a: [leaf1, Ethernet0], b: [spine1, Ethernet8]}\n- {a: [x]}\n- {a: 'l:1', b: 's:2', "
              "length_m: 40m}\n")
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


@pytest.mark.parametrize(("text", "word"), [
    ("default: {mtu: 0}", "68..65535"), ("default: {rocedscp: 26}", "roce_dscp"), ("default: {trust: foo}", "dscp"),
    ("default: {pfc_enable: 9}", "0..7"), ("default: {global_pause: maybe}", "wrong type"),
    ("default: 3", "no mapping"),
    ("[]", "not a mapping"), ("default: {cc: dcqn}", "dcqcn")])
def test_a_bad_host_setting_is_refused_with_the_remedy(text: str, word: str) -> None:
    with pytest.raises(InputErrors) as caught:
        hosts(text)
    assert word in str(caught.value)


def test_aliases_that_multiply_are_refused() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{','.join(['*' + a] * 10)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True))
    with pytest.raises(InputErrors, match="aliases that multiply"):
        YamlText(bomb, "x.yml")
