"""Scrapes that are asked for at the same time share one look at the run and one rendering.

A scrape shows the run as it is after the scrape was asked for. So those that come while a look is under way wait for
the next one, all together: there are never more than two, however many clients there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder, gzip_accepted
from prometheus_client.registry import CollectorRegistry

from fabric.errors import FabricError
from telemetry.exposition import Writer
from telemetry.http_request import HttpError, Request
from telemetry.http_server import Answer, Lane, full

MAX_NAMES: Final = 64
"""Metrics that one scrape can ask for by `name[]`."""
MAX_VARIANTS: Final = 16
"""Renderings of one look: formats, encodings, choices of metrics."""


@dataclass(frozen=True, slots=True)
class _Variant:
    """What of a look is rendered, and how."""

    names: frozenset[str]
    """Samples to show; empty: all."""
    accept: str
    """One of the two formats, as a canonical Accept field."""
    encoding: str


class _Round:
    """Scrapes that share a look."""

    def __init__(self) -> None:
        self.asked: dict[_Variant, asyncio.Future[Answer]] = {}


class Scrapes:
    """Answers scrapes of a registry. Belongs to the event loop.

    Parameters
    ----------
    registry : CollectorRegistry
    lane : Lane                     where looking and rendering are done
    """

    def __init__(self, registry: CollectorRegistry, lane: Lane) -> None:
        self._registry, self._lane = registry, lane
        self._writer = Writer()
        self._next: _Round | None = None
        self._looking: asyncio.Task[None] | None = None

    async def answer(self, request: Request) -> Answer:
        """Raises HttpError where there is none."""
        variant = _variant(request)
        if self._next is None:
            self._next = _Round()
        asked = self._next.asked
        if variant not in asked:
            if len(asked) >= MAX_VARIANTS:
                raise full(f"{MAX_VARIANTS} other choices of metrics are being rendered")
            asked[variant] = asyncio.get_running_loop().create_future()
        future = asked[variant]
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        return await asyncio.shield(future)     # one that gives up does not take it from the others

    async def _look(self) -> None:
        try:
            while self._next is not None:
                its, self._next = self._next, None
                await self._round(its)
        finally:
            self._looking = None

    async def _round(self, its: _Round) -> None:
        try:
            families = await self._lane.do(lambda: list(self._registry.collect()))
            for variant, future in its.asked.items():
                future.set_result(await self._lane.do(partial(self._rendered, families, variant)))
        except FabricError as error:
            _fail(its, full(str(error.args[0])))
        except Exception as error:  # noqa: BLE001  each of those who asked is told, and one of them logs it
            _fail(its, error)

    def _rendered(self, families: Iterable[Metric], variant: _Variant) -> Answer:
        if variant.names:
            families = _restricted(families, variant.names)
        headers, body = self._writer.answer(families, variant.accept, variant.encoding)
        return Answer("200 OK", headers, body)


def _variant(request: Request) -> _Variant:
    try:
        names = parse_qs(request.query, max_num_fields=MAX_NAMES).get("name[]", [])
    except ValueError:
        raise HttpError(HTTPStatus.BAD_REQUEST, f"the query has more than {MAX_NAMES} fields") from None
    openmetrics = "openmetrics" in choose_encoder(request.headers.get("accept", ""))[1]
    gzipped = gzip_accepted(request.headers.get("accept-encoding", ""))
    return _Variant(frozenset(names), "application/openmetrics-text; version=1.0.0" if openmetrics else "",
                    "gzip" if gzipped else "")


def _restricted(families: Iterable[Metric], names: frozenset[str]) -> Iterable[Metric]:
    """As CollectorRegistry.restricted_registry does: samples with these names."""
    for family in families:
        samples = [sample for sample in family.samples if sample.name in names]
        if samples:
            chosen = Metric(family.name, family.documentation, family.type, family.unit)
            chosen.samples = samples
            yield chosen


def _fail(its: _Round, error: Exception) -> None:
    for future in its.asked.values():
        if not future.done():
            future.set_exception(error)
            future.exception()      # looked at: whoever asked may have given up
