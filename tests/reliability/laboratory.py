"""Laboratories that are killed, interrupted, built and ended concurrently, or whose records are out of date."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tests.lab.leftovers import new_name
from tests.reliability.command import Answer, call, ended, start
from tests.reliability.report import Row

RUN: Final = Path("/run/fabric-lab")
RUN_NETNS: Final = Path("/run/netns")
KILLS: Final = 30
INTERRUPTS: Final = 15
ROUNDS: Final = 12
PAIRS: Final = (("rel", "rel-lab"), ("rel-lab", "rel"), ("a", "a.b"), ("a_b", "a-b"), ("x", "x-leaf1"), ("x-1", "x"))
_PROGRAMS: Final = ("/usr/lib/frr/zebra", "/usr/lib/frr/bgpd", "vtysh", "nsenter", "ip", "bridge")
_SCENARIO: Final = """\
name: NAME
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 1, host_rate: 100G, fabric_rate: 100G}
routing: bgp
vxlan: {}
workload:
  - {kind: permutation, size: 1MB}
run: {duration: 1ms}
"""
BEFORE: Final = (
    "0 of 12 (fe3fa65)",
    "4 of 6 (fe3fa65): a namespace (2), with SIGHUP the whole laboratory (2)",
    "3 of 6 (fe3fa65): the other lost its namespaces and kept its daemons (2), was taken for the same one (1)",
    "7 of 7 (fe3fa65): all sessions established, exit 0 (2), an error of vtysh for one switch (5)",
    "there were no records (fe3fa65): what had a name with the laboratory's prefix was removed, even of other programs",
    "0 of 6 (fe3fa65)",
)


def missing() -> str:
    """Why no laboratory can be built here; '' where one can."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    absent = [program for program in _PROGRAMS if shutil.which(program) is None]
    return f"needs {', '.join(absent)}" if absent else ""


def rows(work: Path) -> list[Row]:
    """One row for each kind of try."""
    tried: list[tuple[str, str, Callable[[], tuple[int, list[str]]]]] = [
        (
            (
                "`kill -9` of `fabric lab up` at a random moment, then `fabric lab down`: exit 0, and no "
                "namespace, daemon, "
                "interface or file is left; a second `down` says that there is nothing to end"
            ),
            BEFORE[0],
            lambda: kills(work, KILLS),
        ),
        (
            (
                "SIGINT, SIGTERM or SIGHUP to `fabric lab up` at a random moment: it exits with 128 and the "
                "signal's number, "
                "and nothing is left"
            ),
            BEFORE[1],
            lambda: interrupts(work, INTERRUPTS),
        ),
        (
            (
                "`fabric lab down` of one of two laboratories whose names begin alike or differ in one "
                "separator: the other "
                "keeps every namespace and daemon"
            ),
            BEFORE[2],
            lambda: pairs(work, PAIRS),
        ),
        (
            (
                "Daemons of a laboratory that died (one, several, all), and namespaces that somebody deleted: "
                "`show` exits "
                "with 1, names exactly these, and shows no session of a dead daemon"
            ),
            BEFORE[3],
            lambda: deaths(work, DEATHS),
        ),
        (
            (
                "Records whose process ids, start times or inodes are another's by now, that are of an earlier "
                "boot, cut off "
                "or damaged: `down` touches nothing that is not the laboratory's, and says what it left"
            ),
            BEFORE[4],
            lambda: edits(work, EDITS),
        ),
        (
            (
                "Three of `up`, `up`, `down`, `down`, `show`, `list` at once on one name: no command touches what "
                "another is working on "
                "(exit 0, 1 or 2, never a traceback), and one `down` at the end leaves nothing"
            ),
            BEFORE[5],
            lambda: crowds(work, ROUNDS),
        ),
    ]
    why = missing()
    if why:
        return [Row(text, 0, "", left_out=why) for text, _, _ in tried]
    found = []
    for text, before, simulate in tried:
        cases, failures = simulate()
        found.append(Row(text, cases, before, failures))
    return found


# -- what there is -------------------------------------------------------------------------------------------------


def scenario(work: Path, name: str) -> tuple[Path, str]:
    """(file, name) of a scenario that no other test has."""
    whole = new_name(name)
    path = work / f"{whole}.yml"
    path.write_text(_SCENARIO.replace("NAME", whole), encoding="utf-8")
    return path, whole


def leftovers(name: str) -> list[str]:
    """Everything on this machine that has to do with a laboratory, found without asking the product."""
    found = [
        f"namespace {it.name}"
        for it in (RUN_NETNS.iterdir() if RUN_NETNS.is_dir() else ())
        if it.name.startswith((f"fabric+{name}+", f"fabric-{name}-"))
    ]
    found += [f"folder {RUN / name}"] if (RUN / name).exists() else []
    return (
        found
        + [f"process {pid}" for pid in daemons(name)]
        + [
            f"interface {it['ifname']}"
            for it in json.loads(
                subprocess.run(["ip", "-j", "link"], capture_output=True, text=True, check=True).stdout
            )
            if it["ifname"].startswith(("Ethernet", "br10000", "vxlan10000"))
        ]
    )


def daemons(name: str) -> dict[int, str]:
    """Process id -> daemon and switch, of every process with a path of the laboratory in its command line."""
    folder, found = os.fsencode(RUN / name) + b"/", {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with contextlib.suppress(OSError):
                words = (path / "cmdline").read_bytes().split(b"\0")
                sockets = [
                    word.removeprefix(folder).decode()
                    for word in words
                    if word.startswith(folder) and b"/" not in word.removeprefix(folder)
                ]
                if sockets:
                    found[int(path.name)] = f"{(path / 'comm').read_text().strip()} of {sockets[0]}"
    return found


def _removed(file: Path, name: str, case: str) -> Iterator[str]:
    """What is wrong with `down`, and with another behind it."""
    answer = call("lab", "down", file)
    left = _patiently(name)
    if left:
        yield f"{case}: left {', '.join(left)}: exit {answer.code}: {answer.err.strip()[-160:]}"
        _clean(name)
    elif answer.code != 0:
        yield f"{case}: exit {answer.code}: {answer.err.strip()[-160:]}"
    again = call("lab", "down", file)
    if again.code != 0 or "nothing to end" not in again.err:
        yield f"{case}: a second down: exit {again.code}: {again.err.strip()[-160:]}"


def _patiently(name: str, seconds: float = 60.0) -> list[str]:
    """What there is after at most this time: a shell that waited to become a daemon ends a little later."""
    until_s = time.monotonic() + seconds
    while (found := leftovers(name)) and time.monotonic() < until_s:
        time.sleep(0.05)
    return found


def _until_ended(name: str, pids: Sequence[int]) -> None:
    """Until none of these daemons runs."""
    until_s = time.monotonic() + 60
    while set(pids) & set(daemons(name)) and time.monotonic() < until_s:
        time.sleep(0.01)


def _clean(name: str) -> None:
    """Remove by force what a case left, so that it is counted once."""
    for pid in daemons(name):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for path in RUN_NETNS.iterdir() if RUN_NETNS.is_dir() else ():
        if path.name.startswith((f"fabric+{name}+", f"fabric-{name}-")):
            subprocess.run(["ip", "netns", "delete", path.name], check=False, capture_output=True)
    shutil.rmtree(RUN / name, ignore_errors=True)


# -- the tries -----------------------------------------------------------------------------------------------------


def kills(work: Path, count: int) -> tuple[int, list[str]]:
    """kill -9 at a moment between the first file and a little behind the last."""
    moments, failures = random.Random(16), list[str]()
    build_s = _build_s(work)
    for number in range(count):
        file, name = scenario(work, "kill")
        after_s = moments.uniform(0.0, 1.1) * build_s
        process = start("lab", "up", file)
        _until_begun(name, process)
        time.sleep(after_s)
        process.kill()
        process.communicate()
        failures += _removed(file, name, f"case {number}, killed after {after_s:.3f} s of {build_s:.3f} s")
    return count, failures


def interrupts(work: Path, count: int) -> tuple[int, list[str]]:
    """A signal that can be caught, at such a moment; one that comes when all is done keeps the laboratory."""
    moments, failures = random.Random(17), list[str]()
    build_s = _build_s(work)
    for number in range(count):
        file, name = scenario(work, "stop")
        sent = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number % 3]
        after_s = moments.uniform(0.0, 0.9) * build_s
        process = start("lab", "up", file)
        _until_begun(name, process)
        time.sleep(after_s)
        process.send_signal(sent)
        answer = ended(process)
        case = f"case {number}, {sent.name} after {after_s:.3f} s of {build_s:.3f} s"
        if _complete(name):  # nothing was to be built any more; the laboratory stays
            failures += _removed(file, name, case)
            continue
        left = _patiently(name)
        if left or answer.code != 128 + sent:
            failures.append(f"{case}: exit {answer.code}, left {', '.join(left) or 'nothing'}")
            _clean(name)
    return count, failures


def _build_s(work: Path) -> float:
    """How long a laboratory takes from its first file to its end, here and now."""
    file, name = scenario(work, "whole")
    process = start("lab", "up", file)
    _until_begun(name, process)
    began_s = time.monotonic()
    while not _complete(name) and process.poll() is None:
        time.sleep(0.002)
    took_s = time.monotonic() - began_s
    ended(process)
    call("lab", "down", file)
    return took_s


def _complete(name: str) -> bool:
    """Whether everything of a laboratory was made."""
    path = RUN / name / "record.jsonl"
    return path.is_file() and '"complete"' in path.read_text()


def _until_begun(name: str, process: subprocess.Popen[bytes]) -> None:
    while not (RUN / name).exists() and process.poll() is None:
        time.sleep(0.002)


def pairs(work: Path, wanted: Sequence[tuple[str, str]]) -> tuple[int, list[str]]:
    """Both are built; the first is ended, then the second."""
    failures = []
    for one, other in wanted:
        begin = new_name()
        files, whole = [], []
        for suffix in (one, other):
            whole.append(begin + suffix)
            files.append(work / f"{whole[-1]}.yml")
            files[-1].write_text(_SCENARIO.replace("NAME", whole[-1]), encoding="utf-8")
        case = f"{one} and {other}"
        answers = [call("lab", "up", file) for file in files]
        before = leftovers(whole[1])
        call("lab", "down", files[0])
        gone = sorted(set(before) - set(leftovers(whole[1])))
        if any(answer.code for answer in answers) or len(before) != 12:
            failures.append(f"{case}: not both could be built: {' '.join(it.err.strip()[-80:] for it in answers)}")
        elif gone:
            failures.append(f"{case}: {', '.join(gone)} went with the other")
        failures += _removed(files[1], whole[1], case)
        _clean(whole[0])
    return len(wanted), failures


DEATHS: Final = (
    ("bgpd of leaf1",),
    ("zebra of spine1",),
    ("bgpd of leaf2", "zebra of leaf2"),
    ("bgpd of leaf1", "bgpd of leaf2", "bgpd of spine1"),
    tuple(f"{daemon} of {node}" for daemon in ("zebra", "bgpd") for node in ("leaf1", "leaf2", "spine1")),
    ("namespace host1",),
    ("namespace host2", "bgpd of spine1"),
)


def deaths(work: Path, wanted: Sequence[Sequence[str]]) -> tuple[int, list[str]]:
    """They are killed from outside; the laboratory is asked, and ended."""
    failures = []
    for which in wanted:
        file, name = scenario(work, "dead")
        call("lab", "up", file)
        killed = [pid for pid, daemon in daemons(name).items() if daemon in which]
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        for it in which:
            if it.startswith("namespace"):
                subprocess.run(
                    ["ip", "netns", "delete", f"fabric+{name}+{it.split()[1]}"], check=False, capture_output=True
                )
        _until_ended(name, killed)
        failures += [f"{', '.join(which)}: {fault}" for fault in _shown(file, name, which)]
        failures += _removed(file, name, ", ".join(which))
    return len(wanted), failures


def _shown(file: Path, name: str, which: Sequence[str]) -> Iterator[str]:
    answer = call("lab", "show", file, "--json")
    if answer.code != 1:
        yield f"show: exit {answer.code}"
        return
    state = json.loads(answer.out)
    dead = {f"{it['name']} of {it['node']}" for it in state["daemons"] if not it["runs"]}
    lost = {f"namespace {it.rpartition('+')[2]}" for it in state["lost_namespaces"]}
    if dead | lost != set(which):
        yield f"named {', '.join(sorted(dead | lost))}"
    if state["state"] != ("down" if len(dead) == 6 else "partly down"):
        yield f"state {state['state']}"
    silent = {it.split()[-1] for it in which if it.startswith("bgpd")} & set(state["sessions"])
    if silent:
        yield f"sessions of {', '.join(silent)}"
    plain = call("lab", "show", file)
    if plain.code != 1 or (len(dead) == 6 and "Established" in plain.out):
        yield f"show: exit {plain.code}, {plain.out[:160]}"
    if f"{name} " not in call("lab", "list").out:
        yield "not listed"


def crowds(work: Path, count: int) -> tuple[int, list[str]]:
    """Processes that start within half a second."""
    drawn, failures = random.Random(18), list[str]()
    verbs = ("up", "up", "down", "down", "show", "list")
    for number in range(count):
        file, name = scenario(work, "crowd")
        if number % 2:
            call("lab", "up", file)
        chosen = drawn.sample(verbs, 3)
        processes = []
        for verb in chosen:
            time.sleep(drawn.uniform(0.0, 0.25))
            processes.append(start("lab", verb, *([] if verb == "list" else [file])))
        answers = [ended(process) for process in processes]
        case = f"round {number}, {'after up, ' if number % 2 else ''}{' and '.join(chosen)}"
        for verb, answer in zip(chosen, answers, strict=True):
            if answer.defect or answer.code not in ({0, 2} if verb in {"up", "down"} else {0, 1, 2}):
                failures.append(f"{case}: {verb}: exit {answer.code}: {answer.err.strip()[-200:]}")
        won = [answer.code == 0 for verb, answer in zip(chosen, answers, strict=True) if verb == "up"]
        if "down" not in chosen and won and sum(won) != 1 - number % 2:
            failures.append(f"{case}: {sum(won)} of {len(won)} `up` got in")
        failures += _removed(file, name, case)
    return count, failures


# -- records of foreign objects -----------------------------------------------------------------------------------


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RUN / name / "record.jsonl").read_text().splitlines()]


def _rewrite(name: str, lines: Sequence[dict[str, Any]], end: str = "\n") -> None:
    (RUN / name / "record.jsonl").write_text("\n".join(map(json.dumps, lines)) + end)


def _first(lines: Sequence[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(line for line in lines if kind in line)


def _start_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


@contextlib.contextmanager
def _bystander() -> Iterator[int]:
    """A process that is unrelated to every laboratory."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        try:
            yield process.pid
            if process.poll() is not None:
                raise AssertionError(f"the other process was ended: {process.returncode}")
        finally:
            process.kill()


def _recycled(name: str, *, same_start: bool) -> Iterator[str]:
    """The number of a daemon that died is another process's now."""
    lines = _lines(name)
    daemon = _first(lines, "daemon")
    os.kill(daemon["pid"], signal.SIGKILL)
    _until_ended(name, [daemon["pid"]])
    with _bystander() as pid:
        daemon["pid"] = pid
        if same_start:
            daemon["start_ticks"] = _start_ticks(pid)
        _rewrite(name, lines)
        shown = json.loads(call("lab", "show", "--name", name, "--json").out)
        if any(it["runs"] for it in shown["daemons"] if (it["node"], it["name"]) == (daemon["node"], daemon["daemon"])):
            yield "the other process was shown as the daemon"
        answer = call("lab", "down", "--name", name)
        if answer.code != 0 or "another process has its number" not in answer.out:
            yield f"down: exit {answer.code}: {answer.out}{answer.err}"


def _foreign_namespace(name: str) -> Iterator[str]:
    """Somebody deleted a namespace and made one of the same name."""
    line = _first(_lines(name), "namespace")
    subprocess.run(["ip", "netns", "delete", line["name"]], check=True)
    for pid, it in daemons(name).items():
        if it.endswith(f" of {line['namespace']}"):
            os.kill(pid, signal.SIGKILL)
    subprocess.run(["ip", "netns", "add", line["name"]], check=True)
    try:
        answer = call("lab", "down", "--name", name)
        if answer.code != 1 or f"{line['name']}: another program" not in answer.err:
            yield f"down: exit {answer.code}: {answer.err}"
        if not (RUN_NETNS / line["name"]).exists():
            yield "the other's namespace was removed"
    finally:
        subprocess.run(["ip", "netns", "delete", line["name"]], check=False, capture_output=True)


def _foreign_inode(name: str) -> Iterator[str]:
    """A namespace of the same name and with the listed inode, but without the token: inodes are given out again."""
    lines = _lines(name)
    line = _first(lines, "namespace")
    subprocess.run(["ip", "netns", "delete", line["name"]], check=True)
    subprocess.run(["ip", "netns", "add", line["name"]], check=True)
    try:
        line["inode"] = (RUN_NETNS / line["name"]).stat().st_ino
        _rewrite(name, lines)
        answer = call("lab", "down", "--name", name)
        if answer.code != 1 or not (RUN_NETNS / line["name"]).exists():
            yield f"down: exit {answer.code}: {answer.err}"
    finally:
        subprocess.run(["ip", "netns", "delete", line["name"]], check=False, capture_output=True)


def _earlier_boot(name: str) -> Iterator[str]:
    """Its processes and namespaces are gone; the record stayed, and the mount points as empty files."""
    lines = _lines(name)
    for pid in daemons(name):
        os.kill(pid, signal.SIGKILL)
    for line in lines:
        if "namespace" in line:
            subprocess.run(["ip", "netns", "delete", line["name"]], check=True)
            (RUN_NETNS / line["name"]).touch()
    lines[0]["boot_id"] = "another"
    with _bystander() as pid:
        for line in lines:
            if "daemon" in line:
                line["pid"], line["start_ticks"] = pid, _start_ticks(pid)
        _rewrite(name, lines)
        if (answer := call("lab", "show", "--name", name)).code != 1 or "of an earlier boot" not in answer.out:
            yield f"show: exit {answer.code}: {answer.out[:160]}"
        if "of an earlier boot" not in call("lab", "list").out:
            yield "not listed as one of an earlier boot"
        answer = call("lab", "up", "--name", name, _file_of(lines))
        if answer.code != 0 or len(leftovers(name)) != 12:
            yield f"up: exit {answer.code}: {answer.err}"
    call("lab", "down", "--name", name)


def _file_of(lines: Sequence[dict[str, Any]]) -> str:
    return str(lines[0]["source"])


def _cut_off(name: str) -> Iterator[str]:
    """The last line was cut off."""
    path = RUN / name / "record.jsonl"
    path.write_bytes(path.read_bytes() + b'{"daemon": "bgpd", "no')
    answer = call("lab", "down", "--name", name)
    if answer.code != 0:
        yield f"down: exit {answer.code}: {answer.err}"


def _damaged(name: str, line: dict[str, Any]) -> Iterator[str]:
    """A line that no laboratory writes: no object is changed, and the error names the file and the line."""
    lines, before = _lines(name), leftovers(name)
    _rewrite(name, [*lines, line])
    answer = call("lab", "down", "--name", name)
    if answer.code != 2 or f"record.jsonl: line {len(lines) + 1} " not in answer.err:
        yield f"down: exit {answer.code}: {answer.err}"
    if leftovers(name) != before:
        yield "something was removed"
    if "damaged" not in call("lab", "list").out:
        yield "not listed as damaged"
    _rewrite(name, lines)
    if (again := call("lab", "down", "--name", name)).code != 0:
        yield f"down of the record as it was: exit {again.code}: {again.err}"


def _others_file(name: str) -> Iterator[str]:
    """A file of a user in the folder of a switch stays, and is named."""
    path = RUN / name / "leaf1" / "notes.txt"
    path.write_text("mine")
    answer = call("lab", "down", "--name", name)
    if answer.code != 1 or "notes.txt" not in answer.err or path.read_text() != "mine":
        yield f"down: exit {answer.code}: {answer.err}"
    shutil.rmtree(RUN / name)


EDITS: Final[dict[str, Callable[[str], Iterator[str]]]] = {
    "number of another process": lambda name: _recycled(name, same_start=False),
    "number and start time of another process": lambda name: _recycled(name, same_start=True),
    "namespace of somebody else": _foreign_namespace,
    "namespace of somebody else with the listed inode": _foreign_inode,
    "an earlier boot": _earlier_boot,
    "last line cut off": _cut_off,
    "a process id of 0": lambda name: _damaged(
        name,
        {"daemon": "bgpd", "node": "leaf1", "pid": 0, "start_ticks": 1, "program": "/usr/lib/frr/bgpd", "inode": 1},
    ),
    "a namespace of another name": lambda name: _damaged(
        name, {"namespace": "leaf1", "name": "production", "inode": 1}
    ),
    "a file outside": lambda name: _damaged(name, {"folder": "..", "files": ["../../etc/passwd"]}),
    "an unknown line": lambda name: _damaged(name, {"unknown": 1}),
    "a user's file": _others_file,
}


def edits(work: Path, wanted: dict[str, Callable[[str], Iterator[str]]]) -> tuple[int, list[str]]:
    """A laboratory each."""
    failures = []
    for what, simulate in wanted.items():
        file, name = scenario(work, "edit")
        answer: Answer = call("lab", "up", file)
        try:
            failures += (
                [f"{what}: up: exit {answer.code}"] if answer.code else [f"{what}: {it}" for it in simulate(name)]
            )
        except AssertionError as error:
            failures.append(f"{what}: {error}")
        left = _patiently(name)
        if left:
            failures.append(f"{what}: left {', '.join(left)}")
            _clean(name)
    return len(wanted), failures
