"""Root causes of a live run so far: what a finished run gives, of the samples that there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.main import main
from fabric.explain.eventlines import Severity
from fabric.runs.session import Plan
from fabric.runs.simulate import prepare
from fabric.scenario.compile.scenario import CompiledScenario
from fabric.scenario.load import load_scenario
from fabric.scenario.schema.scenario import Scenario
from fabric.units import PS_PER_US
from telemetry.diagnosis.diagnose import METRICS, diagnose
from telemetry.live import roots as live_roots
from telemetry.live.control import LiveControl
from telemetry.live.events import EventSink
from telemetry.live.roots import LiveRoots, _urgency
from telemetry.live.roots_page import live_roots as page_of
from telemetry.live.shown import root_text, roots_text
from telemetry.live.world import LiveWorld
from telemetry.sources.run_info import of_plan
from telemetry.sources.sampled import sampled
from tests.telemetry.served import VIEW, Served

SCENARIO = """\
name: small
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3}
workload:
  - {kind: incast, receiver: host1, senders: ["host2", "host3", "host4"], size: 20MB}
faults:
  - {kind: pause-storm, hosts: [host1], priorities: [3], at: 500us, duration: 1ms}
run: {duration: 2ms, seed: 5, stop: duration}
telemetry: {interval: 50us}
"""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    path: Path = tmp_path_factory.mktemp("scenario") / "small.yml"
    path.write_text(SCENARIO, encoding="utf-8")
    return load_scenario(path, [])


@pytest.fixture(scope="module")
def prepared(scenario: Scenario) -> tuple[CompiledScenario, Plan]:
    return prepare(scenario)


class Live:
    """A pass that is simulated by hand, in this thread."""

    def __init__(self, scenario: Scenario, prepared: tuple[CompiledScenario, Plan]) -> None:
        self.compiled, plan = prepared
        sink = EventSink("small", self.compiled.fabric, lambda: 1000.0, None, Severity.INFO)
        self.world = LiveWorld(scenario, self.compiled, 1, sink)
        control = LiveControl(self.world)
        self.clock_s = 0.0
        self.roots = LiveRoots(
            of_plan(plan), self.compiled.fabric, self.world, control, plan.truth, self.compiled.sampling_ps,
            lambda: self.clock_s,
        )  # fmt: skip
        self._observers = self.world, control, self.roots
        self.asked = 0
        self.begin(1)

    def begin(self, number: int) -> None:
        """A pass, with its first sample."""
        self.engine = self.world.make_engine()
        for it in self._observers:
            it.begin(number)
        self.roots.sample(self.engine.snapshot(reset_watermarks=True))

    def simulate(self, until_ps: int) -> None:
        """Sample after sample."""
        step_ps = self.compiled.sampling_ps
        for time_ps in range(self.engine.now_ps + step_ps, until_ps + 1, step_ps):
            self.engine.advance(time_ps)
            rows = self.engine.drain_events()
            for it in self._observers:
                it.events(rows, time_ps)
            self.roots.sample(self.engine.snapshot(reset_watermarks=True))

    def ask(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401  what `work` returns
        """The mailbox."""
        self.asked += 1
        return work()

    def answer(self) -> dict[str, Any]:
        """Of the API."""
        return self.roots.roots(self.ask)


@pytest.fixture
def live(scenario: Scenario, prepared: tuple[CompiledScenario, Plan]) -> Live:
    return Live(scenario, prepared)


def test_at_its_end_a_live_run_has_the_roots_of_a_finished_one(
    live: Live, prepared: tuple[CompiledScenario, Plan]
) -> None:
    compiled, plan = prepared
    live.simulate(compiled.duration_ps)
    found = live.answer()
    finished = diagnose(sampled(compiled, plan, METRICS), compiled.fabric)
    assert [(it["kind"], it["place"], it["evidence"]) for it in found["roots"]] == [
        (it.kind.value, it.place, list(it.evidence)) for it in finished
    ]
    assert found["roots"][0]["kind"] == "broken-nic"
    assert (found["from_seconds"], found["until_seconds"]) == (0.0, 0.002)


def test_a_root_is_named_while_it_lasts_and_open_until_it_is_over(live: Live) -> None:
    live.simulate(450 * PS_PER_US)
    assert "broken-nic" not in {it["kind"] for it in live.answer()["roots"]}
    live.simulate(1200 * PS_PER_US)
    live.clock_s += 1
    during = next(it for it in live.answer()["roots"] if it["kind"] == "broken-nic")
    live.simulate(2000 * PS_PER_US)
    live.clock_s += 1
    after = next(it for it in live.answer()["roots"] if it["kind"] == "broken-nic")
    assert (during["device"], during["port"], during["class"], during["open"]) == ("host1", "eth0", 3, True)
    assert not after["open"]
    assert after["since_seconds"] == during["since_seconds"] == pytest.approx(0.0005)


def test_without_a_new_sample_the_diagnosis_is_not_made_again(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.simulate(1000 * PS_PER_US)
    made = []

    def counted(*given: Any) -> Any:  # noqa: ANN401
        made.append(1)
        live.clock_s += 2
        return diagnose(*given)

    monkeypatch.setattr(live_roots, "diagnose", counted)
    first = live.answer()
    assert live.answer() is first
    live.simulate(1100 * PS_PER_US)
    assert live.answer() is first, "a diagnosis of 2 s is good for 20 s more"
    live.clock_s += 19
    assert live.answer() is first
    live.clock_s += 1
    assert live.answer()["until_seconds"] == pytest.approx(0.0011)
    live.begin(2)
    assert live.answer()["pass"] == 2, "another pass has other roots, at once"
    assert len(made) == 3


def test_beyond_its_most_samples_roots_are_of_the_later_half(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_roots, "MOST_SAMPLES", 20)
    live.simulate(1400 * PS_PER_US)
    found = live.answer()
    assert found["from_seconds"] >= 0.0004
    root = next(it for it in found["roots"] if it["kind"] == "broken-nic")
    assert root["open"]
    assert root["place"] == "host1:eth0 (class 3)"


def test_beyond_its_most_values_the_record_is_halved_as_well(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.simulate(200 * PS_PER_US)
    monkeypatch.setattr(live_roots, "MOST_CHANGES", 1500)
    live.simulate(1400 * PS_PER_US)
    found = live.answer()
    assert found["from_seconds"] > 0
    assert "broken-nic" in {it["kind"] for it in found["roots"]}


def test_a_change_through_the_api_is_what_changed_before(live: Live) -> None:
    live.simulate(300 * PS_PER_US)
    live.world.configure({"kind": "shut", "link": "leaf1:Ethernet8"}, live.engine.now_ps)
    live.simulate(1200 * PS_PER_US)
    root = next(it for it in live.answer()["roots"] if it["kind"] == "link-down")
    assert root["change_before"].startswith("shut: ")
    assert "by API" in root["change_before"]


def test_one_line_and_a_page_say_what_the_answer_has(live: Live) -> None:
    live.simulate(1200 * PS_PER_US)
    found = live.answer()
    root = next(it for it in found["roots"] if it["kind"] == "broken-nic")
    line = root_text(root)
    for words in ("broken-nic at host1:eth0 (class 3)", "500us to now", root["evidence"][0], "First: " + root["act"]):
        assert words in line
    assert roots_text(found) == "root causes up to 1.2ms:"
    page = page_of("http://127.0.0.1:1", found)
    assert root["place"] in page.verdict or len(found["roots"]) > 1
    assert root["act"] in str(page.sections)
    assert f"{root['title']}, and it lasts. " in str(page.sections)
    none = {**found, "roots": []}
    assert roots_text(none).endswith(": none")
    assert "no root cause" in page_of("http://127.0.0.1:1", none).verdict


def test_the_route_answers_a_reader_and_explain_prints_it(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text(VIEW, encoding="utf-8")
    token.chmod(0o600)
    url = f"http://{served.host}:{served.port}"
    assert main(["explain", url, "--token-file", str(token)]) == 0
    assert "no root cause in pass 1" in capsys.readouterr().out
    assert main(["explain", "roots", url, "--token-file", str(token), "--card", "text", "--as-seen-by", "sonic"]) == 2
    said = capsys.readouterr().err
    assert "--card" in said
    assert "--as-seen-by" in said


def test_a_token_without_a_url_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "roots", str(tmp_path), "--token-file", "x"]) == 2
    assert "has no effect on a run directory" in capsys.readouterr().err


def test_a_root_that_goes_on_comes_before_those_that_are_over_and_the_surest_first() -> None:
    def row(name: str, confidence: float | None, *, going_on: bool, rank: int = 1) -> dict[str, Any]:
        return {"kind": name, "open": going_on, "confidence": confidence, "rank": rank, "since_seconds": 0.0}

    rows = [
        row("harmless", None, going_on=True, rank=2),
        row("over", 0.99, going_on=False),
        row("load", None, going_on=True),
        row("sure", 0.98, going_on=True),
        row("perhaps", 0.6, going_on=True),
    ]
    assert [it["kind"] for it in sorted(rows, key=_urgency)] == ["sure", "perhaps", "load", "over", "harmless"]
    acted = sorted(rows, key=lambda it: _urgency(it, act=it["kind"] == "sure"))
    assert [it["kind"] for it in acted] == ["perhaps", "load", "over", "sure", "harmless"]
