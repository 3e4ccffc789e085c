"""The dashboards: rendered as they are committed, well-formed, and every query of every panel has data in a real
Prometheus."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from fabric.cli.main import main
from telemetry.alerting.alert import Alert
from telemetry.alerting.alerts import ALERTS
from telemetry.alerting.promql.model import Aggregate, Binary, Expr, Latched, Number, Over, Relabel, Select, Symbol
from telemetry.alerting.render import RUNBOOKS
from telemetry.alerting.rules import RECORDINGS
from telemetry.catalogue.metrics import BY_NAME, CATALOGUE
from telemetry.grafana.dashboards import BOARDS
from telemetry.grafana.model import Board, Need, Panel, Query, Unit
from telemetry.grafana.panels import COLUMNS, dashboard
from telemetry.grafana.queries import DEVICES, INSTANCES, Asking
from tests.telemetry.programs import program, prometheus, query_range, run_tool

Json = dict[str, Any]
SHOWN: Final = {board.uid: dashboard(board, RUNBOOKS) for board in BOARDS}
PANELS: Final = [(board, panel) for board in BOARDS for panel in board.panels]
IDS: Final = [f"{board.uid}/{panel.title}" for board, panel in PANELS]
START: Final = "2026-01-31T12:00:00Z"
START_S: Final = 1769860800
LOSSLESS: Final = frozenset({Need.SPINES, Need.PFC, Need.ENDED})
ROUTED: Final = LOSSLESS | {Need.ECN, Need.BGP, Need.OVERLAY}
SITUATIONS: Final[Mapping[str, tuple[str, frozenset[Need]]]] = {
    "alerts/storm": ("12ms", LOSSLESS | {Need.ECN, Need.WAITING}),  # a storm without a watchdog
    "pause-storm": ("6ms", LOSSLESS | {Need.ECN, Need.WAITING, Need.WATCHDOG}),  # one that the watchdog contains
    "slow-receiver": ("4ms", LOSSLESS | {Need.WAITING}),
    "incast": ("2ms", LOSSLESS | {Need.ECN}),
    "all-to-all": ("4ms", LOSSLESS | {Need.ECN, Need.COLLECTIVE, Need.OPERATIONS}),
    "alerts/straggler": (  # messages of transfers are not among those that panels count as ended
        "24ms",
        frozenset({Need.SPINES, Need.PFC, Need.ECN, Need.COLLECTIVE, Need.OPERATIONS, Need.JOB, Need.TRANSFERS}),
    ),
    "alerts/deadlock": ("4ms", frozenset({Need.PFC, Need.WAITING, Need.SEARCH})),
    "bgp-spine-failure": ("22ms", ROUTED),
    "mac-move": ("12ms", ROUTED - {Need.ENDED}),
    "tenant-routing": ("8ms", ROUTED),
    "alerts/arp-flood": ("6ms", frozenset({Need.SPINES, Need.PFC, Need.BGP, Need.OVERLAY, Need.ARP})),
    "link-failure": ("2ms", LOSSLESS | {Need.ECN}),
    "alerts/silent-spine": ("8ms", LOSSLESS | {Need.ECN}),
    "pfc-off": ("2ms", frozenset({Need.SPINES, Need.ENDED})),
    "spray": ("2ms", LOSSLESS | {Need.ECN}),
}
"""Scenario -> how far to run it, and what of a panel's needs it has. Between them they have something to show on every
panel but the quiet ones. Each is also shown as SONiC's polls would have it (Need.SEEN)."""
PASSING: Final = frozenset(
    {"incast", "all-to-all", "bgp-spine-failure", "mac-move", "tenant-routing", "link-failure", "alerts/silent-spine"}
)
"""Runs with congestion that pauses now and then: whether a sample meets a pause (Need.WAITING) is chance."""
RUNS: Final = tuple(SITUATIONS)
QUIET: Final = frozenset(
    {
        "Lossless packets refused",
        "Bubble and slow ranks",
        "Damaged frames",
        "Messages given up",
        "Discarded on arrival",
        "CNPs ignored",
        "Spurious retransmissions",
        "Packets larger than the MTU",
    }
)
"""Panels of what these fabrics never do: their data are zeros."""

INFOS: Final = frozenset(name for name in BY_NAME if name.endswith("_info"))


@pytest.mark.parametrize("uid", SHOWN)
def test_panels_have_numbers_of_their_own_and_do_not_overlap(uid: str) -> None:
    panels = SHOWN[uid]["panels"]
    assert len({it["id"] for it in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for it in panels:
        at = it["gridPos"]
        assert at["x"] + at["w"] <= COLUMNS
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, it["title"]
        taken |= cells


@pytest.mark.parametrize("uid", SHOWN)
def test_every_panel_and_target_asks_the_chosen_datasource(uid: str) -> None:
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    found = SHOWN[uid]
    assert found["templating"]["list"][0]["type"] == "datasource"
    for it in found["panels"]:
        if it["type"] != "row":
            assert it["datasource"] == chosen
            assert [target["datasource"] for target in it["targets"]] == [chosen] * len(it["targets"])
            assert len({target["refId"] for target in it["targets"]}) == len(it["targets"])


@pytest.mark.parametrize("uid", SHOWN)
def test_every_variable_that_a_query_uses_is_offered(uid: str) -> None:
    offered = {it["name"] for it in SHOWN[uid]["templating"]["list"]} | {"__rate_interval", "__range", "__interval"}
    used = set(re.findall(r"\$([a-z_]\w*)", json.dumps([it.get("targets") for it in SHOWN[uid]["panels"]])))
    assert used <= offered


@pytest.mark.parametrize("board", BOARDS, ids=lambda it: it.uid)
def test_simulated_time_and_dilation_head_every_dashboard(board: Board) -> None:
    first = board.sections[0]
    assert first.title == "Simulated time"
    asked = " ".join(query.of.expr for panel in first.panels for query in panel.queries)
    assert "fabric_sim_time_seconds" in asked
    assert "fabric_sim_dilation_ratio" in asked


@pytest.mark.parametrize(("board", "panel"), PANELS, ids=IDS)
def test_a_panel_has_one_unit_and_says_what_it_shows(board: Board, panel: Panel) -> None:
    assert len({query.of.unit for query in panel.queries}) == 1
    assert len(panel.about) > 20
    if panel.unit is Unit.SHARE and panel.top is not None:
        assert panel.top == 1


@pytest.mark.parametrize(("board", "panel"), PANELS, ids=IDS)
def test_a_legend_names_labels_that_some_metric_of_the_query_has(board: Board, panel: Panel) -> None:
    for query in panel.queries:
        names = set(re.findall(r"fabric_\w+", query.of.expr))
        known = {label for spec in CATALOGUE for part in names if part.startswith(spec.family) for label in spec.labels}
        assert set(re.findall(r"\{\{(\w+)\}\}", query.legend)) <= known | {"le"}


def test_uids_and_titles_are_unique_and_every_alert_leads_to_a_dashboard() -> None:
    assert len({board.uid for board in BOARDS}) == len(BOARDS) == len({board.title for board in BOARDS})
    assert {alert.dashboard for alert in ALERTS} <= set(SHOWN)


def deciding(of: Expr) -> set[str]:
    """Metrics of an expression whose values decide: not those of sets on the right, and not the rows of value 1."""
    match of:
        case Number():
            return set()
        case Select(metric=metric):
            recorded = {rule.name: rule.expr for rule in RECORDINGS}
            return deciding(recorded[metric]) if metric in recorded else {metric} - INFOS
        case Over(of=inner) | Aggregate(of=inner) | Relabel(of=inner) | Latched(begins=inner):
            return deciding(inner)
        case Binary(symbol=symbol, left=left, right=right):
            return deciding(left) | (set() if symbol in {Symbol.AND, Symbol.UNLESS} else deciding(right))


@pytest.mark.parametrize("alert", ALERTS, ids=lambda it: it.name)
def test_what_decides_an_alert_is_on_panels_of_the_dashboard_that_it_leads_to(alert: Alert) -> None:
    (board,) = (it for it in BOARDS if it.uid == alert.dashboard)
    asked = {name for panel in board.panels for it in panel.queries for name in re.findall(r"fabric_\w+", it.of.expr)}
    assert deciding(alert.expr) - asked == set()


@pytest.mark.parametrize("uid", SHOWN)
def test_a_dashboard_links_the_runbooks_of_its_alerts(uid: str, repo_root: Path) -> None:
    urls = {it["url"] for it in SHOWN[uid]["links"] if it["type"] == "link"}
    assert urls == {f"{RUNBOOKS}/{alert.name}.html" for alert in ALERTS if alert.dashboard == uid}
    for url in urls:
        assert (repo_root / "telemetry/prometheus/runbooks" / url.rpartition("/")[2]).is_file()


def test_a_query_cannot_name_a_metric_or_label_that_there_is_not() -> None:
    ask = Asking(INSTANCES, DEVICES)
    assert ask.rows("fabric_port_up", port="eth0") == (
        'fabric_port_up{instance="$instance", device=~"$device", port="eth0"}'
    )
    with pytest.raises(KeyError):
        ask.rows("fabric_port_upp")
    with pytest.raises(ValueError, match="has no label queue"):
        ask.rows("fabric_port_up", queue="3")
    with pytest.raises(ValueError, match="only counters have a rate"):
        ask.rate("fabric_queue_bytes")


def test_every_part_of_the_catalogue_is_on_some_dashboard() -> None:
    asked = " ".join(query.of.expr for _, panel in PANELS for query in panel.queries)
    shown = {name for name, spec in BY_NAME.items() if re.search(rf"\b{spec.family}(_total|_info|_bucket)?\b", asked)}
    assert {spec.rows for spec in CATALOGUE} - {BY_NAME[name].rows for name in shown} <= {
        row for row in {spec.rows for spec in CATALOGUE} if row.name in {"CARRIED", "CLASS", "DROP", "HEADROOM_POOL"}
    }


def test_the_command_writes_them_with_the_runbooks_address(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "dashboards", "--out", str(tmp_path), "--runbooks", "https://wiki/runbooks", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["written"]) == len(BOARDS)
    found = json.loads((tmp_path / "fabric-pfc-storm.json").read_text())
    assert any(it.get("url") == "https://wiki/runbooks/FabricPfcStorm.html" for it in found["links"])


@pytest.fixture(scope="module")
def backfilled(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Iterator[str]:
    """A Prometheus that holds every run of RUNS, each also as SONiC's polls would have had it."""
    folder = tmp_path_factory.mktemp("dashboards")
    promtool, data = program("promtool"), folder / "data"
    for scenario, (until, _) in SITUATIONS.items():
        run = folder / instance(scenario)
        main(["run", str(repo_root / f"scenarios/{scenario}.yml"), "--out", str(run), "--quiet", "--until", until])
        for exporter in ("ideal", "sonic"):
            out = folder / "run.om"
            assert (
                main(["export", "openmetrics", str(run), "--out", str(out), "--start", START, "--as-seen-by", exporter])
                == 0
            )
            run_tool(promtool, "tsdb", "create-blocks-from", "openmetrics", str(out), str(data))
    with prometheus(
        folder / "prometheus", "global: {}\n", f"--storage.tsdb.path={data}", "--storage.tsdb.retention.time=100y"
    ) as url:
        yield url


def instance(scenario: str) -> str:
    return scenario.rpartition("/")[2]


def chosen(expr: str, scenario: str) -> str:
    """An expression as Grafana sends it with everything chosen, at a scrape interval of 15 s."""
    for name, value in {
        "__rate_interval": "1m",
        "__range": "5m",
        "__interval": "15s",
        "instance": instance(scenario),
        "seen": f"{instance(scenario)}:sonic",
        "device": ".*",
        "port": ".*",
        "priority": ".*",
    }.items():
        expr = re.sub(rf"\${name}\b", value, expr)
    return expr


def values(url: str, query: Query, scenario: str) -> list[float]:
    """All values of a query over a run."""
    rows = query_range(url, chosen(query.of.expr, scenario), START_S, START_S + 420, 5)
    return [float(value) for row in rows for _, value in row["values"]]


@pytest.mark.slow
@pytest.mark.parametrize(("board", "panel"), PANELS, ids=IDS)
def test_every_query_of_every_panel_has_data(backfilled: str, board: Board, panel: Panel) -> None:
    for query in panel.queries:
        found = [value for scenario in RUNS for value in values(backfilled, query, scenario)]
        assert found, query.of.expr
        assert all(map(math.isfinite, found)), query.of.expr
        assert panel.title in QUIET or max(found) > 0, query.of.expr
        if panel.top is not None and panel.unit is Unit.SHARE:
            assert max(found) <= 1.25 * panel.top, query.of.expr


@pytest.mark.slow
@pytest.mark.parametrize("scenario", RUNS)
def test_a_panel_is_empty_only_where_it_says_why(backfilled: str, scenario: str) -> None:
    """And says so only where it is: a panel has data if, and only if, the fabric has all that the panel needs."""
    has = SITUATIONS[scenario][1] | {Need.SEEN, Need.UPLINKS}  # some uplink sends in each of these runs
    chance = {Need.WAITING} if scenario in PASSING else set()
    wrong = [
        f"{board.uid}/{panel.title}: {query.legend}"
        for board, panel in PANELS
        for query in panel.queries
        if not chance & set(panel.needs) and bool(values(backfilled, query, scenario)) != (set(panel.needs) <= has)
    ]
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "ports"),
    [
        ("alerts/storm", 1),
        ("pause-storm", 1),
        ("slow-receiver", 0),
        ("incast", 0),
        ("bgp-spine-failure", 0),
        ("pfc-off", 0),
    ],
)
def test_the_overview_counts_a_storm_with_and_without_a_watchdog(backfilled: str, scenario: str, ports: int) -> None:
    (panel,) = (
        panel for board, panel in PANELS if (board.uid, panel.title) == ("fabric-overview", "Ports in a PFC storm")
    )
    assert max(values(backfilled, panel.queries[0], scenario)) == ports


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "refused"), [("pfc-off", False), ("incast", False)])
def test_what_lossy_groups_refuse_is_not_called_lossless(backfilled: str, scenario: str, refused: bool) -> None:
    (panel,) = (panel for board, panel in PANELS if panel.title == "Lossless packets refused")
    assert (max(values(backfilled, panel.queries[0], scenario)) > 0) is refused
    (dropped,) = (panel for board, panel in PANELS if panel.title == "Packets dropped")
    assert (max(values(backfilled, dropped.queries[0], scenario)) > 0) is (scenario == "pfc-off")


@pytest.mark.parametrize(("board", "panel"), PANELS, ids=IDS)
def test_a_panel_that_may_be_empty_says_why_in_grafana(board: Board, panel: Panel) -> None:
    (shown,) = (it for it in SHOWN[board.uid]["panels"] if it["title"] == panel.title and it["type"] != "row")
    assert shown["fieldConfig"]["defaults"].get("noValue", "") == panel.empty
