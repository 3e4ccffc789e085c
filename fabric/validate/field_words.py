"""The word by which a switch's own language calls a field that checks know by SONiC's name.

Evidence and remedies name a field; on a switch of another language the reader looks for that language's word. A field
that a language has no line for keeps SONiC's name, with hyphens.
Sources: NVUE object reference; EOS user manual, Quality of Service; Nexus 9000 NX-OS QoS configuration guide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fabric.configs.capabilities import Language

_NVUE: Final[Mapping[str, str]] = {
    "action": "pfc-watchdog",
    "admin_status": "link state",
    "cable": "cable-length",
    "detection_time": "pfc-watchdog robustness",
    "dscp_mode": "encapsulation dscp action",
    "dynamic_th": "alpha",
    "fec": "link fec",
    "green_drop_probability": "probability",
    "green_max_threshold": "max-threshold",
    "green_min_threshold": "min-threshold",
    "mtu": "link mtu",
    "pfc_enable": "pfc switch-priority",
    "pfcwd_sw_enable": "pfc-watchdog",
    "POLL_INTERVAL": "pfc-watchdog polling-interval",
    "size": "port-buffer",
    "speed": "link speed",
    "type": "mode",
    "weight": "bw-percent",
    "xoff": "xoff-threshold",
    "xon": "xon-threshold",
}
_WATCHDOG: Final = "priority-flow-control pause watchdog"
_EOS: Final[Mapping[str, str]] = {
    "action": f"{_WATCHDOG} action",
    "admin_status": "state",
    "detection_time": f"{_WATCHDOG} timeout",
    "dynamic_th": "threshold",
    "fec": "error-correction encoding",
    "green_drop_probability": "max-mark-probability",
    "green_max_threshold": "maximum-threshold",
    "green_min_threshold": "minimum-threshold",
    "pfc_enable": "priority-flow-control priority",
    "pfcwd_sw_enable": _WATCHDOG,
    "POLL_INTERVAL": f"{_WATCHDOG} polling-interval",
    "restoration_time": f"{_WATCHDOG} recovery-time",
    "type": "priority",
    "weight": "bandwidth percent",
}
_NXOS: Final[Mapping[str, str]] = {
    "admin_status": "state",
    "detection_time": "priority-flow-control watch-dog shutdown-multiplier",
    "green_drop_probability": "drop-probability",
    "green_max_threshold": "maximum-threshold",
    "green_min_threshold": "minimum-threshold",
    "pfc_enable": "pause pfc-cos",
    "pfcwd_sw_enable": "priority-flow-control watch-dog-interval",
    "POLL_INTERVAL": "priority-flow-control watch-dog-interval",
    "restoration_time": "priority-flow-control auto-restore multiplier",
    "size": "pause buffer-size",
    "type": "priority level",
    "weight": "bandwidth remaining percent",
    "xoff": "pause-threshold",
    "xon": "resume-threshold",
}
_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {"nvue": _NVUE, "eos": _EOS, "nxos": _NXOS}


_VALUES: Final[Mapping[str, str]] = {"ecn_all": "on", "ecn_none": "off"}
"""SONiC's values of a field that other languages switch on and off."""


def value_word(language: Language, value: object) -> str:
    """The language's word for a value."""
    return str(value) if _WORDS.get(language) is None else _VALUES.get(str(value), str(value))


def field_word(language: Language, field: str) -> str:
    """The language's word for a field; SONiC's own names are those of the checks."""
    words = _WORDS.get(language)
    if words is None or not field:
        return field
    return words.get(field, field.replace("_", "-"))
