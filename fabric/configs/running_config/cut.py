"""Signs, in the text of a running-config alone, that its end is missing: a copy that stopped, a full disk.

EOS ends `show running-config` with `end` (EOS User Manual, "Show running-config"); NX-OS ends it with no word. So the
last line is looked at, too: where no newline ends it, it may have stopped inside a word.
"""

from __future__ import annotations

import re
from typing import Final

from fabric.configs.capabilities import Capabilities
from fabric.configs.running_config.banners import BLANKS, rows_of

_WHOLE: Final = re.compile(r"^! ?Command: show (?:running|startup)-config(?: all| sanitized)*[ \t]*$", re.MULTILINE)
"""The first line that EOS writes for the command; with a pipe behind it, the output is a part on purpose."""
_HEAD: Final = re.compile(
    r"(?:interface|router|policy-map|class-map|class|qos profile|vrf|address-family|neighbor)\b.*"
)
"""Lines that begin a section."""
_SHOWN: Final = 60


def cut_of(text: str, system: Capabilities, last: str, *, understood: bool, alone: bool) -> str:
    """Why a running-config is taken for the beginning of one; '' where it may be whole.

    Parameters
    ----------
    last          its last line that is no comment
    understood    whether the reader knows that line
    alone         whether no line is below it
    """
    shown = last[:_SHOWN]
    stops = not text.endswith(("\n", "\r"))
    ended = next((it for row in reversed(rows_of(text)) if (it := row.strip(BLANKS)) and it[0] != "!"), "") == "end"
    if ended or not last:
        return ""
    if stops and not understood:
        return f"its last line, '{shown}', is no whole command, and no newline ends it"
    if stops and alone and _HEAD.fullmatch(last):
        return f"its last line, '{shown}', begins a section without lines, and no newline ends it"
    if system.ends_with_end and _WHOLE.search(text):
        return f"the switch ends the output of its command with 'end', and the last line is '{shown}'"
    return ""
