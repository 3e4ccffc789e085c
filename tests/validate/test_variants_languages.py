"""One change to a working EOS, NX-OS or NVUE switch with a host: its finding, and no error beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate
from tests.recordings import SONIC

FILES = {
    "eos": ("eos_leaf.cfg", "leaf1.cfg", "Ethernet1/1"),
    "nxos": ("nxos_leaf.cfg", "leaf1.cfg", "Ethernet1/1"),
    "nvue": ("nvue_startup.yaml", "leaf1.yaml", "swp1"),
}
HOSTS = """default: {roce_dscp: 26, cnp_dscp: 48, pfc_enable: 3, trust: dscp, mtu: 9000, roce_mtu: 4096, cc: dcqcn,
          ecn_np_prio: 3, ecn_rp_prio: 3}
"""
ECN_EOS = (
    "      random-detect ecn minimum-threshold 400 kbytes maximum-threshold 1600 kbytes "
    "max-mark-probability 20 weight 0\n"
)
ECN_NXOS = (
    "    random-detect minimum-threshold 950 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn\n"
)
VARIANTS = [
    ("eos", "nothing", "", "", ""),
    ("eos", "no PFC", "   priority-flow-control on\n", "", "R9 L1 N1"),
    ("eos", "RoCE in a lossy class", "dscp 26 to traffic-class 3", "dscp 26 to traffic-class 1", "M1 N1"),
    ("eos", "no marking", ECN_EOS, "", "E4"),
    ("eos", "thresholds swapped", "minimum-threshold 400", "minimum-threshold 4000", "E1"),
    ("eos", "notifications with data", "dscp 48 to traffic-class 6", "dscp 48 to traffic-class 3", "M6"),
    ("eos", "strict data", "bandwidth percent 95", "priority strict", "M9"),
    ("eos", "no watchdog", "   priority-flow-control pause watchdog\n", "", "W2"),
    ("eos", "a slow poll", "polling-interval 0.10", "polling-interval 0.50", ""),
    ("eos", "small frames", "mtu 9214", "mtu 1500", "L4"),
    ("eos", "a profile that is mistyped", "service-profile ROCE", "service-profile RCOE", "R1 L1 N1"),
    ("eos", "PFC off everywhere", "qos map dscp 26", "priority-flow-control all off\nqos map dscp 26", "L1 N1"),
    ("eos", "link-wide pause", "   mtu 9214", "   mtu 9214\n   flowcontrol receive on", "L10"),
    ("nxos", "nothing", "", "", ""),
    ("nxos", "drops instead of marks", "weight 0 ecn", "weight 0", "E3"),
    ("nxos", "no marking", ECN_NXOS, "", "E4"),
    ("nxos", "PFC off at the port", "mode on", "mode off", "L1 N1"),
    ("nxos", "RoCE in another group", "set qos-group 3", "set qos-group 1", "M1 N1"),
    ("nxos", "notifications with data", "set qos-group 7", "set qos-group 3", "M6"),
    ("nxos", "no watchdog at the port", "  priority-flow-control watch-dog-interval on\n", "", "W2"),
    ("nxos", "small frames", "  mtu 9216\n  service", "  mtu 1500\n  service", "L4"),
    ("nxos", "another priority pauses", "pause pfc-cos 3", "pause pfc-cos 4", "L1 N1 N2"),
    ("nxos", "a policy that is mistyped", "queuing output QOS_EGRESS", "queuing output QOS_EGRES", "R1 E4"),
    ("nxos", "strict data", "    bandwidth remaining percent 50\n    random", "    priority level 1\n    random", "M9"),
    ("nxos", "nothing classifies", "  service-policy type qos input QOS_CLASSIFICATION", "", "M3 N1"),
    ("nvue", "nothing", "", "", ""),
    ("nvue", "no marking", "ecn: enable", "ecn: disable", "E4"),
    ("nvue", "thresholds swapped", "min-threshold: 150000", "min-threshold: 15000000", "E1"),
    ("nvue", "a probability of nothing", "probability: 100", "probability: 0", "E6"),
    ("nvue", "RoCE in a lossy class", "'26': {switch-priority: 3}", "'26': {switch-priority: 0}", "M1 N1"),
    ("nvue", "notifications with data", "'48': {switch-priority: 6}", "'48': {switch-priority: 3}", "M6"),
    ("nvue", "no watchdog", "qos: {pfc-watchdog: {state: enable}}, ", "", "W2"),
    ("nvue", "strict data", "'3': {mode: dwrr, bw-percent: 50}", "'3': {mode: strict}", "M9"),
    ("nvue", "pauses are not sent", "tx: enable", "tx: disable", "L1 N1"),
    ("nvue", "802.1p is trusted", "trust: l3", "trust: l2", "M1 N1 N3"),
    ("nvue", "lossless in an unmarked queue", "'3': {traffic-class: 3}", "'3': {traffic-class: 1}", "E4"),
]


@pytest.mark.parametrize(
    ("language", "old", "new", "errors"),
    [(row[0], *row[2:]) for row in VARIANTS],
    ids=[f"{row[0]}: {row[1]}" for row in VARIANTS],
)
def test_a_variant_of_another_language_has_its_errors_and_no_other(
    language: str, old: str, new: str, errors: str, tmp_path: Path
) -> None:
    source, name, port = FILES[language]
    text = (SONIC / "other_nos" / source).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new) if old else text, encoding="utf-8")
    (tmp_path / "hosts.yml").write_text(HOSTS, encoding="utf-8")
    (tmp_path / "links.yml").write_text(
        f"- {{a: [leaf1, '{port}'], b: [host1, eth0], length_m: 5}}\n", encoding="utf-8"
    )
    found = validate(load_network([tmp_path])).findings
    assert {it.check.id for it in found if it.severity is Severity.ERROR} == set(errors.split())
    assert all(it.place is not None for it in found)
