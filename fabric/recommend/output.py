"""A recommendation as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from fabric.recommend.alpha import BURST_PS
from fabric.recommend.headroom import PHASES
from fabric.recommend.recommend import Recommendation, SwitchFound, curve_verdict, xoff_verdicts
from fabric.render.folding import columns
from fabric.units import count, listed
from fabric.visible import in_markdown, visible

_MOST_NAMES: Final = 4
ASSUMPTIONS: Final = (
    "peers stop within the time of 802.3 31B.3.7; reception in a switch takes the time of --latency",
    "headroom is private to a group, every port has its share at once, and no lossy traffic uses the pool",
    f"congestion control begins to act {BURST_PS // 1_000_000} us after a mark",
    "hosts run the emulator's default parameters of their congestion control; one switch is simulated at a time",
)


def as_data(found: Recommendation) -> dict[str, Any]:
    """For JSON. Bytes, metres, Mb/s."""
    return {
        "complete": found.complete,
        "runs": found.runs,
        "assumptions": list(ASSUMPTIONS),
        "headroom": [
            {
                "class": it.port.title,
                "chip": it.port.chip,
                "speed_mbps": it.port.speed_mbps,
                "cable_m": it.port.cable_m,
                "mtu_bytes": it.port.mtu,
                "ports": list(found.classes.ports[it.port]),
                "present_xoff_bytes": list(it.present_bytes),
                "present_corners": it.covered,
                "xoff_bytes": it.found.xoff_bytes,
                "need_bytes": it.found.need_bytes,
                "jumbo_bytes": it.found.jumbo_bytes,
                "margin_bytes": it.found.margin_bytes,
                "margin_m": it.found.metres(it.port.speed_mbps),
                "formula_bytes": it.found.formula_bytes,
                "corners": [
                    {"corner": kind, "needed_bytes": size + it.found.jumbo_bytes} for kind, size in it.found.needs
                ],
                "corner": it.found.corner.title,
                "lost_with_one_frame_less_pkts": it.found.lost_below,
                "verdict": it.text,
            }
            for it in xoff_verdicts(found)
        ],
        "switches": [_switch_data(it) for it in found.switches],
        "omitted": list(found.classes.omitted),
    }


def _switch_data(it: SwitchFound) -> dict[str, Any]:
    data: dict[str, Any] = {
        "switches": list(it.switch.switches),
        "chip": it.switch.chip,
        "memory_bytes": it.switch.memory_bytes,
        "headroom_bytes": it.headroom_bytes,
        "pool_bytes": it.pool_bytes,
        "simulated_ports": it.port.title,
        "problem": it.problem or None,
    }
    if it.alpha is not None:
        data["dynamic_th"] = {
            "recommended": it.alpha.exponent,
            "present": list(it.switch.present.dynamic_th),
            "senders": it.alpha.senders,
            "burst_bytes": it.alpha.burst_bytes,
            "xoffs_of_others_one_step_above": it.alpha.xoffs_above,
        }
    if it.marking is not None:
        curve = it.marking.curve
        data["marking"] = {
            "kmin_bytes": curve.kmin_bytes if curve else None,
            "kmax_bytes": curve.kmax_bytes if curve else None,
            "pmax_percent": curve.pmax_percent if curve else None,
            "lowest_kmin_bytes": it.marking.lowest_kmin_bytes,
            "highest_kmin_bytes": it.marking.highest_kmin_bytes,
            "xoff_of_one_group_bytes": it.marking.limit_bytes,
            "verdict": curve_verdict(it.marking) or None,
            "present": [
                {"kmin_bytes": low, "kmax_bytes": high, "pmax_percent": percent}
                for low, high, percent in it.switch.present.curves
            ],
            "held_out": {
                name: {
                    "utilisation_ratio": score.utilisation,
                    "short_p99_ns": score.short_p99_ns,
                    "power_per_ms": score.power,
                    "xoffs": score.xoffs,
                    "runs_with_xoff_before_mark": score.early_xoffs,
                }
                for name, score in it.marking.held_out.items()
            },
        }
    return data


class _TableLine(str):
    """A line of a table, whose cells are safe."""

    __slots__ = ()


_Table = Callable[[list[str], list[list[str]]], list[str]]


def as_text(found: Recommendation, width: int) -> str:
    """For a terminal of `width` columns."""

    def table(titles: list[str], rows: list[list[str]]) -> list[str]:
        return columns(titles, [list(map(visible, row)) for row in rows], width)

    return _written(found, table, visible)


def as_markdown(found: Recommendation) -> str:
    """For a pull request."""
    return _written(found, _piped, in_markdown)


def _written(found: Recommendation, table: _Table, safe: Callable[[str], str]) -> str:
    """All lines, each made safe for its format."""
    lines = _lines(found, lambda titles, rows: [_TableLine(line) for line in table(titles, rows)])
    return "\n".join(line if isinstance(line, _TableLine) else safe(line) for line in lines) + "\n"


def _lines(found: Recommendation, table: _Table) -> list[str]:
    lines = [] if found.complete else ["The search was ended early: what follows is what was found until then.", ""]
    verdicts = list(xoff_verdicts(found))
    if verdicts:
        lines += ["Headroom after XOFF (BUFFER_PROFILE.xoff), bytes:", ""]
        lines += table(
            ["class of ports", "now", "recommended", "needed", "margin", "corners"],
            [
                [
                    it.port.title,
                    _several(it.present_bytes),
                    f"{it.found.xoff_bytes:,}",
                    f"{it.found.need_bytes + it.found.jumbo_bytes:,}",
                    f"{it.found.margin_bytes:,} ({it.found.metres(it.port.speed_mbps)} m)",
                    "-" if it.covered is None else f"{it.covered} of {len(it.found.needs)}",
                ]
                for it in verdicts
            ],
        )
        lines += ["", "corners: those for which the present value is enough. Needed, with all frames of the corner:"]
        for verdict in verdicts:
            it = verdict.found
            less = f"one frame less loses {count(it.lost_below, 'packet')} there" if it.lost_below else "not tight"
            lines += [
                "",
                f"{verdict.port.title}: {listed(found.classes.ports[verdict.port], 2)}",
                f"- the present value: {verdict.text}",
                f"- the closed form of `headroom: auto` gives {it.formula_bytes:,} B",
                f"- most is needed in phase {it.corner.phase + 1} of {PHASES}; {less}",
            ]
            lines += [f"- {kind}: {size + it.jumbo_bytes:,} B" for kind, size in it.needs]
        lines.append("")
    for switch in found.switches:
        lines += [*_switch_lines(switch, table), ""]
    lines += [f"- no recommendation for {it}" for it in found.classes.omitted]
    if found.headroom:
        lines.append(f"From {count(found.runs, 'simulated run')}. Assumptions:")
        lines += [f"- {it}" for it in ASSUMPTIONS]
    elif not found.classes.omitted:
        lines.append("No port is lossless: nothing to recommend.")
    return lines


def _switch_lines(it: SwitchFound, table: _Table) -> list[str]:
    present = it.switch.present
    names, memory = listed(it.switch.switches, _MOST_NAMES), f"{it.switch.memory_bytes:,} B"
    taken = f"headroom and guarantees take {it.headroom_bytes:,} B"
    lines = [f"{names}: {it.switch.asic.title}, {memory}, of which {taken}", ""]
    if it.alpha is not None and it.alpha.exponent is not None:
        above = (
            f"with {it.alpha.exponent + 1} they are paused {count(it.alpha.xoffs_above, 'time')}"
            if it.alpha.xoffs_above
            else "a larger one would spare them, too, but give nearly the whole pool to one group (check B3)"
        )
        lines.append(
            f"- dynamic_th {it.alpha.exponent} (now {_several(present.dynamic_th)}): with it {it.alpha.senders} "
            f"senders to one port do not pause two senders of {it.alpha.burst_bytes:,} B to another; {above}"
        )
    if it.marking is not None and it.marking.curve is not None:
        curve = it.marking.curve
        now = "; ".join(f"{low:,} / {high:,} / {percent} %" for low, high, percent in present.curves) or "none"
        lines += [
            f"- Kmin {curve.kmin_bytes:,} B, Kmax {curve.kmax_bytes:,} B, Pmax {curve.pmax_percent} % (now {now})",
            f"- Kmin may be {it.marking.lowest_kmin_bytes:,} to {it.marking.highest_kmin_bytes:,} B",
            *([f"- {verdict}"] if (verdict := curve_verdict(it.marking)) else []),
            "",
            *table(
                ["curve", "power", "link used", "p99 of short messages", "XOFFs", "XOFF before a mark"],
                [
                    [
                        name,
                        f"{score.power:,.1f}",
                        f"{score.utilisation:.1%}",
                        f"{score.short_p99_ns / 1000:,.1f} us",
                        f"{score.xoffs:,}",
                        count(score.early_xoffs, "run"),
                    ]
                    for name, score in it.marking.held_out.items()
                ],
            ),
        ]
    return [*lines, f"- {it.problem}"] if it.problem else lines


def _several(values: Sequence[int]) -> str:
    return " or ".join(f"{value:,}" for value in values) or "-"


def _piped(titles: list[str], rows: list[list[str]]) -> list[str]:
    safe = [list(map(in_markdown, row)) for row in rows]
    return [f"| {' | '.join(row)} |" for row in [titles, ["---"] * len(titles), *safe]]
