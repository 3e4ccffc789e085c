"""docs/qualify.md: the plans' checks, a mutant for each, the measures, and what is not emulated.

The table of mutants is the one that tests/qualify/test_qualify_mutants.py runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.qualify.cases import AnyCase, cases_of, left_out_of, plans, scenarios_of
from fabric.qualify.names import MEASURES
from fabric.qualify.schema import CaseSpec, ScenarioSpec
from fabric.qualify.whole.schema import RunSpec
from fabric.units import format_time_ps
from fabric.visible import in_markdown
from tests.qualify import rocev2_runs
from tests.qualify.plan_mutants import PLAN_MUTANTS
from tests.qualify.qualify_mutants import MUTANTS
from tests.qualify.seed_mutants import SEED_MUTANTS

_HEAD: Final = """# Test plans against a configuration

Made by `make docs` from the files of the plans, which the package has in `fabric/qualify/shipped`, from the tests, and
from `tests/qualify/rocev2_runs.json`.

`fabric qualify` runs a test plan. Plans of one switch, such as `sonic-rocev2`, are published ones: the switch is what
its configuration makes of it, as in `fabric validate --prove`, and a tester takes the place of the hosts at some of its
ports. `seed` is the list of a RoCE bring-up, run on a whole fabric: all switches of a folder, or the fabric of a
scenario. Each check is green or red, with the counters behind it, and where it is red with the cause. `bmwg` has the
KPIs of the IETF draft on benchmarking AI training fabrics, which are reported and never fail. Step by step:
[bring-up](howto/bring-up.md).

```
$ fabric qualify --list
$ fabric qualify sonic-rocev2 docs/howto/qualify-example --case TC1 --ports 4
$ fabric qualify seed docs/howto/seed-example
$ fabric qualify seed incast --case HOPS
$ fabric qualify bmwg incast --case INCAST --json -o a.json
$ fabric qualify bmwg permutation --case INCAST --json -o b.json
$ fabric qualify --compare a.json b.json
```

| option | meaning |
|---|---|
| `--case TC2`, `--case TC2/q3_single` | a case, or one of its scenarios; repeatable |
| `--ports N` | ports of the switch that the tester takes, those of hosts first; all of one speed |
| `--ports N`, whole fabric | ports to hosts, of each leaf in turn |
| `--dut SWITCH` | the switch, where the folder has several |
| `--compare A.json B.json` | two results of one plan side by side, with the change |
| `--format junit`, `--json`, `-o FILE` | other forms of the result |

| exit code | meaning |
|---|---|
| 0 | every check is green |
| 1 | a check is red or could not be run, something is lacking, no steady state, or a case that is not run |
| 2 | bad input |

**Classes are the configuration's, queues the plan's.** Which priorities are lossless, which DSCP leads to them, and
DWRR weights come from the configuration. The counter of a check is that of the queue that the plan names, so a map
that leads elsewhere is red. What the configuration lacks is a finding, never replaced by a default ([decision
0139](decisions/0139-a-plan-names-queues-and-the-configuration-classes.md)).

**Durations are shortened.** A run lasts as long as the file of the case says. The two halves of the measured window
must agree within 5 % of the port's rate; else it is run again, up to four times as long. The output has the simulated
duration and the difference ([decision 0140](decisions/0140-a-plan-s-minutes-are-shortened-to-a-steady-state.md)).
Durations of the watchdog are real ones, at any rate.
Latency has the time on the cables and in the switch's queues; the switch's own latency, which no configuration
states, is taken as none.
A run that is marked as long is left out, and the result says so; `--case DCQCN/m-64` runs it.

**A whole fabric has the hosts that the folder names** (`hosts.json`, DEVICE_NEIGHBOR, descriptions, `--links`), at
most 64 a run; next hops are all those of shortest paths. RoCE is the class that the hosts' DSCP leads to at most ports,
and the traffic beside it has DSCP 0. Cables and queues that a run did not fill are named: of them nothing was shown
([decision 0150](decisions/0150-a-bring-up-is-run-on-the-whole-fabric.md)).

**Two fabrics are compared where the draft allows it**: with as many accelerators in the same placement, at the same
rate, with the same oversubscription, offered traffic and transport. Where one of them differs the values are side by
side, and the difference is stated instead of a change ([decision
0153](decisions/0153-unlike-fabrics-are-shown-side-by-side-without-a-change.md)).
"""


def markdown() -> str:
    """The page."""
    parts = [_HEAD]
    for plan in plans():
        parts.append(f"## {plan}\n")
        parts += ["\n".join(_case(case)) for case in cases_of(plan)]
        rows = [f"| {it.case} | {in_markdown(it.title)} | {in_markdown(it.left_out)} |" for it in left_out_of(plan)]
        if rows:
            parts.append("\n".join(["### Cases that are not emulated\n", "| case | | why |\n|---|---|---|", *rows, ""]))
    parts += ["\n".join(rocev2_runs.markdown()), "\n".join(_mutants()), "\n".join(_measures())]
    return "\n".join(parts).rstrip("\n") + "\n"


def _case(case: AnyCase) -> Iterator[str]:
    yield f"### {case.case}: {case.title}\n"
    yield f"Source: {in_markdown(case.source)}. "
    if isinstance(case, CaseSpec):
        times = case.times
        yield f"Duration {format_time_ps(times.plan)} in the plan, {format_time_ps(times.simulated)} here at 400G.\n"
    else:
        yield ""
    yield "| scenario | |\n|---|---|"
    yield from (f"| `{it.name}`{_long(it)} | {in_markdown(it.title)} |" for it in scenarios_of(case))
    yield "\n| check | demanded | as the file has it |\n|---|---|---|"
    for check in case.checks:
        demands = "<br>".join(f"`{it}`" for it in (*check.holds, *check.reports))
        only = f" ({', '.join(check.scenarios)})" if check.scenarios else ""
        yield f"| {check.id}{only} | {in_markdown(check.title)} | {demands} |"
    if case.not_emulated:
        yield "\nNot emulated:\n"
    yield from (f"- {in_markdown(it)}" for it in case.not_emulated)
    yield ""


def _long(run: ScenarioSpec | RunSpec) -> str:
    return " (long)" if isinstance(run, RunSpec) and run.long else ""


def _mutants() -> Iterator[str]:
    yield "## Every check can fail\n"
    yield "A mutant of the healthy set-up for each check, and the checks that are red then. All others are green; the"
    yield "tests run every row. Most are changes of the configuration (`docs/howto/qualify-example`). A check of"
    yield "counters or timers, which no configuration changes, has a mutant of the switch with its cables, or of the"
    yield "tester: it does something else than its configuration or the plan says.\n"
    yield "| case | check | mutant of | change | red | why another one as well |\n|---|---|---|---|---|---|"
    for it in (*MUTANTS, *PLAN_MUTANTS):
        red = ", ".join(sorted(it.fails, key=int))
        yield f"| {it.case} | {it.check} | {it.of} | {in_markdown(it.text)} | {red} | {it.because} |"
    yield "\nChanges of the healthy fabric (`docs/howto/seed-example`) for the items of `seed`. Each fails its item,"
    yield "and all other items are green.\n"
    yield "| item | change | red | why another check as well |\n|---|---|---|---|"
    for one in SEED_MUTANTS:
        yield f"| {one.case} | {in_markdown(one.text)} | {', '.join(one.checks)} | {one.because} |"
    yield "\nCheck 2 of ECMP fails as well where the hashes of two tiers repeat each other:"
    yield "`fabric qualify seed polarised`. Checks 2 and 3 of STORM fail with 1.\n"


def _measures() -> Iterator[str]:
    yield "## Measures\n"
    yield "| measure | of | a row for each | counter that the suite reads | meaning |\n|---|---|---|---|---|"
    for name, it in MEASURES.items():
        yield f"| `{name}` | {', '.join(it.of)} | {it.rows} | {in_markdown(it.counter)} | {in_markdown(it.means)} |"
