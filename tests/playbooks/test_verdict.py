"""One verdict of a playbook, on its page and on the console: the sign never contradicts a sentence below it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from fabric.render.document import Status
from playbooks.runner import AlertResult, Result, _verdict, steps_table

PLAYBOOK = cast("Any", SimpleNamespace(title="A storm"))
MET = cast("Any", SimpleNamespace(met=True, step=SimpleNamespace(step="expect", text="The storm begins.")))
ACT = cast("Any", SimpleNamespace(met=None, step=SimpleNamespace(step="act", text="Shut it.")))
FAILED = cast("Any", SimpleNamespace(met=False, step=SimpleNamespace(step="verify", text="It ends.")))
DONE = cast("Any", SimpleNamespace(status="complete", exit_code=0))
LIVELOCK = "livelock: 14 queue pairs not done sent mostly repeats to the end"
LOST = "3 packets of lossless classes dropped for lack of buffer"


def result(steps: list[Any], problems: tuple[str, ...]) -> Result:
    verdict = _verdict(PLAYBOOK, steps, None, DONE, problems)
    return Result(PLAYBOOK, DONE, tuple(steps), None, cast("Any", None), cast("Any", None), verdict, problems)


@pytest.mark.parametrize(
    ("steps", "problems", "status", "said"),
    [
        ([MET, ACT], (), Status.GOOD, "A storm: reproduced, mitigated and verified; its check was met."),
        ([MET, ACT], (LIVELOCK,), Status.WARNING, f"was met. The run shows a problem: {LIVELOCK}."),
        ([MET], (LIVELOCK, LOST), Status.WARNING, f"was met. The run shows 2 problems: {LIVELOCK}; {LOST}."),
        ([MET, FAILED], (LIVELOCK,), Status.BAD, "was not resolved (1 of 2 checks failed): It ends."),
    ],
)
def test_a_verdict_is_green_only_where_the_run_shows_no_problem(
    steps: list[Any], problems: tuple[str, ...], status: Status, said: str
) -> None:
    found = result(steps, problems)
    assert found.status is status
    assert found.verdict.endswith(said)


@pytest.mark.parametrize(
    ("alerts", "said"),
    [(None, "its check was met."), (AlertResult(("FabricPfcStorm",), (), ()), "all 2 checks were met.")],
)
def test_the_number_of_checks_is_that_of_the_rows_that_say_yes(alerts: AlertResult | None, said: str) -> None:
    verdict = _verdict(PLAYBOOK, [MET, ACT], alerts, DONE)
    done = Result(PLAYBOOK, DONE, (), alerts, cast("Any", None), cast("Any", None), verdict)
    assert verdict.endswith(said)
    assert len(steps_table(done).rows) == (alerts is not None)
