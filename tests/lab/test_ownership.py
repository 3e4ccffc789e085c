"""Resources of a laboratory: unique names, records, processes by identity; and a few trials of each kind of which
tests/reliability/laboratory.py runs many.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import string
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.cli.main import main
from fabric.errors import FabricError
from fabric.lab import names, processes, record, state, teardown
from fabric.lab.frr import Daemons
from fabric.lab.processes import Daemon, ProcessId
from fabric.lab.record import BusyError, DamagedError, Kind, Record
from fabric.lab.state import Condition
from tests.forked import fabric
from tests.lab.owned import owned
from tests.lab.routers import needs_frr, real
from tests.reliability import laboratory
from tests.waiting import until

NAMES = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=12).filter(
    lambda text: text[0] in string.ascii_letters + string.digits
)


# -- names -------------------------------------------------------------------------------------------------------------


@given(NAMES, NAMES, NAMES, NAMES)
def test_two_nodes_never_have_namespaces_of_one_name(one: str, node: str, other: str, its: str) -> None:
    same = names.namespace_name(one, node) == names.namespace_name(other, its)
    assert same == ((one, node) == (other, its))


@given(NAMES, NAMES, NAMES)
def test_no_laboratorys_names_begin_as_anothers_do(one: str, other: str, node: str) -> None:
    begin = names.namespace_name(one, "x").removesuffix("x")
    assert names.namespace_name(other, node).startswith(begin) == (one == other)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a+b", "a b", "a@1", "-a", "ä", "a\n", "x" * 64])
def test_a_name_that_is_none_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "up", "scenarios/mac-move.yml", f"--name={name}"]) == 2
    assert "cannot be the name of a laboratory" in capsys.readouterr().err


def test_names_that_are_too_long_for_the_path_of_a_socket_are_refused() -> None:
    [problem] = names.node_problems("x" * 63, ["leaf1", "l" * 60])
    assert "--name" in problem.hint
    assert list(names.node_problems("x" * 20, ["leaf1", "l" * 60])) == []


def test_no_scenario_can_be_called_what_only_laboratories_are() -> None:
    assert list(names.name_problems(names.of_comparison("a", 1)))
    assert names.is_laboratory(names.of_comparison("a", 1))
    assert not names.is_laboratory(names.station("a", "b/c"))


# -- processes ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def sleeper() -> Iterator[Daemon]:
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        start = processes.start_ticks(process.pid)
        assert start is not None
        inode = processes.namespace_of(process.pid)
        assert inode is not None
        yield Daemon("leaf1", "sleep", ProcessId(process.pid, start), str(Path("/bin/sleep").resolve()), inode)
        process.kill()


def test_a_daemon_is_ended_by_what_it_is(sleeper: Daemon) -> None:
    assert sleeper.matches()
    assert processes.end([sleeper], 5).ran == [sleeper]
    assert not sleeper.process.alive
    assert processes.end([sleeper], 5) == processes.Ended([], [], [])


@pytest.mark.parametrize("change", ["start", "program", "namespace"])
def test_a_process_that_differs_in_one_thing_is_left_alone(
    sleeper: Daemon, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_LAUNCH_S", 0.1)
    other = {
        "start": replace(sleeper, process=ProcessId(sleeper.process.pid, sleeper.process.start_ticks - 1)),
        "program": replace(sleeper, program="/usr/lib/frr/bgpd"),
        "namespace": replace(sleeper, inode=sleeper.inode + 1),
    }[change]
    assert processes.end([other], 5).reused == [other]
    assert sleeper.process.alive


def test_a_daemon_that_ignores_sigterm_is_killed() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        start, inode = processes.start_ticks(process.pid), processes.namespace_of(process.pid)
        assert start is not None
        assert inode is not None
        daemon = Daemon(
            "leaf1", "python", ProcessId(process.pid, start), processes.program_of(process.pid) or "", inode
        )
        assert processes.end([daemon], 0.2).ran == [daemon]
        process.kill()


# -- records -----------------------------------------------------------------------------------------------------------


def made(run: Path, name: str = "lab") -> Record:
    return Record.create(name, "lab", Kind.UP, switches=["leaf1"], daemons=["bgpd"], run=run)


def test_a_record_says_again_what_was_written(tmp_path: Path) -> None:
    run = tmp_path / "run"
    mine = made(run)
    mine.add_namespace("leaf1", "fabric+lab+leaf1", 7)
    mine.add_daemon(Daemon("leaf1", "bgpd", ProcessId(8, 9), "/usr/lib/frr/bgpd", 7))
    mine.add_folder("leaf1", ["bgpd.conf"])
    mine.complete()
    found = record.read(run / "lab")
    assert found == mine.content
    assert found is not None
    assert found.complete
    assert (run.stat().st_mode & 0o777, (run / "lab").stat().st_mode & 0o777) == (0o755, 0o755)
    mine.release()


def test_one_process_at_a_time_has_a_laboratory(tmp_path: Path) -> None:
    mine = made(tmp_path / "run")
    with pytest.raises(FileExistsError):
        made(tmp_path / "run")
    with pytest.raises(BusyError, match="by another process"):
        Record.open("lab", tmp_path / "run", patience_s=0.05)
    mine.release()
    again = Record.open("lab", tmp_path / "run")
    assert again is not None
    again.remove()
    assert Record.open("lab", tmp_path / "run") is None


def test_a_folder_without_a_record_and_a_line_that_was_cut_off_are_removed(tmp_path: Path) -> None:
    (tmp_path / "run" / "empty").mkdir(parents=True)
    mine = made(tmp_path / "run")
    mine.release()
    path = tmp_path / "run" / "lab" / "record.jsonl"
    for cut in (path.read_bytes()[:50], path.read_bytes() + b'{"daemon": "bgpd", "pid": 1'):
        path.write_bytes(cut)
        assert state.state_of("lab", tmp_path / "run") is not None
    for name in ("empty", "lab"):
        found = Record.open(name, tmp_path / "run")
        assert found is not None
        assert teardown.take_down(found).clean
    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[]",
        b"7",
        b'{"daemon": "bgpd", "node": "leaf1", "pid": -1, "start_ticks": 1, "program": "x", "inode": 1}',
        b'{"namespace": "leaf1", "name": "production", "inode": 1}',
        b'{"folder": "..", "files": []}',
        b'{"folder": "leaf1", "files": ["../../x"]}',
        b'{"complete": false}',
        b'{"daemon": "bgpd"}',
    ],
)
def test_a_damaged_record_is_named_with_its_line_and_nothing_is_touched(tmp_path: Path, line: bytes) -> None:
    made(tmp_path / "run").release()
    with (tmp_path / "run" / "lab" / "record.jsonl").open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(DamagedError, match=r"record.jsonl: line 2 ") as caught:
        Record.open("lab", tmp_path / "run")
    assert caught.value.hint
    found = state.state_of("lab", tmp_path / "run")
    assert found is not None
    assert found.condition is Condition.DAMAGED


def test_a_record_that_others_could_write_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o777)
    with pytest.raises(FabricError, match="cannot be trusted"):
        made(tmp_path / "run")


def test_a_record_of_an_earlier_boot_ends_no_process(
    tmp_path: Path, sleeper: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = made(tmp_path / "run")
    mine.add_daemon(sleeper)
    mine.complete()
    mine.release()
    monkeypatch.setattr(record, "boot_id", lambda: "another")
    found = state.state_of("lab", tmp_path / "run")
    assert found is not None
    assert found.condition is Condition.STALE
    stale = Record.open("lab", tmp_path / "run")
    assert stale is not None
    assert teardown.take_down(stale).clean
    assert sleeper.process.alive


def test_the_states_of_a_laboratory(tmp_path: Path, sleeper: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    def now() -> Condition:
        found = state.state_of("lab", tmp_path / "run")
        assert found is not None
        return found.condition

    mine = made(tmp_path / "run")
    assert now() is Condition.BUILDING
    mine.add_daemon(replace(sleeper, name="bgpd"))
    mine.complete()
    assert now() is Condition.RUNNING
    monkeypatch.setattr(ProcessId, "alive", property(lambda it: it.pid == sleeper.process.pid))
    assert now() is Condition.RUNNING
    monkeypatch.setattr(ProcessId, "alive", property(lambda _: False))
    assert now() is Condition.DOWN
    path = tmp_path / "run" / "lab" / "record.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    assert now() is Condition.UNFINISHED
    path.write_text(path.read_text().replace('"kind": "up"', '"kind": "compare"'))
    assert now() is Condition.ABANDONED
    mine.release()


# -- the command -------------------------------------------------------------------------------------------------------


def test_options_without_effect_and_missing_ones_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "down"]) == 2
    assert "fabric lab list" in capsys.readouterr().err
    assert main(["lab", "show", "--name", "x", "--set", "a=1"]) == 2
    assert "--set" in capsys.readouterr().err


@needs_frr
def test_a_laboratory_that_was_never_there_is_nothing_to_end_and_cannot_be_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["lab", "down", "--name", "never-there"]) == 0
    assert "nothing to end" in capsys.readouterr().err
    assert main(["lab", "show", "--name", "never-there"]) == 2


@real
def test_a_killed_up_leaves_nothing_that_down_does_not_find(tmp_path: Path) -> None:
    assert laboratory.kills(tmp_path, 2)[1] == []


@real
def test_an_interrupted_up_leaves_nothing(tmp_path: Path) -> None:
    assert laboratory.interrupts(tmp_path, 1)[1] == []


@real
def test_a_laboratory_keeps_everything_when_one_whose_name_it_begins_with_ends(tmp_path: Path) -> None:
    assert laboratory.pairs(tmp_path, laboratory.PAIRS[:1])[1] == []


@real
def test_dead_daemons_are_shown_as_dead(tmp_path: Path) -> None:
    assert laboratory.deaths(tmp_path, [laboratory.DEATHS[1], laboratory.DEATHS[4]])[1] == []


@real
def test_what_belongs_to_others_by_now_is_left_alone(tmp_path: Path) -> None:
    few = dict(itertools.islice(laboratory.EDITS.items(), 3))
    assert laboratory.edits(tmp_path, few)[1] == []


@real
def test_lab_list_names_a_comparison_that_was_killed_and_down_of_its_scenario_ends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, name = laboratory.scenario(tmp_path, "compare")
    process = fabric("lab", "compare", file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    whole = names.of_comparison(name, process.pid)
    until(lambda: laboratory._complete(whole) or process.poll() is not None, "the laboratory is complete")
    process.send_signal(signal.SIGSTOP)  # the comparison does not end meanwhile
    assert main(["lab", "down", "--name", whole]) == 2  # it is in use
    process.send_signal(signal.SIGKILL)
    process.wait()
    capsys.readouterr()
    assert main(["lab", "list", "--json"]) == 0
    found = {it["name"]: it["state"] for it in json.loads(capsys.readouterr().out)["laboratories"]}
    assert found[whole] == "abandoned"
    assert main(["lab", "down", str(file)]) == 0
    assert laboratory.leftovers(whole) == []


@real
@pytest.mark.parametrize("line", [" nonsense here", " neighbor 192.0.2.7 activate"])
def test_a_line_that_frr_refuses_is_an_error_and_not_left_out(line: str) -> None:
    with owned() as (made_, spaces):
        daemons = Daemons("real", spaces.add("real"), made_)
        with pytest.raises(FabricError, match="does not start as configured"):
            daemons.start("hostname real\n", f"hostname real\nrouter bgp 65000\n{line}\n")
        daemons.restart("bgpd", "hostname real\nrouter bgp 65000\n")
        assert "router bgp 65000" in daemons.shell("show running-config")


def test_this_test_has_an_identity() -> None:
    assert processes.own() == ProcessId(os.getpid(), processes.own().start_ticks)
    assert processes.own().alive
