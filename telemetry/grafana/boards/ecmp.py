"""Balance of load over equal-cost paths."""

from __future__ import annotations

from typing import Final

from telemetry.grafana.clock import clock
from telemetry.grafana.model import Board, Kind, Need, Panel, Quantity, Query, Section, Unit
from telemetry.grafana.queries import DEVICES, INSTANCES, Asking

_ASK: Final = Asking(INSTANCES, DEVICES)
_ALL: Final = Asking(INSTANCES)
_LOAD: Final = _ASK.rate("fabric_ecmp_member_bytes_total", by="device, port")


def _of_members(operator: str, of: str = _LOAD.expr) -> str:
    return f"{operator} by (instance, device) ({of})"


_USE: Final = f"({_LOAD.expr}) / on (instance, device, port) {_ASK.rows('fabric_port_speed_bytes_per_second')}"
_IMBALANCE: Final = Quantity(f"{_of_members('max', _USE)} / ({_of_members('avg', _USE)} > 0)", Unit.TIMES)
_FAIRNESS: Final = Quantity(
    f"{_of_members('sum')} ^ 2 / ({_of_members('count')} * {_of_members('sum', f'({_LOAD.expr}) ^ 2')} > 0)", Unit.SHARE
)
_SHARE: Final = Quantity(f"({_LOAD.expr}) / on (instance, device) group_left () ({_of_members('sum')} > 0)", Unit.SHARE)

BOARD: Final = Board(
    "fabric-ecmp",
    "ECMP balance",
    "Whether equal-cost paths carry equal loads.",
    (INSTANCES, DEVICES),
    (
        clock(_ASK),
        Section(
            "Balance",
            (
                Panel(
                    "Busiest member over the mean",
                    Kind.LINES,
                    (Query(_IMBALANCE, "{{device}}"),),
                    "Share of line rate. 1x is perfect balance; the number of members is one path for everything. Few "
                    "large flows or a polarised hash raise it.",
                    limits=(1.5, 2),
                    needs=(Need.UPLINKS,),
                ),
                Panel(
                    "Jain's fairness index",
                    Kind.LINES,
                    (Query(_FAIRNESS, "{{device}}"),),
                    "(sum of loads)² / (members × sum of squares): 100 % is even, 1/n is one member alone (Jain, Chiu, "
                    "Hawe 1984).",
                    top=1,
                    needs=(Need.UPLINKS,),
                ),
                Panel(
                    "Share of each member",
                    Kind.LINES,
                    (Query(_SHARE, "{{device}}:{{port}}"),),
                    "Share of the load that the device's groups of next hops sent.",
                    top=1,
                    needs=(Need.UPLINKS,),
                ),
                Panel(
                    "Load of each member",
                    Kind.LINES,
                    (Query(_LOAD, "{{device}}:{{port}}"),),
                    "Bytes per simulated second by groups of equal-cost next hops.",
                ),
            ),
        ),
        Section(
            "By spine",
            (
                Panel(
                    "Load from device to next hop",
                    Kind.MATRIX,
                    (Query(_ALL.between(_LOAD, ".+", ".+"), ""),),
                    "Rows send to columns by ECMP. A dark and a bright column side by side are spines that share "
                    "badly.",
                    24,
                    8,
                ),
            ),
        ),
    ),
)
"""fabric-ecmp."""
