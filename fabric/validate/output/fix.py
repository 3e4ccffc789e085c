"""A plan of changes for readers and machines: text, Markdown, JSON, and the `fixes` of SARIF results.

Source: SARIF 2.1.0 (OASIS) section 3.55 fix, 3.56 artifactChange, 3.57 replacement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fabric.configs.text.jsonfile import JsonText
from fabric.validate.causes import Cause
from fabric.validate.checks.base import Finding, Severity
from fabric.validate.fix import hostsfile
from fabric.validate.fix.files import patch, patches, replacements
from fabric.validate.fix.search import Left, Plan, Step
from fabric.validate.fix.state import CannotApplyError, Change, Key
from fabric.validate.fix.tables import Tree
from fabric.validate.output.text import many, where
from fabric.visible import in_markdown, in_markdown_code, visible

_MOST_ROWS: Final = 8
"""Edits of one change that are listed; of more, its words and how many there are: --json has them."""


def as_text(plan: Plan, files: list[str]) -> str:
    """What each change is, what it is for, where its value is from, and what has no change and why."""
    lines = []
    for number, step in enumerate(plan.steps, 1):
        lines.append(f"fix {number}  for {_about(step.cause)}")
        lines.append(f"      {step.cause.check.title}: {step.cause.first.text}")
        for change in step.changes:
            lines += [f"      {change.device}: {line}" for line in _told(plan, change)]
            lines.append(f"        why: {change.source}")
        lines += [f"      clears {_counted(plan, step.cleared)}", ""]
    for left in plan.left:
        lines.append(f"no fix  {_about(left.cause)}")
        lines.append(f"      {left.cause.check.title}: {left.cause.first.text}")
        lines += [f"      because: {left.reason}", ""]
    lines += [f"wrote {file}" for file in files]
    return "\n".join(map(visible, [*lines, summary(plan)])) + "\n"


def summary(plan: Plan) -> str:
    """One line: how many causes, errors and warnings the changes clear, counted as the verdict counts them."""
    devices = len({change.device for change in plan.changes})
    changes = f"{many(len(plan.changes), 'change')} of {many(devices, 'device')}"
    (errors, all_errors), (warnings, all_warnings) = map(plan.counted, (Severity.ERROR, Severity.WARN))
    return (
        f"{changes}: {plan.causes_gone} of {many(len(plan.causes), 'cause')} gone, "
        f"{errors} of {many(all_errors, 'error')}, {warnings} of {many(all_warnings, 'warning')}; "
        f"{len(plan.new)} new; {many(plan.trials, 'trial')}"
    )


def as_markdown(plan: Plan) -> str:
    """A section for a comment of a pull request: every change with its file, and what is left."""
    if not plan.asked:
        return ""
    lines = ["", "## Fixes", "", _cell(summary(plan)), ""]
    for step in plan.steps:
        lines.append(f"- **{step.cause.check.id}** {_cell(_about(step.cause))}: {_cell(step.cause.first.text)}")
        for change in step.changes:
            told = "; ".join(in_markdown_code(line) for line in _told(plan, change))
            lines.append(f"  - {_cell(change.device)}: {told} ({_cell(change.source)})")
    lines += [f"- no fix for {_cell(_about(it.cause))}: {_cell(it.reason)}" for it in plan.left]
    for name, text in patches(plan).items():
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
        lines += [
            "",
            f"<details><summary>{_cell(name)}</summary>",
            "",
            fence,
            visible(text.rstrip("\n"), lines=True),
            fence,
            "",
            "</details>",
        ]
    return "\n".join(lines) + "\n"


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan as JSON."""
    switches = [plan.start.network.devices[it] for it in dict.fromkeys(it.device for it in plan.changes if it.rows)
                if it in plan.start.network.devices]  # fmt: skip
    return {
        "asked": plan.findings(plan.asked),
        "gone": plan.findings(plan.gone),
        "causes": {"asked": len(plan.causes), "gone": plan.causes_gone},
        **{
            name: dict(zip(("gone", "asked"), plan.counted(severity), strict=True))
            for name, severity in (("errors", Severity.ERROR), ("warnings", Severity.WARN))
        },
        "new": len(plan.new),
        "trials": plan.trials,
        "steps": [_step(plan, it) for it in plan.steps],
        "left": [_left(it) for it in plan.left],
        "patches": {it.name: patch(plan.start, plan.end, it) for it in switches if it.capabilities.tables},
    }


def sarif_fixes(plan: Plan) -> dict[Key, list[dict[str, Any]]]:
    """Finding to its `fixes`, where the changes are edits of lines of files that were read."""
    found: dict[Key, list[dict[str, Any]]] = {}
    for step in plan.steps:
        try:
            edits = replacements(plan.start, step.changes)
        except CannotApplyError:
            continue
        if edits:
            fix = {"description": {"text": "; ".join(f"{it.device}: {it.what}" for it in step.changes)}, "files": edits}
            for key in step.cleared:
                found.setdefault(key, []).append(fix)
    return found


def _about(cause: Cause) -> str:
    devices, objects = where(cause)
    return f"{cause.severity.word} {cause.check.id} {devices}  {objects}"


def _counted(plan: Plan, keys: tuple[Key, ...]) -> str:
    counts: dict[str, int] = {}
    for key in keys:
        counts[key[0]] = counts.get(key[0], 0) + plan.findings([key])
    listed = ", ".join(f"{check} ({number})" for check, number in counts.items())
    return f"{many(plan.findings(keys), 'finding')}: {listed}"


def _told(plan: Plan, change: Change) -> Iterator[str]:
    """Each edit with its old and its new value; for statements, the statements."""
    if not change.rows:
        yield "; ".join(change.statements)
        return
    if len(change.rows) > _MOST_ROWS:
        yield f"{change.what}: {many(len(change.rows), 'edit')}"
        return
    tree = _tree(plan, change)
    for row in change.rows:
        old = _old(tree, row.path)
        shown = "|".join(row.path)
        yield (
            f"{shown}: remove{'' if old in {None, ''} else f' {old}'}"
            if row.value is None
            else f"add {shown}"
            if row.value == ""
            else f"{shown}: {'absent' if old is None else old or 'empty'} → {row.value}"
        )
    if change.device not in plan.start.network.devices and change.command:
        yield f"$ {change.command}"


def _tree(plan: Plan, change: Change) -> Tree:
    file = plan.start.file_of(change)
    if file.endswith((".yml", ".yaml")):  # a hosts file
        return hostsfile.tree(plan.start.text(file))
    found: Tree = JsonText(plan.start.text(file), file).value if file.endswith(".json") else {}
    return found


def _old(tree: Tree, path: tuple[str, ...]) -> str | None:
    here: Any = tree
    for word in path:
        here = here.get(word) if isinstance(here, Mapping) else None
    return None if here is None or isinstance(here, Mapping) else str(here)


def _key(finding: Finding) -> dict[str, str]:
    return {"id": finding.check.id, "device": finding.device, "object": finding.object, "text": finding.text}


def _step(plan: Plan, step: Step) -> dict[str, Any]:
    return {
        "for": [_key(it) for it in step.cause.findings],
        "changes": [
            {
                "device": it.device,
                "what": it.what,
                "edits": list(_told(plan, it)),
                "statements": list(it.statements),
                "command": it.command or None,
                "source": it.source,
            }
            for it in step.changes
        ],
        "clears": [{"id": check, "device": device, "object": what} for check, device, what in step.cleared],
    }


def _left(left: Left) -> dict[str, Any]:
    return {
        "for": [_key(it) for it in left.cause.findings],
        "reason": left.reason,
        "breaks": [_key(it) for it in left.conflict],
    }


def _cell(text: str) -> str:
    return in_markdown(text.replace("\n", " "))
