"""What is computed once for a large fabric is what was computed for each session and port."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface
from pathlib import Path
from random import Random

import pytest

from fabric.configs.load import load_network
from fabric.configs.model import BufferProfile, Device, Pool
from fabric.controlplane.bgp.attributes import Attributes
from fabric.controlplane.bgp.importing import normalised
from fabric.validate.facts import Facts, Line
from fabric.validate.held import Held, feeding, held
from fabric.validate.interfaces import Interfaces
from tests.mistakes.mistake import LANGUAGES, write


def _beside(texts: dict[str, tuple[str, ...]], address: str) -> list[tuple[str, str, str]]:
    """Every address in turn, as the standard library compares them."""
    other = ip_address(address)
    return [
        (name, str(ip_interface(text).ip), text)
        for name, its in texts.items()
        for text in its
        if ip_interface(text).version == other.version
        and ip_interface(text).ip != other
        and other in ip_interface(text).network
    ]


@pytest.mark.parametrize("seed", range(20))
def test_a_neighbour_is_on_the_interfaces_in_whose_subnet_its_address_is(seed: int) -> None:
    draw = Random(seed)
    texts = {
        f"Ethernet{at}": tuple(
            draw.choice((f"10.0.{draw.randrange(3)}.{draw.randrange(16)}/{draw.choice((24, 30, 31, 32))}",
                         f"fd00::{draw.randrange(3)}:{draw.randrange(9):x}/{draw.choice((64, 112, 127, 128))}"))
            for _ in range(draw.randrange(3))
        )
        for at in range(20)
    }  # fmt: skip
    device = Device.__new__(Device)
    device.addresses = texts
    found = Interfaces(device)
    for address in (f"10.0.{draw.randrange(3)}.{draw.randrange(16)}" for _ in range(40)):
        assert found.beside(address) == _beside(texts, address)
    for address in (f"fd00::{draw.randrange(3)}:{draw.randrange(9):x}" for _ in range(40)):
        assert found.beside(address) == _beside(texts, address)
    assert found.beside("peer-group-a") == []


def _one_by_one(facts: Facts, line: Line, queue: int) -> Held | None:
    rows: list[tuple[BufferProfile, Pool]] = []
    for profile, groups in facts.lossless_profiles(line.device).values():
        pool = line.device.pools.get(profile.pool)
        count = sum(it.port.name != line.port.name and facts.feeds(it, group, queue) for it, group in groups)
        if count and pool is None:
            return None
        rows += [(profile, pool)] * count if pool is not None else []
    return held(line.device, rows)


@pytest.mark.parametrize("language", LANGUAGES)
def test_groups_that_feed_a_queue_are_those_of_every_other_port(language: str, tmp_path: Path) -> None:
    write(language, LANGUAGES[language].good(), tmp_path)
    facts = Facts(load_network([tmp_path]))
    assert facts.lossless
    for line in facts.lossless:
        for queue in range(8):
            assert feeding(facts, line, queue) == _one_by_one(facts, line, queue)


def test_attributes_in_order_are_kept_and_others_are_sorted() -> None:
    low, high = b"\x00\x02\x00\x01\x00\x00\x00\x01", b"\x00\x02\x00\x01\x00\x00\x00\x02"
    kept = Attributes(local_pref=100, communities=(1, 2), ext_communities=(low, high))
    assert normalised(kept, 100) is kept
    assert normalised(kept, 200).local_pref == 200
    for other in (
        Attributes(local_pref=100, communities=(2, 1), ext_communities=(low, high)),
        Attributes(local_pref=100, communities=(1, 2), ext_communities=(high, low, low)),
    ):
        assert normalised(other, 100) == kept
    assert normalised(Attributes(communities=(1,), unknown=((0xC0, 99, b"x"),)), None).unknown == ((0xE0, 99, b"x"),)
