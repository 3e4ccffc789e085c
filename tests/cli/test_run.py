"""The command `fabric run`: exit codes, refusals, and a process that is killed at any time."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from fabric.cli.main import main
from tests.forked import fabric
from tests.waiting import LIMIT_S, until

SCENARIO = """\
name: kill-me
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 8, host_rate: 100G, fabric_rate: 400G}
switches: {asic: trident3}
workload:
  - {kind: permutation, size: SIZE}
telemetry: {interval: 50us}
run: {duration: 50ms, seed: 3}
expectations: [messages.done == 16]
"""
FINAL = (
    "summary.json",
    "topology.json",
    "messages.parquet",
    "counters.parquet",
    "timeseries.parquet",
    "events.parquet",
    "truth.jsonl",
)
Capture = pytest.CaptureFixture[str]


def scenario(folder: Path, size: str = "100KB", interval: str = "50us") -> Path:
    path = folder / "kill-me.yml"
    path.write_text(SCENARIO.replace("SIZE", size).replace("50us", interval), encoding="utf-8")
    return path


def start(*words: str | Path, slow: bool = False) -> subprocess.Popen[str]:
    """A separate process; slow: the kernels as plain Python, so that a small run lasts long enough to be killed."""
    env = {"NUMBA_DISABLE_JIT": "1"} if slow else None
    return fabric(*words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until the run writes there, or has ended."""
    until(lambda: path.exists() or process.poll() is not None, f"{path} is written")


def wait_for_checkpoints(out: Path, process: subprocess.Popen[str], count: int) -> None:
    """Until the run has written so many more checkpoints, or has ended."""
    index, seen = out / "checkpoint" / "checkpoint.json", set[int]()

    def enough() -> bool:
        with suppress(FileNotFoundError):
            seen.add(index.stat().st_mtime_ns)
        return len(seen) > count or process.poll() is not None

    until(enough, f"{count} more checkpoints are written")


def test_a_run_that_meets_its_expectations_exits_0_and_says_where_it_is(tmp_path: Path, capsys: Capture) -> None:
    assert main(["run", str(scenario(tmp_path)), "--out", str(tmp_path / "out"), "--quiet", "--check"]) == 0
    out, err = capsys.readouterr()
    assert "all 16 messages done" in out
    assert f"results in {tmp_path / 'out'}" in out
    assert err == ""


def test_an_expectation_that_is_not_met_exits_1(tmp_path: Path, capsys: Capture) -> None:
    code = main(
        [
            "run",
            str(scenario(tmp_path)),
            "--out",
            str(tmp_path / "out"),
            "--quiet",
            "--set",
            "expectations=[messages.done > 16]",
        ]
    )
    assert code == 1
    assert re.search(r"messages.done > 16\s+16\s+NOT MET", capsys.readouterr().out)


def test_json_holds_the_summary_and_the_same_digest_for_any_scheduler(tmp_path: Path, capsys: Capture) -> None:
    digests = set()
    for number, words in enumerate((["--threads", "1"], ["--threads", "2"], ["--scheduler", "sequential"])):
        command = ["run", str(scenario(tmp_path)), "--out", str(tmp_path / str(number)), "--quiet", "--json", *words]
        assert main(command) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["summary"]["metrics"]["messages.done"] == 16
        digests.add(found["digest"])
    assert len(digests) == 1


def test_seed_decides_the_result(tmp_path: Path, capsys: Capture) -> None:
    digests = []
    for number, seed in enumerate(("3", "4", "3")):
        out = tmp_path / str(number)
        main(["run", str(scenario(tmp_path)), "--out", str(out), "--quiet", "--json", "--seed", seed])
        digests.append(json.loads(capsys.readouterr().out)["digest"])
    assert digests[0] == digests[2] != digests[1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--until", "5"], "has no unit"),
        (["--until", "60ms"], "not within the scenario's duration"),
        (["--threads", "0"], "0 threads are not possible"),
        (["--resume"], "the run is not named"),
        (["--force"], "has no effect without --out"),
        (["--scheduler", "sequential", "--threads", "2"], "has one"),
        (["--checkpoint-every", "-1"], "is not a number of seconds"),
        (["--metrics", "nowhere"], "not an address"),
        (["--tls-cert", "a", "--tls-key", "b", "--allow-host", "x"], "3 problems"),
        (["--tls-client-ca", "a"], "without --metrics"),
        (["--metrics", "127.0.0.1:0", "--tls-key", "a"], "without --tls-cert"),
        (["--set", "run.sede=4"], "sede"),
    ],
)
def test_options_that_cannot_be_meant_exit_2_and_name_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, words: list[str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(scenario(tmp_path)), *words]) == 2
    err = capsys.readouterr().err
    assert expected in err
    assert "Traceback" not in err
    assert not list(tmp_path.glob("runs/*/summary.json"))


def test_all_problems_of_the_options_are_told_together(tmp_path: Path, capsys: Capture) -> None:
    assert main(["run", str(scenario(tmp_path)), "--threads", "0", "--until", "soon", "--resume"]) == 2
    assert "3 problems" in capsys.readouterr().err


def test_a_scenario_that_is_not_there_exits_2_with_its_path(tmp_path: Path, capsys: Capture) -> None:
    assert main(["run", str(tmp_path / "absent.yml")]) == 2
    assert "absent.yml" in capsys.readouterr().err


def test_default_folders_are_numbered_and_never_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["run", str(scenario(tmp_path)), "--quiet"]) == 0
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["kill-me", "kill-me-2"]


def test_a_pause_storm_without_a_watchdog_ends_for_want_of_progress(tmp_path: Path, capsys: Capture) -> None:
    sets = [
        "faults=[{kind: pause-storm, hosts: ['*'], at: 5us, duration: 40ms}]",
        "run.no_progress=1ms",
        "expectations=[]",
    ]
    words = [word for item in sets for word in ("--set", item)]
    assert main(["run", str(scenario(tmp_path)), "--out", str(tmp_path / "out"), "--quiet", *words]) == 1
    assert "nothing was delivered after" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["status"] == "stopped-no-progress"


def test_metrics_are_served_while_it_runs(tmp_path: Path) -> None:
    """The run would take much longer than the question, and is ended then."""
    process = start("run", scenario(tmp_path, "300MB"), "--out", tmp_path / "out", "--metrics", "127.0.0.1:0")
    assert process.stderr is not None

    def answer() -> str:
        assert process.poll() is None, "the run ended before it was asked"
        with suppress(OSError), urllib.request.urlopen(url, timeout=60) as found:  # noqa: S310  our own address
            text: str = found.read().decode()
            return text
        return ""

    try:
        line = next(line for line in process.stderr if "metrics at" in line)
        url = line.split()[-1]
        wait_for(tmp_path / "out" / "manifest.json", process)
        assert "fabric_port_transmit_bytes_total" in until(answer, "the metrics are served")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def test_ctrl_c_ends_with_130_and_usable_results(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start("run", scenario(tmp_path, "300MB"), "--out", out, "--checkpoint-every", "0.05")
    wait_for(out / "checkpoint" / "checkpoint.json", process)
    process.send_signal(signal.SIGINT)
    expected, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert "resume it with" in expected
    assert json.loads((out / "manifest.json").read_text())["status"] == "interrupted"
    assert main(["show", str(out), "messages", "--json"]) == 0


def test_killed_at_any_moment_and_resumed_ends_with_the_same_digest_and_files(tmp_path: Path) -> None:
    path, whole, cut = scenario(tmp_path, "100KB", "500ns"), tmp_path / "whole", tmp_path / "cut"
    assert start("run", path, "--out", whole, "--quiet", slow=True).wait() == 0
    for attempt, checkpoints in enumerate((0, 3, 5)):
        words = ["run", path, "--out", cut, "--quiet", "--checkpoint-every", "0.01"]
        process = start(*words, *(["--resume"] if attempt else []), slow=True)
        wait_for(cut / "manifest.json", process)
        wait_for_checkpoints(cut, process, checkpoints)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL, attempt
    assert main(["run", str(path), "--out", str(cut), "--quiet", "--resume"]) == 0
    manifests = [json.loads((folder / "manifest.json").read_text()) for folder in (whole, cut)]
    assert manifests[0]["digest"] == manifests[1]["digest"]
    assert manifests[1]["timings"]["resumed"] >= 1
    for name in FINAL:
        assert (whole / name).read_bytes() == (cut / name).read_bytes(), name
    assert {it.name for it in cut.iterdir()} == {it.name for it in whole.iterdir()}


def test_a_run_is_resumed_with_the_threads_it_was_begun_with(tmp_path: Path, capsys: Capture) -> None:
    path, out = scenario(tmp_path, "100MB"), tmp_path / "out"
    process = start("run", path, "--out", out, "--threads", "2", "--checkpoint-every", "0.05")
    wait_for(out / "checkpoint" / "checkpoint.json", process)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    words = ["run", str(path), "--out", str(out), "--quiet", "--resume"]
    assert main([*words, "--threads", "1"]) == 2
    assert "was begun with --threads 2 --scheduler windows" in capsys.readouterr().err
    assert main(words) in (0, 1)
    assert json.loads((out / "manifest.json").read_text())["how"]["threads"] == 2
