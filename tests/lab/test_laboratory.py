"""Real kernels and FRR beside the model: every table of every switch, after the start and after every event."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from fabric.controlplane.bgp.afi import IPV4_UNICAST
from fabric.controlplane.bgp.policy import ACCEPT_ALL, Match, Policy, Rule, Set
from fabric.controlplane.network import events as e
from fabric.controlplane.network.config import Bfd, ControlConfig, Design, NodePolicy, SpineAsn
from fabric.controlplane.network.fabric_plan import plan_of
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import ControlPlan, Tenant
from fabric.controlplane.network.speakers import link_local
from fabric.errors import InputErrors
from fabric.lab import blueprint
from fabric.lab.compare import Stage, compare, count_rows, differences, stages_of
from fabric.lab.frr import Daemons
from fabric.lab.laboratory import Laboratory
from fabric.lab.modelled import model
from fabric.lab.names import RUN, RUN_NETNS
from fabric.lab.netns import Namespace
from fabric.lab.observed import observe
from fabric.lab.tables import TITLES
from fabric.topology.addressing import addressing
from fabric.topology.registry import build_topology
from fabric.topology.spec import Clos3Spec
from tests.lab.fabrics import S, moves, two_by_two
from tests.lab.leftovers import new_name
from tests.lab.routers import REAL, real
from tests.waiting import LIMIT_S, until


def simulate(plan: ControlPlan, config: ControlConfig, groups: Sequence[Sequence[e.ControlEvent]]) -> list[Stage]:
    with Laboratory(plan, config, new_name()) as lab:
        lab.up()
        stages = list(compare(lab, plan, config, groups, settle_s=LIMIT_S))
    assert not (RUN / lab.name).exists()
    assert not list(RUN_NETNS.glob(f"fabric+{lab.name}+*"))
    return stages


def differences_text(stages: Sequence[Stage]) -> str:
    return "\n".join(f"{stage.what}: {row}" for stage in stages for row in stage.differences)


@real
def test_real_frr_and_the_model_agree_after_failure_repair_move_and_shutdown() -> None:
    config = ControlConfig()
    plan = two_by_two(config)
    goer = plan.endpoints[1]
    spine2 = plan.by_name["spine2"].row
    stages = simulate(
        plan,
        config,
        [
            [e.CableDown(0, 0)],
            [e.CableUp(0, 0)],
            moves(plan, 0, "leaf2", "m1", arps=(0, 1, 3)),
            moves(plan, 0, "leaf1", "m2", arps=(0, 1, 3)),
            [e.HostGone(0, goer.mac, goer.vni, plan.by_name["leaf1"].row), *moves(plan, 1, "leaf2", "m3", arps=(1,))],
            [e.Shutdown(0, spine2)],
        ],
    )
    assert differences_text(stages) == ""
    assert len(stages) == 7
    assert all(stage.rows > 100 for stage in stages)


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(ControlConfig(spine_asn=SpineAsn.DISTINCT), marks=REAL, id="distinct spine ASNs"),
        pytest.param(ControlConfig(unnumbered=True), marks=REAL, id="unnumbered"),
        pytest.param(ControlConfig(design=Design.IBGP_RR, unnumbered=True), marks=REAL, id="iBGP, unnumbered"),
        pytest.param(ControlConfig(design=Design.IBGP_RR), marks=REAL, id="iBGP with route reflectors"),
    ],
)
def test_real_frr_and_the_model_agree_in_other_designs(config: ControlConfig) -> None:
    stages = simulate(two_by_two(config), config, [[e.CableDown(0, 0)], [e.CableUp(0, 0)]])
    assert differences_text(stages) == ""


@real
def test_real_frr_and_the_model_agree_without_an_overlay() -> None:
    config = ControlConfig()
    stages = simulate(two_by_two(config, overlay=False, leaves=3), config, [[e.CableDown(0, 0)]])
    assert differences_text(stages) == ""


@pytest.mark.parametrize("design", [pytest.param(design, marks=REAL, id=str(design)) for design in Design])
def test_real_frr_and_the_model_agree_about_drained_routers_own_copies(design: Design) -> None:
    config = ControlConfig(design=design)
    plan = two_by_two(config)
    stages = simulate(
        plan,
        config,
        [[e.Drain(0, plan.by_name[name].row, on=on)] for name in ("spine1", "leaf1") for on in (True, False)],
    )
    assert differences_text(stages) == ""


@pytest.mark.parametrize("design", [pytest.param(design, marks=REAL, id=str(design)) for design in Design])
def test_real_frr_and_the_model_agree_when_daemons_die_and_start(design: Design) -> None:
    config = ControlConfig(design=design)
    plan = two_by_two(config)
    stages = simulate(
        plan,
        config,
        [[kind(0, plan.by_name[name].row)] for name in ("spine1", "leaf1") for kind in (e.DaemonCrash, e.DaemonStart)],
    )
    assert differences_text(stages) == ""
    assert stages[1].rows < stages[2].rows  # a stopped switch is not queried


@real
def test_real_frr_and_the_model_agree_when_bfd_finds_a_silent_cable() -> None:
    config = ControlConfig(bfd=Bfd(multiplier=10))  # with 3, daemons that get no processor for 1 s lose their sessions
    plan = two_by_two(config)
    ends = [plan.routers[plan.interfaces[row].router].name for row in (plan.cables[0].a, plan.cables[0].b)]
    stages, why = list[Stage](), set[str]()
    with Laboratory(plan, config, new_name()) as lab:
        lab.up()
        for stage in compare(
            lab,
            plan,
            config,
            [[e.CableSilent(0, 0)], [e.CableSilenceEnded(0, 0)], [e.CableDown(0, 0)], [e.CableUp(0, 0)]],
            settle_s=LIMIT_S,
        ):
            stages.append(stage)
            if len(stages) == 2:
                neighbours = [it for end in ends for it in lab.daemons[end].show("show bgp neighbors json")[0].values()]
                why = {it["lastNotificationReason"] for it in neighbours if it["bgpState"] != "Established"}
    assert differences_text(stages) == ""
    assert why == {"Cease/BFD Down"}  # and not the hold timer
    assert stages[1].rows < stages[0].rows


@real
@pytest.mark.parametrize("node", ["spine1", "leaf1"])
def test_real_frr_and_the_model_agree_when_a_switch_crashes_and_boots(node: str) -> None:
    config = ControlConfig()
    plan = two_by_two(config)
    row = plan.by_name[node].row
    stages = simulate(
        plan,
        config,
        [
            [event]
            for carrier in (False, True)
            for event in (e.RouterCrash(0, row, carrier=carrier), e.RouterBoot(0, row))
        ],
    )
    assert differences_text(stages) == ""
    assert [stage.rows == stages[0].rows for stage in stages] == [True, False, True, False, True]


MARK = 65000 << 16 | 1
POLICIES = (
    NodePolicy(
        "leaf1",
        "spine1",
        "import",
        Policy(
            (Rule(Match(prefixes=(("10.0.0.0/24", 32, 32),), families=(IPV4_UNICAST.id,)), set=Set(local_pref=50)),)
        ),
    ),
    NodePolicy("leaf2", None, "export", Policy((Rule(set=Set(med=7, prepend=(65102,), add_communities=(MARK,))),))),
    NodePolicy(
        "spine2", None, "export", Policy((Rule(Match(communities=(MARK,), as_path_contains=(65102,)), accept=False),))
    ),
)


@real
def test_real_frr_and_the_model_agree_about_policies_and_their_changes() -> None:
    config = ControlConfig(policies=POLICIES)
    plan = two_by_two(config)
    leaf, spine = plan.by_name["leaf1"].row, plan.by_name["spine2"].row
    without = Policy((Rule(Match(as_path_contains=(65102,)), accept=False),))
    stages = simulate(
        plan,
        config,
        [
            [e.SetPolicy(0, leaf, None, "import", without)],
            [e.SetPolicy(0, leaf, None, "import", ACCEPT_ALL)],
            [e.SetPolicy(0, spine, None, "export", ACCEPT_ALL)],
            [e.DaemonCrash(0, leaf)],
            [e.DaemonStart(0, leaf)],
            [e.Reconfigure(0, leaf, 64_999)],
            [e.Reconfigure(0, leaf, None)],
        ],
    )
    assert differences_text(stages) == ""
    assert stages[1].rows < stages[0].rows == stages[3].rows
    assert stages[6].rows < stages[5].rows == stages[7].rows


@real
def test_real_frr_and_the_model_agree_when_a_port_to_a_host_goes_and_comes() -> None:
    config = ControlConfig()
    plan = two_by_two(config)
    row, _, port = plan.endpoints[0].attachments[0]
    stages = simulate(plan, config, [[e.HostPortDown(0, row, port)], [e.HostPortUp(0, row, port)]])
    assert differences_text(stages) == ""
    assert stages[1].rows < stages[0].rows


@real
def test_ties_of_three_tiers_are_no_difference_and_one_nodes_other_policy_is() -> None:
    """decisions/0032: without it, a lost cable after a drain differed in rows that only the arrival order decided."""
    fabric = build_topology(
        Clos3Spec.model_validate(
            {
                "kind": "clos3",
                "pods": 2,
                "leaves_per_pod": 2,
                "spines_per_pod": 2,
                "super_spines": 2,
                "hosts_per_leaf": 1,
                "host_rate": "100G",
                "fabric_rate": "100G",
            }
        ),
        Path(),
    )
    config = ControlConfig(spine_asn=SpineAsn.DISTINCT)
    plan = plan_of(fabric, addressing(fabric), config, [Tenant("all", 10_100, tuple(it.id for it in fabric.hosts))])
    spine, leaf = plan.by_name["p1-spine1"].row, plan.by_name["p1-leaf1"]
    cable = plan.interfaces[leaf.interfaces[1]].cable
    with Laboratory(plan, config, new_name()) as lab:
        lab.up()
        stages = list(
            compare(
                lab,
                plan,
                config,
                [
                    [e.Drain(0, spine, on=True)],
                    [e.Drain(0, spine, on=False)],
                    [e.CableDown(0, cable)],
                    [e.CableUp(0, cable)],
                ],
                settle_s=LIMIT_S,
            )
        )
        assert differences_text(stages) == ""
        # A change that the model does not have stays a difference, with all its consequences.
        lab.apply(
            e.SetPolicy(0, leaf.row, plan.by_name["p1-spine2"].row, "import", Policy((Rule(set=Set(local_pref=200)),)))
        )

        def differs() -> bool:
            [stage] = compare(lab, plan, config, [], settle_s=4)  # time to take it for a tie
            return {row.table for row in stage.differences if row.node == leaf.name} >= {
                "bgp_ipv4",
                "rib",
                "kernel_fib",
            }

        until(differs, "the leaf's tables differ")


@real
def test_an_interface_that_comes_up_has_no_address_before_its_daemons_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise FRR sometimes loses a session over it permanently."""
    config = ControlConfig(unnumbered=True)
    plan = two_by_two(config, overlay=False)
    port = plan.interfaces[plan.cables[0].a]
    coming_up, before = Daemons.coming_up, list[list[str]]()

    def addresses(of: Namespace) -> list[str]:
        found = json.loads(of.run("ip", "-j", "-6", "address", "show", port.name))
        return [it["local"] for link in found for it in link.get("addr_info", ())]

    @contextmanager
    def watched(self: Daemons, interface: str) -> Iterator[None]:
        with coming_up(self, interface):
            yield
        before.append(addresses(self.namespace))

    monkeypatch.setattr(Daemons, "coming_up", watched)
    with Laboratory(plan, config, new_name()) as lab:
        lab.up()
        stages = list(compare(lab, plan, config, [[e.CableDown(0, 0)], [e.CableUp(0, 0)]], settle_s=LIMIT_S))
        assert before == [[]]
        assert addresses(lab[plan.routers[port.router].name]) == [link_local(port)]
    assert differences_text(stages) == ""


@real
def test_real_frr_remembers_a_sequence_number_as_the_model_does() -> None:
    config = ControlConfig()
    plan = two_by_two(config, leaves=3)
    goer = plan.endpoints[0]

    def gone(leaf: str) -> list[e.ControlEvent]:
        return [e.HostGone(0, goer.mac, goer.vni, plan.by_name[leaf].row)]

    stages = simulate(
        plan,
        config,
        [
            moves(plan, 0, "leaf2", "m1", arps=(0, 1, 3)),
            moves(plan, 0, "leaf1", "m2", arps=(0, 1, 3)),
            gone("leaf1"),
            moves(plan, 0, "leaf3", "m3", arps=(0, 1, 3)),
            gone("leaf3"),
            moves(plan, 0, "leaf2", "m4", arps=(0, 1, 3)),
        ],
    )
    assert differences_text(stages) == ""


@real
def test_real_frr_keeps_an_internal_session_over_a_dark_cable_as_the_model_does() -> None:
    config = ControlConfig(design=Design.IBGP_RR, keepalive_ns=200 * S, hold_ns=600 * S)  # longer than the test
    plan = two_by_two(config)
    network = Network(plan, config)
    network.converge()
    network.schedule([e.CableDown(0, 0)])
    network.advance(2 * S)
    with Laboratory(plan, config, new_name()) as lab:
        lab.up()
        [start] = compare(lab, plan, config, [], settle_s=LIMIT_S)
        assert start.differences == ()

        def sessions() -> set[tuple[str, int, int]]:
            """State and history of every session of leaf1."""
            [neighbours] = lab.daemons["leaf1"].show("show bgp neighbors json")
            return {
                (it["bgpState"], it["connectionsEstablished"], it["connectionsDropped"]) for it in neighbours.values()
            }

        before = sessions()
        assert {state for state, *_ in before} == {"Established"}
        lab.apply(e.CableDown(0, 0))
        until(lambda: not list(differences(observe(lab), model(network))), "no table differs from the model's")
        assert sessions() == before


@real
def test_what_only_one_side_did_is_found() -> None:
    """The comparison can fail: a cable that only the real fabric lost shows in both next hop tables."""
    config = ControlConfig()
    plan = two_by_two(config)
    network = Network(plan, config)
    network.converge()
    with Laboratory(plan, config, new_name()) as lab:
        lab.up()
        [start] = compare(lab, plan, config, [], settle_s=LIMIT_S)
        assert start.differences == ()
        lab.apply(e.CableDown(0, 0))

        def is_found() -> bool:
            found = list(differences(observe(lab), model(network)))
            return {"bgp_ipv4", "rib", "kernel_fib"} <= {row.table for row in found} and {
                row.node for row in found
            } >= {"leaf1", "spine1"}

        until(is_found, "the lost cable shows in both next hop tables of both ends")
        [stage] = compare(lab, plan, config, [], settle_s=0)
    assert {row.node for row in stage.differences} >= {"leaf1", "spine1"}


@real
def test_a_laboratory_outlives_its_command_and_ends_with_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from fabric.cli.main import main

    name = new_name()
    scenario = tmp_path / "small.yml"
    scenario.write_text(
        f"name: {name}\ntopology: {{kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 1, "
        "host_rate: 100G, fabric_rate: 100G}\nrouting: bgp\nvxlan: {}\nworkload:\n"
        "  - {kind: permutation, size: 1MB}\nrun: {duration: 1ms}\n"
    )
    try:
        assert main(["lab", "up", str(scenario), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["switches"] == ["leaf1", "leaf2", "spine1"]
        assert main(["lab", "up", str(scenario)]) == 2  # and does not change the first one
        capsys.readouterr()
        assert main(["lab", "show", str(scenario), "--json"]) == 0
        differences_text = json.loads(capsys.readouterr().out)
        assert differences_text["state"] == "running"
        assert set(differences_text["sessions"]["leaf1"]) == {"ipv4Unicast", "l2VpnEvpn"}
        assert main(["lab", "show", str(scenario), "--node", "leaf1", "--command", "show evpn vni"]) == 0
        assert "10000" in capsys.readouterr().out
    finally:
        assert main(["lab", "down", str(scenario)]) == 0
    assert not (RUN / name).exists()
    assert not list(RUN_NETNS.glob(f"fabric+{name}+*"))
    assert main(["lab", "down", str(scenario)]) == 0  # nothing is left to remove
    assert main(["lab", "show", str(scenario)]) == 2
    assert main(["lab", "compare", str(scenario), "--json"]) == 0


# -- without root ------------------------------------------------------------------------------------------------------


def test_a_model_compared_with_itself_has_every_table_and_no_difference() -> None:
    config = ControlConfig()
    network = Network(two_by_two(config), config)
    network.converge()
    tables = model(network)
    assert set(tables["leaf1"]) == set(TITLES)
    assert count_rows(tables) > 100
    assert list(differences(tables, tables)) == []


def test_a_changed_and_a_missing_row_are_found() -> None:
    config = ControlConfig()
    network = Network(two_by_two(config), config)
    network.converge()
    ours, theirs = model(network), model(network)
    del theirs["leaf1"]["evpn_mac"][next(iter(theirs["leaf1"]["evpn_mac"]))]
    theirs["spine1"]["rib"]["203.0.113.0/24"] = []
    found = {(row.node, row.table): row for row in differences(theirs, ours)}
    assert set(found) == {("leaf1", "evpn_mac"), ("spine1", "rib")}
    assert found["leaf1", "evpn_mac"].real is None
    assert found["spine1", "rib"].modelled is None


def test_what_cannot_be_rendered_is_refused_all_together() -> None:
    odd = Policy((Rule(Match(origin_asns=(65102,)), set=Set(next_hop="192.0.2.1", weight=3)),))
    config = ControlConfig(policies=(NodePolicy("spine1", None, "export", odd),))
    plan = two_by_two(config, leaves=80)
    with pytest.raises(InputErrors) as caught:
        blueprint.check(plan, config)
    assert {(problem.path, problem.text.partition(" ")[0]) for problem in caught.value.problems} >= {
        ("bgp.policies[0]", "match.origin_asns"),
        ("bgp.policies[0]", "set.next_hop"),
    }
    assert {problem.path for problem in caught.value.problems} == {"bgp.policies[0]", "topology"}


def test_a_tenant_that_routes_needs_vrfs_and_is_refused() -> None:
    plan = two_by_two(ControlConfig(), l3_vni=50_000)
    with pytest.raises(InputErrors, match="an l3_vni needs VRFs") as caught:
        blueprint.check(plan, ControlConfig())
    assert [problem.path for problem in caught.value.problems] == ["vxlan.tenants"]


def test_without_vrfs_tenants_are_compared_as_bridged_and_every_table_left_out_is_said_with_its_reason() -> None:
    plan = two_by_two(ControlConfig(), l3_vni=50_000)
    omitted = blueprint.left_out(plan)
    assert set(omitted) == {"bgp_evpn_type5", "tenant_rib", "l3_vni", "gateways"}
    assert all(("CONFIG_NET_VRF" in text) != ("do not render" in text) for text in omitted.values())
    without = blueprint.bridged(plan)
    blueprint.check(without, ControlConfig())
    assert blueprint.left_out(without) == {}
    assert [vni.vni for vni in without.by_name["leaf1"].vnis] == [10100, 10200]


def test_policies_are_route_maps_of_the_families_that_they_match() -> None:
    config = ControlConfig(policies=POLICIES)
    plan = two_by_two(config)
    leaf1, leaf2, spine2 = (
        blueprint.bgpd_config(plan, plan.by_name[name], config) for name in ("leaf1", "leaf2", "spine2")
    )
    [spine1] = [address for address in ("10.128.0.1", "10.128.0.3") if f"neighbor {address} route-map" in leaf1]
    assert f"neighbor {spine1} route-map POLICY-1 in" in leaf1
    assert f"neighbor {spine1} route-map POLICY-2 in" in leaf1
    assert "ip prefix-list POLICY-1-10 permit 10.0.0.0/24 ge 32 le 32" in leaf1
    assert "route-map POLICY-1 permit 10\n match ip address prefix-list POLICY-1-10\n set local-preference 50" in leaf1
    assert "route-map POLICY-2 permit 65535" in leaf1  # EVPN: no rule can match, everything is accepted
    assert "set metric 7\n set as-path prepend 65102\n set community 65000:1 additive" in leaf2
    assert "bgp community-list standard POLICY-1-10 permit 65000:1" in spine2
    assert "bgp as-path access-list POLICY-1-10 permit _65102_" in spine2
    assert "route-map POLICY-1 deny 10" in spine2


def test_bfd_and_a_fixed_announce_delay_are_configured() -> None:
    config = ControlConfig(bfd=Bfd(5_000_000, 4), announce_delay_ns=300_000_000)
    plan = two_by_two(config)
    assert blueprint.bfdd_config(plan.by_name["leaf1"], Bfd(5_000_000, 4)).splitlines()[3:7] == [
        " profile fabric",
        "  transmit-interval 10",
        "  receive-interval 10",
        "  detect-multiplier 4",
    ]
    text = blueprint.bgpd_config(plan, plan.by_name["leaf1"], config)
    assert " neighbor FABRIC bfd profile fabric\n" in text
    assert " coalesce-time 300\n" in text
    assert "coalesce-time" not in blueprint.bgpd_config(plan, plan.by_name["leaf1"], ControlConfig())


def test_each_move_of_a_host_is_a_stage_and_repeated_announcements_are_not() -> None:
    plan = two_by_two(ControlConfig())
    guest = plan.endpoints[0]
    there, back = moves(plan, 0, "leaf2", "m1", arps=(0, 1)), moves(plan, 0, "leaf1", "m2", arps=(5, 6))
    gone = e.HostGone(9 * S, guest.mac, guest.vni, 0)
    again, other = moves(plan, 0, "leaf2", "m3", arps=(10,)), moves(plan, 1, "leaf2", "m4", arps=(11,))
    down = e.CableDown(12 * S, 0)
    assert list(stages_of([*there, *back, gone, *again, *other, down])) == [there, back, [gone, *again], other, [down]]


def test_hosts_of_a_vni_are_neighbours_on_one_link() -> None:
    plan = two_by_two(ControlConfig())
    red = [it for it in plan.endpoints if it.vni == 10100]
    subnet = blueprint.subnet_of(red)
    assert all(blueprint.IPv4Address(it.ip) in subnet for it in red)
    assert blueprint.subnet_of(red[:1]).prefixlen == 30


def test_a_leafs_configuration_announces_its_vnis_and_a_spines_keeps_next_hops() -> None:
    plan = two_by_two(ControlConfig())
    leaf = blueprint.bgpd_config(plan, plan.by_name["leaf1"], ControlConfig())
    spine = blueprint.bgpd_config(plan, plan.by_name["spine1"], ControlConfig())
    assert "advertise-all-vni" in leaf
    assert "attribute-unchanged next-hop" not in leaf
    assert "attribute-unchanged next-hop" in spine
    assert leaf.count("remote-as 65000") == 2
    assert "route-map" not in leaf + spine


def test_an_unnumbered_neighbour_is_configured_by_its_interface() -> None:
    config = ControlConfig(unnumbered=True)
    plan = two_by_two(config)
    leaf = plan.by_name["leaf1"]
    text = blueprint.bgpd_config(plan, leaf, config)
    for row in leaf.interfaces:
        assert f" neighbor {plan.interfaces[row].name} interface remote-as 65000\n" in text
    assert "10.128." not in text


def test_without_root_or_frr_everything_missing_is_said_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fabric.cli.main import main

    monkeypatch.setattr("fabric.lab.netns.os.geteuid", lambda: 1000)
    monkeypatch.setattr("fabric.lab.netns.shutil.which", lambda program: None)
    scenario = str(Path(__file__).parents[2] / "scenarios" / "mac-move.yml")
    assert main(["lab", "compare", scenario, "--json"]) == 2
    problems = json.loads(capsys.readouterr().out)["error"]["problems"]
    assert {"system", "vtysh", "/usr/lib/frr/bgpd"} <= {problem["path"] for problem in problems}
    assert "sudo" in problems[0]["hint"]


def test_a_scenario_without_a_control_plane_has_no_laboratory(capsys: pytest.CaptureFixture[str]) -> None:
    from fabric.cli.main import main

    scenario = str(Path(__file__).parents[2] / "scenarios" / "incast.yml")
    assert main(["lab", "up", scenario]) == 2
    assert "routing: bgp" in capsys.readouterr().err
    assert main(["lab", "show", scenario, "--node", "leaf1"]) == 2
    assert "--command" in capsys.readouterr().err
