"""The registry of congestion controls: complete, and every kernel fits its hook."""

from __future__ import annotations

import inspect
from typing import Any, Final

import pytest

from fabric.dataplane.state.codes import TELEMETRY_OF_SWITCHES, TELEMETRY_WORDS, CongestionControl
from fabric.dataplane.state.params import TransportParams
from fabric.dataplane.transport import hooks
from fabric.dataplane.transport.registry import CONTROLS, Control, control_of, mask_of
from fabric.scenario.compile.controls import CONTROLS as MODELS
from fabric.scenario.schema.endpoints import TransportSpec

HOOKS: Final = (
    "start",
    "stamp",
    "forwarded",
    "consumed",
    "sent",
    "acknowledged",
    "notified",
    "catch_up",
    "next_change_ps",
    "change_line",
    "settle",
    "look",
    "mark_changes",
)


def text_of(kernel: Any) -> Any:  # noqa: ANN401  a dispatcher, or plain Python without the compiler
    return getattr(kernel, "py_func", kernel)


def test_every_code_is_registered_once() -> None:
    assert sorted(control.code for control in CONTROLS) == sorted(CongestionControl)
    assert all(control_of(code).code is code for code in CongestionControl)


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.code.name.lower())
def test_every_kernel_has_the_arguments_of_its_hook(control: Control) -> None:
    for hook in HOOKS:
        own = getattr(control, hook)
        if own is not None:
            assert list(inspect.signature(text_of(own)).parameters) == list(
                inspect.signature(text_of(getattr(hooks, hook))).parameters
            ), hook


def test_every_hook_of_a_control_is_a_hook() -> None:
    fields = {name for name in Control.__slots__ if name not in {"code", "title", "cnps", "echo", "telemetry_bytes"}}
    assert fields == set(HOOKS)
    assert all(hasattr(hooks, hook) for hook in HOOKS)


def test_masks_have_the_bits_of_the_chosen_codes() -> None:
    assert mask_of(lambda control: control.cnps) == 1 << CongestionControl.DCQCN
    echoing = (
        CongestionControl.NS3_DCQCN,
        CongestionControl.DCTCP,
        CongestionControl.NS3_DCTCP,
        CongestionControl.CUBIC,
    )
    assert mask_of(lambda control: control.echo) == sum(1 << code for code in echoing)


def test_controls_with_bytes_on_the_wire_have_room_for_them_and_write_them() -> None:
    carrying = {control.code for control in CONTROLS if control.telemetry_bytes}
    assert carrying == set(TELEMETRY_WORDS) == {control.code for control in CONTROLS if control.stamp is not None}
    assert {control.code for control in CONTROLS if control.forwarded is not None} == TELEMETRY_OF_SWITCHES
    assert all(words in (1, 2, 4, 8) for words in TELEMETRY_WORDS.values())  # a frame never straddles two cache lines


@pytest.mark.parametrize("name", MODELS)
def test_every_name_of_a_scenario_has_a_control_and_a_section_that_exists(name: str) -> None:
    model = MODELS[name]
    assert TransportSpec(cc=name).cc == model.name == name  # type: ignore[arg-type]
    assert control_of(model.code).cnps == model.cnps
    if model.section:
        assert model.section in TransportSpec.model_fields
        assert model.section in TransportParams.__slots__
