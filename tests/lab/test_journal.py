"""Journals: the replay of a recorded session is equal byte for byte, and that of a changed one is not."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.capture.journal import read, recording, replay, speaker_of
from fabric.capture.plain import from_plain, to_plain
from fabric.cli.main import main
from fabric.controlplane.bgp.afi import IPV4_UNICAST, prefix_key
from fabric.controlplane.bgp.attributes import Attributes, sequence
from fabric.controlplane.bgp.config import Neighbor, PeerFamily, SpeakerConfig
from fabric.controlplane.bgp.fsm import State
from fabric.controlplane.bgp.policy import Match, Policy, Rule, Set
from fabric.controlplane.evpn.evpn_nlri import EVPN, Payload, mac_ip_key
from fabric.controlplane.evpn.rd import auto_rd
from fabric.errors import InputErrors

JOURNALS = sorted((Path(__file__).parent / "journals").glob("*.jsonl"))
POLICY = Policy(
    (
        Rule(
            Match(prefixes=(("10.0.0.0/8", 16, 32),), communities=(7,)),
            set=Set(local_pref=200, add_ext_communities=(b"\0\2\0\1\0\0\0\7",)),
        ),
        Rule(accept=False, name="rest"),
    ),
    name="in",
)
CONFIG = SpeakerConfig(
    65009,
    "10.255.9.1",
    "us",
    (
        Neighbor(
            "192.0.2.0",
            65101,
            "192.0.2.1",
            "192.0.2.0",
            {IPV4_UNICAST: PeerFamily(import_policy=POLICY), EVPN: PeerFamily(max_prefixes=9)},
        ),
    ),
    max_paths={IPV4_UNICAST: 2},
    tracked_families=(EVPN,),
)


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.stem)
def test_a_session_with_a_real_router_is_replayed_byte_for_byte(path: Path) -> None:
    journal = read(path.read_text().splitlines(), path.name)
    speaker = speaker_of(journal.config)
    assert list(replay(journal, speaker)) == []
    [peer] = speaker.peers.values()
    assert peer.connections_established >= 2  # it was reset and came up again
    assert peer.traffic.received.updates
    assert peer.session.state is State.IDLE  # and was stopped


def test_a_configuration_survives_being_written_and_read() -> None:
    plain = json.loads(json.dumps(to_plain(CONFIG)))
    assert from_plain(SpeakerConfig, plain) == CONFIG


@given(
    st.integers(0, 2),
    st.lists(st.integers(1, 2**32 - 1), max_size=4),
    st.none() | st.integers(0, 2**32 - 1),
    st.lists(st.binary(min_size=8, max_size=8), max_size=3),
    st.none() | st.binary(min_size=5, max_size=9),
)
def test_attributes_survive_being_written_and_read(
    origin: int, asns: list[int], med: int | None, communities: list[bytes], pmsi: bytes | None
) -> None:
    its = Attributes(origin, sequence(*asns), med=med, ext_communities=tuple(communities), pmsi_tunnel=pmsi)
    assert from_plain(Attributes, json.loads(json.dumps(to_plain(its)))) == its


def _recorded() -> list[str]:
    speaker, sink = speaker_of(CONFIG), StringIO()
    call = recording(speaker, sink)
    rd = auto_rd("10.255.9.1", 2)
    call(
        "originate",
        0,
        family=EVPN,
        keys=(mac_ip_key(rd, "02:00:00:00:00:01"),),
        attributes=Attributes(),
        next_hop=bytes(4),
        payload=Payload((10100,)),
    )
    call("originate", 0, family=IPV4_UNICAST, keys=(prefix_key("10.255.9.1/32"),), attributes=Attributes(med=0))
    call("start", 0)
    call("connected", 1000, peer="192.0.2.0", connection=1, outgoing=True)
    call("received", 2000, peer="192.0.2.0", data=b"\xff" * 19, connection=1)
    call("tick", 10**10)
    return sink.getvalue().splitlines()


def test_every_kind_of_input_is_read_as_it_was_written() -> None:
    assert list(replay(read(_recorded(), "journal"))) == []


def test_another_output_is_found_and_named_by_its_input() -> None:
    lines = _recorded()
    at = next(number for number, line in enumerate(lines) if '"send"' in line)
    lines[at] = lines[at].replace('"data": "ffff', '"data": "fffe')
    [difference] = replay(read(lines, "journal"))
    assert difference.recorded is not None
    assert difference.simulated is not None
    assert difference.recorded["data"] != difference.simulated["data"]
    assert difference.line <= at


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "JSON"),
        ('{"at_ns": 1, "call": "explode"}', "explode"),
        ('{"at_ns": 1}', "KeyError"),
        ('{"at_ns": 1, "call": "received", "peer": "192.0.2.0", "data": "xx"}', "hexadecimal"),
        ('{"at_ns": 1, "call": "stop", "reasons": 3}', "reasons"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(
    line: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [*_recorded()[:1], line]
    with pytest.raises(InputErrors, match="line 2"):
        read(lines, "journal")
    file = tmp_path / "session.jsonl"
    file.write_text("\n".join(lines))
    assert main(["bgp", "replay", str(file)]) == 2
    errors = capsys.readouterr().err
    assert "line 2" in errors
    assert why in errors


def test_replay_exits_1_where_the_speaker_says_something_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "session.jsonl"
    lines = _recorded()
    file.write_text("\n".join(lines))
    assert main(["bgp", "replay", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differences"] == []
    file.write_text("\n".join(lines).replace('"do": "connect"', '"do": "close"'))
    assert main(["bgp", "replay", str(file)]) == 1
    assert "differ" in capsys.readouterr().out
