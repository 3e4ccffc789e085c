"""Panels and dashboards as JSON for Grafana (dashboard schema 39: Grafana 11 and later).

Only values that differ from Grafana's defaults are written. Identifiers are positions, so equal sources give equal
bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from telemetry.alerting.alerts import ALERTS
from telemetry.grafana.model import Board, Kind, Panel, Section, Unit, Variable

SCHEMA_VERSION: Final = 39
COLUMNS: Final = 24
DATASOURCE: Final[Mapping[str, str]] = {"type": "prometheus", "uid": "${datasource}"}
TAG: Final = "fabric"
_COLOURS: Final = ("green", "orange", "red")
_HIDDEN: Final = ("Time", "Value", "__name__", "instance", "job")

Json = dict[str, Any]


def dashboard(board: Board, runbooks: str) -> Json:
    """The whole dashboard; `runbooks` is the URL below which the alerts' pages are."""
    return {
        "uid": board.uid,
        "title": board.title,
        "description": board.about,
        "tags": [TAG],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "15s",
        "timezone": "browser",
        "time": {"from": "now-15m", "to": "now"},
        "links": _links(board, runbooks),
        "annotations": {"list": [_alert_marks()]},
        "templating": {"list": [_datasource(), *map(_variable, board.variables)]},
        "panels": _placed(board.sections),
    }


def _placed(sections: tuple[Section, ...]) -> list[Json]:
    """Headings and panels on the grid: left to right, then on the next line."""
    found: list[Json] = []
    y = 0
    for section in sections:
        found.append(
            {
                "id": len(found) + 1,
                "type": "row",
                "title": section.title,
                "collapsed": False,
                "panels": [],
                "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1},
            }
        )
        y, x, height = y + 1, 0, 0
        for panel in section.panels:
            if x + panel.width > COLUMNS:
                x, y, height = 0, y + height, 0
            found.append(
                {
                    "id": len(found) + 1,
                    **_panel(panel),
                    "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
                }
            )
            x, height = x + panel.width, max(height, panel.height)
        y += height
    return found


def _panel(panel: Panel) -> Json:
    kind = {Kind.MATRIX: Kind.TABLE, Kind.NAME: Kind.NUMBER}.get(panel.kind, panel.kind)
    defaults: Json = {"unit": panel.unit.value, "thresholds": _thresholds(panel.limits)}
    if panel.unit is Unit.SHARE or panel.unit is Unit.BYTES:
        defaults["min"] = 0
    if panel.top is not None:
        defaults["max"] = panel.top
    if panel.needs:
        defaults["noValue"] = panel.empty
    found: Json = {
        "type": kind.value,
        "title": panel.title,
        "description": panel.about,
        "datasource": dict(DATASOURCE),
        "targets": [_target(panel, number) for number in range(len(panel.queries))],
        "fieldConfig": {"defaults": defaults | _SHOWN[panel.kind], "overrides": []},
        "options": _OPTIONS[panel.kind],
    }
    if panel.kind is Kind.MATRIX:
        rows, columns = panel.columns
        found["transformations"] = [
            {
                "id": "groupingToMatrix",
                "options": {"rowField": rows, "columnField": columns, "valueField": "Value", "emptyValue": "null"},
            }
        ]
    if panel.kind is Kind.TABLE:
        found["transformations"] = [{"id": "organize", "options": {"excludeByName": dict.fromkeys(_HIDDEN, True)}}]
    return found


def _target(panel: Panel, number: int) -> Json:
    query = panel.queries[number]
    at_once = panel.kind in {Kind.MATRIX, Kind.TABLE, Kind.NUMBER, Kind.NAME}
    shape = {Kind.MATRIX: "table", Kind.TABLE: "table", Kind.DISTRIBUTION: "heatmap"}.get(panel.kind, "time_series")
    return {
        "refId": chr(ord("A") + number),
        "datasource": dict(DATASOURCE),
        "expr": query.of.expr,
        "legendFormat": query.legend,
        "format": shape,
        "instant": at_once,
        "range": not at_once,
    }


def _thresholds(limits: tuple[float, ...]) -> Json:
    steps: list[Json] = [{"color": _COLOURS[0], "value": None}]
    steps += (
        [{"color": colour, "value": limit} for colour, limit in zip(_COLOURS[-len(limits) :], limits, strict=True)]
        if limits
        else []
    )
    return {"mode": "absolute", "steps": steps}


_LEGEND: Final = {"displayMode": "table", "placement": "right", "showLegend": True, "calcs": ["max", "lastNotNull"]}
_SHOWN: Final[Mapping[Kind, Json]] = {
    Kind.LINES: {
        "custom": {
            "lineWidth": 1,
            "fillOpacity": 10,
            "showPoints": "never",
            "spanNulls": False,
            "thresholdsStyle": {"mode": "off"},
        }
    },
    Kind.NUMBER: {},
    Kind.NAME: {},
    Kind.MATRIX: {
        "color": {"mode": "continuous-GrYlRd"},
        "custom": {"cellOptions": {"type": "color-background", "mode": "basic"}, "align": "center"},
    },
    Kind.TABLE: {"custom": {"align": "left"}},
    Kind.DISTRIBUTION: {},
    Kind.STATES: {"custom": {"fillOpacity": 80, "lineWidth": 0}},
}
_NUMBER: Final = {
    "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    "colorMode": "value",
    "graphMode": "none",
    "textMode": "auto",
}
_OPTIONS: Final[Mapping[Kind, Json]] = {
    Kind.LINES: {"legend": _LEGEND, "tooltip": {"mode": "multi", "sort": "desc"}},
    Kind.NUMBER: _NUMBER,
    Kind.NAME: _NUMBER | {"textMode": "name"},
    Kind.MATRIX: {"showHeader": True, "cellHeight": "sm"},
    Kind.TABLE: {"showHeader": True, "cellHeight": "sm"},
    Kind.DISTRIBUTION: {
        "calculate": False,
        "yAxis": {"axisPlacement": "left"},
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64},
        "legend": {"show": True},
        "tooltip": {"mode": "single", "yHistogram": False},
        "rowsFrame": {"layout": "auto"},
        "filterValues": {"le": 1e-9},
    },
    Kind.STATES: {
        "mergeValues": True,
        "showValue": "never",
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
    },
}


def _datasource() -> Json:
    return {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
        "refresh": 1,
        "hide": 0,
        "current": {},
        "options": [],
        "regex": "",
        "multi": False,
        "includeAll": False,
    }


def _variable(it: Variable) -> Json:
    several: Json = {
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }
    return {
        "name": it.name,
        "label": it.label,
        "type": "query",
        "datasource": dict(DATASOURCE),
        "query": {"query": it.values, "refId": it.name},
        "definition": it.values,
        "refresh": 2,
        "sort": 7,
        "hide": 0,
        "regex": it.regex,
        "options": [],
        **(several if it.several else {"multi": False, "includeAll": False, "current": {}}),
    }


def _alert_marks() -> Json:
    return {
        "name": "Alerts",
        "datasource": dict(DATASOURCE),
        "enable": True,
        "hide": False,
        "iconColor": "red",
        "expr": 'ALERTS{alertstate="firing"}',
        "titleFormat": "{{alertname}}",
        "textFormat": "{{severity}} {{root_device}} {{device}} {{port}}",
        "step": "15s",
    }


def _links(board: Board, runbooks: str) -> list[Json]:
    """Links to the other dashboards, and to the runbook of every alert of this dashboard."""
    common = {"icon": "doc", "tags": [], "targetBlank": True, "asDropdown": False, "tooltip": "", "type": "link"}
    others = {
        "title": "Dashboards",
        "type": "dashboards",
        "tags": [TAG],
        "asDropdown": True,
        "icon": "external link",
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
        "tooltip": "",
        "url": "",
    }
    return [
        others,
        *(
            {
                **common,
                "title": f"Runbook {alert.name}",
                "tooltip": alert.summary,
                "includeVars": False,
                "keepTime": False,
                "url": f"{runbooks}/{alert.name}.html",
            }
            for alert in ALERTS
            if alert.dashboard == board.uid
        ),
    ]
