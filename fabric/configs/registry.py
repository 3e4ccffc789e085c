"""The parser of each file, chosen by the file's content: configuration files have no common names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fabric.configs.eos.parse import parse_eos
from fabric.configs.file_names import name_of_file
from fabric.configs.frr.files import is_named_frr
from fabric.configs.languages import language_of
from fabric.configs.model import Device, Place, Unread
from fabric.configs.nvue.commands import Commands
from fabric.configs.nvue.parse import parse_nvue
from fabric.configs.nvue.reader import is_nvue
from fabric.configs.nxos.parse import parse_nxos
from fabric.configs.other_inputs import refuse_other_inputs
from fabric.configs.running_config.reader import TextReader
from fabric.configs.sonic.parse import parse_sonic
from fabric.configs.sonic.schema import SCHEMA
from fabric.configs.text.jsonfile import JsonText, refuse
from fabric.configs.text.roce_effect import UNKNOWN_LANGUAGE, effect_of
from fabric.configs.text.yamlfile import YamlText

Parser = Callable[[str, str], Device]


def _sonic(text: str, file: str) -> Device:
    source = JsonText(text, file)
    refuse_other_inputs(source.value, file)
    if is_nvue(source.value):
        _refuse_tables(source, file)
        return parse_nvue(source, file)
    device = parse_sonic(source, file)
    source.forget()
    return device


def _refuse_tables(source: JsonText, file: str) -> None:
    """Raises InputErrors where NVUE's tree has tables of CONFIG_DB beside it."""
    rows = source.value if isinstance(source.value, list) else [source.value]
    for row in rows:
        tables = [name for name in row if name in SCHEMA] if isinstance(row, dict) else []
        if tables:
            raise refuse(
                file,
                f"'{tables[0]}' is a table of SONiC's CONFIG_DB, and 'set' beside it is NVUE's tree",
                "give one file for each switch, in one language: remove the parts that are of another system",
            )


def _nvue(text: str, file: str) -> Device:
    source = YamlText(text, file)
    refuse_other_inputs(source.value, file)
    return parse_nvue(source, file)


def _nvue_commands(text: str, file: str) -> Device:
    source = Commands(text)
    device = parse_nvue(source, file)
    device.unread += [
        Unread(Place(file, number), f"'{line}'", (((line,), ""),), effect_of(line)) for number, line in source.unread
    ]
    return device


def _frr(_text: str, file: str) -> Device:
    raise refuse(file, "FRR configuration: no QoS in it, so its node is no switch", "give the switch's own")


def _os10(text: str, file: str) -> Device:
    """A switch without ports: no line is read, so that nothing is taken for what it means elsewhere."""
    reader = TextReader(text, file, name_of_file(file), "nxos")
    device = reader.finish()
    what = "a configuration of Dell OS10, which has no reader: no check looks at this switch"
    device.unread.insert(0, Unread(Place(file, 1), what, (((what,), ""),), UNKNOWN_LANGUAGE))
    return device


LANGUAGES: Final[dict[str, Parser]] = {
    "sonic": _sonic,
    "nvue": _nvue,
    "nvue_commands": _nvue_commands,
    "eos": parse_eos,
    "nxos": parse_nxos,
    "os10": _os10,
    "frr": _frr,
}


def is_frr(text: str, file: str) -> bool:
    """Whether this is FRR's own configuration: of a host, or of a router whose QoS is elsewhere. Raises InputErrors."""
    return not _is_json(text) and (is_named_frr(file) or language_of(text, file) == "frr")


def parser_of(text: str, file: str) -> Parser:
    """The parser for this text. Raises InputErrors where it is no configuration that is known, or may be two."""
    return LANGUAGES["sonic" if _is_json(text) else language_of(text, file)]


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in {"{", "["}
