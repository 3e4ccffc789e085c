"""Subscribe in all its modes, with pygnmi and with raw messages, over hand-made metrics."""

# ruff: noqa: ANN401  messages of pygnmi have no types
from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import grpc
import pytest
from pygnmi.client import gNMIclient
from pygnmi.spec.v080 import gnmi_pb2 as pb
from pygnmi.spec.v080 import gnmi_pb2_grpc

from telemetry.gnmi.paths import pattern
from telemetry.gnmi.query import query
from telemetry.gnmi.reading import Reader
from telemetry.gnmi.subscription import Subscription
from tests.gnmi.small_switches import OCTETS, UP, Switches, served, updates
from tests.telemetry.programs import PATIENCE_S

PERIOD_NS = 100_000_000


def elems(*names: str) -> Any:
    return pb.Path(elem=[pb.PathElem(name=name) for name in names])


STATE = elems("interfaces", "interface", "state", "oper-status")
COUNTERS = elems("interfaces", "interface", "state", "counters", "in-octets")


def asked(mode: str = "STREAM", target: str = "leaf1", **fields: Any) -> Any:
    fields.setdefault("subscription", [pb.Subscription(path=STATE)])
    return pb.SubscribeRequest(
        subscribe=pb.SubscriptionList(prefix=pb.Path(target=target), mode=mode, encoding="JSON_IETF", **fields)
    )


def sampled(**fields: Any) -> Any:
    return pb.Subscription(path=COUNTERS, mode="SAMPLE", **{"sample_interval": PERIOD_NS, **fields})


def changed(**fields: Any) -> Any:
    return pb.Subscription(path=STATE, mode="ON_CHANGE", **fields)


def said(address: str, *requests: Any) -> list[Any]:
    """All responses to these requests. Raises: grpc.RpcError."""
    with grpc.insecure_channel(address) as channel:
        return list(gnmi_pb2_grpc.gNMIStub(channel).Subscribe(iter(requests), timeout=PATIENCE_S))


@contextmanager
def kept_open(address: str, *requests: Any) -> Iterator[Any]:
    """Responses to these requests; the client's direction stays open."""
    over = threading.Event()

    def sent() -> Iterator[Any]:
        yield from requests
        over.wait(PATIENCE_S)

    with grpc.insecure_channel(address) as channel:
        yield gnmi_pb2_grpc.gNMIStub(channel).Subscribe(sent(), timeout=PATIENCE_S)
        over.set()


def first(address: str, count: int, *requests: Any) -> list[Any]:
    """The first responses."""
    with kept_open(address, *requests) as stream:
        return list(islice(stream, count))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(Switches()) as (server, _):
        yield server.address


def test_once_sends_every_leaf_then_sync_and_ends(address: str) -> None:
    notification, sync = said(address, asked("ONCE"))
    assert [it.path.elem[1].key["name"] for it in notification.update.update] == ["Ethernet0", "Ethernet4"]
    assert notification.update.prefix.target == "leaf1"
    assert {it.val.json_ietf_val for it in notification.update.update} == {b'"UP"'}
    assert sync.sync_response


def test_each_update_is_one_leaf_section_3_5(address: str) -> None:
    whole = asked("ONCE", subscription=[pb.Subscription(path=elems("interfaces"))])
    found = [it for response in said(address, whole) for it in response.update.update]
    assert {it.path.elem[-1].name for it in found} >= {"name", "oper-status", "in-octets", "port-speed"}
    assert not any(it.val.json_ietf_val.startswith(b"{") for it in found)


def test_updates_only_sends_no_present_values(address: str) -> None:
    assert [it.sync_response for it in said(address, asked("ONCE", updates_only=True))] == [True]


def test_the_timestamp_is_the_wall_clock(address: str) -> None:
    before_ns = time.time_ns()
    notification, _ = said(address, asked("ONCE"))
    assert before_ns <= notification.update.timestamp <= time.time_ns()


def test_poll_answers_each_poll_with_sync(address: str) -> None:
    poll = pb.SubscribeRequest(poll=pb.Poll())
    assert [it.sync_response for it in said(address, asked("POLL"), poll, poll)] == [False, True] * 3


def test_a_star_sends_each_switch_with_its_name(address: str) -> None:
    assert [it.update.prefix.target for it in said(address, asked("ONCE", "*"))][:-1] == ["leaf1", "leaf2"]


def test_a_sample_is_sent_in_every_interval_whether_it_changed_or_not(address: str) -> None:
    found = first(address, 4, asked(subscription=[sampled()]))
    assert [it.sync_response for it in found] == [False, True, False, False]
    assert found[2].update.timestamp < found[3].update.timestamp


def test_a_client_that_closes_its_direction_gets_the_initial_values_and_the_stream_ends(address: str) -> None:
    seldom = sampled(sample_interval=3600 * 10**9)  # no sample is due before the client has closed
    assert [it.sync_response for it in said(address, asked(subscription=[seldom]))] == [False, True]


def test_a_path_of_a_served_model_that_does_not_exist_keeps_the_stream_open_section_3_5_1_3(address: str) -> None:
    absent = pb.Subscription(path=elems("interfaces", "interface", "subinterfaces"), mode="ON_CHANGE")
    assert first(address, 1, asked(subscription=[absent]))[0].sync_response


def test_a_database_streams_documents(address: str) -> None:
    table = pb.Subscription(path=elems("COUNTERS", "Ethernet0"), mode="ON_CHANGE")
    notification, sync = first(address, 2, asked(target="COUNTERS_DB/leaf1", subscription=[table]))
    assert notification.update.update[0].val.json_ietf_val.startswith(b'{"SAI_PORT_STAT')
    assert sync.sync_response


@pytest.mark.parametrize(
    ("requests", "code", "text"),
    [
        ([pb.SubscribeRequest(poll=pb.Poll())], "INVALID_ARGUMENT", "SubscriptionList"),
        ([], "INVALID_ARGUMENT", "SubscriptionList"),
        ([asked(subscription=[])], "INVALID_ARGUMENT", "1 to 256"),
        ([asked(subscription=[sampled(sample_interval=1000)])], "INVALID_ARGUMENT", "least is 0.1 s"),
        ([asked(subscription=[changed(heartbeat_interval=1)])], "INVALID_ARGUMENT", "heartbeat_interval"),
        ([asked(subscription=[pb.Subscription(path=elems("system"))])], "INVALID_ARGUMENT", "no served model"),
        ([asked(target="leaf7")], "NOT_FOUND", "no switch 'leaf7'"),
        ([asked(), asked()], "INVALID_ARGUMENT", "set once"),
        ([asked(), pb.SubscribeRequest(aliases=pb.AliasList())], "UNIMPLEMENTED", "aliases"),
        ([asked("POLL"), asked("POLL")], "INVALID_ARGUMENT", "set once"),
    ],
)
def test_a_request_against_the_specification_ends_with_its_code(
    address: str, requests: list[Any], code: str, text: str
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        said(address, *requests)
    assert caught.value.code() is grpc.StatusCode[code]
    assert text in caught.value.details()


def test_a_change_is_sent_alone_and_soon() -> None:
    switches = Switches()
    with served(switches) as (_, connected):
        stream = connected.subscribe2(
            {"subscription": [{"path": "/interfaces/interface", "mode": "on_change"}], "mode": "stream"}, "leaf1"
        )
        assert len(updates(stream.next())) > 2
        switches.put("fabric_port_up", "leaf1", "Ethernet0", value=0)
        assert updates(stream.get_update(PATIENCE_S)) == {UP.removeprefix("/"): "DOWN"}
        stream.close()


def test_many_subscribers_share_readings() -> None:
    switches = Switches()
    with served(switches) as (_, connected):
        streams = [_counter_stream(connected) for _ in range(30)]
        for stream in streams:
            stream.next()
        before, began_s = switches.reads, time.monotonic()
        for stream in streams:
            for _ in range(5):
                stream.get_update(PATIENCE_S)
        assert switches.reads - before <= (time.monotonic() - began_s) / 0.05 + 2  # SPACING_S, not once per stream
        for stream in streams:
            stream.close()


def _counter_stream(connected: gNMIclient) -> Any:
    entry = {"path": OCTETS, "mode": "sample", "sample_interval": PERIOD_NS}
    return connected.subscribe2({"subscription": [entry], "mode": "stream", "encoding": "proto"}, "leaf1")


def test_closing_the_server_ends_its_streams() -> None:
    with served(Switches()) as (server, _), kept_open(server.address, asked()) as stream:
        next(stream)
        server.close()
        with pytest.raises(grpc.RpcError):
            list(stream)


# ===== one subscription on a clock of the test =====


class Clock:
    """A subscription to in-octets of both ports, and its readings."""

    def __init__(self, *, changes_only: bool, heartbeat_s: float = 0.0) -> None:
        self.switches = Switches()
        path = query(pb.Path(target="leaf1"), COUNTERS, self.switches())
        self.subscription = Subscription(path, 1.0, changes_only, heartbeat_s)
        self.subscription.begin(0.0, self.switches(), send=True)

    def take(self, now_s: float) -> list[Any]:
        return [item.value for item in self.subscription.take(now_s, self.switches())]

    def count(self, value: float) -> None:
        self.switches.put("fabric_port_receive_bytes_total", "leaf1", "Ethernet0", value=value)


def test_suppress_redundant_sends_only_leaves_that_changed() -> None:
    clock = Clock(changes_only=True)
    assert clock.take(1.0) == []
    clock.count(101)
    assert clock.take(2.0) == [101]
    assert clock.take(3.0) == []


@pytest.mark.parametrize(("now_s", "sent"), [(2.9, 0), (3.0, 2)])
def test_a_heartbeat_sends_everything_again_when_it_is_due(now_s: float, sent: int) -> None:
    clock = Clock(changes_only=True, heartbeat_s=3.0)
    assert len(clock.take(now_s)) == sent


def test_a_late_client_gets_the_latest_value_once_and_not_every_missed_one() -> None:
    clock = Clock(changes_only=False)
    clock.count(105)
    assert clock.take(5.5) == [105, 100]
    assert clock.subscription.due_s == 5.5  # the times 2 to 5 are left out


def test_a_pattern_may_be_split_anywhere_between_prefix_and_path() -> None:
    names = ("interfaces", "interface", "state")
    assert len({str(pattern(elems(*names[:cut]), elems(*names[cut:]))) for cut in range(4)}) == 1


def test_a_reading_keeps_one_place_for_each_leaf() -> None:
    switches = Switches()
    first_reading, second = switches(), switches()
    assert list(first_reading.values) == list(second.values)
    assert all(one is other for one, other in zip(first_reading.values, second.values, strict=True))
    assert Reader().reading([], 0).values == {}
