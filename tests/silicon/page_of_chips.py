"""docs/silicon.md: every row of tests/data/silicon beside rule and emulator."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.silicon.rows_of_chips import Chip, agrees, by_rule, chips, expected, simulated

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "silicon.md"
_HEAD: Final = """# Buffer thresholds of switch chips

`fabric thresholds CONFIG` says from a SONiC buffer configuration at which packet a switch sends XOFF, drops and
resumes. This page compares it with counts that sonic-mgmt's QoS tests expect of switches, and with the same experiment
in the emulator: receivers that stop the switch, senders that ignore pause, packets of one cell.
`python -m tests.silicon` writes it.

- **What the counts are.** Limits with which switches passed their tests, with a margin on both sides. Some were found
  by search on hardware, some were computed by their authors; the source seldom says which. The register values of
  `td3-d48c8-dualtor-2023` come from a switch.
- **Fitted.** A rule that was found on a row is not proved by it: the column says so. Two inputs are fitted for single
  rows, because versions of the vendor's software differ and no configuration states it: `--queue-minimums` and
  `--lossy-pool`.
- **Left out.** Counts that the source copied from another row or did not renew when the configuration changed. They are
  listed below the table.
- **XON.** The tests give an upper limit only: XON has come when the use is that much below XOFF. Rule and emulator
  resume earlier or at that point on every row.
- **Agrees** means: within the row's own margin, or within 1 %; "in the margin" is the stricter of both.

| row | quantity | switch | margin | rule | emulator | difference | agrees | fitted on this row |
|---|---|---|---|---|---|---|---|---|
"""
_RULES: Final = """
## Rules

`thresholds.py` in `fabric/configs/buffers` states them with their sources; `mmu.py` beside it, the facts of each chip:
cell, partitions, whether pool sizes contain guarantees (gross) or not (net), and what is assumed. Chips without rows
here (Tomahawk 2, 4 and 5, Spectrum 1, 2, 4 and 5) are computed by the rules of their families, and `fabric thresholds`
says which of their facts are assumed. Chips with virtual output queues (Jericho, Silicon One) have other rules and are
refused.

What no public source decides: packets held in the egress pipeline, which the tests send in addition; rounding inside
the chip (the egress limits of Trident 2 and Tomahawk are 2 to 3 cells higher than the rule); and S itself while links
go down, since a port that is down gives its minimums back: `fabric thresholds` prints how many.
"""


def page() -> str:
    """The page."""
    rows = [line for chip in chips() for line in _lines(chip)]
    left_out = [f"- `{chip.name}`, {field}: {why}" for chip in chips() for field, why in chip.doubtful.items()]
    inside = sum(" in the margin " in line for line in rows)
    agreed = sum(" in the margin " in line or " within 1 % " in line for line in rows)
    count = (
        f"\n{len(rows)} counts: {inside} in the margin, {agreed - inside} more within 1 %, {len(rows) - agreed} not.\n"
    )
    return _HEAD + "\n".join(rows) + "\n" + count + "\n## Left out\n\n" + "\n".join(left_out) + "\n" + _RULES


def _lines(chip: Chip) -> list[str]:
    rule, run = by_rule(chip), simulated(chip)
    fitted = "; ".join(chip.raw["fitted"]) or "-"
    lines = []
    for name, (count, margin) in expected(chip).items():
        packets = run.get(name)
        both = [rule[name], *([] if packets is None else [packets])]
        worst = max(abs(it - count) for it in both)
        agree = all(agrees(it, (count, margin)) for it in both)
        verdict = "in the margin" if worst <= margin else "within 1 %" if agree else "**no**"
        shown = "-" if packets is None else f"{packets:,}"
        cells = (f"`{chip.name}`", name, f"{count:,}", margin, f"{rule[name]:,}", shown, worst, verdict, fitted)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return lines
