"""A baseline names what changed in the words of the switch's own language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.validate.baseline import changes
from tests.mistakes.mistake import LANGUAGES, write
from tests.mistakes.score import CASES

EXPECTED = {
    "sonic: Kmin above Kmax": ["leaf1: WRED_PROFILE|W|green_min_threshold: 400000 → 4000000"],
    "sonic: the class has another queue": ["leaf1: TC_TO_QUEUE_MAP|M|3: 3 → 4"],
    "sonic: resume at once": [
        "leaf1: BUFFER_PROFILE|pg_lossless_400000_40m_profile|xon: 37888 → 0",
        "leaf1: BUFFER_PROFILE|pg_lossless_400000_40m_profile|xon_offset: absent → 0",
    ],
    "sonic: the neighbour's AS is wrong": ["leaf1: BGP_NEIGHBOR|10.1.0.1|asn: 65000 → 65001"],
    "eos: a router ID is used twice": ["leaf2: router bgp router-id: 10.0.0.2 → 10.0.0.1"],
    "eos: a host port's MTU is small": ["leaf1: interface Ethernet1/1 mtu: 9214 → 1500"],
    "eos: the ends are in different subnets": ["leaf1: interface Ethernet3/1 ip address: 10.1.0.0/31 → 10.9.0.0/31"],
    "nxos: the neighbour's AS is wrong": ["leaf1: router bgp neighbor 10.1.0.1 remote-as: 65000 → 65001"],
    "nxos: FEC differs": ["leaf1: interface Ethernet1/3 fec: rs-fec → off"],
    "nxos: a session at one end only": ["leaf1: router bgp neighbor 10.1.0.1: present → absent"],
    "nvue: FEC differs": ["leaf1: interface swp3 link fec: rs → off"],
    "nvue: marking with probability 0": [
        "leaf1: qos congestion-control default-global traffic-class 3 probability: 20 → 0"
    ],
    "nvue: a system MAC is used twice": ["leaf2: system global system-mac: 02:00:00:00:01:02 → 02:00:00:00:01:01"],
}


@pytest.mark.parametrize("title", EXPECTED)
def test_a_change_has_the_name_that_the_switch_gives_it(title: str, tmp_path: Path) -> None:
    [case] = [it for it in CASES if it.id == title]
    networks = []
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        if name == "old":
            write(case.language, LANGUAGES[case.language].good(), tmp_path / name)
        else:
            case.write(tmp_path / name)
        networks.append(load_network([tmp_path / name]))
    found = changes(networks[0], networks[1])
    assert list(found) == EXPECTED[title]
    assert not re.search(r"_bytes|_mbps|_ms\b|identity|sets_next_hop", " ".join(found))
