"""The changes that a search tries for one cause, the best founded first.

They are the remedy of the check; the value of the baseline at the places of the findings; what most peers have there
and around; and, where none of these helps, any difference from the baseline.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from fabric.configs.model import Device
from fabric.errors import InputErrors
from fabric.validate.baseline_values import BASELINE
from fabric.validate.blocks import Blocks, blocks_of, of_frr
from fabric.validate.causes import Cause
from fabric.validate.edits import BETWEEN_COMMANDS, BETWEEN_LINES
from fabric.validate.fix import spelling
from fabric.validate.fix.differences import differences, of_block, paired, with_address
from fabric.validate.fix.neighbors import added
from fabric.validate.fix.peers import Peers, Usual, change_of
from fabric.validate.fix.state import CannotApplyError, Change, State, after, of_fix
from fabric.validate.frr_fixes import vtysh
from fabric.validate.manual import NOT_OF_PEERS

_MOST: Final = 16
"""Candidates of one kind for one cause."""
_POLICIES: Final = ("route-map", "prefix-list", "policy", "PREFIX", "ROUTE_MAP", "route_map", "prefix_list")
"""Words of the places of policies."""
_ADDRESS_OF: Final = re.compile(r"neighbor (\S+) address")


def candidates(
    now: State, cause: Cause, old: Peers | None, *, further: bool
) -> Iterator[tuple[bool, tuple[Change, ...]]]:
    """Sets of changes, the best founded first, and whether a rule or the baseline gives them.

    Parameters
    ----------
    old        the blocks of the baseline
    further    try what the peers have, too
    """
    remedies = (of_fix(it, cause.check.remedy, now.network) for it in cause.fixes)
    of_rules = tuple(dict.fromkeys(it for it in remedies if it is not None))
    peers = Peers(now)
    put_back = any(it.source == BASELINE for it in cause.fixes)
    for asked in filter(None, (of_rules, _readdressed(now, cause), _added(now, peers, cause))):
        if old is not None and not put_back and not any(it.in_file for it in asked):  # which the switch never took
            yield from ((True, its) for its in _as_before(now, peers, old, asked))
        yield True, asked
    if put_back:
        return  # a host or a port is changed back: no other value follows it
    places = list(dict.fromkeys((device.name, path) for it in cause.findings for device, path in peers.places(it)))
    if old is not None:
        for changes in _grouped(now, [it for name, path in places for it in _baseline(peers, old, name, path)]):
            yield True, changes
    if further and cause.check.id in spelling.CHECKS:
        for name, path in places:
            for its in spelling.spelled(peers, now.network.devices[name], path, cause.first):
                yield False, _in_one(now, _together(now, its))
    # 'bgp_asn None': the remedy of its consequence P12 has the number, which the neighbours state.
    if cause.check.id == spelling.NO_VALUE:
        for result in cause.consequences:
            fix = result.fix if result.root == cause.first.root else None
            change = None if fix is None else of_fix(fix, result.check.remedy, now.network)
            if change is not None:
                yield True, (change,)
    if not further or (cause.check.id in NOT_OF_PEERS and not _of_policy(cause)):
        return
    tried = {of_rules}
    wrong = {it.root[0] for it in cause.findings} & now.network.devices.keys() or {it.device for it in cause.findings}
    for changes in islice(_of_peers(now, peers, places, wrong), _MOST):
        if changes not in tried:
            tried.add(changes)
            yield False, changes


def _of_policy(cause: Cause) -> bool:
    """Whether a policy of routes keeps hosts apart, which neighbours of one kind have alike."""
    words = " ".join(cause.first.root[1])
    return cause.check.id == "V11" and any(it in words for it in _POLICIES)


def _of_peers(
    now: State, peers: Peers, places: Sequence[tuple[str, tuple[str, ...]]], wrong: Collection[str]
) -> Iterator[tuple[Change, ...]]:
    """Single differences from the peers; the same one in several places is one candidate.

    Parameters
    ----------
    wrong    switches whose configuration the findings want changed
    """
    found: list[Usual] = []
    for name, path in places:
        found += peers.differences(now.network.devices[name], path, decided=name in wrong)
    yield from _grouped(now, found)
    rest: list[Usual] = []
    for name, path in places:
        device = now.network.devices[name]
        if name not in wrong:
            continue
        if device.capabilities.tables and path[0] not in device.beside:
            for port in (it for word in path for it in word.split("|") if it in device.ports):
                rest += peers.rows_of_port(device, port)
            continue
        for other in peers.around(device, path):
            rest += peers.differences(device, other, decided=True)
    yield from _grouped(now, rest)
    for every in (found, [it for it in (*found, *rest) if it.path]):
        if every:
            yield _together(now, [it for it in every if it.device in wrong] or every)


def _as_before(now: State, peers: Peers, old: Peers, rules: Sequence[Change]) -> Iterator[tuple[Change, ...]]:
    """The statements that the rules would change, as the baseline has them: its value is the one that was meant."""
    found: list[Change] = []
    same = True
    for name in dict.fromkeys(it.device for it in rules):
        device, was = now.network.devices.get(name), old.state.network.devices.get(name)
        if device is None or was is None or was.capabilities is not device.capabilities:
            continue
        try:
            own, will = peers.blocks(device), _after(now, device, [it for it in rules if it.device == name])
        except (CannotApplyError, InputErrors):
            continue
        touched = [
            (*path, head) for path in {**own, **will} for head in _changed(own.get(path, {}), will.get(path, {}))
        ]
        for group in differences(device, own, old.blocks(was), BASELINE):
            if any((*it.path, it.head)[: len(line)] == line for it in group for line in touched):
                found += _bound(now, group)
                same &= all(will.get(it.path, {}).get(it.head) == it.new for it in group)
    if found:
        yield tuple(replace(it, source=BASELINE) for it in rules) if same else tuple(found)


def _after(now: State, device: Device, changes: Sequence[Change]) -> Blocks:
    """The blocks of a switch after changes. Raises: CannotApplyError, InputErrors."""
    texts: dict[str, str] = {}
    for it in changes:
        file = now.file_of(it)
        texts[file] = after(texts.get(file) or now.text(file), it, device, file)
    found = blocks_of(device, texts.get(device.file) or now.text(device.file))
    for key, (file, _) in device.beside.items():
        of_file = of_frr(texts.get(file) or now.text(file))
        found.update({(key, *path): its for path, its in of_file.items()})
    return found


def _changed(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Heads whose statements differ."""
    return [it for it in dict.fromkeys((*one, *other)) if one.get(it) != other.get(it)]


def _baseline(peers: Peers, old: Peers, name: str, path: tuple[str, ...]) -> Iterator[Usual]:
    """What the baseline of the same switch states otherwise in a block."""
    device, was = peers.state.network.devices[name], old.state.network.devices.get(name)
    if was is None or was.capabilities is not device.capabilities:
        return
    before = old.blocks(was).get(path)
    if before is not None:
        yield from of_block(device, path, peers.blocks(device).get(path, {}), before, BASELINE)


def of_baseline(now: State, cause: Cause, old: Peers) -> Iterator[tuple[Change, ...]]:
    """Differences from the baseline anywhere: one by one, first those of the switches that the findings name; then all
    of one switch; then all.
    """
    peers = Peers(now)
    named = {it.device for it in cause.findings}
    named |= {site.root[0] for it in cause.findings for site in it.evidence if site.root is not None}
    every = []
    for device in sorted(peers.facts.devices, key=lambda it: it.name not in named):
        was = old.state.network.devices.get(device.name)
        if was is not None and was.capabilities is device.capabilities:
            every.append(differences(device, peers.blocks(device), old.blocks(was), BASELINE))
    groups = [[_bound(now, its) for its in of_switch] for of_switch in every if of_switch]
    yield from islice((group for of_switch in groups for group in of_switch), _MOST)
    whole = [tuple(it for group in of_switch for it in group) for of_switch in groups]
    yield from islice((its for its, of_switch in zip(whole, groups, strict=True) if len(of_switch) > 1), _MOST)
    if len(whole) > 1:
        yield tuple(it for its in whole for it in its)


def _readdressed(now: State, cause: Cause) -> tuple[Change, ...]:
    """The lines of a neighbour, moved to the address that the rule of the check gives."""
    peers, found = Peers(now), []
    for fix in cause.fixes:
        device, asked = now.network.devices.get(fix.device), _ADDRESS_OF.fullmatch(fix.field)
        if device is not None and asked is not None and not fix.command:
            own = peers.blocks(device)
            groups = differences(device, own, with_address(own, asked[1], fix.value), cause.check.remedy)
            found += [it for group in groups for it in _bound(now, group)]
    return tuple(found)


def _in_one(now: State, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Changes of lines as one: what comes stands where it stood that goes, since classes of a policy have an order."""
    first = changes[0]
    if len(changes) < 2 or first.rows or now.network.devices[first.device].capabilities.shell_statements:
        return changes
    made = tuple(line for it in changes for line in it.statements)
    command = vtysh(BETWEEN_LINES.join(made)) if first.file else BETWEEN_LINES.join(made)
    what = "; ".join(it.what for it in changes)
    return (replace(first, what=what, statements=made, command=command, field=changes[-1].field),)


def _added(now: State, peers: Peers, cause: Cause) -> tuple[Change, ...]:
    """The neighbours that the rule of the check asks for, with the lines of those beside them."""
    found: list[Change] = []
    for fix in cause.fixes:
        device = now.network.devices.get(fix.device)
        groups = [] if device is None else added(device, peers.blocks(device), fix)
        found += [it for group in groups for it in _bound(now, group)]
    return tuple(found)


def _bound(now: State, its: Sequence[Usual]) -> tuple[Change, ...]:
    """Differences that belong together as changes of which none is made without the others."""
    changes = tuple(replace(it, part_of=its[0].general) for it in _together(now, its))
    first = changes[0]
    if len(changes) < 2 or not now.network.devices[first.device].capabilities.shell_statements:
        return changes
    made = tuple(line for it in changes for line in it.statements)  # one mapping, with those below it
    field, value = its[0].path[-1], ", ".join(dict.fromkeys(it.value for it in changes if it.value))
    what, command = "; ".join(made), BETWEEN_COMMANDS.join(made)
    return (replace(first, what=what, statements=made, command=command, field=field, value=value),)


def _grouped(now: State, its: Sequence[Usual]) -> Iterator[tuple[Change, ...]]:
    groups: dict[tuple[str, ...], list[Usual]] = {}
    for it in paired(its):
        groups.setdefault(it.general, []).append(it)
    for same in groups.values():
        if usual := [it for it in same if it.new is not None or not _refused_line(now, it)]:
            yield _together(now, usual)


def _refused_line(now: State, it: Usual) -> bool:
    """Whether a difference only removes a line that the switch refuses."""
    line = (*it.path, it.old or it.head)
    defects = now.network.devices[it.device].defects
    return any(meant.old in {line, (*it.path, it.head)} for defect in defects for meant in defect.meant)


def _together(now: State, its: Sequence[Usual]) -> tuple[Change, ...]:
    by_block: dict[tuple[str, tuple[str, ...]], dict[str, Usual]] = {}
    for it in its:
        by_block.setdefault((it.device, it.path), {}).setdefault(it.head, it)
    return tuple(change_of(now.network.devices[name], same.values()) for (name, _), same in by_block.items())
