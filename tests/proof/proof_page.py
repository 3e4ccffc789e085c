"""docs/proof.md: what `fabric validate --prove` does, its tables, and the rules against the simulation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from broken_fabrics import Broken
from proof_bounds import KNOBS, Bounds, measure
from proof_cases import CASES

from fabric.proof.lowering.host_rows import HOST_ROWS, TRANSPORT_ROWS
from fabric.proof.lowering.port_rows import PORT_ROWS
from fabric.proof.lowering.switch_rows import SWITCH_ROWS
from fabric.proof.registry import NO_CLAIM, RECIPES, WITHOUT
from fabric.validate.checks.registry import CHECKS
from fabric.validate.proofs import Proof
from fabric.visible import in_markdown

HEAD: Final = """# Simulated proofs of findings

Made by `python -m tests.proof --write docs/proof.md`; slow tests compare each row with the code.

`fabric validate FOLDER --prove` simulates findings. For each cause, and for each check that speaks of it, the first
finding is taken. The hops that it is about are cut out of the fabric, with the hosts at their ends, and lowered to a
scenario exactly as they are configured. The smallest traffic that shows the finding is put on it (the recipe), and the
same traffic on a twin in which the finding's item is remedied.

- **proven**: the traffic shows it, the twin is clean under the same traffic and seed, and the twin had the stimulus
  (a pause at this port, a queue above Kmin, headroom in use). `fabric run` on the scenario exits with 1, on the
  remedied one with 0.
- **refuted**: the stimulus was there and nothing is seen: rule and simulation disagree.
- **not proven**: with the reason: a setting that is not lowered, a stimulus that did not arrive, a phase on which it
  depends, or another mistake that hides it. It never means that the finding is wrong.

Proofs count packets and messages of RoCE, whatever their class: RoCE lost in a lossy class counts, too. Only where a
finding is about an MTU in which RoCE's packets fit (L4, T1), or about other traffic (M8, M16, E10), datagrams are sent.
The `proofs:` line says how many findings were proven, and which were not simulated and why.
Each proof is repeated with three seeds and phases. What no file and no chip table states is assumed and listed with the
proof; the time in which a peer responds to a pause is varied over all that 802.3 31B.3.7 allows, and a result that
depends on it says so: `only if a peer takes more than 0.47 of the time ...`
([decision 0070](decisions/0070-proofs-say-what-they-assume.md)).

| option | effect |
|---|---|
| `--prove` | simulate; every format has the results. JSON, HTML and SARIF (as artifacts) have the scenarios |
| `--prove-out DIR` | write `CHECK-SWITCH-PORT.yml`, its twin and `proofs.json`; DIR: new, empty, or of a proof |
| `--search [RUNS]` | margins, losses that no check names, deadlocks, pauses that spread ([how](howto/margins.md)) |
| `--quiet` | no progress on standard error, which has a line every ten seconds otherwise |

Exit codes are those of `fabric validate`: a finding fails whether it is proven or not, and `refuted` does not fail by
itself. Ctrl-C ends with 130; proofs that are finished are kept and shown.
"""

REASONS: Final = {
    ("H1", "xoff, peer takes half of its time"): "bound C, which a warning is about, has no response of the peer; "
    "bound D, a note, has all of it (96,520 B)",
    ("H1", "xoff, peer takes no time"): "errors are bound B: two frames, one of them of the port's MTU (9,216 B); RDMA "
    "frames have 4,174 B",
    ("H1", "xoff, peer takes all of its time"): "as above: the rule warns up to bound C only",
    (
        "H5",
        "",
    ): "the rule compares two statements; xoff of 77,824 B has room for 83 m if the peer takes half of its time",
    ("B2", ""): "the rule allows a pool of a sixth of all groups' xoff; one group alone needs more",
    ("B4", ""): "the rule wants memory for all of xoff; the run needs what this cable needs, as in the first row",
    ("B6", ""): "the rule asks for any offset; the run for at most half as many pauses again as with T(1) / 4",
    ("B7", ""): "the warning has 3 T(3) and guarantees, the note, up to 20,174,848 B, all headroom; the run uses half "
    "of it",
    ("B8", ""): "the rule compares two alphas; whether RoCE is paused depends on what both need at once",
    ("E2", ""): "the rule compares the order of mark and pause; the run asks that no pause comes at all (see E11)",
    ("E11", ""): "14 us are the way of the first CNP; the senders' cuts to half the rate take about 270 us here (mlx5)",
    ("E6", ""): "one or two percent of some hundred frames between Kmin and Kmax: a mark is a matter of chance",
    ("M11", ""): "agree within the rule's margin",
    ("L4", ""): "agree for datagrams of the hosts' MTU; RoCE's packets (4,096 B and 60 B of headers) need 4,156 B",
    ("T1", ""): "agree, as L4; RoCE's packets need 50 B of VXLAN more, 4,206 B",
    (
        "N5",
        "",
    ): "the NIC's levels are not known: here it asks for a pause at half its buffer; the rule is mlx5's formula",
    ("W5", ""): "the rule takes the time of a full buffer at the port's rate; a pause is held only until the buffer is "
    "back at xon, and XON ends it: the rule needs a resume threshold far below T(1)",
}

DISAGREE: Final = """## Checks that do not behave as their rules say

- **W5** (detection within reach of a healthy pause): refuted. A queue is paused and resumed many times while the buffer
  stays near its threshold; no single pause lasts T(1) / rate. The rule is right only where XON comes much below T(1).
- **T1** (links too small for the hosts): the rule speaks of the hosts' MTU, and is right for packets of that size.
  RoCE's own packets need 4,206 B, so RoCE is not lost above that. Between the two, datagrams of the hosts' MTU are
  lost, up to exactly the bound of the rule.
- **M11** (small weight): RoCE's message is late, as the rule's condition says. Its consequence, pauses without need, is
  not what is seen: there are fewer pauses, and they are longer. 40 MB of each class, RoCE's weight 50, 25, 6 and 1
  beside 50: 2, 1, 1 and 1 pauses, the longest of 353, 635, 815 and 815 us.
- **M16** (traffic that no pause stops, in RoCE's group): the rule said that lossless packets are dropped. RoCE loses
  nothing: the headroom is large enough for what is under way when RoCE stops. But the group stays full, so RoCE stays
  paused as long as the other traffic lasts; what the headroom cannot hold is that traffic's own. The rule says so now.
- **L6** (asymmetric PFC at one end): the rule said that pauses are not honoured in one direction. SONiC's own tests of
  the feature (sonic-mgmt, tests/pfc_asym) expect a receive mask of all priorities and a send mask of the lossless
  ones, so a pause of RoCE is obeyed, and nothing is lost in either direction. The rule is a warning now: lossy queues
  stop, too, if the peer pauses them.
- **H8** (headroom computed for smaller frames): refuted for a traffic pattern of 1,024 B with half small packets. The
  formula (buffer_headroom_mellanox.lua) takes a larger share of small packets by bytes for a smaller MTU, which adds
  more than the frame that is left out: 112,640 B instead of less.
- **L10** (802.3x beside PFC): a *host* with link-wide pause sends PAUSE frames that a port with PFC does not obey, and
  its NIC overflows. Which of the two a *switch port* with both takes is not known.
- **W6** (hosts give up): the queue pair that has packets in the stormed queue fails, also where the rule is kept: the
  watchdog's drop lasts until restoration, so retries must outlast the storm and the restoration, not the detection
  alone. With detection and poll of 100 ms and restoration of 200 ms, 7 retries of 67 ms end before. A message that
  waits in its NIC has sent nothing, so no timer runs, and it does not fail.
- **M6** (CNPs behind data): completion times do not show it: in runs by hand they were better with the mistake
  (largest 0.85 ms instead of 5.6 ms), because late CNPs cut less. The delay of CNPs is what the rule is about, and it
  is no metric of a run yet: not proven.
- **B7** (egress limit): the rule adds up all groups that feed the queue: a warning where they overflow it before they
  pause, a note up to their headroom. The run loses in between, as much of the headroom as it uses. A *lossy profile*
  with a limit that no load reaches loses nothing: refuted.
- **H7** (0 m of cable): proven where no group is configured. Where the row of an earlier configuration is still there,
  the group exists: what is lost with a slow peer is lost with a stated length, too (not proven).
- **H5, H1**: a headroom that the rule passes may lose packets if the peer takes all the time that it may.
- **E11**: 14 us from Kmin to T(1) are enough for the first CNP, not for senders to fit their rate.
- **N5**: the rule is the driver's formula; a NIC that asks early needs less.
"""


def text(bounds: Sequence[str], results: Sequence[str]) -> str:
    """The page, of the rows of its two tables of measurements."""
    lines = [HEAD, *lowering_lines(), *recipe_lines(), "## Rule against simulation", ""]
    lines += [
        "One value of the clean fabric of two leaves and two spines (400G, Spectrum-3) is moved, and the last value",
        "with the finding and the first without it are found by bisection: for the rule, and for the run.",
        "",
        "| check | value | rule: violated / kept | run: loses / holds | difference |",
        "|---|---|---|---|---|",
        *bounds,
        "",
        "Settings without a bound: one broken fabric for each.",
        "",
        "| check | what is wrong | result |",
        "|---|---|---|",
        *results,
        "",
        DISAGREE,
    ]
    return "\n".join(lines)


def lowering_lines() -> list[str]:
    """The lowering table."""
    rows = [("switch", it.item, it.field) for it in SWITCH_ROWS]
    rows += [("port", it.item, it.field) for it in PORT_ROWS]
    rows += [("host", it.item, it.field or "not lowered") for it in HOST_ROWS]
    rows += [("transport", it.item, it.field) for it in TRANSPORT_ROWS]
    head = ["## From configurations to a scenario", "", "| of | configuration | scenario |", "|---|---|---|"]
    return [*head, *(f"| {of} | {item} | `{field}` |" for of, item, field in rows), ""]


def recipe_lines() -> list[str]:
    """Recipes, and checks without one."""
    lines = [
        "## Checks that are simulated",
        "",
        "| check | claim | traffic | what is moved or remedied |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {id_} {CHECKS[id_].title} | {RECIPES[id_].claim} | {RECIPES[id_].traffic} | {RECIPES[id_].bound} |"
        for id_ in CHECKS
        if id_ in RECIPES
    ]
    lines += ["", "## Checks that are not", "", "| check | why |", "|---|---|"]
    lines += [
        f"| {id_} {CHECKS[id_].title} | {WITHOUT.get(id_) or NO_CLAIM[id_]} |"
        for id_ in CHECKS
        if id_ in WITHOUT or id_ in NO_CLAIM
    ]
    return [
        *lines,
        "",
        "The other checks are about files, routes and identities: nothing that a packet of RoCE shows.",
        "",
    ]


def bound_row(it: Bounds) -> str:
    """A value that was moved, with the limits of rule and run."""
    knob = it.knob
    reason = REASONS.get((knob.check, knob.what)) or REASONS.get((knob.check, ""), "")
    run = _pair(it.simulated, knob.unit) if it.simulated else "always" if it.always else "never"
    return f"| {knob.check} | {knob.what} | {_pair(it.rule, knob.unit)} | {run} | {reason} |"


def _pair(found: tuple[int, int] | None, unit: str) -> str:
    return "-" if found is None else f"{found[0]:,} / {found[1]:,} {unit}".strip()


def result_row(case: Broken, found: Proof) -> str:
    """A broken fabric with the result of its proof."""
    return f"| {case.check} | {in_markdown(case.what)} | {in_markdown(str(found))} |"


def page() -> str:
    """Simulate everything: some minutes."""
    with TemporaryDirectory() as folder:
        results = [result_row(it, it.proof(Path(folder) / str(number))) for number, it in enumerate(CASES)]
    return text([bound_row(measure(knob)) for knob in KNOBS], results)
