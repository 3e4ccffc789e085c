"""An explaining alert resolves after the explained one, for every pair of Alertmanager's inhibitions; and a broken NIC
is never called a slow receiver. promtool evaluates the rules, like Prometheus: all cases at once, each on its own
instance, since a start of promtool and every evaluation of all rules cost more than one more instance."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from telemetry.alerting.alerts import BY_NAME
from telemetry.alerting.inhibitions import INHIBITIONS
from telemetry.alerting.outlive import kept_s, memory_s
from telemetry.alerting.promql.model import Function, Over, above, both, increase, select, without
from telemetry.alerting.render import rules_yaml
from telemetry.alerting.rules import SCRAPE_S
from tests.telemetry.programs import program, run_tool

Yaml = dict[str, Any]
CASES: Final = Path("telemetry/prometheus/tests")
PAIRS: Final = [(rule.source, target) for rule in INHIBITIONS for target in rule.targets]
SICK: Final = 120
"""Scrapes during which the trouble lasts: longer than any window but the hour of FabricLinkDegraded, and any `for`."""
AFTER: Final = 80
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
    """The same symptom for `sick` scrapes, then none: counters do not increase, gauges are normal again."""
    metric = series.partition("{")[0]
    step = values[-1] - values[-2]
    if metric.endswith("_total"):  # one step in the case stands for one in every scrape
        step = step or values[-1] - values[0]
    lasting = (values + [values[-1] + step * (number + 1) for number in range(sick)])[:sick]
    if metric == "fabric_sim_elapsed_seconds_total":
        return [values[1] * number for number in range(sick + AFTER)]
    well = lasting[-1] if metric.endswith("_total") else WELL.get(metric, values[0])
    return lasting + [well] * (SICK + AFTER - sick)


RESUMES: Final = {"FabricSwitchSilent": "fabric_port_receive_packets_total"}
"""Alert -> the counter that grows again after its trouble: nothing else says that it is over."""


def case(repo_root: Path, name: str, instance: str, *, settle_s: int = 0) -> list[Yaml]:
    """The input of the firing case of an alert, on this instance, ended after SICK scrapes."""
    first = yaml.safe_load((repo_root / CASES / f"{name}.yml").read_text())["tests"][0]
    sick = SICK + settle_s // SCRAPE_S
    found = []
    for it in first["input_series"]:
        values = ended(it["series"], expanded(it["values"]), sick)
        if it["series"].startswith(RESUMES.get(name, "none")):
            values = [value + 100 * max(number - sick + 1, 0) for number, value in enumerate(values)]
        series = it["series"].replace('instance="e"', f'instance="{instance}"')
        found.append({"series": series, "values": " ".join(f"{value:.9g}" for value in values)})
    return found


def firing(name: str, instance: str) -> str:
    return f'ALERTS{{alertname="{name}", alertstate="firing", instance="{instance}"}}'


def at(scrape: int) -> str:
    return f"{scrape * SCRAPE_S}s"


def outlives(source: str, target: str) -> list[Yaml]:
    """Both fire, the trouble ends, and at no moment does the target fire without the source."""
    explaining, explained = firing(source, f"{source} explains"), firing(target, f"{target} is explained")
    unmuted = f"count({explained} unless on () {explaining})"
    never = [{"expr": unmuted, "eval_time": at(scrape), "exp_samples": []} for scrape in range(SICK - 1, SICK + AFTER)]
    return [
        {
            "expr": f"(count({explained}) > bool 0) and on () {explaining}",
            "eval_time": at(SICK - 1),
            "exp_samples": [{"labels": "{}", "value": 1}],
        },
        *never,
        {"expr": f"count({explained} or {explaining})", "eval_time": at(SICK + AFTER - 1), "exp_samples": []},
    ]


def of_pairs(repo_root: Path, pairs: Iterable[tuple[str, str]]) -> Yaml:
    """A test of promtool: the trouble of every source and of every target, and what is expected of each pair."""
    pairs = list(pairs)
    inputs = [case(repo_root, name, f"{name} explains") for name in dict.fromkeys(source for source, _ in pairs)]
    inputs += [
        case(repo_root, name, f"{name} is explained", settle_s=BY_NAME[name].settle_s)
        for name in dict.fromkeys(target for _, target in pairs)
    ]
    return {
        "interval": at(1),
        "input_series": [series for each in inputs for series in each],
        "promql_expr_test": [expected for source, target in pairs for expected in outlives(source, target)],
    }


def judged(test: Yaml, folder: Path, rules: str) -> list[str]:
    """Run promtool with this test of these rules; a text for each expectation that is not met."""
    (folder / "rules.yml").write_text(rules)
    tests = {"rule_files": ["rules.yml"], "evaluation_interval": at(1), "tests": [test]}
    (folder / "test.yml").write_text(json.dumps(tests))  # JSON is YAML, and written faster
    try:
        run_tool(program("promtool"), "test", "rules", "test.yml", cwd=folder)
    except AssertionError as error:
        said = str(error)
    else:
        return []
    failures = said.split("    expr: ")[1:]
    assert failures, said
    return failures


def pairs_in(failures: Iterable[str]) -> set[tuple[str, str]]:
    """The pairs whose expectations are not met."""
    sources, targets = (
        [re.findall(rf"(\w+) {word}", text)[0] for text in failures] for word in ("explains", "is explained")
    )
    return set(zip(sources, targets, strict=True))


@pytest.fixture(scope="module")
def unmet(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What promtool says of all pairs."""
    return judged(of_pairs(repo_root, PAIRS), tmp_path_factory.mktemp("pairs"), rules_yaml())


@pytest.mark.parametrize("source", dict.fromkeys(source for source, _ in PAIRS))
def test_what_explains_an_alert_resolves_after_it(source: str, unmet: list[str]) -> None:
    assert not [text for text in unmet if f"{source} explains" in text]


RESOLVE_FIRST: Final = ("FabricPfcStorm", "FabricPfcDeadlock", "FabricLinkDown")


@pytest.fixture(scope="module")
def unmet_when_not_kept(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    rules = re.sub(r"\n +keep_firing_for: .*", "", rules_yaml())
    pairs = [(source, target) for source, target in PAIRS if source in RESOLVE_FIRST]
    return judged(of_pairs(repo_root, pairs), tmp_path_factory.mktemp("not-kept"), rules)


@pytest.mark.parametrize("source", RESOLVE_FIRST)
def test_without_being_kept_it_would_resolve_first(source: str, unmet_when_not_kept: list[str]) -> None:
    """So the test above can fail."""
    assert source in {explains for explains, _ in pairs_in(unmet_when_not_kept)}


def test_an_alert_that_explains_nothing_resolves_at_once() -> None:
    sources = {source for source, _ in PAIRS}
    assert {name for name in BY_NAME if kept_s(name)} == sources


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_chain_of_explanations_is_kept_from_its_end(source: str, target: str) -> None:
    assert kept_s(source) > kept_s(target) + memory_s(BY_NAME[target].expr) + BY_NAME[target].settle_s


METRIC: Final = select("fabric_port_up")


@pytest.mark.parametrize(
    ("expr", "seconds"),
    [
        (METRIC, 0),
        (increase(METRIC, 60), 60),
        (select("device_port_priority:fabric_pfc_receive_paused:ratio_rate1m"), 60),
        (Over(Function.MAX, select("device_port_priority:fabric_pfc_receive_paused:ratio_rate1m"), 300), 360),
        (both(increase(METRIC, 60), increase(METRIC, 300), "device"), 60),
        (without(METRIC, increase(METRIC, 300), "device"), 0),
        (above(increase(METRIC, 300), 1), 300),
        (BY_NAME["FabricLinkDegraded"].expr, 0),  # its hour says what is normal
        (BY_NAME["FabricEvpnRouteLoss"].expr, 0),
        (BY_NAME["FabricSlowReceiver"].expr, 60),
    ],
)
def test_an_expression_remembers_what_its_windows_hold(expr: Any, seconds: int) -> None:  # noqa: ANN401
    assert memory_s(expr) == seconds


@pytest.mark.parametrize(("longer", "states"), [(0, ["firing"]), (1, [])])
def test_prometheus_resolves_it_when_it_has_been_kept_for_long_enough(
    longer: int, states: list[str], tmp_path: Path
) -> None:
    """The boundary that telemetry/alerting/evaluate.py and test_incidents.py go by: a row that is back at the very
    evaluation at which the alert would resolve keeps it firing."""
    kept = kept_s("FabricLinkDown") // SCRAPE_S
    port = 'fabric_port_up{instance="e", device="leaf1", port="e1"}'
    info = 'fabric_port_info{instance="e", device="leaf1", port="e1", peer_device="spine1", peer_port="e9"}'
    labels = (
        'ALERTS{alertname="FabricLinkDown", alertstate="firing", device="leaf1", instance="e", peer_device="spine1", '
        'peer_port="e9", port="e1", root_device="leaf1", severity="warning"}'
    )
    values = "0x3 " + f"1x{kept + longer - 1} " + "0x9"
    test = {
        "interval": at(1),
        "input_series": [{"series": port, "values": values}, {"series": info, "values": f"1x{kept + 20}"}],
        "promql_expr_test": [
            {
                "expr": firing("FabricLinkDown", "e"),
                "eval_time": at(3 + kept),
                "exp_samples": [{"labels": labels, "value": 1}],
            },
            {
                "expr": firing("FabricLinkDown", "e"),
                "eval_time": at(4 + kept),
                "exp_samples": [{"labels": labels, "value": 1} for _ in states],
            },
        ],
    }
    assert judged(test, tmp_path, rules_yaml()) == []


# ===== a broken NIC =====

TIME: Final = 240
OF_HOST: Final = ("FabricPfcStorm", "FabricSlowReceiver", "FabricBrokenNic")


def host_port(instance: str, paused: list[float], peak_bytes: int | None) -> list[Yaml]:
    """leaf1:e0 towards host1, paused for these shares between scrapes."""
    total, totals = 0.0, []
    for share in paused:
        total += share * 0.001
        totals.append(total)
    of = f'instance="{instance}", device'
    found = {
        f'fabric_sim_elapsed_seconds_total{{instance="{instance}"}}': f"0+0.001x{TIME}",
        f'fabric_device_info{{{of}="host1", role="host"}}': f"1x{TIME}",
        f'fabric_port_info{{{of}="leaf1", port="e0", peer_device="host1"}}': f"1x{TIME}",
        f'fabric_pfc_receive_paused_seconds_total{{{of}="leaf1", port="e0", priority="3"}}': " ".join(
            f"{value:.6f}" for value in totals
        ),
    }
    if peak_bytes is not None:
        found[f'fabric_rnic_receive_buffer_peak_bytes{{{of}="host1"}}'] = f"{peak_bytes}x{TIME}"
    return [{"series": series, "values": values} for series, values in found.items()]


def storms(quiet: int) -> list[float]:
    """A NIC that stops its port for good, is quiet for some scrapes as a looped scenario begins again, and so on."""
    return ([0.0] * 8 + ([1.0] * 28 + [0.0] * quiet) * 8)[:TIME]


QUIET: Final = (1, 2, 3, 4, 6, 8)
NOW_AND_THEN: Final = [0.0] * 20 + [0.4] * (TIME - 20)
HOSTS: Final[dict[str, tuple[list[float], int | None]]] = {
    **{f"storm {quiet} {peak}": (storms(quiet), peak) for quiet in QUIET for peak in (None, 0)},
    **{f"now and then {peak}": (NOW_AND_THEN, peak) for peak in (0, 4096, None)},
}


@pytest.fixture(scope="module")
def fired(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Host -> names of the alerts about it that promtool sees fire, in order of their first evaluation."""
    expr = f'ALERTS{{alertname=~"{"|".join(OF_HOST)}", alertstate="firing"}}'
    test = {
        "interval": at(1),
        "input_series": [series for name, given in HOSTS.items() for series in host_port(name, *given)],
        "promql_expr_test": [{"expr": expr, "eval_time": at(scrape), "exp_samples": []} for scrape in range(TIME)],
    }
    found: dict[str, list[str]] = {name: [] for name in HOSTS}
    for text in judged(test, tmp_path_factory.mktemp("hosts"), rules_yaml()):  # in order of time
        for name in OF_HOST:
            for instance in re.findall(rf'alertname="{name}", .*?instance="(.*?)"', text.partition("got: ")[2]):
                if name not in found[instance]:
                    found[instance].append(name)
    return found


@pytest.mark.parametrize("quiet", QUIET)
@pytest.mark.parametrize("peak_bytes", [None, 0])
def test_a_storm_that_comes_back_is_never_called_a_slow_receiver(
    quiet: int, peak_bytes: int | None, fired: dict[str, list[str]]
) -> None:
    """Also without host metrics, where only switches are polled."""
    names = fired[f"storm {quiet} {peak_bytes}"]
    assert names[0] == "FabricPfcStorm"
    assert "FabricSlowReceiver" not in names


@pytest.mark.parametrize(
    ("peak_bytes", "name"), [(0, "FabricBrokenNic"), (4096, "FabricSlowReceiver"), (None, "FabricSlowReceiver")]
)
def test_a_host_that_pauses_now_and_then_is_judged_by_what_it_holds(
    peak_bytes: int | None, name: str, fired: dict[str, list[str]]
) -> None:
    assert fired[f"now and then {peak_bytes}"] == [name]
