"""The report of a mutation run: scores with their intervals, and every survivor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Final

from tests.mutation.earlier import EARLIER, EARLIER_TEXT
from tests.mutation.operators import Mutant
from tests.mutation.packages import PACKAGES
from tests.mutation.runner import Verdict
from tests.mutation.survivors import EQUIVALENT, ONCE_SURVIVED, Known

_Z: Final = 1.959964
_HEAD: Final = """# Mutation score

Share of the decisions of the code that tests check. A mutant is the code with one small change: a comparison moved by
its bound, an operator exchanged, a constant plus one, a statement left out. A mutant is killed if a test fails.

Made by `make mutants` (tests/mutation; why not a library: [0042](decisions/0042-mutants-run-in-forks.md)). Of each
package a sample is drawn by seed {seed}; intervals are Wilson's at 95 %. Decided by the fast tests alone, which run
uncompiled in one process (tests/mutation/packages.py): a test that takes longer than {slow:.0f} s, compares with
compiled runs or starts another program is left out, so the whole suite kills more. Mutants that compute the same as
the code are not counted.
"""


def wilson(killed: int, tried: int) -> tuple[float, float]:
    """The 95 % interval of a share (E. B. Wilson, JASA 1927)."""
    if tried == 0:
        return 0.0, 1.0
    share, z = killed / tried, _Z
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z * sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried)) / (1 + z * z / tried)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _known(package: str, mutant: Mutant) -> Known | None:
    place = f"{package}/{mutant.path.rpartition('/')[2]}", mutant.before, mutant.after
    return next((it for it in EQUIVALENT if it[:3] == place), None)


def _score(killed: int, counted: int) -> str:
    if counted == 0:
        return "–"
    low, high = wilson(killed, counted)
    return f"{killed / counted:.0%} ({low:.0%}–{high:.0%})"


def _code(text: str) -> str:
    shown = text.replace("|", "\\|")
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def once_survived() -> list[str]:
    """The lines about mutants that earlier tests did not detect."""
    rows = [f"| {it.what} | {_code(it.before)} | {_code(it.after)} | {_code(it.test)} |" for it in ONCE_SURVIVED]
    return [
        "## Detected since",
        "",
        "Earlier tests detected none of these mutants. Each was made again by hand, and the test beside it fails.",
        "",
        "| what | code | mutant | test |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


def earlier_scores() -> list[str]:
    """The scores of earlier states."""
    rows = [f"| `{it.package}` | {it.moved} | {it.without} | {it.together} |" for it in EARLIER]
    return [
        "## Before",
        "",
        EARLIER_TEXT,
        "",
        "| package | before the move | without | with |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


def report(results: Mapping[str, tuple[int, Sequence[tuple[Mutant, Verdict]]]], seed: int, added: Sequence[str]) -> str:
    """The page."""
    from tests.mutation.runner import SLOW_S

    columns = ["package", "mutants", "tried", "the same", "killed", "by time", "survived", "score"]
    if added:
        columns.insert(-1, "score without " + ", ".join(f"`{it}`" for it in added))
    lines = [_HEAD.format(seed=seed, slow=SLOW_S), "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    total = [0] * 6
    for package, (every, rows) in results.items():
        same = sum(not it.killer and _known(package, mutant) is not None for mutant, it in rows)
        killed, before = sum(bool(it.killer) for _, it in rows), sum(bool(it.killer) and it.before for _, it in rows)
        late, counted = sum(it.timeout for _, it in rows), len(rows) - same
        numbers = [every, len(rows), same, killed, late, counted - killed]
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        cells = [f"`{package}`", *map(str, numbers)]
        if added:
            cells.append(_score(before, counted))
        lines.append("| " + " | ".join([*cells, _score(killed, counted)]) + " |")
    lines += [
        "",
        "Modules: "
        + "; ".join(f"`{name}` is {', '.join(f'`{it}`' for it in PACKAGES[name])}" for name in results)
        + ".",
        "",
    ]
    survivors = [
        (mutant, it, _known(package, mutant))
        for package, (_, rows) in results.items()
        for mutant, it in rows
        if not it.killer
    ]
    survivors.sort(key=lambda row: (row[0].path, row[0].line))
    lines += [
        *earlier_scores(),
        *once_survived(),
        "## Survivors",
        "",
        "A test is missing, or it is not shown yet that the mutant computes the same.",
        "",
        "| where | code | mutant | |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {mutant.path}:{mutant.line} | {_code(mutant.before)} | {_code(mutant.after)} | "
        f"{'' if it.tests else 'no test runs it'} |"
        for mutant, it, known in survivors
        if known is None
    ]
    lines += ["", "## Mutants that compute the same", "", "| where | code | mutant | why |", "|---|---|---|---|"]
    for mutant, _, known in survivors:
        if known is not None:
            lines.append(
                f"| {mutant.path}:{mutant.line} | {_code(mutant.before)} | {_code(mutant.after)} | {known.reason} |"
            )
    return "\n".join(lines) + "\n"
