"""The finite state machine of a connection, RFC 4271 section 8, as one table: every state and input has its entry.

Names and numbers of events are the RFC's. Optional events that we do not implement (DelayOpen, dampening) are absent.
Deviations from the RFC, as in common routers:

- A connection that cannot be opened leads to Active, not Idle: connect-retry continues (8.2.2, Connect, event 18).
- A NOTIFICATION is never answered with a NOTIFICATION (8.2.2 lists event 25 under 'any other event' in OpenSent).
- A malformed message in Established is answered with the error of the message (section 6), not with an FSM error.
- Idle after an error, or after a lost link, ends after `Neighbor.idle_hold_ns` (event 13), the automatic start of
  section 8.1.1. While the neighbour is unreachable it leads to Active, without a connection attempt.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from fabric.wire.iana import Cease, ErrorCode, FsmError


class State(IntEnum):
    """RFC 4271 section 8.2.2."""

    IDLE = 1
    CONNECT = 2
    ACTIVE = 3
    OPEN_SENT = 4
    OPEN_CONFIRM = 5
    ESTABLISHED = 6

    @property
    def label(self) -> str:
        """As `show bgp neighbors` prints it."""
        return self.name.title().replace("_", "")


class Event(IntEnum):
    """RFC 4271 section 8.1, by its numbers; from 100 on: inputs without a number there."""

    MANUAL_START = 1
    MANUAL_STOP = 2
    AUTOMATIC_START = 3
    MANUAL_START_PASSIVE = 4
    AUTOMATIC_STOP = 8
    CONNECT_RETRY_EXPIRES = 9
    HOLD_EXPIRES = 10
    KEEPALIVE_EXPIRES = 11
    IDLE_HOLD_EXPIRES = 13
    TCP_CR_ACKED = 16
    TCP_CONFIRMED = 17
    TCP_FAILS = 18
    OPEN = 19
    HEADER_ERROR = 21
    OPEN_ERROR = 22
    COLLISION_DUMP = 23
    VERSION_ERROR = 24
    NOTIFICATION = 25
    KEEPALIVE = 26
    UPDATE = 27
    UPDATE_ERROR = 28
    ROUTE_REFRESH = 100  # RFC 2918
    LINK_DOWN = 101  # carrier lost, or path down by BFD (RFC 5882); nothing can be sent


class Do(IntEnum):
    """Actions of a transition; Session has one method for each."""

    DIAL = 1  # request a transport connection, start ConnectRetryTimer
    WAIT = 2  # start ConnectRetryTimer only
    REFUSE = 3  # close an unwanted transport connection
    SEND_OPEN = 4  # and set HoldTimer to a large value
    CONFIRM = 5  # negotiate, send KEEPALIVE, start hold and keepalive timers
    ESTABLISH = 6  # report to the speaker
    SEND_KEEPALIVE = 7  # and restart KeepaliveTimer
    RESTART_HOLD = 8
    DELIVER = 9  # pass the message to the speaker
    NOTIFY = 10  # send NOTIFICATION: the transition's own code, or the one that the input carries
    DROP = 11  # close the transport, stop all timers, release routes
    IDLE_HOLD = 12  # start IdleHoldTimer: restart without an operator


class Transition(NamedTuple):
    """The next state, and the actions of the transition, in order."""

    state: State
    do: tuple[Do, ...] = ()
    error: tuple[int, int] | None = None
    """(code, subcode) for Do.NOTIFY; None: that of the input."""


def _fail(code: int, subcode: int = 0) -> Transition:
    """Send a NOTIFICATION, drop, restart after the idle hold time."""
    return Transition(State.IDLE, (Do.NOTIFY, Do.DROP, Do.IDLE_HOLD), (code, subcode))


_I, _C, _A, _OS, _OC, _E = State
_DROP_SILENTLY: Final = Transition(State.IDLE, (Do.DROP, Do.IDLE_HOLD))
"""Drop without NOTIFICATION: there is no connection, or the peer has ended it."""
_NOTIFY_ERROR: Final = Transition(State.IDLE, (Do.NOTIFY, Do.DROP, Do.IDLE_HOLD))
"""Send the error that the input carries."""
_STOP: Final = Transition(State.IDLE, (Do.DROP,))
_CEASE: Final = Transition(State.IDLE, (Do.NOTIFY, Do.DROP))
"""Administrative stop: the input carries the Cease subcode; no restart."""
_COLLISION: Final = _fail(ErrorCode.CEASE, Cease.COLLISION_RESOLUTION)
_HOLD: Final = _fail(ErrorCode.HOLD_TIMER_EXPIRED)
_MESSAGES: Final = (Event.OPEN, Event.KEEPALIVE, Event.UPDATE, Event.ROUTE_REFRESH)
_ERRORS: Final = (Event.HEADER_ERROR, Event.OPEN_ERROR, Event.UPDATE_ERROR)


def _row(
    state: State, entries: dict[Event, Transition], otherwise: Transition
) -> dict[tuple[State, Event], Transition]:
    """A state's row: `entries`, and the RFC's 'any other event' for the rest."""
    return {(state, event): entries.get(event, otherwise) for event in Event}


_STARTS: Final = (Event.MANUAL_START, Event.AUTOMATIC_START, Event.MANUAL_START_PASSIVE, Event.IDLE_HOLD_EXPIRES)


def _same(state: State, *events: Event) -> dict[Event, Transition]:
    """Events that a state ignores."""
    return dict.fromkeys(events, Transition(state))


_OPENED: Final = Transition(_OS, (Do.SEND_OPEN,))
_DIAL: Final = Transition(_C, (Do.DIAL,))

TRANSITIONS: Final[dict[tuple[State, Event], Transition]] = {
    **_row(
        _I,
        {
            Event.MANUAL_START: _DIAL,
            Event.AUTOMATIC_START: _DIAL,
            Event.IDLE_HOLD_EXPIRES: _DIAL,
            Event.MANUAL_START_PASSIVE: Transition(_A),
            Event.MANUAL_STOP: _STOP,  # also ends the idle hold time
            Event.AUTOMATIC_STOP: _STOP,
            Event.TCP_CR_ACKED: Transition(_I, (Do.REFUSE,)),
            Event.TCP_CONFIRMED: Transition(_I, (Do.REFUSE,)),
        },
        Transition(_I),
    ),
    **_row(
        _C,
        {
            **_same(_C, *_STARTS),
            Event.MANUAL_STOP: _STOP,
            Event.AUTOMATIC_STOP: _STOP,
            Event.LINK_DOWN: _DROP_SILENTLY,
            Event.CONNECT_RETRY_EXPIRES: _DIAL,
            Event.TCP_CR_ACKED: _OPENED,
            Event.TCP_CONFIRMED: _OPENED,
            Event.TCP_FAILS: Transition(_A, (Do.WAIT,)),
        },
        _DROP_SILENTLY,
    ),
    **_row(
        _A,
        {
            **_same(_A, *_STARTS),
            Event.MANUAL_STOP: _STOP,
            Event.AUTOMATIC_STOP: _STOP,
            Event.LINK_DOWN: _DROP_SILENTLY,
            Event.CONNECT_RETRY_EXPIRES: _DIAL,
            Event.TCP_CR_ACKED: _OPENED,
            Event.TCP_CONFIRMED: _OPENED,
            Event.TCP_FAILS: Transition(_A, (Do.WAIT,)),
        },
        _DROP_SILENTLY,
    ),
    **_row(
        _OS,
        {
            **_same(
                _OS, *_STARTS, Event.TCP_CR_ACKED, Event.TCP_CONFIRMED
            ),  # a second connection has another state machine
            Event.MANUAL_STOP: _CEASE,
            Event.AUTOMATIC_STOP: _CEASE,
            Event.LINK_DOWN: _DROP_SILENTLY,
            Event.HOLD_EXPIRES: _HOLD,
            Event.TCP_FAILS: Transition(_A, (Do.DROP, Do.WAIT)),
            Event.OPEN: Transition(_OC, (Do.CONFIRM,)),
            **dict.fromkeys((Event.HEADER_ERROR, Event.OPEN_ERROR), _NOTIFY_ERROR),
            Event.COLLISION_DUMP: _COLLISION,
            Event.VERSION_ERROR: _DROP_SILENTLY,
            Event.NOTIFICATION: _DROP_SILENTLY,
        },
        _fail(ErrorCode.FSM, FsmError.UNEXPECTED_IN_OPEN_SENT),
    ),
    **_row(
        _OC,
        {
            **_same(_OC, *_STARTS, Event.TCP_CR_ACKED, Event.TCP_CONFIRMED),
            Event.MANUAL_STOP: _CEASE,
            Event.AUTOMATIC_STOP: _CEASE,
            Event.LINK_DOWN: _DROP_SILENTLY,
            Event.HOLD_EXPIRES: _HOLD,
            Event.KEEPALIVE_EXPIRES: Transition(_OC, (Do.SEND_KEEPALIVE,)),
            Event.TCP_FAILS: _DROP_SILENTLY,
            Event.NOTIFICATION: _DROP_SILENTLY,
            Event.VERSION_ERROR: _DROP_SILENTLY,
            Event.KEEPALIVE: Transition(_E, (Do.RESTART_HOLD, Do.ESTABLISH)),
            **dict.fromkeys((Event.HEADER_ERROR, Event.OPEN_ERROR), _NOTIFY_ERROR),
            Event.COLLISION_DUMP: _COLLISION,
        },
        _fail(ErrorCode.FSM, FsmError.UNEXPECTED_IN_OPEN_CONFIRM),
    ),
    **_row(
        _E,
        {
            **_same(_E, *_STARTS, Event.TCP_CR_ACKED, Event.TCP_CONFIRMED),
            Event.MANUAL_STOP: _CEASE,
            Event.AUTOMATIC_STOP: _CEASE,
            Event.LINK_DOWN: _DROP_SILENTLY,
            Event.HOLD_EXPIRES: _HOLD,
            Event.KEEPALIVE_EXPIRES: Transition(_E, (Do.SEND_KEEPALIVE,)),
            Event.TCP_FAILS: _DROP_SILENTLY,
            Event.NOTIFICATION: _DROP_SILENTLY,
            Event.VERSION_ERROR: _DROP_SILENTLY,
            Event.KEEPALIVE: Transition(_E, (Do.RESTART_HOLD,)),
            Event.UPDATE: Transition(_E, (Do.RESTART_HOLD, Do.DELIVER)),
            Event.ROUTE_REFRESH: Transition(_E, (Do.RESTART_HOLD, Do.DELIVER)),
            **dict.fromkeys(_ERRORS, _NOTIFY_ERROR),
            Event.COLLISION_DUMP: _COLLISION,
        },
        _fail(ErrorCode.FSM, FsmError.UNEXPECTED_IN_ESTABLISHED),
    ),
}
