"""Concurrent scrapes share one snapshot of the run and one rendering.

A scrape shows the state of the run after its request. Requests that arrive while a snapshot is taken therefore share
the next one: there are never more than two rounds at a time, for any number of clients.
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
from telemetry.export.exposition import Writer
from telemetry.export.http_request import HttpError, Request
from telemetry.export.http_server import Answer, Lane, full

MAX_NAMES: Final = 64
"""Maximum of `name[]` fields in a scrape."""
MAX_VARIANTS: Final = 16
"""Maximum of renderings of one snapshot: formats, encodings, selections of metrics."""


@dataclass(frozen=True, slots=True)
class _Variant:
    """Selection, format and encoding of a rendering."""

    names: frozenset[str]
    """Samples to show; empty: all."""
    accept: str
    """One of the two formats, as a canonical Accept field."""
    encoding: str


class _Round:
    """Scrapes that share a snapshot."""

    def __init__(self) -> None:
        self.asked: dict[_Variant, asyncio.Future[Answer]] = {}


class Scrapes:
    """Answers scrapes of a registry. Used by the event loop only.

    Parameters
    ----------
    registry : CollectorRegistry
    lane : Lane                     threads for snapshots and renderings
    """

    def __init__(self, registry: CollectorRegistry, lane: Lane) -> None:
        self._registry, self._lane = registry, lane
        self._writer = Writer()
        self._next: _Round | None = None
        self._looking: asyncio.Task[None] | None = None

    async def answer(self, request: Request) -> Answer:
        """The answer to a scrape. Raises: HttpError where there is none."""
        variant = _variant(request)
        if self._next is None:
            self._next = _Round()
        asked = self._next.asked
        if variant not in asked:
            if len(asked) >= MAX_VARIANTS:
                raise full(f"{MAX_VARIANTS} other selections of metrics are being rendered")
            asked[variant] = asyncio.get_running_loop().create_future()
        future = asked[variant]
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        return await asyncio.shield(future)  # a client that gives up must not cancel it for the others

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
        except Exception as error:  # noqa: BLE001  every waiting client gets the error, and one of them logs it
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
    return _Variant(
        frozenset(names),
        "application/openmetrics-text; version=1.0.0" if openmetrics else "",
        "gzip" if gzipped else "",
    )


def _restricted(families: Iterable[Metric], names: frozenset[str]) -> Iterable[Metric]:
    """Samples with these names, like CollectorRegistry.restricted_registry."""
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
            future.exception()  # retrieved, because all clients may have given up
