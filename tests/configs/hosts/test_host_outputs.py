"""Outputs of hosts' tools: every form that is read, and what is listed as not understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.hosts.load import load_hosts
from fabric.configs.hosts.sections import sections
from fabric.configs.load import _hosts, load_network
from fabric.configs.network import Host
from fabric.errors import InputErrors
from tests.mistakes.captures import AMD, BROADCOM, MLX5, OUTPUTS, VF


def host(folder: Path, text: str, *, file: str = "outputs.txt") -> Host:
    """The host of one folder with one file."""
    (folder / "host1").mkdir(exist_ok=True)
    (folder / "host1" / file).write_text(text, encoding="utf-8")
    return load_hosts(folder, None).hosts["host1"]


@pytest.mark.parametrize(
    ("kind", "device", "tool"),
    [(MLX5, "mlx5_0", "mlnx_qos"), (AMD, "ionic_0", "nicctl"), (BROADCOM, "bnxt_re0", "niccli")],
)
def test_each_vendors_outputs_say_the_same_of_a_healthy_nic(kind: str, device: str, tool: str, tmp_path: Path) -> None:
    found = host(tmp_path, OUTPUTS[kind])
    assert (found.trust, found.pfc_enable, found.cnp_dscp, found.cc) == ("dscp", {3}, 48, "dcqcn")
    assert found.ecn_np_enable is not None
    assert 3 in found.ecn_np_enable
    assert list(found.nics) == ["eth0"]
    nic = found.captured
    assert nic is not None
    assert (nic.interface, nic.device, nic.tool) == ("eth0", device, tool)
    assert (nic.priorities[26].value, nic.priorities[0].value) == (3, 0)
    assert {mark.tclass.dscp for mark in nic.marks} == {26}
    assert not load_hosts(tmp_path, None).unread


def test_a_terminal_s_prompts_are_headings_as_well(tmp_path: Path) -> None:
    text = OUTPUTS[MLX5].replace("### ", "root@host1:~# ")
    assert {it.tool for it in sections(text, "x")} == {it.tool for it in sections(OUTPUTS[MLX5], "x")}
    assert host(tmp_path, text).pfc_enable == {3}


def test_a_file_says_by_its_name_which_command_wrote_it(tmp_path: Path) -> None:
    text = OUTPUTS[MLX5]
    host(tmp_path, text[text.index("DCBX") : text.index("### sysfs")], file="mlnx_qos.ens1f0np0.txt")
    host(tmp_path, "104\n", file="cma_roce_tos.mlx5_7.txt")
    found = host(tmp_path, "export NCCL_IB_TC=104\nPATH=/bin\n", file="env.txt")
    assert list(found.nics) == ["ens1f0np0"]
    assert found.captured is not None
    assert found.captured.tclasses["mlx5_7"].cm_default is not None
    assert [mark.words for mark in found.captured.marks] == ["NCCL_IB_TC=104"]


def test_a_copy_of_sysfs_is_read_by_its_paths(tmp_path: Path) -> None:
    folder = tmp_path / "host1" / "sys/class/net/eth0/ecn/roce_rp/enable"
    folder.mkdir(parents=True)
    for priority in range(8):
        (folder / str(priority)).write_text("1\n" if priority == 3 else "0\n", encoding="utf-8")
    assert load_hosts(tmp_path, None).hosts["host1"].ecn_rp_enable == {3}


def test_a_vf_has_a_traffic_class_of_its_own(tmp_path: Path) -> None:
    found = host(tmp_path, VF + OUTPUTS[MLX5]).captured
    assert found is not None
    assert [(vf.name, vf.device) for vf in found.vfs] == [("eth0v0", "mlx5_2")]
    override = found.tclass("mlx5_2").override
    assert override is not None
    assert override.dscp == 26
    assert found.tclass("mlx5_0").override is None


def test_the_vlan_priority_of_a_vf_is_read_from_its_port(tmp_path: Path) -> None:
    lines = (
        "3: eth0: <BROADCAST,UP> mtu 9000\n    link/ether aa brd ff\n"
        "    vf 0     link/ether 5a brd ff, vlan 100, qos 5, max_tx_rate 10000Mbps, trust off\n"
    )
    text = OUTPUTS[MLX5].replace("### rdma link", f"### ip link show\n{lines}### rdma link")
    found = host(tmp_path, text).captured
    assert found is not None
    assert [vf.vlan_priority and vf.vlan_priority.value for vf in found.vfs] == [5]
    assert [it.roce for it in load_hosts(tmp_path, None).unjudged] == ["rate limit"]


def test_two_nics_of_a_host_are_told_apart_by_the_link(tmp_path: Path) -> None:
    text = OUTPUTS[MLX5]
    second = text[text.index("### mlnx_qos") : text.index("### sysfs")].replace("eth0", "eth1")
    second = second.replace("0   0   0   1   0   0   0   0\n\tbuffer", "0   0   0   0   0   0   0   0\n\tbuffer")
    found = host(tmp_path, text.replace("### sysfs", f"{second}### sysfs"))
    assert {name: nic.pfc_enable for name, nic in found.nics.items()} == {"eth0": {3}, "eth1": set()}


def test_a_hosts_file_beside_the_outputs_says_what_they_leave_open(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("default: {roce_dscp: 30, rdma_timeout: 14}\n", encoding="utf-8")
    host_folder = tmp_path / "host1"
    host_folder.mkdir()
    (host_folder / "outputs.txt").write_text(OUTPUTS[MLX5], encoding="utf-8")
    found = _hosts(tmp_path).hosts["host1"]
    assert (found.roce_dscp, found.rdma_timeout, found.pfc_enable) == (30, 14, {3})


def test_lines_that_no_reader_knows_are_listed_with_their_place(tmp_path: Path) -> None:
    text = OUTPUTS[MLX5].replace("Cable len: 7", "Cable len: 7\nSome new line: 5").replace("TC=106", "TC=1060")
    host(tmp_path, text)
    (tmp_path / "host1" / "notes.txt").write_text("call Anna\n", encoding="utf-8")
    (tmp_path / "host1" / "empty.txt").write_text("", encoding="utf-8")
    found = load_hosts(tmp_path, None)
    assert [(it.place.line, it.what) for it in found.unread] == [
        (1, "'call Anna': no output of a command that is read"),
        (23, "'Some new line: 5'"),
        (55, "'NCCL_IB_TC=1060'"),
    ]
    marks = found.hosts["host1"].captured
    assert marks is not None
    assert [it.library for it in marks.marks] == ["UCX"], "what NCCL does with such a value is not known"


def test_a_folder_of_hosts_in_the_folder_of_switches_is_found(tmp_path: Path) -> None:
    (tmp_path / "leaf1.json").write_text('{"PORT": {"Ethernet0": {"speed": "100000"}}}', encoding="utf-8")
    (tmp_path / "hosts" / "host1").mkdir(parents=True)
    (tmp_path / "hosts" / "host1" / "outputs.txt").write_text(OUTPUTS[AMD], encoding="utf-8")
    network = load_network([tmp_path])
    assert list(network.hosts) == ["host1"]
    assert not network.unread


def test_a_folder_without_hosts_and_two_hosts_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputErrors, match="no host in this folder"):
        load_hosts(tmp_path, None)
    for name in ("hosts.yml", "hosts.json"):
        (tmp_path / name).write_text('{"default": {"mtu": 9000}}', encoding="utf-8")
    with pytest.raises(InputErrors, match="remove one of them"):
        _hosts(tmp_path)
