"""Words of NVUE's tree that switch something on or off, and numbers that must fit each other.

A word that no release knows is refused by `nv config apply`, so it is a defect (R5) and never silently 'off'. Releases
before 5.13 write on and off, or enable and disable; later ones write enabled and disabled for the same leaves.
Source: NVIDIA Cumulus Linux NVUE reference; user guide 5.15, "What's New" (on and off updated to enabled, disabled).
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

from fabric.configs.model import Defect
from fabric.configs.nvue.reader import Reader, leaves_of
from fabric.configs.text.spelling import is_number, slip_of

_ABLE: Final = ("enable", "disable", "enabled", "disabled")
_SWITCH: Final = ("on", "off", *_ABLE)
_QOS: Final = ("qos", "pfc", "*"), ("qos", "link-pause", "*")
_MARKING: Final = (("qos", "congestion-control", "*", "traffic-class", "*"),)
_READ: Final = frozenset(("qos", "nve", "evpn", "router", "vrf", "interface"))
"""Parts of the tree whose switches are judged."""
_PARENTS: Final = {
    "tx": (_QOS, _ABLE),
    "rx": (_QOS, _ABLE),
    "ecn": (_MARKING, _ABLE),
    "red": (_MARKING, _ABLE),
    "auto-negotiate": ((("interface", "*", "link"),), _SWITCH),
    "forward": ((("interface", "*", "ip", "ipv4"),), _SWITCH),
    "state": (
        (
            ("interface", "*", "qos", "pfc-watchdog"),
            ("qos", "roce"),
            ("evpn",),
            ("nve", "vxlan"),
            ("nve", "vxlan", "flooding"),
            ("router", "bgp"),
        ),
        _SWITCH,
    ),
    "graceful-shutdown": ((("router", "bgp"),), _SWITCH),
    "mode": ((("maintenance", "unit", "*"),), _SWITCH),
}
"""Last word of a leaf to the paths above it and the words it takes."""
_TYPES: Final = (
    (("interface", "*", "type"), frozenset(("swp", "bond", "loopback", "svi", "eth", "peerlink", "sub"))),
    (("vrf", "*", "router", "bgp", "neighbor", "*", "type"), frozenset(("numbered", "unnumbered"))),
)
"""Leaves with a word for the kind of something; a release may have more of them, so that slips alone are wrong."""
_WHOLE_PERCENT: Final = 100


def check_words(reader: Reader) -> None:
    """Add a defect for each word that switches nothing, and for numbers that contradict each other."""
    for path, value in leaves_of(reader.written):
        word = path[-1]
        for pattern, known in _TYPES if word == "type" else ():
            if _fits(path, pattern) and value not in known and (right := slip_of(value, known)):
                reader.bad(path, f"type '{value[:40]}' is none of {', '.join(sorted(known))} (did you mean '{right}'?)")
        if word == "enable" and path[0] in _READ and len(path) > 1:
            allowed: tuple[str, ...] = _SWITCH
        elif word in _PARENTS and any(_fits(path[:-1], it) for it in _PARENTS[word][0]):
            allowed = _PARENTS[word][1]
        else:
            continue
        said = {"True": "on", "False": "off", "": "on"}.get(value, value).lower()
        if said not in allowed:
            reader.bad(path, f"{word} '{said[:40]}' is none of {', '.join(allowed)}")
    _bandwidths(reader)
    _pause_levels(reader)
    _kinds(reader)


_NAMES: Final = {"swp": r"swp.+", "loopback": r"lo", "eth": r"eth.+", "peerlink": r"peerlink(?:\.\d+)?"}
"""Type of an interface to the names that it can have."""


def _kinds(reader: Reader) -> None:
    """An interface has a name of its type: the loopback is `lo`, and no line makes another one."""
    for name in reader.at("interface"):
        kind = str(reader.at("interface", str(name)).get("type", ""))
        if kind in _NAMES and not re.fullmatch(_NAMES[kind], str(name)):
            wanted = "lo" if kind == "loopback" else f"{kind}NUMBER"
            text = f"'{str(name)[:40]}' is no name of an interface of type {kind}, which is {wanted}"
            meant = str(name).lower()
            reader.bad(("interface", str(name)), f"{text}: '{meant}'" if re.fullmatch(_NAMES[kind], meant) else text)


def is_on(value: Any, *, default: bool = True) -> bool:  # noqa: ANN401  YAML
    """What a switch of any release says; `default` where it is not stated."""
    return default if value is None else value is True or str(value).lower() in {"on", "enable", "enabled"}


def is_shut(reader: Reader, path: tuple[str, ...]) -> bool:
    """Whether `link state` of an interface is down: of several commands the last one holds."""
    value = reader.at(*path, "link").get("state")
    words = [str(it) for it in (value if isinstance(value, dict | list) else [] if value is None else [value])]
    for word in words:
        if word not in {"up", "down"}:
            reader.bad((*path, "link", "state"), f"state '{word[:40]}' is none of up, down")
    return words[-1:] == ["down"]


def _fits(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    return len(path) == len(pattern) and all(want in ("*", have) for have, want in zip(path, pattern, strict=True))


def _bandwidths(reader: Reader) -> None:
    """Shares of weighted classes that are stated in one profile sum up to 100 percent at most."""
    for profile in reader.at("qos", "egress-scheduler"):
        path = ("qos", "egress-scheduler", str(profile), "traffic-class")
        stated: dict[int, int] = {}
        last: tuple[str, ...] = path
        for queue, row, at in reader.entries(*path):
            share = str(row.get("bw-percent", "")) if row.get("mode", "dwrr") != "strict" else ""
            if is_number(share) and int(share) <= _WHOLE_PERCENT:
                stated[queue], last = int(share), at
        total = sum(stated.values())
        if total > _WHOLE_PERCENT:
            shown = ", ".join(f"{queue}: {share}" for queue, share in stated.items())
            where, text = reader.where(*last, "bw-percent"), f"bw-percent of the classes ({shown}) sums up to {total}"
            name = ".".join((*last, "bw-percent"))[:120]
            reader.device.defects.append(Defect("R5", where, name, f"{text}, above 100", reader.where(*path)))


_FRAME_BYTES: Final = 1500
"""A lossless class has frames of this size at least: below it every packet begins a pause."""


def _pause_levels(reader: Reader) -> None:
    """A pause ends below the level at which it begins, and both are inside the port's buffer."""
    words = ("xon-threshold", "xoff-threshold", "port-buffer")
    for name in reader.at("qos", "pfc"):
        path = ("qos", "pfc", str(name))
        row = reader.at(*path)
        for word in words[1:]:
            value = str(row.get(word, ""))
            if is_number(value) and 0 < int(value) < _FRAME_BYTES:
                reader.bad((*path, word), f"{word} {value} is less than one frame of {_FRAME_BYTES} bytes", "R9")
        for low, high in pairwise(words):
            lower, upper = (str(row.get(word, "")) for word in (low, high))
            if is_number(lower, 18) and is_number(upper, 18) and int(lower) > int(upper):
                reader.bad((*path, low), f"{low} {lower} is above {high} {upper}", "R9")
