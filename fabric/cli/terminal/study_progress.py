"""Progress of many runs: a bar on a terminal, a line now and then elsewhere, nothing with --quiet."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Self, TextIO

from fabric.cli.terminal.bar import Bar
from fabric.cli.terminal.compiler_note import BEFORE_OTHERS
from fabric.studies.code import is_first_use
from fabric.studies.sweep import Standing
from fabric.units import count, format_duration_s


class StudyProgress:
    """A context manager; update() takes how far a study is."""

    def __init__(self, out: TextIO, *, quiet: bool) -> None:
        self._out = out
        self._bar = Bar(out, quiet=quiet)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def begins(self, runs: int, where: str, estimated_s: float) -> None:
        """Say what begins."""
        if not self._bar.quiet:
            with suppress(OSError):
                about = format_duration_s(estimated_s)
                print(f"{count(runs, 'run')} on {where}, about {about}".replace("about less", "less"), file=self._out)
                if is_first_use():
                    print(BEFORE_OTHERS, file=self._out, flush=True)

    def update(self, at: Standing) -> None:
        """Show how far the study is."""
        self._bar.show(at.done, at.total, standing_text(at))


def standing_text(at: Standing) -> str:
    """'120 of 600 runs, 2 failed, about 3 min left'; of a search 'trial 12 of 40, 80 of 240 runs, ...'."""
    parts = [f"{at.done:,} of {at.total:,} runs"]
    if at.all_trials:
        under_way = at.trials < at.all_trials
        parts.insert(0, f"trial {at.trials + 1:,} of {at.all_trials:,}" if under_way else f"{at.trials:,} trials done")
    if at.failed:
        parts.append(f"{at.failed:,} failed")
    if at.eta_s is not None:
        parts.append(f"about {format_duration_s(at.eta_s)} left")
    return ", ".join(parts).replace("about less", "less")
