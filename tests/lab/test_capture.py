"""A scenario's BGP sessions, decoded by tshark."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from fabric.capture.bgp import SessionCapture
from fabric.controlplane.network.config import ControlConfig
from fabric.controlplane.network.events import CableDown, CableUp, RouterCrash
from fabric.controlplane.network.fabric_plan import plan_of
from fabric.controlplane.network.network import Network
from fabric.controlplane.network.plan import RoutedHosts, Tenant
from fabric.topology.addressing import addressing
from fabric.topology.registry import build_topology
from fabric.topology.spec import LeafSpineSpec
from tests.waiting import LIMIT_S

S = 1_000_000_000
pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


@pytest.fixture(scope="module", params=[False, True], ids=["numbered", "unnumbered"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, bool]:
    fabric = build_topology(
        LeafSpineSpec.model_validate(
            {
                "kind": "leaf-spine",
                "leaves": 2,
                "spines": 2,
                "hosts_per_leaf": 2,
                "host_rate": "100G",
                "fabric_rate": "100G",
            }
        ),
        Path(),
    )
    config = ControlConfig(unnumbered=request.param)
    tenants = [Tenant("all", 10_000, tuple(host.id for host in fabric.hosts))]
    network = Network(plan_of(fabric, addressing(fabric), config, tenants), config)
    path = tmp_path_factory.mktemp("capture") / "bgp.pcapng"
    capture = SessionCapture(network, path)
    network.converge()
    network.schedule([CableDown(S, 0), CableUp(2 * S, 0)])
    network.advance(8 * S)
    capture.close()
    return path, capture.messages, request.param


def fields(path: Path, wanted: str, *names: str) -> list[list[str]]:
    """Fields of each message in the frames that match a display filter."""
    words = [word for name in names for word in ("-e", name)]
    text = subprocess.run(
        ["tshark", "-r", str(path), "-Y", wanted, "-T", "fields", *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
    ).stdout
    return [line.split("\t") for line in text.splitlines()]


def test_nothing_is_malformed_and_no_segment_is_missing(written: tuple[Path, int, bool]) -> None:
    path, _, _ = written
    assert fields(path, "_ws.malformed || tcp.analysis.flags || tcp.checksum.status == 0", "frame.number") == []
    assert fields(path, "_ws.expert.severity >= 0x600000", "frame.number") == []  # warnings and errors


def test_tshark_counts_the_messages_that_were_delivered(written: tuple[Path, int, bool]) -> None:
    path, messages, _ = written
    types = ",".join(row[0] for row in fields(path, "bgp", "bgp.type")).split(",")
    assert len(types) == messages
    assert types.count("1") == 2 * (4 + 1)  # an OPEN of each side: four cables, and one restored cable
    assert len(fields(path, "tcp.flags.syn == 1 && tcp.flags.ack == 0", "frame.number")) == 5


def test_tshark_reads_evpn_routes_of_both_kinds(written: tuple[Path, int, bool]) -> None:
    path, _, unnumbered = written
    kinds = {kind for row in fields(path, "bgp.evpn.nlri", "bgp.evpn.nlri.rt") for kind in row[0].split(",")}
    assert kinds == {"2", "3"}
    assert bool(fields(path, "ipv6", "frame.number")) == unnumbered


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fabric.cli.main import main

    file = tmp_path / "out.pcapng"
    scenario = str(Path(__file__).parents[2] / "scenarios" / "bgp-spine-failure.yml")
    assert main(["bgp", "capture", scenario, "-o", str(file), "--node", "leaf1", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    types = ",".join(row[0] for row in fields(file, "bgp", "bgp.type")).split(",")
    assert summary["messages"] == len(types)
    assert main(["bgp", "capture", scenario, "-o", str(file), "--node", "leaf9"]) == 2


def test_tshark_reads_both_labels_prefixes_and_router_macs_of_a_tenant_that_routes(tmp_path: Path) -> None:
    fabric = build_topology(
        LeafSpineSpec.model_validate(
            {
                "kind": "leaf-spine",
                "leaves": 3,
                "spines": 1,
                "hosts_per_leaf": 2,
                "host_rate": "100G",
                "fabric_rate": "100G",
            }
        ),
        Path(),
    )
    config = ControlConfig()
    segments = [
        Tenant("blue", 10_000, (0, 2), segment="a", gateway="10.64.0.1/23", l3_vni=50_000),
        Tenant("blue", 10_016, (1, 3), segment="b", gateway="10.64.0.254/23", l3_vni=50_000),
    ]
    network = Network(
        plan_of(fabric, addressing(fabric), config, segments, [RoutedHosts("blue", 50_000, (4, 5))]), config
    )
    path = tmp_path / "bgp.pcapng"
    capture = SessionCapture(network, path)
    network.converge()
    network.schedule([RouterCrash(S, network.plan.by_name["leaf3"].row, carrier=False)])
    network.advance(2 * S)
    capture.close()
    assert fields(path, "_ws.malformed || _ws.expert.severity >= 0x600000", "frame.number") == []

    def read(name: str) -> set[str]:
        rows = fields(path, "bgp.type == 2", name)
        return {value for row in rows for value in row[0].split(",") if value}

    assert read("bgp.evpn.nlri.vni") == {"10000", "10016", "50000"}
    both = [
        row[0].split(",")
        for row in fields(path, "bgp.evpn.nlri.rt == 2 && bgp.evpn.nlri.iplen == 32", "bgp.evpn.nlri.vni")
    ]
    assert any({"10000", "50000"} <= set(row) for row in both)
    assert {"2", "3", "5"} <= read("bgp.evpn.nlri.rt")
    assert "10.64.2.0" in read("bgp.evpn.nlri.ip.addr")
    macs = {router.mac for router in network.plan.routers if router.vrfs}
    assert macs <= read("bgp.ext_com_evpn.esi.router_mac")
