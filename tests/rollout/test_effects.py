"""What an edit does on a running SONiC, by release."""

from __future__ import annotations

import pytest

from fabric.rollout.edits import PORT_TABLES, Edit, Tables
from fabric.rollout.effects import RELEASES, RULES, Kind, effect_of

UP: Tables = {"PORT": {"E0": {"admin_status": "up"}, "E1": {"admin_status": "down"}}}
DYNAMIC: Tables = {**UP, "DEVICE_METADATA": {"localhost": {"buffer_model": "dynamic"}}}


def kind(edit: Edit, release: str = "202511", tables: Tables = UP) -> Kind:
    return effect_of(edit, release, tables).kind


def replaced(table: str, key: str, field: str) -> Edit:
    return Edit(table, key, field, "replace", "1", "2")


@pytest.mark.parametrize(
    ("edit", "kinds"),
    [
        (replaced("BUFFER_PROFILE", "p", "xoff"), "live live live live"),
        (replaced("BUFFER_PROFILE", "p", "xon"), "refused refused refused refused"),
        (replaced("BUFFER_PROFILE", "p", "pool"), "differs differs differs differs"),
        (Edit("BUFFER_PROFILE", "p", "dynamic_th", "remove", "0", None), "differs differs differs differs"),
        (Edit("BUFFER_PROFILE", "p", "", "add", None, {}), "refused refused refused live"),
        (replaced("BUFFER_POOL", "ingress_lossless_pool", "size"), "live live live refused"),
        (replaced("BUFFER_POOL", "ingress_lossless_pool", "xoff"), "live live live refused"),
        (replaced("BUFFER_POOL", "egress_lossy_pool", "size"), "live live live refused"),
        (replaced("BUFFER_POOL", "egress_lossy_pool", "xoff"), "refused refused refused refused"),
        (replaced("BUFFER_POOL", "egress_lossless_pool", "size"), "refused refused refused refused"),
        (replaced("BUFFER_POOL", "ingress_lossless_pool", "mode"), "differs differs differs differs"),
        (replaced("WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold"), "live live live live"),
        (replaced("WRED_PROFILE", "W", "green_min_threshold"), "refused refused live live"),
        (replaced("WRED_PROFILE", "W", "ecn"), "refused refused refused live"),
        (replaced("CABLE_LENGTH", "AZURE", "E0"), "differs differs differs live"),
        (replaced("PFC_WD", "E0", "detection_time"), "live live live live"),
        (replaced("DSCP_TO_TC_MAP", "M", "26"), "live live live live"),
        (replaced("TC_TO_QUEUE_MAP", "M", "3"), "unknown unknown unknown unknown"),
        (replaced("PORT", "E0", "mtu"), "unknown unknown unknown unknown"),
    ],
)
def test_an_edit_has_the_effect_of_its_release(edit: Edit, kinds: str) -> None:
    assert [kind(edit, release).name.lower() for release in RELEASES] == kinds.split()


@pytest.mark.parametrize("table", [it for it in PORT_TABLES if it not in {"PORT", "PFC_WD"}])
def test_what_is_bound_to_a_port_that_is_up_takes_it_down(table: str) -> None:
    assert effect_of(replaced(table, "E0|3", "f"), "202411", UP).flaps == ("E0",)
    assert effect_of(replaced(table, "E1|3", "f"), "202411", UP).kind is Kind.LIVE
    assert effect_of(replaced(table, "E0,E1|3", "f"), "202411", UP).flaps == ("E0",)


@pytest.mark.parametrize("field", ["speed", "fec", "autoneg", "lanes", "admin_status"])
def test_settings_of_the_link_take_the_port_down(field: str) -> None:
    assert effect_of(replaced("PORT", "E0", field), "202511", UP).flaps == ("E0",)


def test_a_bgp_session_is_made_again_for_another_asn() -> None:
    assert effect_of(replaced("BGP_NEIGHBOR", "10.0.0.1", "asn"), "202511", UP).flaps == ("BGP 10.0.0.1",)
    assert kind(replaced("BGP_NEIGHBOR", "10.0.0.1", "admin_status")) is Kind.UNKNOWN


def test_a_cable_length_of_the_dynamic_model_is_live_on_every_release() -> None:
    edit = replaced("CABLE_LENGTH", "AZURE", "E0")
    assert {kind(edit, release, DYNAMIC) for release in RELEASES} == {Kind.LIVE}


def test_a_removed_row_of_port_qos_map_says_that_pfc_is_off() -> None:
    edit = Edit("PORT_QOS_MAP", "E0", "", "remove", {"pfc_enable": "3"}, None)
    assert "PFC of the port is off" in effect_of(edit, "202511", UP).text


def test_the_row_of_the_whole_switch_flaps_no_port() -> None:
    assert effect_of(replaced("PORT_QOS_MAP", "global", "dscp_to_tc_map"), "202511", UP).flaps == ()


def test_every_rule_has_a_source_and_every_release_is_in_order() -> None:
    assert [rule for rule in RULES if not rule.source and rule.kind is not Kind.UNKNOWN] == []
    assert list(RELEASES) == sorted(RELEASES)
    assert {it for rule in RULES for it in (rule.since, rule.until)} <= set(RELEASES)
