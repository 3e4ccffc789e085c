"""Results for a terminal, and as Markdown for a merge request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabric.qualify.output.facts import assumed, not_emulated, shown_rows, verdict
from fabric.qualify.report import Report
from fabric.qualify.schema import LeftOutSpec
from fabric.visible import in_markdown, visible


def as_text(plan: str, switch: str, runs: Sequence[Report], left_out: Sequence[LeftOutSpec] = ()) -> str:
    """Every check on a line, red ones with their counters and cause."""
    return "\n".join(map(visible, _lines(plan, switch, runs, left_out))) + "\n"


def _lines(plan: str, switch: str, runs: Sequence[Report], left_out: Sequence[LeftOutSpec] = ()) -> Iterator[str]:
    yield f"{plan} on {switch}: {verdict(runs)}"
    for one in runs:
        yield ""
        yield f"{one.case.case} {one.case.title}, {one.scenario.name}: {one.scenario.title}"
        yield f"  {one.setup}"
        yield from (f"  finding: {it}" for it in one.findings)
        for result in one.results:
            yield f"  {result.colour:<8} {result.check.id:>2}  {result.check.title}"
            if result.colour == "not run":
                yield f"               {result.text}"
                continue
            yield from (f"               {row}" for row in shown_rows(result))
            if result.colour == "red":
                yield f"               demanded: {'; '.join(result.check.holds)} ({result.check.source})"
            if result.text:
                yield f"               cause: {result.text}"
    for title, texts in (("not emulated", not_emulated(runs, left_out)), ("assumed", assumed(runs))):
        if texts:
            yield ""
            yield f"{title}:"
            yield from (f"  - {it}" for it in texts)


def as_markdown(plan: str, switch: str, runs: Sequence[Report], left_out: Sequence[LeftOutSpec] = ()) -> str:
    """A table for each scenario."""
    lines = [f"# {plan} on {in_markdown(visible(switch))}", "", in_markdown(verdict(runs)), ""]
    for one in runs:
        lines += [f"## {one.case.case} {one.scenario.name}", "", in_markdown(visible(one.scenario.title)), ""]
        lines += [in_markdown(visible(one.setup)), ""]
        lines += [f"- finding: {in_markdown(visible(it))}" for it in one.findings]
        lines += ["", "| check | | demanded | counters | cause |", "|---|---|---|---|---|"]
        for result in one.results:
            rows = "<br>".join(in_markdown(visible(it)) for it in shown_rows(result))
            cause = in_markdown(visible(result.text))
            title = in_markdown(visible(result.check.title))
            lines.append(f"| {result.check.id} | {result.colour} | {title} | {rows} | {cause} |")
        lines.append("")
    for title, texts in (("Not emulated", not_emulated(runs, left_out)), ("Assumed", assumed(runs))):
        if texts:
            lines += [f"## {title}", "", *(f"- {in_markdown(visible(it))}" for it in texts), ""]
    return "\n".join(lines).rstrip("\n") + "\n"
