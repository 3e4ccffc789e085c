"""Scenarios that are too large for the machine: refused at once, with the field to change, in little memory.

Each is a command in a separate process with limits: MEMORY_BYTES of address space, FILE_BYTES a file. What begins to
simulate instead of refusing is ended after LONG_S and has failed, and so has what takes more than RESIDENT_BYTES.
"""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from tests.reliability.report import Row

MEMORY_BYTES: Final = 6_000_000_000
FILE_BYTES: Final = 20_000_000
RESIDENT_BYTES: Final = 600_000_000
LONG_S: Final = 60.0
SEED: Final = 16

MEASURED: Final = (
    "import sys; from fabric.cli.main import entry; from bench.machine import peak_rss_bytes\n"
    "file = sys.argv.pop(1)\n"
    "try:\n    entry()\nfinally:\n    open(file, 'w').write(str(peak_rss_bytes()))"
)
"""`fabric` with its peak memory in a file. Rusage of wait4 tells the peak of the parent where that is larger, because
it survives exec: a pytest worker may itself hold more than RESIDENT_BYTES."""

Case = tuple[str, dict[str, Any], Sequence[str]]
"""(name, scenario, fields of which one must be named)."""


def rows(work: Path, each: int = 6) -> list[Row]:
    """One row for each kind of size, with so many cases."""
    draw = random.Random(SEED)
    found = []
    for kind, (make, before) in KINDS.items():
        cases = [(f"{kind}-{number}", *make(draw)) for number in range(each)]
        failures = [f"{name}: {wrong}" for name, raw, fields in cases if (wrong := _tried(work, raw, fields))]
        found.append(
            Row(
                f"{kind}: `fabric run` refuses at once (exit 2), names the field, and takes less than 600 MB",
                len(cases),
                before,
                failures,
            )
        )
    found.append(_other_verbs(work))
    return found


def some_rows(work: Path) -> list[Row]:
    """The same rows with a third of the cases."""
    return rows(work, each=2)


def _tried(work: Path, raw: Mapping[str, Any], fields: Sequence[str]) -> str:
    file = work / "oversized.yml"
    file.write_text(yaml.safe_dump({"name": "oversized", **raw}, sort_keys=False), encoding="utf-8")
    return _refused(["run", str(file), "--out", str(work / "run"), "--force", "--quiet"], fields)


def _refused(words: Sequence[str], fields: Sequence[str]) -> str:
    """What was wrong with how a command ended; '' where it refused as it should."""
    code, err, resident = ended_limited(words)
    last = (err.strip() or "no output").splitlines()[-1][:120]
    if code != 2 or "Traceback" in err:
        return f"exit {code} in {resident / 1e6:.0f} MB: {last}"
    if not any(field in err for field in fields):
        return f"none of {', '.join(fields)} is named: {last}"
    return f"{resident / 1e6:.0f} MB of memory" if resident > RESIDENT_BYTES else ""


def ended_limited(words: Sequence[str]) -> tuple[int, str, int]:
    """(exit status, standard error, peak memory) of a command under the limits; -9 and 0 where it had to be ended."""
    with tempfile.TemporaryDirectory() as folder:
        peak = Path(folder, "peak_bytes")
        process = subprocess.Popen(
            [sys.executable, "-c", MEASURED, str(peak), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=_limit,  # noqa: PLW1509
        )
        try:
            err = process.communicate(timeout=LONG_S)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            err = process.communicate()[1]
        return process.returncode, err.decode(errors="replace"), int(peak.read_text()) if peak.exists() else 0


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write beyond the limit is then an error, as a full disk is


# ===== what is too large =====


def _fabric(leaves: int = 8, hosts: int = 16, rate: str = "100G") -> dict[str, Any]:
    return {
        "kind": "leaf-spine",
        "leaves": leaves,
        "spines": 8,
        "hosts_per_leaf": hosts,
        "host_rate": rate,
        "fabric_rate": rate,
    }


def _messages(draw: random.Random) -> tuple[dict[str, Any], Sequence[str]]:
    load = draw.choice(
        [
            {"kind": "all-to-all", "size": "1KB", "repeat": draw.randint(300, 2000), "interval": "20us"},
            {
                "kind": "incast",
                "receiver": "host1",
                "senders": ["*"],
                "size": "100B",
                "repeat": draw.randint(50_000, 100_000),
                "interval": "2us",
            },
            {"kind": "permutation", "size": "2KB", "repeat": draw.randint(50_000, 100_000), "interval": "5us"},
            {"kind": "poisson", "sizes": "fixed", "size": "1KB", "load": 0.5, "stop": f"{draw.randint(10, 20)}ms"},
        ]
    )
    return {"topology": _fabric(), "workload": [load], "run": {"duration": "1s"}}, ["workload[0]"]


def _queue_pairs(draw: random.Random) -> tuple[dict[str, Any], Sequence[str]]:
    if draw.random() < 0.5:
        return {
            "topology": _fabric(draw.choice([128, 256])),
            "workload": [{"kind": "all-to-all", "size": "1KB"}],
            "run": {"duration": "1s"},
        }, ["workload[0].hosts", "topology"]
    return {
        "topology": _fabric(),
        "workload": [{"kind": "incast", "receiver": "host1", "senders": ["host2"], "size": "1024GiB"}],
        "transport": {"mtu": "256B"},
        "run": {"duration": f"{draw.randint(100, 400)}s"},
    }, ["workload[0].size"]


def _samples(draw: random.Random) -> tuple[dict[str, Any], Sequence[str]]:
    interval, size = draw.choice([("1ps", "1MB"), ("1ns", "50MB"), ("10ns", "500MB"), ("100ps", "1MB")])
    return {
        "topology": _fabric(2, draw.randint(2, 16)),
        "workload": [{"kind": "permutation", "size": size}],
        "telemetry": {"interval": interval},
        "run": {"duration": "1s"},
    }, ["telemetry.interval"]


def _duration(draw: random.Random) -> tuple[dict[str, Any], Sequence[str]]:
    load = draw.choice(
        [
            {"kind": "poisson", "sizes": "websearch", "load": 0.8, "stop": "10s"},
            {"kind": "permutation", "size": f"{draw.randint(200, 1000)}GB"},
        ]
    )
    return {
        "topology": _fabric(8, 16, "400G"),
        "workload": [load],
        "telemetry": {"interval": "100ms"},
        "run": {"duration": f"{draw.randint(10, 30)}s"},
    }, ["workload[0]", "run.duration"]


def _hosts(draw: random.Random) -> tuple[dict[str, Any], Sequence[str]]:
    topology = draw.choice(
        [
            _fabric(draw.randint(2000, 4096), 24),
            {
                "kind": "clos3",
                "pods": draw.randint(48, 64),
                "leaves_per_pod": 32,
                "spines_per_pod": 16,
                "super_spines": 64,
                "hosts_per_leaf": 32,
                "host_rate": "100G",
                "fabric_rate": "100G",
            },
            {
                "kind": "dual-tor",
                "racks": draw.randint(1000, 1600),
                "hosts_per_rack": 32,
                "spines": 8,
                "host_rate": "100G",
                "fabric_rate": "100G",
            },
        ]
    )
    return {"topology": topology, "workload": [{"kind": "permutation", "size": "1KB"}], "run": {"duration": "1ms"}}, [
        "topology"
    ]


def _disk(draw: random.Random) -> tuple[dict[str, Any], Sequence[str]]:
    return {
        "topology": _fabric(),
        "workload": [{"kind": "permutation", "size": f"{draw.randint(20, 60)}MB"}],
        "telemetry": {"interval": "100ns"},
        "run": {"duration": "1s"},
    }, ["telemetry."]


def _control(draw: random.Random) -> tuple[dict[str, Any], Sequence[str]]:
    topology = {**_fabric(draw.randint(300, 500), 64), "spines": 64}
    return {
        "topology": topology,
        "workload": [{"kind": "permutation", "size": "1KB"}],
        "routing": "bgp",
        "vxlan": {},
        "run": {"duration": "1ms"},
    }, ["topology.leaves"]


_ALL: Final = "6 of 6: began, and were ended after 14 s"
KINDS: Final[Mapping[str, tuple[Callable[[random.Random], tuple[dict[str, Any], Sequence[str]]], str]]] = {
    "more messages than fit the memory": (_messages, _ALL),
    "more queue pairs than fit the memory, or more packets than one can number": (_queue_pairs, _ALL),
    "more samples than a run can keep": (_samples, _ALL),
    "hours of simulation without --yes, 10 s at 400G": (_duration, "2 of 6: began, and were ended after 14 s"),
    "fabrics larger than the memory": (_hosts, _ALL),
    "series larger than a file may be": (_disk, _ALL),
    "control planes larger than the memory": (_control, _ALL),
}
"""Kind -> (maker, how many of 6 failed before)."""


def _other_verbs(work: Path) -> Row:
    raw, fields = _messages(random.Random(SEED))
    file = work / "others.yml"
    file.write_text(yaml.safe_dump({"name": "others", **raw}, sort_keys=False), encoding="utf-8")
    corpus = work / "corpus.yml"
    corpus.write_text(
        yaml.safe_dump({"seeds": [1], "held_out": [2], "cases": [{"scenario": file.name}]}), encoding="utf-8"
    )
    verbs = (
        ["run", str(file), "--estimate"],
        ["serve", str(file), "--listen", "127.0.0.1:0"],
        ["alerts", "corpus", "--corpus", str(corpus)],
        ["scenario", "check", str(file)],
        ["path", "host1", "host2", str(file)],
    )
    failures = []
    for words in verbs:
        wrong = _refused(words, fields)
        if words[-1] == "--estimate":  # it answers, on standard output, and exits 1
            code, err, resident = ended_limited(words)
            wrong = "" if code == 1 and resident < RESIDENT_BYTES and not err else f"exit {code}: {err[-100:]}"
        if wrong:
            failures.append(f"{' '.join(words[:2])}: {wrong}")
    return Row(
        "other verbs with more messages than fit the memory: the same, and `run --estimate` tells it (exit 1)",
        len(verbs),
        "3 of 3 that were tried (serve, alerts corpus, scenario check): began, and were ended after 14 s",
        failures,
    )
