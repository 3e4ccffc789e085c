"""A captured text -> sections, each the output of one command.

A section begins at a line with a command: '### mlnx_qos -i eth0', as docs/howto/hosts.md's script writes it, or a
shell's prompt and the command, as a terminal shows it. A text without such a line is one section: its file's name says
which command ('mlnx_qos.eth0.txt'), else its content does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fabric.configs.model import Place

TOOLS: Final = (
    "mlnx_qos",
    "cma_roce_tos",
    "cma_roce_mode",
    "nicctl",
    "niccli",
    "rdma",
    "ibdev2netdev",
    "ip",
    "env",
    "printenv",
    "cat",
    "grep",
    "head",
    "tail",
    "sysfs",
)
_HEADING: Final = re.compile(
    r"^(?:#{1,4}|\+|\$|\S*[\w\]~)][$#>])\s*(?:sudo\s+(?:-\S+\s+)*)?(?P<command>(?:" + "|".join(TOOLS) + r")\b.*)$"
)
_CONTENT: Final = (
    (re.compile(r"^\s*(?:Priority trust state:|DCBX mode:|dscp2prio mapping:\s*$|PFC configuration:)"), "mlnx_qos"),
    (re.compile(r"^\s*IEEE 8021QAZ|^\s*priority:\s*\d\s+dscp:"), "niccli"),
    (re.compile(r"^\s*(?:NIC|Port|Lif id|Classification type|PFC priority bitmap)\s*:"), "nicctl"),
    (re.compile(r"^(?:==> )?/sys/"), "sysfs"),
    (re.compile(r"^\d+: \S+?:? <|^\s+vf \d+\s"), "ip"),
    (re.compile(r"^link \S+/\d+ state "), "rdma"),
    (re.compile(r"^\S+ port \d+ ==> \S+"), "ibdev2netdev"),
    (re.compile(r"^(?:export\s+)?[A-Z][A-Z0-9_]*="), "env"),
)
_RULES: Final = re.compile(r"^[-=*\s]*$")


@dataclass(slots=True)
class Section:
    """Output of one command."""

    tool: str
    words: tuple[str, ...]
    """The command's words after the tool; those of the file's name where no line has the command."""
    file: str
    at: int
    """Line of the command."""
    lines: list[tuple[int, str]] = field(default_factory=list)
    """(line, text) without empty ones and rules of dashes."""

    def place(self, line: int = 0) -> Place:
        """A line of it; without one, its first."""
        return Place(self.file, line or (self.lines[0][0] if self.lines else self.at))

    def option(self, *names: str) -> str:
        """The word after the first of these options, or behind its '='; '' without one."""
        for at, word in enumerate(self.words):
            name, _, value = word.partition("=")
            if name in names:
                return value or (self.words[at + 1] if at + 1 < len(self.words) else "")
        return ""


def sections(text: str, file: str) -> Iterator[Section]:
    """Every section that has output; tool '' where neither a command, the file's name nor the content tells it."""
    current = Section("", (), file, 1)
    for number, raw in enumerate(text.splitlines(), 1):
        found = _HEADING.match(raw.strip())
        if found is not None:
            yield from _finished(current)
            tool, *words = found["command"].split()
            current = Section(tool, tuple(words), file, number)
        elif not _RULES.match(raw):
            current.lines.append((number, raw))
    yield from _finished(current)


def _finished(section: Section) -> Iterator[Section]:
    if not section.lines:
        return
    if section.tool in {"", "cat", "grep", "head", "tail"}:
        section.tool = _by_name(section) or _by_content(section)
    yield section


def _by_name(section: Section) -> str:
    """By the file's name, 'mlnx_qos.eth0.txt': the part after the tool's name is the interface or device."""
    if section.words:
        return "sysfs" if any(word.startswith("/sys/") for word in section.words) else ""
    tool, *rest = Path(section.file).name.split(".")
    if tool not in TOOLS:
        return ""
    if len(rest) > 1:
        section.words = ("-i", rest[0], "-d", rest[0])
    return tool


def _by_content(section: Section) -> str:
    for _, text in section.lines:
        for pattern, tool in _CONTENT:
            if pattern.match(text):
                return tool
    return ""
