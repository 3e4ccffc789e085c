"""The frames of an .et file: a length as a varint, then a message, until the end; plain or gzip."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem
from fabric.reading import MIB, open_bytes

STAGE: Final = "chakra trace"
MAX_MESSAGE_BYTES: Final = 8 * MIB
"""A node with a whole program as an attribute has some 100 KB; small fields in a message take many times their size."""
MAX_FILE_BYTES: Final = 1024 * MIB
"""Of one rank, unpacked."""
_GZIP: Final = b"\x1f\x8b"
_VARINT_BYTES: Final = 10


def frames(path: Path) -> Iterator[tuple[int, bytes]]:
    """(offset, message) of each frame, read one at a time.

    Raises: InputErrors where the file is not a sequence of frames, or is too large.
    """
    with open_bytes(path, stage=STAGE, missing="give the prefix of the files: PREFIX for PREFIX.0.et") as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        with GzipFile(fileobj=file) if packed else file as plain:
            offset = 0
            while True:
                try:
                    length, size = _length(plain.read, path, offset)
                    if size == 0:
                        return
                    if length > MAX_MESSAGE_BYTES:
                        raise refuse(path, offset, f"a message of {length:,} B, more than {MAX_MESSAGE_BYTES:,}",
                                     "check that this is a Chakra trace")  # fmt: skip
                    message = plain.read(length)
                except (BadGzipFile, EOFError, zlib.error, OSError) as error:
                    raise refuse(path, offset, f"damaged gzip data: {error}", "copy the file again") from error
                if len(message) < length:
                    raise refuse(path, offset, f"the file ends after {len(message):,} of {length:,} B of a message",
                                 "copy the file again")  # fmt: skip
                yield offset, message
                offset += size + length
                if offset > MAX_FILE_BYTES:
                    raise refuse(path, offset, f"more than {MAX_FILE_BYTES // MIB:,} MiB", "cut the trace")


def refuse(path: Path, offset: int, text: str, hint: str) -> InputErrors:
    """One problem at a place of a file."""
    return InputErrors(STAGE, [Problem(f"{path}: byte {offset:,}", text, hint)])


def _length(read: Callable[[int], bytes], path: Path, offset: int) -> tuple[int, int]:
    """(value, its bytes) of a varint: 7 bits a byte, the lowest first; (0, 0) at the end of the file."""
    value = 0
    for place in range(_VARINT_BYTES):
        byte = read(1)
        if not byte:
            if place:
                raise refuse(path, offset, "the file ends within the length of a message", "copy the file again")
            return 0, 0
        value |= (byte[0] & 0x7F) << (7 * place)
        if not byte[0] & 0x80:
            return value, place + 1
    raise refuse(path, offset, "the length of a message has more than 10 bytes", "check that this is a Chakra trace")


def framed(message: bytes) -> bytes:
    """A message with its length."""
    head = bytearray()
    length = len(message)
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head) + message
