"""Results for Python: a run directory as Arrow tables, data, explanations and pages."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from io import StringIO
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import pyarrow as pa

from fabric.api.words import python_words
from fabric.errors import InputErrors, Problem, RunDirError
from fabric.explain.diff import compare
from fabric.explain.drops import explain_drops
from fabric.explain.evidence import Evidence
from fabric.explain.message import explain_message, known_or_error
from fabric.explain.pfc import explain_pfc
from fabric.explain.report import compose
from fabric.explain.step import explain_step
from fabric.explain.whole_run import explain_run
from fabric.extras import require
from fabric.render.document import Document
from fabric.render.html import to_html
from fabric.render.json import to_json
from fabric.render.run_page import measured
from fabric.render.text import console_for, print_document
from fabric.render.views import VIEWS
from fabric.runs.files import write_text
from fabric.runs.folder import ENDED
from fabric.runs.left_out import left_out
from fabric.runs.rundir import RunDir
from fabric.topology.select import nearest

if TYPE_CHECKING:
    import pandas as pd

Question = Literal["run", "pfc", "drops", "message", "step"]
_RECORDED: Final = ("messages", "timeseries", "events", "counters", "truth")
"""Tables of a run directory (docs/results.md); the others are those of `fabric show`."""
TABLES: Final = (*_RECORDED, *(name for name in VIEWS if name not in _RECORDED))
_MARKS: Final = {"problem": "✗", "warning": "!", "note": "·", "good": "✓"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a verdict."""

    level: Literal["problem", "warning", "note", "good"]
    text: str

    def __str__(self) -> str:
        return f"{_MARKS[self.level]} {self.text}"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expectation of the scenario, and what was measured."""

    text: str
    """As the scenario has it: 'fct.p99 < 2ms'."""
    metric: str
    unit: str
    """Of `actual` and `limit`: ns, bytes, bit/s, ratio or count."""
    limit: float
    actual: float | None
    """None: the metric has no value, so the expectation is not met."""
    met: bool


class Explanation:
    """The answer to one question about a run."""

    def __init__(self, document: Document) -> None:
        self._document = document

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        return self._document.verdict

    @property
    def data(self) -> dict[str, Any]:
        """The whole answer as plain data, numbers in base units; the same as `fabric explain --json`, which of a whole
        run has the section `roots` in addition.
        """
        return to_json(self._document)

    def html(self) -> str:
        """The whole answer as one self-contained page."""
        return to_html(self._document)

    def __str__(self) -> str:
        """The text of `fabric explain`."""
        out = StringIO()
        print_document(self._document, console_for(out))
        return out.getvalue()

    def __repr__(self) -> str:
        return f"<fabric.Explanation {self.verdict!r}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class Result:
    """The results of a run. Files are read on demand; the run is never changed.

    Two results are equal when their digests are: the same packets at the same times. A result whose run was given no
    directory owns a temporary one, which is removed by close(), at the end of a `with` block, or with the object.
    """

    def __init__(self, directory: Path, temporary: TemporaryDirectory[str] | None = None) -> None:
        self._run = RunDir.open(directory)
        self._temporary = temporary

    @property
    def directory(self) -> Path:
        """The run directory (docs/results.md lists its files)."""
        return self._run.path

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.manifest["name"])

    @property
    def manifest(self) -> Mapping[str, Any]:
        """manifest.json: the scenario verbatim and resolved, versions, options, timings."""
        return self._run.manifest

    @property
    def status(self) -> str:
        """'done', 'stopped-no-progress', 'interrupted', or 'running' (also of a run that was killed)."""
        return self._run.status

    @property
    def digest(self) -> str:
        """SHA-256 of the result: engine state and the values of all tables. Raises: RunDirError without a result."""
        found = self.manifest.get("digest")
        if found is None:
            raise RunDirError(f"{self.directory} has no digest: the run is {self.status}", "run it to its end")
        return str(found)

    @property
    def summary(self) -> Mapping[str, Any]:
        """summary.json: summary of the run. Raises: RunDirError while the run has not ended."""
        return self._run.summary

    @property
    def headline(self) -> str:
        """The main cause or result in one sentence."""
        return str(self.summary["headline"])

    @cached_property
    def verdict(self) -> tuple[Sentence, ...]:
        """The verdict for an operator, problems first."""
        return tuple(Sentence(it["level"], it["text"]) for it in self.summary["verdict"])

    @cached_property
    def expectations(self) -> tuple[Expectation, ...]:
        """The scenario's expectations, in its order."""
        return tuple(
            Expectation(it["expectation"], it["metric"], it["unit"], it["value"], it["actual"], it["met"])
            for it in self.summary["expectations"]
        )

    @property
    def metrics(self) -> Mapping[str, float | int | None]:
        """Every metric by name and unit, such as 'fct.p99_ns' or 'drops.lossless'; None where it has no value."""
        return dict(self.summary["metrics"])

    @property
    def ok(self) -> bool:
        """Whether the run ended by itself and every expectation is met: exit code 0 of `fabric run`."""
        return self.status == "done" and all(it.met for it in self.expectations)

    # ===== tables =====

    @property
    def tables(self) -> tuple[str, ...]:
        """Names that table() takes."""
        return TABLES

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """One table as Arrow.

        Parameters
        ----------
        name       'messages', 'timeseries', 'events', 'counters' and 'truth' as the run recorded them (docs/results.md
                   describes every column); 'ports', 'queues', 'pfc', 'ecn', 'drops', 'hosts', 'arp' as `fabric show`
        columns    only these

        Raises: InputErrors for an unknown name, RunDirError for an unknown column, or where files are missing or
        damaged.
        """
        if name not in TABLES:
            raise InputErrors("table", [Problem("name", f"{name!r} is not a table", nearest(name, TABLES))])
        with python_words():
            if name == "messages":
                return self._run.messages(columns)
            if name == "timeseries":
                return self._run.timeseries(columns=columns)
            if name == "events":
                return self._run.events(columns=columns)
            found = {"counters": self._run.counters, "truth": self._run.truth}.get(
                name, lambda: VIEWS[name](self._run).table
            )()
            return found if columns is None else _selected(found, columns)

    def timeseries(self, *observables: str) -> pa.Table:
        """Changes over time of these observables, or of all; `fabric schema` lists them."""
        return self._run.timeseries(observables or None)

    def events(self, *kinds: str) -> pa.Table:
        """The event log: these kinds, or all."""
        return self._run.events(kinds or None)

    def to_pandas(self, name: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """As table(), as a pandas data frame. Raises: FabricError where pandas is not installed."""
        require("pandas", "use the Arrow table: result.table(...)")
        return self.table(name, columns).to_pandas()

    # ===== answers =====

    def explain(self, question: Question = "run", message: str | None = None) -> Explanation:
        """Explain a run: 'run' (causes first), 'pfc' (pause trees), 'drops', 'message', or
        'step' (the critical path of a schedule of transfers).

        `message` is the id of one message, for the question 'message'; without it the slowest one.
        Raises: InputErrors, RunDirError.
        """
        if message is not None and question != "message":
            raise InputErrors("explain", [Problem("message", f"has no effect on {question!r}", "ask 'message'")])
        evidence = Evidence(self._run)
        answers: dict[str, Callable[[], Document]] = {
            "run": lambda: explain_run(evidence),
            "pfc": lambda: explain_pfc(evidence),
            "drops": lambda: explain_drops(evidence),
            "message": lambda: explain_message(evidence, known_or_error(evidence, message)),
            "step": lambda: explain_step(evidence),
        }
        if question not in answers:
            raise InputErrors(
                "explain", [Problem("question", f"{question!r} is not a question", nearest(question, list(answers)))]
            )
        return Explanation(answers[question]())

    def diff(self, other: Result) -> dict[str, Any]:
        """Differences from another result: scenario, metrics, messages; the same as `fabric diff --json`."""
        return compare(self._run, other._run)

    def report_html(self) -> str:
        """The report as one self-contained page: verdict, curves, trees, and the fabric with its replay."""
        return to_html(compose(Evidence(self._run)))

    def write_report(self, path: str | PathLike[str] | None = None) -> Path:
        """Write the report; `report.html` in the run directory where no path is given. Returns: the path."""
        page = self.directory / "report.html" if path is None else Path(path)
        write_text(page, self.report_html())
        return page

    def verify(self) -> None:
        """Compare every file with its checksum. Raises: RunDirError with the damaged files."""
        self._run.verify()

    # ===== the directory =====

    def save(self, path: str | PathLike[str]) -> Result:
        """Copy the run directory to `path`, which must not exist. Returns: the result there."""
        target = Path(path)
        if target.exists():
            raise RunDirError(f"{target} exists", "give another path")
        self.verify()
        try:
            shutil.copytree(self.directory, target)
        except OSError as error:
            raise RunDirError(f"{target}: {error.strerror or error}", "give another path") from error
        return Result(target)

    def close(self) -> None:
        """Remove a temporary run directory; a directory given by the caller is kept. May be called again."""
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Result) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        digest = self.manifest.get("digest")
        return f"<fabric.Result {self.name!r}: {self.status}" + (f", digest {digest[:16]}>" if digest else ">")

    def _repr_html_(self) -> str:
        """For notebooks: verdict and expectations."""
        if self.status not in {*ENDED, "interrupted"}:
            return f"<div><strong>{escape(self.name)}</strong> {escape(self.status)}</div>"

        def shown(it: Expectation) -> str:
            return measured(it.metric, it.actual, left_out(it.metric, self.summary["metrics"]))

        lines = "".join(f"<li style='list-style:none'>{escape(str(it))}</li>" for it in self.verdict)
        rows = "".join(
            f"<tr><td>{escape(it.text)}</td><td style='text-align:right'>{escape(shown(it))}</td>"
            f"<td>{'met' if it.met else '<strong>NOT MET</strong>'}</td></tr>"
            for it in self.expectations
        )
        table = f"<table><tr><th>expectation</th><th>measured</th><th></th></tr>{rows}</table>" if rows else ""
        digest = str(self.manifest.get("digest", ""))[:16]
        return (
            f"<div><strong>{escape(self.name)}</strong> {escape(self.status)}, digest <code>{escape(digest)}</code>"
            f"<ul style='padding-left:0'>{lines}</ul>{table}</div>"
        )


def open_run(directory: str | PathLike[str]) -> Result:
    """The result in a run directory that `fabric run` or `fabric.run` wrote.

    Raises: RunDirError where there is none, or another version wrote it.
    """
    with python_words():
        return Result(Path(directory))


def _selected(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    unknown = [name for name in columns if name not in table.column_names]
    if unknown:
        raise RunDirError(f"no column {', '.join(unknown)}", f"columns are {', '.join(table.column_names)}")
    return table.select(list(columns))
