"""The rendered dashboards have the fields, types and values that Grafana's published dashboard schema asks for.

The fields that we write are restated here by hand from the published schema of the dashboard kind
(kinds/dashboard/dashboard_kind.cue of github.com/grafana/grafana, commit 00139e8), with schemaVersion 39 as the
lowest. Fields that this schema requires but Grafana itself fills in are left out: `style` of a dashboard,
`transparent`, `repeatDirection` and `transformations` of a panel, `id`, `global`, `hide`, `skipUrlSync`, `index`,
`state` of a variable. A field that is not in this list fails, so a new one is looked up there first. `options` of
panels, `custom` of fields and targets are open there, as each plug-in defines its own; of targets we check the
fields of Prometheus that we write.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pytest

from tests.conftest import ROOT

Json = dict[str, Any]
Check = Callable[[Any], bool]
BOARDS: Final = {
    path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "telemetry/grafana/rendered").glob("*.json"))
}


def text(value: object) -> bool:
    return isinstance(value, str)


def flag(value: object) -> bool:
    return isinstance(value, bool)


def number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole(least: int, most: int = 2**32 - 1) -> Check:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def one_of(*words: object) -> Check:
    return lambda value: any(value == word and type(value) is type(word) for word in words)


def texts(value: object) -> bool:
    return isinstance(value, list) and all(map(text, value))


def anything(_: object) -> bool:
    return True


def open_object(value: object) -> bool:
    return isinstance(value, dict)


SOURCE: Final = "datasource!"
SHAPES: Final[Mapping[str, Mapping[str, Check | str]]] = {
    "dashboard": {
        "uid!": lambda it: text(it) and 8 <= len(it) <= 40, "title!": text, "description": text, "tags": texts,
        "schemaVersion!": whole(39, 2**16 - 1), "version": whole(0), "editable!": flag,
        "graphTooltip!": one_of(0, 1, 2),
        "refresh": text, "timezone": text, "time": "time", "links": "[link", "annotations": "annotations",
        "templating": "templating", "panels": "[panel",
    },
    "time": {"from!": text, "to!": text},
    "templating": {"list": "[variable"},
    "annotations": {"list": "[annotation"},
    "link": {
        "title!": text, "type!": one_of("link", "dashboards"), "icon!": text, "tooltip!": text, "url!": text,
        "tags!": texts, "asDropdown!": flag, "targetBlank!": flag, "includeVars!": flag, "keepTime!": flag,
    },
    "annotation": {
        "name!": text, SOURCE: "source", "enable!": flag, "hide": flag, "iconColor!": text,
        "expr": text, "titleFormat": text, "textFormat": text, "step": text,
    },
    "variable": {
        "name!": text, "label": text, "hide": one_of(0, 1, 2), "datasource": "source", "definition": text,
        "type!": one_of("query", "adhoc", "constant", "datasource", "interval", "textbox", "custom", "system"),
        "query": lambda it: isinstance(it, str | dict), "refresh": one_of(0, 1, 2), "sort": whole(0, 8), "regex": text,
        "current": open_object, "options": lambda it: isinstance(it, list), "multi": flag, "includeAll": flag,
        "allValue": text,
    },
    "source": {"type": text, "uid": text},
    "row": {
        "id!": whole(0), "type!": one_of("row"), "title": text, "collapsed!": flag, "gridPos": "grid",
        "panels!": lambda it: isinstance(it, list),
    },
    "panel": {
        "id": whole(1),
        "type!": one_of("timeseries", "stat", "table", "heatmap", "state-timeline", "gauge", "bargauge", "text"),
        "title": text, "description": text, "datasource": "source", "gridPos": "grid", "targets": "[target",
        "fieldConfig!": "fields", "options!": open_object, "transformations": "[transformation",
    },
    "grid": {"x!": whole(0, 23), "y!": whole(0), "w!": whole(1, 24), "h!": whole(1)},
    "target": {
        "refId!": text, "datasource": "source", "expr!": text, "legendFormat": text, "instant": flag, "range": flag,
        "format": one_of("time_series", "table", "heatmap"),
    },
    "transformation": {"id!": text, "options!": anything},
    "fields": {"defaults!": "field", "overrides!": lambda it: isinstance(it, list)},
    "field": {
        "unit": text, "min": number, "max": number, "decimals": number, "noValue": text, "thresholds": "thresholds",
        "color": "colour", "custom": open_object,
    },
    "colour": {"mode!": text, "fixedColor": text, "seriesBy": one_of("min", "max", "last")},
    "thresholds": {"mode!": one_of("absolute", "percentage"), "steps!": "[step"},
    "step": {"value!": lambda it: it is None or number(it), "color!": text},
}  # fmt: skip
"""Object -> its fields: a check, the name of another object, or "[" and the name of a list's objects. "!": required."""


def wrong(shape: str, value: object, at: str) -> Iterator[str]:
    """What is not as the schema says."""
    if shape == "panel" and isinstance(value, dict) and value.get("type") == "row":
        shape = "row"
    if not isinstance(value, dict):
        yield f"{at}: no object"
        return
    fields = {name.removesuffix("!"): check for name, check in SHAPES[shape].items()}
    yield from (f"{at}.{name}: not in the schema" for name in value if name not in fields)
    yield from (f"{at}.{name[:-1]}: missing" for name in SHAPES[shape] if name.endswith("!") and name[:-1] not in value)
    for name in fields.keys() & value.keys():
        check, inner = fields[name], value[name]
        if not isinstance(check, str):
            if not check(inner):
                yield f"{at}.{name}: {inner!r}"
        elif not check.startswith("["):
            yield from wrong(check, inner, f"{at}.{name}")
        elif not isinstance(inner, list):
            yield f"{at}.{name}: no list"
        else:
            for row, it in enumerate(inner):
                yield from wrong(check[1:], it, f"{at}.{name}[{row}]")


@pytest.mark.parametrize("uid", BOARDS)
def test_a_dashboard_is_as_grafana_s_schema_says(uid: str) -> None:
    assert list(wrong("dashboard", BOARDS[uid], uid)) == []


@pytest.mark.parametrize("uid", BOARDS)
def test_thresholds_rise_from_the_lowest_value_and_panels_end_in_the_grid(uid: str) -> None:
    for panel in BOARDS[uid]["panels"]:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        if panel["type"] != "row":
            first, *limits = [it["value"] for it in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]]
            assert first is None
            assert limits == sorted(limits)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda it: it.pop("title"), "x.title: missing"),
        (lambda it: it.update(schemaVersion=36), "x.schemaVersion: 36"),
        (lambda it: it.update(graphTooltip=True), "x.graphTooltip: True"),
        (lambda it: it.update(panel=[]), "x.panel: not in the schema"),
        (lambda it: it["panels"][1]["gridPos"].update(w=25), "x.panels[1].gridPos.w: 25"),
        (lambda it: it["panels"][1]["targets"][0].pop("expr"), "x.panels[1].targets[0].expr: missing"),
        (lambda it: it["panels"][0].pop("collapsed"), "x.panels[0].collapsed: missing"),
        (lambda it: it["panels"][1].pop("options"), "x.panels[1].options: missing"),
        (lambda it: it["panels"][1]["fieldConfig"].pop("overrides"), "x.panels[1].fieldConfig.overrides: missing"),
        (lambda it: it["templating"]["list"][0].update(type="list"), "x.templating.list[0].type: 'list'"),
        (lambda it: it.update(links={}), "x.links: no list"),
    ],
)
def test_what_the_schema_does_not_allow_is_found(change: Callable[[Json], object], said: str) -> None:
    board = copy.deepcopy(next(iter(BOARDS.values())))
    change(board)
    assert list(wrong("dashboard", board, "x")) == [said]
