"""Routes stored by group equal routes stored one by one; received routes equal advertised routes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.controlplane.bgp.afi import IPV4_UNICAST, prefix_key
from fabric.controlplane.bgp.attributes import Attributes, sequence
from fabric.controlplane.bgp.importing import normalised
from fabric.controlplane.bgp.policy import Match, Policy, Rule, Set
from fabric.controlplane.bgp.rib import Path, Source, Table
from tests.bgp.wiring import MS, S, Wiring, leaf_spine

KEYS = tuple(prefix_key(f"10.{n}.0.0/16") for n in range(8))
SOURCES = {
    name: Source(name, 65000 + n, external=True, router_id=n, address=bytes([10, 0, 0, n]))
    for n, name in enumerate(("a", "b", "c"), 1)
}
subsets = st.lists(st.sampled_from(KEYS), min_size=1, max_size=8).map(tuple)
steps = st.lists(st.tuples(st.sampled_from(sorted(SOURCES)), subsets, st.none() | st.integers(0, 3)), max_size=30)


@given(steps)
def test_a_table_by_groups_holds_what_a_table_route_by_route_holds(
    actions: list[tuple[str, tuple[bytes, ...], int | None]],
) -> None:
    table = Table(IPV4_UNICAST)
    plain: dict[tuple[bytes, str], int] = {}
    for now_ns, (name, keys, med) in enumerate(actions):
        if med is None:
            table.remove(name, keys)
            for key in keys:
                plain.pop((key, name), None)
        else:
            table.put(name, keys, Path(SOURCES[name], Attributes(med=med), b"\x0a\0\0\1", None, now_ns))
            plain.update({(key, name): med for key in keys})
        assert {
            (key, source): path.attributes.med
            for key, group in table.group_of.items()
            for source, path in group.paths.items()
        } == plain
        assert all(key in group.members for key, group in table.group_of.items())
        assert sum(len(group.members) for group in table.groups) == len(table.group_of)
        assert {name: count for name, count in table.accepted.items() if count} == {
            name: sum(source == name for _, source in plain) for _, name in plain
        }


def test_routes_that_always_came_together_stay_one_group() -> None:
    table = Table(IPV4_UNICAST)
    for name, source in SOURCES.items():
        table.put(name, KEYS, Path(source, Attributes(), b"", None, 0))
    assert len(table.groups) == 1
    table.remove("a", KEYS[2:4])
    assert [group.keys for group in table.groups] == [KEYS[:2] + KEYS[4:], KEYS[2:4]]


def received_is_advertised(wiring: Wiring) -> None:
    """For every session: the routes received from the other end are those that it advertised, except loops."""
    for (name, peer), (remote_name, remote_peer) in wiring.remote.items():
        speaker, remote = wiring.speakers[name], wiring.speakers[remote_name]
        if speaker.peers[peer].established is None:
            assert not list(speaker.adj_rib_in(peer, IPV4_UNICAST))
            continue
        importer = speaker.peers[peer].importers[IPV4_UNICAST]
        advertised = {}
        for keys, attributes, next_hop, _ in remote.adj_rib_out(remote_peer, IPV4_UNICAST):
            for key in keys:
                for _, verdict in importer(attributes, (key,)):
                    if hasattr(verdict, "attributes"):
                        advertised[key] = (verdict.attributes, verdict.next_hop or next_hop)
        received = {
            key: (path.attributes, path.next_hop)
            for keys, path in speaker.adj_rib_in(peer, IPV4_UNICAST)
            for key in keys
        }
        assert received == advertised
        assert speaker.tables[IPV4_UNICAST].accepted.get(peer, 0) == len(received)
        group = remote.peers[remote_peer].groups[IPV4_UNICAST]
        assert group.advertised == sum(len(keys) for keys, *_ in remote.adj_rib_out(remote_peer, IPV4_UNICAST))


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ("announce", "announce", "withdraw", "cut", "mend", "drain", "undrain", "policy", "refresh", "wait")
        ),
        st.integers(1, 2),
        st.integers(1, 3),
        subsets,
        st.integers(0, 2),
    ),
    max_size=14,
)
ODD = Policy(
    (
        Rule(Match(prefixes=(("10.0.0.0/14", 16, 32),)), set=Set(med=7, add_communities=(5,))),
        Rule(Match(prefixes=(("10.6.0.0/16", 16, 32),)), accept=False),
    )
)


@given(OPERATIONS, st.sampled_from((0, 50 * MS)), st.booleans())
@settings(max_examples=60, deadline=None)
def test_after_any_events_every_session_has_received_what_was_advertised_to_it(
    operations: list[tuple[str, int, int, tuple[bytes, ...], int]], delay_ns: int, distinct: bool
) -> None:
    wiring = leaf_spine(2, 3, distinct_spines=distinct, update_delay_ns=delay_ns, announce_delay_ns=100 * MS)
    wiring.start()
    for what, spine, leaf, keys, variant in operations:
        name, peer = f"leaf{leaf}", f"10.{spine}.{leaf}.0"
        speaker, now_ns = wiring.speakers[name], wiring.now_ns
        if what == "announce":
            wiring.act(name, speaker.originate(IPV4_UNICAST, keys, Attributes(med=variant), now_ns))
        elif what == "withdraw":
            wiring.act(name, speaker.withdraw(IPV4_UNICAST, keys, now_ns))
        elif what == "cut" and (name, peer) not in wiring.down:
            wiring.cut(name, peer)
        elif what == "mend" and (name, peer) in wiring.down:
            wiring.mend(name, peer)
        elif what in ("drain", "undrain"):
            wiring.act(name, speaker.graceful_shutdown(now_ns, on=what == "drain"))
        elif what == "policy":
            policy = (Policy(), ODD, ODD)[variant]
            wiring.act(name, speaker.set_policy(peer, IPV4_UNICAST, now_ns, export_policy=policy))
        elif what == "refresh":
            wiring.act(name, speaker.request_refresh(peer, IPV4_UNICAST, now_ns))
        wiring.run(wiring.now_ns + variant * 120 * MS)
    for end in list(wiring.down):
        if end in wiring.down and end[0].startswith("leaf"):
            wiring.mend(*end)
    wiring.settle(20)
    assert wiring.established() == 12
    received_is_advertised(wiring)
    for speaker in wiring.speakers.values():
        table = speaker.tables[IPV4_UNICAST]
        assert not table.dirty
        assert not table.empty
        assert all(group.paths for group in table.groups)
        for group in table.groups:
            decision = speaker.explain(IPV4_UNICAST, group.keys[0])
            assert decision.selection == group.selection
            assert len(decision.lost) == len(group.paths) - (decision.selection is not None)


@given(OPERATIONS)
@settings(max_examples=20, deadline=None)
def test_the_same_calls_give_the_same_bytes(operations: list[tuple[str, int, int, tuple[bytes, ...], int]]) -> None:
    logs = []
    for _ in range(2):
        wiring = leaf_spine(2, 3)
        wiring.keep_log = True
        wiring.start()
        for what, _, leaf, keys, variant in operations:
            name = f"leaf{leaf}"
            if what == "announce":
                wiring.act(
                    name, wiring.speakers[name].originate(IPV4_UNICAST, keys, Attributes(med=variant), wiring.now_ns)
                )
            wiring.run(wiring.now_ns + variant * S)
        wiring.settle()
        logs.append(wiring.log)
    assert logs[0] == logs[1]


def test_normalising_sorts_as_frr_does_and_leaves_plain_attributes_alone() -> None:
    tunnel, target = b"\3\x0c" + bytes(6), b"\0\2" + bytes(6)
    its = Attributes(as_path=sequence(1), ext_communities=(tunnel, target, tunnel))
    assert normalised(its, None).ext_communities == (target, tunnel)
    plain = Attributes(as_path=sequence(1))
    assert normalised(plain, None) is plain
