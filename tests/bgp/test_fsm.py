"""RFC 4271 section 8.2.2: every state and input has its transition, and sessions follow the table."""

from __future__ import annotations

import itertools

import pytest

from fabric.controlplane.bgp.actions import Close, Connect, Send, SessionUp
from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.bgp.capabilities import Capabilities, write_capabilities
from fabric.controlplane.bgp.config import Neighbor, PeerFamily, SpeakerConfig
from fabric.controlplane.bgp.errors import BgpError
from fabric.controlplane.bgp.fsm import TRANSITIONS, Do, Event, State
from fabric.controlplane.bgp.message import (
    KEEPALIVE_BYTES,
    Notification,
    Open,
    RouteRefresh,
    encode_notification,
    encode_open,
    encode_refresh,
    frame,
)
from fabric.controlplane.bgp.session import Session
from fabric.controlplane.bgp.speaker import Speaker
from fabric.controlplane.bgp.update import end_of_rib
from fabric.wire.iana import Cease, ErrorCode, FsmError, HeaderError, OpenError

S = 1_000_000_000
PEER = "10.0.0.1"
START_EVENTS = (Event.MANUAL_START, Event.AUTOMATIC_START, Event.MANUAL_START_PASSIVE, Event.IDLE_HOLD_EXPIRES)


def speaker(**changes: object) -> Speaker:
    neighbor = Neighbor(PEER, 65001, "10.0.0.0", PEER, {IPV4_UNICAST: PeerFamily()}, **changes)  # type: ignore[arg-type]
    return Speaker(SpeakerConfig(65000, "10.255.0.1", "r1", (neighbor,)))


def their_open(**changes: object) -> bytes:
    capabilities = Capabilities(families=((1, 1),), route_refresh=True, enhanced_refresh=True, asn4=65001)
    fields: dict[str, object] = {
        "asn": 65001,
        "hold_time_s": 9,
        "router_id": 0x0AFF0002,
        "capabilities": write_capabilities(capabilities),
    }
    return encode_open(Open(**(fields | changes)))  # type: ignore[arg-type]


def in_state(state: State) -> tuple[Speaker, Session]:
    """A speaker whose only session is in `state`, reached by ordinary inputs."""
    its = speaker()
    session = its.peers[PEER].primary
    if state == State.IDLE:
        return its, session
    its.start(0)
    if state == State.ACTIVE:
        its.closed(PEER, 0)
    if state >= State.OPEN_SENT:
        its.connected(PEER, 0)
    if state >= State.OPEN_CONFIRM:
        its.received(PEER, their_open(), 0)
    if state >= State.ESTABLISHED:
        its.received(PEER, KEEPALIVE_BYTES, 0)
    assert session.state == state
    return its, session


@pytest.mark.parametrize(("state", "event"), list(itertools.product(State, Event)))
def test_every_state_and_input_has_a_transition_and_the_session_takes_it(state: State, event: Event) -> None:
    transition = TRANSITIONS[state, event]
    its, session = in_state(state)
    message = None
    if event == Event.OPEN:
        message = Open(65001, 9, 0x0AFF0002, write_capabilities(Capabilities(families=((1, 1),), asn4=65001)))
    elif event == Event.ROUTE_REFRESH:
        message = RouteRefresh(1, 1)  # type: ignore[assignment]
    elif event == Event.UPDATE:
        message = ()  # type: ignore[assignment]
    error = (
        BgpError(ErrorCode.MESSAGE_HEADER, 1, "wrong")
        if event in (Event.HEADER_ERROR, Event.OPEN_ERROR, Event.UPDATE_ERROR)
        else None
    )
    session.handle(event, 5, message=message, error=error, reason="test")
    assert session.state == transition.state
    sent = [action for action in its.actions if isinstance(action, Send)]
    notified = [action for action in sent if action.data[18] == 3]
    assert bool(notified) == (Do.NOTIFY in transition.do)
    assert any(isinstance(action, Connect) for action in its.actions) == (Do.DIAL in transition.do)
    closed = any(isinstance(action, Close) for action in its.actions)
    assert closed == (Do.REFUSE in transition.do or (Do.DROP in transition.do and state >= State.OPEN_SENT))
    assert (session.idle_timer.deadline_ns is not None) == (Do.IDLE_HOLD in transition.do)
    if transition.state == State.IDLE and Do.DROP in transition.do:
        assert session.hold_timer.deadline_ns is session.keepalive_timer.deadline_ns is None
        assert session.retry_timer.deadline_ns is None


def test_the_table_is_complete_and_has_nothing_else() -> None:
    assert set(TRANSITIONS) == set(itertools.product(State, Event))


@pytest.mark.parametrize("state", State)
def test_a_start_never_leaves_a_state_that_has_started(state: State) -> None:
    for event in START_EVENTS:
        if state != State.IDLE:
            assert TRANSITIONS[state, event] == (state, (), None)


@pytest.mark.parametrize("state", State)
def test_the_link_going_down_sends_nothing_and_ends_in_idle(state: State) -> None:
    transition = TRANSITIONS[state, Event.LINK_DOWN]
    assert transition.state == State.IDLE
    assert Do.NOTIFY not in transition.do


@pytest.mark.parametrize(
    ("state", "subcode"),
    [(State.OPEN_SENT, FsmError.UNEXPECTED_IN_OPEN_SENT), (State.OPEN_CONFIRM, FsmError.UNEXPECTED_IN_OPEN_CONFIRM)],
)
def test_an_update_before_established_is_an_fsm_error_of_rfc6608(state: State, subcode: FsmError) -> None:
    its, session = in_state(state)
    actions = its.received(PEER, end_of_rib((1, 1)), 1)
    sent = next(action.data for action in actions if isinstance(action, Send))
    assert sent == encode_notification(Notification(ErrorCode.FSM, subcode))
    assert session.state == State.IDLE


def test_the_usual_road_leads_to_established() -> None:
    its = speaker()
    assert its.start(0) == [Connect(PEER)]
    opened = its.connected(PEER, 1)
    assert [action.data[18] for action in opened if isinstance(action, Send)] == [1]
    confirmed = its.received(PEER, their_open(), 2)
    assert confirmed == [Send(PEER, KEEPALIVE_BYTES)]
    assert SessionUp(PEER) in its.received(PEER, KEEPALIVE_BYTES, 3)


def test_messages_cut_at_every_byte_have_the_same_effect() -> None:
    its = speaker()
    its.start(0)
    its.connected(PEER, 1)
    actions = [
        action
        for byte in their_open() + KEEPALIVE_BYTES + end_of_rib((1, 1))
        for action in its.received(PEER, bytes([byte]), 2)
    ]
    assert actions == [Send(PEER, KEEPALIVE_BYTES), SessionUp(PEER)]
    assert IPV4_UNICAST in its.peers[PEER].end_of_rib_received


def test_hold_timer_expiry_tells_the_neighbour_and_comes_back() -> None:
    its, session = in_state(State.ESTABLISHED)
    sent: list[bytes] = []
    while (deadline_ns := its.next_deadline_ns()) is not None and session.state == State.ESTABLISHED:
        sent += [action.data for action in its.tick(deadline_ns) if isinstance(action, Send)]
        assert deadline_ns <= 9 * S
    assert sent[-1] == encode_notification(Notification(ErrorCode.HOLD_TIMER_EXPIRED, 0))
    assert session.idle_timer.deadline_ns == 10 * S
    assert its.tick(10 * S) == [Connect(PEER)]


def test_keepalives_come_every_three_seconds_and_hold_is_pushed_back_by_the_peers() -> None:
    its, session = in_state(State.ESTABLISHED)
    times = []
    while (deadline_ns := its.next_deadline_ns()) is not None and deadline_ns <= 30 * S:
        for action in its.tick(deadline_ns):
            if isinstance(action, Send) and action.data == KEEPALIVE_BYTES:
                times.append(deadline_ns)
                its.received(PEER, KEEPALIVE_BYTES, deadline_ns)
    assert times == [second * S for second in range(3, 31, 3)]
    assert session.state == State.ESTABLISHED


def test_hold_time_zero_means_no_keepalives_and_no_expiry() -> None:
    its = speaker()
    its.start(0)
    its.connected(PEER, 0)
    its.received(PEER, their_open(hold_time_s=0), 0)
    its.received(PEER, KEEPALIVE_BYTES, 0)
    while (deadline_ns := its.next_deadline_ns()) is not None:
        its.tick(deadline_ns)
        assert deadline_ns < 5 * S
    assert its.peers[PEER].established is not None


def test_connect_retry_dials_again_after_a_failure() -> None:
    its = speaker()
    its.start(0)
    assert its.closed(PEER, S) == []
    assert its.next_deadline_ns() == 11 * S
    assert its.tick(11 * S) == [Connect(PEER)]


def test_a_passive_neighbour_is_never_dialled() -> None:
    its = speaker(passive=True)
    assert its.start(0) == []
    assert its.next_deadline_ns() is None
    assert isinstance(its.connected(PEER, 5, outgoing=False)[0], Send)


@pytest.mark.parametrize(
    ("changes", "subcode"),
    [
        ({"asn": 65002, "capabilities": ()}, OpenError.BAD_PEER_AS),
        ({"capabilities": write_capabilities(Capabilities(families=((1, 1),), asn4=65009))}, OpenError.BAD_PEER_AS),
        ({"router_id": 0}, OpenError.BAD_BGP_IDENTIFIER),
        ({"hold_time_s": 1}, OpenError.UNACCEPTABLE_HOLD_TIME),
        ({"hold_time_s": 2}, OpenError.UNACCEPTABLE_HOLD_TIME),
        (
            {"capabilities": write_capabilities(Capabilities(families=((25, 70),), asn4=65001))},
            OpenError.UNSUPPORTED_CAPABILITY,
        ),
    ],
)
def test_an_unacceptable_open_is_refused_with_its_subcode(changes: dict[str, object], subcode: OpenError) -> None:
    its, session = in_state(State.OPEN_SENT)
    sent = next(action.data for action in its.received(PEER, their_open(**changes), 1) if isinstance(action, Send))
    assert (sent[19], sent[20]) == (ErrorCode.OPEN, subcode)
    assert session.state == State.IDLE


@pytest.mark.parametrize(
    ("data", "subcode"),
    [
        (b"\0" * 19, HeaderError.CONNECTION_NOT_SYNCHRONIZED),
        (b"\xff" * 16 + b"\x00\x12\x04", HeaderError.BAD_MESSAGE_LENGTH),
        (b"\xff" * 16 + b"\x00\x13\x09", HeaderError.BAD_MESSAGE_TYPE),
        (b"\xff" * 16 + b"\x10\x01\x02", HeaderError.BAD_MESSAGE_LENGTH),  # 4097 bytes, extended messages not agreed
    ],
)
def test_a_bad_header_is_answered_with_its_subcode(data: bytes, subcode: HeaderError) -> None:
    its, session = in_state(State.ESTABLISHED)
    sent = next(action.data for action in its.received(PEER, data, 1) if isinstance(action, Send))
    assert (sent[19], sent[20]) == (ErrorCode.MESSAGE_HEADER, subcode)
    assert session.state == State.IDLE


@pytest.mark.parametrize(
    ("parameters", "subcode"),
    [
        (b"\x03\x01\x02\x00", 0),
        (b"\x04\x01\x02\x00\x00", OpenError.UNSUPPORTED_OPTIONAL_PARAMETER),
        (b"\x01\x02", 0),
        (b"\x03\x02\x09\x00", 0),
        (b"\x04\x02\x02\x01\x04", 0),
        (b"\x05\x02\x03\x41\x01\x01", 0),
        (b"\x04\x02\x02\x49\x00", 0),
    ],
)
def test_a_malformed_optional_parameter_is_refused(parameters: bytes, subcode: int) -> None:
    its, session = in_state(State.OPEN_SENT)
    data = frame(1, b"\x04" + (65001).to_bytes(2) + (9).to_bytes(2) + bytes([10, 0, 0, 9]) + parameters)
    sent = next(action.data for action in its.received(PEER, data, 1) if isinstance(action, Send))
    assert (sent[19], sent[20]) == (ErrorCode.OPEN, subcode)
    assert session.state == State.IDLE


def test_another_version_is_answered_with_ours() -> None:
    its, _ = in_state(State.OPEN_SENT)
    data = frame(1, b"\x03" + (65001).to_bytes(2) + (9).to_bytes(2) + bytes([10, 0, 0, 9]) + b"\0")
    sent = next(action.data for action in its.received(PEER, data, 1) if isinstance(action, Send))
    assert (sent[19], sent[20], sent[21:]) == (ErrorCode.OPEN, OpenError.UNSUPPORTED_VERSION, b"\0\4")


def test_a_neighbour_that_was_not_started_gets_no_connection() -> None:
    its = speaker()
    assert its.connected(PEER, 1, outgoing=False) == [Close(PEER, "not started")]


def test_a_notification_is_never_answered() -> None:
    for state in (State.OPEN_SENT, State.OPEN_CONFIRM, State.ESTABLISHED):
        its, session = in_state(state)
        actions = its.received(PEER, encode_notification(Notification(ErrorCode.CEASE, Cease.ADMINISTRATIVE_RESET)), 1)
        assert not any(isinstance(action, Send) for action in actions)
        assert session.state == State.IDLE


def test_bytes_after_a_close_are_ignored() -> None:
    its, _ = in_state(State.ESTABLISHED)
    its.link_down(PEER, 1)
    assert its.received(PEER, end_of_rib((1, 1)), 2) == []


def test_after_link_down_nothing_is_dialled_until_link_up() -> None:
    its, _ = in_state(State.ESTABLISHED)
    its.link_down(PEER, S)
    states = [its.peers[PEER].primary.state]
    while (deadline_ns := its.next_deadline_ns()) is not None and deadline_ns < 60 * S:
        assert not any(isinstance(action, Connect) for action in its.tick(deadline_ns))
        states.append(its.peers[PEER].primary.state)
    assert State.ACTIVE in states  # FRR: Idle for a second, then waiting for NHT
    assert states == sorted(states)
    assert its.link_up(PEER, 60 * S) == [Connect(PEER)]


def test_what_is_administratively_down_is_not_tried_again_when_the_link_comes_back() -> None:
    its, session = in_state(State.ESTABLISHED)
    its.stop(1)
    its.link_down(PEER, 2)
    assert its.link_up(PEER, 3) == []
    its.tick(60 * S)
    assert session.state == State.IDLE
    assert its.start(4) == [Connect(PEER)]


def collision(own_id_higher: bool, first_outgoing: bool) -> tuple[Speaker, list[object]]:
    its, _ = in_state(State.OPEN_SENT)
    its.peers[PEER].primary.outgoing = first_outgoing
    router_id = 0x0AFF0000 if own_id_higher else 0x0AFF0009
    its.connected(PEER, 1, 1, outgoing=not first_outgoing)
    its.received(PEER, their_open(router_id=router_id), 2)
    return its, list(its.received(PEER, their_open(router_id=router_id), 3, 1))


@pytest.mark.parametrize(("own_id_higher", "first_outgoing"), list(itertools.product((False, True), repeat=2)))
def test_of_two_connections_the_one_opened_by_the_higher_identifier_stays(
    own_id_higher: bool, first_outgoing: bool
) -> None:
    its, actions = collision(own_id_higher, first_outgoing)
    survivor = 0 if first_outgoing == own_id_higher else 1
    closed = [action.connection for action in actions if isinstance(action, Close)]
    assert closed == [1 - survivor]
    notified = [action for action in actions if isinstance(action, Send) and action.data[18] == 3]
    assert [(one.connection, one.data[19], one.data[20]) for one in notified] == [
        (1 - survivor, ErrorCode.CEASE, Cease.COLLISION_RESOLUTION)
    ]
    assert SessionUp(PEER) in its.received(PEER, KEEPALIVE_BYTES, 4, survivor)
    assert its.peers[PEER].primary.connection == survivor


def test_a_second_connection_does_not_disturb_an_established_session() -> None:
    its, session = in_state(State.ESTABLISHED)
    its.connected(PEER, 1, 1, outgoing=False)
    its.received(PEER, their_open(), 2, 1)
    assert its.peers[PEER].established is session
    assert session.state == State.ESTABLISHED


def test_a_route_refresh_for_a_family_that_was_not_agreed_is_ignored() -> None:
    its, session = in_state(State.ESTABLISHED)
    assert its.received(PEER, encode_refresh(RouteRefresh(25, 70)), 1) == []
    assert session.state == State.ESTABLISHED
