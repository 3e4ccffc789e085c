"""The first row of every dashboard: scenario, simulated time, dilation."""

from __future__ import annotations

from telemetry.grafana.model import Kind, Panel, Quantity, Query, Section, Unit
from telemetry.grafana.queries import Asking


def clock(asking: Asking) -> Section:
    """Simulated time and dilation, which the interpretation of all other panels needs."""
    elapsed = asking.rows("fabric_sim_elapsed_seconds_total")
    pace = Quantity(f"rate({elapsed}[$__rate_interval]) * {asking.rows('fabric_sim_dilation_ratio')}", Unit.SHARE)

    def number(title: str, of: Quantity, about: str) -> Panel:
        return Panel(title, Kind.NUMBER, (Query(of, ""),), about, width=5, height=3)

    return Section(
        "Simulated time",
        (
            Panel(
                "Scenario",
                Kind.NAME,
                (Query(asking.now("fabric_run_info"), "{{scenario}}, seed {{seed}}"),),
                "The scenario and its seed.",
                width=9,
                height=3,
            ),
            number(
                "Simulated time",
                asking.now("fabric_sim_time_seconds"),
                "Simulated time since the beginning of the present pass.",
            ),
            number(
                "Wall clock per simulated second",
                Quantity(asking.rows("fabric_sim_dilation_ratio"), Unit.TIMES),
                "The dilation: 15,000x shows one millisecond of the fabric as 15 s on these axes. Rates here are per "
                "simulated second, so they do not depend on it.",
            ),
            number(
                "Pace held",
                pace,
                "Simulated time that passed over the time due by the dilation. Below 100 % the machine is too slow "
                "or the "
                "run is paused; rates stay correct.",
            ),
        ),
    )
