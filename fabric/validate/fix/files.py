"""The files of a plan: a patch or a list of commands for each switch and host, and copies of the fixed files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import permutations
from pathlib import Path
from typing import Any, Final

from fabric.configs.load import HOSTS, LINKS
from fabric.configs.model import Device
from fabric.configs.text.jsonfile import JsonText, read_file
from fabric.errors import InputErrors, Problem
from fabric.runs.owned import OwnedFolder, check
from fabric.validate.fix import frr, lines, tables
from fabric.validate.fix.search import Plan
from fabric.validate.fix.state import Change, State, after
from fabric.validate.frr_fixes import typed
from fabric.validate.judge import Request

_SESSION: Final = "fabric-fix"
_MOST_CHANGED: Final = 0.5
"""Part of a file's lines that may differ between it and its fixed copy for an edit of a code host to be shown."""


def patches(plan: Plan) -> dict[str, str]:
    """File name to its text: SWITCH.patch.json for `config apply-patch`, SWITCH.commands.txt, hosts.commands.txt."""
    return patches_of(plan.start, plan.end, plan.changes)


def patches_of(start: State, end: State, changes: Sequence[Change]) -> dict[str, str]:
    """The same, of changes that turn one state into the other."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(change.device for change in changes):
        device = start.network.devices.get(name)
        if device is None:
            continue
        its = [change for change in changes if change.device == name]
        if any(it.rows for it in its) or (device.capabilities.tables and not all(it.file for it in its)):
            found[f"{name}.patch.json"] = json.dumps(patch(start, end, device), indent=2, ensure_ascii=False) + "\n"
        its = [it for it in its if it.file or not device.capabilities.tables]
        if its:
            found[f"{name}.commands.txt"] = "\n".join(_commands(device, its)) + "\n"
    hosts = [it for it in changes if it.device not in start.network.devices]
    if hosts:
        found["hosts.commands.txt"] = "".join(f"# {_of_host(it)}\n{it.command}\n" for it in hosts)
    return found


def _of_host(change: Change) -> str:
    everyone = "every host that the hosts file does not name"
    return f"{everyone if change.device == 'default' else change.device}: {change.what}"


def patch(start: State, end: State, device: Device) -> list[dict[str, Any]]:
    """The JSON Patch (RFC 6902) of a SONiC switch."""
    old, new = (JsonText(state.text(device.file), device.file).value for state in (start, end))
    return tables.patch(old, new)


def _commands(device: Device, changes: list[Change]) -> Iterator[str]:
    """What is typed or pasted on a switch without JSON patches, or in `vtysh` where FRR's file is beside its own."""
    if device.capabilities.tables:
        yield from ("! in vtysh", "configure terminal")
        for change in changes:
            yield f"! {change.what}"
            if not typed(change.command):
                yield f"! in the shell, after this list: {change.command}"
                continue
            yield from change.statements
            yield from ["exit"] * len(frr.path_after(change.statements))
        yield from ("end", "write memory")
    elif device.capabilities.shell_statements:
        yield from (statement for change in changes for statement in change.statements)
        yield "nv config apply"
    else:
        eos = device.capabilities.sessions
        yield from [f"configure session {_SESSION}"] if eos else [f"checkpoint {_SESSION}", "configure terminal"]
        for change in changes:
            yield f"! {change.what}"
            yield from change.statements
            yield from ["exit"] * lines.depth(change.statements)
        yield from ["show session-config diffs", "commit"] if eos else ["end"]


def refuse(request: Request, folder: Path, option: str) -> None:
    """Refuse a folder that was read, or that holds a file that was, the baseline included: it would be read with the
    new files next; and files of others. Raises: InputErrors.
    """
    read = {it.resolve() for it in (*request.configs, request.links, request.hosts, request.baseline) if it is not None}
    if folder.is_dir() and any(it == folder.resolve() or folder.resolve() in it.parents for it in read):
        problem = Problem(option, f"{folder} holds the files that were read", "name another folder")
        raise InputErrors("options", [problem])
    check(folder, option, _command(option))


def refuse_shared(places: Mapping[str, Path]) -> None:
    """Refuse two options that would write into one place, or one inside the other. Raises: InputErrors."""
    whole = {option: path.resolve() for option, path in places.items()}
    problems = [
        Problem(other, f"{places[other]} is, or is in, the place of {option}, {places[option]}", "name another one")
        for (option, here), (other, there) in permutations(whole.items(), 2)
        if here in there.parents or (here == there and option < other)
    ]
    if problems:
        raise InputErrors("options", problems)


def _command(option: str) -> str:
    return f"fabric validate {option}"


def write_copies(plan: Plan, folder: Path) -> list[Path]:
    """Write every file that was read, fixed where a change is in it, into a folder that can be validated in turn.

    Raises: InputErrors where the folder has other files, OSError.
    """
    owned = OwnedFolder(folder, "--fix-apply", _command("--fix-apply"))
    written = []
    beside = [Path(file) for it in plan.start.network.devices.values() for file, _ in it.beside.values()]
    for name, source in _copies(plan.start.request, beside).items():
        changed = plan.end.contents.get(str(source))
        written.append(owned.write(name, source.read_bytes() if changed is None else changed))
    return written


def write_patches(plan: Plan, folder: Path) -> list[Path]:
    """Write the patches and lists of commands. Raises: as write_copies()."""
    owned = OwnedFolder(folder, "--fix", _command("--fix"))
    return [owned.write(name, text) for name, text in patches(plan).items()]


def _copies(request: Request, beside_switches: Sequence[Path]) -> dict[str, Path]:
    """Name below the folder of copies to each file of the request, and each file of FRR that a folder beside has.

    Switches lie as in their folder; hosts and links that an option names lie beside them, under the name by which the
    folder finds them, in place of what it has there.
    """
    inside = [(path, it) for path in request.configs for it in (_files_of(path) if path.is_dir() else [path])]
    folders = [(path if path.is_dir() else path.parent).absolute() for path in request.configs]
    top = next(it for it in (folders[0], *folders[0].parents) if all(one.is_relative_to(it) for one in folders))
    found = {it.absolute().relative_to(top).as_posix(): it for it in (*(it for _, it in inside), *beside_switches)}
    if request.hosts is None:  # outputs of hosts, which lie beside the switches
        beside = [it for path in request.configs if path.is_dir() for it in path.iterdir() if it.name.lower() in HOSTS]
        found.update(
            {it.absolute().relative_to(top).as_posix(): it for folder in beside for it in _files_below(folder)}
        )
    for option, words in (("links", LINKS), ("hosts", HOSTS)):
        path = getattr(request, option)
        if path is None or path.absolute() in {it.absolute() for it in found.values()}:
            continue
        for name in [it for it in found if it.split(".")[0].lower() in words]:
            del found[name]
        if path.is_dir():
            found.update({f"{option}/{it.relative_to(path).as_posix()}": it for it in _files_below(path)})
        else:
            found[f"{option}{path.suffix}"] = path
    return found


def _files_below(folder: Path) -> list[Path]:
    return sorted(it for it in folder.rglob("*") if it.is_file() and not it.name.startswith("."))


def _files_of(folder: Path) -> list[Path]:
    return sorted(it for it in folder.iterdir() if it.is_file() and not it.name.startswith("."))


Replacement = tuple[int, int, str]
"""First line and last line that go (the last is the first - 1 where none goes), and the text that comes."""


def replacements(state: State, changes: tuple[Change, ...]) -> dict[str, list[Replacement]]:
    """File to the edits of its lines that make the changes alone; {} where a whole file would be rewritten."""
    texts: dict[str, str] = {}
    for change in changes:
        file = state.file_of(change)
        texts[file] = after(texts.get(file) or state.text(file), change, state.network.devices.get(change.device), file)
    found: dict[str, list[Replacement]] = {}
    for file, text in texts.items():
        old = read_file(Path(file)).splitlines(keepends=True)
        new = text.splitlines(keepends=True)
        edits = _edits(old, new)
        if sum(high - low for low, high, _, _ in edits) > _MOST_CHANGED * len(old):
            return {}
        found[file] = [(low + 1, high, "".join(new[begin:end])) for low, high, begin, end in edits]
    return found


def _edits(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """(low, high, begin, end): lines of the old text and those that stand for them.

    What both have at the start and at the end is left out first: a few lines of thousands are compared.
    """
    most = min(len(old), len(new))
    start = next((it for it in range(most) if old[it] != new[it]), most)
    rest = most - start
    same = next((it for it in range(rest) if old[-1 - it] != new[-1 - it]), rest)
    matcher = SequenceMatcher(None, old[start : len(old) - same], new[start : len(new) - same], autojunk=False)
    codes = (it[1:] for it in matcher.get_opcodes() if it[0] != "equal")
    return [(low + start, high + start, begin + start, end + start) for low, high, begin, end in codes]
