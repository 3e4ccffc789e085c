"""A folder of hosts -> their settings: `hosts.yml`, HOST.txt, and a folder of captured outputs for each host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from fabric.configs.hosts import environment, interfaces, mlnx, niccli, nicctl, sysfs
from fabric.configs.hosts.assemble import hosts_of
from fabric.configs.hosts.draft import HostDraft
from fabric.configs.hosts.sections import Section, sections
from fabric.configs.model import Place, Unread
from fabric.configs.network import Host, parse_hosts
from fabric.configs.text.jsonfile import read_file, refuse
from fabric.configs.text.yamlfile import MAX_BYTES
from fabric.errors import InputErrors, Problem
from fabric.units import count

_MOST_FILES: Final = 20_000
"""Of one host: a copy of its sysfs has thousands."""
_READERS: Final[Mapping[str, Callable[[Section, HostDraft], None]]] = {
    "mlnx_qos": mlnx.read_mlnx_qos,
    "cma_roce_tos": mlnx.read_roce_tos,
    "cma_roce_mode": mlnx.read_roce_mode,
    "nicctl": nicctl.read_nicctl,
    "niccli": niccli.read_niccli,
    "sysfs": sysfs.read_sysfs,
    "ip": interfaces.read_ip_link,
    "rdma": interfaces.read_rdma_link,
    "ibdev2netdev": interfaces.read_ibdev2netdev,
    "env": environment.read_environment,
    "printenv": environment.read_environment,
}


@dataclass(slots=True)
class HostFiles:
    """What a folder of hosts says."""

    hosts: dict[str, Host]
    default: Host | None
    unread: tuple[Unread, ...] = ()
    unjudged: tuple[Unread, ...] = ()
    outputs: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Host to the lines of its tools' outputs, each with its command."""


def load_hosts(folder: Path, settings: tuple[Any, Any, str] | None) -> HostFiles:
    """Every host of a folder. Raises: InputErrors with every file that cannot be read.

    Parameters
    ----------
    settings    value, lines and name of the hosts file beside the outputs; None without one
    """
    named: dict[str, Host] = {}
    default: Host | None = None
    if settings is not None:
        named, default = parse_hosts(*settings)
    problems: list[Problem] = []
    drafts: dict[str, HostDraft] = {}
    outputs: dict[str, tuple[tuple[str, str], ...]] = {}
    for name, texts, flat in _captures(folder):
        draft = drafts.setdefault(name, HostDraft(name))
        try:
            known = [_read(file, text, draft) for file, text in texts]
            outputs[name] = outputs.get(name, ()) + tuple(it for file, text in texts for it in _lines(file, text))
            if flat and not any(known):
                raise refuse(
                    str(flat),
                    "neither a hosts file nor output of a host's tools",
                    "name it hosts.yml, or give `mlnx_qos -i INTERFACE > HOST.txt`, or a folder HOST with the outputs",
                    "hosts",
                )
        except InputErrors as error:
            problems += error.problems
    if problems:
        raise InputErrors("hosts", problems)
    if not drafts and not named and default is None:
        raise refuse(
            str(folder),
            "no host in this folder",
            "give hosts.yml, HOST.txt, or a folder HOST with the outputs of its tools",
            "hosts",
        )
    for name, draft in drafts.items():
        base = named.get(name) or (replace(default, name=name) if default is not None else Host(name, Place(name, 1)))
        named[name] = hosts_of(draft, base)
    unread = tuple(item for draft in drafts.values() for item in draft.unread)
    unjudged = tuple(item for draft in drafts.values() for item in draft.unjudged)
    return HostFiles(named, default, unread, unjudged, outputs)


def _captures(folder: Path) -> Iterator[tuple[str, list[tuple[str, str]], Path | None]]:
    """(host, its texts with their files' names, the file itself where it lies in the folder)."""
    for item in sorted(it for it in folder.iterdir() if not it.name.startswith(".")):
        if item.is_dir():
            yield item.name, _texts(item), None
        elif item.name.split(".")[0].lower() != "hosts" and item.suffix.lower() not in {".md", ".sh"}:
            yield item.stem, [(str(item), read_file(item, MAX_BYTES))], item


def _texts(folder: Path) -> list[tuple[str, str]]:
    """The files below a host's folder; one below a folder 'sys' is an attribute: its path, a colon and its value."""
    found_files = (it for it in folder.rglob("*") if it.is_file() and not it.name.startswith("."))
    files = sorted(it for it in found_files if it.stat().st_size)  # a command that is not there wrote nothing
    if len(files) > _MOST_FILES:
        text = f"{count(len(files), 'file')} are more than {_MOST_FILES}"
        raise refuse(str(folder), text, "give the outputs of docs/howto/hosts.md's commands", "hosts")
    found = []
    for item in files:
        parts = item.relative_to(folder).parts
        text = read_file(item, MAX_BYTES)
        if "sys" in parts[:-1]:
            text = f"/{'/'.join(parts[parts.index('sys') :])}:{text.strip().splitlines()[0] if text.strip() else ''}"
        found.append((str(item), text))
    return found


def _lines(file: str, text: str) -> Iterator[tuple[str, str]]:
    """(command, line) of every line of an output."""
    for section in sections(text, file):
        command = " ".join((section.tool, *section.words))
        yield from ((command, line.strip()) for _, line in section.lines if line.strip())


def _read(file: str, text: str, draft: HostDraft) -> bool:
    """Read every section of a text; whether one was known."""
    known = False
    for section in sections(text, file):
        reader = _READERS.get(section.tool)
        if reader is not None:
            reader(section, draft)
            known = True
        else:
            place = section.place()
            words = " ".join((section.tool, *section.words)) or section.lines[0][1].strip()
            draft.unread.append(Unread(place, f"'{words[:80]}': no output of a command that is read"))
    return known
