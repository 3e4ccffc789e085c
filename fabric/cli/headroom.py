"""``fabric headroom``: bytes that a port receives after it has sent XOFF, term by term."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from fabric.cli.options.assumptions import add_latency, add_response, assumptions
from fabric.errors import InputErrors, Problem, UnitError
from fabric.theory.headroom import TERMS
from fabric.units import parse_length_mm, parse_rate_bps

if TYPE_CHECKING:
    from fabric.configs.buffers.budget import Budget, Need

EXIT_FINDING: Final = 1
_LONGEST: Final = 9638


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "examples:\n  fabric headroom --speed 400G --cable 40m --mtu 9216 --platform sn5600\n"
        "  fabric headroom --speed 100G --cable 300m --xoff 50176\n"
        "  fabric headroom --speed 400G --cable 40m --explain --response worst --frames 64..4174 --cell 144"
    )
    parser.add_argument("--speed", required=True, type=_speed, metavar="RATE", help="port speed, such as 400G")
    parser.add_argument("--cable", required=True, type=_cable, metavar="LENGTH", help="cable length, such as 40m")
    parser.add_argument(
        "--mtu", type=_mtu, default=9216, metavar="BYTES", help="larger MTU of the two ends (default 9216)"
    )
    parser.add_argument("--platform", metavar="NAME", help="HWSKU or model: sn4700, ACS-SN5600, sn4410, as9516, ...")
    parser.add_argument("--pg-profile-lookup", metavar="FILE", help="the platform's own table")
    parser.add_argument(
        "--xoff",
        type=_bytes,
        metavar="BYTES",
        help="check this headroom; exit code 1 if it is below the need or below bound C",
    )
    parser.add_argument("--explain", action="store_true", help="every term of the need: bytes, ns and source")
    add_response(parser, "--response")
    add_latency(parser)
    parser.add_argument(
        "--frames",
        type=_frames,
        metavar="BYTES|MIN..MAX",
        help="frames of the lossless class, with FCS (default: of RoCE MTU 4096, all alike)",
    )
    parser.add_argument(
        "--cell", type=_cell, metavar="BYTES", help="accounting unit of the buffer (default: the platform's, else 1)"
    )
    parser.add_argument("--classes", type=_classes, default=1, metavar="N", help="lossless classes (default 1)")
    parser.add_argument("--fec", action="store_true", help="count RS-FEC at both ends")
    parser.add_argument("--macsec", action="store_true", help="count MACsec at both ends")
    parser.add_argument(
        "--without",
        type=_names,
        default=frozenset(),
        metavar="TERM,...",
        help="leave terms out of the need: " + ", ".join(TERMS),
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print terms, bounds and rows."""
    from fabric.configs.buffers.budget import budget, statement  # noqa: PLC0415

    if unknown := sorted(args.without - set(TERMS)):
        raise InputErrors(
            "options", [Problem("--without", f"'{name}' is no term", f"one of {', '.join(TERMS)}") for name in unknown]
        )
    found = budget(
        args.speed,
        args.cable,
        args.mtu,
        platform=args.platform,
        table=args.pg_profile_lookup,
        xoff_bytes=args.xoff,
        assumed=assumptions(args, "response", args.frames),
        cell_bytes=args.cell,
        classes=args.classes,
        fec=args.fec,
        macsec=args.macsec,
        without=args.without,
    )
    if args.json:
        print(
            json.dumps(
                {
                    "speed_mbps": args.speed,
                    "cable_m": args.cable,
                    "mtu": args.mtu,
                    "platform": found.platform,
                    "bounds": asdict(found.bounds),
                    "terms": [asdict(term) for term in found.terms],
                    "formula": asdict(found.formula) if found.formula else None,
                    "row": asdict(found.row) if found.row else None,
                    "row_source": found.row_source or None,
                    "judged_xoff_bytes": found.judged_bytes,
                    "below": list(found.below),
                    "need": {
                        "bytes": found.need.bytes,
                        "assumed": found.need.assumed,
                        "auto_bytes": _auto(found),
                        **({"terms": [asdict(term) for term in found.need.terms]} if args.explain else {}),
                    },
                },
                indent=2,
            )
        )
    else:
        _print(found)
        if args.explain:
            _explain(found.need, _auto(found))
        if found.judged_bytes is not None:
            _say(f"\n{statement(found.judged_bytes, found.bounds, found.need)}")
    missed = args.xoff is not None and (args.xoff < found.need.bytes or set(found.below) & set("abc"))
    return EXIT_FINDING if missed else 0


def _print(found: Budget) -> None:
    from fabric.configs.buffers.budget import MEANING  # noqa: PLC0415
    from fabric.configs.buffers.headroom import occupancy  # noqa: PLC0415

    _say(f"headroom at {found.speed_mbps // 1000}G, {found.cable_m} m, MTU {found.mtu_bytes}\n")
    _say("terms of the bounds, bytes per priority group:")
    for term in found.bound_terms:
        _say(f"  {term.name:20} {term.bytes:>9}  {term.formula}")
    _say("bounds:")
    for name, value in asdict(found.bounds).items():
        _say(f"  {name.upper():20} {value:>9}  below it: {MEANING[name]}")
    _say(f"  {'need':20} {found.need.bytes:>9}  if {found.need.assumed}")
    asic, formula, row = found.asic, found.formula, found.row
    if asic is not None and formula is not None:
        extra = f" + {asic.extra_bytes}" if asic.extra_bytes else ""
        _say(
            f"formula of {found.platform}: xoff = {asic.lossless_mtu} + (sum of the terms) x occupancy{extra}, "
            "up to 1024s"
        )
        for term in found.terms:
            _say(f"  {term.name:20} {term.bytes:>9.0f}  {term.formula}")
        _say(
            f"  {'occupancy':20} {occupancy(asic, asic.small_percent, asic.lossless_mtu):>9.3f}  cell factor "
            f"{asic.cell_factor:g}, {asic.small_percent} % small packets"
        )
        _say(f"  xoff {formula.xoff_bytes}  xon {formula.xon_bytes}  size {formula.size_bytes}")
    if row is not None:
        _say(
            f"row of {found.row_source}: xoff {row.xoff_bytes}  xon {row.xon_bytes}  size {row.size_bytes}  "
            f"threshold {row.threshold}"
        )
    elif found.row_source:
        _say(f"{found.row_source} has no row for this speed and cable: the switch would make no lossless group")


def _explain(need: Need, auto: int) -> None:
    _say("\nterms of the need:")
    _say(f"  {'':8} {'':30} {'bytes':>9} {'ns':>9}  source")
    for term in need.terms:
        ns = "" if term.ns is None else f"{term.ns:.1f}"
        _say(f"  {term.key:8} {term.name:30} {term.bytes:>9} {ns:>9}  {term.source}")
    _say(f"  {'':8} {'need':30} {need.bytes:>9}")
    _say(
        f"`headroom: auto` of a scenario with this port, chip and latency: {auto} B (frames from 64 B, 802.3 limit; "
        "decisions/0068)"
    )


def _say(text: str) -> None:
    """Print rows of cells within the terminal."""
    from fabric.render.folding import folded, terminal_width  # noqa: PLC0415

    sys.stdout.write(folded(text, terminal_width()))


def _auto(found: Budget) -> int:
    """What a scenario takes for `headroom: auto`, whose frames have no 802.1Q tag."""
    from fabric.scenario.presets.headroom import headroom_bytes  # noqa: PLC0415

    hop = found.need.hop
    return headroom_bytes(
        hop.rate_bps,
        hop.delay_ps,
        found.mtu_bytes,
        hop.latency_ps,
        hop.cell_bytes,
        int(hop.response_ps),
        roce_frame_bytes=hop.frame_bytes,
        other_classes=hop.other_classes,
    )


def _frames(text: str) -> tuple[int, int]:
    least, dots, most = text.partition("..")
    sizes = [least, most] if dots else [least, least]
    if not all(it.isascii() and it.isdigit() and len(it) < 6 and 64 <= int(it) <= _LONGEST for it in sizes):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size of frames in 64..{_LONGEST}, or two: 64..4174")
    if int(sizes[0]) > int(sizes[1]):
        raise argparse.ArgumentTypeError(f"{text!r} begins with the longer frame; write the shorter one first")
    return int(sizes[0]), int(sizes[1])


def _cell(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= 16_384):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size of cells in 1..16384")
    return int(text)


def _classes(text: str) -> int:
    if text not in {"1", "2", "3", "4", "5", "6", "7", "8"}:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of classes in 1..8")
    return int(text)


def _names(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def _speed(text: str) -> int:
    try:
        value = parse_rate_bps(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(f"{error.text}; {error.hint}") from error
    if not 10**9 <= value <= 1600 * 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is outside 1G..1600G")
    return value // 10**6


def _cable(text: str) -> int:
    try:
        value = parse_length_mm(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(f"{error.text}; {error.hint}") from error
    if not 1000 <= value <= 100_000_000 or value % 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of metres, 1m..100km")
    return value // 1000


def _mtu(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 68 <= int(text) <= 9216):
        raise argparse.ArgumentTypeError(f"{text!r} is not an MTU in 68..9216")
    return int(text)


def _bytes(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 13):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes")
    return int(text)
