"""PFC storms: pauses between devices, and their root."""

from __future__ import annotations

from typing import Final

from telemetry.grafana.clock import clock
from telemetry.grafana.model import Board, Kind, Need, Panel, Quantity, Query, Section, Unit
from telemetry.grafana.queries import DEVICES, INSTANCES, PORTS, PRIORITIES, Asking, top

_ASK: Final = Asking(INSTANCES, DEVICES, PORTS, PRIORITIES)
_ALL: Final = Asking(INSTANCES)
_PORT: Final = "{{device}}:{{port}} priority {{priority}}"
_ANY: Final = ".+"

_STOPPED: Final = Quantity(
    f"sum by (instance, role) (max by (instance, device) ({_ALL.rows('fabric_pfc_paused')}) "
    f"* on (instance, device) group_left (role) {_ALL.rows('fabric_device_info')})",
    Unit.COUNT,
)
"""Devices with a paused port."""

BOARD: Final = Board(
    "fabric-pfc-storm",
    "PFC storms",
    "Pauses between devices, their root, and the actions of the watchdog.",
    (INSTANCES, DEVICES, PORTS, PRIORITIES),
    (
        clock(_ALL),
        Section(
            "Root of pauses",
            (
                Panel(
                    "Causes of pauses",
                    Kind.TABLE,
                    (Query(_ASK.now("fabric_pfc_pause_cause_info"), ""),),
                    "Every present pause: the queue at the next hop that causes it, and the root of the chain of "
                    "pauses. One root device on all lines is a broken NIC or a slow receiver.",
                    16,
                    9,
                    needs=(Need.WAITING,),
                ),
                Panel(
                    "Devices with a paused port",
                    Kind.LINES,
                    (Query(_STOPPED, "{{role}}"),),
                    "A storm spreads from one leaf to the spines to all leaves and hosts.",
                    8,
                    9,
                    needs=(Need.PFC,),
                ),
                Panel(
                    "Pauses between devices, share of time",
                    Kind.MATRIX,
                    (
                        Query(
                            _ALL.between(
                                _ALL.rate("fabric_pfc_receive_paused_seconds_total", by="device, port"), _ANY, _ANY
                            ),
                            "",
                        ),
                    ),
                    "Rows are paused by columns. A storm begins at the column of a host.",
                    16,
                    10,
                    top=1,
                    needs=(Need.PFC,),
                ),
                Panel(
                    "Deadlocks",
                    Kind.STATES,
                    (Query(_ALL.now("fabric_pfc_deadlock"), "deadlock"),),
                    "1: paused queues wait for each other in a cycle, which does not resolve. A live run searches for "
                    "a cycle at every scrape.",
                    8,
                    10,
                    (1,),
                    needs=(Need.SEARCH,),
                ),
            ),
        ),
        Section(
            "Pauses",
            (
                Panel(
                    "Share of time paused",
                    Kind.LINES,
                    (Query(top(12, _ASK.rate("fabric_pfc_receive_paused_seconds_total")), _PORT),),
                    "Time for which the priority was paused at the port.",
                    limits=(0.05, 0.95),
                    top=1,
                    needs=(Need.PFC,),
                ),
                Panel(
                    "Share of time that a port pauses its peer",
                    Kind.LINES,
                    (Query(top(12, _ASK.rate("fabric_pfc_transmit_paused_seconds_total")), _PORT),),
                    "The view of the remote end: a host in this list receives less than it is sent.",
                    limits=(0.05, 0.95),
                    top=1,
                    needs=(Need.PFC,),
                ),
                Panel(
                    "Pauses begun",
                    Kind.LINES,
                    (Query(top(12, _ASK.rate("fabric_pfc_receive_pauses_total")), _PORT),),
                    "Refreshes not counted. Many short pauses are congestion, one long pause is a storm.",
                    8,
                    needs=(Need.PFC,),
                ),
                Panel(
                    "XOFF sent",
                    Kind.LINES,
                    (Query(top(12, _ASK.rate("fabric_pfc_transmit_frames_total", kind="xoff")), _PORT),),
                    "PFC frames that pause a priority, refreshes included.",
                    8,
                    needs=(Need.PFC,),
                ),
                Panel(
                    "Longest pause",
                    Kind.LINES,
                    (Query(top(12, _ASK.now("fabric_pfc_longest_pause_seconds")), _PORT),),
                    "Since the start, in simulated time.",
                    8,
                    needs=(Need.PFC,),
                ),
            ),
        ),
        Section(
            "PFC watchdog",
            (
                Panel(
                    "Queues in storm",
                    Kind.LINES,
                    (Query(_ASK.now("fabric_pfcwd_state", state="stormed"), "{{device}}:{{port}} queue {{queue}}"),),
                    "1 while the watchdog drops what this queue would send.",
                    8,
                    top=1,
                    needs=(Need.WATCHDOG,),
                ),
                Panel(
                    "Storms detected and ended",
                    Kind.LINES,
                    (
                        Query(_ASK.now("fabric_pfcwd_storms_detected_total"), "{{device}}:{{port}} detected"),
                        Query(_ASK.now("fabric_pfcwd_storms_restored_total"), "{{device}}:{{port}} ended"),
                    ),
                    "Counted since the start.",
                    8,
                    needs=(Need.WATCHDOG,),
                ),
                Panel(
                    "Packets dropped in a storm",
                    Kind.LINES,
                    (Query(_ASK.rate("fabric_pfcwd_dropped_packets_total"), "{{device}}:{{port}} queue {{queue}}"),),
                    "Packets that the watchdog drops to contain the storm.",
                    8,
                    needs=(Need.WATCHDOG,),
                ),
            ),
        ),
    ),
)
"""fabric-pfc-storm."""
