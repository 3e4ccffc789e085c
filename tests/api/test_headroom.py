"""The need of a port and its assumptions from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fabric
from fabric.errors import InputErrors

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/howto/validate-example/before"


def test_the_need_of_a_port_has_terms_that_add_up_to_it() -> None:
    found = fabric.headroom("400G", "40m", platform="sn4700")
    assert sum(term.bytes for term in found.need_terms) == found.need_bytes == 96_048
    assert found.assumed.startswith("the peer stops in half of the 802.3 limit, reception takes 600ns")
    assert "96,048" in found._repr_html_()


def test_assumptions_change_the_need() -> None:
    assert fabric.headroom("400G", "40m", platform="sn4700", response="worst").need_bytes == 121_104
    assert fabric.headroom("400G", "40m", platform="sn4700", latency="0ns").need_bytes == 62_640
    assert fabric.headroom("400G", "40m", cell=256).need_bytes == 23 * 17 * 256
    mixed = fabric.headroom("400G", "40m", platform="sn4700", frames=(64, 4174))
    assert mixed.need_bytes == 88_302 * 288 // 165 // 144 * 144 + 2 * 4_176


def test_bad_assumptions_are_named_together() -> None:
    with pytest.raises(InputErrors) as caught:
        fabric.headroom("400G", "40m", response="best", latency="soon", frames=(4174, 64), cell=0)
    assert {it.path for it in caught.value.problems} == {"response", "latency", "frames", "cell"}
    with pytest.raises(InputErrors) as caught:
        fabric.validate(EXAMPLE, peer_response="best", latency="soon")
    assert {it.path for it in caught.value.problems} == {"peer_response", "latency"}


def test_a_verdict_states_what_headroom_was_checked_with(capsys: pytest.CaptureFixture[str]) -> None:
    from fabric.cli.main import main

    verdict = fabric.validate(EXAMPLE, peer_response="worst", latency="250ns")
    assert "the peer stops in the 802.3 limit, reception takes 250ns, RoCE MTU 4096" in verdict.headroom
    main(["validate", str(EXAMPLE), "--peer-response", "worst", "--latency", "250ns", "--json"])
    assert json.loads(capsys.readouterr().out)["headroom"] == verdict.headroom
