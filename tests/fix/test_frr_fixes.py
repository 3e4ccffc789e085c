"""Fixes of a switch whose routing is in a file of FRR: these lines are written there, for `vtysh`, and no others."""

from __future__ import annotations

import difflib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.validate.fix import frr
from fabric.validate.fix.files import patches, write_copies
from fabric.validate.fix.search import find
from fabric.validate.fix.state import State
from fabric.validate.judge import Request, judge
from tests.fix.fix_trials import plan_of, warned
from tests.mistakes import frr as fabric_of_frr
from tests.mistakes.mistake import Edit, replaced, write

_PEER = " neighbor 10.1.0.1 remote-as 65000\n"
_EVPN = "l2vpn evpn\n"


def _fabric(folder: Path, edit: Edit, interior: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    files = fabric_of_frr.good(loopbacks=bool(interior))
    files["leaf1.frr.conf"] = edit(files["leaf1.frr.conf"])
    write("sonic", files, folder)
    return folder


def _changed(state: State) -> tuple[set[str], set[str]]:
    """Lines that go, and lines that come, in all files."""
    gone, come = set(), set()
    for file, text in state.contents.items():
        for row in difflib.ndiff(Path(file).read_text(encoding="utf-8").split("\n"), text.split("\n")):
            (gone if row[:1] == "-" else come if row[:1] == "+" else set()).add(row[2:].strip())
    return gone, come


def _flat(text: str) -> str:
    return "\n".join(row.strip() for row in text.split("\n"))


_MISTAKES = [
    ("", replaced(_PEER, _PEER.replace("65000", "65001")), {"neighbor 10.1.0.1 remote-as 65001"},
     {"neighbor 10.1.0.1 remote-as 65000"}),
    ("", replaced(_PEER, f"{_PEER} neighbor 10.1.0.1 shutdown\n"), {"neighbor 10.1.0.1 shutdown"}, set()),
    ("", replaced("timers bgp 3 9", "timers bgp 9 3"), {"timers bgp 9 3"}, {"timers bgp 3 9"}),
    ("", replaced("  network 10.0.0.1/32\n", ""), set(), {"network 10.0.0.1/32"}),
    ("", replaced("  advertise-all-vni\n", ""), set(), {"advertise-all-vni"}),
    ("", replaced("  maximum-paths 4\n", "  maximum-paths 4\n  distance bgp 255 255 255\n"),
     {"distance bgp 255 255 255"}, set()),
    ("", replaced(" no bgp ebgp-requires-policy\n", ""), set(), {"no bgp ebgp-requires-policy"}),
    ("", replaced("  neighbor 10.1.0.1 activate\n", "", after=_EVPN), set(), {"neighbor 10.1.0.1 activate"}),
    ("", replaced("10.1.0.1 activate\n", "10.1.0.1 activate\n  neighbor 10.1.0.1 route-map NO in\n"),
     {"neighbor 10.1.0.1 route-map NO in"}, set()),
    ("ospf", replaced(" ip ospf area 0\n", " ip ospf area 3\n"), {"ip ospf area 3"}, {"ip ospf area 0.0.0.0"}),
    ("ospf", replaced(" neighbor OVERLAY update-source Loopback0\n", ""), set(),
     {"neighbor OVERLAY update-source Loopback0"}),
    ("ospf", replaced("peer-group OVERLAY\n", "peer-group OVERLAI\n"), {"neighbor 10.0.0.11 peer-group OVERLAI"},
     {"neighbor 10.0.0.11 peer-group OVERLAY"}),
]  # fmt: skip


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(("interior", "edit", "gone", "come"), _MISTAKES)
def test_a_fix_changes_the_lines_of_the_mistake(
    interior: str, edit: Edit, gone: set[str], come: set[str], flat: bool, tmp_path: Path
) -> None:
    folder = _fabric(tmp_path / "broken", (lambda text: _flat(edit(text))) if flat else edit, interior)
    plan = plan_of(folder)
    assert (len(plan.gone), len(plan.new)) == (len(plan.asked), 0)
    assert _changed(plan.end) == (gone, come)
    write_copies(plan, tmp_path / "copies")
    assert warned(tmp_path / "copies") == set()
    if program := shutil.which("vtysh"):
        command = [program, "-C", "-f", tmp_path / "copies" / "leaf1.frr.conf"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_lines_are_a_list_for_vtysh_and_no_patch(tmp_path: Path) -> None:
    edit = replaced("  neighbor 10.1.0.1 activate\n", "", after=_EVPN)
    found = patches(plan_of(_fabric(tmp_path, edit)))
    assert list(found) == ["leaf1.commands.txt"]
    assert found["leaf1.commands.txt"].split("\n") == [
        "! in vtysh",
        "configure terminal",
        "! set neighbor 10.1.0.1 evpn to activate",
        "router bgp 65101",
        "address-family l2vpn evpn",
        "neighbor 10.1.0.1 activate",
        "exit",
        "exit",
        "end",
        "write memory",
        "",
    ]


def test_a_switch_has_a_patch_of_its_tables_beside_the_list(tmp_path: Path) -> None:
    folder = _fabric(tmp_path, replaced("timers bgp 3 9", "timers bgp 9 3"))
    tree = json.loads((folder / "leaf1.json").read_text(encoding="utf-8"))
    tree["PORT"]["Ethernet24"]["mtu"] = "1500"
    (folder / "leaf1.json").write_text(json.dumps(tree, indent=2), encoding="utf-8")
    plan = plan_of(folder)
    found = patches(plan)
    assert sorted(found) == ["leaf1.commands.txt", "leaf1.patch.json"]
    assert [it["path"] for it in json.loads(found["leaf1.patch.json"])] == ["/PORT/Ethernet24/mtu"] * 2
    assert not plan.end.bad


def test_an_own_as_number_is_changed_in_the_file_for_the_shell(tmp_path: Path) -> None:
    plan = plan_of(_fabric(tmp_path, replaced("router bgp 65101", "router bgp 65109")))
    assert not plan.end.bad
    assert _changed(plan.end) == ({"router bgp 65109"}, {"router bgp 65101"})
    (line,) = [it for it in patches(plan)["leaf1.commands.txt"].split("\n") if "sed" in it]
    assert line.endswith(
        r"sed -i 's/^router bgp 65109\b/router bgp 65101/' /etc/sonic/frr/frr.conf && systemctl restart bgp"
    )


def test_sarif_replaces_the_line_of_frr_s_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _fabric(tmp_path, replaced("timers bgp 3 9", "timers bgp 9 3"))
    main(["validate", str(folder), "--fix", "-", "--format", "sarif"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    changes = [change for it in results for fix in it.get("fixes", []) for change in fix["artifactChanges"]]
    assert {Path(it["artifactLocation"]["uri"]).name for it in changes} == {"leaf1.frr.conf"}


def test_what_a_baseline_states_comes_back(tmp_path: Path) -> None:
    edit = replaced(" bgp router-id 10.0.0.1\n", " bgp router-id 10.0.0.2\n")
    good = _fabric(tmp_path / "good", str)
    request = Request([_fabric(tmp_path / "broken", edit)], baseline=good)
    plan = find(request, judge(request))
    assert _changed(plan.end) == ({"bgp router-id 10.0.0.2"}, {"bgp router-id 10.0.0.1"})


def test_files_of_a_folder_beside_are_copied(tmp_path: Path) -> None:
    files = fabric_of_frr.good()
    folders = []
    for name in [it.removesuffix(".frr.conf") for it in files if it.endswith(".frr.conf")]:
        folder = tmp_path / "etc" / name
        (folder / "frr").mkdir(parents=True)
        write("sonic", {"config_db.json": files[f"{name}.json"]}, folder)
        text = files[f"{name}.frr.conf"]
        (folder / "frr" / "bgpd.conf").write_text(text.replace("bgp 3 9", "bgp 9 3") if name == "leaf1" else text)
        folders.append(folder)
    for name in ("topology.json", "hosts.json"):
        write("sonic", {name: files[name]}, tmp_path)
    request = Request(folders, links=tmp_path / "topology.json", hosts=tmp_path / "hosts.json")
    plan = find(request, judge(request))
    write_copies(plan, tmp_path / "copies")
    assert "timers bgp 3 9" in (tmp_path / "copies" / "leaf1" / "frr" / "bgpd.conf").read_text(encoding="utf-8")
    assert (tmp_path / "copies" / "spine2" / "frr" / "bgpd.conf").is_file()


_TEXT = """\
frr defaults datacenter
!
router bgp 1
 neighbor 10.0.0.1 remote-as 2
 neighbor Ethernet8 interface remote-as 3
 !
 address-family ipv4
  neighbor 10.0.0.1 route-map IN in
  neighbor 10.0.0.1 route-map OUT out
 exit-address-family
exit
!
router bgp 1 vrf RED
 neighbor 10.9.0.1 remote-as 9
exit
!
end
"""
_UNICAST = ("router bgp 1", "address-family ipv4 unicast")


@pytest.mark.parametrize(
    ("statements", "gone", "come"),
    [
        (("router bgp 1", "neighbor 10.0.0.1 bfd"), [], [(5, " neighbor 10.0.0.1 bfd")]),
        (("router bgp 1", "neighbor Ethernet8 remote-as 4"), [" neighbor Ethernet8 interface remote-as 3"],
         [(4, " neighbor Ethernet8 interface remote-as 4")]),
        ((*_UNICAST, "neighbor 10.0.0.1 route-map NEW out"), ["  neighbor 10.0.0.1 route-map OUT out"],
         [(8, "  neighbor 10.0.0.1 route-map NEW out")]),
        ((*_UNICAST, "no neighbor 10.0.0.1 activate"), [], [(9, "  no neighbor 10.0.0.1 activate")]),
        (("router bgp 1", "address-family l2vpn evpn", "advertise-all-vni"), [],
         [(10, " address-family l2vpn evpn"), (11, "  advertise-all-vni"), (12, " exit-address-family")]),
        (("router bgp 1 vrf RED", "neighbor 10.9.0.1 remote-as 8"), [" neighbor 10.9.0.1 remote-as 9"],
         [(13, " neighbor 10.9.0.1 remote-as 8")]),
        (("interface Ethernet0", "ip ospf area 0"), [],
         [(15, "!"), (16, "interface Ethernet0"), (17, " ip ospf area 0"), (18, "exit")]),
        (("ip route 10.0.0.0/8 10.0.0.1",), [], [(2, "ip route 10.0.0.0/8 10.0.0.1")]),
        (("router bgp 1", "neighbor 10.0.0.1 remote-as 2"), [], []),
    ],
)  # fmt: skip
def test_a_line_goes_where_vtysh_would_put_it(
    statements: tuple[str, ...], gone: list[str], come: list[tuple[int, str]]
) -> None:
    old, new = _TEXT.split("\n"), frr.applied(_TEXT, statements).split("\n")
    rows = [it for it in difflib.ndiff(old, new) if it[0] in "+-"]
    assert [it[2:] for it in rows if it[0] == "-"] == gone
    assert sorted(it[2:] for it in rows if it[0] == "+") == sorted(text for _, text in come)
    assert all(new[at] == text for at, text in come if text != "!")
    assert frr.applied("\n".join(new), statements) == "\n".join(new)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (("route-map OUT permit 10", "match tag 7"), "route-map OUT permit 10\n match tag 7\nexit\n"),
        (("route-map OUT permit 20",), "route-map OUT deny 10\n match tag 5\nexit\n!\nroute-map OUT permit 20\nexit\n"),
        (("no route-map OUT permit 10",), ""),
    ],
)
def test_an_entry_of_a_route_map_is_its_name_and_number(statements: tuple[str, ...], expected: str) -> None:
    """As bgpd has it: the other action takes its place, and `no` of either action removes it."""
    text = "frr defaults datacenter\n!\n{}!\nend\n"
    old = text.format("route-map OUT deny 10\n match tag 5\nexit\n")
    assert frr.applied(old, statements) == text.format(expected)


def test_a_password_is_taken_away_without_being_shown(tmp_path: Path) -> None:
    edit = replaced(_PEER, f"{_PEER} neighbor 10.1.0.1 password geheim\n")
    request = Request([_fabric(tmp_path / "broken", edit)], baseline=_fabric(tmp_path / "good", str))
    plan = find(request, judge(request))
    assert _changed(plan.end)[0] == {"neighbor 10.1.0.1 password geheim"}
    assert "geheim" not in "".join(patches(plan).values())
