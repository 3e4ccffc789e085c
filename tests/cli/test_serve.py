"""The commands `fabric serve` and `fabric top`: refusals, and a process that is scraped, controlled and stopped."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from fabric.cli.main import main
from fabric.runs.rundir import RunDir
from telemetry.live.client import LiveClient, LiveError
from tests.forked import Environment, completed, fabric
from tests.lab.leftovers import new_name
from tests.telemetry.test_tls import make_pki
from tests.waiting import until

SCENARIO = """\
name: served
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3}
workload:
  - {kind: incast, receiver: host1, senders: ["host2", "host3", "host4"], size: 2MB}
telemetry: {interval: 50us}
run: {duration: 2ms, seed: 3, stop: duration}
"""
PATIENCE_S = 300.0
Capture = pytest.CaptureFixture[str]


def scenario(folder: Path) -> Path:
    path = folder / "served.yml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@dataclass
class Served:
    process: subprocess.Popen[str]
    url: str
    token_file: Path
    environ: dict[str, str | None]
    view_token_file: Path
    audit_file: Path | None
    tls: ssl.SSLContext | None = None
    gnmi: str | None = None

    @property
    def base(self) -> str:
        return self.url.removesuffix("/metrics")

    @property
    def client(self) -> LiveClient:
        return LiveClient(self.base, self.token_file.read_text().strip(), self.tls)

    def metrics(self) -> str:
        with urllib.request.urlopen(self.url, timeout=30) as answer:  # noqa: S310  our own server
            text: str = answer.read().decode()
            return text

    def status(self) -> dict[str, Any]:
        """Empty while the engine is being compiled."""
        with suppress(LiveError):
            return dict(self.client.get("status"))
        return {}

    def wait_until(self, state: str) -> None:
        until(lambda: self.status().get("state") == state, f"the run is {state}", PATIENCE_S)


@contextmanager
def serving(
    folder: Path, *options: str, tls: ssl.SSLContext | None = None, path: Path | None = None
) -> Iterator[Served]:
    """`fabric serve` of the scenario in `path`, or of this module's, from its first line until the block ends."""
    environ = {
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_RUNTIME_DIR": "",
        "FABRIC_TOKEN": None,
        "FABRIC_VIEW_TOKEN": None,
    }
    words = (
        "serve",
        path if path is not None else scenario(folder),
        "--listen",
        "127.0.0.1:0",
        "--json",
        "--dilation",
        "1000",
    )
    with (folder / "err").open("w") as errors:
        process = fabric(*words, *options, stdout=subprocess.PIPE, stderr=errors, text=True, env=environ)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (folder / "err").read_text()
        about = json.loads(line)
        served = Served(
            process,
            about["url"],
            Path(about["token_file"]),
            environ,
            Path(about["view_token_file"]),
            None if about["audit_file"] is None else Path(about["audit_file"]),
            tls,
            about["gnmi"],
        )
        served.wait_until("finished" if "0.001" in options else "running")
        yield served
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(timeout=PATIENCE_S)
        assert process.stdout is not None
        process.stdout.close()


def real(test: Callable[..., None]) -> Callable[..., None]:
    """A test of a process that keeps its pace, and refuses what it cannot answer within seconds."""
    return pytest.mark.slow(pytest.mark.timed(test))


def called(*words: str | Path, env: Environment) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return completed(fabric(*words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True), PATIENCE_S)


# ===== refusals =====


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--dilation", "0"], "0 is not a dilation"),
        (["--dilation", "nan"], "nan is not a dilation"),
        (["--duration", "5"], "'5' has no unit"),
        (["--duration", "0s"], "is not a valid duration"),
        (["--listen", "9464"], "not an address"),
        (["--threads", "0"], "0 threads"),
        (["--out", "x", "--loop"], "contradicts --loop"),
        (["--force"], "without --out"),
        (["--log", "-", "--json"], "both use standard output"),
        (["--log-level", "debug"], "without --log"),
        (["--allow-host", "http://x"], "is not a host name"),
        (["--tls-cert", "x"], "without --tls-key"),
        (["--tls-client-ca", "x"], "without --tls-cert"),
        (["--tls-cert", "no.pem", "--tls-key", "no.key"], "cannot read no"),
        (["--dilation", "0", "--threads", "0", "--listen", "x"], "3 problems"),
    ],
)
def test_options_that_make_no_sense_are_refused_together(
    tmp_path: Path, capsys: Capture, options: list[str], text: str
) -> None:
    assert main(["serve", str(scenario(tmp_path)), *options]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert "hint" in error


def test_a_scenario_with_problems_is_refused_as_run_refuses_it(tmp_path: Path, capsys: Capture) -> None:
    assert main(["serve", str(scenario(tmp_path)), "--set", "topology.leafs=3", "--listen", "127.0.0.1:0"]) == 2
    assert "did you mean 'leaves'" in capsys.readouterr().err


def test_a_port_in_use_is_one_clear_error(tmp_path: Path, capsys: Capture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listen = f"127.0.0.1:{listener.getsockname()[1]}"
        out = tmp_path / "out"
        assert main(["serve", str(scenario(tmp_path)), "--listen", listen, "--quiet", "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: cannot listen on {listen}: Address already in use")
    assert "port 0" in error
    assert list(out.iterdir()) == []  # the next attempt may have it


@pytest.mark.parametrize(("content", "text"), [(None, "cannot read the token file"), ("short", "is no token")])
def test_a_token_that_cannot_be_used_is_refused(
    tmp_path: Path, capsys: Capture, content: str | None, text: str
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    assert main(["serve", str(scenario(tmp_path)), "--token-file", str(path), "--listen", "127.0.0.1:0"]) == 2
    assert text in capsys.readouterr().err


def test_a_log_that_cannot_be_written_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert (
        main(["serve", str(scenario(tmp_path)), "--log", str(tmp_path / "no" / "log"), "--listen", "127.0.0.1:0"]) == 2
    )
    assert "no/log" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--interval", "1"], "'1' has no unit"),
        (["--interval", "1ms", "--once"], "out of range"),
        ([], "needs a terminal"),
        (["ftp://x:1", "--once"], "not the address of a live run"),
        (["127.0.0.1:1", "--once", "--tls-ca", "x"], "without TLS"),
        (["https://127.0.0.1:1", "--once", "--tls-cert", "x"], "goes together"),
        (["https://127.0.0.1:1", "--once", "--tls-ca", "no.pem"], "no.pem"),
    ],
)
def test_top_refuses_what_it_cannot_do(capsys: Capture, options: list[str], text: str) -> None:
    assert main(["top", *options]) == 2
    assert text in capsys.readouterr().err


def test_top_says_where_nobody_answers(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("FABRIC_TOKEN", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert main(["top", f"127.0.0.1:{port}", "--once"]) == 2
    assert "start `fabric serve`" in capsys.readouterr().err


def test_both_roles_need_tokens_that_differ(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "token").write_text("a-token-for-both-0123456789")
    (tmp_path / "token").chmod(0o600)
    option = str(tmp_path / "token")
    assert (
        main(
            [
                "serve",
                str(scenario(tmp_path)),
                "--token-file",
                option,
                "--view-token-file",
                option,
                "--listen",
                "127.0.0.1:0",
            ]
        )
        == 2
    )
    assert "both roles have the same token" in capsys.readouterr().err


def test_an_audit_log_that_cannot_be_written_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert main(["serve", str(scenario(tmp_path)), "--audit", str(tmp_path), "--listen", "127.0.0.1:0"]) == 2
    assert f"cannot write the audit log {tmp_path}" in capsys.readouterr().err


# ===== a process =====


@real
def test_tokens_are_in_files_and_nowhere_on_the_terminal(tmp_path: Path) -> None:
    with serving(tmp_path, "--loop") as served:
        tokens = [path.read_text().strip() for path in (served.token_file, served.view_token_file)]
        log = (tmp_path / "err").read_text()
        for role, path in (("operate", served.token_file), ("view", served.view_token_file)):
            assert f"token of the role '{role}' in {path}" in log
            assert path.stat().st_mode & 0o777 == 0o600
        viewer = LiveClient(served.base, tokens[1])
        assert viewer.get("status")["state"] == "running"
        with pytest.raises(LiveError, match="may read"):
            viewer.post("stop")
        assert not any(token in log for token in tokens)
    assert served.audit_file is None


@real
def test_the_audit_log_of_a_run_begins_ends_and_outlives_the_next(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in range(2):
        with serving(tmp_path, "--dilation", "50000", "--out", str(out), "--force") as served:
            served.client.post("faults", {"kind": "pause-storm", "hosts": ["host1"], "duration": "1ms"})
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(timeout=PATIENCE_S) == 0
        assert served.audit_file == tmp_path / "out.audit.jsonl"
    found = [json.loads(line) for line in served.audit_file.read_text().splitlines()]
    one_run = [("console", "serve", "begins"), ("operate", "faults", "200 OK"), ("console", "serve", "ends")]
    assert [(it["role"], it["action"], it["result"]) for it in found] == one_run * 2
    assert found[2]["by"] == "SIGTERM"
    (change,) = RunDir.open(out).manifest["live"]["changes"]
    assert found[4]["sim_time_ns"] == change["at_ns"]


@real
def test_a_run_is_served_and_watched_over_tls(tmp_path: Path) -> None:
    pki = make_pki(tmp_path)
    certificate, key = pki.pair("server")
    mine = [
        "--tls-ca",
        str(pki.ca),
        *(
            word
            for option, path in zip(("--tls-cert", "--tls-key"), pki.pair("operator"), strict=True)
            for word in (option, str(path))
        ),
    ]
    with serving(
        tmp_path,
        "--loop",
        "--tls-cert",
        str(certificate),
        "--tls-key",
        str(key),
        "--tls-client-ca",
        str(pki.ca),
        "--audit",
        str(tmp_path / "audit"),
        tls=pki.client("operator"),
    ) as served:
        assert served.base.startswith("https://")
        top = called("top", served.base, "--json", "--interval", "100ms", *mine, env=served.environ)
        assert top.returncode == 0, top.stderr
        served.client.post("pause")
        stranger = called("top", served.base, "--json", "--tls-ca", pki.ca, env=served.environ)
        assert stranger.returncode == 2
    assert json.loads(served.audit_file.read_text().splitlines()[1])["certificate"] == "operator"


@real
def test_a_served_pass_leaves_the_results_of_a_run(tmp_path: Path) -> None:
    live, plain = tmp_path / "live", tmp_path / "plain"
    with serving(tmp_path, "--dilation", "0.001", "--out", str(live)) as served:
        text = served.metrics()
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(timeout=PATIENCE_S) == 0
    assert main(["run", str(scenario(tmp_path)), "--out", str(plain), "--quiet"]) == 0
    one, other = RunDir.open(live), RunDir.open(plain)
    assert one.manifest["digest"] == other.manifest["digest"]
    assert one.summary == other.summary
    for name in ("timeseries.parquet", "events.parquet", "counters.parquet", "messages.parquet"):
        assert pq.read_table(live / name).equals(pq.read_table(plain / name)), name
    assert one.manifest["live"] == {"dilation": 0.001, "changes": []}
    assert 'fabric_port_receive_bytes_total{device="host1",port="eth0"}' in text
    assert not served.token_file.exists()


@real
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_leaves_usable_results_and_what_was_done_to_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "out"
    with serving(tmp_path, "--dilation", "50000", "--out", str(out)) as served:  # a pass of 100 s
        served.client.post("faults", {"kind": "pause-storm", "hosts": ["host1"], "duration": "1ms"})
        last = served.client.post("config", {"kind": "ecn-off", "ports": "leaf1"})
        later_s = last["at_seconds"] + 50e-6
        until(lambda: served.status().get("sim_time_seconds", 0) > later_s, "50 us after the changes", PATIENCE_S)
        served.process.send_signal(number)
        assert served.process.wait(timeout=PATIENCE_S) == 0
    run = RunDir.open(out)
    assert run.status == "interrupted"
    assert run.summary["stop"]["reason"] == "interrupted"
    assert [it["kind"] for it in run.manifest["live"]["changes"]] == ["pause-storm", "ecn-off"]
    assert [json.loads(line)["kind"] for line in (out / "truth.jsonl").read_text().splitlines()] == ["pause-storm"]
    assert main(["explain", "pfc", str(out)]) == 0
    assert main(["run", str(scenario(tmp_path)), "--out", str(out), "--resume", "--quiet"]) == 2


@real
def test_a_live_run_is_watched_from_the_command_line(tmp_path: Path) -> None:
    with serving(tmp_path, "--dilation", "200000", "--loop", "--log", str(tmp_path / "log")) as served:

        def top(*options: str) -> subprocess.CompletedProcess[str]:
            return called("top", served.base, *options, env=served.environ)

        # It lasts for 200 s of wall clock, half a pass.
        served.client.post("faults", {"kind": "pause-storm", "hosts": ["host1"], "duration": "1ms"})
        until(lambda: served.client.get("view")["incidents"], "the storm is noticed", PATIENCE_S)
        once = top("--once", "--interval", "500ms")
        assert once.returncode == 0, once.stderr
        assert "broken NIC host1:eth0" in once.stdout
        view = json.loads(top("--json", "--interval", "100ms").stdout)
        assert view["status"]["scenario"] == "served"
        worst = next(row for row in view["ports"] if row["paused"])
        assert (worst["device"], worst["peer"]) == ("leaf1", "host1:eth0")
        wrong = called("top", served.base, "--once", env={**served.environ, "FABRIC_TOKEN": "a-wrong-token-0123456789"})
        assert wrong.returncode == 2
        assert "token is missing or wrong" in wrong.stderr
        served.client.post("stop")
        assert served.process.wait(timeout=PATIENCE_S) == 0
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert {"pass begins", "fault injected", "pass ends"} <= {line["message"] for line in lines}


@real
def test_a_duration_ends_the_run_by_itself(tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    words = (
        "serve",
        scenario(tmp_path),
        "--listen",
        "127.0.0.1:0",
        "--dilation",
        "1000",
        "--loop",
        "--duration",
        "3s",
        "--audit",
        audit,
    )
    environ = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_RUNTIME_DIR": ""}
    ended = called(*words, env=environ)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(audit.read_text().splitlines()[-1])["by"] == "--duration"


@real
def test_the_terminal_view_works_in_a_terminal(tmp_path: Path) -> None:
    tmux = shutil.which("tmux") or pytest.skip("tmux is not installed (Debian: apt-get install tmux)")
    with serving(tmp_path, "--dilation", "2000", "--loop") as served:
        name = new_name()

        def call(*args: str) -> str:
            return subprocess.run(
                [tmux, "-L", name, *args], capture_output=True, text=True, check=True, timeout=PATIENCE_S
            ).stdout

        def wait_for(text: str, *, shown: bool = True) -> None:
            what = f"{text!r} is {'shown' if shown else 'gone'}"
            until(lambda: (text in call("capture-pane", "-p")) is shown, what, PATIENCE_S)

        code = "from fabric.cli.main import entry; entry()"
        call(
            "new-session",
            "-d",
            "-x",
            "120",
            "-y",
            "36",
            "-e",
            f"XDG_STATE_HOME={served.environ['XDG_STATE_HOME']}",
            "-e",
            "XDG_RUNTIME_DIR=",
            f"{sys.executable} -c '{code}' top {served.base}; echo ended; sleep 600",
        )
        try:
            wait_for("served  running")
            call("send-keys", "Space")
            wait_for("served  paused")
            call("send-keys", "f")
            wait_for("Inject a fault")
            call("send-keys", "Escape")
            wait_for("Inject a fault", shown=False)  # a key that follows at once would make it Alt
            call("send-keys", "q")
            wait_for("ended")
            assert served.client.get("status")["state"] == "paused"  # the run goes on without its watcher
        finally:
            call("kill-server")
