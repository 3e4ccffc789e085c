"""The Python interface: the same results as the command line, all problems together, no output, lazy loading."""

from __future__ import annotations

import doctest
import inspect
import json
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import fabric
from fabric.cli.main import main
from fabric.errors import RunInterruptedError

ROOT = Path(__file__).resolve().parent.parent.parent
HEAVY = ("numpy", "numba", "pyarrow", "pydantic", "rich", "pandas")
SMALL = {"workload[0].size": "50KB", "expectations": ["messages.done == 15"]}
CONFIGS = ROOT / "docs/howto/validate-example"


@pytest.fixture(scope="module")
def small() -> fabric.Scenario:
    return fabric.load("incast", SMALL)


@pytest.fixture(scope="module")
def result(small: fabric.Scenario) -> fabric.Result:
    return fabric.run(small)


def problems(error: pytest.ExceptionInfo[fabric.InputErrors]) -> list[str]:
    return [problem.path for problem in error.value.problems]


# ===== importing =====


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint('\\n'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_else() -> None:
    added = loaded_by("import fabric") - loaded_by("pass")
    assert not added & set(HEAVY)
    assert {name for name in added if name.startswith("fabric")} == {"fabric"}
    assert len(added) <= 8, added  # importlib and what it brings


def test_looking_up_an_error_loads_no_engine() -> None:
    assert not loaded_by("import fabric; fabric.InputErrors") & set(HEAVY)


def test_every_public_name_is_there_and_no_other() -> None:
    assert all(getattr(fabric, name) is not None for name in fabric.__all__)
    assert set(fabric.__all__) <= set(dir(fabric))
    with pytest.raises(AttributeError, match="module 'fabric' has no attribute 'nothing'"):
        _ = fabric.nothing  # type: ignore[attr-defined]


def test_type_checkers_see_exactly_the_names_that_are_there() -> None:
    text = (ROOT / "fabric/__init__.py").read_text(encoding="utf-8")
    seen = {line.rpartition(" as ")[2].strip() for line in text.splitlines() if line.startswith("    from fabric.")}
    assert seen == set(fabric.__all__)


def test_functions_keep_their_names_where_a_subpackage_has_the_same_one() -> None:
    code = (
        "from fabric.validate import runner\nimport fabric\nassert callable(fabric.validate), fabric.validate\n"
        "from fabric.validate import judge\nassert callable(fabric.validate)"
    )
    assert "fabric.validate.runner" in loaded_by(code)


# ===== scenarios =====


def test_a_path_a_name_text_and_a_mapping_are_the_same_scenario() -> None:
    file = ROOT / "scenarios/incast.yml"
    loaded = [
        fabric.load(it)
        for it in ("incast", file, str(file), file.read_text(encoding="utf-8"), fabric.load("incast").data)
    ]
    assert len({json.dumps(it.data) for it in loaded}) == 1
    assert loaded[0].name == "incast"
    assert loaded[0].seed == 7
    assert loaded[0].duration_ns == 10_000_000


def test_values_of_python_and_overrides_of_the_command_line_do_the_same() -> None:
    base = fabric.load("incast")
    values = base.with_({"transport.cc": "none", "switches.lossless": [3, 4], "workload[0].size": "4MB"})
    sets = base.set("transport.cc=none", "switches.lossless=[3,4]", "workload[0].size=4MB")
    assert values == sets
    assert values != base
    assert base.with_(description="other").description == "other"
    assert "description" not in base.with_({"description": None}).data
    assert fabric.load("incast", values.sets) == values  # what the manifest keeps can be given to --set


def test_a_scenario_can_be_pickled_and_resolved(small: fabric.Scenario) -> None:
    again = pickle.loads(pickle.dumps(small))  # noqa: S301  our own bytes
    assert again == small
    assert hash(again) == hash(small)
    whole = small.resolved()
    assert whole["transport"]["cc"] == "dcqcn"
    assert fabric.load(whole).resolved() == whole
    assert fabric.load(small.to_yaml()).data == small.data


def test_all_problems_of_a_scenario_come_together() -> None:
    with pytest.raises(fabric.InputErrors) as error:
        fabric.load("incast", {"transport.ccc": "none", "run.duration": 10, "topology.leafs": 3})
    assert len(error.value.problems) == 3
    assert all(problem.hint for problem in error.value.problems)
    with pytest.raises(fabric.InputErrors, match=r"set 'a\.\.b': is no path"):
        fabric.load("incast", {"a..b": 1})
    with pytest.raises(fabric.InputErrors, match="set 'transprt"):
        fabric.load("incast", {"transprt.cc": "none"})
    with pytest.raises(fabric.FabricError, match="give a list"):
        fabric.load("incast", "transport.cc=none")
    with pytest.raises(fabric.InputErrors) as missing:
        fabric.load("incst")
    assert "incast" in str(missing.value)


# ===== running =====


def test_a_run_from_python_is_the_run_of_the_command_line(
    result: fabric.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = [word for path, value in SMALL.items() for word in ("--set", f"{path}={json.dumps(value)}")]
    assert main(["run", "incast", *sets, "--out", str(tmp_path / "cli"), "--quiet"]) == 0
    capsys.readouterr()
    there = fabric.open_run(tmp_path / "cli")
    assert there == result
    assert there.digest == result.digest
    assert there.summary == result.summary
    assert there.manifest["identity"] == result.manifest["identity"]
    for name in ("messages", "timeseries", "events", "counters"):
        assert there.table(name).equals(result.table(name)), name


def test_nothing_is_printed(small: fabric.Scenario, capfd: pytest.CaptureFixture[str]) -> None:
    with fabric.run(small, check=True):
        pass
    assert capfd.readouterr() == ("", "")


def test_threads_and_schedulers_give_the_same_result(small: fabric.Scenario, result: fabric.Result) -> None:
    with fabric.run(small, threads=2) as two, fabric.run(small, scheduler="sequential") as sequential:
        assert two == result == sequential
        assert hash(two) == hash(result)
    with fabric.run(small, seed=8) as other:
        assert other != result
        assert other.manifest["seed"] == 8


def test_several_threads_may_run_scenarios_at_the_same_time(small: fabric.Scenario, result: fabric.Result) -> None:
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: fabric.run(small), range(3)))
    assert all(it == result for it in found)
    assert len({it.directory for it in found}) == 3


def test_a_result_says_what_was_expected_and_measured(result: fabric.Result) -> None:
    assert result.ok
    assert result.status == "done"
    (expectation,) = result.expectations
    assert (expectation.text, expectation.met, expectation.actual) == ("messages.done == 15", True, 15)
    assert result.metrics["messages.done"] == 15
    assert result.verdict[0].level in {"problem", "warning", "note", "good"}
    with fabric.run("incast", seed=1, until="20us") as short:
        assert not short.ok
        assert short.status == "done"


def test_every_table_is_arrow_and_pandas(result: fabric.Result) -> None:
    for name in result.tables:
        table = result.table(name)
        assert isinstance(table, pa.Table)
        assert len(result.to_pandas(name)) == table.num_rows
    assert result.table("messages", ["id", "fct_ns"]).column_names == ["id", "fct_ns"]
    assert result.table("ports", ["port"]).column_names == ["port"]
    assert set(result.events("ecn_marked").column("kind").to_pylist()) <= {"ecn_marked"}
    assert result.timeseries("tx_bytes").num_rows < result.timeseries().num_rows
    with pytest.raises(fabric.InputErrors, match="did you mean 'messages'"):
        result.table("message")
    with pytest.raises(fabric.RunDirError, match="columns are"):
        result.table("ports", ["prt"])


def test_pandas_that_is_not_installed_is_an_error_with_its_remedy(
    result: fabric.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(fabric.FabricError, match=r"pip install .*\[pandas\]"):
        result.to_pandas("messages")


def test_explanations_are_those_of_the_command_line(
    result: fabric.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = result.save(tmp_path / "kept")
    for question in ("pfc", "drops", "message"):
        assert main(["explain", question, str(tmp_path / "kept"), "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == kept.explain(question).data
    assert kept.explain().verdict in str(kept.explain())
    with pytest.raises(fabric.InputErrors, match="is not a question"):
        kept.explain("why")  # type: ignore[arg-type]
    with pytest.raises(fabric.InputErrors, match="has no effect"):
        kept.explain("pfc", message="1")
    with pytest.raises(fabric.RunDirError, match="exists"):
        result.save(tmp_path / "kept")
    page = kept.write_report()
    assert page.read_text(encoding="utf-8") == kept.report_html()


def test_a_difference_names_what_was_changed(small: fabric.Scenario, result: fabric.Result) -> None:
    with fabric.run(small.with_({"transport.cc": "none"})) as other:
        found = result.diff(other)
    assert not found["same"]
    assert found["scenario"]["transport.cc"] == ["dcqcn", "none"]


def test_notebooks_show_results_with_every_name_escaped(small: fabric.Scenario) -> None:
    named = small.with_({"description": "<script>alert(1)</script>", "expectations": ["messages.done == 3"]})
    with fabric.run(named) as it:
        assert "NOT MET" in it._repr_html_()
        shown = [named._repr_html_(), it._repr_html_(), it.explain()._repr_html_()]
    assert not any("<script>" in text for text in shown)


def test_a_temporary_directory_goes_with_its_result_and_a_named_one_stays(
    small: fabric.Scenario, tmp_path: Path
) -> None:
    with fabric.run(small) as it:
        where = it.directory
        assert where.is_dir()
    assert not where.exists()
    it.close()
    with fabric.run(small, tmp_path / "run") as kept:
        pass
    assert kept.directory.is_dir()
    assert fabric.run(small, tmp_path / "run", resume=True) == kept
    with pytest.raises(fabric.RunDirError, match="resume=True") as taken:
        fabric.run(small, tmp_path / "run")
    assert "--" not in str(taken.value)


def test_all_problems_of_the_parameters_come_together(small: fabric.Scenario) -> None:
    with pytest.raises(fabric.InputErrors) as error:
        fabric.run(
            small,
            until="5",
            threads=0,
            scheduler="fast",
            resume=True,  # type: ignore[arg-type]
            checkpoint_every_s=-1,
        )
    assert problems(error) == ["until", "scheduler", "threads", "checkpoint_every_s", "resume"]
    with pytest.raises(fabric.InputErrors) as late:
        fabric.run(small, until="1s")
    assert problems(late) == ["until"]
    with pytest.raises(fabric.RunDirError, match="is not a directory"):
        fabric.open_run("no-such-folder")


def test_a_run_s_name_with_a_typing_mistake_is_answered_with_the_run(small: fabric.Scenario, tmp_path: Path) -> None:
    with fabric.run(small, out=tmp_path / "storm"), pytest.raises(fabric.RunDirError) as error:
        fabric.open_run(tmp_path / "strom")
    assert error.value.hint == f"did you mean '{tmp_path / 'storm'}'?"


def test_progress_is_told_with_times_in_nanoseconds(small: fabric.Scenario) -> None:
    seen: list[fabric.Progress] = []
    with fabric.run(small, progress=seen.append):
        pass
    assert seen
    assert seen[-1].end_ns == small.duration_ns
    assert all(it.time_ns <= it.end_ns for it in seen)


def test_an_interrupt_leaves_usable_results_that_can_be_resumed(small: fabric.Scenario, tmp_path: Path) -> None:
    once = threading.Event()

    def interrupt(_: fabric.Progress) -> None:
        if not once.is_set():
            once.set()
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as stopped:
        fabric.run(small, tmp_path / "run", progress=interrupt)
    assert isinstance(stopped.value, RunInterruptedError)
    partial = stopped.value.result
    assert partial.status == "interrupted"
    assert not partial.ok
    assert partial.table("messages").num_rows == 15
    assert signal.getsignal(signal.SIGINT) is before
    with fabric.run(small) as whole:
        assert fabric.run(small, tmp_path / "run", resume=True) == whole


# ===== stepping =====


def test_steps_do_not_change_what_is_simulated(small: fabric.Scenario, result: fabric.Result) -> None:
    digests = []
    for step in ("1ms", "7us"):
        with fabric.Emulator(small) as emulator:
            while emulator.advance(f"+{step}"):
                pass
            assert emulator.finished
            emulator.advance(emulator.end_ns)
            digests.append(emulator.digest())
            metrics = emulator.metrics()
            messages = emulator.messages()
    assert digests[0] == digests[1]
    assert messages.equals(result.table("messages"))
    skip = {"goodput.total_bps", "simulated.time_ns"}  # steps went on to the end of the duration
    assert {name: value for name, value in metrics.items() if name not in skip} == {
        name: value for name, value in result.metrics.items() if name not in skip
    }


def test_an_injected_fault_is_the_fault_of_a_scenario(small: fabric.Scenario) -> None:
    fault = {"kind": "link-down", "link": "leaf1--spine2", "at": "20us", "until": "120us"}
    with fabric.Emulator(small) as injected, fabric.Emulator(small.with_({"faults": [fault]})) as written:
        injected.advance("20us")
        record = injected.inject("link-down", link="leaf1--spine2", until="+100us")
        assert (record["start_ns"], record["end_ns"]) == (20_000, 120_000)
        for emulator in (injected, written):
            emulator.advance(emulator.end_ns)
        assert injected.metrics() == written.metrics()
        assert injected.metrics()["drops.link_down"]
        assert len(injected.truth) == len(written.truth) == 1


def test_changes_one_after_the_other_are_the_faults_of_a_scenario() -> None:
    drifts = [
        {"kind": "config-drift", "ports": "leaf1", "headroom": "200KB"},
        {"kind": "config-drift", "ports": "leaf1", "dynamic_th": -4},
        {"kind": "config-drift", "ports": "leaf1", "ecn_curve": {"kmin": "1KB", "kmax": "2KB", "pmax": 1.0}},
    ]
    scenario = fabric.load("incast")
    written = scenario.with_({"faults": [{**it, "at": f"{20 * number}us"} for number, it in enumerate(drifts, 1)]})
    with fabric.Emulator(scenario) as one, fabric.Emulator(written) as other, fabric.Emulator(scenario) as plain:
        for number, drift in enumerate(drifts, 1):
            one.advance(f"{20 * number}us")
            one.inject(**drift)  # type: ignore[arg-type]
        for emulator in (one, other, plain):
            emulator.advance("200us")
        assert one.metrics() == other.metrics() != plain.metrics()


def test_a_fault_that_routers_notice_is_followed_by_the_control_plane() -> None:
    scenario = fabric.load("bgp-spine-failure", {"faults": []})
    fault = {"kind": "switch-crash", "switch": "spine1"}
    with (
        fabric.Emulator(scenario) as injected,
        fabric.Emulator(scenario.with_({"faults": [{**fault, "at": "1ms"}]})) as written,
    ):
        injected.advance("1ms")
        injected.inject(**fault)
        for emulator in (injected, written):
            emulator.advance("3ms")
        assert injected.counters().equals(written.counters())
        assert injected.metrics()["drops.total"]


def test_counters_add_up_by_place(small: fabric.Scenario) -> None:
    with fabric.Emulator(small) as emulator:
        emulator.advance("50us")
        table = emulator.counters()
        rows = [row for row in table.to_pylist() if row["observable"] == "tx_bytes" and row["device"] == "leaf1"]
        assert emulator.total("tx_bytes", device="leaf1") == sum(row["value"] for row in rows) > 0
        one = rows[0]
        assert emulator.total("tx_bytes", device="leaf1", port=one["port"]) == one["value"]
        with pytest.raises(fabric.InputErrors) as error:
            emulator.total("tx_byte", device="leaf9")
        assert problems(error) == ["observable", "device"]


def test_bad_steps_and_faults_are_errors(small: fabric.Scenario) -> None:
    emulator = fabric.Emulator(small)
    emulator.advance("10us")
    for until in ("5us", 5, "10", "+x"):
        with pytest.raises(fabric.InputErrors) as error:
            emulator.advance(until)
        assert problems(error) == ["until"]
    with pytest.raises(fabric.InputErrors):
        emulator.inject("link-down", link="leaf9--spine1")
    with pytest.raises(fabric.InputErrors):
        emulator.inject("bgp-crash", switches=["leaf1"])
    assert emulator.truth == ()
    emulator.close()
    emulator.close()
    with pytest.raises(fabric.FabricError, match="closed"):
        emulator.advance("20us")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own handler of SIGINT: a shell starts background jobs with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_emulator_can_go_on(small: fabric.Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    with fabric.Emulator(small) as emulator, fabric.Emulator(small) as whole:
        engine = emulator._running
        advance = engine.advance

        def interrupted(*args: object, **options: object) -> object:
            signal.raise_signal(signal.SIGINT)
            monkeypatch.setattr(engine, "advance", advance)
            return advance(*args, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(engine, "advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            emulator.advance("1ms")
        assert emulator.now_ns < 1_000_000
        for it in (emulator, whole):
            it.advance("1ms")
        assert emulator.digest() == whole.digest()


def test_a_program_with_a_handler_of_its_own_gets_the_signal_and_goes_on(
    small: fabric.Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        with fabric.Emulator(small) as emulator:
            engine = emulator._running
            advance = engine.advance

            def interrupted(*args: object, **options: object) -> object:
                signal.raise_signal(signal.SIGINT)
                monkeypatch.setattr(engine, "advance", advance)
                return advance(*args, **options)  # type: ignore[arg-type]

            monkeypatch.setattr(engine, "advance", interrupted)
            emulator.advance("50us")
            assert emulator.now_ns == 50_000
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


# ===== configurations =====


def test_a_verdict_is_that_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    new, old = CONFIGS / "after", CONFIGS / "before"
    assert main(["validate", str(new), "--baseline", str(old), "--json"]) == 1
    printed = capsys.readouterr().out
    verdict = fabric.validate(new, baseline=old)
    assert verdict.render("json") == printed
    assert not verdict.ok
    assert verdict.exit_code() == 1
    assert verdict.exit_code("never") == 0
    assert sum(verdict.counts.values()) == len(verdict.findings) == verdict.table().num_rows
    first = verdict.findings[0]
    assert first.severity == "error"
    assert first.place.partition(":")[0].endswith(".json")
    assert first.remedy
    assert first.text in verdict._repr_html_().replace("&#x27;", "'").replace("&lt;", "<").replace("&gt;", ">")
    assert fabric.validate(old, only="W").counts["error"] == 0


def test_causes_are_those_of_the_json_document() -> None:
    verdict = fabric.validate(CONFIGS / "after")
    printed = json.loads(verdict.render("json"))["causes"]
    assert printed
    assert len(verdict.causes) == len(printed)
    for cause, row in zip(verdict.causes, printed, strict=True):
        assert (cause.check, cause.severity, cause.text) == (row["id"], row["severity"], row["text"])
        assert {device: list(objects) for device, objects in cause.devices.items()} == row["devices"]
        assert [(it.device, it.field, it.value, it.command) for it in cause.fixes] == [
            (it["device"], it["field"], it["value"], it["command"]) for it in row["fixes"]
        ]
        assert not (cause.no_command and any(it.command for it in cause.fixes))
        assert all(any(it is one for one in verdict.findings) for it in (*cause.findings, *cause.consequences))
        assert cause.check in str(cause)
    assert {id(it) for cause in verdict.causes for it in (*cause.findings, *cause.consequences)} == {
        id(it) for it in verdict.findings
    }


def test_bad_parameters_of_a_validation_are_errors(tmp_path: Path) -> None:
    with pytest.raises(fabric.InputErrors) as error:
        fabric.validate([], roce_dscp=[64], max_oversubscription=0)
    assert problems(error) == ["roce_dscp", "max_oversubscription", "configs"]
    with pytest.raises(fabric.InputErrors) as unknown:
        fabric.validate(CONFIGS / "after", only="M99")
    assert problems(unknown) == ["only"]
    with pytest.raises(fabric.InputErrors):
        fabric.validate(tmp_path / "nothing")


def test_a_headroom_is_that_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["headroom", "--speed", "400G", "--cable", "40m", "--platform", "sn4700", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    found = fabric.headroom("400G", "40m", platform="sn4700")
    assert dict(found.bounds) == printed["bounds"]
    assert [it.bytes for it in found.formula_terms] == [it["bytes"] for it in printed["terms"]]
    assert found.formula is not None
    assert found.formula.xoff_bytes == printed["formula"]["xoff_bytes"]
    assert list(found.below) == printed["below"]
    assert found.bounds["c"] == found.terms[0].bytes + 2 * found.terms[1].bytes + found.terms[2].bytes
    assert fabric.headroom(400 * 10**9, "40m", xoff="1MB").ok
    with pytest.raises(fabric.InputErrors) as error:
        fabric.headroom("10", "4", mtu=1, xoff="x")
    assert problems(error) == ["speed", "cable", "xoff", "mtu"]
    with pytest.raises(fabric.InputErrors) as unknown:
        fabric.headroom("400G", "40m", platform="nobody's")
    assert problems(unknown) == ["platform"]


# ===== documentation =====


def test_every_public_thing_is_documented_and_typed() -> None:
    for name in fabric.__all__:
        thing = getattr(fabric, name)
        assert inspect.getdoc(thing), name
        members = (
            [thing]
            if inspect.isfunction(thing)
            else [value for key, value in vars(thing).items() if inspect.isfunction(value) and not key.startswith("_")]
        )
        for member in members:
            assert inspect.getdoc(member), (name, member)
            assert "return" in member.__annotations__, (name, member)


@pytest.mark.parametrize("name", ["load", "run", "headroom", "Emulator"])
def test_the_examples_of_the_docstrings_are_true(name: str) -> None:
    found = doctest.DocTestFinder(recurse=False).find(getattr(fabric, name), name, globs={"fabric": fabric})
    assert any(test.examples for test in found)
    for test in found:
        assert doctest.DocTestRunner().run(test).failed == 0


def test_numbers_of_metrics_are_plain(result: fabric.Result) -> None:
    assert not any(isinstance(value, np.generic) for value in result.metrics.values())
