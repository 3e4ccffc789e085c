"""Rules: rendered as committed, every name in the catalogue, conventions kept, every alert tested twice by promtool."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

import pytest
import yaml

from fabric.cli.main import VERBS, _parse
from fabric.scenario.load import load_scenario
from telemetry.alerting.alert import Alert, Severity, fields, filled, go_template
from telemetry.alerting.alerts import ALERTS
from telemetry.alerting.fit import EXPORTER_DOWN, NAMES, RUN_STOPPED
from telemetry.alerting.hold import NO_DATA, recordings
from telemetry.alerting.inhibitions import INHIBITIONS
from telemetry.alerting.promql.labels import TARGET, labels_of
from telemetry.alerting.promql.model import Aggregate, Select, Symbol, metrics, walk
from telemetry.alerting.render import RUNBOOKS, rules_yaml
from telemetry.alerting.rules import NOMINAL_DILATION, RECORDINGS, SCRAPE_S, Recording, known_labels, timing
from telemetry.alerting.runbook_pages import url
from telemetry.catalogue.metrics import BY_NAME
from tests.telemetry.programs import program, run_tool

FOLDER: Final = Path("telemetry/prometheus")


def by_name(alert: Alert) -> str:
    return alert.name


@pytest.mark.parametrize("dilation", [50, 1000, 15_000, 60_000])
def test_promtool_accepts_the_rules_of_any_dilation(dilation: float, tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(rules_yaml(dilation))
    output = run_tool(program("promtool"), "check", "rules", str(tmp_path / "rules.yml"))
    assert f"SUCCESS: {len(recordings()) + len(RECORDINGS) + 2 * len(ALERTS) + len(NAMES)} rules found" in output


def test_a_dilation_scales_every_window_and_every_for() -> None:
    nominal, fast = (yaml.safe_load(rules_yaml(dilation))["groups"][0] for dilation in (15_000, 1000))
    assert (nominal["interval"], fast["interval"]) == ("15s", "1s")
    windows = [
        re.findall(r"\[(\w+)\]", " ".join(rule["expr"] for rule in group["rules"] if rule.get("record") != NO_DATA))
        for group in (nominal, fast)  # how long a target is remembered is about the installation, not about the fabric
    ]
    short = {"1m": "4s", "3m": "12s", "5m": "20s", "10m": "40s", "20m": "1m20s", "1h": "4m"}
    assert windows[1] == [short[window] for window in windows[0]]
    holds = [[rule.get("for") for rule in group["rules"]] for group in (nominal, fast)]
    assert holds[1] == [
        {**short, "15s": "1s", "30s": "2s", "1m30s": "6s", "2m": "8s"}.get(hold, hold) for hold in holds[0]
    ]


@pytest.mark.parametrize("rule", RECORDINGS, ids=lambda rule: rule.name)
def test_a_recorded_name_is_level_metric_operations(rule: Recording) -> None:
    level, metric, operations = rule.name.split(":")
    labels = labels_of(rule.expr, known_labels()) - TARGET
    named = set(level.split("_"))
    assert named <= labels | {"instance"}, "the level names labels that the rows have"
    assert not metric.endswith("_total")
    assert re.fullmatch(r"(ratio_)?(rate|increase|max)[15]m|info", operations)
    read = [name for name in metrics(rule.expr) if name in BY_NAME]
    assert read or any(name in {it.name for it in RECORDINGS} for name in metrics(rule.expr))


def test_recorded_rows_never_lose_a_label_that_a_scrape_added() -> None:
    for rule in (*RECORDINGS, *ALERTS):
        for part in walk(rule.expr):
            if isinstance(part, Aggregate):
                assert not set(part.without) & TARGET
        if not any(isinstance(part, Select) and part.metric == "fabric_pfc_deadlock" for part in walk(rule.expr)):
            assert "instance" in labels_of(rule.expr, known_labels())


@pytest.mark.parametrize("alert", ALERTS, ids=by_name)
def test_an_alert_names_metrics_and_labels_that_exist(alert: Alert) -> None:
    labels = labels_of(alert.expr, known_labels())
    assert set(fields(alert.description)) <= labels
    assert not alert.root or alert.root in labels


@pytest.mark.parametrize("alert", ALERTS, ids=by_name)
def test_an_alert_says_what_an_operator_needs(alert: Alert, repo_root: Path) -> None:
    assert re.fullmatch(r"Fabric([A-Z][a-z0-9]+)+", alert.name)
    assert alert.summary.endswith(".")
    assert "{" not in alert.summary, "a summary is a fixed sentence"
    assert alert.description.endswith(".")
    assert alert.why.endswith(".")
    assert alert.hold_s % SCRAPE_S == 0
    assert "|" not in alert.summary + alert.why, "they stand in a table"
    page = (repo_root / "docs" / "runbooks" / f"{alert.name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {alert.name}\n")
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == ["Meaning", "Impact", "Diagnosis", "Mitigation"]


@pytest.mark.parametrize("alert", ALERTS, ids=by_name)
def test_a_runbook_names_metrics_commands_and_pages_that_exist(alert: Alert, repo_root: Path) -> None:
    home = repo_root / "docs" / "runbooks"
    page = (home / f"{alert.name}.md").read_text(encoding="utf-8")
    known = set(known_labels())
    for name in re.findall(r"\b(?:\w+:)?fabric_\w+(?::\w+)?", page):
        bare = re.sub(r"_(bucket|sum|count)$", "", name)
        assert name in known or bare in known, name
    for link in re.findall(r"\]\(([^)#]+)\)", page):
        assert (home / link).resolve().exists(), link
    for verb in re.findall(r"`fabric (\w+)", page):
        assert verb in {it.name for it in VERBS}, verb
    for other in re.findall(r"\bFabric[A-Z]\w+", page):
        assert other in {it.name for it in ALERTS}, other


def test_the_dashboard_that_an_alert_opens_exists(repo_root: Path) -> None:
    boards = {file.stem for file in (repo_root / "telemetry" / "grafana" / "rendered").glob("*.json")}
    assert {alert.dashboard for alert in ALERTS} <= boards


@pytest.mark.parametrize("alert", ALERTS, ids=by_name)
def test_the_commands_of_a_runbook_are_taken_as_they_stand(alert: Alert, repo_root: Path) -> None:
    page = (repo_root / "docs" / "runbooks" / f"{alert.name}.md").read_text(encoding="utf-8")
    for command in re.findall(r"`fabric ([^`]+)`", page):
        words = shlex.split(command)
        if words == words[:1] or "--help" in words:
            continue  # a name, or where to read on
        args = _parse(words)
        if getattr(args, "sets", None):
            load_scenario(repo_root / "scenarios" / "incast.yml", args.sets)


def test_promtool_can_read_every_query_of_a_runbook(repo_root: Path, tmp_path: Path) -> None:
    queries = [
        query
        for page in sorted((repo_root / "docs" / "runbooks").glob("*.md"))
        for query in re.findall(r"`([^`]*fabric_[^`]*)`", page.read_text(encoding="utf-8"))
    ]
    assert len(queries) > len(ALERTS)
    rules = [{"record": f"a:query{number}:b", "expr": query} for number, query in enumerate(queries)]
    file = tmp_path / "queries.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "runbooks", "rules": rules}]}), encoding="utf-8")
    run_tool(program("promtool"), "check", "rules", str(file))


def test_a_page_links_to_its_runbook_where_a_browser_finds_it(repo_root: Path) -> None:
    committed = (repo_root / FOLDER / "rules.yml").read_text(encoding="utf-8")
    assert re.findall(r"runbook_url: (.+)", committed) == [
        url(RUNBOOKS, name) for name in (*(alert.name for alert in ALERTS), *NAMES)
    ]
    assert RUNBOOKS.startswith("http")


def test_no_runbook_is_without_an_alert(repo_root: Path) -> None:
    pages = {page.stem for page in (repo_root / "docs" / "runbooks").glob("*.md")}
    assert pages == {alert.name for alert in ALERTS} | {*NAMES}


@pytest.mark.parametrize("name", [*(alert.name for alert in ALERTS), EXPORTER_DOWN, RUN_STOPPED])
def test_promtool_sees_every_alert_fire_and_a_near_miss_stay_silent(name: str, repo_root: Path) -> None:
    file = repo_root / FOLDER / "tests" / f"{name}.yml"
    cases = [one for test in yaml.safe_load(file.read_text())["tests"] for one in test["alert_rule_test"]]
    assert {one["alertname"] for one in cases} == {name}
    assert [bool(one["exp_alerts"]) for one in cases][:2] == [True, False]
    run_tool(program("promtool"), "test", "rules", str(file))


def test_a_rate_is_never_per_second_of_wall_time_without_saying_so() -> None:
    """A rate of seconds or bytes is divided by the pace of simulated time, or by another rate."""
    pace = "instance:fabric_sim_elapsed_seconds:rate1m"
    for rule in RECORDINGS:
        text = rules_yaml().split(f"record: {rule.name}\n")[1].split("- record:")[0].split("- alert:")[0]
        if rule.name != pace and re.search(r"rate\(\w+_(seconds|bytes)_total", text):
            assert pace in text or re.search(r"/ \(rate\(", text), rule.name


@pytest.mark.parametrize(
    ("text", "labels", "value", "template", "shown"),
    [
        (
            "{device} at {value:percent}.",
            {"device": "leaf1"},
            0.12345,
            "{{ $labels.device }} at {{ $value | humanizePercentage }}.",
            "leaf1 at 12.35%.",
        ),
        (
            "{value:count} of {port}",
            {"port": "e0"},
            3.6,
            '{{ $value | printf "%.0f" }} of {{ $labels.port }}',
            "4 of e0",
        ),
        ("{value:ratio} {gone}", {}, 11.117, '{{ $value | printf "%.3g" }} {{ $labels.gone }}', "11.1 "),
    ],
)
def test_a_text_is_filled_as_prometheus_fills_it(
    text: str, labels: dict[str, str], value: float, template: str, shown: str
) -> None:
    assert go_template(text, timing(NOMINAL_DILATION)) == template
    assert filled(text, labels, value) == shown


def test_a_text_names_the_window_that_its_reader_lives_in() -> None:
    """A nominal minute is a minute of Prometheus' clock at the nominal dilation only, and always 4 ms of the fabric."""
    text = "for {value:percent} of the last {last:60}."
    assert go_template(text, timing(NOMINAL_DILATION)).endswith("of the last 1m.")
    assert go_template(text, timing(1000)).endswith("of the last 4s.")
    assert filled(text, {}, 0.5) == "for 50% of the last 4ms."


@pytest.mark.parametrize("dilation", [1000, 15_000])
def test_no_annotation_names_a_window_that_its_rule_does_not_have(dilation: float) -> None:
    for group in yaml.safe_load(rules_yaml(dilation))["groups"]:
        recorded = {it["record"]: it["expr"] for it in group["rules"] if "record" in it}
        windows: dict[str, set[str]] = {}
        for record, expr in recorded.items():  # a rule reads those before it
            found = (its for name, its in windows.items() if name in expr)
            windows[record] = set(re.findall(r"\[(\w+)\]", expr)).union(*found)
        for rule in group["rules"]:
            if "alert" in rule:
                named = set(re.findall(r"(?:last|within) (\d\w*)", rule["annotations"]["description"]))
                own = set(re.findall(r"\[(\w+)\]", rule["expr"])).union(
                    *(found for name, found in windows.items() if name in rule["expr"])
                )
                assert named <= own, rule["alert"]
                assert not re.search(r"minute|hour", rule["annotations"]["description"]), rule["alert"]


def test_an_inhibition_joins_alerts_that_have_its_labels() -> None:
    known = known_labels()
    by_alert = {alert.name: alert for alert in ALERTS}
    for rule in INHIBITIONS:
        for name in (rule.source, *rule.targets):
            alert = by_alert[name]
            has = labels_of(alert.expr, known) | {"fabric"} | ({"root_device"} if alert.root else set())
            assert set(rule.equal) <= has, f"{rule.source} -> {name}: a label missing on both sides counts as equal"
        assert rule.source not in rule.targets


def test_a_ticket_never_mutes_a_page() -> None:
    severity = {alert.name: alert.severity for alert in ALERTS}
    for rule in INHIBITIONS:
        for target in rule.targets:
            assert severity[rule.source] is Severity.CRITICAL or severity[target] is Severity.WARNING


def test_no_two_alerts_silence_each_other() -> None:
    edges = {(rule.source, target) for rule in INHIBITIONS for target in rule.targets}
    assert not [edge for edge in edges if edge[::-1] in edges]


def test_what_explains_an_alert_fires_no_later_than_it() -> None:
    """Else the inhibitor arrives when the ticket is written. Both begin to look back when the trouble begins."""
    hold = {alert.name: alert.hold_s for alert in ALERTS}
    assert all(hold[rule.source] <= hold[target] for rule in INHIBITIONS for target in rule.targets)


def test_thresholds_that_are_swept_are_strict_lower_bounds() -> None:
    for alert in ALERTS:
        if alert.style:
            assert any(getattr(part, "symbol", None) is Symbol.GREATER for part in walk(alert.expr))
            assert alert.limit > 0
