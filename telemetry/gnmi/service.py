"""The RPCs of gNMI: Capabilities, Get, Set and Subscribe (gNMI specification section 3), on one event loop.

Rules
1. A handler waits for the feed or for its client, and blocks nobody else. Each notification is made in a turn
   (telemetry/gnmi/turns.py).
2. What is sent to a client is made when the client is ready for it: a slow one gets fewer samples, and gRPC's windows
   bound what waits for it. Where it takes nothing for SEND_S, its RPC ends with a status; it keeps its place until it
   has read that, or its connection ends.
3. At most MAX_STREAMS Subscribe RPCs are open, each with at most MAX_PATHS paths.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import partial
from typing import Any, Final

import grpc
from pygnmi.spec.v080 import gnmi_pb2 as pb
from pygnmi.spec.v080 import gnmi_pb2_grpc

from fabric.errors import FabricError
from telemetry.gnmi import messages, openconfig
from telemetry.gnmi.feed import Feed
from telemetry.gnmi.query import Item, Query, check_known, check_root, query
from telemetry.gnmi.reading import Reading
from telemetry.gnmi.refusal import Code, Refusal
from telemetry.gnmi.subscription import Subscription, subscriptions
from telemetry.gnmi.turns import Turns

log = logging.getLogger(__name__)

MAX_STREAMS: Final = 256
MAX_PATHS: Final = 256
SEND_S: Final = 30.0
FIRST_S: Final = 10.0
"""Time for the first message of a Subscribe RPC."""
RETRY_S: Final = 1.0
"""Wait after a reading that failed: the engine is being compiled, or is busy."""


class Service(gnmi_pb2_grpc.gNMIServicer):  # type: ignore[misc]  # generated classes have no types
    """Handlers; grpc.aio calls them in its event loop."""

    def __init__(self, feed: Feed) -> None:
        self._feed, self._turns = feed, Turns()
        self._streams = 0

    async def Capabilities(self, request: Any, context: Any) -> Any:  # noqa: ANN401, ARG002, N802  named by gnmi.proto
        """Section 3.2."""
        return messages.capabilities()

    async def Get(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802  named by gnmi.proto
        """Section 3.3."""
        try:
            return await self._get(request)
        except Refusal as refusal:
            await _abort(context, refusal)

    async def Set(self, request: Any, context: Any) -> None:  # noqa: ANN401, ARG002, N802  named by gnmi.proto
        """Section 3.4: nothing can be set; the run is changed by the API (docs/howto/live.md)."""
        await _abort(context, Refusal(Code.UNIMPLEMENTED, "everything here is state; change the run by its HTTP API"))

    async def Subscribe(self, requests: AsyncIterator[Any], context: Any) -> None:  # noqa: ANN401, N802  gnmi.proto
        """Section 3.5."""
        if self._streams >= MAX_STREAMS:
            await _abort(context, Refusal(Code.RESOURCE_EXHAUSTED, f"{MAX_STREAMS} subscriptions are open already"))
        self._streams += 1
        try:
            # By itself: grpc.aio sends it a second time where the write that would have carried it was cut short.
            await context.send_initial_metadata(())
            await _Stream(self._feed, self._turns, requests, context).serve()
        except Refusal as refusal:
            await _abort(context, refusal)
        finally:
            self._streams -= 1

    async def _get(self, request: Any) -> Any:  # noqa: ANN401
        encoding = messages.encoding_name(request.encoding)
        messages.check_models(request.use_models)
        if not request.path or len(request.path) > MAX_PATHS:
            raise Refusal(Code.INVALID_ARGUMENT, f"give 1 to {MAX_PATHS} paths")
        reading = await fresh(self._feed)
        found = []
        for path in request.path:
            one = query(request.prefix, path, reading)
            check_known(one)
            data = pb.GetRequest.DataType.Name(request.type)
            found += await self._turns.do(partial(_answer, one, reading, encoding, data))
        return pb.GetResponse(notification=found)


async def fresh(feed: Feed) -> Reading:
    """A reading begun now or later. Raises: Refusal."""
    try:
        return await feed.since(asyncio.get_running_loop().time())
    except FabricError as error:
        raise Refusal(Code.UNAVAILABLE, f"{error.text}; {error.hint}" if error.hint else error.text) from error


def _answer(one: Query, reading: Reading, encoding: str, data: str) -> list[Any]:
    """One notification for each device and path (section 3.3.2). Raises: Refusal."""
    software = bool(one.pattern.elems) and one.pattern.elems[0][0] == openconfig.SOFTWARE
    if data == "CONFIG" or (data == "OPERATIONAL" and not software):
        return [messages.notification(one, device, reading.time_ns, ()) for device in sorted(one.devices)]
    ietf = encoding == "JSON_IETF"
    items = list(one.leaves(reading) if encoding == "PROTO" else one.nodes(reading, ietf=ietf))
    if not items:
        raise Refusal(Code.NOT_FOUND, f"there is nothing at {str(one.asked)[:200]}")
    return messages.whole(items, one, reading.time_ns, encoding)


def _leaves(one: Query, reading: Reading) -> list[Item]:
    return list(one.leaves(reading))


class _Stream:
    """One Subscribe RPC."""

    def __init__(self, feed: Feed, turns: Turns, requests: AsyncIterator[Any], context: Any) -> None:  # noqa: ANN401
        self._feed, self._turns, self._requests, self._context = feed, turns, requests, context
        self._encoding = ""

    async def serve(self) -> None:
        """Until it ends by itself or the client cancels it. Raises: Refusal."""
        asked = await self._first()
        mode = pb.SubscriptionList.Mode.Name(asked.mode)
        self._encoding = messages.encoding_name(asked.encoding)
        messages.check_models(asked.use_models)
        if not asked.subscription or len(asked.subscription) > MAX_PATHS:
            raise Refusal(Code.INVALID_ARGUMENT, f"give 1 to {MAX_PATHS} subscriptions (section 3.5.1.2)")
        reading = await self._reading()
        queries = [query(asked.prefix, it.path, reading) for it in asked.subscription]
        for one in queries:
            check_root(one)
        if mode == "STREAM":
            await self._stream(asked, queries, reading)
            return
        if not asked.updates_only:
            await self._send_all(queries, reading)
        await self._sync()
        if mode == "POLL":
            await self._poll(queries)

    async def _first(self) -> Any:  # noqa: ANN401  gnmi.SubscriptionList
        try:
            async with asyncio.timeout(FIRST_S):
                first = await anext(aiter(self._requests), None)
        except TimeoutError:
            raise Refusal(Code.INVALID_ARGUMENT, f"no subscription came within {FIRST_S:g} s") from None
        if first is None or not first.HasField("subscribe"):
            raise Refusal(Code.INVALID_ARGUMENT, "the first message must have a SubscriptionList (section 3.5.1.1)")
        return first.subscribe

    async def _poll(self, queries: Sequence[Query]) -> None:
        """Section 3.5.1.5.3."""
        async for request in self._requests:
            if not request.HasField("poll"):
                raise _unexpected(request)
            await self._send_all(queries, await fresh(self._feed))
            await self._sync()

    async def _stream(self, asked: Any, queries: Sequence[Query], reading: Reading) -> None:  # noqa: ANN401
        """Section 3.5.1.5.2. A client that closes its own direction gets the initial values, and the RPC ends: so
        pygnmi ends a subscription, and SONiC's server does the same.
        """
        mode_name = pb.SubscriptionMode.Name
        both = zip(asked.subscription, queries, strict=True)
        found = [it for entry, one in both for it in subscriptions(entry, mode_name(entry.mode), one)]
        listening = asyncio.create_task(self._listen())
        sending = asyncio.create_task(self._updates(found, reading, listening, send=not asked.updates_only))
        try:
            await sending  # ends soon after `listening`
            listening.result()
        finally:
            sending.cancel()
            listening.cancel()
            await asyncio.gather(sending, listening, return_exceptions=True)

    async def _listen(self) -> None:
        async for request in self._requests:
            raise _unexpected(request)

    async def _updates(
        self, found: Sequence[Subscription], reading: Reading, listening: asyncio.Task[None], *, send: bool
    ) -> None:
        clock = asyncio.get_running_loop().time
        for it in found:
            items = await self._turns.do(partial(it.begin, clock(), reading, send=send))
            await self._send(items, it.query, reading)
        await self._sync()
        while not listening.done():
            due_s = min(it.due_s for it in found)
            await asyncio.wait({listening}, timeout=max(due_s - clock(), 0.0))
            reading = await self._reading(due_s)
            for it in found:
                if it.due_s <= clock():
                    items = await self._turns.do(partial(it.take, clock(), reading))
                    await self._send(items, it.query, reading)

    async def _reading(self, since_s: float | None = None) -> Reading:
        """Waits while the engine is being compiled."""
        while True:
            try:
                return await self._feed.since(asyncio.get_running_loop().time() if since_s is None else since_s)
            except FabricError:
                await asyncio.sleep(RETRY_S)

    async def _send_all(self, queries: Iterable[Query], reading: Reading) -> None:
        for one in queries:
            await self._send(await self._turns.do(partial(_leaves, one, reading)), one, reading)

    async def _send(self, items: Sequence[Item], one: Query, reading: Reading) -> None:
        found = messages.notifications(items, one, reading.time_ns, self._encoding)
        while (notification := await self._turns.do(partial(next, found, None))) is not None:
            await self._write(pb.SubscribeResponse(update=notification))

    async def _sync(self) -> None:
        """Every value was sent at least once (section 3.5.1.4)."""
        await self._write(pb.SubscribeResponse(sync_response=True))

    async def _write(self, message: Any) -> None:  # noqa: ANN401
        """Waits until the client has room for it (HTTP/2 flow control)."""
        try:
            async with asyncio.timeout(SEND_S):
                await self._context.write(message)
        except TimeoutError:
            log.warning(
                "the stream of a gNMI client that does not read was ended", extra={"client": self._context.peer()}
            )
            raise Refusal(Code.RESOURCE_EXHAUSTED, f"nothing was read for {SEND_S:g} s") from None


def _unexpected(request: Any) -> Refusal:  # noqa: ANN401
    if request.HasField("aliases"):
        return Refusal(Code.UNIMPLEMENTED, "aliases are not served")
    return Refusal(Code.INVALID_ARGUMENT, "a subscription is set once; open another Subscribe RPC (section 3.5.1.1)")


async def _abort(context: Any, refusal: Refusal) -> None:  # noqa: ANN401
    await context.abort(grpc.StatusCode[refusal.code], refusal.text)
