"""A running-config of which the end is missing fails, and so does a part of a switch that the baseline has."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.configs.load import load_network
from fabric.configs.registry import LANGUAGES
from fabric.configs.running_config.beginnings import begins
from fabric.errors import InputErrors
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.fix.search import find
from fabric.validate.judge import Request, judge
from fabric.validate.runner import validate
from tests.mistakes import frr
from tests.mistakes.mistake import good, write

LEAF = "leaf1.cfg"
HEADER = "! Command: show running-config\n! device: leaf1 (DCS-7060X5, EOS-4.32.2F)\n!\n"


def folder_of(language: str, path: Path, leaf1: str | None = None) -> Path:
    files = good(language)
    if leaf1 is not None:
        files[LEAF] = leaf1
    path.mkdir()
    write(language, files, path)
    return path


def cuts(folder: Path) -> list[Finding]:
    return list(validate(load_network([folder]), only={"R13"}).findings)


@pytest.mark.parametrize("language", ["eos", "nxos", "nvue"])
def test_a_file_cut_anywhere_fails(language: str, tmp_path: Path) -> None:
    folder = folder_of(language, tmp_path / "new")
    file = next(it for it in folder.iterdir() if it.stem == "leaf1")
    whole = file.read_text(encoding="utf-8")
    for percent in range(12, 93, 16):
        file.write_text(whole[: len(whole) * percent // 100], encoding="utf-8")
        try:
            assert validate(load_network([folder])).reaches(Severity.ERROR), percent
        except InputErrors:
            assert language == "nvue", percent  # no YAML any more


@pytest.mark.parametrize(("language", "word"), [("eos", "interface Et"), ("nxos", "priorit")])
def test_a_last_line_that_is_no_whole_command_is_a_cut(language: str, word: str, tmp_path: Path) -> None:
    text = good(language)[LEAF]
    folder = folder_of(language, tmp_path / "new", text[: text.index("interface Ethernet")] + word)
    (found,) = cuts(folder)
    assert (found.check.id, found.device, found.severity) == ("R13", "leaf1", Severity.ERROR)
    assert f"'{word}'" in found.text
    plan = find(Request([folder]), judge(Request([folder])))
    assert not plan.changes
    assert all("is cut (R13)" in it.reason for it in plan.left if "leaf1" in it.cause.devices)


def test_a_section_at_the_end_without_lines_is_a_cut_where_no_newline_ends_it(tmp_path: Path) -> None:
    text = good("nxos")[LEAF]
    begin = text[: text.index("interface Ethernet1/3") + len("interface Ethernet1/3")]
    (found,) = cuts(folder_of("nxos", tmp_path / "new", begin))
    assert "begins a section without lines" in found.text


def test_eos_output_without_its_end_is_a_cut(tmp_path: Path) -> None:
    text = good("eos")[LEAF].rstrip()
    body = text.removesuffix("end").rstrip() + "\n"
    (found,) = cuts(folder_of("eos", tmp_path / "a", HEADER + body))
    assert "'end'" in found.text
    assert cuts(folder_of("eos", tmp_path / "b", HEADER + body + "end")) == []
    part = HEADER.replace("running-config", "running-config | section interface|router|qos")
    assert cuts(folder_of("eos", tmp_path / "c", part + body)) == []
    assert cuts(folder_of("eos", tmp_path / "d", body)) == []  # written by hand: no command has made it


@pytest.mark.parametrize("last", ["end\nleaf1#", "end\n\nleaf1#exit\n", "end\nleaf1(s1)#"])
def test_eos_output_recorded_with_its_prompt_is_whole(last: str, tmp_path: Path) -> None:
    body = good("eos")[LEAF].rstrip().removesuffix("end").rstrip() + "\n"
    assert cuts(folder_of("eos", tmp_path / "a", HEADER + body + last)) == []
    (found,) = cuts(folder_of("eos", tmp_path / "b", f"{HEADER}banner login\nend\nEOF\n{body}"))
    assert "'end'" in found.text


@pytest.mark.parametrize(
    ("language", "last"),
    [
        ("nxos", "boot nxos bootflash:/nxos64-cs.10.3.4a.M.bin"),
        ("nxos", "no logging console"),
        ("nxos", "line console\nline vty"),
        ("nxos", "line vty\n  exec-timeout 30"),
        ("nxos", "router bgp 65001\n  router-id 10.0.0.1"),
        ("nxos", "interface Vlan99\n  vrf member RED"),
        ("eos", "queue-monitor streaming\n   no shutdown"),
        ("eos", "queue-monitor streaming"),
        ("eos", "router bgp 65001\n   neighbor 10.9.9.9 remote-as 65009"),
        ("eos", "vrf instance RED"),
    ],
)
def test_a_good_file_without_its_last_newline_is_whole(language: str, last: str, tmp_path: Path) -> None:
    text = good(language)[LEAF].rstrip().removesuffix("end").rstrip()
    assert cuts(folder_of(language, tmp_path / "new", f"{text}\n{last}")) == []


@pytest.mark.parametrize("language", ["eos", "nxos"])
def test_no_whole_line_is_taken_for_the_beginning_of_another(language: str) -> None:
    """The file, ended after each of its lines without a newline: no line of a good file is half of another one."""
    rows = good(language)[LEAF].rstrip().split("\n")
    for number in range(1, len(rows) + 1):
        found = LANGUAGES[language]("\n".join(rows[:number]), LEAF).defects
        assert all("without lines" in it.text for it in found if it.check == "R13"), rows[number - 1]


def test_a_port_of_nvue_needs_no_line(tmp_path: Path) -> None:
    files = good("nvue")
    tree = files["leaf1.yaml"]
    neighbors = tree["vrf"]["default"]["router"]["bgp"]["neighbor"]
    neighbors.clear()
    neighbors["swp3"] = {"type": "unnumbered", "remote-as": "external"}
    del tree["interface"]
    write("nvue", files, tmp_path)
    assert cuts(tmp_path) == []
    for part in ("router", "vrf"):
        tree.pop(part)
    write("nvue", files, tmp_path)
    assert [it.device for it in cuts(tmp_path)] == ["leaf1"]


def _cut_frr(folder: Path) -> Path:
    """leaf1's file of FRR stops inside a word, and PFC of an uplink is wrong."""
    files = frr.good()
    text = files["leaf1.frr.conf"]
    files["leaf1.frr.conf"] = text[: text.index(" neighbor 10.1.0.3 remote-as")] + " neig"
    rows = files["leaf1.json"]["PORT_QOS_MAP"]
    rows[next(it for it in rows if it.startswith("Ethernet24"))]["pfc_enable"] = "4"
    write("sonic", files, folder)
    return folder


def test_a_cut_file_of_frr_is_a_cause_of_its_own(tmp_path: Path) -> None:
    (found,) = cuts(_cut_frr(tmp_path))
    assert (found.object, found.root) == ("leaf1.frr.conf", ("leaf1", ("leaf1.frr.conf",)))
    assert found.text.startswith("leaf1.frr.conf: its last line, 'neig'")


def test_qos_of_a_switch_is_repaired_where_its_file_of_frr_is_cut(tmp_path: Path) -> None:
    request = Request([_cut_frr(tmp_path)])
    plan = find(request, judge(request))
    assert [(it.device, it.rows[0].path[0]) for step in plan.steps for it in step.changes] == [
        ("leaf1", "PORT_QOS_MAP")
    ]
    routing = [it for it in plan.left if it.cause.check.id[0] in "PV"]
    assert routing
    assert all("the file of leaf1 is cut (R13)" in it.reason for it in routing)


def test_the_last_line_is_that_of_the_last_block(tmp_path: Path) -> None:
    """It is below a line that no reader knows, whose head is not the end of the file."""
    text = good("nxos")[LEAF].rstrip() + "\nprior\n  exec-timeout 30"
    assert cuts(folder_of("nxos", tmp_path / "new", text)) == []


@pytest.mark.parametrize(
    ("text", "pattern", "found"),
    [
        ("interface Et", r"interface (Ethernet\S+)", True),
        ("interface", r"interface (?P<name>Ethernet\S+|Vlan(\d+))", True),
        ("mtu ", r"mtu (\d{2,5})", True),
        ("mtu 9x", r"mtu (\d{2,5})", False),
        ("exec-timeout 30", r"(?:no )?extended .*", False),
        ("anything", r"(\S+) remote-as (\d+)", False),
        ("no ip addr", r"(no )?(?:ip )?address [\d./]+", True),
        ("a b b", r"a(?: b)* c", True),
        ("boot", r"boo(?!t)", False),
    ],
)
def test_beginnings(text: str, pattern: str, found: bool) -> None:
    assert begins(text, pattern) is found


def test_ports_that_the_links_name_and_no_line_has_are_a_cut(tmp_path: Path) -> None:
    text = good("nxos")[LEAF]
    links = tmp_path / "links.yml"
    links.write_text(
        "links:\n- {a: [leaf1, Ethernet1/3], b: [spine1, Ethernet1/1]}\n"
        "- {a: [leaf2, Ethernet1/3], b: [spine1, Ethernet1/2]}\n",
        encoding="utf-8",
    )

    def found(name: str, leaf1: str) -> list[str]:
        network = load_network([folder_of("nxos", tmp_path / name, leaf1)], links=links)
        return [it.text for it in validate(network, only={"R13"}).findings]

    assert "the links name 1 port" in found("a", text[: text.index("interface Ethernet")])[0]
    assert found("b", text) == []


@pytest.mark.parametrize("language", ["eos", "nxos"])
def test_parts_that_only_the_baseline_has_fail(language: str, tmp_path: Path) -> None:
    text = good(language)[LEAF]
    old = folder_of(language, tmp_path / "old")
    new = folder_of(language, tmp_path / "new", text[: text.index("interface Ethernet")])
    lost = {it.object for it in judge(Request([new], baseline=old)).findings if it.check.id == "R11"}
    assert {"ports", "BGP"} <= lost <= {"ports", "BGP", "VXLAN"}  # NX-OS states VNIs at VLANs, which are before the cut
    assert main(["validate", str(new), "--baseline", str(old)]) == 1
    assert judge(Request([old], baseline=old)).findings == ()
