"""Checkpoints, parts and manifests that are whole and not this run's: refused at once with a remedy, or harmless."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from tests.reliability import worlds
from tests.reliability.command import RESULTS, call
from tests.reliability.report import Row

BEFORE: Final = "28: other results with exit 0 (14), traceback (8), no remedy (6)"


def rows(work: Path) -> list[Row]:
    """One row; every case is a folder of a killed run with one replaced file."""
    whole, killed = worlds.finished(work), worlds.killed(work)
    others = {"another seed": worlds.killed(work, "seed", seed=4), "another size": worlds.killed(work, "size", "800KB")}
    case = work / "case"
    failures: list[str] = []
    cases = _cases(killed, others, whole)
    for text, change in cases.items():
        shutil.copytree(killed, case)
        change(case)
        faults = _resume(work, case, whole)
        failures += [f"{text}: {'; '.join(faults)}"] if faults else []
        shutil.rmtree(case)
    return [
        Row(
            "files of another run or another version in a killed run's folder, absent files, files that are "
            "folders, links or pipes: `--resume` refuses with a remedy before it simulates (exit 2), or ends with "
            "the digest and the bytes of the whole run",
            len(cases),
            BEFORE,
            failures,
        )
    ]


def _cases(killed: Path, others: dict[str, Path], whole: Path) -> dict[str, Callable[[Path], object]]:
    found: dict[str, Callable[[Path], object]] = {}
    for name, other in others.items():
        for what in ("checkpoint", "parts", "manifest.json", "topology.json", "truth.jsonl"):
            found[f"{what} of {name}"] = partial(_copy, other, (what,))
        found[f"checkpoint and parts of {name}"] = partial(_copy, other, ("checkpoint", "parts"))
    found["checkpoint.json of another seed"] = partial(_copy, others["another seed"], ("checkpoint/checkpoint.json",))
    for what in ("checkpoint", "parts", "topology.json", "truth.jsonl", "manifest.json", "checkpoint/checkpoint.json"):
        found[f"no {what}"] = partial(_remove, what)
        found[f"{what} is a pipe"] = partial(_pipe, what)
        found[f"{what} is a folder"] = partial(_folder, what)
        found[f"{what} is a broken link"] = partial(_link, what)
    for what in ("engine", "recorder"):
        found[f"no {what} file"] = partial(_change, what, lambda path: path.unlink())
        found[f"{what} file is another archive"] = partial(_change, what, _archive)
        found[f"{what} file is text"] = partial(_change, what, lambda path: path.write_text("not an archive"))
    found["no first part"] = lambda case: _first_part(case).unlink()
    found["first two parts exchanged"] = _exchange
    found["a part more"] = lambda case: shutil.copy(_first_part(case), case / "parts" / "series-900000.parquet")
    found["results of a finished run beside the checkpoint"] = partial(_copy, whole, RESULTS)
    for text in ("", "{}", "[]", "null", "7", '"run"', '{"format": 3}', "[" * 10_000, '{"a": 1e999}', "\ufeff{}"):
        for what in ("manifest.json", "checkpoint/checkpoint.json"):
            found[f"{what} is {text[:12]!r}"] = partial(_write, what, text)
    for key in ("version", "identity", "status", "how", "format", "files"):
        found[f"manifest.json without {key}"] = partial(_edit, key, None)
        found[f"manifest.json with another {key}"] = partial(_edit, key, "other")
    return found


def _resume(work: Path, case: Path, whole: Path) -> list[str]:
    answer = call("run", worlds.scenario(work), "--out", case, "--resume", "--quiet")
    if answer.defect:
        return [answer.defect]
    if answer.code == 2:
        return [] if "hint:" in answer.err and str(case) in answer.err else [f"no remedy: {answer.err.strip()}"]
    return [
        f"{name} differs from the whole run's"
        for name in RESULTS
        if not (case / name).is_file() or (case / name).read_bytes() != (whole / name).read_bytes()
    ]


def _copy(other: Path, what: tuple[str, ...], case: Path) -> None:
    for name in what:
        if (other / name).is_dir():
            shutil.rmtree(case / name)
            shutil.copytree(other / name, case / name)
        else:
            shutil.copy(other / name, case / name)


def _remove(what: str, case: Path) -> None:
    shutil.rmtree(case / what) if (case / what).is_dir() else (case / what).unlink()


def _pipe(what: str, case: Path) -> None:
    _remove(what, case)
    os.mkfifo(case / what)


def _folder(what: str, case: Path) -> None:
    _remove(what, case)
    (case / what).mkdir()


def _link(what: str, case: Path) -> None:
    _remove(what, case)
    (case / what).symlink_to("nowhere")


def _write(what: str, text: str, case: Path) -> None:
    (case / what).write_text(text, encoding="utf-8")


def _change(what: str, change: Callable[[Path], object], case: Path) -> None:
    number = json.loads((case / "checkpoint" / "checkpoint.json").read_text(encoding="utf-8"))["number"]
    change(case / "checkpoint" / f"{what}-{number:06}.npz")


def _archive(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, unknown=np.arange(3))


def _first_part(case: Path) -> Path:
    return case / "parts" / "series-000001.parquet"


def _exchange(case: Path) -> None:
    second = case / "parts" / "series-000002.parquet"
    _first_part(case).rename(case / "parts" / "aside")
    second.rename(_first_part(case))
    (case / "parts" / "aside").rename(second)


def _edit(key: str, value: str | None, case: Path) -> None:
    """A manifest that was written so, its own checksum included."""
    about = worlds.manifest(case)
    about.pop(key, None)
    if value is not None:
        about[key] = value
    try:
        from fabric.runs.files import write_index as write
    except ImportError:  # measured on a commit without checksums
        from fabric.runs.files import write_json as write
    write(case / "manifest.json", about)
