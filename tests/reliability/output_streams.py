"""Standard output and error that lack characters, are full or closed: no command fails because of them."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fabric.cli.main import VERBS, main
from tests.forked import fabric
from tests.reliability import worlds
from tests.reliability.command import Answer
from tests.reliability.report import PAGE, Row

ENCODINGS: Final = ("ascii", "latin-1", "cp1252", "shift_jis")
SCENARIOS: Final = PAGE.parents[1] / "scenarios"
EXAMPLE: Final = PAGE.parents[1] / "docs/howto/rollout-example"
FOLDER: Final = "läufe-名前-\u2713"
"""Of every path in the output: no encoding here has all of its letters."""
C_LOCALE: Final = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": ""}


def rows(work: Path, each: int = len(ENCODINGS)) -> list[Row]:
    """Three rows; every command is tried in `each` of the encodings."""
    home = work / FOLDER
    home.mkdir()
    return [_encodings(home, each), _streams(home), _names(work)]


def some_rows(work: Path) -> list[Row]:
    """The same rows; each command is tried in one encoding, the next one for the next command."""
    return rows(work, each=1)


def commands(home: Path) -> Mapping[str, list[tuple[str | Path, ...]]]:
    """Verb -> its commands. Those that need a server, a laboratory or hours end with an error, which is printed."""
    scenario, evpn = worlds.scenario(home), SCENARIOS / "mac-move.yml"
    run, other = worlds.finished(home), worlds.finished(home, "other", seed=4)
    bgp = SCENARIOS / "bgp-spine-failure.yml"
    absent = home / "absent"
    return {
        "run": [("run", scenario, "--out", home / "again", "--force"), ("run", absent)],
        "whatif": [
            ("whatif", scenario, "--static"),
            ("whatif", scenario, "--static", "--only", "nöthing"),
            ("whatif", absent),
        ],
        "reliability": [
            ("reliability", "--parts", "1000", "--each", "0.999"),
            ("reliability", scenario, "--checkpoint-time", "2min"),
            ("reliability", absent),
        ],
        "demo": [("demo",), ("demo", "--json"), ("demo", "nöthing"), ("demo", "validate", "--out", run)],
        "init": [("init", "--out", home / "start.yml", "--force"), ("init", "nöthing")],
        "scenario": [
            ("scenario", "list"),
            ("scenario", "check", scenario),
            ("scenario", "show", scenario),
            ("scenario", "schema"),
            ("scenario", "check", absent),
        ],
        "validate": [
            ("validate", "--list"),
            ("validate", SCENARIOS.parent / "docs/howto/validate-example/before"),
            ("validate", SCENARIOS.parent / "docs/howto/margins-example", "--prove", "--search", "nöthing"),
            ("validate", absent),
        ],
        "rollout": [
            ("rollout", EXAMPLE / "old", EXAMPLE / "new"),
            ("rollout", EXAMPLE / "old", EXAMPLE / "old", "--format", "markdown"),
            ("rollout", EXAMPLE / "old", EXAMPLE / "new", "--format", "html"),
            ("rollout", EXAMPLE / "old", EXAMPLE / "old", "--prove", "--prove-out", home / "rollout-proofs"),
            ("rollout", EXAMPLE / "old", absent),
        ],
        "headroom": [
            ("headroom", "--speed", "400G", "--cable", "40m"),
            ("headroom", "--speed", "400µ", "--cable", "4m"),
        ],
        "thresholds": [
            ("thresholds", SCENARIOS.parent / "tests/data/silicon/config/td2-s6000-t1.json"),
            ("thresholds", absent),
        ],
        "topology": [("topology", "show", scenario), ("topology", "check", scenario), ("topology", "show", absent)],
        "model": [("model", "list"), ("model", "show", "dcqcn"), ("model", "show", "µ")],
        "collective": [("collective", "choose", "all-reduce"), ("collective", "all-reduce", "--sizes", "µ")],
        "job": [
            ("job", "list"),
            ("job", "plan", "llama3-70b"),
            ("job", "plan", "µ"),
            ("job", "report", absent),
            ("job", "power", run),
            ("job", "compare", absent, "--alone"),
        ],
        "trace": [
            ("trace", "info", absent),
            ("trace", "export", SCENARIOS / "slow-nic-ring.yml", "--format", "goal", "-o", home / "traces", "--force"),
        ],
        "sweep": [("sweep", "tune-ecn", "--list"), ("sweep", "ecn-grid", "--list", "--json"), ("sweep", absent)],
        "compare": [("compare", absent), ("compare", "incast", "--cc", "nonsense"), ("compare", "incast", "--cc", ",")],
        "tune": [("tune", "--list"), ("tune", "--list", "--json"), ("tune", absent)],
        "show": [
            ("show", run),
            ("show", run, "messages"),
            ("show", run, "events", "--format", "csv"),
            ("show", run, "events", "--format", "jsonl"),
            ("show", run, "ports"),
            ("show", absent),
        ],
        "path": [("path", scenario), ("path", "host1", "host5", scenario), ("path", "hóst", "host5", run)],
        "route": [("route", "leaf1", scenario), ("route", "leaf1", "host5", run), ("route", "lëaf", run)],
        "bgp": [("bgp", "summary", bgp), ("bgp", "routes", bgp), ("bgp", "summary", absent)],
        "evpn": [("evpn", "routes", evpn), ("evpn", "mac", evpn), ("evpn", "check-isolation", evpn)],
        "explain": [
            ("explain", "run", run),
            ("explain", "roots", run),
            ("explain", "roots", run, "--card", "text"),
            ("explain", "roots", run, "--card", "markdown"),
            ("explain", "pfc", run),
            ("explain", "drops", run),
            ("explain", "message", run),
            ("explain", "run", absent),
        ],
        "report": [("report", run, "--text"), ("report", run), ("report", run, "--out", "-"), ("report", absent)],
        "capture": [
            ("capture", scenario, "--port", "leaf1:Ethernet0", "--to", "5us", "-o", f"{absent}.pcapng"),
            ("capture", scenario, "--port", "lëaf", "-o", f"{absent}.pcapng"),
            ("capture", f"{run}/manifest.json", "--port", "leaf1", "-o", f"{absent}.pcapng"),
        ],
        "diff": [("diff", run, other), ("diff", run, run), ("diff", run, other, "--page", "-"), ("diff", run, absent)],
        "verify": [("verify", run), ("verify", run, "--json"), ("verify", absent)],
        "serve": [("serve", absent), ("serve", absent, "--gnmi", "nöwhere")],
        "errors": [("errors",), ("errors", "has-no-unit"), ("errors", "--json"), ("errors", "qwertz")],
        "top": [("top", "127.0.0.1:1", "--once")],
        "qualify": [
            ("qualify", "--list"),
            ("qualify", "sonic-rocev2", SCENARIOS.parent / "docs/howto/qualify-example", "--case", "nöthing"),
            ("qualify", "seed", absent),
        ],
        "telemetry": [("telemetry", "lint", absent), ("telemetry", "lint", scenario)],
        "docs": [("docs",), ("docs", "glossary"), ("docs", "nöthing")],
        "alerts": [("alerts", "list"), ("alerts", "show", run), ("alerts", "rules"), ("alerts", "show", absent)],
        "campaign": [
            ("campaign", "--write-case", "tune/3", home / "cases"),
            ("campaign", "--write-case", "täne/3", home / "cases"),
            ("campaign", "--read", "--out", absent),
            ("campaign", "--first", "-1"),
        ],
        "capacity": [
            ("capacity", "--run", f"2026-01-31={run}"),
            ("capacity", "--run", f"2026-01-31={absent}"),
            ("capacity", "--prometheus", "nöwhere"),
        ],
        "export": [("export", "openmetrics", run), ("export", "events", run), ("export", "events", absent)],
        "playbook": [
            ("playbook", "list"),
            ("playbook", "show", "pfc-storm"),
            ("playbook", "show", "µ"),
            ("playbook", "check", "µ"),
            ("playbook", "new", "µ", "--kind", "nöthing"),
        ],
        "drill": [
            ("drill", "list"),
            ("drill", "look", absent),
            ("drill", "history", home / "drills"),
            ("drill", "start", "--kind", "nöthing"),
            ("drill", "failover", scenario, "--parts", "nöthing"),
            ("drill", "plans", "--list"),
            ("drill", "plans", "--only", "nöthing"),
            ("drill", "start", "--kind", "arp-flood", "--seed", "1", "--out", run),
        ],
        "lab": [("lab", "show", "nöthing")],
        "fidelity": [("fidelity", "--list"), ("fidelity", "--case", absent)],
        "schema": [("schema",), ("schema", "--json"), ("schema", "--scenario")],
        "config": [("config",), ("config", "--json"), ("config", "--example")],
        "completion": [("completion", "bash")],
    }


def _encodings(home: Path, each: int) -> Row:
    """Every verb into streams of encodings that lack characters."""
    table = commands(home)
    failures = [f"no command of the verb {verb.name}" for verb in VERBS if verb.name not in table]
    tried = 0
    for words in [words for verb in table.values() for words in verb]:
        wanted = _encoded(words, "utf-8")
        for _ in range(each):
            encoding = ENCODINGS[tried % len(ENCODINGS)]
            tried += 1
            answer = _encoded(words, encoding)
            name = f"{' '.join(map(str, words[:2]))} in {encoding}"
            if answer.defect:
                failures.append(f"{name}: {answer.defect}")
            elif answer.code != wanted.code:
                failures.append(f"{name}: exit {answer.code} instead of {wanted.code}: {answer.err.strip()[-120:]}")
            elif bool(answer.out) != bool(wanted.out) or bool(answer.err) != bool(wanted.err):
                failures.append(f"{name}: prints nothing")
    return Row(
        f"every verb, its errors included, into standard output and error of {len(ENCODINGS)} encodings that "
        "lack characters of the output: the exit code that it has in UTF-8",
        tried,
        "74: exit 3",
        failures,
    )


def _encoded(words: tuple[str | Path, ...], encoding: str) -> Answer:
    """Streams as Python makes them: strict, with the encoding of the locale."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(word) for word in words])
        except BaseException as error:  # noqa: BLE001  as in call()
            return Answer(3, "", f"defect: {error!r}")
    with contextlib.suppress(UnicodeError):
        out.flush()
    texts = [stream.buffer.getvalue().decode(encoding, "replace") for stream in (out, err)]  # type: ignore[attr-defined]
    return Answer(code, *texts)


def _streams(home: Path) -> Row:
    """A run and a reader as processes, with streams that fail."""
    run, scenario = worlds.finished(home, "read"), worlds.scenario(home)
    failures = []
    quiet = subprocess.DEVNULL
    with Path("/dev/full").open("w") as full:
        cases = {
            "LC_ALL=C": ({}, C_LOCALE, 0),
            "PYTHONIOENCODING=ascii": ({}, {"PYTHONIOENCODING": "ascii"}, 0),
            "standard output closed": ({"stdout": None, "preexec_fn": lambda: os.close(1)}, {}, 0),
            "standard error closed": ({"stderr": None, "preexec_fn": lambda: os.close(2)}, {}, 0),
            "both closed": ({"preexec_fn": lambda: os.closerange(1, 3)}, {}, 0),
            "standard input closed": ({"stdin": None, "preexec_fn": lambda: os.close(0)}, {}, 0),
            "standard output full": ({"stdout": full}, {}, 2),
            "standard error full": ({"stderr": full}, {}, 0),
            "both full": ({"stdout": full, "stderr": full}, {}, 2),
        }
        tried = 0
        for name, (streams, env, code) in cases.items():
            for verb in (("run", scenario, "--out", home / "streams", "--force"), ("show", run, "events")):
                tried += 1
                options = {"stdin": quiet, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
                process = fabric(*verb, env=env, **options)
                _, err = process.communicate(timeout=300)
                err_text = (err or b"").decode(errors="replace").strip()
                if process.returncode != code or "Traceback" in err_text:
                    failures.append(f"{verb[0]}, {name}: exit {process.returncode}: {err_text[-160:]}")
                elif code == 2 and "stderr" not in streams and "standard output: No space left" not in err_text:
                    failures.append(f"{verb[0]}, {name}: does not say so: {err_text[-160:]}")
    return Row(
        "`fabric run` and `fabric show` with standard streams that are closed, full or of the C locale: exit 0, "
        "or 2 where standard output could not be written, naming it",
        tried,
        "11: exit 3, or not named",
        failures,
    )


def _names(work: Path) -> Row:
    """Names of files that are not UTF-8 (PEP 383): in paths of a scenario and a run, in errors and in JSON."""
    home = Path(os.fsdecode(os.fsencode(work) + b"/caf\xe9"))
    home.mkdir()
    table = commands(home)
    found = [words for verb in table.values() for words in verb if any(str(home) in str(word) for word in words)]
    failures = []
    for words in found:
        answer = _encoded(words, "utf-8")
        if answer.defect:
            failures.append(f"{' '.join(map(str, words[:2]))}: {answer.defect}".encode(errors="replace").decode())
    return Row(
        "every command that names a file, in a folder whose name is not UTF-8: never a traceback",
        len(found),
        "`fabric run` itself: exit 3",
        failures,
    )
