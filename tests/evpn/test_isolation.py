"""Isolation of tenants is proved, or every breach is reported with its evidence."""

from __future__ import annotations

import pytest

from fabric.controlplane.evpn.config import VniConfig, VrfConfig
from fabric.controlplane.evpn.isolation import BreachKind, check_isolation
from tests.evpn.conftest import Mesh, S, leaf

A, B = VniConfig(101, "job-a"), VniConfig(102, "job-b")


def _simulate(*per_leaf: tuple[VniConfig, ...]) -> Mesh:
    mesh = Mesh(*(leaf(number, vnis) for number, vnis in enumerate(per_leaf, 1)))
    for number, vnis in enumerate(per_leaf, 1):
        for vni in vnis:
            mesh.say(
                number, vni.vni, f"02:00:00:00:{vni.vni:02x}:{number:02x}", f"10.0.{vni.vni}.{number}", f"p{vni.vni}", S
            )
    return mesh


def test_tenants_with_numbers_of_their_own_are_proved_apart() -> None:
    found = check_isolation(_simulate((A, B), (A, B), (A,)).vteps)
    assert found.proved
    assert found.domains == ("job-a", "job-b")
    assert (found.tables, found.routes) == (5, 24)  # 3 routes of each other leaf in each VNI


def test_vnis_of_nobody_in_particular_are_domains_of_their_own() -> None:
    found = check_isolation(_simulate((VniConfig(101), VniConfig(102)), (VniConfig(101),)).vteps)
    assert found.proved
    assert found.domains == ("VNI 101", "VNI 102")


@pytest.mark.parametrize(
    ("second", "kind", "evidence"),
    [
        (VniConfig(101, "job-b"), BreachKind.SHARED_VNI, "101"),
        (VniConfig(102, "job-b", import_targets=("65101:101",)), BreachKind.IMPORT, "route target 65101:101"),
        (VniConfig(102, "job-b", import_targets=("*:101",)), BreachKind.IMPORT, "route target 65101:101"),
        (VniConfig(102, "job-b", export_targets=("9:101",)), BreachKind.IMPORT, "route target 9:101"),
        (VniConfig(102, "job-b", rd="10.255.1.1:2"), BreachKind.SHARED_RD, "10.255.1.1:2"),
    ],
)
def test_what_joins_two_tenants_is_named_with_its_evidence(second: VniConfig, kind: BreachKind, evidence: str) -> None:
    found = check_isolation(_simulate((A,), (second,)).vteps)
    assert not found.proved
    (breach,) = [one for one in found.breaches if one.kind is kind]
    assert {breach.here.domain, breach.there.domain} == {"job-a", "job-b"}
    assert breach.evidence == evidence
    assert breach.here.switch in str(breach)


def test_a_route_that_was_taken_by_mistake_is_found_in_the_table() -> None:
    found = check_isolation(_simulate((A,), (VniConfig(102, "job-b", import_targets=("65101:101", "*:102")),)).vteps)
    (leak,) = [one for one in found.breaches if one.kind is BreachKind.LEAK]
    assert (leak.here.switch, leak.there.switch) == ("leaf2", "leaf1")
    assert leak.evidence == "route 10.255.1.1:2 [3]:[0]:[32]:[10.255.1.1]"


def test_an_l3_vni_of_another_tenant_is_a_shared_vni() -> None:
    mesh = Mesh(leaf(1, (A,)), leaf(2, (B,), vrfs=(VrfConfig("job-b", 101),), router_mac="02:00:00:00:00:02"))
    kinds = {one.kind for one in check_isolation(mesh.vteps).breaches}
    assert kinds == {BreachKind.SHARED_VNI, BreachKind.IMPORT}


def test_a_tenant_routed_between_its_own_vnis_is_one_domain() -> None:
    vnis = (VniConfig(101, "job-a", gateway="10.0.101.1/24", gateway_mac="02:00:5e:00:00:01"), VniConfig(103, "job-a"))
    mesh = Mesh(
        *(
            leaf(number, vnis, vrfs=(VrfConfig("job-a", 9001),), router_mac=f"02:00:00:00:00:0{number}")
            for number in (1, 2)
        )
    )
    assert check_isolation(mesh.vteps).proved
