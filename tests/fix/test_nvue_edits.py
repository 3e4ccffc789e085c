"""`nv set` and `nv unset` on startup.yaml, on its JSON and on a list of commands: the same device results."""

from __future__ import annotations

import json

import pytest
import yaml

from fabric.validate.fix import nvue

YAML = """\
- header:
    version: 5.9.1
- set:
    interface:
      swp1:
        link:
          mtu: 1500
          state:
            down: {}
        ip:
          address:
            10.0.0.1/31: {}
    qos:
      roce:
        enable: 'on'
"""
EDITS = [
    ("nv set interface swp1 link mtu 9216", ("interface", "swp1", "link", "mtu"), "9216"),
    ("nv set interface swp1 link state up", ("interface", "swp1", "link", "state"), {"up": {}}),
    (
        "nv set interface swp1 ip address 10.0.0.3/31",
        ("interface", "swp1", "ip", "address"),
        {"10.0.0.1/31": {}, "10.0.0.3/31": {}},
    ),
    ("nv unset interface swp1 ip address 10.0.0.1/31", ("interface", "swp1", "ip", "address"), {}),
    ("nv set nve vxlan source address 10.9.0.1", ("nve", "vxlan", "source", "address"), "10.9.0.1"),
    ("nv set qos roce enable off", ("qos", "roce", "enable"), "off"),
]


def _read(text: str) -> object:
    return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  it makes text of everything


def _at(text: str, path: tuple[str, ...]) -> object:
    here = _read(text)[1]["set"]  # type: ignore[index]
    for word in path:
        here = here[word]
    return here


@pytest.mark.parametrize(("command", "path", "value"), EDITS)
def test_a_command_changes_its_own_value(command: str, path: tuple[str, ...], value: object) -> None:
    assert _at(nvue.applied(YAML, [command]), path) == value


@pytest.mark.parametrize(("command", "path", "value"), EDITS)
def test_json_gets_the_same_values_as_yaml(command: str, path: tuple[str, ...], value: object) -> None:
    text = json.dumps(_read(YAML))
    assert _at(nvue.applied(text, [command]), path) == value


def test_a_file_without_a_change_stays_as_it_is() -> None:
    assert nvue.applied(YAML, []) == YAML
    assert nvue.applied(YAML, ["nv set interface swp1 link mtu 9216"]).replace("9216", "1500") == YAML


def test_a_list_of_commands_gets_a_line_replaced_added_or_removed() -> None:
    text = "nv set interface swp1 link mtu 1500\nnv set interface swp1 ip address 10.0.0.1/31\n"
    replaced = nvue.applied(text, ["nv set interface swp1 link mtu 9216"])
    assert replaced == text.replace("1500", "9216")
    added = nvue.applied(text, ["nv set interface swp1 ip address 10.0.0.3/31"])
    assert added == text + "nv set interface swp1 ip address 10.0.0.3/31\n"
    assert nvue.applied(text, ["nv unset interface swp1 ip"]) == text.splitlines(keepends=True)[0]
