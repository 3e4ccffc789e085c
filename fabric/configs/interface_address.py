"""Addresses of interfaces with their prefix lengths, each text parsed once.

Checks ask for the same addresses many times: 20 times each on 1,000 switches, a seventh of `fabric validate`'s time.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Final

_KEPT: Final = 2**18
"""Addresses; those of 10,000 switches are fewer. About 1 KB each."""


@lru_cache(maxsize=_KEPT)
def interface_of(text: str) -> IPv4Interface | IPv6Interface:
    """The address and the network of '10.1.0.0/31'; a shared object, which does not change. Raises: ValueError."""
    return ip_interface(text)
