"""Who stops whom, and where it began."""

from __future__ import annotations

from typing import Final

from telemetry.grafana.clock import clock
from telemetry.grafana.model import Board, Kind, Need, Panel, Quantity, Query, Section, Unit
from telemetry.grafana.queries import DEVICES, INSTANCES, PORTS, PRIORITIES, Asking, top

_ASK: Final = Asking(INSTANCES, DEVICES, PORTS, PRIORITIES)
_ALL: Final = Asking(INSTANCES)
_PORT: Final = "{{device}}:{{port}} priority {{priority}}"
_ANY: Final = ".+"

_STOPPED: Final = Quantity(f"sum by (instance, role) (max by (instance, device) ({_ALL.rows('fabric_pfc_paused')}) "
                           f"* on (instance, device) group_left (role) {_ALL.rows('fabric_device_info')})", Unit.COUNT)
"""Devices of which a port stands still."""

BOARD: Final = Board(
    "fabric-pfc-storm", "PFC storms", "Who stops whom, where it began, and what the watchdog did.",
    (INSTANCES, DEVICES, PORTS, PRIORITIES), (
        clock(_ALL),
        Section("Where it began", (
            Panel("What waits for what", Kind.TABLE, (
                Query(_ASK.now("fabric_pfc_pause_cause_info"), ""),),
                "Every pause that lasts: the queue that holds it up at the next hop, and the root, where the chain "
                "begins. One root device on all lines is a broken NIC or a slow receiver.", 16, 9,
                needs=(Need.WAITING,)),
            Panel("Devices with a port that stands still", Kind.LINES, (Query(_STOPPED, "{{role}}"),),
                  "A storm spreads from one leaf to the spines to all leaves and hosts.", 8, 9, needs=(Need.PFC,)),
            Panel("Who stops whom, share of time", Kind.MATRIX, (Query(_ALL.between(
                _ALL.rate("fabric_pfc_receive_paused_seconds_total", by="device, port"), _ANY, _ANY), ""),),
                "Rows were stopped by columns. A column of a host is where a storm begins.", 16, 10, top=1,
                needs=(Need.PFC,)),
            Panel("Circles of waiting", Kind.STATES, (Query(_ALL.now("fabric_pfc_deadlock"), "deadlock"),),
                  "1: paused queues wait for each other in a circle, which no sending resolves. A live run looks for "
                  "one at every scrape.", 8, 10, (1,), needs=(Need.SEARCH,)),
        )),
        Section("Pauses", (
            Panel("Share of time stopped", Kind.LINES, (
                Query(top(12, _ASK.rate("fabric_pfc_receive_paused_seconds_total")), _PORT),),
                "Time that the port was kept from sending the priority.", limits=(0.05, 0.95), top=1,
                needs=(Need.PFC,)),
            Panel("Share of time that a port stops its peer", Kind.LINES, (
                Query(top(12, _ASK.rate("fabric_pfc_transmit_paused_seconds_total")), _PORT),),
                "The other end's view: a host in this list takes less than it is sent.", limits=(0.05, 0.95), top=1,
                needs=(Need.PFC,)),
            Panel("Pauses begun", Kind.LINES, (
                Query(top(12, _ASK.rate("fabric_pfc_receive_pauses_total")), _PORT),),
                "Refreshes not counted. Many short pauses are congestion, one long pause is a storm.", 8,
                needs=(Need.PFC,)),
            Panel("XOFF sent", Kind.LINES, (
                Query(top(12, _ASK.rate("fabric_pfc_transmit_frames_total", kind="xoff")), _PORT),),
                "PFC frames that stop a priority, refreshes included.", 8, needs=(Need.PFC,)),
            Panel("Longest pause", Kind.LINES, (
                Query(top(12, _ASK.now("fabric_pfc_longest_pause_seconds")), _PORT),),
                "Since the start, in simulated time.", 8, needs=(Need.PFC,)),
        )),
        Section("PFC watchdog", (
            Panel("Queues in storm", Kind.LINES, (
                Query(_ASK.now("fabric_pfcwd_state", state="stormed"), "{{device}}:{{port}} queue {{queue}}"),),
                "1 while the watchdog drops what this queue would send.", 8, top=1, needs=(Need.WATCHDOG,)),
            Panel("Storms detected and ended", Kind.LINES, (
                Query(_ASK.now("fabric_pfcwd_storms_detected_total"), "{{device}}:{{port}} detected"),
                Query(_ASK.now("fabric_pfcwd_storms_restored_total"), "{{device}}:{{port}} ended")),
                "Counted since the start.", 8, needs=(Need.WATCHDOG,)),
            Panel("Packets dropped in a storm", Kind.LINES, (
                Query(_ASK.rate("fabric_pfcwd_dropped_packets_total"), "{{device}}:{{port}} queue {{queue}}"),),
                "The price of containment.", 8, needs=(Need.WATCHDOG,)),
        )),
    ))
"""fabric-pfc-storm."""
