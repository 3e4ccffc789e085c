"""A verdict for machines: JSON, SARIF 2.1.0 for code hosts, JUnit XML for build servers.

Sources: SARIF 2.1.0 (OASIS) section 3.27 result, 3.52 reportingDescriptor; JUnit's testsuite schema.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fabric import __version__
from fabric.configs.model import Place
from fabric.validate.causes import Cause
from fabric.validate.checks.base import Check, Evidence, Finding, Severity
from fabric.validate.checks.registry import CHECKS
from fabric.validate.coverage import NOT_JUDGED, NOT_UNDERSTOOD, Uncovered, uncovered
from fabric.validate.hidden import Behind
from fabric.validate.output.searched import Searched, junit_cases, sarif_artifacts, sarif_results, sarif_rules
from fabric.validate.output.text import consequences, many, not_judged, open_rules, remedy, summary, where
from fabric.validate.proofs import Proof
from fabric.validate.runner import Verdict
from fabric.validate.suppress import Suppression
from fabric.visible import in_json, in_markup, visible

_CAUSE_EVIDENCE: Final = 8
_RELATED: Final = 99
"""Places of one SARIF result beside the first; GitHub shows 100."""
_NAME_CHARS: Final = 255
_TEXT_CHARS: Final = 1024
"""GitHub cuts a rule's name and descriptions there."""
_LEVEL: Final = {Severity.ERROR: "error", Severity.WARN: "warning", Severity.INFO: "note"}


Key = tuple[str, str, str]
"""(check, device, object) of a finding."""


class _Values:
    """Evidence that many findings share, each once: (label, value, index of the file, line)."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, int | None, int | None], int] = {}
        self.files: dict[str, int] = {}

    def index(self, item: Evidence) -> int:
        """The row of a value."""
        place = item.place
        file = None if place is None else self.files.setdefault(place.file, len(self.files))
        return self.rows.setdefault((item.label, item.value, file, place.line if place else None), len(self.rows))


def _evidence(item: Evidence) -> dict[str, Any]:
    place = item.place
    return {
        "label": item.label,
        "value": item.value,
        "file": place.file if place else None,
        "line": place.line if place else None,
    }


def finding_as_dict(finding: Finding, values: _Values | None = None) -> dict[str, Any]:
    """One finding. Its evidence is written out, or with `values` as row numbers; `checks` has its other words."""
    return {
        "id": finding.check.id,
        "severity": finding.severity.word,
        "device": finding.device,
        "object": finding.object,
        "text": finding.text,
        "evidence": [_evidence(it) if values is None else values.index(it) for it in finding.evidence],
    }


def cause_as_dict(cause: Cause) -> dict[str, Any]:
    """One cause: the mistake, where it is, the changes that repair it, and what follows from it."""
    first = cause.first
    return {
        "id": cause.check.id,
        "severity": cause.severity.word,
        "title": cause.check.title,
        "text": first.text,
        "devices": cause.devices,
        "evidence": [_evidence(it) for it in first.evidence[:_CAUSE_EVIDENCE]],
        "consequence": cause.check.consequence,
        "remedy": cause.check.remedy,
        "fixes": _changes(cause),
        "follows": cause.counts,
        "paths_hurt": cause.paths,
        "pairs_hurt": cause.pairs,
        "source": cause.check.source,
    }


def _changes(cause: Cause) -> list[dict[str, Any]]:
    """The changes that repair a cause; `source` where a value was found by trying, and says where it is from."""
    return [
        {
            "device": it.device,
            "field": it.field,
            "value": it.value,
            "command": it.command or None,
            **({"source": it.source} if it.source else {}),
        }
        for it in cause.fixes
    ]


def _list(key: str, rows: Iterable[object]) -> str:
    """A field with a list, one row a line: short, and still readable in a comparison of two runs."""
    text = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return f' "{key}": [\n{text}\n ]' if text else f' "{key}": []'


def as_json(verdict: Verdict, fix: Mapping[str, Any] | None = None, search: Mapping[str, Any] | None = None) -> str:
    """The whole verdict: causes first, then every finding on one line, with the numbers of its causes.

    Parameters
    ----------
    fix       the plan of changes, where one was asked for
    search    margins and losses of a search, where there was one
    """
    values = _Values()
    causes_of: dict[int, list[int]] = {}
    for number, cause in enumerate(verdict.causes):
        for item in (*cause.findings, *cause.consequences):
            causes_of.setdefault(id(item), []).append(number)
    findings = [{**finding_as_dict(item, values), "causes": causes_of[id(item)]} for item in verdict.findings]
    used = {
        item.check.id
        for item in (
            *verdict.findings,
            *verdict.fixed,
            *(it.finding for it in verdict.hidden),
            *(it.finding for it in verdict.gone),
            *(it for it, _ in verdict.suppressed),
        )
    }
    head = {
        "summary": summary(verdict),
        "could_not_be_judged": not_judged(verdict),
        "switches": verdict.devices,
        "ports": verdict.ports,
        "links": verdict.links,
        "headroom": verdict.headroom or None,
        "paths": verdict.paths or None,
        "counts": {severity.word: verdict.count(severity) for severity in reversed(Severity)},
        "known": verdict.known,
    }
    parts = [f' "{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in head.items()]
    words = {
        check.id: {
            "title": check.title,
            "consequence": check.consequence,
            "remedy": check.remedy,
            "source": check.source,
        }
        for check in CHECKS.values()
        if check.id in used
    }
    suppressed = (
        {**finding_as_dict(item), "reason": rule.reason, "expires": rule.expires.isoformat()}
        for item, rule in verdict.suppressed
    )
    rows = uncovered(verdict)
    parts += [_list("proofs", (it.as_dict() for it in verdict.proofs))] if verdict.proofs else []
    parts += [f'"not_simulated": {json.dumps(verdict.not_simulated)}'] if verdict.not_simulated else []
    parts += [
        _list("causes", map(cause_as_dict, verdict.causes)),
        _list("findings", findings),
        _list("values", values.rows),
        _list("files", values.files),
        f' "checks": {json.dumps(words, ensure_ascii=False)}',
        _list("fixed", map(finding_as_dict, verdict.fixed)),
        _list("hidden", map(_behind, verdict.hidden)),
        _list("gone", ({**finding_as_dict(it.finding), "why": it.why} for it in verdict.gone)),
        _list("visible", ({"finding": _key(it.finding), "behind": _key(it.other)} for it in verdict.visible)),
        _list("suppressed", suppressed),
        _list("changes", verdict.changes),
        _list("not_understood", (_uncovered(it) for it in rows if it.kind == NOT_UNDERSTOOD)),
        _list("not_judged", (_uncovered(it) for it in rows if it.kind == NOT_JUDGED)),
    ]
    parts += [f' "fix": {json.dumps(fix, ensure_ascii=False)}'] if fix is not None else []
    parts += [f' "search": {json.dumps(search, ensure_ascii=False)}'] if search is not None else []
    return in_json("{\n" + ",\n".join(parts) + "\n}") + "\n"


def _behind(item: Behind) -> dict[str, Any]:
    return {**finding_as_dict(item.finding), "by": _key(item.other)}


def _key(finding: Finding) -> dict[str, str]:
    return {"id": finding.check.id, "device": finding.device, "object": finding.object}


def _uncovered(item: Uncovered) -> dict[str, Any]:
    return {
        "file": item.place.file,
        "line": item.place.line,
        "what": item.what,
        "count": item.count,
        "roce": item.roce or None,
    }


def as_sarif(
    verdict: Verdict, fixes: Mapping[Key, Sequence[Mapping[str, Any]]] | None = None, searched: Searched | None = None
) -> str:
    """Static Analysis Results Interchange Format 2.1.0: one result a cause, with its list of places.

    A code host shows a limited number of results (GitHub: 5,000 of 25,000 a run), places (100 of 1,000 a result) and
    characters of a rule's description (1,024); a mistake on all ports of a pod is one result here.

    Parameters
    ----------
    fixes       finding to the edits of files that clear it (`output.fix.sarif_fixes`)
    searched    losses and margins of a search, where there was one
    """
    index = {name: number for number, name in enumerate(CHECKS)}
    results = [
        _proven(_result(cause, index[cause.check.id]), verdict.proofs_of(cause))
        | _fixes((fixes or {}).get(cause.first.key, ()))
        for cause in verdict.causes
    ]
    results += [_suppressed(item, rule, index[item.check.id]) for item, rule in verdict.suppressed]
    rules = list(map(_rule, CHECKS.values()))
    artifacts = [_artifact(it) for it in verdict.proofs if it.scenario]
    if searched is not None:
        results += sarif_results(searched, len(rules))
        rules += sarif_rules()
        artifacts += sarif_artifacts(searched)
    driver = {"name": "fabric validate", "version": __version__, "rules": rules}
    run: dict[str, Any] = {"tool": {"driver": driver}, "invocations": [_invocation(verdict)], "results": results}
    if artifacts:
        run["artifacts"] = artifacts
    if searched is not None:
        run["properties"] = {"search": searched.data}
    whole = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return in_json(json.dumps(whole, indent=1, ensure_ascii=False)) + "\n"


def _artifact(proof: Proof) -> dict[str, Any]:
    """A scenario with its text (SARIF 3.24, 3.3): `fabric run` on it shows the finding."""
    name = proof.file or f"{proof.check}-{proof.device}-{proof.object}.yml"
    return {
        "location": {"uri": quote(os.fsencode(Path(name).as_posix()))},
        "contents": {"text": proof.scenario},
        "description": {"text": f"{proof.check} {proof.device} {proof.object}, {proof}"},
    }


def _proven(result: dict[str, Any], proofs: Sequence[Proof]) -> dict[str, Any]:
    """A result with what was simulated of it."""
    if proofs:
        result["properties"]["proofs"] = [it.as_dict() for it in proofs]
        result["message"]["text"] += "".join(f" Simulated {it.check}: {it}." for it in proofs)
    return result


def _rule(check: Check) -> dict[str, Any]:
    about = (
        f"**Condition**: {check.condition}\n\n**Otherwise**: {check.consequence}\n\n**Remedy**: {check.remedy}\n\n"
        f"**Source**: {check.source}"
    )
    return {
        "id": check.id,
        "name": _pascal(check.title)[:_NAME_CHARS],
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": f"{check.condition}. Otherwise: {check.consequence}."[:_TEXT_CHARS]},
        "help": {"text": f"{check.remedy}. Source: {check.source}.", "markdown": about},
        "defaultConfiguration": {"level": _LEVEL[check.severity]},
    }


def _result(cause: Cause, number: int) -> dict[str, Any]:
    devices, objects = where(cause)
    text = f"{devices} {objects}: {cause.check.title}: {cause.first.text}."
    follows = consequences(cause)
    text += f" With it: {follows}." if follows else ""
    text += f" Do: {'; '.join(remedy(cause))}"
    result: dict[str, Any] = {
        "ruleId": cause.check.id,
        "ruleIndex": number,
        "level": _LEVEL[cause.severity],
        "message": {"text": text},
        # Stable over moved lines and repaired ports, so that a code host recognises the cause (SARIF 3.27.17).
        "partialFingerprints": {"cause/v1": _hash(cause.check.id, cause.general)},
        "locations": [_location(it.file, it.line) for it in [cause.first.place] if it],
        "properties": {"devices": cause.devices, "follows": cause.counts, "fixes": _changes(cause)},
    }
    related = _related(cause)
    if related:
        result["relatedLocations"] = related
    return result


def _fixes(edits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The property `fixes` of a result; {} without any (SARIF 3.55 to 3.57)."""
    rows = [
        {
            "description": it["description"],
            "artifactChanges": [
                {"artifactLocation": {"uri": _uri(file)}, "replacements": [region(one) for one in its]}
                for file, its in it["files"].items()
            ],
        }
        for it in edits
    ]
    return {"fixes": rows} if rows else {}


def region(edit: tuple[int, int, str]) -> dict[str, Any]:
    """A replacement: first and last line that go, and the text that comes; an insertion deletes an empty region."""
    first, last, text = edit
    area = {"startLine": first, "startColumn": 1, "endLine": last + 1, "endColumn": 1}
    return {"deletedRegion": area, **({"insertedContent": {"text": text}} if text else {})}


def _related(cause: Cause) -> list[dict[str, Any]]:
    """Further values of the first finding (such as a link's other end), the place of each other finding, then their
    further values, and what follows.
    """
    found: dict[Place, str] = {}
    _add_values(found, cause.first)
    for item in cause.findings[1:]:
        if len(found) <= _RELATED and item.place is not None:
            found.setdefault(item.place, f"{item.device} {item.object}")
    for item in cause.findings[1:]:
        if len(found) <= _RELATED:
            _add_values(found, item)
    for item in cause.consequences:
        if len(found) <= _RELATED and item.place is not None:
            found.setdefault(item.place, f"{item.check.id} {item.device} {item.object}: {item.text}")
    found.pop(cause.first.place, None) if cause.first.place else None
    return [
        {**_location(place.file, place.line), "id": number, "message": {"text": words}}
        for number, (place, words) in enumerate(list(found.items())[:_RELATED], 1)
    ]


def _add_values(found: dict[Place, str], item: Finding) -> None:
    for one in item.evidence:
        if one.place is not None:
            found.setdefault(one.place, f"{one.label} = {one.value}" if one.value else one.label)


def _suppressed(item: Finding, rule: Suppression, number: int) -> dict[str, Any]:
    return {
        "ruleId": item.check.id,
        "ruleIndex": number,
        "level": _LEVEL[item.severity],
        "message": {"text": f"{item.device} {item.object}: {item.text}"},
        "partialFingerprints": {"finding/v1": _hash(*item.key)},
        "locations": [_location(it.file, it.line) for it in [item.place] if it],
        "suppressions": [{"kind": "external", "justification": rule.reason}],
    }


def _hash(*words: str) -> str:
    return sha256("\n".join(words).encode()).hexdigest()[:32]


def _invocation(verdict: Verdict) -> dict[str, Any]:
    """What the run does not cover, as notifications (SARIF 3.20.21, 3.58)."""
    notes: list[dict[str, Any]] = [
        {
            "level": "warning" if item.roce else "note",
            "message": {"text": str(item)},
            "locations": [_location(item.place.file, item.place.line)],
        }
        for item in uncovered(verdict)
    ]
    first = open_rules(verdict)
    notes[:0] = [{"level": "warning", "message": {"text": first}}] if first else []
    return {"executionSuccessful": True, "toolExecutionNotifications": notes}


def _pascal(title: str) -> str:
    """A rule's name as SARIF 3.49.7 wants it: 'dangling reference' -> 'DanglingReference'."""
    return "".join(word[0].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", title))


def _uri(file: str) -> str:
    """SARIF 3.4.3: a URI reference, relative to the root of the repository where the file was named so."""
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))


def _location(file: str, line: int) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": line}}}


def as_junit(verdict: Verdict, fail_on: Severity, searched: Searched | None = None) -> str:
    """One test case per check; it fails with every cause of this check that is bad enough to fail the run.

    A search adds a test case for each loss, with its scenario, and one for the margins of each class of ports.
    """
    failed: dict[str, list[Cause]] = {}
    for cause in verdict.causes:
        if cause.severity >= fail_on:
            failed.setdefault(cause.check.id, []).append(cause)
    more = [] if searched is None else list(junit_cases(searched))
    failures = len(failed) + sum(bool(failure) for _, failure, _ in more)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="fabric validate" tests="{len(CHECKS) + len(more)}" failures="{failures}" errors="0">',
    ]
    for check in CHECKS.values():
        head = f'  <testcase classname="fabric.validate.{check.id[0]}" name={_attribute(f"{check.id} {check.title}")}'
        if check.id not in failed:
            lines.append(head + "/>")
            continue
        text = "\n".join(visible(line) for cause in failed[check.id] for line in _failure(cause))
        about = _attribute(many(sum(len(cause.findings) for cause in failed[check.id]), "finding"))
        failure = f"<failure message={about} type={_attribute(failed[check.id][0].severity.word)}>"
        lines += [head + ">", f"    {failure}{in_markup(text)}</failure>", "  </testcase>"]
    for name, failure, beside in more:
        lines.append(f'  <testcase classname="fabric.validate.search" name={_attribute(visible(name))}>')
        if failure:
            shown = _seen(failure)
            lines.append(f'    <failure message="1 loss" type="error">{shown}</failure>')
        lines += [f"    <system-out>{_seen(beside)}</system-out>", "  </testcase>"]
    rows = [f"  {in_markup(visible(it))}" for it in (summary(verdict), *map(str, uncovered(verdict)))]
    lines += ["  <system-out>", *rows, "  </system-out>"]
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def _failure(cause: Cause) -> Iterator[str]:
    devices, objects = where(cause)
    yield f"{devices} {objects}: {cause.first.text}" + (f" ({cause.first.place})" if cause.first.place else "")
    follows = consequences(cause)
    if follows:
        yield f"  with it: {follows}"
    yield from (f"  do: {line}" for line in remedy(cause)[1:])


def _seen(text: str) -> str:
    return in_markup("\n".join(map(visible, text.splitlines())))


def _attribute(text: str) -> str:
    return f'"{in_markup(text)}"'
