"""Names that are not what they look like: blanks at an end, blanks of other kinds, invisible characters.

A switch takes such a name literally, so a reference to the name that a person reads does not find it.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from fabric.visible import hidden

_CLOSE: Final = 0.88


def odd_characters(text: str) -> str:
    """Why a name is not what it looks like: a blank at an end, a blank of another kind, an invisible character."""
    if text.isascii() and text.isprintable() and text[:1] != " " != text[-1:]:
        return ""
    odd = hidden(text) or next((char for char in text if char.isspace() and char != " "), "")
    if odd:
        return f"with the character U+{ord(odd):04X}, which does not show"
    return "with a blank at its beginning or end, which the switch keeps" if text != text.strip(" ") else ""


def is_number(text: str, digits: int = 9) -> bool:
    """Whether a word is a number of `digits` digits at most, in the characters 0 to 9."""
    return len(text) <= digits and text.isascii() and text.isdigit()


def prefix_of(text: str) -> IPv4Network | IPv6Network | None:
    """The network of an address with its prefix length; None where the text is none."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def is_address(text: str) -> bool:
    """Whether a neighbour is named by its address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1000)
def meant(word: str, known: frozenset[str]) -> str:
    """' (did you mean ...?)' for a word that is one slip away from a known one."""
    close = get_close_matches(word[:60], known, n=1, cutoff=_CLOSE)
    return f" (did you mean '{close[0]}'?)" if close else ""
