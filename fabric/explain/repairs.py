"""When shortest paths were computed again after a cable's carrier changed, and which field of the scenario decided it.

Until then switches send into the cable that is down: a black hole with a known end. With a control plane its timers
decide, and with given routes nothing is repaired. Where NICs choose paths, they leave those over the cable instead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from fabric.dataplane.state.codes import DropReason
from fabric.explain.message_losses import Emptied, Lost
from fabric.render.document import Unit, show
from fabric.runs.rundir import RunDir
from fabric.units import PS_PER_NS, parse_time_ps

OF_SWITCHES: Final = "run.reroute_delay"
OF_NICS: Final = "transport.source_routes.withdrawal"
_TIMER: Final = "transport.retransmit_timeout"
_KINDS: Final = ("link_down", "link_up")


class Repair(NamedTuple):
    """New shortest paths at all switches, or new choices of all NICs, after one cable changed."""

    cable: str
    """'leaf2:Ethernet32--spine1:Ethernet4'."""
    devices: frozenset[str]
    up: bool
    """Whether the carrier came back."""
    changed_ns: int
    computed_ns: int
    back_ns: int | None
    """When a carrier that was lost came back; None: not in this run."""
    field: str
    """OF_SWITCHES or OF_NICS."""
    delay: str
    """Its value."""


def repairs(run: RunDir) -> list[Repair]:
    """Every repair in order of time, also after the end of the run; none where routes are no shortest paths."""
    resolved = run.manifest["scenario"]["resolved"]
    switches = resolved.get("switches", {})
    if any(it.get("load_balancing") == "source-routed" for it in (switches, *switches.get("overrides", ()))):
        field, delay = OF_NICS, resolved["transport"]["source_routes"]["withdrawal"]
    else:
        field, delay = OF_SWITCHES, resolved["run"].get("reroute_delay")
    if resolved.get("routing", "shortest-path") != "shortest-path" or delay is None:
        return []
    delay_ns = parse_time_ps(delay) // PS_PER_NS
    fabric, changed = run.fabric, dict[tuple[int, str, bool], frozenset[str]]()
    for row in run.events(list(_KINDS), ["time_ns", "kind", "device", "port"]).to_pylist():
        here = fabric.port_called[f"{row['device']}:{row['port']}"]
        ends = sorted((int(here), int(fabric.ports[here].peer)))
        cable, up, time_ns = "--".join(map(fabric.port_name, ends)), row["kind"] == "link_up", int(row["time_ns"])
        changed[time_ns, cable, up] = frozenset(fabric.node_of(end).name for end in ends)
    moments = sorted({time_ns + delay_ns for time_ns, _, _ in changed})
    found = []
    for (time_ns, cable, up), devices in sorted(changed.items()):
        # Switches compute paths over all cables, also over one that changed while they waited because of another one.
        computed_ns = time_ns + delay_ns if field is OF_NICS else moments[bisect_left(moments, time_ns)]
        found.append(Repair(cable, devices, up, time_ns, computed_ns, None, field, show(delay_ns, Unit.NS)))
    return [it if it.up else it._replace(back_ns=_back(it, found)) for it in found]


def _back(cut: Repair, found: Iterable[Repair]) -> int | None:
    return min((it.changed_ns for it in found if it.up and it.cable == cut.cable and it.changed_ns > cut.changed_ns),
               default=None)  # fmt: skip


def black_hole_text(run: RunDir, lost: Sequence[Lost], emptied: Sequence[Emptied], timer: str | None) -> str:
    """Why packets were sent into a cable that was down, until when, and what to try; '' where no packet was.

    Parameters
    ----------
    lost, emptied : losses of one message
    timer : the resolved transport.retransmit_timeout, which decides how long the message then waits
    """
    places = [(it.device, moment) for it in lost if it.reason is DropReason.LINK_DOWN for moment in it.moments_ns]
    places += [(run.fabric.node_of(it.port).name, it.time_ns) for it in emptied if it.reason == "link_down"]
    into = [
        it
        for it in repairs(run)
        if not it.up
        and any(device in it.devices and it.changed_ns < moment <= it.computed_ns for device, moment in places)
    ]
    if not into:
        return ""
    end_ns = int(run.summary["stop"]["time_ns"])
    texts = [
        f"{it.cable} lost carrier at {show(it.changed_ns, Unit.NS)}, and {_until(it, end_ns)} ({it.field} {it.delay})"
        for it in into[:2]
    ]
    more = [f"and {len(into) - 2} more cables"] if len(into) > 2 else []
    second = ""
    if timer is not None and timer != "off":
        second = f", or a shorter {_TIMER} ({show(parse_time_ps(timer) // PS_PER_NS, Unit.NS)})"
    return "; ".join([*texts, *more, f"try a shorter {into[0].field}{second}"])


def _until(cut: Repair, end_ns: int) -> str:
    """Until when packets were sent into the cable."""
    if cut.back_ns is not None and cut.back_ns <= cut.computed_ns:
        return f"had it back at {show(cut.back_ns, Unit.NS)}, before routes avoided it"
    if cut.computed_ns > end_ns:
        return "routes still led there when the run ended"
    return f"routes led there until {show(cut.computed_ns, Unit.NS)}"
