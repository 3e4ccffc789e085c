"""A verdict for machines: JSON, SARIF 2.1.0 for code hosts, JUnit XML for build servers.

Sources: SARIF 2.1.0 (OASIS) section 3.27 result, 3.52 reportingDescriptor; JUnit's testsuite schema.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from fabric import __version__
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.checks.registry import CHECKS
from fabric.validate.render_text import many
from fabric.validate.runner import Verdict

_LEVEL: Final = {Severity.ERROR: "error", Severity.WARN: "warning", Severity.INFO: "note"}


def finding_as_dict(finding: Finding) -> dict[str, Any]:
    """One finding, complete."""
    return {"id": finding.check.id, "severity": finding.severity.word, "device": finding.device,
            "object": finding.object, "title": finding.check.title, "text": finding.text,
            "evidence": [{"label": item.label, "value": item.value, "file": item.place.file if item.place else None,
                          "line": item.place.line if item.place else None} for item in finding.evidence],
            "consequence": finding.check.consequence, "remedy": finding.check.remedy, "source": finding.check.source}


def as_json(verdict: Verdict) -> str:
    """The whole verdict."""
    return json.dumps({
        "switches": verdict.devices, "ports": verdict.ports, "links": verdict.links, "paths": verdict.paths or None,
        "counts": {severity.word: verdict.count(severity) for severity in reversed(Severity)},
        "findings": [finding_as_dict(item) for item in verdict.findings],
        "fixed": [finding_as_dict(item) for item in verdict.fixed], "known": verdict.known,
        "suppressed": [{**finding_as_dict(item), "reason": rule.reason, "expires": rule.expires.isoformat()}
                       for item, rule in verdict.suppressed],
        "changes": list(verdict.changes),
        "not_understood": [{"file": item.place.file, "line": item.place.line, "what": item.what}
                           for item in verdict.unread]}, indent=2, ensure_ascii=False) + "\n"


def as_sarif(verdict: Verdict) -> str:
    """Static Analysis Results Interchange Format 2.1.0."""
    rules = [{"id": check.id, "name": _pascal(check.title), "shortDescription": {"text": check.title},
              "fullDescription": {"text": f"{check.condition}. Otherwise: {check.consequence}."},
              "help": {"text": f"{check.remedy}. Source: {check.source}."},
              "defaultConfiguration": {"level": _LEVEL[check.severity]}} for check in CHECKS.values()]
    index = {name: number for number, name in enumerate(CHECKS)}
    results = []
    for item, suppressed in [*((found, None) for found in verdict.findings), *verdict.suppressed]:
        result: dict[str, Any] = {
            "ruleId": item.check.id, "ruleIndex": index[item.check.id], "level": _LEVEL[item.severity],
            "message": {"text": f"{item.device} {item.object}: {item.text}"},
            # Stable over moved lines, so that a code host recognises the finding (SARIF 3.27.17).
            "partialFingerprints": {"finding/v1": sha256("\n".join(item.key).encode()).hexdigest()[:32]},
            "locations": [_location(one.place.file, one.place.line) for one in item.evidence[:1] if one.place]}
        if suppressed is not None:
            result["suppressions"] = [{"kind": "external", "justification": suppressed.reason}]
        results.append(result)
    driver = {"name": "fabric validate", "version": __version__, "rules": rules}
    return json.dumps({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
                       "runs": [{"tool": {"driver": driver}, "results": results}]}, indent=1, ensure_ascii=False) + "\n"


def _pascal(title: str) -> str:
    """A rule's name as SARIF 3.49.7 wants it: 'dangling reference' -> 'DanglingReference'."""
    return "".join(word[0].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", title))


def _location(file: str, line: int) -> dict[str, Any]:
    path = Path(file)
    # SARIF 3.4.3: a URI reference, relative to the root of the repository where the file was named so.
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}}


def as_junit(verdict: Verdict, fail_on: Severity) -> str:
    """One test case per check; it fails with every finding that is bad enough to fail the run."""
    failed: dict[str, list[Finding]] = {}
    for item in verdict.findings:
        if item.severity >= fail_on:
            failed.setdefault(item.check.id, []).append(item)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>',
             f'<testsuite name="fabric validate" tests="{len(CHECKS)}" failures="{len(failed)}" errors="0">']
    for check in CHECKS.values():
        head = f"  <testcase classname=\"fabric.validate.{check.id[0]}\" name={quoteattr(f'{check.id} {check.title}')}"
        if check.id not in failed:
            lines.append(head + "/>")
            continue
        found = failed[check.id]
        text = "\n".join(f"{item.device} {item.object}: {item.text}" + (f" ({item.place})" if item.place else "")
                         for item in found)
        failure = f"<failure message={quoteattr(many(len(found), 'finding'))} type={quoteattr(found[0].severity.word)}>"
        lines += [head + ">", f"    {failure}{escape(_xml(text))}</failure>", "  </testcase>"]
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def _xml(text: str) -> str:
    """Without the control characters XML 1.0 forbids (section 2.2)."""
    return "".join(char if char >= " " or char in "\n\t" else "\ufffd" for char in text)
