"""Exporters whose metric names can be served, by their name for --compat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from telemetry.export.compat import amd, gnmic, node_exporter, omnistat, rdma_exporter, sonic_exporter
from telemetry.export.compat.model import Layer

LAYERS: Final[Mapping[str, Layer]] = {
    it.LAYER.name: it.LAYER for it in (node_exporter, sonic_exporter, gnmic, rdma_exporter, amd, omnistat)
}
