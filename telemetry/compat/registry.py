"""Exporters whose names can be served, by the name that --compat takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from telemetry.compat import gnmic, node_exporter, sonic_exporter
from telemetry.compat.model import Layer

LAYERS: Final[Mapping[str, Layer]] = {it.LAYER.name: it.LAYER for it in (node_exporter, sonic_exporter, gnmic)}
