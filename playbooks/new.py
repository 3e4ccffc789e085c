"""A new playbook: a commented folder that runs as it is."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

from fabric.errors import InputErrors, Problem, RunDirError
from fabric.topology.select import nearest
from playbooks.catalogue import RUNBOOK, find, slugs
from playbooks.checks import Check
from playbooks.schema import FILE_NAME, ExpectStep, VerifyStep, load_playbook

DEFAULT_KIND: Final = "link-down"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_COMMENT: Final = """\
# A playbook: `fabric playbook run ./{name}` simulates scenario.yml with the acts at their times and checks every step;
# `fabric playbook check ./{name}` runs the healthy twin beside it. Fields: docs/playbooks.md, `fabric playbook schema`.
#
#   alerts   those that must fire, and those that may; every other one must be silent. 1 ms is 15 s of an operator,
#            so an alert with `for: 1m` needs 4 ms. `fabric alerts list` has all of them.
#   twin     without: faults that it leaves out, by name; set: values as in `fabric run --set`. Nothing fires
#            there, and the diagnosis names no root above the lowest rank.
#   steps    observe (show), expect (check symptoms), act (at, do), verify (check the remedy). root.kind and its
#            like are what the diagnosis names from the metrics up to `until`, so give the time before the act.
#
# Made from the playbook '{source}'. Change scenario.yml first, run, and then make the checks as strict as they can be.
"""


def kinds() -> dict[str, str]:
    """Kind of root -> a shipped playbook that checks it: the one of this name, else the first. Sorted by kind."""
    found: dict[str, str] = {}
    for slug in slugs():
        for step in load_playbook(find(slug)).steps:
            for check in step.check if isinstance(step, ExpectStep | VerifyStep) else ():
                if isinstance(check, Check) and check.probe == "root.kind" and check.op == "==":
                    kind = str(check.value)
                    found[kind] = slug if slug == kind else found.get(kind, slug)
    return dict(sorted(found.items()))


def write_new(name: str, kind: str | None, where: Path) -> Path:
    """Write a folder `name` in `where`, from a shipped playbook of this kind. Returns the folder.

    Raises: InputErrors for the name or the kind, RunDirError where the folder exists or cannot be written.
    """
    known = kinds()
    problems = []
    if not _NAME.fullmatch(name):
        problems.append(Problem("NAME", f"'{name}' is no name of a playbook", "use a-z, 0-9 and '-', such as my-storm"))
    if kind is not None and kind not in known:
        problems.append(Problem("--kind", f"no playbook is about '{kind}'", nearest(kind, list(known), "kinds")))
    if problems:
        raise InputErrors("options", problems)
    source = known[kind or DEFAULT_KIND]
    folder = where / name
    if os.path.lexists(folder):
        raise RunDirError(f"{folder} exists, and nothing is overwritten", "give another name, or remove it")
    try:
        folder.mkdir()
        for file in sorted(find(source).iterdir()):
            if file.is_file() and file.name != FILE_NAME:
                shutil.copyfile(file, folder / file.name)
        text = find(source).joinpath(FILE_NAME).read_text(encoding="utf-8")
        (folder / FILE_NAME).write_text(_COMMENT.format(name=name, source=source) + text, encoding="utf-8")
        runbook = folder / RUNBOOK
        said = runbook.read_text(encoding="utf-8")
        runbook.write_text(
            said.replace(f"playbook run {source}", f"playbook run {name}").replace(
                f"playbook check {source}", f"playbook check {name}"
            ),
            encoding="utf-8",
        )
    except OSError as error:
        raise RunDirError(f"{folder} cannot be written: {error.strerror}", "work in a folder of your own") from error
    return folder
