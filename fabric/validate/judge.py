"""One validation from files to a verdict: what `fabric validate` prints and `fabric.validate` returns."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from fabric.configs.buffers.headroom import Assumptions
from fabric.configs.load import load_network, read_data
from fabric.configs.network import Network
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.errors import InputErrors, Problem
from fabric.topology.select import nearest
from fabric.units import count
from fabric.validate.baseline import changes, compare
from fabric.validate.checks.registry import CHECKS, FAMILIES
from fabric.validate.facts import Facts
from fabric.validate.hidden import Statements
from fabric.validate.missing import PFC, missing
from fabric.validate.reachability import Reachability
from fabric.validate.runner import Verdict, validate, with_findings
from fabric.validate.suppress import Suppression, parse_suppressions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """The files of a validation, and its options."""

    configs: Sequence[Path]
    """Files, or folders of them, one per switch."""
    links: Path | None = None
    hosts: Path | None = None
    fibs: Sequence[Path] = ()
    headroom_tables: Sequence[str] = ()
    """'FILE', or 'HWSKU=FILE'."""
    roce_dscps: Sequence[int] = ()
    """(): the hosts', else 26."""
    cnp_dscps: Sequence[int] = ()
    """(): the hosts', else 48."""
    max_oversubscription: float | None = None
    baseline: Path | None = None
    suppress: Path | None = None
    only: str | None = None
    """Checks or families, such as 'M1,E2' or 'M,L'; None: all."""
    assumed: Assumptions = field(default_factory=Assumptions)
    """What no configuration states and headroom depends on."""
    strict: bool = False
    """Parts of files that no check uses and that could act on RoCE are errors."""


def judge(request: Request) -> Verdict:
    """Read everything, run the checks, and with a baseline keep what is new.

    Raises: InputErrors with every problem of the first stage that finds any.
    """
    return judged(request)[0]


def judged(request: Request) -> tuple[Verdict, Network]:
    """The verdict, and the network that it is about: for proofs. Raises: as judge."""
    tables = HeadroomTables.load(list(request.headroom_tables))
    rules = suppressions_of(request)
    if request.only is not None:
        named_checks(request.only)
    network = network_of(request, tables)
    old = baseline_of(request, tables)
    return verdict_of(request, network, old, rules), network


def verdict_of(request: Request, network: Network, old: Network | None, rules: Sequence[Suppression]) -> Verdict:
    """The verdict on a network, and with a baseline what is new."""
    only = None if request.only is None else named_checks(request.only)
    verdict = validate(network, suppressions=rules, only=only, before=old)
    used = {rule for _, rule in verdict.suppressed}
    for rule in rules if only is None else ():
        if rule not in used:
            log.warning(
                "suppression of %s hides nothing (%s): remove it, or correct its patterns", rule.check, rule.place
            )
    if old is not None:
        old.fibs = {name: table for name, table in network.fibs.items() if name in old.devices}
        without_pfc = {item.device for item in verdict.findings if item.check.id == "M14"}
        gone = [
            item
            for item in missing(old, network)
            if (only is None or item.check.id in only) and (item.object != PFC or item.device not in without_pfc)
        ]
        was = validate(old, suppressions=rules, only=only)
        verdict = compare(was, verdict, changes(old, network), Statements(old, network))
        verdict = with_findings(verdict, gone, rules)
    return verdict


def facts_of(request: Request) -> Facts:
    """Read everything, and judge nothing. Raises: InputErrors."""
    return Facts(network_of(request, HeadroomTables.load(list(request.headroom_tables))))


def reachability(request: Request) -> Reachability:
    """Read everything and compute which hosts reach each other. Raises: InputErrors."""
    return Reachability(facts_of(request))


def _near(word: str, names: list[str], families: Mapping[str, object]) -> str:
    """The nearest check or family; else how many of each there are."""
    found = nearest(word, [*names, *families])
    if found.startswith("did you mean"):
        return found
    return f"{count(len(names), 'check')} such as {names[0]}, families {', '.join(families)}; `fabric validate --list`"


def named_checks(text: str) -> set[str]:
    """Identifiers of the checks that 'M1,E2' or 'M,L' names. Raises: InputErrors."""
    names = {name.upper(): name for name in CHECKS}
    families = {letter: [check.id for check in checks] for letter, _, checks in FAMILIES}
    words = [part.strip().upper() for part in text.split(",") if part.strip()]
    wanted = [id_ for word in words for id_ in families.get(word, [names.get(word, word)])]
    problems = [
        Problem("--only", f"'{word}' is no check and no family", _near(word, list(names), families))
        for word in wanted
        if word not in CHECKS
    ]
    if problems or not wanted:
        raise InputErrors("options", problems or [Problem("--only", "names no check", "such as M1,E2")])
    return set(wanted)


def network_of(request: Request, tables: HeadroomTables, contents: Mapping[str, str] | None = None) -> Network:
    """The network that is asked about; `contents`: texts that count instead of those of files. Raises: InputErrors."""
    return _network(request, request.configs, tables, contents or {})


def baseline_of(request: Request, tables: HeadroomTables) -> Network | None:
    """The network of the baseline; None without one. Raises: InputErrors."""
    path = request.baseline
    if path is None:
        return None
    if not path.exists():
        beside = sorted(it.name for it in path.parent.iterdir()) if path.parent.is_dir() else []
        near = f"{it}; " if (it := nearest(path.name, beside)).startswith("did you mean") else ""
        remedy = f"{near}name a folder; where nothing came before, an empty one, which makes every finding new"
        raise InputErrors("options", [Problem("--baseline", f"{path} is not there", remedy)])
    if path.is_dir() and not any(path.iterdir()):  # a first merge request has nothing to compare with
        log.warning("--baseline %s is empty: every finding is new", path)
        return None
    return _network(request, [path], tables, {}, fibs=False)


def _network(
    request: Request, configs: Sequence[Path], tables: HeadroomTables, contents: Mapping[str, str], *, fibs: bool = True
) -> Network:
    network = load_network(
        configs,
        links=request.links,
        hosts=request.hosts,
        fibs=request.fibs if fibs else (),
        tables=tables,
        contents=contents,
    )
    if request.roce_dscps:
        network.roce_dscps, network.roce_given = tuple(dict.fromkeys(request.roce_dscps)), True
    if request.cnp_dscps:
        network.cnp_dscps = tuple(dict.fromkeys(request.cnp_dscps))
    network.strict, network.assumed = request.strict, request.assumed
    if request.max_oversubscription:
        network.max_oversubscription = request.max_oversubscription
    return network


def suppressions_of(request: Request) -> list[Suppression]:
    """The suppressions that have not expired. Raises: InputErrors."""
    path = request.suppress
    if path is None:
        return []
    value, lines = read_data(path)
    valid, expired = parse_suppressions(value, lines, str(path), datetime.now(UTC).date())
    for rule in expired:
        log.warning(
            "suppression of %s expired on %s (%s): its findings are reported", rule.check, rule.expires, rule.place
        )
    return valid
