"""The parser of each file, chosen by the file's content: configuration files have no common names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from fabric.configs.eos import parse_eos
from fabric.configs.jsonfile import JsonText, refuse
from fabric.configs.model import Device, Place, Unread, name_of_file
from fabric.configs.nvue import parse_nvue
from fabric.configs.nvue_commands import PROMPT, Commands
from fabric.configs.nvue_reader import is_nvue
from fabric.configs.nxos import parse_nxos
from fabric.configs.roce_effect import effect_of
from fabric.configs.sonic import parse_sonic
from fabric.configs.textconfig import TextReader
from fabric.configs.yamlfile import YamlText

Parser = Callable[[str, str], Device]

_NXOS: Final = re.compile(r"^(?:policy-map type |class-map type |system qos|feature \w+|nv overlay)", re.MULTILINE)
_OS10: Final = re.compile(
    r"^(?:interface ethernet\d+/\d+/\d+|qos-map traffic-class |trust (?:dot1p|dscp)-map |dcbx enable|"
    r"! Version 10\.\d+\.\d+\.\d+)",
    re.MULTILINE,
)
"""Dell SmartFabric OS10: its class and policy maps look like those of NX-OS, and nest otherwise."""
_EOS: Final = re.compile(
    r"^(?:qos (?:map|profile) |\s+service-profile |transceiver qsfp|service routing protocols|"
    r"spanning-tree mode mstp|priority-flow-control |platform trident )",
    re.MULTILINE,
)
_EOS_HEADER: Final = re.compile(r"^! device: .*\bEOS", re.MULTILINE)
"""EOS writes it above every running-config; class and policy maps of EOS look like those of NX-OS."""
_NV_SET: Final = re.compile(rf"^{PROMPT}nv set ", re.MULTILINE)
_FRR: Final = re.compile(r"^frr (?:version|defaults) ", re.MULTILINE)
_YAML: Final = re.compile(r"^(?:- |---|\w+:)", re.MULTILINE)


def _sonic(text: str, file: str) -> Device:
    source = JsonText(text, file)
    if is_nvue(source.value):
        return parse_nvue(source, file)
    device = parse_sonic(source, file)
    source.forget()
    return device


def _nvue(text: str, file: str) -> Device:
    return parse_nvue(YamlText(text, file), file)


def _nvue_commands(text: str, file: str) -> Device:
    source = Commands(text)
    device = parse_nvue(source, file)
    device.unread += [
        Unread(Place(file, number), f"'{line}'", (((line,), ""),), effect_of(line)) for number, line in source.unread
    ]
    return device


def _os10(text: str, file: str) -> Device:
    """A switch without ports: no line is read, so that nothing is taken for what it means elsewhere."""
    reader = TextReader(text, file, name_of_file(file), "nxos")
    device = reader.finish()
    what = "a configuration of Dell OS10, which has no reader: no check looks at this switch"
    device.unread.insert(0, Unread(Place(file, 1), what, (((what,), ""),), "unknown language"))
    return device


LANGUAGES: Final[dict[str, Parser]] = {
    "sonic": _sonic,
    "nvue": _nvue,
    "nvue_commands": _nvue_commands,
    "eos": parse_eos,
    "nxos": parse_nxos,
    "os10": _os10,
}


def is_frr(text: str) -> bool:
    """Whether this is FRR's own configuration: of a host, or of a router whose QoS is elsewhere."""
    return _FRR.search(text) is not None


def parser_of(text: str, file: str) -> Parser:
    """The parser for this text. Raises InputErrors where it is no configuration that is known."""
    if text.lstrip()[:1] in {"{", "["}:
        return LANGUAGES["sonic"]
    if _NV_SET.search(text):
        return LANGUAGES["nvue_commands"]
    if _EOS_HEADER.search(text):
        return LANGUAGES["eos"]
    if _OS10.search(text):
        return LANGUAGES["os10"]
    if _NXOS.search(text):
        return LANGUAGES["nxos"]
    if _EOS.search(text):
        return LANGUAGES["eos"]
    if _YAML.search(text):
        return LANGUAGES["nvue"]
    raise refuse(
        file,
        "not a configuration that is known",
        "known are CONFIG_DB JSON, NVUE YAML or JSON, and running-configs of EOS and NX-OS",
    )
