"""Which parser reads which file: told by the content, because names of configurations are anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fabric.configs.jsonfile import JsonText, refuse
from fabric.configs.model import Device
from fabric.configs.sonic import parse_sonic

Parser = Callable[[str, str], Device]


def _sonic(text: str, file: str) -> Device:
    return parse_sonic(JsonText(text, file), file)


LANGUAGES: Final[dict[str, Parser]] = {"sonic": _sonic}


def parser_of(text: str, file: str) -> Parser:
    """The parser for this text. Raises InputErrors where it is no configuration that is known."""
    if text.lstrip()[:1] in {"{", "["}:
        return LANGUAGES["sonic"]
    raise refuse(file, "not a configuration that is known", "known are: " + ", ".join(LANGUAGES))
