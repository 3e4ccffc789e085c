"""What `mlnx_qos -i INTERFACE` prints -> host settings: trust, PFC, cable length, receive buffer.

Only what the tool states is taken; DSCPs and congestion control are not in its output and come from `default` in
the hosts file. Source: the mlnx-tools package, mlnx_qos.
"""

from __future__ import annotations

import re
from typing import Any, Final

from fabric.configs.text.jsonfile import refuse

_PRIORITIES: Final = 8
_TRUST: Final = re.compile(r"^\s*Priority trust state:\s*(\S+)", re.MULTILINE)
_CABLE: Final = re.compile(r"^\s*Cable len:\s*(\d{1,6})", re.MULTILINE)
_BUFFERS: Final = re.compile(r"^\s*Receive buffer size \(bytes\):\s*([\d,]+)", re.MULTILINE)
_ROW: Final = r"^\s*{name}((?:\s+\d{{1,3}}){{8}})\s*$"


def is_mlnx_qos(text: str) -> bool:
    """Whether this is output of mlnx_qos."""
    return _TRUST.search(text) is not None and "PFC configuration" in text


def parse_mlnx_qos(text: str, file: str) -> dict[str, Any]:
    """Settings as the hosts file has them. Raises InputErrors where the PFC table is missing."""
    enabled = re.search(_ROW.format(name="enabled"), text, re.MULTILINE)
    trust = _TRUST.search(text)
    if enabled is None or trust is None:
        raise refuse(
            file, "no PFC table of eight priorities in it", "give the whole output of `mlnx_qos -i INTERFACE`", "hosts"
        )
    bits = [int(word) for word in enabled[1].split()]
    found: dict[str, Any] = {
        "trust": trust[1].lower(),
        "pfc_enable": ",".join(str(n) for n in range(_PRIORITIES) if bits[n]),
    }
    cable = _CABLE.search(text)
    if cable is not None:
        found["cable_m"] = int(cable[1])
    sizes, buffers = _BUFFERS.search(text), re.search(_ROW.format(name="buffer"), text, re.MULTILINE)
    if sizes is not None and buffers is not None:
        bytes_of = [int(word) for word in sizes[1].split(",") if word]
        used = {int(number) for number, bit in zip(buffers[1].split(), bits, strict=True) if bit}
        lossless = [bytes_of[number] for number in used if number < len(bytes_of)]
        if lossless:
            found["rx_buffer_bytes"] = min(lossless)  # PFC's headroom has to fit into each of them
    return found
