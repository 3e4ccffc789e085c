"""Every check has, for every language, a command that repairs its findings, or a reason why there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.configs.capabilities import CAPABILITIES, Language
from fabric.configs.hosts.capture import Mark, Said
from fabric.configs.identity import Aggregate, Stated
from fabric.configs.load import load_network, parse_device
from fabric.configs.model import Device, Limit, Place, Port, QosMap, Session
from fabric.configs.network import Host
from fabric.validate import remedies
from fabric.validate.checks.registry import CHECKS
from fabric.validate.manual import BY_LANGUAGE, REASONS
from fabric.validate.remedies import Fix
from fabric.validate.routing_fixes import (
    default_distance,
    end_maintenance,
    loose_sources,
    no_default,
    open_session,
    set_session,
    whole_aggregate,
)
from fabric.validate.runner import validate
from tests.mistakes.mistake import LANGUAGES
from tests.mistakes.score import CASES, every_score

_HOST = Host("h", Place("hosts.yml", 1))
_MARK = Mark("NCCL", "NCCL_IB_TC", Said(0, "NCCL_IB_TC=0", Place("h.txt", 1)))


@pytest.fixture(scope="module")
def leaf() -> dict[str, tuple[Device, Port]]:
    """A switch of each language, and a port with queue 3 marked, scheduled and watched."""
    found = {}
    for language, module in LANGUAGES.items():
        name, content = next((name, it) for name, it in module.good().items() if name.startswith("leaf1"))
        device = parse_device(content if isinstance(content, str) else module.text(content), name)
        found[language] = device, next(port for port in device.ports.values() if port.lossless)
    return found


def _wred(device: Device, port: Port) -> tuple[str, tuple[str, ...]]:
    wred = device.wreds[port.queues[3].wred or ""]
    return wred.name, wred.where


def _watchdog(field: str, value: object) -> Callable[[Device, Port], Fix]:
    def make(device: Device, port: Port) -> Fix:
        assert port.watchdog is not None
        return remedies.set_field(device, port.watchdog.where, field, value)

    return make


def _curve(device: Device, port: Port) -> Fix:
    return remedies.set_curve(device, *_wred(device, port), 100, 200)


def _of_wred(field: str, value: object) -> Callable[[Device, Port], Fix]:
    return lambda device, port: remedies.set_field(device, _wred(device, port)[1], field, value)


def _scheduled(device: Device, port: Port) -> Fix:
    return remedies.set_field(device, device.schedulers[port.queues[3].scheduler or ""].where, "weight", 40)


def _mapped(kind: str, key: int, value: int) -> Callable[[Device, Port], Fix]:
    def make(device: Device, port: Port) -> Fix:
        where = ("TC_TO_DSCP_MAP", "M") if device.capabilities.tables else ("qos", "remark", "M")
        device.maps.setdefault("tc_to_dscp", {"M": QosMap("M", where, {3: 26})})
        port.maps["tc_to_dscp"] = next(iter(device.maps["tc_to_dscp"]), "M")
        device.maps["tc_to_dscp"].setdefault(port.maps["tc_to_dscp"], QosMap("M", where, {3: 26}))
        return remedies.set_map(device, port, kind, key, value)

    return make


def _table(*where: str, field: str, value: object) -> Callable[[Device, Port], Fix]:
    return lambda device, _: remedies.set_field(device, where, field, value)


def _in_maintenance(device: Device) -> Fix:
    device.identity.drained = {
        "sonic": Stated("traffic shift away", ("BGP_DEVICE_GLOBAL", "STATE", "tsa_enabled")),
        "nvue": Stated("graceful-shutdown", ("set", "router", "bgp", "graceful-shutdown")),
        "eos": Stated("quiesce", ("maintenance", "unit System", "quiesce")),
        "nxos": Stated("isolate", ("router bgp", "isolate")),
    }[device.language]
    return end_maintenance(device)


def _no_default(device: Device) -> Fix:
    stated = {
        "sonic": Stated(
            "send_default_route", ("BGP_NEIGHBOR_AF", "default|10.1.0.1|ipv4_unicast", "send_default_route")
        ),
        "nvue": Stated("default-route-origination", ("set", "vrf", "default", "router", "bgp", "enable")),
        "eos": Stated("neighbor 10.1.0.1 default-originate", ("router bgp", "neighbor 10.1.0.1", "default-originate")),
        "nxos": Stated("default-originate", ("router bgp", "neighbor 10.1.0.1", "default-originate")),
    }[device.language]
    return no_default(device, stated)


_BFD = {"eos": "bfd", "nxos": "bfd", "nvue": "bfd enable on", "sonic": "bfd true"}
_SESSION = Session(("BGP_NEIGHBOR", "10.1.0.1"), "spine1", "65000", "10.1.0.1")


DIRECT: dict[str, Callable[[Device, Port], Fix]] = {
    "B13": _table("BUFFER_PROFILE", "p", field="pool", value="ingress_lossless_pool"),
    "D6": _table("SWITCH_HASH", "GLOBAL", field="ecmp_hash@", value="L4_SRC_PORT"),
    "E2": _curve,
    "E6": _of_wred("green_drop_probability", 100),
    "E7": _curve,
    "E8": _curve,
    "E10": _of_wred("wred_green_enable", "false"),
    "E11": _curve,
    "E12": _of_wred("green_drop_probability", 100),
    "H5": lambda device, port: remedies.set_cable(device, port, 40),
    "L10": remedies.set_pause,
    "L11": remedies.set_pfc_mode,
    "M3": _mapped("dscp_to_tc", 26, 3),
    "M11": _scheduled,
    "M12": _mapped("tc_to_dscp", 3, 26),
    "M17": lambda device, port: remedies.set_field(
        device, device.schedulers[port.queues[3].scheduler or ""].where, "type", "DWRR"
    ),
    "P20": lambda device, _: _in_maintenance(device),
    "P23": lambda device, _: whole_aggregate(device, Aggregate("10.0.0.0/24", ("vrf", "default", "aggregate-route"))),
    "P24": lambda device, _: set_session(device, _SESSION, "BFD", "on", _BFD),
    "P26": lambda device, _: default_distance(device),
    "P27": lambda device, _: _no_default(device),
    "P28": lambda device, _: loose_sources(device, "Ethernet3/1"),
    "P25": lambda device, _: open_session(device, _SESSION),
    "N2": lambda _, __: remedies.set_host_ecn(_HOST, "ecn_np_prio", 3),
    "N8": lambda _, __: remedies.set_tclass(_HOST, _MARK, 26),
    "N9": lambda _, __: remedies.set_host_map(_HOST, 26, 3),
    "N10": lambda _, __: remedies.set_buffers(_HOST, {3}),
    "N11": lambda _, __: remedies.set_dcqcn(_HOST, "roce_rp/rpg_ai_rate", 5),
    "N5": lambda _, __: Fix("h", "h.cable_m", "40", "mlnx_qos -i INTERFACE --cable_len 40"),
    "T2": lambda device, _: remedies.set_field(
        device,
        ("VXLAN_TUNNEL", "vtep") if device.capabilities.tables else ("set", "nve", "vxlan"),
        "dscp_mode",
        "uniform",
    ),
    "T3": _table("VXLAN_TUNNEL", "vtep", field="ecn_mode", value="standard"),
    "T6": _table("VLAN", "Vlan10", field="mtu", value=9100),
    "W3": _watchdog("detection_time", 300),
    "W4": _watchdog("restoration_time", 300),
    "W5": _watchdog("detection_time", 300),
    "W8": _watchdog("action", "drop"),
    "W10": _watchdog("action", "drop"),
    "W12": _table("PFC_WD", "GLOBAL", field="POLL_INTERVAL", value=300),
    "W13": _watchdog("detection_time", 300),
    "W14": _watchdog("detection_time", 300),
}
"""Remedies of checks that no mistake of the corpus shows in every language."""


@pytest.fixture(scope="module")
def corpus() -> dict[tuple[str, str], list[str]]:
    """(check, language) -> commands of its findings, '' for a finding without one."""
    found: dict[tuple[str, str], list[str]] = {}
    for score in every_score():
        for check, command in score.commands:
            found.setdefault((check, score.mistake.language), []).append(command)
    return found


PAIRS = [(check, language) for check in CHECKS for language in CAPABILITIES]


@pytest.mark.slow
@pytest.mark.parametrize(("check", "language"), PAIRS, ids=[f"{check}-{language}" for check, language in PAIRS])
def test_a_check_has_a_command_or_a_reason(
    check: str, language: Language, corpus: dict[tuple[str, str], list[str]], leaf: dict[str, tuple[Device, Port]]
) -> None:
    reason = BY_LANGUAGE.get((check, language)) or REASONS.get(check)
    commands = [command for command in corpus.get((check, language), []) if command]
    if not commands and not reason:
        commands = [DIRECT[check](*leaf[language]).command]
    assert reason or all(commands)
    assert [it for it in commands if not _is_of(language, it)] == []


def _is_of(language: Language, command: str) -> bool:
    """Whether a command has the words of its language, or is one of a host."""
    first = command.split(maxsplit=1)[0].rstrip(";")
    hosts = {"mlnx_qos", "cma_roce_tos", "ethtool", "echo", "export"}
    own = {
        "sonic": {"sonic-db-cli", "config", "ecnconfig", "pfcwd"},
        "nvue": {"nv"},
        "eos": {"hostname", "interface", "maintenance", "qos", "priority-flow-control", "router", "ip", "no", "vlan"},
        "nxos": {
            "evpn",
            "hostname",
            "interface",
            "ip",
            "no",
            "policy-map",
            "priority-flow-control",
            "router",
            "vlan",
            "vxlan",
            "fabric",
            "class-map",
        },
    }[language]
    return first in own | hosts


def test_a_cost_that_the_other_uplinks_do_not_state_is_unset(tmp_path: Path) -> None:
    [case] = [it for it in CASES if it.id == "nvue: OSPF: one uplink is costly"]
    case.write(tmp_path)
    [finding] = [it for it in validate(load_network([tmp_path])).findings if it.check.id == "O4"]
    assert finding.fix is not None
    assert finding.fix.command == "nv unset interface swp3 router ospf cost"


def test_a_reason_names_a_check_that_exists() -> None:
    assert {*REASONS, *(check for check, _ in BY_LANGUAGE)} <= CHECKS.keys()
    assert not {check for check, _ in BY_LANGUAGE} & REASONS.keys()


@pytest.mark.parametrize(
    ("language", "limit", "command"),
    [
        ("sonic", Limit(("SCHEDULER", "data"), "pir"), "sonic-db-cli CONFIG_DB HDEL 'SCHEDULER|data' pir"),
        (
            "nvue",
            Limit(("set", "qos", "egress-shaper", "P", "traffic-class", "3"), "max-rate"),
            "nv unset qos egress-shaper P traffic-class 3 max-rate",
        ),
        (
            "eos",
            Limit(("interface", "Ethernet1/1", "shape rate"), "shape rate"),
            "interface Ethernet1/1; no shape rate",
        ),
        (
            "nxos",
            Limit(("policy-map", "OUT", "c-out-8q-q3", "shape"), "shape"),
            "policy-map type queuing OUT; class type queuing c-out-8q-q3; no shape",
        ),
    ],
)
def test_a_shaper_is_taken_away_in_the_words_of_its_language(
    language: str, limit: Limit, command: str, leaf: dict[str, tuple[Device, Port]]
) -> None:
    assert remedies.remove_limit(leaf[language][0], limit).command == command
