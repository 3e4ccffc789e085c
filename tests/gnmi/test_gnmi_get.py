"""Capabilities, Get and Set with pygnmi, over hand-made metrics."""

# ruff: noqa: ANN401  messages of pygnmi have no types
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from pygnmi.client import gNMIclient, gNMIException
from pygnmi.spec.v080 import gnmi_pb2 as pb
from pygnmi.spec.v080 import gnmi_pb2_grpc

from fabric.errors import FabricError
from telemetry.export.server import ListenError
from telemetry.export.tls import TlsFiles
from telemetry.gnmi.server import GnmiServer
from tests.gnmi.small_switches import OCTETS, UP, Switches, client, served, values
from tests.telemetry.programs import PATIENCE_S
from tests.telemetry.test_tls import make_pki


@pytest.fixture(scope="module")
def asked() -> Iterator[gNMIclient]:
    with served(Switches()) as (_, connected):
        yield connected


def test_capabilities_name_models_and_encodings(asked: gNMIclient) -> None:
    found = asked.capabilities()
    assert found["gnmi_version"] == "0.8.0"
    assert found["supported_encodings"] == ["json", "json_ietf", "proto"]
    assert "openconfig-qos" in {it["name"] for it in found["supported_models"]}


@pytest.mark.parametrize(("encoding", "expected"), [("json", 100), ("json_ietf", "100"), ("proto", 100)])
def test_a_counter_is_a_string_in_json_ietf_alone_rfc7951_6_1(asked: gNMIclient, encoding: str, expected: Any) -> None:
    (value,) = values(asked.get(path=[OCTETS], target="leaf1", encoding=encoding)).values()
    assert value == expected
    assert type(value) is type(expected)


def test_an_identity_has_its_module_in_json_ietf_rfc7951_6_8(asked: gNMIclient) -> None:
    path = ["/interfaces/interface[name=Ethernet0]/ethernet/state/port-speed"]
    assert list(values(asked.get(path=path, target="leaf1", encoding="json_ietf")).values()) == [
        "openconfig-if-ethernet:SPEED_100GB"
    ]
    assert list(values(asked.get(path=path, target="leaf1", encoding="json")).values()) == ["SPEED_100GB"]


def test_a_subtree_is_one_object_with_modules_at_the_top_and_where_they_change(asked: gNMIclient) -> None:
    answer = asked.get(path=["/interfaces/interface[name=Ethernet0]"], target="leaf1", encoding="json_ietf")
    assert values(answer) == {
        "interfaces/interface[name=Ethernet0]": {
            "openconfig-interfaces:name": "Ethernet0",
            "openconfig-interfaces:state": {
                "name": "Ethernet0",
                "oper-status": "UP",
                "counters": {"in-octets": "100", "out-octets": "100"},
            },
            "openconfig-if-ethernet:ethernet": {"state": {"port-speed": "openconfig-if-ethernet:SPEED_100GB"}},
        }
    }


def test_a_list_is_an_array_whose_entries_have_their_keys(asked: gNMIclient) -> None:
    (found,) = values(asked.get(path=["/qos/interfaces"], target="leaf1", encoding="json")).values()
    assert [it["interface-id"] for it in found["interface"]] == ["Ethernet0", "Ethernet4"]
    assert found["interface"][1]["output"]["queues"]["queue"] == [
        {"name": "3", "state": {"name": "3", "transmit-pkts": 7}}
    ]


def test_the_state_of_a_session_and_its_prefixes_are_served(asked: gNMIclient) -> None:
    path = "/network-instances/network-instance/protocols/protocol/bgp/neighbors/neighbor[neighbor-address=spine1]"
    (found,) = values(asked.get(path=[path], target="leaf1", encoding="json")).values()
    assert found["state"]["session-state"] == "ESTABLISHED"
    (family,) = found["afi-safis"]["afi-safi"]
    assert family["afi-safi-name"] == "L2VPN_EVPN"
    assert family["state"]["prefixes"] == {"received": 12}


@pytest.mark.parametrize(
    "path",
    [
        "/interfaces/interface[name=*]/state/oper-status",
        "/interfaces/interface/state/oper-status",
        "/interfaces/*/state/oper-status",
        "/interfaces/.../oper-status",
        "openconfig-interfaces:interfaces/interface/state/oper-status",
        "openconfig:/interfaces/interface/state/oper-status",
    ],
)
def test_wildcards_and_spellings_name_the_same_leaves(asked: gNMIclient, path: str) -> None:
    assert values(asked.get(path=[path], target="leaf1")) == {
        f"interfaces/interface[name={port}]/state/oper-status": "UP" for port in ("Ethernet0", "Ethernet4")
    }


def test_there_is_one_notification_for_each_path(asked: gNMIclient) -> None:
    answer = asked.get(path=[UP, OCTETS], target="leaf1")
    assert [len(it["update"]) for it in answer["notification"]] == [1, 1]


def raw(address: str, request: Any) -> Any:
    with grpc.insecure_channel(address) as channel:
        return gnmi_pb2_grpc.gNMIStub(channel).Get(request, timeout=PATIENCE_S)


def test_the_prefix_repeats_the_target_and_a_star_is_each_switch() -> None:
    elems = [pb.PathElem(name="interfaces"), pb.PathElem(name="interface"), pb.PathElem(name="state")]
    with served(Switches()) as (server, _):
        one = raw(server.address, pb.GetRequest(prefix=pb.Path(target="leaf2"), path=[pb.Path(elem=elems)]))
        every = raw(
            server.address, pb.GetRequest(prefix=pb.Path(target="*", elem=elems[:1]), path=[pb.Path(elem=elems[1:])])
        )
    assert [it.prefix.target for it in one.notification] == ["leaf2"]
    assert [it.prefix.target for it in every.notification] == ["leaf1", "leaf2"]
    assert every.notification[0].update[0].path.elem[0].name == "interfaces"


def test_config_is_empty_and_operational_is_what_processes_do(asked: gNMIclient) -> None:
    assert values(asked.get(path=["/interfaces"], target="leaf1", datatype="config")) == {}
    assert values(asked.get(path=["/interfaces"], target="leaf1", datatype="operational")) == {}
    assert values(asked.get(path=["/network-instances"], target="leaf1", datatype="operational")) != {}
    assert values(asked.get(path=["/interfaces"], target="leaf1", datatype="state")) != {}


# ===== SONiC =====


def sonic(asked: gNMIclient, path: str, target: str = "COUNTERS_DB/leaf1") -> Any:
    (found,) = values(asked.get(path=[path], target=target, encoding="json_ietf")).values()
    return found


def test_sonic_tables_have_strings_and_port_names(asked: gNMIclient) -> None:
    assert sonic(asked, "COUNTERS_PORT_NAME_MAP") == {
        "Ethernet0": "oid:0x1000000000001",
        "Ethernet4": "oid:0x1000000000002",
    }
    port = sonic(asked, "COUNTERS/Ethernet0")
    assert port["SAI_PORT_STAT_IF_IN_OCTETS"] == "100"
    assert port["SAI_PORT_STAT_PFC_3_RX_PKTS"] == "7"  # XOFF and XON
    assert "Queues" not in port
    assert sonic(asked, "COUNTERS/Ethernet4/SAI_PORT_STAT_IF_IN_OCTETS") == "100"
    assert sonic(asked, "COUNTERS/oid:0x1000000000002") == sonic(asked, "COUNTERS/Ethernet4")


def test_sonic_wildcards_nest_as_its_own_server_does(asked: gNMIclient) -> None:
    assert sonic(asked, "COUNTERS/Ethernet*/SAI_PORT_STAT_PFC_3_RX_PKTS") == {
        port: {"SAI_PORT_STAT_PFC_3_RX_PKTS": "7"} for port in ("Ethernet0", "Ethernet4")
    }
    queues = {"Ethernet0:3": {"SAI_QUEUE_STAT_PACKETS": "7"}, "Ethernet4:3": {"SAI_QUEUE_STAT_PACKETS": "7"}}
    assert sonic(asked, "COUNTERS/Ethernet*/Queues") == queues
    assert sonic(asked, "COUNTERS/Ethernet4/Queues") == {"Ethernet4:3": queues["Ethernet4:3"]}
    queue = sonic(asked, "COUNTERS_QUEUE_NAME_MAP")["Ethernet4:3"]
    assert sonic(asked, f"COUNTERS/{queue}") == queues["Ethernet4:3"]


def test_the_origin_sonic_db_names_the_database_in_the_path(asked: gNMIclient) -> None:
    path = "sonic-db:COUNTERS_DB/localhost/COUNTERS/Ethernet0/SAI_PORT_STAT_IF_IN_OCTETS"
    assert sonic(asked, path, "leaf1") == "100"


# ===== refusals =====


@pytest.mark.parametrize(
    ("path", "target", "code", "text"),
    [
        ("/interfaces/interface[name=Ethernet8]", "leaf1", "NOT_FOUND", "nothing at /interfaces/interface[name="),
        ("/interfaces/interfaces", "leaf1", "INVALID_ARGUMENT", "it has: interface"),
        ("/interfaces/interface[id=1]", "leaf1", "INVALID_ARGUMENT", "keys: name"),
        ("/system", "leaf1", "INVALID_ARGUMENT", "interfaces, qos, network-instances"),
        ("/interfaces/.../.../.../name", "leaf1", "INVALID_ARGUMENT", "more than 2 '...'"),
        ("/interfaces", "leaf3", "NOT_FOUND", "targets: leaf1, leaf2"),
        ("/interfaces", "host1", "NOT_FOUND", "host1 is a host"),
        ("/interfaces", "", "INVALID_ARGUMENT", "name a switch as target of the prefix: leaf1, leaf2"),
        ("rfc7951:/interfaces", "leaf1", "INVALID_ARGUMENT", "origin 'rfc7951' is unknown"),
        ("COUNTERS", "COUNTERS_DB/leaf1", "INVALID_ARGUMENT", "name a table, or a port"),
        ("COUNTERS/Ethernet0/NONE", "COUNTERS_DB/leaf1", "INVALID_ARGUMENT", "it has: SAI_PORT_STAT"),
        ("COUNTERS/Ethernet8", "COUNTERS_DB/leaf1", "NOT_FOUND", "nothing at"),
        ("COUNTERS/Ethernet0", "COUNTERS_DB", "INVALID_ARGUMENT", "COUNTERS_DB/leaf1"),
        ("PORT", "CONFIG_DB", "UNIMPLEMENTED", "only COUNTERS_DB"),
        ("sonic-db:COUNTERS/Ethernet0", "leaf1", "INVALID_ARGUMENT", "begins with COUNTERS_DB/localhost"),
    ],
)
def test_a_path_that_cannot_be_answered_is_refused_with_its_code(
    asked: gNMIclient, path: str, target: str, code: str, text: str
) -> None:
    with pytest.raises(gNMIException) as caught:
        asked.get(path=[path], target=target)
    assert text in str(caught.value)
    assert caught.value.orig_exc.code() is grpc.StatusCode[code]


def test_an_encoding_that_is_not_served_is_unimplemented_and_set_too() -> None:
    with served(Switches()) as (server, _), grpc.insecure_channel(server.address) as channel:
        stub = gnmi_pb2_grpc.gNMIStub(channel)
        for call, request in (
            (stub.Get, pb.GetRequest(path=[pb.Path()], encoding=pb.Encoding.Value("ASCII"))),
            (stub.Set, pb.SetRequest()),
        ):
            with pytest.raises(grpc.RpcError) as caught:
                call(request, timeout=PATIENCE_S)
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        with pytest.raises(grpc.RpcError) as caught:
            stub.Get(pb.GetRequest(path=[pb.Path()], use_models=[pb.ModelData(name="none")]), timeout=PATIENCE_S)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_run_that_does_not_answer_is_unavailable() -> None:
    switches = Switches()
    switches.error = FabricError("the run has not begun", "ask again")
    with served(switches) as (_, connected), pytest.raises(gNMIException) as caught:
        connected.get(path=[UP], target="leaf1")
    assert caught.value.orig_exc.code() is grpc.StatusCode.UNAVAILABLE


def test_an_address_in_use_is_refused() -> None:
    with served(Switches()) as (server, _), pytest.raises(ListenError, match="Address already in use"):
        GnmiServer(server.address, Switches())


def test_tls_answers_those_with_a_certificate_of_the_authority(tmp_path: Path) -> None:
    make_pki(tmp_path)
    files = TlsFiles(tmp_path / "server.pem", tmp_path / "server.key", tmp_path / "ca.pem")
    with GnmiServer("127.0.0.1:0", Switches(), files) as server:
        root = str(tmp_path / "ca.pem")
        pair = {"path_cert": str(tmp_path / "operator.pem"), "path_key": str(tmp_path / "operator.key")}
        with client(server.address, insecure=False, path_root=root, **pair) as connected:
            assert values(connected.get(path=[UP], target="leaf1"))
        strange = grpc.ssl_channel_credentials((tmp_path / "ca.pem").read_bytes())
        with grpc.secure_channel(server.address, strange) as channel, pytest.raises(grpc.RpcError) as caught:
            gnmi_pb2_grpc.gNMIStub(channel).Capabilities(pb.CapabilityRequest(), timeout=5)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
