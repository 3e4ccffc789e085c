"""Host and switch, one verdict: a working fabric with outputs of its hosts' tools, and one mistake between the two."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.mistakes import captures, mistake
from tests.mistakes.captures import AMD, BROADCOM, Edit, with_vf, without
from tests.mistakes.mistake import LANGUAGES, both, everywhere, put, replaced

LAST: Final[Mapping[str, str]] = {"sonic": AMD, "eos": BROADCOM, "nxos": AMD, "nvue": BROADCOM}
"""Whose NIC host4 has, in the fabric of a language; the others have mlx5."""


@dataclass(frozen=True)
class HostMistake:
    """One mistake of a host or of a switch that a host depends on, and the cause that must come first."""

    language: str
    title: str
    check: str
    """Checks that may name it, separated by blanks."""
    where: str
    """Host or switch that must be named."""
    says: str
    """What the sentence, its evidence or its place must contain: the wrong value."""
    command: str = ""
    """Part of the command that repairs it; '' where it is the switch's."""
    hosts: Mapping[str, Edit] = field(default_factory=dict)
    """Host to the change of its outputs; '*': every host."""
    switches: Mapping[str, mistake.Edit] = field(default_factory=dict)
    """File to its change."""
    base: Edit = field(default=lambda text: text)
    """Change of the outputs of the hosts with mlx5 NICs that is no mistake."""
    shown: bool = False
    """Whether the page of the guide has it."""

    @property
    def id(self) -> str:
        """For test reports."""
        return f"{self.language}: {self.title}"

    def write(self, folder: Path) -> None:
        """Write the switches, and a folder of hosts beside them."""
        write(self.language, folder, base=self.base, hosts=self.hosts, switches=self.switches)


def write(
    language: str,
    folder: Path,
    *,
    base: Edit = lambda text: text,
    hosts: Mapping[str, Edit] | None = None,
    switches: Mapping[str, mistake.Edit] | None = None,
) -> None:
    """A fabric of a language with outputs in place of a hosts file."""
    files = mistake.good(language)
    files.pop("hosts.json")
    for name, edit in (switches or {}).items():
        files[name] = edit(copy.deepcopy(files[name]))
    mistake.write(language, files, folder)
    for name, text in captures.healthy(LAST[language]).items():
        if language == "nvue":  # whose switches state one length for all cables
            text = text.replace("Cable len: 7", "Cable len: 40")  # noqa: PLW2901
        own = base(text) if "mlx5_0" in text else text
        for wanted, edit in (hosts or {}).items():
            if wanted in {name, "*"}:
                own = edit(own)
        (folder / "hosts" / name).mkdir(parents=True)
        (folder / "hosts" / name / "outputs.txt").write_text(own, encoding="utf-8")


_NCCL_24 = replaced("NCCL_IB_TC=106", "NCCL_IB_TC=96")
_PRIO_4 = replaced("enabled     0   0   0   1   0   0   0   0", "enabled     0   0   0   0   1   0   0   0")
_NO_PFC = replaced("enabled     0   0   0   1   0", "enabled     0   0   0   0   0")
_TO_2 = both(
    replaced("dscp:31,30,29,28,27,26,25,24", "dscp:31,30,29,28,27,25,24"), replaced("18,17,16,", "18,17,16,26,")
)


def _leaf_map(language: str, name: str) -> dict[str, mistake.Edit]:
    """RoCE's DSCP in the class of bulk at one leaf."""
    return {
        "sonic": {f"{name}.json": put("DSCP_TO_TC_MAP", "M", "26", value="0")},
        "eos": {f"{name}.cfg": everywhere("qos map dscp 26 to traffic-class 3", "qos map dscp 26 to traffic-class 1")},
        "nxos": {f"{name}.cfg": everywhere("match dscp 26", "match dscp 24")},
        "nvue": {f"{name}.yaml": put("qos", "mapping", "default-global", "dscp", "26", "switch-priority", value=0)},
    }[language]


def _of(language: str) -> list[HostMistake]:
    """The mistakes that every language's fabric gets."""

    def case(title: str, check: str, where: str, says: str, command: str = "", **rest: object) -> HostMistake:
        return HostMistake(language, title, check, where, says, command, **rest)  # type: ignore[arg-type]

    other = LAST[language]
    return [
        case(
            "NCCL asks for the DSCP of another fabric",
            "N8",
            "host1",
            "NCCL_IB_TC=96",
            "export NCCL_IB_TC=104",
            hosts={"host1": _NCCL_24},
            shown=language == "sonic",
        ),
        case(
            "NCCL's traffic class is the DSCP, not the TOS byte",
            "N8",
            "host2",
            "NCCL_IB_TC=26",
            "export NCCL_IB_TC=104",
            hosts={"host2": replaced("NCCL_IB_TC=106", "NCCL_IB_TC=26")},
            shown=language == "eos",
        ),
        case(
            "NCCL's traffic class is not set",
            "N8",
            "host3",
            "NCCL_IB_TC is not set",
            "export NCCL_IB_TC=104",
            hosts={"host3": without("NCCL_IB_TC")},
            shown=language == "nxos",
        ),
        case(
            "UCX asks for another class than NCCL",
            "N8",
            "host1",
            "UCX_IB_TRAFFIC_CLASS=136",
            "export UCX_IB_TRAFFIC_CLASS=104",
            hosts={"host1": replaced("UCX_IB_TRAFFIC_CLASS=104", "UCX_IB_TRAFFIC_CLASS=136")},
        ),
        case(
            "the device overrides what the libraries ask for",
            "N8",
            "host2",
            "Global tclass=0",
            "echo 104 > /sys/class/infiniband/mlx5_0/tc/1/traffic_class",
            hosts={"host2": replaced("traffic_class:unset", "traffic_class:Global tclass=0")},
            shown=language == "sonic",
        ),
        case(
            "NCCL's GID is of RoCE v1",
            "N8",
            "host3",
            "RoCE v1",
            "export NCCL_IB_GID_INDEX=3",
            hosts={"host3": replaced("NCCL_IB_GID_INDEX=3", "NCCL_IB_GID_INDEX=2")},
            shown=language == "eos",
        ),
        case(
            "rdma_cm has the default class",
            "N8",
            "host1",
            "cma_roce_tos 0",
            "cma_roce_tos -d mlx5_0 -t 104",
            hosts={"host1": replaced("### cma_roce_tos -d mlx5_0\n106", "### cma_roce_tos -d mlx5_0\n0")},
        ),
        case(
            "a VF's RDMA device has no traffic class",
            "N8",
            "host1",
            "eth0v0",
            "export NCCL_IB_TC=104",
            hosts={"host1": replaced("mlx5_2/tc/1/traffic_class:Global tclass=106", "mlx5_2/tc/1/traffic_class:unset")},
            base=with_vf,
            shown=language == "nxos",
        ),
        case(
            "the NIC looks at the 802.1Q tag",
            "N1",
            "host2",
            "trust",
            "mlnx_qos -i eth0 --trust dscp",
            hosts={"host2": replaced("Priority trust state: dscp", "Priority trust state: pcp")},
        ),
        case(
            "PFC of the NIC is off",
            "N1",
            "host3",
            "pfc_enable",
            "mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0",
            hosts={"host3": _NO_PFC},
        ),
        case(
            "PFC of the NIC is on for another priority",
            "N1 L1",
            "host1",
            "pfc_enable = 4",
            "mlnx_qos -i eth0 --pfc",
            hosts={"host1": _PRIO_4},
            shown=language == "nvue",
        ),
        case(
            "the NIC maps RoCE's DSCP to another priority",
            "N9",
            "host2",
            "priority 2",
            "mlnx_qos -i eth0 --dscp2prio set,26,3",
            hosts={"host2": _TO_2},
        ),
        case(
            "the reaction point is on for another priority",
            "N2",
            "host3",
            "roce_rp",
            "echo 1 > /sys/class/net/eth0/ecn/roce_rp/enable/3",
            hosts={
                "host3": both(
                    replaced("roce_rp/enable/3:1", "roce_rp/enable/3:0"),
                    replaced("roce_rp/enable/0:0", "roce_rp/enable/0:1"),
                )
            },
        ),
        case(
            "CNPs have the DSCP of bulk",
            "N3",
            "host1",
            "cnp_dscp = 0",
            "echo 48 > /sys/class/net/eth0/ecn/roce_np/cnp_dscp",
            hosts={"host1": replaced("roce_np/cnp_dscp:48", "roce_np/cnp_dscp:0")},
        ),
        case(
            "RoCE's receive buffer is that of bulk",
            "N10",
            "host2",
            "buffer",
            "mlnx_qos -i eth0 --prio2buffer 0,0,0,1,0,0,0,0",
            hosts={"host2": replaced("buffer      0   0   0   1", "buffer      0   0   0   0")},
        ),
        case(
            "one NIC increases its rate faster than the others",
            "N11",
            "host3",
            "rpg_ai_rate",
            "echo 5 > /sys/class/net/eth0/ecn/roce_rp/rpg_ai_rate",
            hosts={"host3": replaced("rpg_ai_rate:5", "rpg_ai_rate:500")},
        ),
        case(
            "one leaf puts RoCE's DSCP into a lossy class",
            "M1 M3",
            "leaf1",
            "26",
            switches=_leaf_map(language, "leaf1"),
            shown=language == "nvue",
        ),
        case(
            "CNPs have RoCE's DSCP",
            "N3",
            "host2",
            "cnp_dscp = 26",
            "echo 48 > /sys/class/net/eth0/ecn/roce_np/cnp_dscp",
            hosts={"host2": replaced("roce_np/cnp_dscp:48", "roce_np/cnp_dscp:26")},
        ),
        *(_amd(language) if other == AMD else _broadcom(language)),
    ]


def _amd(language: str) -> list[HostMistake]:
    def case(title: str, check: str, says: str, command: str, edit: Edit, *, shown: bool = False) -> HostMistake:
        return HostMistake(language, title, check, "host4", says, command, {"host4": edit}, shown=shown)

    return [
        case("AMD: MoRI asks for another class", "N8", "MORI_RDMA_TC=96", "export MORI_RDMA_TC=104",
             replaced("MORI_RDMA_TC=104", "MORI_RDMA_TC=96"), shown=language == "nxos"),
        case("AMD: the NIC looks at the 802.1Q tag", "N1", "trust", "nicctl update qos --classification-type dscp",
             replaced("Classification type         : DSCP", "Classification type         : PCP")),
        case("AMD: no priority is without drops", "N1", "pfc_enable",
             "nicctl update qos pfc --priority 3 --no-drop enable",
             both(replaced("0x8", "0x0"), replaced("PFC no-drop priorities    : 3", "PFC no-drop priorities    :"))),
        case("AMD: the NIC maps RoCE's DSCP to another priority", "N9", "priority 0",
             "nicctl update qos dscp-to-priority --dscp 26 --priority 3",
             both(replaced("DSCP                      : 26 ==> priority : 3",
                          "DSCP                      : 24 ==> priority : 3"),
                  replaced("0-25, 27-47, 49-63", "0-23, 25-47, 49-63"))),
        case("AMD: DCQCN is off", "N2", "roce_", "nicctl update dcqcn --roce-device ionic_0",
             replaced(": Enabled", ": Disabled")),
    ]  # fmt: skip


def _broadcom(language: str) -> list[HostMistake]:
    def case(title: str, check: str, says: str, command: str, edit: Edit, *, shown: bool = False) -> HostMistake:
        return HostMistake(language, title, check, "host4", says, command, {"host4": edit}, shown=shown)

    return [
        case("Broadcom: PFC is on for another priority", "N1 L1", "pfc_enable = 5",
             "niccli --dev 1 qos --pfc --enable 3", replaced("PFC enabled: 3", "PFC enabled: 5")),
        case("Broadcom: no entry for RoCE's DSCP", "N9", "priority 0",
             "niccli --dev 1 qos --apptlv --add --app 3,5,26", replaced("DSCP: 26", "DSCP: 24"),
             shown=language == "eos"),
        case("Broadcom: ECN is off", "N2", "roce_", "bnxt_re0/ports/1/cc/ecn_enable",
             replaced("ecn_enable:0x1", "ecn_enable:0x0")),
    ]  # fmt: skip


CASES: Final = tuple(case for language in LANGUAGES for case in _of(language))
