"""Interfaces that lose every frame and keep carrier: an nf_tables chain at netdev ingress with policy drop.

The messages are encoded here, so that no program is required: linux/netfilter/nfnetlink.h and nf_tables.h. One batch
creates a table with a chain, another removes the table with its chain.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from typing import Final

from fabric.errors import FabricError
from fabric.lab.netns import Namespace

_NETLINK_NETFILTER: Final = 12
_NETDEV: Final = 5
_BATCH_BEGIN, _BATCH_END = 0x10, 0x11
_SUBSYSTEM: Final = 10
_NEW_TABLE, _DELETE_TABLE, _NEW_CHAIN = 0, 2, 3
_REQUEST, _ACK, _CREATE = 0x1, 0x4, 0x400
_NESTED: Final = 0x8000
_INGRESS: Final = 0
_DROP: Final = 0


def _attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def _text(kind: int, text: str) -> bytes:
    return _attribute(kind, text.encode() + b"\0")


def _number(kind: int, number: int) -> bytes:
    return _attribute(kind, struct.pack("!I", number))


def _message(kind: int, flags: int, sequence: int, family: int, resource: int, attributes: bytes = b"") -> bytes:
    body = struct.pack("=BBH", family, 0, socket.htons(resource)) + attributes
    return struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, 0) + body


def _send(space: Namespace, messages: list[tuple[int, int, bytes]]) -> None:
    """Send one batch. Raises: FabricError if the kernel refuses it."""
    batch = [_message(_BATCH_BEGIN, _REQUEST, 0, 0, _SUBSYSTEM)]
    batch += [
        _message(_SUBSYSTEM << 8 | kind, _REQUEST | _ACK | flags, number, _NETDEV, 0, attributes)
        for number, (kind, flags, attributes) in enumerate(messages, 1)
    ]
    batch.append(_message(_BATCH_END, _REQUEST, len(messages) + 1, 0, _SUBSYSTEM))
    with space.inside():
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER)
    with sock:
        sock.bind((0, 0))
        sock.settimeout(5)
        sock.send(b"".join(batch))
        for _ in messages:
            error = -struct.unpack_from("=i", sock.recv(65_536), 16)[0]
            if error == errno.ENOENT and messages[0][0] == _DELETE_TABLE:
                return  # the interface was not silent
            if error:
                raise FabricError(
                    f"{space.name}: nf_tables refuses a chain at netdev ingress: {os.strerror(error)}",
                    "silent cables need CONFIG_NF_TABLES_NETDEV in the kernel",
                )


def silence(space: Namespace, interface: str) -> None:
    """Drop all frames that arrive at an interface. Raises: FabricError if the kernel cannot."""
    name = f"silent-{interface}"
    hook = _number(1, _INGRESS) + _number(2, 0) + _text(3, interface)
    _send(
        space,
        [
            (_NEW_TABLE, _CREATE, _text(1, name)),
            (
                _NEW_CHAIN,
                _CREATE,
                _text(1, name)
                + _text(3, "drop")
                + _attribute(4 | _NESTED, hook)
                + _number(5, _DROP)
                + _text(7, "filter"),
            ),
        ],
    )


def end_silence(space: Namespace, interface: str) -> None:
    """Accept frames again."""
    _send(space, [(_DELETE_TABLE, 0, _text(1, f"silent-{interface}"))])
