"""Passwords and keys of configurations, which no output shows."""

from __future__ import annotations

import re
from typing import Final

_IN_A_LINE: Final = re.compile(r"\b(password|passphrase|secret|key-string|key \d)(?= ).*")
_FIELD: Final = re.compile(r"passw|passkey|passphrase|secret|(?:^|[_-])cak$")
NOT_SHOWN: Final = "(not shown)"


def without_secret(line: str) -> str:
    """A line of text without its password."""
    return _IN_A_LINE.sub(rf"\1 {NOT_SHOWN}", line)


def before_secret(line: str) -> str:
    """A line up to the word that its password follows: what `no` takes, without the password."""
    return _IN_A_LINE.sub(r"\1", line)


def is_secret(field: str) -> bool:
    """Whether a field of CONFIG_DB or a word of NVUE has a password or key as its value."""
    return _FIELD.search(field.lower()) is not None
