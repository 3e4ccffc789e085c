"""Mistakes of parts 13 to 15 of the corpus in the other languages, and what is like them and right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mistakes.mistake import Edit, Mistake, both, put, replaced
from tests.mistakes.score import scores
from tests.mistakes.tree_edits import each, sonic_lag, updated
from tests.validate.test_slips import found

_PORTS = {"eos": "interface Ethernet3/1\n", "nxos": "interface Ethernet1/3\n"}
_SPINE_PORTS = {"eos": "interface Ethernet1/1\n", "nxos": "interface Ethernet1/1\n"}
_NAMES = {"eos": "Port-Channel10", "nxos": "port-channel10"}
_INDENTS = {"eos": "   ", "nxos": "  "}
_MEMBERS = {"eos": "port-channel min-links 2", "nxos": "lacp min-links 2"}


def _lag(language: str, *lines: str) -> Edit:
    """The cable between leaf1 and spine1 as a LAG at both ends, with more lines at leaf1."""
    indent = _INDENTS[language]

    def edit(text: str) -> str:
        switch = text.split("hostname ")[1].split("\n", maxsplit=1)[0]
        if switch not in {"leaf1", "spine1"}:
            return text
        own = f"{indent}ip address 10.1.0.{0 if switch == 'leaf1' else 1}/31\n"
        header = (_PORTS if switch == "leaf1" else _SPINE_PORTS)[language]
        more = "".join(f"{indent}{line}\n" for line in lines) if switch == "leaf1" else ""
        mtu = "" if "mtu" in more else f"{indent}mtu 9214\n"
        bundle = f"interface {_NAMES[language]}\n{indent}no switchport\n{mtu}{own}{more}"
        text = replaced(own, f"{indent}channel-group 10 mode active\n", after=header)(text)
        text = text.replace("feature bgp\n", "feature bgp\nfeature lacp\n")  # which NX-OS asks for
        return replaced("interface ", f"{bundle}interface ", after="interface ")(text)

    return edit


def _first_cause(case: Mistake, folder: Path) -> None:
    (score,) = scores(folder, [case])
    assert score.first, score.message


@pytest.mark.parametrize("language", ["eos", "nxos"])
@pytest.mark.parametrize(
    ("line", "checks", "where"), [("shutdown", "L8", "is down"), ("", "L8", "min-links"), ("mtu 1500", "L4", "1500")]
)
def test_a_lag_that_its_own_lines_hold_back_is_named(
    language: str, line: str, checks: str, where: str, tmp_path: Path
) -> None:
    edit = _lag(language, line or _MEMBERS[language])
    _first_cause(Mistake(language, "a LAG", checks, "leaf1", where, "*.cfg", edit), tmp_path)


@pytest.mark.parametrize("language", ["eos", "nxos"])
def test_bfd_at_one_end_is_named(language: str, tmp_path: Path) -> None:
    edit = (
        replaced(
            "   neighbor 10.1.0.1 remote-as 65000\n", "   neighbor 10.1.0.1 remote-as 65000\n   neighbor 10.1.0.1 bfd\n"
        )
        if language == "eos"
        else both(
            replaced("feature bgp\n", "feature bgp\nfeature bfd\n"),
            replaced("    remote-as 65000\n", "    remote-as 65000\n    bfd\n"),
        )
    )
    _first_cause(Mistake(language, "BFD", "P24", "spine1", "10.1.0.0", "leaf1.cfg", edit), tmp_path)


@pytest.mark.parametrize("language", ["eos", "nxos"])
def test_a_port_of_400g_without_fec_is_named(language: str, tmp_path: Path) -> None:
    line = "no error-correction encoding" if language == "eos" else "fec off"

    def edit(text: str) -> str:
        return "\n".join(
            f"{row[: len(row) - len(row.lstrip())]}{line}"
            if "error-correction" in row or row.strip().startswith("fec ")
            else row
            for row in text.splitlines()
        )

    _first_cause(Mistake(language, "FEC", "L5", "leaf1 leaf2 spine1 spine2", "400G", "*.cfg", edit), tmp_path)


@pytest.mark.parametrize("language", ["eos", "nxos"])
@pytest.mark.parametrize("gateway", ["10.1.0.0", "Ethernet40 10.1.0.1"])
def test_a_static_route_that_misleads_is_named(language: str, gateway: str, tmp_path: Path) -> None:
    port = "Ethernet4/1" if language == "eos" else "Ethernet1/4"
    line = f"ip route 10.0.0.2/32 {gateway.replace('Ethernet40', port)}\n"
    case = Mistake(
        language, "a route", "D13", "leaf1", "10.0.0.2", "leaf1.cfg", replaced("router bgp", f"{line}router bgp")
    )
    _first_cause(case, tmp_path)


def test_a_link_is_shut_at_both_ends_with_its_session_on_purpose(tmp_path: Path) -> None:
    """What is left to say is the capacity."""
    down = {"admin_status": "down"}
    case = Mistake(
        "sonic",
        "drained",
        "D4",
        "leaf1",
        "",
        "*[12].json",
        each(
            leaf1=both(updated("PORT", "Ethernet24", **down), updated("BGP_NEIGHBOR", "10.1.0.1", **down)),
            spine1=both(updated("PORT", "Ethernet8", **down), updated("BGP_NEIGHBOR", "10.1.0.0", **down)),
        ),
    )
    (score,) = scores(tmp_path, [case])
    assert "L12" not in score.message


def test_a_lag_that_is_shut_at_both_ends_is_meant(tmp_path: Path) -> None:
    case = Mistake(
        "sonic",
        "drained",
        "L8",
        "leaf1",
        "",
        "*[12].json",
        each(leaf1=sonic_lag("Ethernet24", admin_status="down"), spine1=sonic_lag("Ethernet8", admin_status="down")),
    )
    (score,) = scores(tmp_path, [case])
    assert "L8" not in score.message


@pytest.mark.parametrize(
    ("hosts", "milliseconds", "named"), [(None, 5000, False), (14, 1000, True), (14, 400, False), (None, 8000, True)]
)
def test_a_late_restoration_is_measured_by_the_patience_of_the_hosts(
    hosts: int | None, milliseconds: int, named: bool, tmp_path: Path
) -> None:
    def edit(content: object) -> object:
        if isinstance(content, str):
            return content.replace('"mtu": 9000', f'"rdma_timeout": {hosts}, "mtu": 9000') if hosts else content
        assert isinstance(content, dict)
        return put("PFC_WD", "Ethernet8", "restoration_time", value=str(milliseconds))(content)

    case = Mistake("sonic", "late", "W4", "leaf1 leaf2 spine1 spine2", "restored", "[hls]*.json", edit)
    (score,) = scores(tmp_path, [case])
    assert score.found is named, score.message


def test_a_static_threshold_in_kilobytes_is_named(tmp_path: Path) -> None:
    edit = both(
        put("BUFFER_POOL", "ingress_lossless_pool", "mode", value="static"),
        *(
            put("BUFFER_PROFILE", f"pg_lossless_400000_{metres}m_profile", field, value=value)
            for metres in (5, 40)
            for field, value in (("static_th", "200"), ("dynamic_th", None))
            if value
        ),
        lambda tree: {
            **tree,
            "BUFFER_PROFILE": {
                name: {key: it for key, it in row.items() if key != "dynamic_th" or "static_th" not in row}
                for name, row in tree["BUFFER_PROFILE"].items()
            },
        },
    )
    text, _ = found("sonic", tmp_path, edit)["B3"]
    assert "static_th 200 B" in text


@pytest.mark.parametrize("language", ["eos", "nxos"])
def test_a_vlan_with_one_host_and_nothing_else_is_named(language: str, tmp_path: Path) -> None:
    before = "vlan 100\n"
    edit = both(
        replaced(before, f"vlan 10\n{'!' if language == 'eos' else ''}\n{before}".replace("\n\n", "\n")),
        replaced("access vlan 100", "access vlan 10"),
    )
    text, _ = found(language, tmp_path, edit)["L13"]
    assert "alone in VLAN 10" in text
