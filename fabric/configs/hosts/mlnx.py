"""NVIDIA (mlx5): `mlnx_qos -i INTERFACE`, `cma_roce_tos -d DEVICE`.

Source: mlnx-tools, mlnx_qos; outputs as NVIDIA's "mlnx_qos" article and reports of users show them (trust state,
dscp2prio with several lines of one priority, 'default priority:', receive buffers with max_buffer_size, cable length,
PFC table, rate limits). cma_roce_tos prints the traffic class of rdma_cm as one number.
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.hosts.capture import Said
from fabric.configs.hosts.draft import HostDraft, NicDraft, numbers_of
from fabric.configs.hosts.sections import Section
from fabric.configs.text.jsonfile import refuse

_PRIORITIES: Final = 8
_DSCPS: Final = 64
_BYTE: Final = 255
_MAPPING: Final = re.compile(r"^prio:(\d)\s+dscp:([\d,\s]*)$")
_ROW: Final = re.compile(r"^(priority|enabled|buffer)((?:\s+\d{1,3}){8})$")
_TC: Final = re.compile(r"^tc:\s*\d\s+ratelimit:\s*([^,]+),\s*tsa:.*$")
_IGNORED: Final = re.compile(
    r"^(?:DCBX mode:.*|dscp2prio mapping:|default priority:.*|PFC configuration:|priority:\s*[\d\s,]*|priority_tc:.*)$"
)
_MOST_CABLE_DIGITS: Final = 6


def read_mlnx_qos(section: Section, host: HostDraft) -> None:
    """One interface. Raises InputErrors where the PFC table is missing: the output was cut off."""
    nic = host.nic(section.option("-i", "--interface", "--interface_name"), section.place())
    nic.tool = "mlnx_qos"
    enabled: tuple[int, ...] | None = None
    sizes: tuple[int, ...] = ()
    sizes_place = nic.place
    for number, raw in section.lines:
        text, place = raw.strip(), section.place(number)
        key, _, value = (part.strip() for part in text.partition(":"))
        if (found := _ROW.match(text)) is not None:
            bits = tuple(int(word) for word in found[2].split())
            if found[1] == "enabled":
                enabled = bits
                nic.put("pfc_enable", _set_of(bits), place)
            elif found[1] == "buffer":
                nic.buffers = {at: Said(bit, f"buffer {bit}", place) for at, bit in enumerate(bits)}
        elif (found := _MAPPING.match(text)) is not None:
            _map(nic, int(found[1]), found[2], section, number)
        elif key == "Priority trust state" and value:
            nic.put("trust", value.lower(), place)
        elif key == "Cable len" and value.isdigit() and len(value) <= _MOST_CABLE_DIGITS:
            nic.put("cable_m", int(value), place)
        elif key == "Receive buffer size (bytes)":
            sizes = tuple(int(word) for word in value.split(",") if word.strip().isdigit())
            sizes_place = place
        elif (found := _TC.match(text)) is not None:
            if found[1].strip() != "unlimited":
                host.limited(place, f"{nic.interface} {text}")
        elif not _IGNORED.match(text):
            host.not_understood(place, text)
    if enabled is None:
        raise refuse(
            section.file,
            "no PFC table of eight priorities in it",
            "give the whole output of `mlnx_qos -i INTERFACE`",
            "hosts",
        )
    lossless = _lossless_sizes(nic, enabled, sizes)
    if lossless:  # the headroom of PFC has to fit into each of them
        nic.put("rx_buffer_bytes", min(lossless), sizes_place)


def _set_of(bits: tuple[int, ...]) -> frozenset[int]:
    return frozenset(number for number in range(_PRIORITIES) if bits[number])


def _map(nic: NicDraft, priority: int, codes: str, section: Section, number: int) -> None:
    for code in numbers_of(codes, high=_DSCPS - 1) or ():
        nic.priorities[code] = Said(priority, f"dscp2prio {code}", section.place(number))


def _lossless_sizes(nic: NicDraft, enabled: tuple[int, ...], sizes: tuple[int, ...]) -> list[int]:
    """Bytes of every receive buffer that has a priority with PFC."""
    used = {said.value for priority, said in nic.buffers.items() if enabled[priority]}
    return [sizes[number] for number in used if number < len(sizes)]


def read_roce_tos(section: Section, host: HostDraft) -> None:
    """The default traffic class of rdma_cm: the only number of the output."""
    device = section.option("-d", "--dev")
    for number, raw in section.lines:
        text = raw.strip()
        if text.isdigit() and int(text) <= _BYTE:
            host.device(device).cm_default = Said(int(text), f"cma_roce_tos {text}", section.place(number))
        else:
            host.not_understood(section.place(number), raw)


def read_roce_mode(section: Section, host: HostDraft) -> None:
    """`cma_roce_mode -d DEVICE`: the version that rdma_cm uses; a line per port, or one."""
    for number, raw in section.lines:
        if "RoCE" not in raw:
            host.not_understood(section.place(number), raw)
