"""NX-OS classes: numbers in names and class maps are qos-groups, and a queue may have no guaranteed share."""

from __future__ import annotations

from typing import Final

import pytest

from fabric.configs.load import parse_device
from fabric.configs.model import Device
from fabric.configs.network import Network
from fabric.validate.facts import Facts

CONFIG: Final = """hostname leaf1
{more}
class-map type qos match-any ROCE
  match dscp 26
policy-map type qos IN
  class ROCE
    set qos-group 4
policy-map type network-qos NET
  class type network-qos {nq}
    mtu 9216
    pause pfc-cos 3
policy-map type queuing OUT
  class type queuing {out}
    bandwidth remaining percent 60
    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn
  class type queuing c-out-8q-q1
    bandwidth remaining percent 0
policy-map type queuing INPUT
  class type queuing c-in-q4
    pause buffer-size 200000 pause-threshold 100000 resume-threshold 90000
system qos
  service-policy type network-qos NET
  service-policy type queuing output OUT
  service-policy type queuing input INPUT
interface Ethernet1/1
  priority-flow-control mode on
  service-policy type qos input IN
"""
MAPS: Final = """class-map type network-qos N
  match qos-group 4
class-map type queuing Q
  match qos-group 4"""


def read(nq: str = "c-8q-nq4", out: str = "c-out-8q-q4", more: str = "!") -> Device:
    return parse_device(CONFIG.format(nq=nq, out=out, more=more), "leaf1.cfg")


@pytest.mark.parametrize(
    ("nq", "out", "more"), [("c-8q-nq4", "c-out-8q-q4", "!"), ("N", "Q", MAPS), ("c-nq4", "Q", MAPS)]
)
def test_a_paused_class_stops_the_queue_of_its_qos_group(nq: str, out: str, more: str) -> None:
    device = read(nq, out, more)
    assert not device.defects
    assert not device.unread
    port = device.ports["Ethernet1/1"]
    facts = Facts(Network({"leaf1": device}))
    (line,) = facts.lossless
    assert port.lossless == {3}
    assert facts.lossless_class(line, 26) == (4, 3)
    assert [(priority, queue) for priority, queue, _ in facts.lossless_queues(line)] == [(3, 4)]
    assert facts.wred(device, port.queues[4]) is not None
    profile = facts.group_profile(line, 3)
    assert profile is not None
    assert profile.xoff_bytes == 100_000


def test_a_share_of_nothing_is_valid() -> None:
    device = read()
    assert not device.defects
    assert device.schedulers["OUT c-out-8q-q1"].weight == 0


def test_the_mtu_of_a_class_is_read() -> None:
    assert read().class_mtus == {"NET c-8q-nq4": 9216}
