"""Our evaluation of an expression is Prometheus' own, row by row and moment by moment."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from telemetry.alerting.alerts import ALERTS
from telemetry.alerting.promql.labels import UnknownNameError, labels_of
from telemetry.alerting.promql.model import (
    Aggregate,
    Binary,
    Expr,
    Function,
    Latched,
    Matching,
    Number,
    Operator,
    Over,
    Relabel,
    Select,
    Symbol,
    Timing,
    above,
    metrics,
    rate,
    select,
    walk,
)
from telemetry.alerting.promql.series import Labels, Series, labels
from telemetry.alerting.promql.text import duration, promql
from telemetry.alerting.promql.vectors import MatchingError, evaluate
from telemetry.alerting.rules import RECORDINGS, known_labels
from tests.telemetry.programs import program, prometheus, query_range, run_tool

START_MS: Final = 1_760_000_000_000
STEP_MS: Final = 15_000
SAMPLES: Final = 60
GRID: Final = START_MS + np.arange(2, SAMPLES - 2, dtype=np.int64) * STEP_MS + 7_000
"""Off the samples, so that no sample lies on the end of a window."""
REAL_TIME: Final = Timing()

VALUES: Final = {
    "device": ("leaf1", "leaf2", "leaf3", "leaf4", "host1", "host2", "host3"),
    "port": ("e0", "e1"),
    "priority": ("3",),
    "queue": ("3",),
    "group": ("0", "1"),
    "peer_device": ("leaf1", "host1"),
    "role": ("leaf", "host"),
    "state": ("established", "idle"),
    "reason": ("no_route", "mtu"),
}
"""What labels are in the made-up world; others have one value."""

CABLES: Final = (
    *((("leaf" + n, "e0"), ("host" + n, "e0")) for n in "123"),
    (("leaf1", "e1"), ("leaf2", "e1")),
    (("leaf3", "e1"), ("leaf4", "e1")),
    (("leaf4", "e0"), ("host3", "e1")),
    (("host1", "e1"), ("host2", "e1")),
)


class World:
    """Random series of any metric: counters that reset, gauges, gaps."""

    def __init__(self) -> None:
        self._known = known_labels()
        self._made: dict[str, list[Series]] = {}

    def series(self, metric: str) -> Sequence[Series]:
        if metric not in self._made:
            rng = np.random.default_rng(zlib.crc32(metric.encode()))
            self._made[metric] = [self._one(metric, key, rng) for key in self._keys(metric)]
        return self._made[metric]

    def _keys(self, metric: str) -> list[Labels]:
        names = self._known[metric] - {"job"}
        if metric == "fabric_device_info":
            return [labels({"instance": "a", "device": device, "role": device[:-1]}) for device in VALUES["device"]]
        if metric == "fabric_port_info":
            return [
                labels({"instance": "a", "device": device, "port": port, "peer_device": peer, "peer_port": peer_port})
                for pair in CABLES
                for (device, port), (peer, peer_port) in (pair, pair[::-1])
            ]
        keys = [{"instance": "a"}]
        for name in sorted(names - {"instance"}):
            keys = [{**key, name: value} for key in keys for value in VALUES.get(name, ("x",))]
        return [labels(key) for key in keys]

    def _one(self, metric: str, key: Labels, rng: np.random.Generator) -> Series:
        times = START_MS + np.arange(SAMPLES, dtype=np.int64) * STEP_MS + rng.integers(0, 500)
        # One rate for all series of a metric and device, so that some devices are constant in one metric only.
        paces = np.random.default_rng(zlib.crc32(f"{metric} of {dict(key).get('device')}".encode()))
        known = {
            "fabric_sim_elapsed_seconds_total": 1.0,
            "fabric_job_computation_seconds_total": 30,
            "fabric_job_median_computation_seconds_total": 1.0,
            "fabric_collective_bus_bytes_total": 1.0,
            "fabric_collective_active_seconds_total": 30,
            "fabric_port_transmit_bytes_total": 30_000,
            "fabric_pfc_receive_paused_seconds_total": paces.choice([0.05, 0.5, 5]),
        }
        pace = known[metric] if metric in known else paces.choice([0.0, 0.3, 1, 30])
        steps = rng.random(SAMPLES) * pace * rng.choice([0.1, 1])
        if metric.endswith("_info"):
            values = np.ones(SAMPLES)
        elif metric.endswith("_total"):
            values = np.cumsum(steps)
            if rng.random() < 0.5:
                values[SAMPLES // 2 :] -= values[SAMPLES // 2]
        elif ":" in metric:  # a recorded share within a window: there are ports that are never paused for good
            values = rng.random(SAMPLES) * paces.choice([0.9, 1])
        elif "peak" in metric:  # hosts that never held anything back
            values = np.round(rng.random(SAMPLES) * 2) * (dict(key)["device"] != "host3")
        else:
            values = np.round(rng.random(SAMPLES) * 2)
        keep = rng.random(SAMPLES) > 0.05 if not metric.endswith("_info") else np.ones(SAMPLES, np.bool_)
        return Series(key, times[keep], values[keep])


A: Final = select("fabric_port_receive_bytes_total")
G: Final = select("fabric_queue_bytes")
EXPRESSIONS: Final[dict[str, Expr]] = {
    "instant": G,
    "not equal": Select("fabric_queue_bytes", (("device", "!=", "leaf1"),)),
    "regular expression": select("fabric_queue_bytes", matching={"device": "leaf.*"}),
    "rate": rate(A, 60),
    "increase": Over(Function.INCREASE, A, 300),
    "rate over few samples": rate(A, 25),
    "max": Over(Function.MAX, G, 60),
    "min": Over(Function.MIN, G, 60),
    "avg": Over(Function.AVG, G, 60),
    "sum over time": Over(Function.SUM, G, 60),
    "count over time": Over(Function.COUNT, G, 60),
    "changes": Over(Function.CHANGES, G, 300),
    "changes over few samples": Over(Function.CHANGES, G, 14),
    **{operator.value: Aggregate(operator, G, ("port", "queue")) for operator in Operator},
    **{
        symbol.name.lower(): Binary(symbol, G, Number(1))
        for symbol in Symbol
        if symbol not in {Symbol.AND, Symbol.OR, Symbol.UNLESS}
    },
    "scalar first": Binary(Symbol.DIVIDE, Number(3), G),
    "division by nothing": Binary(Symbol.DIVIDE, G, select("fabric_queue_packets")),
    "nan is not above": above(Binary(Symbol.DIVIDE, G, select("fabric_queue_packets")), 0),
    # Arithmetic drops the metrics' names; with them the rows would be different series.
    "or": Binary(
        Symbol.OR,
        above(Binary(Symbol.ADD, G, Number(0)), 1),
        Binary(Symbol.ADD, select("fabric_queue_packets"), Number(0)),
    ),
    "and": Binary(Symbol.AND, G, above(select("fabric_queue_packets"), 1)),
    "unless": Binary(Symbol.UNLESS, G, above(select("fabric_queue_packets"), 0), Matching(("device",))),
    "many to one": Binary(Symbol.MULTIPLY, rate(A, 60), select("fabric_device_info"), Matching(("device",), ("role",))),
    "one to one on": Binary(
        Symbol.ADD,
        Aggregate(Operator.SUM, G, ("port", "queue")),
        Aggregate(Operator.MAX, select("fabric_queue_packets"), ("port", "queue")),
        Matching(("device",)),
    ),
    "relabelled": Relabel(G, "switch", "device"),
}


def inlined(expr: Expr) -> Expr:
    """With recorded names replaced by what they record."""
    rules = {rule.name: rule.expr for rule in RECORDINGS}
    match expr:
        case Select(metric):
            return inlined(rules[metric]) if metric in rules else expr
        case Latched(begins=begins):  # what a rule that reads its own result finds first: test_latch.py
            return inlined(begins)
        case Aggregate(of=of) | Relabel(of=of):
            return replace(expr, of=inlined(of))
        case Binary(left=left, right=right):
            return replace(expr, left=inlined(left), right=inlined(right))
        case _:
            return expr


RULES: Final = {**{rule.name: rule.expr for rule in RECORDINGS}, **{alert.name: alert.expr for alert in ALERTS}}


def _as_rows(found: list[dict[str, object]]) -> dict[Labels, dict[int, float]]:
    return {
        labels({name: value for name, value in row["metric"].items() if name != "__name__"}): {
            round(float(moment) * 1000): float(value) for moment, value in row["values"]
        }
        for row in found
    }


def _ours(expr: Expr, world: World) -> dict[Labels, dict[int, float]]:
    return {
        row.labels: dict(zip(GRID[row.present].tolist(), row.values[row.present].tolist(), strict=True))
        for row in evaluate(expr, world, GRID, REAL_TIME)
    }


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, World]:
    """A Prometheus that holds the world."""
    program("prometheus")
    promtool = program("promtool")
    folder, world = tmp_path_factory.mktemp("promql"), World()
    names = {name for expr in [*EXPRESSIONS.values(), *RULES.values()] for name in metrics(inlined(expr))}
    lines = []
    for name in sorted(names):
        lines.append(f"# TYPE {name} unknown")
        for one in world.series(name):
            inside = ",".join(f'{key}="{value}"' for key, value in one.labels)
            lines += [
                f"{name}{{{inside}}} {value!r} {moment / 1000:.3f}"
                for moment, value in zip(one.times_ms.tolist(), one.values.tolist(), strict=True)
            ]
    (folder / "world.om").write_text("\n".join([*lines, "# EOF", ""]))
    run_tool(promtool, "tsdb", "create-blocks-from", "openmetrics", str(folder / "world.om"), str(folder / "data"))
    with prometheus(
        folder, "global: {}\n", f"--storage.tsdb.path={folder / 'data'}", "--storage.tsdb.retention.time=100y"
    ) as url:
        yield url, world


@pytest.mark.parametrize("name", [*EXPRESSIONS, *RULES])
def test_an_expression_has_the_value_that_prometheus_gives_it(name: str, asked: tuple[str, World]) -> None:
    url, world = asked
    expr = EXPRESSIONS[name] if name in EXPRESSIONS else inlined(RULES[name])
    found = _as_rows(query_range(url, promql(expr, REAL_TIME), GRID[0] / 1000, GRID[-1] / 1000, STEP_MS / 1000))
    ours = _ours(expr, world)
    assert ours.keys() == found.keys()
    for key, values in ours.items():
        assert values.keys() == found[key].keys(), key
        np.testing.assert_allclose(list(values.values()), [found[key][moment] for moment in values], rtol=1e-9)


def test_the_made_up_world_moves_every_expression() -> None:
    silent = [name for name, expr in {**EXPRESSIONS, **RULES}.items() if not _ours(inlined(expr), World())]
    assert not silent


def test_a_row_with_two_partners_is_refused() -> None:
    with pytest.raises(MatchingError, match="several rows on the right side"):
        evaluate(
            Binary(Symbol.MULTIPLY, G, select("fabric_queue_packets"), Matching(("device",), ())),
            World(),
            GRID,
            REAL_TIME,
        )


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0s"),
        (1, "1ms"),
        (266, "266ms"),
        (4000, "4s"),
        (90_000, "1m30s"),
        (3_600_000, "1h"),
        (90_061_001, "1d1h1m1s1ms"),
    ],
)
def test_durations_are_written_as_promql_reads_them(ms: int, text: str) -> None:
    assert duration(ms) == text


@pytest.mark.parametrize(("scale", "ms"), [(1, 60_000), (1 / 15, 4000), (1e-9, 1)])
def test_windows_stretch_with_the_dilation_and_never_vanish(scale: float, ms: int) -> None:
    assert Timing(scale).ms(60) == ms


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (select("fabric_no_such_thing"), "no metric fabric_no_such_thing"),
        (select("fabric_port_up", {"queue": "3"}), "no label queue"),
        (Aggregate(Operator.SUM, select("fabric_port_up"), ("queue",)), "no label queue"),
        (Binary(Symbol.DIVIDE, select("fabric_port_up"), G), "joins rows of different labels"),
        (Binary(Symbol.AND, select("fabric_port_up"), G, Matching(("queue",))), "left side has no label queue"),
        (Relabel(select("fabric_port_up"), "to", "queue"), "no label queue"),
    ],
)
def test_a_name_that_does_not_exist_is_named(expr: Expr, text: str) -> None:
    with pytest.raises(UnknownNameError, match=text):
        labels_of(expr, known_labels())


def test_every_part_of_an_expression_is_walked() -> None:
    expr = Binary(Symbol.ADD, Relabel(rate(A, 60), "to", "port"), Aggregate(Operator.SUM, G, ()))
    assert {type(part) for part in walk(expr)} == {Binary, Relabel, Over, Select, Aggregate}
