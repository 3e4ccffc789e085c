"""A fabric with changes that no file has yet: copies of the files in memory, read and checked as the files would be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fabric.configs.load import read_data
from fabric.configs.model import Device
from fabric.configs.network import Network
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.configs.text.jsonfile import JsonText, read_file
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.edits import Row, statements
from fabric.validate.fix import frr, hostsfile, lines, nvue, tables
from fabric.validate.frr_fixes import typed
from fabric.validate.judge import Request, network_of
from fabric.validate.missing import missing
from fabric.validate.remedies import Fix
from fabric.validate.runner import validate, with_findings

Key = tuple[str, str, str]
"""(check, switch, object) of a finding."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one switch, or of one host's settings."""

    device: str
    what: str
    """Field and value in words."""
    source: str
    """Where the value is from."""
    rows: tuple[Row, ...] = ()
    statements: tuple[str, ...] = ()
    """Lines of configuration mode from the outermost level, or `nv` commands; () for SONiC and hosts."""
    command: str = ""
    """One line that makes the change on the switch or host; '' where only the patch does."""
    field: str = ""
    """As a remedy names it: 'DSCP_TO_TC_MAP|M|26'."""
    value: str = ""
    file: str = ""
    """The file of FRR that the statements go into; '' for the switch's own."""
    in_file: tuple[str, ...] = ()
    """Statements for the copy of the file, where they are others: those that the switch refused have to go there."""
    part_of: tuple[str, ...] = ()
    """The difference from the baseline that it is a part of: none of its changes is made without the others."""


class CannotApplyError(ValueError):
    """A change that a copy of the file cannot show, such as one of a host whose settings are its own output."""


def of_fix(fix: Fix, source: str, network: Network) -> Change | None:
    """A remedy as a change; None where it has neither rows nor statements."""
    device = network.devices.get(fix.device)
    own: tuple[str, ...] = ()
    if fix.file:
        own = typed(fix.command) or (f"{fix.field} {fix.value}",)  # a command of the shell: the AS number of BGP
    elif device is not None:
        own = statements(fix.command, tables=device.capabilities.tables, shell=device.capabilities.shell_statements)
    if not own and not fix.rows:
        return None
    what = fix.what or f"set {fix.field} to {fix.value}"
    return Change(fix.device, what, source, fix.rows, own, fix.command, fix.field, fix.value, fix.file, fix.in_file)


@dataclass(frozen=True)
class State:
    """One state of the fabric, and what the checks say of it."""

    request: Request
    tables: HeadroomTables
    before: Network | None
    network: Network
    contents: Mapping[str, str] = field(default_factory=dict)
    """File to its changed text."""

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that every check finds, whatever was suppressed or left out."""
        verdict = validate(self.network, before=self.before)
        gone = [] if self.before is None else missing(self.before, self.network)
        return with_findings(verdict, gone, ()).findings

    @cached_property
    def bad(self) -> dict[Key, Severity]:
        """Warnings and errors, each with the worst severity."""
        found: dict[Key, Severity] = {}
        for item in self.findings:
            if item.severity >= Severity.WARN:
                found[item.key] = max(item.severity, found.get(item.key, item.severity))
        return found

    def worse(self, than: State) -> tuple[Finding, ...]:
        """Warnings and errors that another state does not have, or not as bad."""
        return tuple(
            it for it in self.findings if it.severity >= Severity.WARN and it.severity > than.bad.get(it.key, 0)
        )

    def text(self, file: str) -> str:
        """The text of a file in this state."""
        return self.contents.get(file) or read_file(Path(file), mark=True)

    def file_of(self, change: Change) -> str:
        """The file that a change is of."""
        return change.file or self.file(change.device)

    def file(self, device: str) -> str:
        """The file of a switch, or that of the hosts' settings."""
        if device in self.network.devices:
            return self.network.devices[device].file
        host = self.network.hosts.get(device) or self.network.default_host
        if host is None:
            message = f"{device} is neither a switch nor a host of the files"
            raise CannotApplyError(message)
        return host.place.file

    def changed(self, changes: Iterable[Change]) -> State:
        """The state after changes. Raises InputErrors where the copies cannot be read, CannotApplyError."""
        contents = dict(self.contents)
        for change in changes:
            file = self.file_of(change)
            text = contents.get(file) or self.text(file)
            contents[file] = after(text, change, self.network.devices.get(change.device), file)
        network = network_of(self.request, self.tables, contents)
        return State(self.request, self.tables, self.before, network, contents)


def after(text: str, change: Change, device: Device | None, file: str) -> str:
    """The text of a file after one change. Raises: CannotApplyError."""
    if device is None:
        return _hosts(text, change, file)
    if change.file:
        return frr.applied(text, change.in_file or change.statements)
    if device.capabilities.tables:
        if not change.rows:
            message = f"{change.what} is no change of rows"
            raise CannotApplyError(message)
        return tables.written(text, tables.applied(JsonText(text, file).value, change.rows))
    if not change.statements:
        message = f"{change.what} has no statement"
        raise CannotApplyError(message)
    if device.capabilities.shell_statements:
        return nvue.applied(text, change.in_file or change.statements)
    return lines.applied(text, change.in_file or change.statements, explicit_up=device.capabilities.interfaces_state_up)


def _hosts(text: str, change: Change, file: str) -> str:
    """The text of a hosts file after a change of a host's settings."""
    changed: str | None = None
    if file.endswith((".json", ".yml", ".yaml")) and Path(file).is_file():
        value, _ = read_data(Path(file), text)
        rows = tuple(_of_host(value, row) for row in change.rows)
        if file.endswith(".json"):
            return tables.written(text, tables.applied(value, rows))
        changed = text
        for row in rows:
            changed = None if changed is None else hostsfile.applied(changed, row)
    if changed is None:
        command = f" ({change.command})" if change.command else ""
        message = f"the settings of {change.device} are not in a hosts file: make the change on the host{command}"
        raise CannotApplyError(message)
    return changed


def _of_host(tree: tables.Tree, row: Row) -> Row:
    """A setting of a host as a row of the file: those of hosts that the file does not name are the default's."""
    return row if row.path[0] in tree else Row(("default", *row.path[1:]), row.value)
