"""Use of buffers: pools, dynamic thresholds, headroom."""

from __future__ import annotations

from typing import Final

from telemetry.grafana.clock import clock
from telemetry.grafana.model import Board, Kind, Need, Panel, Query, Section
from telemetry.grafana.queries import DEVICES, INSTANCES, PORTS, PRIORITIES, Asking, over, top

_ASK: Final = Asking(INSTANCES, DEVICES, PORTS, PRIORITIES)
_POOL: Final = "{{device}} {{pool}}"
_PG: Final = "{{device}}:{{port}} priority {{priority}}"


def _share(title: str, part: str, whole: str, legend: str, about: str, *needs: Need) -> Panel:
    return Panel(
        title,
        Kind.LINES,
        (Query(top(12, over(_ASK.now(part), _ASK.now(whole))), legend),),
        about,
        limits=(0.8, 1),
        top=1,
        needs=needs,
    )


BOARD: Final = Board(
    "fabric-buffers",
    "Buffers and headroom",
    "Use of buffers, and distance to the thresholds for pauses and drops.",
    (INSTANCES, DEVICES, PORTS, PRIORITIES),
    (
        clock(_ASK),
        Section(
            "Pools",
            (
                _share(
                    "Pool in use, highest share",
                    "fabric_buffer_pool_watermark_bytes",
                    "fabric_buffer_pool_size_bytes",
                    _POOL,
                    "Highest since the sample before, over the pool's size.",
                ),
                Panel(
                    "Pool in use",
                    Kind.LINES,
                    (Query(_ASK.now("fabric_buffer_pool_used_bytes"), _POOL),),
                    "In use now, in whole cells.",
                ),
            ),
        ),
        Section(
            "Priority groups",
            (
                Panel(
                    "Buffer in use and its limit",
                    Kind.LINES,
                    (
                        Query(top(6, _ASK.now("fabric_pg_watermark_bytes")), f"{_PG} in use"),
                        Query(top(6, _ASK.now("fabric_pg_shared_threshold_bytes")), f"{_PG} limit"),
                    ),
                    "A dynamic limit falls as the pool fills: where the two lines meet, a lossless group pauses "
                    "its peer "
                    "and a lossy one drops.",
                ),
                Panel(
                    "Nearest to the limit since the start",
                    Kind.LINES,
                    (Query(top(12, _ASK.now("fabric_pg_peak_threshold_ratio")), _PG),),
                    "Highest shared use over the limit of that moment; a lossless group sends XOFF at 100 %.",
                    limits=(0.8, 1),
                ),
                Panel(
                    "XOFF episodes",
                    Kind.LINES,
                    (Query(top(12, _ASK.rate("fabric_pg_xoff_episodes_total")), _PG),),
                    "Times that a group sent XOFF to its peer.",
                    needs=(Need.PFC,),
                ),
                Panel(
                    "Packets refused at ingress",
                    Kind.LINES,
                    (Query(_ASK.rate("fabric_pg_dropped_packets_total"), _PG),),
                    "More than none in a lossless group is a defect of the configuration.",
                ),
            ),
        ),
        Section(
            "Headroom",
            (
                _share(
                    "Headroom, highest share",
                    "fabric_pg_headroom_watermark_bytes",
                    "fabric_pg_headroom_limit_bytes",
                    _PG,
                    "Bytes that arrived after XOFF over the configured headroom; beyond 100 % packets are lost.",
                    Need.PFC,
                ),
                Panel(
                    "Headroom, highest use",
                    Kind.LINES,
                    (Query(top(12, _ASK.now("fabric_pg_headroom_peak_bytes")), _PG),),
                    "Since the start; `fabric headroom` adds up what a port needs, term by term.",
                    needs=(Need.PFC,),
                ),
            ),
        ),
        Section(
            "Queues",
            (
                Panel(
                    "Deepest queues",
                    Kind.LINES,
                    (Query(top(12, _ASK.now("fabric_queue_watermark_bytes")), "{{device}}:{{port}} queue {{queue}}"),),
                    "Highest since the sample before.",
                ),
                Panel(
                    "Packets dropped by queues",
                    Kind.LINES,
                    (Query(_ASK.rate("fabric_queue_dropped_packets_total", by="device, port"), "{{device}}:{{port}}"),),
                    "Refused, or discarded while they waited.",
                ),
            ),
        ),
    ),
)
"""fabric-buffers."""
