"""Signs, in the text of a running-config alone, that its end is missing: a copy that stopped, a full disk.

EOS ends `show running-config` with `end` (EOS User Manual, "Show running-config"); NX-OS ends it with no word. So the
last line is looked at, too, where no newline ends it. Programs that collect configurations strip the last newline of
good ones, so that alone says nothing: the line must be the beginning of one that is known in its block, or begin a
section without lines where all sections of its kind have some.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabric.configs.capabilities import Capabilities
from fabric.configs.running_config.banners import BLANKS, outside_banners
from fabric.configs.running_config.beginnings import begins

if TYPE_CHECKING:
    from fabric.configs.running_config.reader import Line

_WHOLE: Final = re.compile(r"^! ?Command: show (?:running|startup)-config(?: all| sanitized)*[ \t]*$", re.MULTILINE)
"""The first line that EOS writes for the command; with a pipe behind it, the output is a part on purpose."""
_PROMPT: Final = re.compile(r"[\w.()-]+[#>].*", re.ASCII)
"""What the switch writes behind the output, where a terminal was recorded: 'leaf1#', 'leaf1(s1)#exit'."""
_SHOWN: Final = 60


def cut_of(text: str, system: Capabilities, root: Line) -> tuple[str, Line]:
    """Why a running-config is taken for the beginning of one, '' where it may be whole; and its last line."""
    last, block = _last(root)
    if last is root or _has_end(text):
        return "", last
    shown = last.text[:_SHOWN]
    if not text.endswith(("\n", "\r")):
        if not last.used and any(begins(last.text, pattern) for pattern in block.asked):
            return f"its last line, '{shown}', is no whole command, and no newline ends it", last
        if last.used and _lacks_lines(last, block):
            return f"its last line, '{shown}', begins a section without lines, and no newline ends it", last
    if system.ends_with_end and _WHOLE.search(text):
        return f"the switch ends the output of its command with 'end', and the last line is '{shown}'", last
    return "", last


def _last(root: Line) -> tuple[Line, Line]:
    """The line with the highest number, and its block; of copies of one line, that which a reader understood."""
    found, key = (root, root), (root.number, False)
    waiting = [root]
    while waiting:
        block = waiting.pop()
        for line in block.children:
            if (line.number, line.used) > key:
                found, key = (line, block), (line.number, line.used)
        waiting += block.children
    return found


def _has_end(text: str) -> bool:
    """Whether `end` is the last line, but for comments and the prompt of a recorded terminal."""
    ended = False
    for _, raw in outside_banners(text):
        row = raw.rstrip(BLANKS)
        if row == "end":
            ended = True
        elif row and row.lstrip(BLANKS)[0] != "!" and _PROMPT.fullmatch(row) is None:
            ended = False
    return ended


def _lacks_lines(last: Line, block: Line) -> bool:
    """Whether a line begins a section, as all others of its first word do, and has no line below it."""
    word = last.text.split(" ", 1)[0]
    others = [line for line in block.children if line is not last and line.text.split(" ", 1)[0] == word]
    return not last.children and bool(others) and all(line.children for line in others)
