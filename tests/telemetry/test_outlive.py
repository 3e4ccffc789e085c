"""What explains an alert resolves after it, for every pair that Alertmanager knows; and a broken NIC is never called a
slow receiver. The rules are played by promtool, as Prometheus would.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from telemetry.alerts import BY_NAME
from telemetry.inhibitions import INHIBITIONS
from telemetry.outlive import kept_s, memory_s
from telemetry.promql.model import Function, Over, above, both, increase, select, without
from telemetry.render import rules_yaml
from telemetry.rules import SCRAPE_S
from tests.telemetry.programs import program, run_tool

Yaml = dict[str, Any]
CASES: Final = Path("telemetry/prometheus/tests")
PAIRS: Final = [(rule.source, target) for rule in INHIBITIONS for target in rule.targets]
SICK: Final = 120
"""Scrapes during which the trouble lasts: longer than any window but the hour of FabricLinkDegraded, and any `for`."""
AFTER: Final = 60
WELL: Final = {"fabric_pg_headroom_watermark_bytes": 0.0, "fabric_rnic_receive_buffer_peak_bytes": 0.0}
"""What a gauge returns to where its first value in the case is not a healthy one."""


def expanded(text: str) -> list[float]:
    """promtool's notation: 'a', 'axn', 'a+bxn', 'a-bxn', with spaces between."""
    found: list[float] = []
    for token in text.split():
        parts = re.fullmatch(r"(-?[\d.]+)(?:([+-][\d.]+)?x(\d+))?", token)
        assert parts is not None, token
        first, step, times = float(parts[1]), float(parts[2] or 0), int(parts[3] or 0)
        found += [first + step * number for number in range(times + 1)]
    return found


def ended(series: str, values: list[float], sick: int) -> list[float]:
    """The same trouble for `sick` scrapes, and then no more: counters stand still, gauges are well again."""
    metric = series.partition("{")[0]
    step = values[-1] - values[-2]
    if metric.endswith("_total"):       # one step in the case stands for one in every scrape
        step = step or values[-1] - values[0]
    lasting = (values + [values[-1] + step * (number + 1) for number in range(sick)])[:sick]
    if metric == "fabric_sim_elapsed_seconds_total":
        return [values[1] * number for number in range(sick + AFTER)]
    well = lasting[-1] if metric.endswith("_total") else WELL.get(metric, values[0])
    return lasting + [well] * (SICK + AFTER - sick)


def case(repo_root: Path, name: str, *, settle_s: int = 0) -> list[Yaml]:
    """The input of the firing case of an alert, on an instance of its own, ended after SICK scrapes."""
    first = yaml.safe_load((repo_root / CASES / f"{name}.yml").read_text())["tests"][0]
    sick = SICK + settle_s // SCRAPE_S
    return [{"series": it["series"].replace('instance="e"', f'instance="{name}"'),
             "values": " ".join(f"{value:.9g}" for value in ended(it["series"], expanded(it["values"]), sick))}
            for it in first["input_series"]]


def firing(name: str) -> str:
    return f'ALERTS{{alertname="{name}", alertstate="firing"}}'


def at(scrape: int) -> str:
    return f"{scrape * SCRAPE_S}s"


def outlives(repo_root: Path, source: str, target: str) -> Yaml:
    """A test of promtool: both fire, the trouble ends, and at no moment does the target fire without the source."""
    both_fire = f"(count({firing(target)}) > bool 0) and on () {firing(source)}"
    unmuted = f"count({firing(target)} unless on () {firing(source)})"
    never = [{"expr": unmuted, "eval_time": at(scrape), "exp_samples": []}
             for scrape in range(SICK - 1, SICK + AFTER)]
    over = f"count({firing(target)} or {firing(source)})"
    return {"name": f"{source} outlives {target}", "interval": at(1),
            "input_series": [*case(repo_root, source), *case(repo_root, target, settle_s=BY_NAME[target].settle_s)],
            "promql_expr_test": [
                {"expr": both_fire, "eval_time": at(SICK - 1), "exp_samples": [{"labels": "{}", "value": 1}]},
                *never, {"expr": over, "eval_time": at(SICK + AFTER - 1), "exp_samples": []}]}


def judged(tests: list[Yaml], folder: Path, rules: str) -> str:
    """What promtool says of these tests of these rules; raises AssertionError where one fails."""
    (folder / "rules.yml").write_text(rules)
    (folder / "test.yml").write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": at(1),
                                                     "tests": tests}))
    return run_tool(program("promtool"), "test", "rules", "test.yml", cwd=folder)


@pytest.mark.parametrize("source", dict.fromkeys(source for source, _ in PAIRS))
def test_what_explains_an_alert_resolves_after_it(source: str, repo_root: Path, tmp_path: Path) -> None:
    targets = dict.fromkeys(target for explains, target in PAIRS if explains == source)
    judged([outlives(repo_root, source, target) for target in targets], tmp_path, rules_yaml())


@pytest.mark.parametrize("source", ["FabricPfcStorm", "FabricPfcDeadlock", "FabricLinkDown"])
def test_without_being_kept_it_would_resolve_first(source: str, repo_root: Path, tmp_path: Path) -> None:
    """So the test above can fail."""
    rules = re.sub(r"\n +keep_firing_for: .*", "", rules_yaml())
    failing = []
    for explains, target in PAIRS:
        if explains == source:
            try:
                judged([outlives(repo_root, source, target)], tmp_path, rules)
            except AssertionError:
                failing.append(target)
    assert failing


def test_an_alert_that_explains_nothing_resolves_at_once() -> None:
    sources = {source for source, _ in PAIRS}
    assert {name for name in BY_NAME if kept_s(name)} == sources


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_chain_of_explanations_is_kept_from_its_end(source: str, target: str) -> None:
    assert kept_s(source) > kept_s(target) + memory_s(BY_NAME[target].expr) + BY_NAME[target].settle_s


METRIC: Final = select("fabric_port_up")


@pytest.mark.parametrize(("expr", "seconds"), [
    (METRIC, 0),
    (increase(METRIC, 60), 60),
    (select("device_port_priority:fabric_pfc_receive_paused:ratio_rate1m"), 60),
    (Over(Function.MAX, select("device_port_priority:fabric_pfc_receive_paused:ratio_rate1m"), 300), 360),
    (both(increase(METRIC, 60), increase(METRIC, 300), "device"), 60),
    (without(METRIC, increase(METRIC, 300), "device"), 0),
    (above(increase(METRIC, 300), 1), 300),
    (BY_NAME["FabricLinkDegraded"].expr, 0),      # its hour says what is normal
    (BY_NAME["FabricEvpnRouteLoss"].expr, 0),
    (BY_NAME["FabricSlowReceiver"].expr, 60),     # <= 95 % cuts off the highest shares
])
def test_an_expression_remembers_what_its_windows_hold(expr: Any, seconds: int) -> None:  # noqa: ANN401
    assert memory_s(expr) == seconds


@pytest.mark.parametrize(("longer", "states"), [(0, ["firing"]), (1, [])])
def test_prometheus_resolves_it_when_it_has_been_kept_for_long_enough(longer: int, states: list[str],
                                                                      tmp_path: Path) -> None:
    """The boundary that telemetry/evaluate.py and test_incidents.py go by: a row that is back at the very evaluation at
    which the alert would resolve keeps it firing."""
    kept = kept_s("FabricLinkDown") // SCRAPE_S
    port = 'fabric_port_up{instance="e", device="leaf1", port="e1"}'
    labels = f'ALERTS{{alertname="FabricLinkDown", alertstate="firing", %s}}' % (
        'device="leaf1", instance="e", port="e1", root_device="leaf1", severity="warning"')
    values = "0x3 " + f"1x{kept + longer - 1} " + "0x9"
    judged([{"interval": at(1), "input_series": [{"series": port, "values": values}], "promql_expr_test": [
        {"expr": firing("FabricLinkDown"), "eval_time": at(3 + kept),
         "exp_samples": [{"labels": labels, "value": 1}]},
        {"expr": firing("FabricLinkDown"), "eval_time": at(4 + kept),
         "exp_samples": [{"labels": labels, "value": 1} for _ in states]}]}], tmp_path, rules_yaml())


# ===== a broken NIC =====

TIME: Final = 240


def host_port(paused: list[float], peak_bytes: int | None) -> list[Yaml]:
    """leaf1:e0 towards host1, paused for these shares between scrapes."""
    total, totals = 0.0, []
    for share in paused:
        total += share * 0.001
        totals.append(total)
    own = 'instance="e", job="fabric"'
    found = [("fabric_sim_elapsed_seconds_total{%s}" % own, f"0+0.001x{TIME}"),
             ('fabric_device_info{%s, device="host1", role="host"}' % own, f"1x{TIME}"),
             ('fabric_port_info{%s, device="leaf1", port="e0", peer_device="host1", peer_port="eth0"}' % own, f"1x{TIME}"),
             ('fabric_pfc_receive_paused_seconds_total{%s, device="leaf1", port="e0", priority="3"}' % own,
              " ".join(f"{value:.6f}" for value in totals))]
    if peak_bytes is not None:
        found.append(('fabric_rnic_receive_buffer_peak_bytes{%s, device="host1"}' % own, f"{peak_bytes}x{TIME}"))
    return [{"series": series, "values": values} for series, values in found]


def fired(series: list[Yaml], folder: Path) -> list[str]:
    """Names of alerts about host1 that promtool sees fire, in order."""
    rules = rules_yaml()
    seen = []
    for name in ("FabricPfcStorm", "FabricSlowReceiver", "FabricBrokenNic"):
        tests = [{"interval": at(1), "input_series": series, "promql_expr_test": [
            {"expr": firing(name), "eval_time": at(scrape), "exp_samples": []} for scrape in range(TIME)]}]
        try:
            judged(tests, folder, rules)
        except AssertionError as error:
            first = re.search(r"time: (\S+),", str(error))
            assert first is not None, error
            seen.append((_seconds(first[1]), name))
    return [name for _, name in sorted(seen)]


def _seconds(text: str) -> float:
    return sum(float(value) * {"h": 3600, "m": 60, "s": 1}[unit] for value, unit in re.findall(r"([\d.]+)([hms])", text))


def storms(quiet: int) -> list[float]:
    """A NIC that stops its port for good, is quiet for some scrapes as a looped scenario begins again, and so on."""
    return [share for share, run in groupby([0.0] * 8 + ([1.0] * 28 + [0.0] * quiet) * 8) for share in run][:TIME]


@pytest.mark.parametrize("quiet", [1, 2, 3, 4, 6, 8])
@pytest.mark.parametrize("peak_bytes", [None, 0])
def test_a_storm_that_comes_back_is_never_called_a_slow_receiver(quiet: int, peak_bytes: int | None,
                                                                 tmp_path: Path) -> None:
    """Also where no host tells what it holds: as switches alone see it."""
    names = fired(host_port(storms(quiet), peak_bytes), tmp_path)
    assert names[0] == "FabricPfcStorm"
    assert "FabricSlowReceiver" not in names


@pytest.mark.parametrize(("peak_bytes", "name"), [
    (0, "FabricBrokenNic"), (4096, "FabricSlowReceiver"), (None, "FabricSlowReceiver")])
def test_a_host_that_pauses_now_and_then_is_judged_by_what_it_holds(peak_bytes: int | None, name: str,
                                                                    tmp_path: Path) -> None:
    shares = [0.0] * 20 + [0.4] * (TIME - 20)
    assert fired(host_port(shares, peak_bytes), tmp_path) == [name]
