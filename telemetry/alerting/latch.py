"""A recording rule that reads its own last result (Latched), evaluated at all times of a grid at once.

Prometheus evaluates the rule at one moment after the other, and at each finds the rows that it stored at the moment
before. Here the condition is evaluated as if every row had always been there, and a row is then present from where it
begins until its condition fails.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from telemetry.alerting.promql.model import Expr, Latched
from telemetry.alerting.promql.series import Bools
from telemetry.alerting.promql.vectors import Row, Vector


def latched(expr: Latched, evaluated: Callable[[Expr], Vector], record: Callable[[Vector], None]) -> Vector:
    """The rule's rows.

    Parameters
    ----------
    evaluated : callable     an expression at every moment of the grid
    record : callable        keeps rows as the rule's result, where `evaluated` finds them
    """
    began = evaluated(expr.begins)
    record([Row(row.labels, np.where(row.present, row.values, 1.0), np.ones_like(row.present)) for row in began])
    lasts = {row.labels: row.present for row in evaluated(expr.lasts)}
    return [_kept(row, lasts.get(row.labels, np.zeros_like(row.present))) for row in began]


def _kept(row: Row, lasts: Bools) -> Row:
    """A row from where it begins for as long as it lasts, with the value that it began with last."""
    moments = np.arange(len(row.present))
    began = np.maximum.accumulate(np.where(row.present, moments, -1))
    failed = np.maximum.accumulate(np.where(row.present | lasts, -1, moments))
    return Row(row.labels, row.values[np.maximum(began, 0)], np.asarray(began > failed))
