"""The headroom of one port, added up: bounds, the vendor's formula term by term, and the row that a switch would read.

`fabric headroom` prints this and `fabric.headroom` returns it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fabric.configs.buffers.headroom import (
    FRAME_OVERHEAD_BYTES,
    MBPS,
    PFC_FRAME_BYTES,
    Asic,
    Assumptions,
    Bounds,
    Row,
    Term,
    bounds,
    cable_bytes,
    hop_of,
    propagation_terms,
    quanta_bytes,
    vendor_row,
)
from fabric.configs.buffers.mmu import cell_bytes_of
from fabric.configs.buffers.platforms import dynamic_chip, find_platform, known_words
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.errors import InputErrors, Problem
from fabric.theory.headroom import LARGEST_IN_ANNEX_BPS, RESPONSE_QUANTA, Hop, need_bytes
from fabric.theory.headroom import Term as NeedTerm
from fabric.theory.headroom import terms as need_terms

MEANING: Final = {
    "a": "lost even if no frame is longer than 1500 B",
    "b": "lost with a jumbo frame here and a 4096-byte RoCE packet there",
    "c": "lost with jumbo frames at both ends",
    "d": "lost if the peer takes as long to stop as 802.3 allows",
}
"""What happens below each bound."""
_PATTERN_PERCENT: Final = 50
"""Small packets in SONiC's stock LOSSLESS_TRAFFIC_PATTERN."""


@dataclass(frozen=True, slots=True)
class Need:
    """What the port needs under assumptions: what `fabric run` does with the same ones."""

    hop: Hop
    bytes: int
    terms: tuple[NeedTerm, ...]
    assumed: str
    """The assumptions in words."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one port must still take after it has asked for a pause."""

    speed_mbps: int
    cable_m: int
    mtu_bytes: int
    platform: str | None
    """Name of the chip or table whose formula is used; None: bounds only."""
    asic: Asic | None
    """Constants of that formula."""
    bound_terms: tuple[Term, ...]
    """What the bounds are made of."""
    bounds: Bounds
    terms: tuple[Term, ...]
    """Addends of the vendor's formula; () without one."""
    formula: Row | None
    row: Row | None
    """Of the table that the switch reads; None where the table has no row for this speed and cable."""
    row_source: str
    """Where the row is from; '' without a table."""
    judged_bytes: int | None
    """The xoff that is compared with the bounds: the given one, else the row's, else the formula's."""
    need: Need

    @property
    def below(self) -> tuple[str, ...]:
        """Bounds that the judged xoff is below, the worst first."""
        if self.judged_bytes is None:
            return ()
        judged = self.judged_bytes
        return tuple(name for name in MEANING if judged < getattr(self.bounds, name))


def budget(
    speed_mbps: int,
    cable_m: int,
    mtu_bytes: int = 9216,
    *,
    platform: str | None = None,
    table: Path | str | None = None,
    xoff_bytes: int | None = None,
    assumed: Assumptions | None = None,
    cell_bytes: int | None = None,
    classes: int = 1,
    fec: bool = False,
    macsec: bool = False,
    without: frozenset[str] = frozenset(),
) -> Budget:
    """Add it up.

    Parameters
    ----------
    speed_mbps, cable_m, mtu_bytes : int    of the link; the MTU is the larger one of its two ends
    platform : str, optional                HWSKU or model whose formula or shipped table is used
    table : path, optional                  the platform's own pg_profile_lookup.ini
    xoff_bytes : int, optional              the headroom to judge
    assumed : Assumptions, optional         response, latency and frames; None: those of a scenario
    cell_bytes : int, optional              of the buffer; None: the platform's, else 1
    classes : int                           lossless classes of the port
    fec, macsec : bool                      RS-FEC, MACsec at both ends
    without : set of words                  terms of fabric.theory.headroom.TERMS to leave out of the need

    Raises: InputErrors where no formula is known for the platform, or the table cannot be read.
    """
    known = find_platform(platform) if platform else None
    chip = dynamic_chip(platform) if platform and known is None else None
    if platform and known is None and chip is None and not table:
        raise InputErrors(
            "options",
            [
                Problem(
                    "--platform",
                    f"no headroom formula is known for '{platform}'",
                    f"tables by formula: {known_words()}; dynamic model: every Spectrum-1 to 6 switch and Tofino "
                    f"2 (as9516); "
                    "other vendors publish none: give the switch's own table with --pg-profile-lookup, or leave "
                    "--platform "
                    "out for the bounds",
                )
            ],
        )
    rows = HeadroomTables.load([str(table)]).default if table else None
    asic = known.asic if known else replace(chip.asic, small_percent=_PATTERN_PERCENT) if chip else None
    terms: list[Term] = []
    formula: Row | None = None
    if asic is not None:
        terms = propagation_terms(asic, speed_mbps, cable_m, mtu_bytes)
        formula = vendor_row(
            asic,
            speed_mbps,
            cable_m,
            port_mtu=mtu_bytes,
            eight_lanes=known is not None and speed_mbps == known.speed_8_lanes_mbps,
        )
    row = None
    if known is not None:
        row = known.row(speed_mbps, cable_m) if known.shipped(speed_mbps, cable_m) else None
    if rows is not None:
        row = rows.get(speed_mbps, cable_m)
    judged = (
        xoff_bytes if xoff_bytes is not None else row.xoff_bytes if row else (formula.xoff_bytes if formula else None)
    )
    return Budget(
        speed_mbps,
        cable_m,
        mtu_bytes,
        known.name if known else f"{chip.name}, dynamic model" if chip else None,
        asic,
        (
            Term("cable, both ways", cable_bytes(speed_mbps, cable_m), "2 x length x 5 ns/m x rate"),
            Term("frame", mtu_bytes + FRAME_OVERHEAD_BYTES, "MTU + 42 of headers, preamble and gap; one at each end"),
            Term("pause frame", PFC_FRAME_BYTES, "64 + 20"),
            Term("peer response", quanta_bytes(speed_mbps), _quanta_rule(speed_mbps)),
        ),
        bounds(speed_mbps, cable_m, mtu_bytes),
        tuple(terms),
        formula,
        row,
        str(table) if table else f"the shipped table of {known.name}" if known else "",
        judged,
        need_of(
            hop_of(
                speed_mbps,
                cable_m,
                mtu_bytes,
                given := assumed or Assumptions(),
                cell_bytes=cell_bytes or (cell_bytes_of(platform) if platform else None),
                fec=fec,
                macsec=macsec,
                other_classes=classes - 1,
                without=without,
            ),
            given,
        ),
    )


def need_of(hop: Hop, assumed: Assumptions) -> Need:
    """The need of a case with its terms, and the assumptions in words."""
    sizes = f"{hop.frame_bytes}" if hop.one_size else f"{hop.least_frame_bytes} to {hop.frame_bytes}"
    cells = f"cells of {hop.cell_bytes} B" if hop.cell_bytes > 1 else "cells not known"
    out = f", without {', '.join(sorted(hop.without))}" if hop.without else ""
    return Need(hop, need_bytes(hop), tuple(need_terms(hop)), f"{assumed.text}, frames of {sizes} B, {cells}{out}")


def statement(xoff_bytes: int, limit: Bounds, need: Need) -> str:
    """What is to be said of a headroom, the same in `fabric validate` and `fabric headroom`: need and worst bound.

    The bounds have neither reception nor the frame at the limit, so a headroom can be above them and below the need.
    """
    short = need.bytes - xoff_bytes
    held = f"{short} B less than the need of {need.bytes} B" if short > 0 else f"enough for the need of {need.bytes} B"
    worst = next((name for name in MEANING if xoff_bytes < getattr(limit, name)), None)
    bound = (
        "no bound of 802.3 is missed"
        if worst is None
        else f"below bound {worst.upper()} of 802.3, {getattr(limit, worst)} B: {MEANING[worst]}"
    )
    return f"xoff {xoff_bytes} B is {held} if {need.assumed}; {bound}"


def _quanta_rule(speed_mbps: int) -> str:
    if speed_mbps * MBPS in RESPONSE_QUANTA and speed_mbps * MBPS <= LARGEST_IN_ANNEX_BPS:
        return "802.3 annex 31B.3.7 quanta x 64 B"
    return "802.3 annex 31B.3.7 quanta x 64 B of the nearest speed it has, as SONiC takes them"
