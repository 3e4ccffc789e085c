"""Lines of progress where standard error is no terminal."""

from __future__ import annotations

import io
import time

import pytest

from fabric.cli.terminal import bar
from fabric.cli.terminal.proof_progress import ProofProgress
from fabric.validate.proofs import Proof
from tests.waiting import until

PROOF = Proof("H1", "leaf1", "Ethernet0", "proven", "lost")


@pytest.fixture
def quick_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bar, "LINE_EVERY_S", 0.02)


@pytest.mark.usefixtures("quick_lines")
def test_a_proof_that_takes_long_does_not_stop_the_lines() -> None:
    out = io.StringIO()
    with ProofProgress(out, 2, quiet=False) as show:
        until(lambda: out.getvalue().count("0 of 2 findings simulated\n") >= 2, "it is said again")
        show.update([PROOF])
        done = "1 of 2 findings simulated (1 proven, 0 refuted, 0 not proven), "
        until(lambda: out.getvalue().count(done) >= 2, "what is done is said again")
    assert out.getvalue().startswith("2 findings to simulate")


@pytest.mark.usefixtures("quick_lines")
def test_quiet_and_nothing_to_do_write_nothing() -> None:
    for total, quiet in ((2, True), (0, False)):
        out = io.StringIO()
        with ProofProgress(out, total, quiet=quiet):
            time.sleep(0.05)
        assert out.getvalue() == ""
