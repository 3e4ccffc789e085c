"""Link flow control: the registry is complete, the kernels fit the hooks, and nothing else knows which kind runs."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import pytest
from worlds import World, parameters, topology

from fabric.dataplane.port.flowcontrol import hooks
from fabric.dataplane.port.flowcontrol.params import PfcParams
from fabric.dataplane.port.flowcontrol.registry import KINDS, Kind
from fabric.dataplane.state.codes import INFINITY_PS, FlowControl
from fabric.dataplane.state.params import FlowControlParams, PortParams
from fabric.errors import InvariantError

ROOT: Final = Path(__file__).parents[2]
DATAPLANE: Final = ROOT / "fabric" / "dataplane"
HOOKS: Final = [field.name for field in fields(Kind) if field.name not in {"code", "title"}]
OWN: Final = re.compile(
    r"flowcontrol(\.| import )pfc|\.prios\[|\"(paused|pfc_\w+|pause_quanta|wd_unpaused|refresh_ps)\""
)
"""What only flow control may use: the kernels of PFC, rows of the table PRIO, and its fields of PORT."""
EXCEPTED: Final = {
    "host/pause_storm.py": "a fault of PFC",
    "state/types.py": "the tables' fields",
    "state/params.py": "first values of what all kinds have",
    "state/fill_switches.py": "carries out what the parameters say",
    "state/build.py": "the size of a PFC frame",
    "state/config_table.py": "the size of a PFC frame",
    "switch/notice.py": "the size of a PFC frame; a notice leaves the fields of one empty",
}


def text_of(kernel: Any) -> Any:  # noqa: ANN401  a dispatcher, or plain Python without the compiler
    return getattr(kernel, "py_func", kernel)


def test_every_code_is_registered_once() -> None:
    assert sorted(kind.code for kind in KINDS) == sorted(FlowControl)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code.name.lower())
@pytest.mark.parametrize("hook", HOOKS)
def test_every_kernel_has_the_arguments_of_its_hook(kind: Kind, hook: str) -> None:
    expected = list(inspect.signature(text_of(getattr(hooks, hook))).parameters)
    own = getattr(kind, hook)
    assert own is None or list(inspect.signature(text_of(own)).parameters) == expected


def test_the_table_of_hooks_has_every_hook() -> None:
    assert re.findall(r"^\| (\w+) \| ", hooks.__doc__ or "", re.MULTILINE)[1:] == HOOKS


def test_no_file_beside_flow_control_reads_its_fields() -> None:
    found = {
        str(path.relative_to(DATAPLANE))
        for path in DATAPLANE.rglob("*.py")
        if path.parent.name != "flowcontrol"
        if OWN.search(path.read_text())
    }
    assert found == set(EXCEPTED)


def test_a_port_names_one_flow_control_and_has_no_field_of_a_kind_itself() -> None:
    own = {field.name for field in fields(PfcParams)}
    assert own.isdisjoint(field.name for field in fields(PortParams))
    assert own - {field.name for field in fields(FlowControlParams)} == {"pause_quanta", "unsent", "ignored"}


def test_a_kind_says_what_a_port_holds_before_the_first_event() -> None:
    given = {"classes": 1 << 3, "response_ps": 7}
    of_pfc = PfcParams(**given, pause_quanta=9, ignored=1 << 3)
    other = FlowControlParams(kind=1, **given)  # type: ignore[arg-type]
    assert other.port_values() == {"pfc_classes": 1 << 3, "response_ps": 7, "pfc_next_ps": INFINITY_PS}
    assert of_pfc.port_values() == other.port_values() | {"pause_quanta": 9, "pfc_unsent": 0, "pfc_ignored": 1 << 3}
    assert (set(other.class_values()), set(of_pfc.class_values())) == ({"until_ps"}, {"until_ps", "refresh_ps"})
    assert (other.obeyed, of_pfc.obeyed) == (1 << 3, 0)


def test_ports_of_one_run_have_one_kind_of_flow_control() -> None:
    world = World()
    params = parameters(world, topology(world))
    assert params.flow_control is FlowControl.PFC
    other = FlowControlParams(kind=1, classes=0, response_ps=0)  # type: ignore[arg-type]
    ports = [replace(params.ports[0], flow_control=other), *params.ports[1:]]
    with pytest.raises(InvariantError, match="one link flow control"):
        _ = replace(params, ports=ports).flow_control


@pytest.mark.slow  # three worlds in plain Python: 11 s
def test_other_flow_controls_run_behind_the_same_hooks() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.dataplane.other_flow_controls"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
    )
    found = json.loads(done.stdout)
    pfc, none, credit = found["pfc"], found["none"], found["credits"]
    assert {kind["done"] for kind in found.values()} == {4}
    assert pfc["drops"] == 0 < pfc["xoff_frames"]
    assert none["drops"] > 0, "the buffers must be too small without flow control"
    assert none["pauses"] == none["xoff_frames"] == none["other_frames"] == 0
    assert credit["drops"] == credit["xoff_frames"] == 0 < credit["pauses"]
    assert credit["most_held_bytes"] <= 20_000, "a sender may not exceed what the receiver has granted"
    assert credit["paused_ports"] == pfc["paused_ports"]
