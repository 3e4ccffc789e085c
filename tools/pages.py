"""`python -m tools.pages` (`make docs`): write every generated page that is not current, and say which were not.

    python -m tools.pages            writes them, and prints the path of each file that changed
    python -m tools.pages --check    writes nothing; exit 1 where one is not current
    python -m tools.pages --measured writes nothing; exit 1 where a page of measurements says that other code made it

Only pages that are made in seconds, from the code alone. Pages of measurements are listed in MEASURED with the
commands that make them; the same two tables are in CONTRIBUTING.md, which is one of the pages.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tools.requirements import ROOT


@dataclass(frozen=True, slots=True)
class Page:
    """A file, or a folder of files, that a function of the code returns."""

    path: str
    maker: str
    """'module:function', without arguments; it returns the text, or for a folder the text of each file."""
    shows: str

    def files(self) -> dict[str, str]:
        """Path -> text, as they should be."""
        module, _, name = self.maker.partition(":")
        make: Callable[[], str | Mapping[str, str]] = getattr(importlib.import_module(module), name)
        made = make()
        return {self.path: made} if isinstance(made, str) else {f"{self.path}{file}": made[file] for file in made}


@dataclass(frozen=True, slots=True)
class Measured:
    """A page of measurements, which is not made again at every change."""

    path: str
    command: str
    takes: str
    """Where it is known."""


# fmt: off
PAGES: Final = (
    Page("docs/api.md", "fabric.api.docs:markdown", "signatures and docstrings of `import fabric`"),
    Page("docs/scenario.md", "fabric.scenario.docs:scenario_markdown", "fields of a scenario"),
    Page("docs/study.md", "fabric.studies.docs:study_markdown", "fields of a study"),
    Page("docs/model-card.md", "fabric.scenario.docs:model_markdown", "models, chips and presets"),
    Page("docs/results.md", "fabric.runs.dictionary:markdown", "files of a run"),
    Page("fabric/errorlist/entries.json", "fabric.errorlist.entries:made", "ids of errors, from the source"),
    Page("docs/errors.md", "fabric.errorlist.page:page", "errors with their ids and remedies"),
    Page("docs/checks.md", "fabric.validate.output.text:catalogue_markdown", "checks of configurations"),
    Page("docs/metrics.md", "telemetry.catalogue.metrics:markdown", "metrics"),
    Page("docs/compat.md", "telemetry.export.compat.page:markdown", "metric names of other exporters"),
    Page("docs/gnmi.md", "telemetry.gnmi.coverage:markdown", "paths of the gNMI server"),
    Page("docs/anomaly.md", "telemetry.anomaly.trial:markdown", "detectors, tried on drawn series"),
    Page("docs/diagnosis.md", "telemetry.diagnosis.page:page", "kinds of root causes"),
    Page("docs/qualify.md", "tests.qualify.qualify_page:markdown", "test plans: checks, mutants, measures"),
    Page("docs/playbooks.md", "playbooks.docs:playbook_markdown", "steps, acts and probes of playbooks"),
    Page("docs/commands.md", "tools.commands:markdown", "verbs and options of the command line"),
    Page("docs/commands-run.md", "tools.page_commands:markdown", "commands of the pages, and what tests each"),
    Page("docs/licences.md", "tools.licences:page", "packages of the locks"),
    Page("docs/reliability.md", "tests.reliability.registry:kept_page", "rows in `tests/reliability/measured`"),
    Page("docs/man/", "fabric.cli.man_pages:pages", "manual pages"),
    Page("telemetry/prometheus/rules.yml", "telemetry.alerting.render:rules_yaml", "rules of Prometheus"),
    Page("telemetry/prometheus/runbooks/", "telemetry.alerting.runbook_pages:pages", "runbooks as pages"),
    Page("telemetry/alertmanager/alertmanager.yml", "telemetry.alerting.alertmanager:alertmanager_yaml",
         "routes and inhibitions"),
    Page("telemetry/grafana/rendered/", "telemetry.grafana.dashboards:rendered", "dashboards"),
    Page("CONTRIBUTING.md", "tools.pages:contributing", "these tables"),
)
MEASURED: Final = (
    Measured("docs/alerts.md", "fabric alerts corpus --write docs/alerts.md", "4 minutes"),
    Measured("docs/benchmark.md",
             "python -m bench.configs --results bench/configs/results.json --write docs/benchmark.md", "an hour"),
    Measured("docs/collective-tables.md", "python -m bench.collectives --write docs/collective-tables.md",
             "half an hour"),
    Measured("docs/detection.md", "fabric campaign --test --page docs/detection.md", "15 minutes"),
    Measured("docs/estimate.md", "python -m bench.estimates --write docs/estimate.md", "5 minutes"),
    Measured("docs/fidelity.md", "fabric fidelity --reference tests/data/ns3 --write docs/fidelity.md", ""),
    Measured("docs/fixes.md", "python -m tests.fix", "some minutes"),
    Measured("docs/gallery.md", "python -m tools.gallery", "3 minutes"),
    Measured("docs/host-mistakes.md", "python -m tests.mistakes.host_page", "1 minute"),
    Measured("docs/mistakes.md", "python -m tests.mistakes", "1 minute"),
    Measured("docs/mutation.md", "make mutants", ""),
    Measured("docs/performance.md", "python -m bench --plots docs/images --write docs/performance.md", ""),
    Measured("docs/proof.md", "python -m tests.proof --write docs/proof.md", "some minutes"),
    Measured("tests/qualify/rocev2_runs.json", "python -m tests.qualify.rocev2_runs", "1 minute; docs/qualify.md"),
    Measured("docs/reliability.md", "python -m tests.reliability NAME --write docs/reliability.md", ""),
    Measured("docs/silicon.md", "python -m tests.silicon", ""),
    Measured("docs/study-results.md", "python -m bench.study_results --write docs/study-results.md", "15 minutes"),
    Measured("docs/testplans.md", "fabric drill plans --write docs/testplans.md", "1 minute"),
    Measured("docs/traces.md", "python -m bench.traces --write docs/traces.md", ""),
)
# fmt: on
_RULES: Final = {"docs/detection.md": (r"Rules `([0-9a-f]+)`", "telemetry.sources.campaign_run:rules_digest")}
"""Pages that name the digest of the code that they were measured with: where, and what makes it."""
_TABLES: Final = re.compile(r"(?<=<!-- pages -->\n).*?(?=<!-- end of pages -->)", re.DOTALL)


def tables() -> str:
    """Both tables as Markdown."""
    lines = ["| page | shows | made by |", "|---|---|---|"]
    lines += [f"| `{it.path}` | {it.shows} | `{it.maker}` |" for it in PAGES]
    lines += ["", "| page of measurements | command | takes |", "|---|---|---|"]
    lines += [f"| `{it.path}` | `{it.command}` | {it.takes} |" for it in MEASURED]
    return "\n".join(["", *lines, "", ""])


def contributing() -> str:
    """CONTRIBUTING.md with the tables as they are here. Raises: ValueError where it has no place for them."""
    text, found = _TABLES.subn(lambda _: tables(), (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    if found != 1:
        raise ValueError("CONTRIBUTING.md has no place for the tables of pages, or more than one")
    return text


def stale(page: Page) -> Iterator[tuple[str, str | None]]:
    """(path, text as it should be) of every file that differs; None for one that should not be there."""
    files = page.files()
    for path, text in files.items():
        file = ROOT / path
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            yield path, text
    if page.path.endswith("/"):
        there = {f"{page.path}{file.name}" for file in (ROOT / page.path).iterdir()}
        yield from ((path, None) for path in sorted(there - set(files)))


def outdated() -> Iterator[str]:
    """Pages of measurements whose code has changed, each in a sentence; only of those that name it."""
    for path, (pattern, maker) in _RULES.items():
        found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))
        module, _, name = maker.partition(":")
        now: str = getattr(importlib.import_module(module), name)()
        if found is None:
            yield f"{path} names no digest of its code"
        elif found.group(1) != now:
            command = next(it.command for it in MEASURED if it.path == path)
            yield f"{path} was measured with other code ({found.group(1)}, now {now}): {command}"


def main(given: list[str] | None = None) -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.pages", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a page is not current")
    parser.add_argument("--measured", action="store_true", help="name pages of measurements that other code made")
    words = parser.parse_args(given)
    if words.measured:
        old = list(outdated())
        print("\n".join(old) or "every page that names its code is of this code")
        return int(bool(old))
    found = [each for page in PAGES for each in stale(page)]
    for path, text in found:
        print(path if text is not None else f"{path} (belongs to nothing: removed)")
        if words.check:
            continue
        if text is None:
            (ROOT / path).unlink()
        else:
            (ROOT / path).write_text(text, encoding="utf-8")
    if not found:
        print("every page is current", file=sys.stderr)
    elif words.check:
        print("not current: make docs", file=sys.stderr)
    return int(bool(found) and words.check)


if __name__ == "__main__":
    sys.exit(main())
