"""Switch configurations for Python: verdicts before a rollout, and the headroom of a port."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa

from fabric.api.fixes import Fixes, fixes_of
from fabric.api.words import python_words
from fabric.configs.buffers.budget import MEANING, budget
from fabric.configs.buffers.headroom import Assumptions
from fabric.errors import InputErrors, Problem, UnitError
from fabric.theory.headroom import ASSUMED_RESPONSE
from fabric.topology.select import nearest
from fabric.units import parse_length_mm, parse_rate_bps, parse_size_bytes, parse_time_ps
from fabric.validate import judge as judging
from fabric.validate.causes import Cause as JudgedCause
from fabric.validate.checks.base import Finding as Found
from fabric.validate.checks.base import Severity as Level
from fabric.validate.fix.told import with_remedies
from fabric.validate.output import data as render_data
from fabric.validate.output import page as render_page
from fabric.validate.output import text as render_text
from fabric.validate.runner import Verdict as Judged

Files = str | PathLike[str]
Severity = Literal["error", "warn", "info"]
_LARGEST_BPS: Final = 1_600 * 10**9
_LARGEST_MM: Final = 100_000_000
_MTU: Final = (68, 9216)
_FRAME: Final = (64, 9638)
_LARGEST_CELL: Final = 16_384


@dataclass(frozen=True, slots=True)
class Evidence:
    """One value on which a finding is based."""

    label: str
    value: str
    file: str | None
    """Its location; None where it is computed."""
    line: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect, or one point to review, in a configuration."""

    check: str
    """Identifier of the check: 'E2'. docs/checks.md describes all."""
    severity: Severity
    title: str
    device: str
    object: str
    """Port, queue, profile or session of the device."""
    text: str
    """What was found."""
    consequence: str
    remedy: str
    source: str
    """Source of the rule."""
    evidence: tuple[Evidence, ...]

    @property
    def place(self) -> str:
        """'leaf1.json:120', the main location; '' where no single line is wrong."""
        first = next((it for it in self.evidence if it.file is not None), None)
        return "" if first is None else f"{first.file}:{first.line}"

    def __str__(self) -> str:
        return f"{self.severity} {self.check} {self.device} {self.object}: {self.text}"


@dataclass(frozen=True, slots=True)
class Fix:
    """One change that repairs a mistake."""

    device: str
    field: str
    """As the file has it: 'DSCP_TO_TC_MAP|M|26'."""
    value: str
    command: str | None
    """In the language of the switch; None where one command cannot make the change."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One mistake, on one device or on many, with all that follows from it."""

    check: str
    severity: Severity
    """The worst of the mistake and its consequences."""
    title: str
    text: str
    remedy: str
    devices: Mapping[str, tuple[str, ...]]
    """Device to the objects of the mistake on it."""
    findings: tuple[Finding, ...]
    """The mistake itself."""
    consequences: tuple[Finding, ...]
    """Findings of other checks that the same change repairs."""
    fixes: tuple[Fix, ...]
    no_command: str
    """Why no fix has a command; '' where one has."""
    paths_hurt: int
    """Paths between edge switches that are hurt."""
    pairs_hurt: int
    """Pairs of edge switches with such a path."""

    def __str__(self) -> str:
        return f"{self.severity} {self.check} {', '.join(self.devices)}: {self.text}"


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that a suppression accepts."""

    finding: Finding
    reason: str
    expires: str
    """ISO date."""


class Verdict:
    """Result of one validation. Findings are sorted by severity, errors first."""

    def __init__(self, judged: Judged, request: judging.Request) -> None:
        self._judged, self._request = judged, request
        self._by_id = {id(it): finding_of(it) for it in judged.findings}
        self.findings: tuple[Finding, ...] = tuple(self._by_id.values())
        self.suppressed: tuple[Suppressed, ...] = tuple(
            Suppressed(finding_of(it), rule.reason, rule.expires.isoformat()) for it, rule in judged.suppressed
        )
        self.fixed: tuple[Finding, ...] = tuple(map(finding_of, judged.fixed))
        """With a baseline: findings that are gone, whose rule ran over the same object; no new one can hide them."""
        self.hidden: tuple[tuple[Finding, Finding], ...] = tuple(
            (finding_of(it.finding), finding_of(it.other)) for it in judged.hidden
        )
        """With a baseline: findings that are gone, each with the new one that may hide it."""
        self.gone: tuple[tuple[Finding, str], ...] = tuple((finding_of(it.finding), it.why) for it in judged.gone)
        """With a baseline: findings that nothing judges any more, each with the reason: their switch or their statement
        is not there."""

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """Findings grouped by cause, the one that hurts most paths first. A finding can have two causes."""
        return tuple(_cause(it, self._by_id) for it in self._judged.causes)

    @property
    def known(self) -> int:
        """With a baseline: number of findings that it has, too, which are not listed."""
        return self._judged.known

    @property
    def changes(self) -> tuple[str, ...]:
        """With a baseline: statements that differ, one line each."""
        return self._judged.changes

    @property
    def unread(self) -> tuple[str, ...]:
        """Parts of the files that were not understood: 'leaf1.json:7: text'."""
        return tuple(f"{it.place}: {it.what}" for it in self._judged.unread)

    @property
    def unjudged(self) -> tuple[str, ...]:
        """Settings that were understood and that no check uses: 'leaf1.json:7: text'."""
        return tuple(f"{it.place}: {it.what}" for it in self._judged.unjudged)

    @property
    def counts(self) -> Mapping[Severity, int]:
        """Findings by severity."""
        return {
            "error": self._judged.count(Level.ERROR),
            "warn": self._judged.count(Level.WARN),
            "info": self._judged.count(Level.INFO),
        }

    @property
    def headroom(self) -> str:
        """What headroom was checked with, and how many ports have less; '' where none could be checked."""
        return self._judged.headroom

    @property
    def devices(self) -> int:
        """Switches that were read."""
        return self._judged.devices

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return self.exit_code() == 0

    def exit_code(self, fail_on: Severity | Literal["never"] = "error") -> int:
        """1 if some finding is at least this severe, else 0; the exit code of `fabric validate --fail-on`."""
        levels = {"error": Level.ERROR, "warn": Level.WARN, "info": Level.INFO}
        if fail_on == "never":
            return 0
        if fail_on not in levels:
            raise InputErrors(
                "parameters",
                [Problem("fail_on", f"{fail_on!r} is not a severity", "give 'error', 'warn', 'info' or 'never'")],
            )
        return int(self._judged.reaches(levels[fail_on]))

    def fix(self) -> Fixes:
        """Search for the smallest changes that clear the warnings and errors, each tried on copies in memory.

        The files are read again. Raises: InputErrors where one cannot be read any more.
        """
        return fixes_of(self._request, self._judged)

    def table(self) -> pa.Table:
        """Findings as Arrow, one row each."""
        names = ("severity", "check", "device", "object", "text", "place", "title", "consequence", "remedy", "source")
        return pa.table({name: pa.array([getattr(it, name) for it in self.findings], pa.string()) for name in names})

    def render(self, style: Literal["text", "json", "sarif", "junit", "html", "markdown"] = "text") -> str:
        """The verdict as `fabric validate --format` writes it. Raises: InputErrors for an unknown format."""
        writers: dict[str, Callable[[Judged], str]] = {
            "text": render_text.render,
            "json": render_data.as_json,
            "sarif": render_data.as_sarif,
            "junit": lambda it: render_data.as_junit(it, Level.ERROR),
            "html": render_page.as_html,
            "markdown": render_page.as_markdown,
        }
        if style not in writers:
            raise InputErrors(
                "parameters", [Problem("style", f"{style!r} is not a format", nearest(style, list(writers)))]
            )
        return str(writers[style](self._judged))

    def __repr__(self) -> str:
        counts = self.counts
        return (
            f"<fabric.Verdict of {self.devices} switches: {counts['error']} errors, {counts['warn']} warnings, "
            f"{counts['info']} notes>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the counts, and a table of findings."""
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td style='text-align:left'>{escape(cell)}</td>"
                for cell in (it.severity, it.check, it.device, it.object, it.text, it.place)
            )
            + "</tr>"
            for it in self.findings
        )
        head = "".join(f"<th>{name}</th>" for name in ("severity", "check", "device", "object", "found", "place"))
        table = f"<table><tr>{head}</tr>{rows}</table>" if rows else ""
        return f"<div>{escape(repr(self)[1:-1])}{table}</div>"


def _cause(cause: JudgedCause, shown: Mapping[int, Finding]) -> Cause:
    fixes = tuple(Fix(it.device, it.field, it.value, it.command or None) for it in cause.fixes)
    without = not any(it.command for it in fixes)
    return Cause(
        cause.check.id,
        _word(cause.severity),
        cause.check.title,
        cause.first.text,
        cause.check.remedy,
        {device: tuple(objects) for device, objects in cause.devices.items()},
        tuple(shown[id(it)] for it in cause.findings),
        tuple(shown[id(it)] for it in cause.consequences),
        fixes,
        render_text.without_command(cause) if without else "",
        cause.paths,
        cause.pairs,
    )


def validate(
    configs: Files | Sequence[Files],
    *,
    links: Files | None = None,
    hosts: Files | None = None,
    fibs: Sequence[Files] = (),
    headroom_tables: Sequence[str] = (),
    roce_dscp: Sequence[int] = (),
    cnp_dscp: Sequence[int] = (),
    max_oversubscription: float | None = None,
    baseline: Files | None = None,
    suppress: Files | None = None,
    only: str | None = None,
    strict: bool = False,
    peer_response: str = ASSUMED_RESPONSE,
    latency: str = "600ns",
) -> Verdict:
    """Check switch configurations before a rollout, without a simulation.

    Parameters
    ----------
    configs                 files, or folders of them, one per switch: SONiC, NVUE, EOS, NX-OS
    links                   links, containerlab or netlab file, or a folder of LLDP dumps
    hosts                   hosts' RoCE settings, or a folder of outputs of the hosts' tools
    fibs                    the switches' forwarding tables as JSON, named SWITCH.json
    headroom_tables         'FILE' for all switches, or 'HWSKU=FILE'
    roce_dscp, cnp_dscp     DSCPs 0..63 of RoCE and CNPs (default: the hosts', else 26 and 48)
    max_oversubscription    error above this ratio (3 where absent)
    baseline                the present configurations: report only new findings
    suppress                file of accepted findings, each with a reason and a date
    only                    checks or families, such as 'M1,E2' or 'M,L'
    strict                  parts that no check uses and that could act on RoCE are errors (check R10)
    peer_response           of headroom: time in which a peer stops; 'half' or 'worst' of the 802.3 limit, or '1us'
    latency                 of headroom: time from a frame's last bit to its admission

    Returns: Verdict. A finding raises no error: see Verdict.ok and Verdict.exit_code().
    Raises: InputErrors with every input that cannot be read or used.
    """
    problems = [
        Problem(name, f"{value} is not a DSCP", "give 0..63")
        for name, values in (("roce_dscp", roce_dscp), ("cnp_dscp", cnp_dscp))
        for value in values
        if not 0 <= value < 64
    ]
    if max_oversubscription is not None and not 0 < max_oversubscription < float("inf"):
        problems.append(
            Problem("max_oversubscription", f"{max_oversubscription} is not a ratio above 0", "such as 3 for 3:1")
        )
    stops = _response("peer_response", peer_response, problems)
    latency_ps = _quantity("latency", latency, parse_time_ps, problems)
    paths = [Path(configs)] if isinstance(configs, (str, PathLike)) else [Path(it) for it in configs]
    if not paths:
        problems.append(Problem("configs", "no configuration was given", "name files or a folder"))
    if problems:
        raise InputErrors("parameters", problems)
    with python_words():
        request = judging.Request(
            paths,
            _path(links),
            _path(hosts),
            [Path(it) for it in fibs],
            headroom_tables,
            roce_dscp,
            cnp_dscp,
            max_oversubscription,
            _path(baseline),
            _path(suppress),
            only,
            Assumptions(ASSUMED_RESPONSE if stops is None else stops, latency_ps or 0),
            strict,
        )
        return Verdict(with_remedies(request, judging.judge(request)), request)


@dataclass(frozen=True, slots=True)
class Term:
    """One addend, in bytes."""

    name: str
    bytes: float
    rule: str
    """Source of the number."""


@dataclass(frozen=True, slots=True)
class BufferProfile:
    """One lossless buffer profile: a row of a switch's table, or the result of the vendor's formula."""

    size_bytes: int
    xon_bytes: int
    xoff_bytes: int
    threshold: int


@dataclass(frozen=True, slots=True)
class Headroom:
    """Bytes that a port receives after it has sent XOFF."""

    speed_bps: int
    cable_m: int
    mtu_bytes: int
    terms: tuple[Term, ...]
    """Terms of the bounds."""
    bounds: Mapping[str, int]
    """'a' to 'd', in bytes: a headroom below a bound is wrong, or depends on an assumption."""
    meaning: Mapping[str, str]
    """Consequence of a headroom below each bound."""
    platform: str | None
    """Name of the chip or table whose formula is used."""
    formula_terms: tuple[Term, ...]
    """Addends of the vendor's formula; () without a platform."""
    formula: BufferProfile | None
    row: BufferProfile | None
    """Row of the switch's table for this speed and cable; None where there is none."""
    row_source: str
    judged_bytes: int | None
    """The xoff that is compared with the bounds: the given one, else the row's, else the formula's."""
    below: tuple[str, ...]
    """Bounds above the checked headroom, the most severe first."""
    need_bytes: int
    """What the port needs if the assumptions hold: what `fabric run` does with the same ones."""
    need_terms: tuple[Term, ...]
    """Terms of the need; their bytes add up to it."""
    assumed: str
    """The assumptions in words."""

    @property
    def ok(self) -> bool:
        """Whether the checked headroom is at least bound c: jumbo frames at both ends are not lost."""
        return not set(self.below) & {"a", "b", "c"}

    def _repr_html_(self) -> str:
        """For notebooks: terms and bounds."""
        rows = "".join(
            f"<tr><td>{escape(it.name)}</td><td>{it.bytes:,.0f}</td><td>{escape(it.rule)}</td></tr>"
            for it in self.terms
        )
        rows += "".join(
            f"<tr><td>bound {name.upper()}</td><td>{value:,}</td><td>below: {escape(self.meaning[name])}</td></tr>"
            for name, value in self.bounds.items()
        )
        rows += f"<tr><td>need</td><td>{self.need_bytes:,}</td><td>if {escape(self.assumed)}</td></tr>"
        return f"<table><tr><th></th><th>bytes</th><th></th></tr>{rows}</table>"


def headroom(
    speed: str | int,
    cable: str,
    mtu: int = 9216,
    *,
    platform: str | None = None,
    table: Files | None = None,
    xoff: str | int | None = None,
    response: str = ASSUMED_RESPONSE,
    latency: str = "600ns",
    frames: tuple[int, int] | None = None,
    cell: int | None = None,
) -> Headroom:
    """Add up the PFC headroom of one port, term by term.

    Parameters
    ----------
    speed       port speed: '400G', or bit/s
    cable       cable length in whole metres: '40m'
    mtu         larger MTU of the two ends, in bytes
    platform    HWSKU or model whose formula is used: 'sn4700', 'ACS-SN5600', 'as9516', ...
    table       the platform's own pg_profile_lookup.ini
    xoff        headroom to check: '50KB', or bytes
    response    time in which the peer stops: 'half' or 'worst' of the 802.3 limit, or '1us'
    latency     time from a frame's last bit to its admission
    frames      (shortest, longest) frame of the lossless class in bytes, with FCS; None: RoCE MTU 4096, all alike
    cell        accounting unit of the buffer in bytes; None: the platform's, else 1

    Returns: Headroom, everything in bytes.
    Raises: InputErrors with every parameter that cannot be used.

    Example
    -------
    >>> fabric.headroom('100G', '300m', xoff=50176).below
    ('b', 'c', 'd')
    """
    problems: list[Problem] = []
    rate_bps = _quantity("speed", speed, parse_rate_bps, problems)
    length_mm = _quantity("cable", cable, parse_length_mm, problems)
    xoff_bytes = None if xoff is None else _quantity("xoff", xoff, parse_size_bytes, problems)
    if rate_bps is not None and not 10**9 <= rate_bps <= _LARGEST_BPS:
        problems.append(Problem("speed", f"{speed!r} is outside 1G..1600G", "give the speed of the port"))
    if length_mm is not None and (not 1000 <= length_mm <= _LARGEST_MM or length_mm % 1000):
        problems.append(Problem("cable", f"{cable!r} is not a whole number of metres, 1m..100km", "such as '40m'"))
    if not _MTU[0] <= mtu <= _MTU[1]:
        problems.append(Problem("mtu", f"{mtu} is not an MTU", f"give {_MTU[0]}..{_MTU[1]} bytes"))
    stops, latency_ps = (
        _response("response", response, problems),
        _quantity("latency", latency, parse_time_ps, problems),
    )
    if frames is not None and not _FRAME[0] <= frames[0] <= frames[1] <= _FRAME[1]:
        problems.append(Problem("frames", f"{frames} are not two sizes", f"give {_FRAME[0]}..{_FRAME[1]} B, ascending"))
    if cell is not None and not 1 <= cell <= _LARGEST_CELL:
        problems.append(Problem("cell", f"{cell} is not a size of cells", f"give 1..{_LARGEST_CELL} bytes"))
    if problems or rate_bps is None or length_mm is None or stops is None or latency_ps is None:
        raise InputErrors("parameters", problems)
    with python_words():
        found = budget(
            rate_bps // 10**6,
            length_mm // 1000,
            mtu,
            platform=platform,
            table=_path(table),
            xoff_bytes=xoff_bytes,
            assumed=Assumptions(stops, latency_ps, *((frames[1], frames[0]) if frames else ())),
            cell_bytes=cell,
        )
    rows = [
        None if it is None else BufferProfile(it.size_bytes, it.xon_bytes, it.xoff_bytes, it.threshold)
        for it in (found.formula, found.row)
    ]
    return Headroom(
        rate_bps,
        found.cable_m,
        mtu,
        tuple(Term(it.name, it.bytes, it.formula) for it in found.bound_terms),
        {name: getattr(found.bounds, name) for name in MEANING},
        dict(MEANING),
        found.platform,
        tuple(Term(it.name, it.bytes, it.formula) for it in found.terms),
        rows[0],
        rows[1],
        found.row_source,
        found.judged_bytes,
        found.below,
        found.need.bytes,
        tuple(Term(it.name, it.bytes, it.source) for it in found.need.terms),
        found.need.assumed,
    )


def _response(name: str, value: str, problems: list[Problem]) -> int | str | None:
    return value if value in {"half", "worst"} else _quantity(name, value, parse_time_ps, problems)


def _word(level: Level) -> Severity:
    word: Any = level.word
    checked: Severity = word
    return checked


def finding_of(it: Found) -> Finding:
    """A finding for Python."""
    return Finding(
        it.check.id,
        _word(it.severity),
        it.check.title,
        it.device,
        it.object,
        it.text,
        it.check.consequence,
        it.check.remedy,
        it.check.source,
        tuple(
            Evidence(one.label, one.value, one.place.file if one.place else None, one.place.line if one.place else None)
            for one in it.evidence
        ),
    )


def _path(value: Files | None) -> Path | None:
    return None if value is None else Path(value)


def _quantity(name: str, value: str | int, parse: Callable[[str | int], int], problems: list[Problem]) -> int | None:
    """An integer in base units, or text with its unit; a length is text only."""
    if isinstance(value, int) and not isinstance(value, bool):
        if name != "cable" and value >= 0:
            return value
        problems.append(Problem(name, f"{value} has no unit", "write it as text with its unit, such as '40m'"))
        return None
    try:
        return int(parse(value))
    except UnitError as error:
        problems.append(Problem(name, error.text, error.hint))
        return None
