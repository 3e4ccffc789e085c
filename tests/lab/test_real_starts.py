"""Switches that crash and start again as scenarios tell it, with an event for every cable and every port of a host."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.lab.compare import stages_of
from fabric.show.subject import load_subject
from tests.lab.routers import REAL
from tests.lab.test_laboratory import differences_text, simulate

SCENARIO = """\
name: starts
topology:
  kind: custom
  nodes:
    - {name: leaf1, role: leaf}
    - {name: leaf2, role: leaf}
    - {name: leaf3, role: leaf}
    - {name: spine1, role: spine}
    - {name: spine2, role: spine}
    - {name: h1, role: host}
    - {name: h2, role: host}
    - {name: h3, role: host}
  links:
    - {a: leaf1, b: spine1, rate: 100G, cable: 3m, count: 2}
    - {a: leaf2, b: spine1, rate: 100G, cable: 3m}
    - {a: leaf3, b: spine1, rate: 100G, cable: 3m}
    - {a: spine2, b: leaf1, rate: 100G, cable: 3m}
    - {a: leaf2, b: spine2, rate: 100G, cable: 3m}
    - {a: leaf3, b: spine2, rate: 100G, cable: 3m}
    - {a: h1, b: leaf1, rate: 100G, cable: 3m}
    - {a: h2, b: leaf2, rate: 100G, cable: 3m}
    - {a: h3, b: leaf3, rate: 100G, cable: 3m}
routing: bgp
bgp: {unnumbered: UNNUMBERED}
vxlan: {}
workload:
  - {kind: messages, messages: [{id: a, src: h1, dst: h2, size: 1MB}]}
faults:
FAULTS
run: {duration: 10s}
"""
CRASHES = {
    "a spine with two cables to one leaf": "  - {kind: switch-crash, switch: spine1, at: 10ms, until: 20ms}",
    "a leaf with a host, while a cable of it is cut": """\
  - {kind: link-down, link: leaf1--spine1#0, at: 5ms, until: 30ms}
  - {kind: switch-crash, switch: leaf1, at: 10ms, until: 20ms}""",
    "a leaf that a host has moved to": """\
  - {kind: mac-move, host: h1, to: leaf2, at: 5ms}
  - {kind: switch-crash, switch: leaf2, at: 5s, until: 6s}
  - {kind: bgp-crash, switch: leaf2, at: 8s, until: 9s}""",
    "a leaf that a host has moved to and spoken at once": """\
  - {kind: mac-move, host: h1, to: leaf2, at: 5ms, arps: 1}
  - {kind: bgp-crash, switch: leaf2, at: 8s, until: 9s}""",
    "two neighbours, one of them hung": """\
  - {kind: switch-crash, switch: spine2, at: 10ms, until: 40ms, carrier: kept}
  - {kind: switch-crash, switch: leaf2, at: 20ms, until: 30ms}""",
}


@pytest.mark.parametrize("unnumbered", [pytest.param(it, marks=REAL) for it in (False, True)])
@pytest.mark.parametrize("crash", CRASHES)
def test_real_frr_and_the_model_agree_after_every_event_of_a_crash_and_a_start(
    crash: str, unnumbered: bool, tmp_path: Path
) -> None:
    path = tmp_path / "starts.yml"
    path.write_text(
        SCENARIO.replace("UNNUMBERED", str(unnumbered).lower()).replace("FAULTS", CRASHES[crash]), encoding="utf-8"
    )
    control = load_subject(path, []).placed.control
    assert control is not None
    stages = simulate(control.plan, control.config, list(stages_of(control.events)))
    assert differences_text(stages) == ""
    assert len(stages) >= 4
