"""Cables that are cut, that flap, or that lose lanes."""

from __future__ import annotations

from fabric.dataplane.engine.edits import Edit, LinkRate, LinkState
from fabric.errors import Problem
from fabric.faults.base import FaultContext, Injected
from fabric.faults.spec import LinkDownSpec, LinkFlapSpec, LinkRateSpec
from fabric.units import format_rate_bps, format_time_ps

_LOSS = "frames in flight and queued for the cable are lost (drop reason link_down)"


def down(spec: LinkDownSpec, path: str, context: FaultContext) -> Injected:
    """Down at `at`, up at `until`."""
    links = context.links(spec.link, f"{path}.link")
    edits: list[Edit] = [LinkState(spec.at, link.id, up=False) for link in links]
    if spec.until is not None:
        edits += [LinkState(spec.until, link.id, up=True, ends=True) for link in links]
    return Injected(
        edits,
        {"links": context.link_names(links)},
        spec.at,
        spec.until,
        ["link state down at both ends", _LOSS, "other equal-cost paths carry more"],
    )


def flap(spec: LinkFlapSpec, path: str, context: FaultContext) -> Injected:
    """`count` times down for `down`, with `up` in between; from `until` on up."""
    links = context.links(spec.link, f"{path}.link")
    period = spec.down + spec.up
    last = spec.at + (spec.count - 1) * period + spec.down
    end = last if spec.until is None else spec.until
    if end > last:
        text = f"has no effect: the last flap ends at {format_time_ps(last)}"
        context.problems.append(Problem(f"{path}.until", text, "flap more often, or leave it out"))
    begins = range(spec.at, end, period)[: spec.count]
    edits: list[Edit] = []
    for begin in begins:
        edits += [LinkState(begin, link.id, up=False) for link in links]
        edits += [LinkState(min(begin + spec.down, end), link.id, up=True, ends=True) for link in links]
    return Injected(
        edits, {"links": context.link_names(links)}, spec.at, end, [f"{len(begins)} down and up transitions", _LOSS]
    )


def rate(spec: LinkRateSpec, path: str, context: FaultContext) -> Injected:
    """The lower rate at `at`, the old one at `until`."""
    links = context.links(spec.link, f"{path}.link")
    for link in links:
        if spec.rate >= link.rate_bps:
            context.problems.append(
                Problem(
                    f"{path}.rate",
                    f"{format_rate_bps(spec.rate)} is no degradation of "
                    f"{context.link_names([link])[0]}, which runs at "
                    f"{format_rate_bps(link.rate_bps)}",
                    "give a lower rate",
                )
            )
    edits: list[Edit] = [LinkRate(spec.at, link.id, spec.rate) for link in links]
    if spec.until is not None:
        edits += [LinkRate(spec.until, link.id, link.rate_bps, ends=True) for link in links]
    return Injected(
        edits,
        {"links": context.link_names(links), "rate_bps": spec.rate},
        spec.at,
        spec.until,
        [
            "rate_changed event at both ends",
            "queue and ECN marks grow before the slow cable",
            "ECMP still sends it a full share",
        ],
    )
