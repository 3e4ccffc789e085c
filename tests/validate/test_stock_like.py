"""Switches as their vendors ship them, written for this project: what stock classification and stock tables mean.

Stock SONiC makes DSCP 3 and 4 lossless (traffic classes 3 and 4) and leaves DSCP 26, which most RoCE hosts send, in the
lossy class. Its headroom comes from the table of the platform, which the operator can hand over as a file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fabrics import switch

from fabric.configs.load import load_network
from fabric.configs.network import Network
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.validate.checks.base import Severity
from fabric.validate.facts import Facts, threshold
from fabric.validate.runner import validate

Tables = dict[str, dict[str, Any]]
TABLE = """# speed cable size xon xoff threshold xon_offset
100000 5m 1248 2288 35776 -3 2288
400000 5m 1248 2288 90112 -3 2288
"""


def stock(threshold_exponent: str, **pool: str) -> Tables:
    """A lone switch: DSCP 3 and 4 lossless, RoCE's usual DSCP 26 lossy; no profiles of lossless groups.

    The switch makes those itself when it starts, from its table.
    """
    tables = switch("leaf1", "65101", "ToRRouter", {f"Ethernet{8 * n}": (f"host{n}", "eth0") for n in range(4)})
    for port in tables["PORT"].values():
        port["speed"] = "400000"
    tables["DEVICE_METADATA"]["localhost"]["hwsku"] = "Chip-without-a-published-formula"
    tables["DSCP_TO_TC_MAP"] = {"M": {str(dscp): {3: "3", 4: "4", 48: "6"}.get(dscp, "0") for dscp in range(64)}}
    tables["TC_TO_PRIORITY_GROUP_MAP"] = {"M": {str(n): str(n) if n in {3, 4} else "0" for n in range(8)}}
    tables["BUFFER_POOL"]["ingress_lossless_pool"] |= {"size": "10000000", "xoff": "2000000"} | pool
    for name in [name for name in tables["BUFFER_PROFILE"] if name.startswith("pg_lossless")]:
        del tables["BUFFER_PROFILE"][name]
    del tables["BUFFER_PG"]
    for name, lossless in tables["PORT_QOS_MAP"].items():
        lossless |= {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}
        tables["BUFFER_QUEUE"] |= {f"{name}|4": {"profile": "egress_lossless_profile"}}
        tables["QUEUE"] |= {f"{name}|4": {"scheduler": "data", "wred_profile": "W"}}
    tables["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] = {"AZURE": {"default_dynamic_th": threshold_exponent}}
    return tables


def network_of(tables: Tables, folder: Path, exponent: str) -> Network:
    (folder / "leaf1.json").write_text(json.dumps(tables), encoding="utf-8")
    table = folder / "pg_profile_lookup.ini"
    table.write_text(TABLE.replace("-3", exponent), encoding="utf-8")
    network = load_network([folder / "leaf1.json"], tables=HeadroomTables.load([str(table)]))
    table.unlink()
    return network


def errors(network: Network) -> set[str]:
    return {it.check.id for it in validate(network).findings if it.severity is Severity.ERROR}


def test_stock_classification_has_one_warning_that_roce_is_assumed_lossy(tmp_path: Path) -> None:
    network = network_of(stock("-3"), tmp_path, "-3")
    assert errors(network) == set()
    (assumed,) = [it for it in validate(network).findings if it.check.id == "M1"]
    assert (assumed.severity, assumed.object) == (Severity.WARN, "--roce-dscp")
    assert "26 is assumed" in assumed.text


def test_a_dscp_that_was_given_is_no_assumption(tmp_path: Path) -> None:
    network = network_of(stock("-3"), tmp_path, "-3")
    network.roce_given = True
    found = [it for it in validate(network).findings if it.check.id == "M1"]
    assert {it.severity for it in found} == {Severity.ERROR}
    assert not any("assumed" in it.text for it in found)


def test_with_the_dscp_that_its_hosts_send_a_stock_switch_has_no_error(tmp_path: Path) -> None:
    network = network_of(stock("-3"), tmp_path, "-3")
    network.roce_dscps = (3, 4)
    assert errors(network) == set()


@pytest.mark.parametrize(
    ("exponent", "one", "four"),
    [
        ("-3", 10_000_000 / 9, 10_000_000 / 12),  # alpha 1/8: pool / (8 + k)
        ("0", 5_000_000, 2_000_000),  # alpha 1: pool / (1 + k)
        ("2", 8_000_000, 40_000_000 / 17),
    ],
)  # alpha 4: 4 pool / (1 + 4 k)
def test_the_threshold_of_the_platforms_table_is_used(exponent: str, one: float, four: float, tmp_path: Path) -> None:
    network = network_of(stock(exponent), tmp_path, exponent)
    least = Facts(network).smallest_threshold(next(iter(network.devices.values())))
    assert least is not None
    assert least[0] == pytest.approx(one)
    assert threshold(least[1], least[2], 4) == pytest.approx(four)


@pytest.mark.parametrize(("pool", "late"), [("14400009", False), ("14400000", True)])
def test_marking_must_end_below_the_pause_threshold(pool: str, late: bool, tmp_path: Path) -> None:
    """Kmax is 1.6 MB; one full group pauses at T(1) = pool / 9, since alpha is 1/8."""
    network = network_of(stock("-3", size=pool), tmp_path, "-3")
    assert ("E2" in {it.check.id for it in validate(network).findings}) == late
