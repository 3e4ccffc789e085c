"""A fabric as its configurations describe it: switches, the links between them, and the hosts' RoCE settings.

Links come from the switches' own neighbour tables, or from a file: a list of {a: [node, port], b: [node, port]}, a
containerlab topology or a netlab one. Host settings come from a mapping of host names, with `default` for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from fabric.configs.buffers.headroom import Assumptions
from fabric.configs.hosts.capture import Nic
from fabric.configs.model import Device, Place, Port, Site, Unread
from fabric.configs.routes import Route
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.errors import InputErrors, Problem, first_few
from fabric.topology.select import nearest

End = tuple[str, str]
"""(node, port)."""

DEFAULT_ROCE_DSCP: Final = 26
DEFAULT_CNP_DSCP: Final = 48
"""What ConnectX NICs and most deployment guides use."""
_MAX_LINKS: Final = 200_000


@dataclass(frozen=True, slots=True)
class Cable:
    """One link."""

    a: End
    b: End
    at: Place | Site
    length_m: int | None = None

    @property
    def place(self) -> Place:
        """Where it is stated. A neighbour table's line is looked up only when it is shown: that scans the file."""
        return self.at.place if isinstance(self.at, Site) else self.at


@dataclass(frozen=True, slots=True)
class Host:
    """RoCE settings of a host's NIC; None where the file does not say."""

    name: str
    place: Place
    nic: str = ""
    speed: int | None = None
    """Mb/s."""
    mtu: int | None = None
    roce_mtu: int | None = None
    trust: str | None = None
    roce_dscp: int = DEFAULT_ROCE_DSCP
    cnp_dscp: int = DEFAULT_CNP_DSCP
    pfc_enable: frozenset[int] | None = None
    ecn_np_prio: int | None = None
    ecn_rp_prio: int | None = None
    cc: str | None = None
    cable_m: int | None = None
    rx_buffer_bytes: int | None = None
    global_pause: bool = False
    rdma_timeout: int | None = None
    """IB timeout exponent: 4.096 us x 2^n."""
    rdma_retries: int | None = None
    ecn_np_enable: frozenset[int] | None = None
    """Priorities that the notification point is on for: CE marks of these are answered by CNPs."""
    ecn_rp_enable: frozenset[int] | None = None
    """Priorities that the reaction point is on for: their queue pairs slow down on CNPs."""
    captured: Nic | None = field(default=None, hash=False)
    """What outputs of the host's tools say beyond these settings."""
    nics: Mapping[str, Host] = field(default_factory=dict, compare=False)
    """Interface to the settings of that NIC, where outputs of tools were given."""
    places: Mapping[str, Place] = field(default_factory=dict, compare=False)
    """Where a setting is stated, if not at `place`."""

    def at(self, setting: str) -> Place:
        """Where a setting is stated."""
        return self.places.get(setting, self.place)

    @property
    def shown(self) -> str:
        """'host1', or 'host1 ens1f0' where outputs name the NIC."""
        own = "" if self.captured is None else self.captured.interface
        return f"{self.name} {own}" if own else self.name


HOST_SETTINGS: Final = frozenset(it.name for it in fields(Host)) - {"name", "place", "places", "captured", "nics"}
"""What a hosts file may say of a host."""


@dataclass(slots=True)
class Network:
    """Everything the checks look at."""

    devices: dict[str, Device] = field(default_factory=dict)
    links: tuple[Cable, ...] = ()
    hosts: dict[str, Host] = field(default_factory=dict)
    default_host: Host | None = None
    host_outputs: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Host to the lines of its tools' outputs, each with its command, where such were given."""
    roce_dscps: tuple[int, ...] = (DEFAULT_ROCE_DSCP,)
    cnp_dscps: tuple[int, ...] = (DEFAULT_CNP_DSCP,)
    roce_given: bool = False
    """Whether RoCE's DSCPs were given as an option."""
    tables: HeadroomTables = field(default_factory=HeadroomTables)
    fibs: dict[str, tuple[Route, ...]] = field(default_factory=dict)
    """Switch to its forwarding table, where one was given."""
    unread: tuple[Unread, ...] = ()
    """Files that were given and are no switch's."""
    unjudged: tuple[Unread, ...] = ()
    """Parts of files other than configurations that no check uses."""
    contents: Mapping[str, str] = field(default_factory=dict)
    """File to the text that was read instead of the file's."""
    assumed: Assumptions = field(default_factory=Assumptions)
    """Response and latency that headroom is checked with."""
    strict: bool = False
    """A part that no check uses and that could act on RoCE is an error instead of a warning."""
    max_oversubscription: float = 3.0
    """Above this a leaf's oversubscription is an error, above 1 a warning."""

    @property
    def hosts_known(self) -> bool:
        """Whether the hosts' settings were given rather than assumed."""
        return self.default_host is not None or bool(self.hosts)

    @property
    def stated_hosts(self) -> dict[str, Host]:
        """Every host with settings, by name; 'default' stands for all others."""
        return {**self.hosts, **({} if self.default_host is None else {"default": self.default_host})}

    def host(self, name: str, port: str = "") -> Host | None:
        """A host's settings, of its NIC that has a link's port if it is known; the default ones where it has none."""
        found = self.hosts.get(name) or self.default_host
        return found if found is None else found.nics.get(port, found)

    def port(self, end: End) -> Port | None:
        """The port at a link's end; None for hosts and for switches that were not given."""
        device = self.devices.get(end[0])
        return None if device is None else device.ports.get(end[1])


_HOST_INTS: Final = {
    "speed": (1, 1_600_000),
    "mtu": (68, 65_535),
    "roce_mtu": (256, 4096),
    "roce_dscp": (0, 63),
    "cnp_dscp": (0, 63),
    "ecn_np_prio": (0, 7),
    "ecn_rp_prio": (0, 7),
    "cable_m": (0, 100_000),
    "rx_buffer_bytes": (0, 2**40),
    "rdma_timeout": (0, 31),
    "rdma_retries": (0, 7),
}
NEEDS_MARKS: Final = ("dcqcn", "dctcp")
"""Congestion controls of hosts that hear of congestion by ECN marks alone."""
WITHOUT_CNPS: Final = ("dctcp", "timely", "hpcc", "swift", "none")
"""Those whose receivers send no CNPs."""
HEEDS_NO_MARKS: Final = ("timely", "hpcc", "swift", "none")
"""Those that hear of congestion by delay or telemetry, or not at all."""
_HOST_PRIORITIES: Final = frozenset(("pfc_enable", "ecn_np_enable", "ecn_rp_enable"))
_HOST_WORDS: Final = {
    "trust": ("dscp", "pcp"),
    "cc": ("dcqcn", "dctcp", "none", "timely", "hpcc", "swift", "zero-touch"),
}


def parse_hosts(value: Any, lines: Any, file: str) -> tuple[dict[str, Host], Host | None]:  # noqa: ANN401
    """Host name -> settings, and `default`'s. `lines` is the file's Locator. Raises InputErrors with every problem."""
    if not isinstance(value, dict) or not value:
        raise InputErrors(
            "hosts",
            [
                Problem(
                    file,
                    "not a mapping of host names to settings",
                    "write 'default: {roce_dscp: 26, cnp_dscp: 48, pfc_enable: 3}'",
                )
            ],
        )
    problems: list[Problem] = []
    default = value.get("default", {})
    found = {}
    for name, settings in value.items():
        place = Place(file, lines.line((str(name),)))
        if not isinstance(settings, dict):
            problems.append(Problem(f"{place}", f"'{str(name)[:40]}' is no mapping of settings", "write 'mtu: 9100'"))
            continue
        own = settings if name == "default" or not isinstance(default, dict) else {**default, **settings}
        found[str(name)] = _host(str(name), own, place, problems)
    if problems:
        raise InputErrors("hosts", first_few(list(dict.fromkeys(problems)), file, "is this a file of host settings?"))
    return {name: host for name, host in found.items() if name != "default"}, found.get("default")


def _host(name: str, settings: dict[str, Any], place: Place, problems: list[Problem]) -> Host:
    clean: dict[str, Any] = {}
    for key, value in settings.items():
        path = f"{place}: {name[:40]}.{str(key)[:40]}"
        text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
        if key in _HOST_INTS:
            low, high = _HOST_INTS[key]
            if not (text.isascii() and text.isdigit() and len(text) < 16 and low <= int(text) <= high):
                problems.append(Problem(path, f"{str(value)[:40]!r} is not a whole number {low}..{high}", "correct it"))
                continue
            clean[key] = int(text)
        elif key in _HOST_WORDS:
            if text.lower() not in _HOST_WORDS[key]:
                problems.append(Problem(path, f"{str(value)[:40]!r} is not known", nearest(text, _HOST_WORDS[key])))
                continue
            clean[key] = text.lower()
        elif key in _HOST_PRIORITIES:
            parts = [part.strip() for part in text.split(",") if part.strip()]
            if not all(part in set("01234567") for part in parts) or isinstance(value, bool | dict | list):
                problems.append(Problem(path, f"{str(value)[:40]!r} is no list of priorities 0..7", 'write "3"'))
                continue
            clean[key] = frozenset(int(part) for part in parts)
        elif key == "global_pause" and isinstance(value, bool):
            clean[key] = value
        elif key == "nic":
            clean[key] = text[:60]
        else:
            problems.append(
                Problem(
                    path,
                    "is not a host setting" if key not in HOST_SETTINGS else "has the wrong type",
                    nearest(str(key), sorted(HOST_SETTINGS), "settings"),
                )
            )
    return Host(name, place, **clean, places=dict.fromkeys(clean, place))


def parse_links(value: Any, lines: Any, file: str) -> tuple[Cable, ...]:  # noqa: ANN401
    """The links of a links, containerlab or netlab file. Raises InputErrors with every problem."""
    top = value.get("topology", value) if isinstance(value, dict) else {"links": value}
    rows = top.get("links") if isinstance(top, dict) else None
    if not isinstance(rows, list) or len(rows) > _MAX_LINKS:
        raise InputErrors(
            "links",
            [
                Problem(
                    file,
                    "no list of links in it",
                    "write 'links: [{a: [leaf1, Ethernet0], b: [spine1, Ethernet0]}]', or give "
                    "a containerlab or netlab topology",
                )
            ],
        )
    prefix = () if not isinstance(value, dict) else ("topology", "links") if "topology" in value else ("links",)
    cables, problems = [], []
    for number, row in enumerate(rows):
        place = Place(file, lines.line((*prefix, str(number))))
        ends = _ends(row)
        if ends is None:
            problems.append(
                Problem(
                    f"{place}: links[{number}]",
                    f"{str(row)[:60]} does not name two ends",
                    "write {a: [leaf1, Ethernet0], b: [spine1, Ethernet0]} or "
                    "{endpoints: ['leaf1:Ethernet0', 'spine1:Ethernet0']}",
                )
            )
            continue
        length = row.get("length_m") if isinstance(row, dict) else None
        if length is not None and (not isinstance(length, int) or isinstance(length, bool) or not 0 < length < 10**6):
            problems.append(
                Problem(
                    f"{place}: links[{number}].length_m",
                    f"{str(length)[:40]} is no length in whole metres",
                    "write length_m: 40",
                )
            )
            continue
        cables.append(Cable(ends[0], ends[1], place, length))
    problems += _twice(cables)
    if problems:
        raise InputErrors("links", first_few(problems, file, "is this a file of links?"))
    return tuple(cables)


def _twice(cables: Iterable[Cable]) -> Iterator[Problem]:
    """Ends that are in two links, or in one twice: a port has one cable."""
    seen: dict[End, Cable] = {}
    for cable in cables:
        for end in (cable.a, cable.b):
            if end in seen and end[1]:
                what = (
                    "both ends of this link"
                    if seen[end] is cable
                    else (f"in two links, first on line {seen[end].place.line}")
                )
                yield Problem(str(cable.place), f"{':'.join(end)} is {what}", "a port has one cable: remove one")
            seen.setdefault(end, cable)


def _ends(row: Any) -> tuple[End, End] | None:  # noqa: ANN401
    if isinstance(row, str):
        row = {"endpoints": row.split("-")} if row.count("-") == 1 else {}
    if not isinstance(row, dict):
        return None
    if "endpoints" in row:
        ends = row["endpoints"]
    elif "a" in row and "b" in row:
        ends = [row["a"], row["b"]]
    elif "interfaces" in row and isinstance(row["interfaces"], list):  # netlab, long form
        ends = [[it.get("node"), it.get("ifname", "")] for it in row["interfaces"] if isinstance(it, dict)]
    else:  # netlab: {leaf1: {ifname: ..}, spine1: {}}
        ends = [[name, (it or {}).get("ifname", "")] for name, it in row.items() if isinstance(it, dict) or it is None]
    if not isinstance(ends, list) or len(ends) != 2:
        return None
    pairs = [end.split(":", 1) if isinstance(end, str) else end for end in ends]
    if not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair) and pair[0]
        for pair in pairs
    ):
        return None
    return (pairs[0][0], pairs[0][1]), (pairs[1][0], pairs[1][1])


def links_of_neighbors(devices: Iterable[Device]) -> tuple[Cable, ...]:
    """The links that the switches' own neighbour tables describe, each once; a table that has one end is enough."""
    seen: dict[frozenset[End], Cable] = {}
    for device in devices:
        for port in device.ports.values():
            if port.neighbor is not None:
                here = (device.name, port.name)
                at = Site(device.name, ("DEVICE_NEIGHBOR", port.name), device)
                seen.setdefault(frozenset((here, port.neighbor)), Cable(here, port.neighbor, at))
    return tuple(seen.values())


def join(devices: Iterable[Device]) -> tuple[dict[str, Device], list[Problem]]:
    """Devices by name; two files of one name are a problem."""
    found: dict[str, Device] = {}
    problems = []
    for device in devices:
        other = found.get(device.name)
        if other is not None:
            problems.append(
                Problem(
                    device.file,
                    f"switch '{device.name}' is in {other.file} already",
                    "give one file per switch, with different hostnames",
                )
            )
        found[device.name] = device
    return found, problems
