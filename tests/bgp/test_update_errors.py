"""RFC 7606 case by case: cases/update-errors.jsonl, one UPDATE body per line with the required handling.

Fields: name; rule (its source); width of AS numbers, and whether the peer is external; body in hexadecimal; severity of
the most severe flaw (null: none) and its subcode (null: not checked); routes announced and withdrawn in the end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.controlplane.bgp.actions import Send
from fabric.controlplane.bgp.afi import IPV4_UNICAST, IPV6_UNICAST, prefix_key
from fabric.controlplane.bgp.attributes import sequence
from fabric.controlplane.bgp.errors import SEVERITY_ORDER, UpdateError
from fabric.controlplane.bgp.fsm import State
from fabric.controlplane.bgp.message import frame
from fabric.controlplane.bgp.update import Decoder
from fabric.controlplane.evpn.evpn_nlri import EVPN
from fabric.wire.iana import ErrorCode
from tests.bgp.test_fsm import PEER, in_state

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "update-errors.jsonl").read_text(encoding="utf-8").splitlines()
]
FAMILIES = (IPV4_UNICAST, IPV6_UNICAST, EVPN)


def texts(parts: list[tuple[Any, tuple[bytes, ...]]]) -> list[str]:
    return [family.text(key) for family, keys in parts for key in keys]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_flaw_costs_what_the_rfc_says_and_no_more(case: dict[str, Any]) -> None:
    decoder = Decoder(FAMILIES, width=case["width"], external=case["external"])
    body = bytes.fromhex(case["body"])
    if case["severity"] == "reset":
        with pytest.raises(UpdateError) as raised:
            decoder.update(body)
        assert (raised.value.severity, raised.value.code) == ("reset", ErrorCode.UPDATE)
        assert raised.value.subcode == case["subcode"]
        return
    update = decoder.update(body)
    worst = max((flaw.severity for flaw in update.flaws), key=SEVERITY_ORDER.index, default=None)
    assert worst == case["severity"]
    if case["subcode"] is not None:
        assert [flaw.subcode for flaw in update.flaws] == [case["subcode"]]
    announced = [(one.family, block.keys) for one in update.reach for block in one.blocks]
    assert texts(announced) == case["announced"]
    assert texts(list(update.unreach)) == case["withdrawn"]
    assert decoder.update(body) == update


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["external"] and case["width"] == 4], ids=lambda case: case["name"]
)
def test_a_session_survives_all_but_a_reset(case: dict[str, Any]) -> None:
    speaker, session = in_state(State.ESTABLISHED)
    session._decoder = Decoder(FAMILIES)
    actions = speaker.received(PEER, frame(2, bytes.fromhex(case["body"])), 1)
    if case["severity"] == "reset":
        sent = next(action.data for action in actions if isinstance(action, Send))
        assert (sent[18], sent[19], sent[20]) == (3, ErrorCode.UPDATE, case["subcode"])
        assert session.state == State.IDLE
    else:
        assert session.state == State.ESTABLISHED
        assert not any(isinstance(action, Send) for action in actions)
        held = [route for keys, _ in speaker.adj_rib_in(PEER, IPV4_UNICAST) for route in keys]
        assert [IPV4_UNICAST.text(route) for route in held] == case["announced"]


def test_a_flawed_announcement_withdraws_the_earlier_good_one() -> None:
    speaker, _ = in_state(State.ESTABLISHED)
    good = next(case for case in CASES if case["name"] == "plain announcement")
    bad = next(case for case in CASES if case["name"] == "ORIGIN 3 is undefined")
    speaker.received(PEER, frame(2, bytes.fromhex(good["body"])), 1)
    speaker.tick(100_000_000)
    assert speaker.selection(IPV4_UNICAST, prefix_key("10.1.2.0/24")) is not None
    speaker.received(PEER, frame(2, bytes.fromhex(bad["body"])), 200_000_000)
    speaker.tick(300_000_000)
    assert speaker.selection(IPV4_UNICAST, prefix_key("10.1.2.0/24")) is None
    assert speaker.peers[PEER].flaws == 1


def test_an_as4_path_is_put_where_as_trans_stood() -> None:
    case = next(case for case in CASES if case["name"] == "AS4_PATH from a peer with two-byte AS numbers")
    update = Decoder(FAMILIES, width=2).update(bytes.fromhex(case["body"]))
    assert update.attributes is not None
    assert update.attributes.as_path == sequence(65001, 0xFA56EA01)


def test_of_an_attribute_twice_the_first_counts() -> None:
    case = next(case for case in CASES if case["name"].startswith("MULTI_EXIT_DISC twice"))
    update = Decoder(FAMILIES).update(bytes.fromhex(case["body"]))
    assert update.attributes is not None
    assert update.attributes.med == 0
