"""The least that real programs must do here, on every merge: one session with FRR, and one laboratory in the kernel.

Everything else of them is in test_real_frr.py, test_real_prefixes.py, test_laboratory.py and test_ownership.py.
"""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest

from fabric.controlplane.bgp.afi import IPV4_UNICAST, prefix_key
from fabric.controlplane.network.config import ControlConfig
from fabric.lab.compare import compare
from fabric.lab.laboratory import Laboratory
from tests.lab.fabrics import smallest
from tests.lab.leftovers import new_name
from tests.lab.routers import OUR_VTEP, THEIR_VTEP, THEIRS, beside, needs_frr
from tests.waiting import LIMIT_S, until

pytestmark = [needs_frr, pytest.mark.timed]


def test_a_session_with_frr_comes_up_and_each_learns_a_route_of_the_other() -> None:
    with beside() as peer:
        peer.originate_all()
        peer.until(lambda: peer.established)
        peer.until(lambda: f"{OUR_VTEP}/32" in peer.route("show ip bgp")["routes"])
        theirs = prefix_key(f"{THEIR_VTEP}/32")
        peer.until(lambda: [keys for keys, _ in peer.speaker.adj_rib_in(THEIRS, IPV4_UNICAST)] == [(theirs,)])


def test_a_laboratory_comes_up_as_modelled_and_carries_a_datagram_from_leaf_to_leaf() -> None:
    config = ControlConfig()
    plan = smallest(config)
    source, destination = plan.endpoints
    with Laboratory(plan, config, new_name()) as lab:
        lab.up()
        [start] = compare(lab, plan, config, [], settle_s=LIMIT_S)
        assert [str(row) for row in start.differences] == []
        assert start.rows > 30
        with lab[source.name].inside():
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with lab[destination.name].inside():
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sender, receiver:
            receiver.bind((destination.ip, 7))
            receiver.setblocking(False)

            def arrived() -> bytes:
                sender.sendto(b"from leaf to leaf", (destination.ip, 7))  # the first ones may wait for ARP in vain
                with suppress(BlockingIOError):
                    return receiver.recv(100)
                return b""

            assert until(arrived, "a datagram arrives") == b"from leaf to leaf"
