"""Environment variables that set the traffic class of RoCE, and what a library sends without them.

A traffic class is the TOS byte: 104 and 106 are DSCP 26. Defaults: NCCL and RCCL 0 (src/transport/net_ib: IB_TC -1,
then 0), UCX 106 on RoCE v2 (src/uct/ib: 'auto'), NVSHMEM and MoRI 0 (MoRI's I/O takes MORI_IO_TC before MORI_RDMA_TC).
NCCL_IB_GID_INDEX and its like choose an entry of the GID table: one of RoCE v1 has no IP header, so no DSCP.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fabric.configs.hosts.capture import Mark, Said
from fabric.configs.hosts.draft import HostDraft
from fabric.configs.hosts.sections import Section

_UCX_ROCE_V2: Final = 106
_BYTE: Final = 255


@dataclass(frozen=True, slots=True)
class Library:
    """One library's variables."""

    name: str
    variable: str
    gid_variable: str
    default: int | None
    """Traffic class without the variable; None: no traffic of its own then."""
    prefix: str
    instead: str = ""
    """Variable that counts where its own is not set."""


LIBRARIES: Final = (
    Library("NCCL", "NCCL_IB_TC", "NCCL_IB_GID_INDEX", 0, "NCCL"),
    Library("NCCL's control messages", "NCCL_IB_FIFO_TC", "NCCL_IB_GID_INDEX", None, "NCCL"),
    Library("UCX", "UCX_IB_TRAFFIC_CLASS", "UCX_IB_GID_INDEX", _UCX_ROCE_V2, "UCX"),
    Library("MoRI", "MORI_RDMA_TC", "MORI_IB_GID_INDEX", 0, "MORI"),
    Library("MoRI's I/O", "MORI_IO_TC", "MORI_IB_GID_INDEX", None, "MORI", "MORI_RDMA_TC"),
    Library("NVSHMEM", "NVSHMEM_IB_TRAFFIC_CLASS", "NVSHMEM_IB_GID_INDEX", 0, "NVSHMEM"),
)
_VARIABLES: Final = frozenset(name for it in LIBRARIES for name in (it.variable, it.gid_variable))
_PREFIXES: Final = frozenset(it.prefix for it in LIBRARIES)
_LINE: Final = re.compile(r"^(?:export\s+|declare -x\s+|-e\s+)?(?P<name>[A-Za-z_]\w*)=(?P<value>.*)$")
_NO_CLASS: Final = ("DISABLE", "DEBUG", "SOCKET", "LOG", "VERSION", "HOME", "CONF_FILE", "P2P", "SHM", "NET_PLUGIN")
"""Words of variables that do not say that the library uses RDMA."""
_AUTO: Final = frozenset(("auto", "-1"))


def read_environment(section: Section, host: HostDraft) -> None:
    """`env`, /etc/nccl.conf, or a job's exports: NAME=VALUE a line."""
    for number, raw in section.lines:
        text, place = raw.strip(), section.place(number)
        found = _LINE.match(text)
        if found is None:
            if not text.startswith("#"):
                host.not_understood(place, text)
            continue
        name, value = found["name"], found["value"].strip().strip("\"'")
        prefix = name.partition("_")[0]
        if prefix in _PREFIXES and not any(word in name for word in _NO_CLASS):
            host.libraries.setdefault(prefix, place)
        if name not in _VARIABLES or value.lower() in _AUTO:
            continue
        number_of = _number(value)
        if number_of is None:
            host.not_understood(place, text)
            host.invalid.add(name)
        else:
            host.variables[name] = Said(number_of, f"{name}={value}", place)


def _number(text: str) -> int | None:
    try:
        value = int(text, 0) if text.lower().startswith("0x") else int(text)
    except ValueError:
        return None
    return value if 0 <= value <= _BYTE else None


def marks(host: HostDraft) -> Iterator[Mark]:
    """The traffic class of every library that the environment sets up."""
    for library in LIBRARIES:
        said = host.variables.get(library.variable) or host.variables.get(library.instead)
        place = host.libraries.get(library.prefix)
        gid = host.variables.get(library.gid_variable)
        if said is not None and library.variable in host.variables:
            yield Mark(library.name, library.variable, said, gid_index=gid)
        elif library.default is not None and place is not None and library.variable not in host.invalid:
            default = Said(library.default, f"{library.variable} is not set", place)
            yield Mark(library.name, library.variable, default, stated=False, gid_index=gid)
