"""Results of other code are never mixed with those of a study."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import pytest
from small_study import STUDY, written
from worker_jobs import double

from fabric.errors import FabricError, RunDirError
from fabric.studies import code, dask
from fabric.studies.columns import run_schema
from fabric.studies.dataset import claimed
from fabric.studies.jobs import Job
from fabric.studies.plan import StudyPlan, load_study
from tests.test_layering import LADDER


def about(plan: StudyPlan, **more: str) -> dict[str, Any]:
    return {"name": plan.study.name, "identity": plan.identity, "code": code.code_digest(), **more}


def test_a_study_of_other_code_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = load_study(written(tmp_path))
    with claimed(tmp_path / "out", run_schema(plan), resume=False, force=False) as folder:
        folder.begin(about(plan))
    with claimed(tmp_path / "out", run_schema(plan), resume=True, force=False) as folder:
        assert folder.resume(about(plan)) == []
    monkeypatch.setattr(code, "code_digest", lambda: "0123456789abcdef")
    with (
        claimed(tmp_path / "out", run_schema(plan), resume=True, force=False) as folder,
        pytest.raises(RunDirError, match="begun with other code"),
    ):
        folder.resume(about(plan))


def test_a_search_of_another_optuna_is_refused_by_that_name(tmp_path: Path) -> None:
    plan = load_study(written(tmp_path))
    with claimed(tmp_path / "out", run_schema(plan), resume=False, force=False) as folder:
        folder.begin({**about(plan, optuna="4.1"), "identity": "a"})
    with (
        claimed(tmp_path / "out", run_schema(plan), resume=True, force=False) as folder,
        pytest.raises(RunDirError, match=r"begun with optuna 4\.1, and here is 4\.2"),
    ):
        folder.resume({**about(plan, optuna="4.2"), "identity": "b"})


def test_another_study_is_named_as_such(tmp_path: Path) -> None:
    plan = load_study(written(tmp_path))
    with claimed(tmp_path / "out", run_schema(plan), resume=False, force=False) as folder:
        folder.begin(about(plan))
    other = load_study(written(tmp_path, repetitions={"seeds": STUDY["repetitions"]["seeds"] + 1}))
    with (
        claimed(tmp_path / "out", run_schema(plan), resume=True, force=False) as folder,
        pytest.raises(RunDirError, match="is another study"),
    ):
        folder.resume(about(other))


def test_a_change_of_what_simulates_is_other_code_and_a_change_of_what_shows_is_not(tmp_path: Path) -> None:
    files = {name: tmp_path / name / "it.py" for name in ("workload", "runs", "cli", "render")}
    for file in files.values():
        file.parent.mkdir()
        file.write_text("A = 1\n", encoding="utf-8")
    found = [code.sources_digest(tmp_path)]
    for name in ("cli", "render", "workload", "runs"):
        files[name].write_text("A = 2\n", encoding="utf-8")
        found.append(code.sources_digest(tmp_path))
    assert found[0] == found[1] == found[2]
    assert len(set(found)) == 3
    assert len(code.code_digest()) == 16


def test_nothing_that_a_run_may_import_is_left_out_of_the_digest() -> None:
    rows = {part: row for row, parts in enumerate(LADDER) for part in parts}
    simulates = rows["fabric.runs"]
    below = {name for name in code.WITHOUT_RESULTS if rows[f"fabric.{name}"] <= simulates}
    assert below == {"errorlist"}  # the catalogue of error texts


def test_a_worker_with_other_code_does_no_job() -> None:
    mine = dask.installed()[0]
    assert dask.guarded_call(mine, double, 4)[:2] == (8, None)
    value, failure, _, _ = dask.guarded_call("0123456789abcdef", double, 4)
    assert value is None
    assert failure is not None
    assert failure.kind == "refused"
    assert "other code: version" in failure.text


class Client:
    """A Dask client of which the keys of its tasks are kept."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def submit(self, *_: object, key: str, pure: bool) -> Any:  # noqa: ANN401
        assert not pure
        self.keys.append(key)
        return self

    def add_done_callback(self, _: object) -> None:
        return


def test_studies_of_one_scheduler_have_no_task_in_common() -> None:
    clients = []
    for _ in range(2):
        workers = dask.DaskWorkers("tcp://nowhere:1")
        workers._client = Client()
        workers._submit(double, Job("baseline", 1), deque(), 0)  # type: ignore[arg-type]
        clients.append(workers._client)
    assert clients[0].keys != clients[1].keys


def test_workers_of_other_code_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Distributed:
        """As `import distributed`."""

        class Client:
            """A scheduler with one worker of other code."""

            status = "running"

            def __init__(self, *_: object, **__: object) -> None:
                pass

            def wait_for_workers(self, *_: object, **__: object) -> None:
                pass

            def run(self, _: object) -> dict[str, tuple[str, str]]:
                return {"tcp://a": dask.installed(), "tcp://b": ("0123", "version 0.1.0 (source 0123), Python 3.12.1")}

            def nthreads(self) -> dict[str, int]:
                return {"tcp://a": 1, "tcp://b": 1}

            def close(self) -> None:
                pass

    monkeypatch.setattr(dask, "require", lambda _: Distributed)
    with pytest.raises(FabricError, match=r"have other code: version 0\.1\.0 \(source 0123\)"):
        dask.DaskWorkers("tcp://here:1").__enter__()
