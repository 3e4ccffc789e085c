"""``fabric bgp speak``: a BGP session with a real router over TCP, as one switch of an emulated fabric or by itself.

Events are printed on standard error as they occur; the session and the received routes are printed on standard output
at the end, which Ctrl-C, SIGTERM or --duration cause (NOTIFICATION Cease / Administrative Shutdown).
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabric.cli.options.output import LineFile
from fabric.errors import InputErrors, Problem, UnitError
from fabric.visible import visible

if TYPE_CHECKING:  # loaded only when a session is started
    from fabric.controlplane.bgp.actions import Action, RoutesChanged
    from fabric.controlplane.bgp.speaker import Speaker
    from fabric.lab.sockets import SpeakerSockets
    from fabric.lab.speaker_setup import Announcement, Limits

_Json = dict[str, Any]
_ASN_LIMIT: Final = 1 << 32
_FOREVER_NS: Final = 1 << 62
_ROWS: Final = 64
_LINES: Final = 20
"""Routes of one change that are named on standard error; the rest are counted."""
BGP_PORT: Final = 179


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--peer",
        metavar="ADDRESS[:PORT]",
        required=True,
        help="the router; an IPv6 address with a port is written [ADDRESS]:PORT",
    )
    parser.add_argument("--peer-asn", metavar="ASN", type=int, required=True, help="the router's AS number")
    parser.add_argument("--asn", metavar="ASN", type=int, help="ours (default: the emulated switch's)")
    parser.add_argument("--router-id", metavar="ADDRESS", help="ours (default: the emulated switch's)")
    parser.add_argument("--local", metavar="ADDRESS", help="local address (default: by the routing table)")
    parser.add_argument(
        "--listen", action="store_true", help="wait for the router to connect instead of connecting to it"
    )
    parser.add_argument("--port", metavar="PORT", type=int, default=BGP_PORT, help="port of --listen (default 179)")
    say = parser.add_mutually_exclusive_group()
    say.add_argument(
        "--advertise",
        metavar="SOURCE",
        type=Path,
        help="announce the underlay and EVPN routes of a scenario with routing: bgp, or of a run of one",
    )
    say.add_argument(
        "--prefix",
        metavar="PREFIX",
        action="append",
        default=[],
        dest="prefixes",
        help="announce this IPv4 prefix; repeatable",
    )
    parser.add_argument(
        "--node",
        metavar="NODE",
        help="with --advertise: the switch to emulate (default: the first of the highest tier)",
    )
    parser.add_argument("--at", metavar="TIME", help="with --advertise: its routes at this simulated time")
    parser.add_argument("--hold-time", metavar="SECONDS", type=int, default=9, help="0, or 3 to 65535 (default: 9)")
    parser.add_argument(
        "--max-prefixes",
        metavar="N",
        type=int,
        default=100_000,
        help="end the session (Cease / Maximum Number of Prefixes Reached, RFC 4486) where the router "
        "announces more routes of one address family (default: 100000)",
    )
    parser.add_argument(
        "--max-attributes",
        metavar="SIZE",
        default="32MiB",
        help="end the session (Cease / Out of Resources) where the attributes of its routes have more "
        "bytes in all (default: 32MiB)",
    )
    parser.add_argument(
        "--restart", metavar="TIME", help="after such an end, connect again after this time (default: never)"
    )
    parser.add_argument(
        "--journal",
        metavar="FILE",
        type=Path,
        help="write all input and output to FILE; `fabric bgp replay` replays it",
    )
    parser.add_argument("--duration", metavar="TIME", help="end after this time, such as 30s (default: at Ctrl-C)")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object at the end: FRR's summary, neighbors, ipv4 and evpn tables",
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """The options, checked."""

    peer: str
    port: int
    local: str | None
    duration_ns: int | None
    limits: Limits


def run(args: argparse.Namespace) -> int:
    """Run the session, print the learned routes; exit 1 where the router exceeded a limit and was not retried."""
    plan = _checked(args)
    from fabric.capture.journal import direct, recording, speaker_of  # noqa: PLC0415  --help must not load a speaker
    from fabric.lab import speaker_setup  # noqa: PLC0415
    from fabric.lab.sockets import Ports, SpeakerSockets  # noqa: PLC0415

    args, announcements = _voice(args)
    local = plan.local or speaker_setup.local_address(plan.peer, plan.port)
    speaker = speaker_of(
        speaker_setup.session_config(
            local,
            plan.peer,
            args.asn,
            args.peer_asn,
            args.router_id,
            args.hostname,
            passive=args.listen,
            hold_time_s=args.hold_time,
            limits=plan.limits,
        )
    )
    with ExitStack() as stack:
        call = direct(speaker)
        if args.journal is not None:
            call = recording(speaker, stack.enter_context(LineFile(args.journal, "w")))
        report = partial(_report, speaker)
        sockets = SpeakerSockets(
            call, speaker, Ports((local, args.port) if args.listen else None, {plan.peer: plan.port}), report
        )
        speaker_setup.announce(sockets, announcements)
        asked = stack.enter_context(_signals(sockets))
        sockets.start()
        if args.listen:
            print(f"listening at {local}, port {args.port}", file=sys.stderr, flush=True)
        sockets.run_until(asked, _FOREVER_NS if plan.duration_ns is None else sockets.now_ns + plan.duration_ns)
        shown = _tables(speaker, sockets.now_ns)
        exceeded = any(peer.over_limit for peer in speaker.peers.values())
        sockets.stop()
    _print(shown, as_json=args.json)
    return int(exceeded)


def _checked(args: argparse.Namespace) -> _Plan:
    """Every problem of the options together."""
    problems: list[Problem] = []
    peer, port = _peer(args.peer, problems)
    for option in ("asn", "peer_asn"):
        value = getattr(args, option)
        if value is None and args.advertise is None:
            problems.append(Problem("--asn", "is missing", "give the local AS number, or a fabric with --advertise"))
        elif value is not None and not 0 < value < _ASN_LIMIT:
            problems.append(Problem(f"--{option.replace('_', '-')}", f"{value} is not an AS number", "1 to 4294967295"))
    if args.router_id is None and args.advertise is None:
        problems.append(Problem("--router-id", "is missing", "a local IPv4 address, such as 10.255.0.9"))
    _address("--router-id", args.router_id, problems, ipv4=True)
    _address("--local", args.local, problems)
    for prefix in args.prefixes:
        _prefix(prefix, problems)
    problems += [
        Problem(f"--{option}", "has no effect without --advertise", "name the fabric of the switch")
        for option in ("node", "at")
        if getattr(args, option) is not None and args.advertise is None
    ]
    if not 0 <= args.port < 1 << 16 or (args.port != BGP_PORT and not args.listen):
        problems.append(
            Problem(
                "--port",
                f"{args.port} cannot be used",
                "0 to 65535, together with --listen; the router's own port belongs to --peer ADDRESS:PORT",
            )
        )
    if args.hold_time in {1, 2} or not 0 <= args.hold_time < 1 << 16:
        problems.append(
            Problem("--hold-time", f"{args.hold_time} s cannot be", "0 for none, or 3 to 65535 (RFC 4271 section 4.2)")
        )
    duration_ns = _duration_ns("--duration", args.duration, "30s", problems)
    limits = _limits(args, problems)
    if problems:
        raise InputErrors("options", problems)
    return _Plan(peer, port, args.local, duration_ns, limits)


def _limits(args: argparse.Namespace, problems: list[Problem]) -> Limits:
    from fabric.lab.speaker_setup import Limits  # noqa: PLC0415
    from fabric.units import parse_size_bytes  # noqa: PLC0415

    attribute_bytes = 0
    try:
        attribute_bytes = parse_size_bytes(args.max_attributes)
    except UnitError as error:
        problems.append(Problem("--max-attributes", error.text, error.hint))
    else:
        if attribute_bytes < 1 << 16:
            problems.append(
                Problem(
                    "--max-attributes",
                    f"{args.max_attributes} is too little",
                    "64KiB or more: one UPDATE may have so many bytes (RFC 8654)",
                )
            )
    if not 0 < args.max_prefixes < _ASN_LIMIT:
        problems.append(Problem("--max-prefixes", f"{args.max_prefixes} is not a number of routes", "1 to 4294967295"))
    return Limits(args.max_prefixes, attribute_bytes, _duration_ns("--restart", args.restart, "60s", problems))


def _peer(text: str, problems: list[Problem]) -> tuple[str, int]:
    """'10.0.0.1', '10.0.0.1:1790', '2001:db8::1', '[2001:db8::1]:1790' -> (address, port)."""
    host, port = text, ""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    _address("--peer", host, problems)
    if port and not (port.isdecimal() and 0 < int(port) < 1 << 16):
        problems.append(Problem("--peer", f"'{port}' is not a TCP port", "1 to 65535"))
        port = ""
    return host, int(port or BGP_PORT)


def _address(place: str, text: str | None, problems: list[Problem], *, ipv4: bool = False) -> None:
    if text is None:
        return
    try:
        address = ip_address(text)
    except ValueError:
        problems.append(Problem(place, f"'{text}' is not an IP address", "numbers, such as 10.0.0.1; no name"))
        return
    if ipv4 and address.version != 4:
        problems.append(Problem(place, f"{text} is IPv6", "a router ID is written as an IPv4 address (RFC 6286)"))
    if address.is_link_local and address.version == 6:
        problems.append(
            Problem(
                place,
                f"{text} is link-local",
                "a session over link-local addresses needs an "
                "interface, which this listener does not have; use global addresses",
            )
        )


def _prefix(text: str, problems: list[Problem]) -> None:
    from fabric.controlplane.bgp.afi import prefix_key  # noqa: PLC0415

    try:
        prefix_key(text)
    except ValueError as error:
        problems.append(Problem("--prefix", f"'{text}' is not a prefix: {error}", "such as 198.51.100.0/24"))
    else:
        if ":" in text:
            problems.append(Problem("--prefix", f"{text} is IPv6", "IPv4 prefixes only"))


def _duration_ns(option: str, text: str | None, example: str, problems: list[Problem]) -> int | None:
    from fabric.units import PS_PER_NS, parse_time_ps  # noqa: PLC0415

    if text is None:
        return None
    try:
        found = parse_time_ps(text) // PS_PER_NS
    except UnitError as error:
        problems.append(Problem(option, error.text, error.hint))
        return None
    if found <= 0:
        problems.append(Problem(option, f"{text} is too short", f"give more, such as {example}"))
    return found


def _voice(args: argparse.Namespace) -> tuple[argparse.Namespace, list[Announcement]]:
    """(options with the emulated switch's AS number and router ID where none were given, what to announce)."""
    from fabric.lab import speaker_setup  # noqa: PLC0415

    found = argparse.Namespace(**vars(args), hostname="fabric")
    if args.advertise is None:
        return found, speaker_setup.announcements_of(args.prefixes)
    from fabric.show.subject import load_subject, moment  # noqa: PLC0415

    switch = speaker_setup.replaced_switch(load_subject(args.advertise).network(moment(args.at)), args.node)
    speaker = switch.speaker.config
    announcements = speaker_setup.announcements_by(switch)
    routes = ", ".join(
        f"{sum(len(it.keys) for it in announcements if it.family is family)} {family.name}"
        for family in speaker_setup.FAMILIES
    )
    print(f"in the place of {switch.router.name}, AS {speaker.asn}: {routes} routes", file=sys.stderr, flush=True)
    found.hostname = switch.router.name
    found.asn = speaker.asn if args.asn is None else args.asn
    found.router_id = speaker.router_id if args.router_id is None else args.router_id
    return found, announcements


@contextmanager
def _signals(sockets: SpeakerSockets) -> Iterator[Callable[[], bool]]:
    """SIGINT and SIGTERM end the session in order; yields whether one was received."""
    seen: list[int] = []

    def ask(number: int, _frame: object) -> None:
        seen.append(number)
        sockets.interrupt()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(speaker: Speaker, now_ns: int, actions: Sequence[Action]) -> None:
    """Sessions and routes, on standard error."""
    from fabric.controlplane.bgp.actions import RoutesChanged, SessionDown, SessionUp  # noqa: PLC0415

    for action in actions:
        lines: list[str] = []
        if isinstance(action, SessionUp):
            lines = [f"session with {action.peer} is up"]
        elif isinstance(action, SessionDown):
            lines = [f"session with {action.peer} is down: {action.reason}{_and_then(speaker, action.peer)}"]
        elif isinstance(action, RoutesChanged):
            lines = list(_changes(action))
            rest = len(lines) - _LINES
            lines = [*lines[:_LINES], *([f"... and {rest} more routes"] if rest > 0 else [])]
        for line in lines:
            print(f"{now_ns / 1e9:9.3f}s  {visible(line)}", file=sys.stderr, flush=True)


def _and_then(speaker: Speaker, name: str) -> str:
    peer = speaker.peers[name]
    if not peer.over_limit:
        return ""
    restart_ns = peer.neighbor.limit_restart_ns
    return "; it stays down" if restart_ns is None else f"; it is retried in {restart_ns / 1e9:g} s"


def _changes(action: RoutesChanged) -> Iterator[str]:
    from fabric.controlplane.bgp.afi import address_text  # noqa: PLC0415
    from fabric.controlplane.bgp.attributes import path_text  # noqa: PLC0415

    for change in action.changes:
        best = None if change.new is None else change.new.best
        if best is not None and best.source.local:
            continue  # own announcements
        if best is None and change.old is not None and change.old.best.source.local:
            continue
        for key in change.keys:
            route = action.family.text(key)
            yield (
                f"- {route}"
                if best is None
                else f"+ {route} via {address_text(best.next_hop)} path {path_text(best.attributes.as_path) or '-'}"
            )


def _tables(speaker: Speaker, now_ns: int) -> dict[str, _Json]:
    from fabric.show import bgp as frr_bgp  # noqa: PLC0415

    return {
        "summary": frr_bgp.summary(speaker, now_ns),
        "neighbors": frr_bgp.neighbors(speaker, now_ns),
        "ipv4": frr_bgp.ipv4(speaker),
        "evpn": frr_bgp.evpn(speaker),
    }


def _print(tables: dict[str, _Json], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(tables, indent=2))
        return
    from fabric.render.text import console_for, print_document  # noqa: PLC0415
    from fabric.show import control_tables  # noqa: PLC0415

    shown = {"summary": tables["summary"], "ipv4": _received(tables["ipv4"]), "evpn": _received(tables["evpn"])}
    renderers = {"summary": control_tables.summary, "ipv4": control_tables.routes, "evpn": control_tables.evpn_routes}
    for name, render in renderers.items():
        print_document(render({"received": shown[name]}, "when the session ended"), console_for(sys.stdout), _ROWS)


def _received(table: _Json) -> _Json:
    """A table without the routes of this end."""
    from fabric.show.bgp import by_distinguisher  # noqa: PLC0415

    if "routes" in table:
        return {**table, "routes": {name: paths for name, paths in table["routes"].items() if not _ours(paths)}}
    left = {
        rd: {name: route for name, route in routes.items() if name == "rd" or not _ours(route["paths"])}
        for rd, routes in by_distinguisher(table).items()
    }
    left = {rd: routes for rd, routes in left.items() if len(routes) > 1}
    paths = [len(route["paths"]) for routes in left.values() for name, route in routes.items() if name != "rd"]
    return {**left, "numPrefix": len(paths), "totalPrefix": sum(paths)}


def _ours(paths: Sequence[_Json]) -> bool:
    return all(path["peerId"] == "(unspec)" for path in paths)
