"""Writing a run directory: claiming it, its manifest, and the results at the end."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from fabric import __version__
from fabric.errors import RunDirError
from fabric.runs import checkpoint, datagrams, endstate, files, job_summary, lock, messages, schedule, transfers
from fabric.runs.checkpoint import Checkpoint
from fabric.runs.content import Content
from fabric.runs.convergence import losses_over_time, routing_section
from fabric.runs.files import Sum
from fabric.runs.job_plans import plans_of
from fabric.runs.recorder import Recorder, write_table
from fabric.runs.rundir import FORMAT, RunDir
from fabric.runs.serving_times import serving_times
from fabric.runs.summary import Ending, summarise
from fabric.runs.topology_file import fabric_to_json
from fabric.runs.transfer_outcomes import completed
from fabric.units import PS_PER_NS

if TYPE_CHECKING:
    from fabric.dataplane.engine.counters import Snapshot
    from fabric.runs.session import Plan

ENDED: Final = frozenset({"done", "stopped-no-progress"})
"""Statuses of runs that have ended."""

_LAYOUT: Final = ("threads", "scheduler")
"""Options that change the arrays of a checkpoint and not the result."""
_RESULTS: Final = (
    files.SUMMARY,
    files.MESSAGES,
    files.TRANSFERS,
    files.TRANSFER_MESSAGES,
    files.SCHEDULE,
    files.NEEDS,
    files.DATAGRAMS,
    files.COUNTERS,
    files.TIMESERIES,
    files.EVENTS,
    files.TABLES,
)


class RunFolder:
    """A run directory that this process writes. Use `claimed(path)`."""

    def __init__(self, path: Path, check: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self.check = check
        """Raises RunDirError where this process has lost the directory."""
        self._manifest: dict[str, Any] = {}
        self._sums: dict[str, Sum] = {}
        """Checksums of the files that manifest.json lists."""

    def begin(self, plan: Plan, how: Mapping[str, Any]) -> None:
        """Write the files that are known before the first event: manifest (status running), topology, truth.

        `how` has the settings that cannot change the result: threads, scheduler, command line.
        """
        self._manifest = {
            "format": FORMAT,
            "version": __version__,
            "name": plan.name,
            "status": "running",
            "identity": plan.identity,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            **plan.about,
            "how": dict(how),
            "machine": machine(),
        }
        self._write_inputs(plan)

    def resume(self, plan: Plan, how: Mapping[str, Any]) -> Checkpoint | None:
        """Resume a run. Returns: its last checkpoint; None where it must start over, or has ended.

        Raises: RunDirError where the directory holds another run, or one of another version.
        """
        run = RunDir.open(self.path)
        manifest = run.manifest
        if manifest["version"] != __version__:
            raise RunDirError(
                f"{self.path} was written by version {manifest['version']}, this is {__version__}",
                "resume with that version, or start again with --force",
            )
        if manifest["identity"] != plan.identity:
            raise RunDirError(
                f"{self.path} holds a run of another scenario, seed, --until or --order",
                "give the same scenario and options, another --out, or --force to start again",
            )
        if manifest["status"] in ENDED:
            run.verify()
            return None
        found = checkpoint.read(self.path, plan.identity)
        if found is None:
            self.begin(plan, how)
        else:
            begun = manifest["how"]
            if any(begun[name] != how[name] for name in _LAYOUT):
                raise RunDirError(
                    f"{self.path} was begun with {' '.join(f'--{name} {begun[name]}' for name in _LAYOUT)}",
                    "its checkpoint fits no others: give the same, or leave them out",
                )
            self._manifest = {**manifest, "status": "running", "how": dict(how), "machine": machine()}
            self._write_inputs(plan)
            for name in _RESULTS:  # of an interrupted run; the manifest no longer lists them
                (self.path / name).unlink(missing_ok=True)
        return found

    def _write_inputs(self, plan: Plan) -> None:
        """Write the manifest and the other files that precede the first event. The manifest is first: it makes the
        directory a run, which --resume and --force accept.
        """
        texts = {files.TOPOLOGY: files.json_text(fabric_to_json(plan.fabric)), files.TRUTH: _lines(plan.truth)}
        self._sums = {name: Sum.of_bytes(files.encoded(text)) for name, text in texts.items()}
        self._write_manifest()
        for name, text in texts.items():
            files.write_text(self.path / name, text)

    def replace_truth(self, truth: Sequence[Mapping[str, Any]]) -> None:
        """Write the truth again, with injected faults; end() makes it part of the run."""
        del self._sums[files.TRUTH]
        self._write_manifest()
        files.write_text(self.path / files.TRUTH, _lines(truth), self._sums)

    def _write_manifest(self) -> None:
        self._manifest["files"] = files.listing(self._sums)
        files.write_index(self.path / files.MANIFEST, self._manifest)

    def write_results(
        self, plan: Plan, recorder: Recorder, now: Snapshot, ending: Ending, paths: pa.Array | None, engine_digest: str
    ) -> tuple[dict[str, Any], str]:
        """Write every table and summary.json; returns the summary, and the digest of the engine and all tables."""
        self.check()
        content = Content()
        recorder.finish(now, content, self._sums)
        if paths is None:
            paths = pa.nulls(len(now.messages) + len(now.transfers), pa.list_(pa.string()))
        table = messages.table(now, plan.ideal_ps, plan.labels, paths[: len(now.messages)])
        content.add_table(files.MESSAGES, table)
        write_table(self.path / files.MESSAGES, table, self._sums)
        if plan.transfers is not None:
            made = {
                files.TRANSFERS: transfers.table(now, plan.transfers, paths[len(now.messages) :]),
                files.SCHEDULE: schedule.columns_table(plan.transfers.schedule, plan.transfers.ranks),
                files.NEEDS: schedule.needs_table(plan.transfers.schedule),
            }
            for name, table in made.items():
                content.add_table(name, table)
                write_table(self.path / name, table, self._sums)
        if plan.datagrams:
            table = datagrams.table(now, plan.datagrams)
            content.add_table(files.DATAGRAMS, table)
            write_table(self.path / files.DATAGRAMS, table, self._sums)
        endstate.write(self.path, now, plan.ideal_ps, content, self._sums)
        routing = (
            None
            if plan.control is None
            else routing_section(
                plan.control, now, plan.ideal_ps, losses_over_time(self.path), plan.sampling_ps // PS_PER_NS
            )
        )
        sent = (
            completed(self.path / files.TRANSFER_MESSAGES, now, plan.ideal_transfers_ps)
            if recorder.records_messages
            else None
        )
        bounds = job_summary.step_bounds(now, plan.transfers, plans_of(plan.about))
        summary = summarise(
            now, plan.ideal_ps, plan.expectations, ending, recorder.recorded, recorder.unrecorded, routing, plan.truth,
            sent,
            serving_times(plan.serving, now, plan.transfers),
            job_summary.step_times(bounds),
            nics_spray=plan.nics_spray,
            reads_marks=plan.reads_marks,
        )  # fmt: skip
        if plan.transfers is not None:
            summary["transfers"] = transfers.summary(now, plan.transfers)
            summary |= job_summary.sections(now, plan.transfers, bounds)
        if plan.datagrams:
            summary["datagrams"] = datagrams.summary(now)
        files.write_json(self.path / files.SUMMARY, summary, self._sums)
        return summary, content.hexdigest(engine_digest)

    def end(self, status: str, timings: Mapping[str, Any], **facts: Any) -> None:  # noqa: ANN401  JSON values
        """Write the final manifest: with it the results become part of the run."""
        self.check()
        self._manifest = {**self._manifest, "status": status, **facts, "timings": dict(timings)}
        self._write_manifest()


def _lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(dict(it)) + "\n" for it in rows)


@contextmanager
def claimed(path: Path, *, resume: bool = False, force: bool = False) -> Iterator[RunFolder]:
    """The directory, created where it is missing, locked while this process writes to it.

    Raises: RunDirError where it is in use, or not empty and neither resumed nor forced.
    """
    _held(path, resume=resume, force=force, locked=False)  # before the first write to it
    path.mkdir(parents=True, exist_ok=True)
    with lock.held(path) as check:
        held = _held(path, resume=resume, force=force, locked=True)  # again: another run may have ended just now
        if held and not resume:
            _clear(path)
        yield RunFolder(path, check)


def _held(path: Path, *, resume: bool, force: bool, locked: bool) -> bool:
    """Whether a directory is not empty. Raises: RunDirError where the options do not allow to write to it."""
    if path.exists() and not path.is_dir():
        raise RunDirError(f"{path} is a file", "give another --out")
    names = {it.name for it in path.iterdir() if not _is_residue(it)} if path.is_dir() else set()
    if resume and files.MANIFEST not in names:
        raise RunDirError(f"{path} holds no run to resume", "leave --resume out to start one")
    if names and not resume and not force:
        owner = None if locked else lock.writer(path)
        if owner is not None:
            raise RunDirError(f"{path} is being written by {owner}", "wait for it, or give another --out")
        raise RunDirError(
            f"{path} is not empty", "give another --out, --resume to take up the run in it, or --force to replace it"
        )
    if names and not resume and files.MANIFEST not in names:
        raise RunDirError(
            f"{path} is not empty and holds no run: --force would have nothing of ours to replace", "give another --out"
        )
    return bool(names)


def _is_residue(path: Path) -> bool:
    """Whether the files may be those of a run that was killed before it began."""
    return path.name == lock.NAME or path.name.endswith(files.PENDING_SUFFIX)


def machine() -> dict[str, Any]:
    """The machine and versions of a run, for its timings and to reproduce it."""
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "processor": _processor(),
        **{name: version(name) for name in ("numpy", "numba", "pyarrow")},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = (
        [
            line.partition(":")[2].strip()
            for line in info.read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ]
        if info.is_file()
        else []
    )
    return names[0] if names else platform.processor()


def _clear(path: Path) -> None:
    """Remove an older run, the manifest first, so that no reader takes the rest as complete; other files stay."""
    (path / files.MANIFEST).unlink(missing_ok=True)
    for name in (*_RESULTS, files.TOPOLOGY, files.TRUTH):
        (path / name).unlink(missing_ok=True)
    checkpoint.forget(path)
