"""An act starts from what faults and earlier acts have set; an act that changes nothing is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.dataplane.engine.edits import (
    DropEvery,
    FlowControlClasses,
    LinkErrors,
    LinkRate,
    LinkState,
    PgThreshold,
    PortMtu,
)
from fabric.errors import InputErrors
from playbooks import runner

SCENARIO = """
name: small
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
workload:
  - {kind: incast, receiver: host1, senders: ["*"], size: 64KB}
switches:
  mtu: 4200B
  hash: {seed: 7}
run: {duration: 200us, stop: duration}
telemetry: {interval: 20us}
"""
FAULTS = """
faults:
  - {name: dust, kind: bit-errors, link: leaf1--spine1, ratio: 1.0e-6, at: 1us}
  - {name: lanes, kind: link-rate, link: leaf1--spine1, rate: 25G, at: 1us}
  - {name: memory, kind: drop-every, port: "leaf1:Ethernet8", every: 50, at: 1us}
  - {name: hang, kind: switch-crash, switch: spine1, carrier: kept, at: 1us}
  - {name: early, kind: bit-errors, link: leaf2--spine2, ratio: 1.0e-6, at: 1us, until: 2us}
  - {name: cut, kind: link-down, link: leaf2--spine1, at: 1us}
  - {name: pulled, kind: link-down, link: host1--leaf1, at: 1us, until: 50us}
"""


def prepared(folder: Path, *acts: tuple[str, str], faults: str = "") -> runner.Prepared:
    """A playbook with these acts, (time, do)."""
    folder.mkdir(exist_ok=True)
    (folder / "scenario.yml").write_text(SCENARIO + faults)
    steps = "".join(f"  - {{step: act, text: t, at: {at}, do: {do}}}\n" for at, do in acts)
    (folder / "playbook.yml").write_text(
        "title: Small\nseverity: info\nsummary: Small.\nscenario: scenario.yml\nsteps:\n"
        "  - {step: verify, text: t, check: [trees == 0]}\n" + steps
    )
    return runner.prepare(folder)


def test_an_act_keeps_what_an_earlier_one_has_set(tmp_path: Path) -> None:
    headroom = ("10us", "{kind: thresholds, ports: leaf1, headroom: 200KB}")
    alpha = ("20us", "{kind: thresholds, ports: leaf1, dynamic_th: -4}")
    found = prepared(tmp_path, alpha, headroom).compiled.edits  # not in order of time
    last = [it for it in found if isinstance(it, PgThreshold)][-1]
    assert (last.time_ps, last.pg_params.xoff_bytes, last.pg_params.dynamic_th) == (20_000_000, 200_000, -4)
    off, on = (
        ("10us", "{kind: pfc, ports: leaf1, priorities: []}"),
        ("20us", "{kind: pfc, ports: leaf1, priorities: [3]}"),
    )
    classes = [it.classes for it in prepared(tmp_path, off, on).compiled.edits if isinstance(it, FlowControlClasses)]
    assert set(classes) == {0, 8}


def test_new_optics_mend_optics_and_no_switch(tmp_path: Path) -> None:
    act = "{kind: replace-optics, link: leaf1--spine1}"
    acted = [it for it in prepared(tmp_path, ("10us", act), faults=FAULTS).compiled.edits if it.time_ps == 10_000_000]
    assert [type(it) for it in acted] == [LinkErrors, LinkRate, DropEvery]
    dropped = next(it for it in acted if isinstance(it, DropEvery))
    assert dropped.ends
    assert dropped.fault
    begun = {
        it.fault: it.all_kinds for it in prepared(tmp_path, faults=FAULTS).compiled.edits if isinstance(it, DropEvery)
    }
    assert begun[dropped.fault] is False


def test_an_mtu_is_that_of_the_ip_packet(tmp_path: Path) -> None:
    made = prepared(tmp_path, ("10us", "{kind: mtu, ports: leaf1, mtu: 9000B}")).compiled
    port = next(it for it in made.edits if isinstance(it, PortMtu))
    assert port.mtu_bytes - made.params.ports[port.port].mtu_bytes == 9000 - 4200


def test_undo_ends_the_present_outage_of_a_flap(tmp_path: Path) -> None:
    flap = "faults: [{name: plug, kind: link-flap, link: leaf1--spine1, at: 10us, down: 20us, up: 20us, count: 4}]\n"
    made = prepared(tmp_path, ("60us", "{kind: undo, fault: plug}"), faults=flap).compiled
    states = [(it.time_ps // 1_000_000, it.up) for it in made.edits if isinstance(it, LinkState)]
    assert states == [(10, False), (30, True), (50, False), (60, True)]
    late = "has no effect: the last flap ends at 150us"
    with pytest.raises(InputErrors, match=late):
        prepared(tmp_path, faults=flap.replace("count: 4", "count: 4, until: 160us"))


@pytest.mark.parametrize(
    ("act", "text"),
    [
        ("{kind: mtu, ports: leaf1, mtu: 4200B}", "changes nothing: the ports have it already"),
        ("{kind: hash-seed, switches: [leaf1], seed: 7}", "changes nothing: the switches have these seeds"),
        ("{kind: dscp-map, switches: [spine1], like: leaf1}", "changes nothing: the switches have the map of"),
        ("{kind: replace-optics, link: leaf2--spine1}", "do {kind: undo} ends every other one"),
        ("{kind: shut, link: leaf2--spine1}", "changes nothing: it is down already, and stays so"),
        ("{kind: replace-optics, link: leaf2--spine2}", "no rate, bit errors or drop-every fault lasts there"),
    ],
)
def test_an_act_that_changes_nothing_is_refused(tmp_path: Path, act: str, text: str) -> None:
    with pytest.raises(InputErrors) as caught:
        prepared(tmp_path, ("10us", act), faults=FAULTS)
    assert text in str(caught.value)


def test_the_same_act_twice_is_refused_the_second_time(tmp_path: Path) -> None:
    acts = [
        "{kind: mtu, ports: leaf1, mtu: 9000B}",
        "{kind: hash-seed, switches: [leaf1], seed: 8}",
        "{kind: replace-optics, link: leaf1--spine1}",
        "{kind: shut, link: leaf2--spine2}",
        "{kind: ecn, ports: leaf1, kmin: 10KB, kmax: 20KB, pmax: 0.5}",
    ]
    for act in acts:
        with pytest.raises(InputErrors) as caught:
            prepared(tmp_path, ("10us", act), ("20us", act), faults=FAULTS)
        assert str(caught.value).count("changes nothing") == 1
        assert "steps[2]" in str(caught.value)


def test_a_cable_that_a_fault_holds_down_for_a_while_can_be_shut_for_good(tmp_path: Path) -> None:
    made = prepared(tmp_path, ("10us", "{kind: shut, link: host1--leaf1}"), faults=FAULTS).compiled
    assert [it.up for it in made.edits if isinstance(it, LinkState) and it.time_ps == 10_000_000] == [False]
