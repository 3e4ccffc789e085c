"""``fabric headroom``: what a port must still take after it has asked for a pause, term by term."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from fabric.errors import InputErrors, Problem, UnitError
from fabric.units import parse_length_mm, parse_rate_bps

if TYPE_CHECKING:
    from fabric.configs.headroom import Asic, Row, Term
    from fabric.configs.platforms import Platform

EXIT_FINDING: Final = 1
_LARGEST_IN_ANNEX: Final = 400_000
_PATTERN_PERCENT: Final = 50
"""Small packets in SONiC's stock LOSSLESS_TRAFFIC_PATTERN."""
_MEANING: Final = {
    "a": "lost even if no frame is longer than 1500 B",
    "b": "lost with a jumbo frame here and a 4096-byte RoCE packet there",
    "c": "lost with jumbo frames at both ends",
    "d": "lost if the peer takes as long to stop as 802.3 allows",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = ("examples:\n  fabric headroom --speed 400G --cable 40m --mtu 9216 --platform sn5600\n"
                     "  fabric headroom --speed 100G --cable 300m --xoff 50176")
    parser.add_argument("--speed", required=True, type=_speed, metavar="RATE", help="port speed, such as 400G")
    parser.add_argument("--cable", required=True, type=_cable, metavar="LENGTH", help="cable length, such as 40m")
    parser.add_argument("--mtu", type=_mtu, default=9216, metavar="BYTES",
                        help="larger MTU of the two ends (default 9216)")
    parser.add_argument("--platform", metavar="NAME", help="HWSKU or model: sn4700, ACS-SN5600, sn4410, as9516, ...")
    parser.add_argument("--pg-profile-lookup", metavar="FILE", help="the platform's own table")
    parser.add_argument("--xoff", type=_bytes, metavar="BYTES",
                        help="judge this headroom; exit code 1 if it is below bound C")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print terms, bounds and rows."""
    from fabric.configs.headroom import bounds, propagation_terms, vendor_row  # noqa: PLC0415
    from fabric.configs.pgtable import HeadroomTables  # noqa: PLC0415
    from fabric.configs.platforms import dynamic_chip, find_platform, known_words  # noqa: PLC0415

    platform: Platform | None = find_platform(args.platform) if args.platform else None
    chip = dynamic_chip(args.platform) if args.platform and platform is None else None
    if args.platform and platform is None and chip is None and not args.pg_profile_lookup:
        raise InputErrors("options", [Problem(
            "--platform", f"no headroom formula is known for '{args.platform}'",
            f"tables by formula: {known_words()}; dynamic model: every Spectrum-1 to 6 switch and Tofino 2 (as9516); "
            "other vendors publish none: give the switch's own table with --pg-profile-lookup, or leave --platform "
            "out for the bounds")])
    table = (HeadroomTables.load([args.pg_profile_lookup]).default if args.pg_profile_lookup else None)
    found = bounds(args.speed, args.cable, args.mtu)
    terms: list[Term] = []
    formula: Row | None = None
    shipped: Row | None = None
    asic = platform.asic if platform else replace(chip.asic, small_percent=_PATTERN_PERCENT) if chip else None
    name = platform.name if platform else f"{chip.name}, dynamic model" if chip else None
    if asic is not None:
        terms = propagation_terms(asic, args.speed, args.cable, args.mtu)
        formula = vendor_row(asic, args.speed, args.cable, port_mtu=args.mtu,
                             eight_lanes=platform is not None and args.speed == platform.speed_8_lanes_mbps)
    if platform is not None:
        shipped = platform.row(args.speed, args.cable) if platform.shipped(args.speed, args.cable) else None
    if table is not None:
        shipped = table.get(args.speed, args.cable)
    judged = args.xoff if args.xoff is not None else shipped.xoff_bytes if shipped else (
        formula.xoff_bytes if formula else None)
    missed = [] if judged is None else [name for name, value in asdict(found).items() if judged < value]
    source = args.pg_profile_lookup or (f"the shipped table of {platform.name}" if platform else "")
    if args.json:
        print(json.dumps({"speed_mbps": args.speed, "cable_m": args.cable, "mtu": args.mtu,
                          "platform": name, "bounds": asdict(found),
                          "terms": [asdict(term) for term in terms], "formula": asdict(formula) if formula else None,
                          "row": asdict(shipped) if shipped else None, "row_source": source or None,
                          "judged_xoff_bytes": judged, "below": missed}, indent=2))
    else:
        _print(args, (name or "", asic), asdict(found), terms, formula, shipped, source)
        if judged is not None:
            worst = missed[0] if missed else None
            print(f"\nxoff {judged} B is " + ("above every bound" if worst is None
                                              else f"below bound {worst.upper()}: {_MEANING[worst]}"))
    return EXIT_FINDING if args.xoff is not None and set(missed) & set("abc") else 0


def _print(args: argparse.Namespace, chip: tuple[str, Asic | None], levels: dict[str, Any], terms: list[Term],
           formula: Row | None, shipped: Row | None, source: str) -> None:
    from fabric.configs.headroom import (  # noqa: PLC0415
        FRAME_OVERHEAD_BYTES,
        PFC_FRAME_BYTES,
        cable_bytes,
        occupancy,
        quanta_bytes,
    )

    print(f"headroom at {args.speed // 1000}G, {args.cable} m, MTU {args.mtu}\n")
    print("terms of the bounds, bytes per priority group:")
    for name, value, rule in (
            ("cable, both ways", cable_bytes(args.speed, args.cable), "2 x length x 5 ns/m x rate"),
            ("frame", args.mtu + FRAME_OVERHEAD_BYTES, "MTU + 42 of headers, preamble and gap; one at each end"),
            ("pause frame", PFC_FRAME_BYTES, "64 + 20"),
            ("peer response", quanta_bytes(args.speed), _quanta_rule(args.speed))):
        print(f"  {name:20} {value:>9}  {rule}")
    print("bounds:")
    for name, value in levels.items():
        print(f"  {name.upper():20} {value:>9}  below it: {_MEANING[name]}")
    name, asic = chip
    if asic is not None and formula is not None:
        extra = f" + {asic.extra_bytes}" if asic.extra_bytes else ""
        print(f"formula of {name}: xoff = {asic.lossless_mtu} + (sum of the terms) x occupancy{extra}, up to 1024s")
        for term in terms:
            print(f"  {term.name:20} {term.bytes:>9.0f}  {term.formula}")
        print(f"  {'occupancy':20} {occupancy(asic, asic.small_percent, asic.lossless_mtu):>9.3f}  cell factor "
              f"{asic.cell_factor:g}, {asic.small_percent} % small packets")
        print(f"  xoff {formula.xoff_bytes}  xon {formula.xon_bytes}  size {formula.size_bytes}")
    if shipped is not None:
        print(f"row of {source}: xoff {shipped.xoff_bytes}  xon {shipped.xon_bytes}  size {shipped.size_bytes}  "
              f"threshold {shipped.threshold}")
    elif source:
        print(f"{source} has no row for this speed and cable: the switch would make no lossless group")


def _quanta_rule(speed_mbps: int) -> str:
    from fabric.configs.headroom import QUANTA  # noqa: PLC0415

    if speed_mbps in QUANTA and speed_mbps <= _LARGEST_IN_ANNEX:
        return "802.3 annex 31B.3.7 quanta x 64 B"
    return "802.3 annex 31B.3.7 quanta x 64 B of the nearest speed it has, as SONiC takes them"


def _speed(text: str) -> int:
    try:
        value = parse_rate_bps(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not 10**9 <= value <= 1600 * 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is outside 1G..1600G")
    return value // 10**6


def _cable(text: str) -> int:
    try:
        value = parse_length_mm(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not 1000 <= value <= 100_000_000 or value % 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of metres, 1m..100km")
    return value // 1000


def _mtu(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 68 <= int(text) <= 9216):
        raise argparse.ArgumentTypeError(f"{text!r} is no MTU 68..9216")
    return int(text)


def _bytes(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 13):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes")
    return int(text)
