"""GOAL text -> the neutral form: one statement a line, as the scanner of LogGOPSim's txt2bin takes it.

    num_ranks N
    rank R {
    [label:] send SIZEb to PEER [tag T] [cpu C] [nic I]
    [label:] recv SIZEb from PEER|-1 [tag T|-1] [cpu C] [nic I]
    [label:] calc DURATION [cpu C]
    label1 requires label2
    label1 irequires label2
    }

Options stand in this order; tag, cpu and nic are 0 where they are not given. Labels hold within a rank and are defined
before they are used; ranks come in order. A computation's duration is in ns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from fabric.reading import MIB, read_text
from fabric.traces.graph import (
    ANY,
    MAX_BYTES,
    MAX_DEPENDENCIES,
    MAX_DURATION_PS,
    MAX_OPERATIONS,
    MAX_RANKS,
    Collector,
    Kind,
    Op,
    Trace,
)
from fabric.units import PS_PER_NS

STAGE: Final = "GOAL schedule"
MAX_TEXT_BYTES: Final = 128 * MIB
MAX_TAG: Final = 2**32 - 2
"""2^32 - 1 stands for any tag."""
_OPERATION: Final = re.compile(
    r"(?:(?P<label>[a-zA-Z][a-zA-Z0-9_]*)\s*:\s*)?(?:"
    r"(?P<kind>send|recv)\s+(?P<size>[0-9]+)\s*b\s*(?P<way>to|from)\s+(?P<peer>-1|[0-9]+)"
    r"(?:\s+tag\s+(?P<tag>-1|[0-9]+))?(?:\s+cpu\s+(?P<cpu>[0-9]+))?(?:\s+nic\s+(?P<nic>[0-9]+))?"
    r"|calc\s+(?P<duration>[0-9]+)(?:\s+cpu\s+(?P<calc_cpu>[0-9]+))?)",
    re.ASCII,
)
_DEPENDENCY: Final = re.compile(
    r"(?P<later>[a-zA-Z][a-zA-Z0-9_]*)\s+(?P<start>i?)requires\s+(?P<earlier>[a-zA-Z][a-zA-Z0-9_]*)", re.ASCII
)
_RANKS: Final = re.compile(r"num_ranks\s+([0-9]{1,9})", re.ASCII)
_RANK: Final = re.compile(r"rank\s+([0-9]{1,9})\s*\{", re.ASCII)
_WORDS: Final = frozenset({"send", "recv", "calc", "rank", "num_ranks"})
_SHAPES: Final = "send SIZEb to RANK, recv SIZEb from RANK, calc NS, LABEL requires LABEL, LABEL irequires LABEL, or }"


def read_goal_text(path: Path) -> Trace:
    """A GOAL schedule. Raises: InputErrors with all problems, each with its line."""
    return _Reader(path).read(read_text(path, MAX_TEXT_BYTES, stage=STAGE))


def statements(text: str) -> Iterator[tuple[int, str]]:
    """(line number, statement) without comments and empty lines. Comments do not nest.

    Raises: ValueError with the line of a comment that does not end.
    """
    open_since = 0
    for number, line in enumerate(_lines(text), 1):
        kept, rest = "", line
        while rest:
            if open_since:
                _, end, rest = rest.partition("*/")
                if not end:
                    break
                open_since = 0
                kept += " "
            single, block = rest.find("//"), rest.find("/*")
            if single >= 0 and (block < 0 or single < block):
                kept, rest = kept + rest[:single], ""
            elif block >= 0:
                kept, rest, open_since = kept + rest[:block], rest[block + 2 :], number
                if not rest:
                    break
            else:
                kept, rest = kept + rest, ""
        if kept := kept.strip():
            yield number, kept
    if open_since:
        raise ValueError(str(open_since))


def _lines(text: str) -> Iterator[str]:
    """Lines one at a time: a list of them could take many times the memory of the text."""
    at = 0
    while at <= len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[at:end].rstrip("\r")
        at = end + 1


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.found = Collector(STAGE, str(path))
        self.trace = Trace([], "goal", [str(path)], "line")
        self.n_ranks: int | None = None
        self.rank: int | None = None
        """Rank whose braces are open."""
        self.labels: dict[str, int] = {}
        self.after: dict[int, dict[int, None]] = {}
        self.after_start: dict[int, dict[int, None]] = {}
        self.n_operations = 0
        self.n_dependencies = 0

    def read(self, text: str) -> Trace:
        """All statements."""
        line = 0
        try:
            for line, statement in statements(text):
                if not self._statement(line, statement):
                    break
        except ValueError as error:
            self._refuse(int(str(error)), "a comment begins here and does not end", "write */")
        if not self.found.n:
            self._check_end(line)
        self.found.check()
        return self.trace

    def _refuse(self, line: int, text: str, hint: str) -> None:
        self.found.add(f"{self.path}:{line}", text, hint)

    def _check_end(self, line: int) -> None:
        if self.rank is not None:
            self._refuse(line, f"rank {self.rank} does not end", "write }")
        elif self.n_ranks is None:
            self._refuse(line, "no num_ranks", "begin with: num_ranks N")
        elif len(self.trace.ranks) < self.n_ranks:
            self._refuse(line, f"ends after {len(self.trace.ranks)} of {self.n_ranks} ranks",
                         "write every rank, also those without operations: rank R { }")  # fmt: skip

    def _statement(self, line: int, statement: str) -> bool:
        """Returns: whether reading may go on."""
        if self.rank is None:
            return self._outside(line, statement)
        if statement == "}":
            self._close()
        elif (match := _OPERATION.fullmatch(statement)) is not None:
            self._operation(line, match)
        elif (match := _DEPENDENCY.fullmatch(statement)) is not None:
            self._dependency(line, match)
        elif _RANK.fullmatch(statement):
            self._refuse(line, f"rank {self.rank} has not ended", "write } before the next rank")
            return False
        else:
            self._refuse(line, f"not a statement: {statement[:60]!r}", f"write {_SHAPES}")
        if max(self.n_operations / MAX_OPERATIONS, self.n_dependencies / MAX_DEPENDENCIES) > 1:
            self._refuse(line, f"more than {MAX_OPERATIONS:,} operations or {MAX_DEPENDENCIES:,} dependencies",
                         "give a shorter schedule")  # fmt: skip
            return False
        return True

    def _outside(self, line: int, statement: str) -> bool:
        if (match := _RANKS.fullmatch(statement)) is not None:
            if self.n_ranks is not None:
                self._refuse(line, "num_ranks is given twice", "keep the first")
            elif not 1 <= int(match[1]) <= MAX_RANKS:
                self._refuse(line, f"num_ranks is {match[1]}", f"write 1 to {MAX_RANKS:,}")
            self.n_ranks = int(match[1])
        elif (match := _RANK.fullmatch(statement.removesuffix("}").rstrip())) is not None:
            rank, expected = int(match[1]), len(self.trace.ranks)
            if self.n_ranks is None:
                self._refuse(line, "a rank before num_ranks", "begin with: num_ranks N")
            elif rank != expected or rank >= self.n_ranks:
                self._refuse(line, f"rank {rank} stands where rank {expected} of {self.n_ranks} is expected",
                             "write ranks 0 to num_ranks - 1 in order")  # fmt: skip
            self.rank = rank
            self.trace.ranks.append([])
            if statement.endswith("}"):
                self._close()
        else:
            self._refuse(line, f"not a statement here: {statement[:60]!r}", "write num_ranks N, or rank R {")
        return not self.found.n

    def _operation(self, line: int, match: re.Match[str]) -> None:
        ops = self.trace.ranks[-1]
        self.n_operations += 1
        label = match["label"]
        if label is not None:
            if label in self.labels or label in _WORDS:
                self._refuse(line, f"label {label!r} is {'a keyword' if label in _WORDS else 'given twice'}",
                             "give each operation of a rank its own label")  # fmt: skip
            self.labels[label] = len(ops)
        if match["kind"] is None:
            duration_ps = int(match["duration"][:20]) * PS_PER_NS
            if duration_ps > MAX_DURATION_PS:
                self._refuse(line, f"lasts {match['duration'][:20]} ns", f"at most {MAX_DURATION_PS // PS_PER_NS:,}")
            stream = self._small(line, "cpu", match["calc_cpu"])
            ops.append(Op(Kind.COMPUTE, duration_ps=duration_ps, stream=stream, name=label or "", number=line))
            return
        sends = match["kind"] == "send"
        if (match["way"] == "to") != sends:
            self._refuse(line, f"{match['kind']} {match['way']}", f"write {'send to' if sends else 'recv from'}")
        size, peer, tag = int(match["size"][:20]), int(match["peer"][:20]), int((match["tag"] or "0")[:20])
        if size > MAX_BYTES:
            self._refuse(line, f"a message of {size:,} B", f"at most {MAX_BYTES:,}")
        peer = ANY if peer == 2**32 - 1 and not sends else peer
        tag = ANY if tag == 2**32 - 1 else tag
        if tag > MAX_TAG or (sends and tag == ANY):
            self._refuse(line, f"tag {match['tag']}", f"write 0 to {MAX_TAG}" + ("" if sends else ", or -1 for any"))
        if not (0 <= peer < (self.n_ranks or 0) or (peer == ANY and not sends)):
            self._refuse(line, f"peer {peer} is no rank", f"write 0 to {(self.n_ranks or 1) - 1}")
        ops.append(Op(Kind.SEND if sends else Kind.RECV, size_bytes=size, peer=peer, tag=tag,
                      stream=self._small(line, "cpu", match["cpu"]), nic=self._small(line, "nic", match["nic"]),
                      name=label or "", number=line))  # fmt: skip

    def _small(self, line: int, name: str, digits: str | None) -> int:
        value = int((digits or "0")[:20])
        if value > 255:
            self._refuse(line, f"{name} {value}", "write 0 to 255")
        return value

    def _dependency(self, line: int, match: re.Match[str]) -> None:
        self.n_dependencies += 1
        unknown = [label for label in (match["later"], match["earlier"]) if label not in self.labels]
        if unknown:
            self._refuse(
                line, f"label {unknown[0]!r} is not defined above", "labels hold within a rank, from their line"
            )
            return
        later, earlier = self.labels[match["later"]], self.labels[match["earlier"]]
        if later == earlier:
            self._refuse(line, f"{match['later']!r} waits for itself", "remove the line")
            return
        (self.after_start if match["start"] else self.after).setdefault(later, {})[earlier] = None

    def _close(self) -> None:
        ops = self.trace.ranks[-1]
        for index in self.after.keys() | self.after_start.keys():
            ops[index] = replace(
                ops[index], after=tuple(self.after.get(index, ())), after_start=tuple(self.after_start.get(index, ()))
            )
        self.rank = None
        self.labels, self.after, self.after_start = {}, {}, {}
