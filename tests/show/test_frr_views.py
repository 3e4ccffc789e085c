"""BGP and EVPN tables have FRR's JSON format: key by key against the output of a recorded lab, at every stage."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from fabric.show import bgp as frr_bgp
from fabric.show import evpn as views
from tests.network.lab import labs, simulate

DAEMON_ONLY: Final = frozenset(
    {
        # memory of a C program, wall clock, TCP, threads
        "ribMemory",
        "peerMemory",
        "peerGroupMemory",
        "peerUptimeEstablishedEpoch",
        "bgpTimerUpEstablishedEpoch",
        "portLocal",
        "portForeign",
        "estimatedRttInMsecs",
        "readThread",
        "writeThread",
        # features that we do not have
        "extendedOptionalParametersLength",
        "bgpTimerConfiguredConditionalAdvertisementsSec",
        "addPath",
        "longLivedGracefulRestart",
        "longLivedGracefulRestartByPeer",
        # a daemon that starts before its neighbours was refused once; a timer that may be off
        "lastReset",
        "lastResetDueTo",
        "lastResetCode",
        "lastResetTimerMsecs",
        "nextConnectTimerDueInMsecs",
    }
)
ONE_PATH_ONLY: Final = frozenset({"bestpath", "multipath", "selectionReason"})
"""Which of equal paths is best depends on the order of arrival."""
TIMES: Final = re.compile(
    r"Uptime|Msec|UpString|LastRead|LastWrite|msg(Rcvd|Sent)|ersion$|rib|updateGroup|subGroup|"
    r"(updates|keepalives|opens|notifications|total)(Sent|Recv)|connections"
)


def differences(ours: Any, theirs: Any, where: str = "") -> Iterator[str]:  # noqa: ANN401  JSON
    """Keys that one side lacks and types that differ; of lists the first entry."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted((set(ours) ^ set(theirs)) - DAEMON_ONLY - ONE_PATH_ONLY):
            yield f"{where}.{key}: only {'ours' if key in ours else 'in FRR'}"
        for key in sorted(set(ours) & set(theirs)):
            yield from differences(ours[key], theirs[key], f"{where}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield f"{where}: {len(ours)} entries, FRR has {len(theirs)}"
        elif ours:
            yield from differences(ours[0], theirs[0], f"{where}[0]")
    elif type(ours) is not type(theirs):
        yield f"{where}: {ours!r}, FRR has {theirs!r}"


def values(table: Any) -> Any:  # noqa: ANN401  JSON
    """Fields that do not depend on the time of the query."""
    return (
        {key: values(part) for key, part in table.items() if key not in DAEMON_ONLY and not TIMES.search(key)}
        if isinstance(table, dict)
        else table
    )


@pytest.fixture(scope="module")
def recorded() -> list[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """(stage, switch, our tables, FRR's) for every stage and switch of every lab."""
    found: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = []
    for lab in labs():
        for stage, network in simulate(lab):
            for switch in network.switches:
                name, speaker, now_ns = switch.router.name, switch.speaker, network.now_ns
                ours = {
                    "bgp_summary": frr_bgp.summary(speaker, now_ns),
                    "bgp_ipv4": frr_bgp.ipv4(speaker),
                    "bgp_neighbors": frr_bgp.neighbors(speaker, now_ns),
                    "evpn": frr_bgp.evpn(speaker),
                }
                if switch.vtep is not None:
                    ours |= {
                        "evpn_vni": views.evpn_vni(switch.vtep),
                        "evpn_mac": views.evpn_mac(switch.vtep),
                        "arp_cache": views.arp_cache(switch.vtep),
                    }
                theirs = json.loads((lab / stage / f"{name}.json").read_text(encoding="utf-8"))["frr"]
                found.append((stage, name, ours, theirs))
    assert found
    return found


@pytest.mark.parametrize(
    "table", ["bgp_summary", "bgp_neighbors", "bgp_ipv4", "evpn", "evpn_vni", "evpn_mac", "arp_cache"]
)
def test_every_key_and_type_is_frrs_at_every_stage(table: str, recorded: Any) -> None:  # noqa: ANN401  the fixture
    compared = 0
    for stage, name, ours, theirs in recorded:
        if table in ours:
            compared += 1
            assert list(differences(ours[table], theirs[table])) == [], (stage, name)
    assert compared


def test_sessions_and_prefix_counts_are_frrs_at_every_stage(recorded: Any) -> None:  # noqa: ANN401  the fixture
    for stage, name, ours, theirs in recorded:
        for family in ("ipv4Unicast", "l2VpnEvpn"):
            mine, its = values(ours["bgp_summary"][family]), values(theirs["bgp_summary"][family])
            some_lost = any(peer["state"] != "Established" for peer in its["peers"].values())
            for address, peer in its["peers"].items():
                # FRR does not always withdraw routes from the other member of an update group when one member is lost.
                skipped = {"pfxSnt"} if some_lost else set()
                expected = {key: value for key, value in peer.items() if key not in skipped}
                assert {key: mine["peers"][address][key] for key in expected} == expected, (stage, name, family)
            assert mine["failedPeers"] == its["failedPeers"]


def test_every_path_but_the_best_has_a_reason_with_its_rule() -> None:
    [network] = [network for lab in labs()[:1] for stage, network in simulate(lab) if stage.startswith("0")][:1]
    for switch in network.switches:
        for family in frr_bgp.families(switch.speaker):
            for keys, selection in switch.speaker.loc_rib(family):
                found = frr_bgp.reasons(switch.speaker, family, keys[0])
                assert found[0][0] is selection.best
                assert found[0][1].startswith("best: ")
                assert len(found) == len(switch.speaker.candidates(family, keys[0]))
                assert all(rule for _, _, rule in found)
