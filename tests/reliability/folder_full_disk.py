"""A disk that becomes full during a run or another command: the file is named, and no results are lost."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from fabric.scenario.estimate import machine as machines
from tests.lab.leftovers import TMPFS, new_name
from tests.reliability import worlds
from tests.reliability.command import RESULTS, call
from tests.reliability.report import Row

SIZES_KIB: Final = (
    4,
    8,
    16,
    32,
    64,
    128,
    192,
    256,
    320,
    384,
    512,
    1024,
    2048,
    2600,
    2700,
    2800,
    3072,
    4096,
    5120,
    6144,
)
"""From less than the manifest to more than the run with its checkpoints needs."""
ROOT_ONLY: Final = "needs root, to mount a tmpfs of a given size"


def rows(work: Path) -> list[Row]:
    """Three rows."""
    estimated = (
        f"`fabric run` into file systems of {len(SIZES_KIB)} sizes: finished, or exit 2 before anything is written, "
        "naming the file system and a field to change"
    )
    tried = (
        "the same where another process takes the space after the estimate was made: exit 2 naming the file and the "
        "remedy; with room made, `--resume` ends with the results of a run that had room"
    )
    written = "other commands that write a file into a full file system: exit 2 naming the file"
    if os.geteuid() != 0:
        return [Row(text, 0, "", left_out=ROOT_ONLY) for text in (estimated, tried, written)]
    whole = worlds.finished(work)
    commands = _commands(whole, worlds.scenario(work))
    return [
        Row(estimated, len(SIZES_KIB), "19: begun, and no file was named", _by_size(work, whole, _refused)),
        Row(tried, len(SIZES_KIB), "19: no file was named", _by_size(work, whole, _run)),
        Row(
            written,
            len(commands),
            "5 of the 8 that there were, and 2 that write while they run: no file was named",
            _others(work, commands),
        ),
    ]


def _by_size(work: Path, whole: Path, attempt: Callable[[Path, Path, int], Iterator[str]]) -> list[str]:
    found = {size: list(attempt(work, whole, size)) for size in SIZES_KIB}
    return [f"{size} KiB: {'; '.join(faults)}" for size, faults in found.items() if faults]


def _refused(work: Path, whole: Path, size_kib: int) -> Iterator[str]:
    with _mounted(work / "disk", size_kib) as disk:
        out = disk / "run"
        answer = call("run", worlds.scenario(work), "--out", out, "--quiet")
        if answer.code == 0:
            yield from _differences(out, whole)
            return
        if answer.code != 2 or answer.defect:
            yield f"exit {answer.code}: {answer.err.strip()[-200:]}"
        elif "on disk; there are" not in answer.err or str(disk) not in answer.err or "hint: " not in answer.err:
            yield f"not named: {answer.err.strip()[-200:]}"
        if out.exists():
            yield f"{out.name} is written"


def _run(work: Path, whole: Path, size_kib: int) -> Iterator[str]:
    with _mounted(work / "disk", size_kib) as disk:
        out = disk / "run"
        scenario = worlds.scenario(work)
        with pytest.MonkeyPatch.context() as patch:  # the estimate sees all the space that there will not be
            patch.setattr(machines, "disk", lambda _: None)
            answer = call("run", scenario, "--out", out, "--quiet", "--checkpoint-every", "0.01")
        if answer.code == 2:
            if (
                answer.defect
                or str(disk) not in answer.err
                or "No space left" not in answer.err
                or "make room" not in answer.err
            ):
                yield f"not named: {answer.err.strip()[-200:]}"
            subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
            resume = ["--resume"] if (out / "manifest.json").is_file() else []
            answer = call("run", scenario, "--out", out, "--quiet", *resume)
        if answer.code != 0:
            yield f"exit {answer.code}: {answer.err.strip()[-200:]}"
            return
        yield from _differences(out, whole)


def _differences(out: Path, whole: Path) -> Iterator[str]:
    yield from (f"{name} differs" for name in RESULTS if (out / name).read_bytes() != (whole / name).read_bytes())
    if worlds.manifest(out)["digest"] != worlds.manifest(whole)["digest"]:
        yield "another digest"


def _commands(whole: Path, scenario: Path) -> list[tuple[str | Path, ...]]:
    return [
        ("report", whole, "--out", "FILE.html"),
        ("export", "parquet", whole, "--out", "FILE.parquet"),
        ("export", "openmetrics", whole, "--out", "FILE.txt"),
        ("export", "events", whole, "--out", "FILE.jsonl"),
        ("export", "dashboards", "--out", "FILE"),
        ("alerts", "rules", "--out", "FILE"),
        ("topology", "export", scenario, "--format", "graphml", "--out", "FILE.graphml"),
        ("schema", "--scenario", "--out", "FILE.json"),
        ("scenario", "docs", "--out", "FILE.md"),
        ("schema", "--markdown", "FILE.md"),
        ("model", "docs", "--out", "FILE.md"),
        ("validate", "--list", "--out", "FILE.txt"),
        ("init", "--out", "FILE.yml"),
        ("init", "validate-example", "--out", "FILE"),
        (
            "bgp",
            "speak",
            "--peer",
            "127.0.0.1:9",
            "--peer-asn",
            "65001",
            "--asn",
            "65002",
            "--router-id",
            "10.0.0.1",
            "--local",
            "127.0.0.1",
            "--duration",
            "200ms",
            "--journal",
            "FILE.jsonl",
        ),
        (
            "serve",
            scenario,
            "--listen",
            "127.0.0.1:0",
            "--dilation",
            "1000",
            "--duration",
            "60s",
            "--log",
            "FILE.jsonl",
        ),
    ]


def _others(work: Path, commands: list[tuple[str | Path, ...]]) -> list[str]:
    failures = []
    for words in commands:
        with _mounted(work / "disk", 16) as disk:
            (disk / "filler").write_bytes(bytes(8 * 1024))
            with contextlib.suppress(OSError), (disk / "more").open("wb") as file:
                while True:
                    file.write(bytes(4096))
                    file.flush()
            target = [str(word).replace("FILE", str(disk / "target")) for word in words]
            answer = call(*target)
            if answer.code != 2 or answer.defect or str(disk) not in answer.err or "No space left" not in answer.err:
                failures.append(f"{' '.join(map(str, words[:2]))}: exit {answer.code}: {answer.err.strip()[-200:]}")
    return failures


@contextlib.contextmanager
def _mounted(path: Path, size_kib: int) -> Iterator[Path]:
    path.mkdir(exist_ok=True)
    source = f"{TMPFS}+{new_name()}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", source, str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)
