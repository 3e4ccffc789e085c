"""Which parser reads which file: told by the content, because names of configurations are anything."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from fabric.configs.eos import parse_eos
from fabric.configs.jsonfile import JsonText, refuse
from fabric.configs.model import Device, Place, Unread
from fabric.configs.nvue import parse_nvue
from fabric.configs.nvue_commands import Commands
from fabric.configs.nvue_reader import is_nvue
from fabric.configs.nxos import parse_nxos
from fabric.configs.sonic import parse_sonic
from fabric.configs.yamlfile import YamlText

Parser = Callable[[str, str], Device]

_NXOS: Final = re.compile(r"^(?:policy-map type |class-map type |system qos|feature \w+|nv overlay)", re.MULTILINE)
_EOS: Final = re.compile(r"^(?:qos (?:map|profile) |\s+service-profile |transceiver qsfp|service routing protocols|"
                         r"spanning-tree mode mstp|priority-flow-control |platform trident |! device: .*EOS)",
                         re.MULTILINE)
_NV_SET: Final = re.compile(r"^(?:cumulus@switch:~\$ )?nv set ", re.MULTILINE)
_FRR: Final = re.compile(r"^frr (?:version|defaults) ", re.MULTILINE)
_YAML: Final = re.compile(r"^(?:- |---|\w+:)", re.MULTILINE)


def _sonic(text: str, file: str) -> Device:
    source = JsonText(text, file)
    return parse_nvue(source, file) if is_nvue(source.value) else parse_sonic(source, file)


def _nvue(text: str, file: str) -> Device:
    return parse_nvue(YamlText(text, file), file)


def _nvue_commands(text: str, file: str) -> Device:
    source = Commands(text)
    device = parse_nvue(source, file)
    device.unread += [Unread(Place(file, number), f"'{line}'") for number, line in source.unread]
    return device


LANGUAGES: Final[dict[str, Parser]] = {"sonic": _sonic, "nvue": _nvue, "nvue_commands": _nvue_commands,
                                    "eos": parse_eos, "nxos": parse_nxos}


def is_frr(text: str) -> bool:
    """Whether this is FRR's own configuration: of a host, or of a router whose QoS is elsewhere."""
    return _FRR.search(text) is not None


def parser_of(text: str, file: str) -> Parser:
    """The parser for this text. Raises InputErrors where it is no configuration that is known."""
    if text.lstrip()[:1] in {"{", "["}:
        return LANGUAGES["sonic"]
    if _NV_SET.search(text):
        return LANGUAGES["nvue_commands"]
    if _NXOS.search(text):
        return LANGUAGES["nxos"]
    if _EOS.search(text):
        return LANGUAGES["eos"]
    if _YAML.search(text):
        return LANGUAGES["nvue"]
    raise refuse(file, "not a configuration that is known", "known are CONFIG_DB JSON, NVUE YAML or JSON, and "
                 "running-configs of EOS and NX-OS")
