"""The form of FRR's lines: a short notation, the automaton that is made of it, and what one slip leads to.

A form is a line with its words as FRR has them. '64-9216' is a number of that range, a word in capitals is a kind of
value, `[...]` may be left out, one of `<a|b>` stands there, and any of `{a|b}` in any order. vtysh takes the beginning
of a word for the word (FRR developer's guide, "Command line interface"), and so does `Forms.full`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from fabric.configs.text.spelling import is_address, is_slip

_SIGN: Final = re.compile(r"[][<>{}|]|[^][<>{}|\s]+")
_RANGE: Final = re.compile(r"(\d+)-(\d+)")
_LETTERS: Final = re.compile(r"[A-Za-z][A-Za-z-]{2,}")
_LONG_WORD: Final = 8
"""A word of so many letters may have two slips."""
_DIGITS: Final = str.maketrans("OoIl", "0011")


def _is_ipv4(word: str) -> bool:
    return ":" not in word and is_address(word)


def _is_ipv6(word: str) -> bool:
    return ":" in word and is_address(word)


def _is_prefix(word: str, address: Callable[[str], bool], most: int) -> bool:
    begin, slash, length = word.partition("/")
    return bool(slash) and address(begin) and length.isascii() and length.isdigit() and int(length[:4]) <= most


def is_peer(word: str) -> bool:
    """A neighbour: an address, or the name of a group or an interface, which does not look like an address."""
    if re.fullmatch(r"(?:[\dOoIl]+[.,]){2,}[\dOoIl]*", word):
        return _is_ipv4(word)
    return ":" not in word or _is_ipv6(word)


_TARGET: Final = re.compile(r"(?:\*|\d+(?:\.\d+){0,3}):\d+", re.ASCII)
_KINDS: Final[dict[str, tuple[Callable[[str], bool], str]]] = {
    "IP4": (_is_ipv4, "IPv4 address"),
    "IP6": (_is_ipv6, "IPv6 address"),
    "NET4": (lambda it: _is_prefix(it, _is_ipv4, 32), "IPv4 prefix with its length"),
    "NET6": (lambda it: _is_prefix(it, _is_ipv6, 128), "IPv6 prefix with its length"),
    "TARGET": (lambda it: _TARGET.fullmatch(it) is not None, "value of two numbers with a colon"),
    "ASN": (
        lambda it: (
            re.fullmatch(r"\d{1,10}|\d{1,5}\.\d{1,5}", it, re.ASCII) is not None
            and all(int(part) <= (65_535 if "." in it else 2**32 - 1) for part in it.split("."))
            and int(it.replace(".", "")) > 0
        ),
        "AS number",
    ),
    "MAC": (lambda it: re.fullmatch(r"(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}", it) is not None, "MAC address"),
    "SIGNED": (lambda it: re.fullmatch(r"[+-]?\d{1,10}|[+-]?rtt", it, re.ASCII) is not None, "metric"),
    "PEER": (is_peer, "address"),
    "NAME": (lambda _: True, "name"),
    "REST": (lambda _: True, "text"),
}
"""Kind of value to its test and its name."""
_ANY_WORD: Final = frozenset(("NAME", "REST", "PEER"))


@dataclass(frozen=True, slots=True)
class _Value:
    """A place for a value: of a kind, or of a range of numbers."""

    kind: str
    low: int = 0
    high: int = 0

    def takes(self, word: str) -> bool:
        """Whether the word is such a value."""
        if self.kind:
            return _KINDS[self.kind][0](word)
        return word.isascii() and word.isdigit() and len(word) < 12 and self.low <= int(word) <= self.high

    @property
    def name(self) -> str:
        """What stands here."""
        return _KINDS[self.kind][1] if self.kind else f"number from {self.low} to {self.high}"

    def fault(self, word: str) -> str:
        """Why the word is none; '' where it is another thing altogether."""
        if not self.kind and re.fullmatch(r"-?\d+", word, re.ASCII):
            return f"{word[:20]} is outside {self.low}..{self.high}"
        if not self.kind and re.fullmatch(r"\d+[A-Za-z]+\d*", word):
            return f"'{word[:20]}' is no number"
        digits = any(it.isdigit() for it in word)
        looks = re.fullmatch(
            r"[\dOoIl./:,-]+" if self.kind in {"IP4", "NET4", "ASN", "TARGET", "PEER"} else r"(?!)", word
        )
        if self.kind in {"IP6", "NET6", "MAC"}:
            looks = re.fullmatch(r"[0-9A-Fa-f:./-]*:[0-9A-Fa-f:./-]*", word)
        return f"'{word[:40]}' is no {self.name}" if looks and digits else ""


@dataclass(slots=True)
class _State:
    """A place between two words."""

    words: dict[str, _State] = field(default_factory=dict)
    values: list[tuple[_Value, _State]] = field(default_factory=list)
    empty: list[_State] = field(default_factory=list)
    """Places that are reached without a word."""
    final: bool = False


@dataclass(frozen=True, slots=True)
class Slip:
    """What is wrong with a line, and the line that was meant where that is known."""

    text: str
    """As it follows the line in a sentence; '' where a word is mistyped."""
    meant: str = ""
    block: str = ""
    """The block that has such a line."""


class Forms:
    """The forms of the lines of one block."""

    def __init__(self, forms: Iterable[str]) -> None:
        self._begin = _State()
        for form in forms:
            _built(_SIGN.findall(form), self._begin).final = True

    def full(self, words: list[str]) -> list[str] | None:
        """The line with each word in full; None where no form takes it. A `no` line may end early."""
        taken, places = self._taken(words)
        if len(taken) < len(words):
            return None
        return taken if words[:1] == ["no"] or any(it.final for it in places) else None

    def _taken(self, words: list[str]) -> tuple[list[str], list[_State]]:
        """The words that lead somewhere, in full, and the places after them."""
        places, found = _closed([self._begin]), list[str]()
        for word in words:
            if not found and word == "no":
                found.append(word)
                continue
            following = _after(places, word)
            if following is None:
                break
            places = _closed(following[1])
            found.append(following[0])
        return found, places

    def slips(self, words: list[str]) -> Iterator[tuple[int, Slip]]:
        """What may be wrong with a line that no form takes, each with how far the line is from that: 0 is nearest."""
        places, begin = _closed([self._begin]), list[str]()
        for number, word in enumerate(words):
            if word == "no" and not number:
                begin.append(word)
                continue
            yield from _of_word(places, begin, word, words[number + 1 :])
            following = _after(places, word)
            if following is None:
                return
            places = _closed(following[1])
            begin.append(following[0])
        wanted = sorted(
            {it.name for place in places for it, _ in place.values} | {w for it in places for w in it.words}
        )
        if wanted and begin == words and words[0] != "no" and not any(it.final for it in places):
            ask = f"{', '.join(wanted[:4])}{' ...' if len(wanted) > 4 else ''}"
            yield 3, Slip(f" ends too early (expected: {ask})")


def _of_word(places: list[_State], begin: list[str], word: str, rest: list[str]) -> Iterator[tuple[int, Slip]]:
    """What may be wrong with one word of a line, or missing before it."""
    off = begin[:1] == ["no"]
    for place in places:
        for key, following in place.words.items():
            near = key != word and _LETTERS.fullmatch(word) and _is_near(word, key)
            if near and (full := _ended([following], rest, off)) is not None:
                yield (0 if near == 1 else 2), Slip("", " ".join((*begin, key, *full)))
        for value, after in place.values:
            if value.takes(word) or _ended([after], rest, off) is None:
                continue
            digits = word.translate(_DIGITS)
            if digits != word and value.takes(digits) and re.search(r"\d", word):
                yield 0, Slip("", " ".join((*begin, digits, *(_ended([after], rest, off) or ()))))
            elif fault := value.fault(word):
                yield 1, Slip(f": {fault}")
    if begin and not off:
        yield from _lacking(places, begin, [word, *rest])


def _lacking(places: list[_State], begin: list[str], words: list[str]) -> Iterator[tuple[int, Slip]]:
    """A line that would be one with another word before `words`, the first of which no place takes."""
    if _after(places, words[0]) is not None:
        return
    found: dict[str, tuple[bool, list[str]]] = {}
    for key, following in ((key, it) for place in places for key, it in place.words.items()):
        any_word = any(it.kind in _ANY_WORD for at in _closed([following]) for it, _ in at.values)
        full = _ended([following], words, off=False)
        # After the first word of a line, a word that takes anything behind it would fit every mistake.
        if full is not None and len(key) > 2 and not key.startswith(words[0]) and (len(begin) > 1 or not any_word):
            found[key] = any_word, full
    if found:
        meant = [" ".join((*begin, key, *full)) for key, (_, full) in found.items()]
        some = " or ".join(f"'{it}'" for it in sorted(found, key=lambda it: (found[it][0], it))[:3])
        yield 4, Slip(f" lacks a word before '{words[0][:40]}': {some}", meant[0] if len(meant) == 1 else "")


def _is_near(word: str, key: str) -> int:
    """1 where one slip, of any letter, leads to the key, 2 where two do in a long word, 0 elsewhere."""
    if re.sub(r"\D", "", word) != re.sub(r"\D", "", key):
        return 0  # ospf and ospf6 are two words
    begun = ("-" + word.lower(), "-" + key.lower()) if len(key) > 3 else (word.lower(), key.lower())
    if begun[0] == begun[1] or is_slip(*begun):
        return 1
    return 2 if len(key) >= _LONG_WORD and is_slip(*begun, 2) else 0


def _after(places: list[_State], word: str) -> tuple[str, list[_State]] | None:
    """The word in full and the places after it; None where no place takes it."""
    exact = [place.words[word] for place in places if word in place.words]
    value = [it for place in places for test, it in place.values if test.takes(word)]
    if exact or value:
        return word, exact + value
    keys = {key for place in places for key in place.words if key.startswith(word)}
    if not keys:
        return None
    full = next(iter(keys)) if len(keys) == 1 else word  # an ambiguous beginning is left as it is
    return full, [place.words[key] for place in places for key in sorted(keys) if key in place.words]


def _ended(places: list[_State], rest: list[str], off: bool) -> list[str] | None:
    """The rest of a line in full where it leads from these places to the end of a form."""
    here, found = _closed(places), list[str]()
    for word in rest:
        following = _after(here, word)
        if following is None:
            return None
        found.append(following[0])
        here = _closed(following[1])
    return found if off or any(it.final for it in here) else None


def _closed(places: Iterable[_State]) -> list[_State]:
    """These places and those that are reached from them without a word, each once."""
    found = list[_State]()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if not any(place is it for it in found):
            found.append(place)
            waiting += place.empty
    return found


def _built(signs: list[str], begin: _State) -> _State:
    """Add the signs after a place; the place behind them."""
    place, number = begin, 0
    while number < len(signs):
        sign = signs[number]
        if sign in "[<{":
            end = _closing(signs, number)
            place = _branches(sign, _parts(signs[number + 1 : end]), place)
            number = end
        else:
            place = _word(sign, place)
        number += 1
    return place


def _word(sign: str, place: _State) -> _State:
    """The place after a sign; forms that begin alike share their places."""
    match = _RANGE.fullmatch(sign)
    if match is None and sign not in _KINDS:
        return place.words.setdefault(sign, _State())
    value = _Value("", int(match[1]), int(match[2])) if match else _Value(sign)
    known = next((after for it, after in place.values if it == value), None)
    if known is not None:
        return known
    following = _State()
    place.values.append((value, following))
    if sign == "REST":
        following.values.append((value, following))
    return following


def _branches(kind: str, parts: list[list[str]], place: _State) -> _State:
    """The place behind alternatives: `<`: one of them; `[`: one or none; `{`: any number of them, in any order."""
    behind = _State()
    if kind == "{":
        place.empty.append(behind)
        for part in parts:
            _built(part, behind).empty.append(behind)
        return behind
    for part in parts:
        begin = _State()
        place.empty.append(begin)
        _built(part, begin).empty.append(behind)
    if kind == "[":
        place.empty.append(behind)
    return behind


def _closing(signs: list[str], begin: int) -> int:
    """The index of the bracket that closes the one at `begin`."""
    depth = 0
    for number in range(begin, len(signs)):
        depth += (signs[number] in "[<{") - (signs[number] in "]>}")
        if depth == 0:
            return number
    raise ValueError(f"no end of '{' '.join(signs[begin:])}'")


def _parts(signs: list[str]) -> list[list[str]]:
    """The alternatives between the bars outside of inner brackets."""
    parts, depth = [list[str]()], 0
    for sign in signs:
        depth += (sign in "[<{") - (sign in "]>}")
        if sign == "|" and depth == 0:
            parts.append([])
        else:
            parts[-1].append(sign)
    return parts


@cache
def forms_of(lines: tuple[str, ...]) -> Forms:
    """The automaton of these forms, made once."""
    return Forms(lines)
