"""Names that are not what they look like: blanks at an end, blanks of other kinds, invisible characters.

A switch takes such a name literally, so a reference to the name that a person reads does not find it.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from fabric.visible import hidden

_CLOSE: Final = 0.88
_LONG: Final = 8
"""A word of so many letters may have two slips."""


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


def is_slip(given: str, word: str, most: int = 1) -> bool:
    """Whether at most so many letters were added, left out or replaced, or neighbours swapped; never the first letter.

    Words that differ in the first letter alone are other words: kbps and gbps, tx and rx.
    """
    if given == word or given[:1] != word[:1] or abs(len(given) - len(word)) > most:
        return False
    return _within(given, word, most)


def _within(given: str, word: str, most: int) -> bool:
    """Whether so many changes make one of the other; each is made where the two first differ."""
    begin = 0
    while begin < min(len(given), len(word)) and given[begin] == word[begin]:
        begin += 1
    left, right = given[begin:], word[begin:]
    if left == right or most == 0:
        return left == right
    tried = [(left[1:], right), (left, right[1:]), (left[1:], right[1:])]
    if len(left) > 1 and left[:2] == right[1::-1]:
        tried.append((left[2:], right[2:]))
    return any(_within(*pair, most - 1) for pair in tried)


@lru_cache(maxsize=1000)
def slip_of(word: str, known: frozenset[str], most: int = 1) -> str:
    """The known word that another one is a slip of: one letter or `most`, its case, or '-' for '_'; '' where none is.

    Digits are no slips: ipv4 and ipv6 are two words, and so are words of which half the letters differ.
    """
    plain = {it: it.lower().replace("-", "_") for it in sorted(known)}
    given = word[:60].lower().replace("-", "_")
    same = next((it for it in plain if plain[it] == given and it != word), "")
    letters = re.sub(r"\D", "", given)
    near = (
        it
        for it in plain
        if len(it) > 2 * most and re.sub(r"\D", "", it) == letters and is_slip(given, plain[it], most)
    )
    return same or next(near, "")


@lru_cache(maxsize=1000)
def nearest_to(word: str, known: frozenset[str]) -> str:
    """' (did you mean ...?)' with the nearest known word, however far; '' where nothing is alike."""
    slip = slip_of(word, known) or slip_of(word, known, 2)
    close = [slip] if slip else get_close_matches(word[:60], sorted(known), n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


@lru_cache(maxsize=1000)
def meant(word: str, known: frozenset[str]) -> str:
    """' (did you mean ...?)' for a slip of a known word, or one that has nearly all of its letters in their order."""
    slip = slip_of(word, known) or (slip_of(word, known, 2) if len(word) >= _LONG else "")
    close = [slip] if slip else get_close_matches(word[:60], known, n=1, cutoff=_CLOSE)
    return f" (did you mean '{close[0]}'?)" if close else ""
