"""The chosen settings of a study as changes of the configurations that a fabric has, with their profiles and ports.

Rules
1. A switch is changed where its files state a setting for lossless traffic: marking of lossless queues, buffer profiles
   of lossless priority groups, watchdogs of ports. What no file states is not added: it is named, with the reason.
2. One value of a study suits one speed and cable. Headroom and XON that a switch has for several are not changed: they
   are named.
3. The changed files are read again, and every check is made: findings that the present files do not have are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabric.configs.model import BufferProfile, Device, Port, Wred
from fabric.configs.network import Network
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.studies.patch import (
    SONIC_BUFFER,
    SWSS,
    WATCHDOG,
    curve_of,
    in_bytes,
    seed_command,
    seed_file,
    seed_of,
    value_at,
    watchdog_value,
)
from fabric.validate.commands import field_command, marking_command
from fabric.validate.edits import Row, statements
from fabric.validate.facts import Facts
from fabric.validate.fix.files import patches_of
from fabric.validate.fix.state import CannotApplyError, Change, State
from fabric.validate.judge import Request, network_of

_SOURCE: Final = "the chosen point of the study"
_OF_CABLES: Final = frozenset({"buffer.headroom", "buffer.reserved", "buffer.xon", "buffer.xon_offset"})
"""What depends on a port's speed and cable."""


@dataclass(frozen=True)
class ConfigPatches:
    """Changes of a folder of configurations."""

    folder: Path
    files: Mapping[str, str]
    """'leaf1.patch.json' for `config apply-patch`, else 'leaf1.commands.txt' -> its text."""
    missing: tuple[str, ...]
    """What is not changed, and why: 'leaf1: switches.buffer.headroom: ...'."""
    new_findings: tuple[str, ...]
    """Warnings and errors of `fabric validate` that the changed files have and the present ones have not."""
    network: Network
    """The changed files, as read."""


def read_configs(folder: Path) -> State:
    """The present configurations. Raises: InputErrors."""
    request = Request([folder])
    tables = HeadroomTables.load([])
    return State(request, tables, None, network_of(request, tables))


def config_patches(fields: Iterable[str], resolved: Mapping[str, Any], start: State) -> ConfigPatches:
    """The settings of a scenario as patches of configurations.

    Parameters
    ----------
    fields : paths of the scenario: those that a study varies
    resolved : mapping      the resolved scenario of the chosen point
    start : State           of read_configs()
    """
    wanted = list(dict.fromkeys(fields))
    of_switch = [it for it in wanted if it.startswith("switches.")]
    missing = [f"{it}: is no setting of a switch" for it in wanted if it not in of_switch]
    changes: list[Change] = []
    extra: dict[str, str] = {}
    for device in start.network.devices.values():
        for path in of_switch:
            found, why = _change(device, path, resolved)
            changes += found
            missing += [f"{device.name}: {path}: {why}"] if why else []
            if path == "switches.hash.seed" and device.capabilities.tables and (seed := seed_of(resolved)) is not None:
                extra[f"{device.name}.{SWSS}.json"] = seed_file(seed) + "\n"
    changes = list(dict.fromkeys(changes))
    end, kept, refused = _applied(start, changes)
    new = tuple(f"{it.check.id} {it.device} {it.object}: {it.text}" for it in end.worse(start))
    files = {**patches_of(start, end, kept), **extra}
    return ConfigPatches(start.request.configs[0], files, (*missing, *refused), new, end.network)


def _applied(start: State, changes: Sequence[Change]) -> tuple[State, list[Change], list[str]]:
    """The state after all changes that the files can show, those, and why the others are left out."""
    try:
        return start.changed(changes), list(changes), []
    except CannotApplyError:
        pass
    end, kept, refused = start, [], []
    for change in changes:
        try:
            end = end.changed([change])
        except CannotApplyError as error:
            refused.append(f"{change.device}: {error}")
        else:
            kept.append(change)
    return end, kept, refused


def _change(device: Device, path: str, resolved: Mapping[str, Any]) -> tuple[list[Change], str]:
    """The changes of one switch for one setting, or the reason why there are none."""
    name = path.removeprefix("switches.")
    curve = curve_of(resolved)
    if name.startswith("ecn.") and curve is not None:
        return _marking(device, *curve)
    if name in SONIC_BUFFER or name == "shared_headroom":
        return _buffer(device, name, value_at(resolved, path))
    if name in WATCHDOG or name == "watchdog.poll":
        return _watchdog(device, name, value_at(resolved, path))
    if name == "hash.seed":
        return _seed(device, resolved)
    return [], f"{device.language} has no line for it"


def _of_command(device: Device, what: str, command: str) -> Change | None:
    own = statements(command, tables=device.capabilities.tables, shell=device.capabilities.shell_statements)
    return Change(device.name, what, _SOURCE, (), own, command) if own else None


# ===== marking =====


def _marking(device: Device, kmin: int, kmax: int, pmax: int) -> tuple[list[Change], str]:
    wreds = lossless_wreds(device)
    if not wreds:
        return [], "no lossless queue has a marking profile"
    what = f"set Kmin to {kmin}, Kmax to {kmax} and Pmax to {pmax} %"
    found = []
    for wred in wreds:
        if device.capabilities.tables:
            rows = tuple(_curve_rows(wred, kmin, kmax, pmax))
            found.append(Change(device.name, f"{what} in {wred.name}", _SOURCE, rows))
        elif change := _of_command(
            device, f"{what} in {wred.name}", marking_command(device, wred.where, kmin, kmax, pmax)
        ):
            found.append(change)
    return found, "" if found else f"no command changes {wreds[0].name} where the file states it"


def _curve_rows(wred: Wred, kmin: int, kmax: int, pmax: int) -> Iterator[Row]:
    """Of green traffic, and of the colours that have the same curve: they stay alike."""
    for colour in ("green", *(it for it, curve in wred.curves.items() if it != "green" and curve == wred.curve)):
        for field, value in (("min_threshold", kmin), ("max_threshold", kmax), ("drop_probability", pmax)):
            yield Row((*wred.where, f"{colour}_{field}"), str(value))


def lossless_wreds(device: Device) -> list[Wred]:
    """Marking profiles of lossless queues, each once."""
    bound = (Facts.wred(device, port.queues.get(queue)) for port, queue in _lossless(device, "pfc_to_queue"))
    return list({it.name: it for it in bound if it is not None}.values())


def _lossless(device: Device, kind: str) -> Iterator[tuple[Port, int]]:
    """Every port with the queues ('pfc_to_queue') or groups ('pfc_to_pg') of its lossless priorities."""
    for port in device.ports.values():
        for priority in sorted(port.lossless):
            mapped = Facts.value(device, port, kind, priority)
            if mapped is not None:
                yield port, mapped


# ===== buffers =====


def lossless_profiles(device: Device) -> list[BufferProfile]:
    """Buffer profiles of lossless priority groups, each once."""
    bound = (device.profile_of(port.groups.get(group)) for port, group in _lossless(device, "pfc_to_pg"))
    return list({it.name: it for it in bound if it is not None}.values())


def _buffer(device: Device, name: str, value: object) -> tuple[list[Change], str]:
    if not device.capabilities.tables:
        return [], f"{device.language} has no line for it"
    profiles = lossless_profiles(device)
    own = [it for it in profiles if not it.derived]
    if not own:
        return [], "the switch makes its lossless profiles itself" if profiles else "no lossless group has a profile"
    if name == "shared_headroom":
        pools = [device.pools[it] for it in dict.fromkeys(it.pool for it in own) if it in device.pools]
        rows = tuple(Row((*it.where, "xoff"), str(in_bytes(value))) for it in pools)
        return [Change(device.name, f"set the shared headroom to {value}", _SOURCE, rows)], ""
    field = SONIC_BUFFER[name]
    held = {(it.size_bytes, it.xoff_bytes, it.xon_bytes, it.xon_offset_bytes) for it in own}
    if name in _OF_CABLES and len(held) > 1:
        names = ", ".join(it.name for it in own[:2])
        return [], f"{names} differ by speed and cable, and one value does not suit all; `fabric headroom` has each"
    rows = tuple(Row((*it.where, field), str(in_bytes(value))) for it in own)
    return [Change(device.name, f"set {field} of {len(own)} lossless profiles to {value}", _SOURCE, rows)], ""


# ===== watchdog and hash =====


def _watchdog(device: Device, name: str, value: object) -> tuple[list[Change], str]:
    shown = watchdog_value(name, value)
    if shown is None:
        return [], f"switches take whole milliseconds, and {value} is none"
    what = f"set {name} to {shown}"
    watched = [it.watchdog for it in device.ports.values() if it.watchdog is not None]
    if not watched and not device.watchdog_default:
        return [], "no port has a PFC watchdog"
    if name == "watchdog.poll":
        if not device.capabilities.tables:
            return [], f"{device.language} has no line for it"
        return [Change(device.name, what, _SOURCE, (Row(("PFC_WD", "GLOBAL", "POLL_INTERVAL"), shown),))], ""
    if device.capabilities.tables:
        rows = tuple(Row((*it, WATCHDOG[name]), shown) for it in dict.fromkeys(it.where for it in watched))
        return ([Change(device.name, what, _SOURCE, rows)], "") if rows else ([], "no row of PFC_WD states it")
    change = _of_command(device, what, field_command(device, (), WATCHDOG[name], shown))
    return ([change], "") if change else ([], f"{device.language} has no line for it")


def _seed(device: Device, resolved: Mapping[str, Any]) -> tuple[list[Change], str]:
    seed = seed_of(resolved)
    if seed is None:
        return [], "the point has no seed for all switches"
    if device.capabilities.tables:
        return [], ""  # no part of CONFIG_DB: a file of its own
    if device.capabilities.hash_seed_beside_fields and device.hash_fields is not None:
        command = seed_command(device.language, seed)
        return [], f"the line that states the hashed fields has the seed, too; add it there, as in: {command}"
    change = _of_command(device, f"set the seed of the ECMP hash to {seed}", seed_command(device.language, seed))
    return ([change], "") if change else ([], f"{device.language} has no line for it")
