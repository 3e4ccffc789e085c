"""Attributes below /sys as 'PATH:VALUE', which `grep -r .` prints, or as `head` prints them below '==> PATH <=='.

Names and meanings: mlx5's ecn/roce_np and roce_rp (MLNX_OFED, "RoCE congestion control"), its tc/1/traffic_class
('Global tclass=106': the driver takes it for every connection, whatever the library asked for), Broadcom's
bnxt_re/.../cc (bnxt_setupcc.sh), rdma_cm's configfs
(drivers/infiniband/core/cma_configfs.c), the kernel's sysfs-class-infiniband (gid_attrs/types) and physfn of a VF.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from fabric.configs.hosts.capture import Said
from fabric.configs.hosts.draft import HostDraft
from fabric.configs.hosts.sections import Section
from fabric.configs.model import Place

_LINE: Final = re.compile(r"^(?P<path>/sys/[^\s:]*(?::[0-9a-f]{2}[^\s:]*)*)\s*[:=]\s?(?P<value>.*)$")
_BANNER: Final = re.compile(r"^==> (?P<path>/sys/\S+) <==$")
_NAME: Final = r"(?P<name>[^/]+)"
_ECN: Final = re.compile(rf"^/sys/class/net/{_NAME}/ecn/(?P<point>roce_[nr]p)/(?P<field>.+)$")
_NET: Final = re.compile(rf"^/sys/class/net/{_NAME}/(?P<field>mtu|speed|device/physfn/net)$")
_DEVICE: Final = re.compile(rf"^/sys/class/infiniband/{_NAME}/(?P<field>.+)$")
_CM: Final = re.compile(rf"^/sys/kernel/config/rdma_cm/{_NAME}/ports/\d+/(?P<field>\w+)$")
_BNXT: Final = re.compile(rf"^/sys/kernel/config/bnxt_re/{_NAME}/ports/\d+/cc/(?P<field>ecn_enable|cnp_dscp)$")
_GLOBAL: Final = re.compile(r"^Global tclass=(\d{1,3})$")
_GID_TYPE: Final = re.compile(r"^ports/\d+/gid_attrs/types/(\d{1,3})$")
_BYTE: Final = 255
_UNSET: Final = frozenset(("", "unset", "Global tclass=-1"))


def read_sysfs(section: Section, host: HostDraft) -> None:
    """Every attribute; those that say nothing of the class are passed over, other lines are not understood."""
    above = ""
    for word in section.words:  # `cat PATH`: the value alone is in the output
        if word.startswith("/sys/") and "*" not in word:
            above = word
    for number, raw in section.lines:
        text, place = raw.strip(), section.place(number)
        banner, found = _BANNER.match(text), _LINE.match(text)
        if banner is not None:
            above = banner["path"]
        elif found is not None:
            _attribute(found["path"], found["value"].strip(), place, host)
        elif above:
            _attribute(above, text, place, host)
        else:
            host.not_understood(place, text)


def _attribute(path: str, value: str, place: Place, host: HostDraft) -> None:
    for pattern, reader in _READERS:
        found = pattern.match(path)
        if found is not None:
            reader(found, value, place, host)
            return


def _ecn(found: re.Match[str], value: str, place: Place, host: HostDraft) -> None:
    nic, point, field = host.nic(found["name"], place), found["point"], found["field"]
    where, _, priority = field.partition("/")
    if where == "enable" and priority.isdigit():
        name = f"ecn_{point[-2:]}_enable"
        old, first = nic.settings.get(name, (frozenset(), place))
        on = frozenset((int(priority),)) if value == "1" else frozenset()
        nic.put(name, (old if isinstance(old, frozenset) else frozenset()) | on, first)
    elif value.isdigit() and len(value) < 16:
        if field == "cnp_dscp":
            nic.put("cnp_dscp", int(value), place)
        elif field != "cnp_802p_prio":
            nic.dcqcn[f"{point}/{field}"] = Said(int(value), f"{point}/{field} {value}", place)


def _net(found: re.Match[str], value: str, place: Place, host: HostDraft) -> None:
    if found["field"].endswith("physfn/net"):
        host.parents[found["name"]] = value.split(maxsplit=1)[0] if value else ""
    elif value.isdigit() and found["name"] != "lo" and 0 < int(value) < 10**7:
        host.nic(found["name"], place).put(found["field"], int(value), place)


def _device(found: re.Match[str], value: str, place: Place, host: HostDraft) -> None:
    name, field = found["name"], found["field"]
    gid = _GID_TYPE.match(field)
    if field.endswith("/traffic_class"):
        tclass = _GLOBAL.match(value)
        device = host.device(name)
        if tclass is not None and int(tclass[1]) <= _BYTE:
            device.override = Said(int(tclass[1]), value, place)
        elif value in _UNSET:
            device.known_unset = True
        else:
            host.not_understood(place, value)
    elif gid is not None and value:
        host.device(name).gid_types[int(gid[1])] = Said(2 if "v2" in value else 1, value, place)
    elif field == "device/net" or field.startswith("device/net/"):
        interface = field.removeprefix("device/net").strip("/").partition("/")[0] or value
        if interface:
            host.netdevs[name] = interface.split()[0]


def _rdma_cm(found: re.Match[str], value: str, place: Place, host: HostDraft) -> None:
    if found["field"] == "default_roce_tos" and value.isdigit() and int(value) <= _BYTE:
        host.device(found["name"]).cm_default = Said(int(value), f"default_roce_tos {value}", place)


def _bnxt(found: re.Match[str], value: str, place: Place, host: HostDraft) -> None:
    try:
        number = int(value, 0)
    except ValueError:
        host.not_understood(place, value)
        return
    settings = host.device(found["name"]).settings
    if found["field"] == "cnp_dscp":
        settings["cnp_dscp"] = number, place
    else:
        on = frozenset(range(8)) if number else frozenset()
        settings["ecn_np_enable"] = settings["ecn_rp_enable"] = on, place


_READERS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str, Place, HostDraft], None]], ...]] = (
    (_ECN, _ecn),
    (_NET, _net),
    (_DEVICE, _device),
    (_CM, _rdma_cm),
    (_BNXT, _bnxt),
)
