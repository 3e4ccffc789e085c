"""Calibration: the clean fabric is clean, each broken variant has its findings, stock files only the true ones."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from fabric.configs.load import load_network
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.facts import Facts, threshold
from fabric.validate.runner import validate
from tests.recordings import SONIC

LEAF1_LOSSLESS = [f"Ethernet{n}" for n in (0, 8, 16, 24, 192, 200, 208, 216)]
LINK = "leaf1:Ethernet192↔spine1:Ethernet0"
EXPECTED = {
    "B01_pfc_missing_one_hop": {
        ("L1", "error", "spine1", LINK),
        ("M1", "error", "spine1", "Ethernet0"),
        ("L9", "error", "leaf1", "leaf1→leaf2"),
        ("L9", "error", "leaf2", "leaf2→leaf1"),
        ("M7", "warn", "spine1", "Ethernet0|3"),
    },
    "B02_xoff_halved": {("H4", "error", "leaf1", "BUFFER_PROFILE|pg_lossless_400000_40m_profile")},
    "B03_kmin_gt_kmax": {("E1", "error", "leaf2", "WRED_PROFILE|AZURE_LOSSLESS")},
    "B04_alpha_too_big": {("B3", "error", "spine2", "BUFFER_PROFILE|pg_lossless_400000_40m_profile")},
    "B05_dscp_map_hole": {
        *{("M1", "error", "leaf1", port) for port in LEAF1_LOSSLESS},
        ("M2", "error", "leaf1", "DSCP 26"),
        *{("N1", "error", "leaf1", port) for port in LEAF1_LOSSLESS[:4]},
        ("L9", "error", "leaf1", "leaf1→leaf2"),
        ("L9", "error", "leaf2", "leaf2→leaf1"),
    },
    "B06_pfcwd_absent": {
        *{("W2", "warn", "spine1", f"Ethernet{n}") for n in (0, 8, 16, 24)},
        *{("W1", "error", "spine2", f"Ethernet{n}") for n in (0, 8)},
    },
    "B07_link_speed_cable_mismatch": {
        ("L2", "error", "leaf1", LINK),
        ("L3", "warn", "leaf1", LINK),
        ("H5", "warn", "leaf1", "Ethernet192"),
        ("H3", "error", "leaf1", "Ethernet192|3"),
        ("H3", "error", "leaf1", "Ethernet192|4"),
    },
    "B08_ecn_never_reached": {
        *{
            (id_, severity, "leaf1", f"{port}|{queue}")
            for id_, severity in (("E2", "error"), ("E5", "warn"), ("E11", "warn"))
            for port in LEAF1_LOSSLESS
            for queue in (3, 4)
        }
    },
}


def key(finding: Finding) -> tuple[str, str, str, str]:
    return finding.check.id, finding.severity.word, finding.device, finding.object


def test_the_clean_fabric_has_no_error_and_no_warning() -> None:
    verdict = validate(load_network([SONIC / "fabric_ok"]))
    assert [key(it) for it in verdict.findings if it.severity > Severity.INFO] == []
    assert (verdict.devices, verdict.links) == (4, 16)


@pytest.mark.parametrize("variant", EXPECTED)
def test_a_broken_variant_has_its_findings_and_no_other_error(variant: str, tmp_path: Path) -> None:
    for folder in ("fabric_ok", f"broken/{variant}"):
        for path in (SONIC / folder).glob("*.json"):
            if path.name != "patch.json":
                (tmp_path / path.name).unlink(missing_ok=True)
                shutil.copyfile(path, tmp_path / path.name)
    found = {key(it) for it in validate(load_network([tmp_path])).findings}
    assert found >= EXPECTED[variant]
    errors = {it for it in found if it[1] == "error"}
    assert errors == {it for it in EXPECTED[variant] if it[1] == "error"}


def test_halved_headroom_is_above_the_bounds_that_would_make_it_an_error_by_itself(tmp_path: Path) -> None:
    for path in [*(SONIC / "fabric_ok").glob("*.json"), SONIC / "broken/B02_xoff_halved/leaf1.json"]:
        (tmp_path / path.name).unlink(missing_ok=True)
        shutil.copyfile(path, tmp_path / path.name)
    found = validate(load_network([tmp_path])).findings
    assert {it.severity for it in found if it.check.id == "H1"} == {Severity.INFO}
    assert {it.check.id for it in found if it.severity is Severity.ERROR} == {"H4"}
    (row,) = [it for it in found if it.check.id == "H4"]
    assert "bound D 96520 B" in row.text
    place = row.evidence[0].place
    assert place is not None
    assert '"xoff"' in Path(place.file).read_text(encoding="utf-8").splitlines()[place.line - 1]


STOCK_ERRORS: set[str] = set()
"""None: that DSCP 26 is lossy in every template is an assumption about RoCE, and one warning."""


@pytest.mark.vendor_files
@pytest.mark.parametrize("folder", ["rendered", "full_config_db"])
def test_stock_configurations_have_only_the_true_errors(folder: str, vendor_files: Path) -> None:
    for path in sorted((vendor_files / folder).glob("*.json")):
        if "dutQosConfig" in path.name:
            continue
        verdict = validate(load_network([path]))
        ids = Counter(it.check.id for it in verdict.findings if it.severity is Severity.ERROR)
        allowed = STOCK_ERRORS | ({"W2"} if "counterpoll" in path.name else set())  # no watchdog on server ports
        # Its VTEP sends from an address that it does not have; its route names a port of another subnet.
        allowed |= {"V4", "D13"} if "SAMPLE_CONFIG" in path.name else set()
        assert set(ids) <= allowed, (path.name, ids)
        if folder == "rendered":
            (assumed,) = [it for it in verdict.findings if it.check.id == "M1"]
            assert assumed.severity is Severity.WARN, path.name
            assert "give --roce-dscp or --hosts" in assumed.text, path.name


@pytest.mark.vendor_files
def test_a_stock_configuration_with_its_dscp_has_no_error_at_all(vendor_files: Path) -> None:
    for path in sorted((vendor_files / "rendered").glob("*.json")):
        network = load_network([path])
        network.roce_dscps = (3, 4)
        assert not [key(it) for it in validate(network).findings if it.severity is Severity.ERROR], path.name


@pytest.mark.vendor_files
@pytest.mark.parametrize(
    ("render", "table", "t1", "t4"),
    [
        ("arista_7060x6_64pe_b_t1", "arista_7060X6-64PE-B-P32O64_th5", 73613010, 29445204),
        ("arista_7260cx3_c64_t0", "broadcom_th2_7260_balanced", 16664544, 6665817),
        ("celestica_ds3000_t0", "celestica_DS3000_td3", 1418467, 1063850),
        ("dell_z9332f_t0", "dell_Z9332f_O32_th3", 13278815, 8299259),
        ("nexthop_4210_t1", "nexthop_4210_O256", 129017700, 51607080),
    ],
)
def test_thresholds_of_stock_switches_with_their_own_tables(
    render: str, table: str, t1: int, t4: int, vendor_files: Path
) -> None:
    tables = HeadroomTables.load([str(vendor_files / f"pg_profile_lookup/{table}.ini")])
    network = load_network([vendor_files / f"rendered/{render}.json"], tables=tables)
    least = Facts(network).smallest_threshold(next(iter(network.devices.values())))
    assert least is not None
    assert int(least[0]) == t1
    assert int(threshold(least[1], least[2], 4) or 0) == t4
    ids = {(it.check.id, it.severity) for it in validate(network).findings if it.severity is Severity.ERROR}
    assert ids == set()
    kmax = [it for it in validate(network, only={"E2"}).findings if it.check.id == "E2"]
    assert bool(kmax) == (render == "celestica_ds3000_t0")
