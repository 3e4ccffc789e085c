"""The dashboards. telemetry/grafana/rendered has their JSON; a test compares these files with this source.

`make docs` writes them, `fabric export dashboards --out DIR` writes them elsewhere.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from telemetry.alerting.render import RUNBOOKS
from telemetry.grafana.boards import as_seen_by, buffers, congestion, ecmp, evpn_bgp, hosts, jobs, overview, pfc_storm
from telemetry.grafana.model import Board
from telemetry.grafana.panels import dashboard

RENDERED: Final = Path(__file__).parent / "rendered"

BOARDS: Final[tuple[Board, ...]] = (
    overview.BOARD,
    congestion.BOARD,
    pfc_storm.BOARD,
    buffers.BOARD,
    ecmp.BOARD,
    hosts.BOARD,
    jobs.BOARD,
    evpn_bgp.BOARD,
    as_seen_by.BOARD,
)


def rendered(runbooks: str = RUNBOOKS) -> dict[str, str]:
    """File name -> JSON, one dashboard each."""
    return {
        f"{board.uid}.json": json.dumps(dashboard(board, runbooks), indent=2, ensure_ascii=False) + "\n"
        for board in BOARDS
    }


def write(folder: Path, runbooks: str = RUNBOOKS) -> list[Path]:
    """Write all dashboards; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in rendered(runbooks).items():
        paths.append(folder / name)
        paths[-1].write_text(text, encoding="utf-8")
    return paths
