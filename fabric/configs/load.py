"""Files on disk -> a Network: find out what each one is, parse it, connect the switches, add what they add themselves.

A folder stands for the configurations in it; its `hosts.*` or folder `hosts`, and `topology.*` or `links.*`, are taken
as the hosts and links unless others were named. The language of a file is decided by its content, not by its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from fabric.configs.frr.files import FOLDER, is_empty, protocols_of, switches_of
from fabric.configs.frr.merge import FrrFile, add_frr, refused_lines
from fabric.configs.hosts.load import HostFiles, load_hosts
from fabric.configs.hosts.settle import settle_roce_dscps
from fabric.configs.languages import is_prose
from fabric.configs.links_coverage import unjudged_of_links
from fabric.configs.lldp import merge, parse_lldp
from fabric.configs.model import Device, Place, Unread
from fabric.configs.network import Cable, Network, join, links_of_neighbors, parse_hosts, parse_links
from fabric.configs.registry import is_frr, parser_of
from fabric.configs.routes import Route, is_fib_map, parse_fib
from fabric.configs.sonic.buffermgr import add_run_time_buffers
from fabric.configs.sonic.pgtable import HeadroomTables
from fabric.configs.text.jsonfile import MAX_BYTES, JsonText, read_file, refuse
from fabric.configs.text.yamlfile import MAX_BYTES as YAML_MAX_BYTES
from fabric.configs.text.yamlfile import YamlText
from fabric.configs.values import check_values
from fabric.errors import InputErrors, Problem, first_few
from fabric.garbage_collection import without_collector
from fabric.topology.select import nearest

SUFFIXES: Final = frozenset((".json", ".yaml", ".yml", ".cfg", ".conf", ".txt"))
HOSTS: Final = frozenset(("hosts",))
LINKS: Final = frozenset(("topology", "links"))
_MAX_FILES: Final = 10_000
_BESIDE: Final = {".md": "no configuration", ".ini": "a headroom table is given with --pg-profile-lookup"}
"""Endings of what lies beside configurations on purpose, and why it is not read."""
_NOTES: Final = frozenset(("readme", "note", "notes", "todo", "changes", "changelog", "license", "copying", "history"))
"""Names of texts about the configurations."""
_TEXT: Final = ".txt"
"""The one ending that texts of people have as well as what switches write."""


def parse_device(text: str, file: str) -> Device:
    """One switch's configuration in whatever language it is. Raises InputErrors."""
    device = parser_of(text, file)(text, file)
    check_values(device)
    return device


def load_network(
    configs: Sequence[Path],
    *,
    links: Path | None = None,
    hosts: Path | None = None,
    fibs: Sequence[Path] = (),
    tables: HeadroomTables | None = None,
    contents: Mapping[str, str] | None = None,
) -> Network:
    """Read every file. Raises InputErrors with everything that cannot be read.

    Parameters
    ----------
    contents    file to the text that counts instead of the file's: a changed copy of it
    """
    with without_collector():
        return _load_network(configs, links, hosts, fibs, tables, contents or {})


def _load_network(
    configs: Sequence[Path],
    links: Path | None,
    hosts: Path | None,
    fibs: Sequence[Path],
    tables: HeadroomTables | None,
    contents: Mapping[str, str],
) -> Network:
    files, found, others = _files(configs, given={it.absolute() for it in (*configs, links, hosts, *fibs) if it})
    links = links or found.get("links")
    settings, outputs = (found.get("hosts"), found.get("outputs")) if hosts is None else (hosts, None)
    problems: list[Problem] = []
    devices = []
    frr: list[tuple[FrrFile, tuple[str, ...]]] = []
    for path in files:
        if is_empty(path):
            others.append(Unread(Place(str(path), 1), "an empty file of FRR: its daemon runs nothing of it"))
            continue
        try:
            text = contents.get(str(path)) or read_file(path, mark=True)
            if path not in configs and (why := _why_a_note(path, text)):
                others.append(Unread(Place(str(path), 1), f"file '{path.name[:60]}': {why}"))
            elif is_frr(text, str(path)):
                frr.append((FrrFile(str(path), text), switches_of(text, path)))
            else:
                devices.append(parse_device(text, str(path)))
        except InputErrors as error:
            problems += error.problems
    named, doubles = join(devices)
    problems += doubles
    routers: list[Unread] = []
    try:
        routers = _beside(named, frr)
    except InputErrors as error:
        problems += error.problems
    if frr and not named and not problems:
        problems.append(Problem(str(configs[0]), "only FRR configurations, which have no QoS", "give the switches'"))
        refused = [it for source, _ in frr for it in refused_lines(source)]
        problems += [Problem(f"{it.place.file}:{it.place.line}", it.what, "correct the line") for it in refused]
    if not named and not problems:
        problems += [Problem(it.place.file, it.what, "name the folder of the switches' files") for it in others]
    network = Network(named, tables=tables or HeadroomTables(), unread=(*routers, *others), contents=contents)
    cables = links_of_neighbors(named.values())
    try:
        if links is not None:
            cables, network.unjudged = _links(links, named)
    except InputErrors as error:
        problems += error.problems
    try:
        hosts_path = settings or outputs
        if hosts_path is not None:
            read = _hosts(hosts_path, contents, outputs)
            network.hosts, network.default_host = read.hosts, read.default
            network.host_outputs = read.outputs
            network.unread = (*network.unread, *read.unread)
            network.unjudged = (*network.unjudged, *read.unjudged)
    except InputErrors as error:
        problems += error.problems
    try:
        network.fibs = _fibs(fibs, named)
    except InputErrors as error:
        problems += error.problems
    if problems:
        raise InputErrors("configuration", problems)
    network.unjudged = (*network.unjudged, *_beside_configurations(configs))
    network.links = cables
    _cables_of_links(network)
    for device in named.values():
        if device.capabilities.headroom_from_table:
            add_run_time_buffers(device, network.tables.find(device.hwsku, device.platform))
    settle_roce_dscps(network)
    every = [nic for host in network.stated_hosts.values() for nic in (host.nics.values() or [host])]
    if every:
        network.roce_dscps = tuple(sorted({host.roce_dscp for host in every}))
        network.cnp_dscps = tuple(sorted({host.cnp_dscp for host in every}))
    return network


def _beside(named: Mapping[str, Device], files: Sequence[tuple[FrrFile, tuple[str, ...]]]) -> list[Unread]:
    """Read FRR's files into the switches that they are of; those of no switch are listed. Raises InputErrors."""
    routers: list[Unread] = []
    problems: list[Problem] = []
    running: dict[tuple[str, str], str] = {}
    for source, names in files:
        device = next((named[it] for it in names if it in named), None)
        place = Place(source.file, 1)
        if device is None:
            routers.append(Unread(place, "FRR configuration: no QoS in it, so its node is no switch"))
            routers += refused_lines(source)
        elif not device.capabilities.routing_in_frr:
            routers.append(Unread(place, "FRR configuration: not read beside a switch of this system"))
            device.identity.routing_elsewhere = source.file
        elif source.key in device.beside:
            text = f"is a second {source.key} of {device.name}, beside {device.beside[source.key][0]}"
            problems.append(Problem(source.file, text, "give one of them"))
        elif other := _doubled(running, device, source):
            problems.append(Problem(source.file, other, "give the file that the daemon reads"))
        else:
            try:
                add_frr(device, source)
            except InputErrors as error:
                problems += error.problems
    if problems:
        raise InputErrors("configuration", problems)
    return routers


def _doubled(running: dict[tuple[str, str], str], device: Device, source: FrrFile) -> str:
    """What a file has of a protocol that another file of the switch has as well; '' where it has nothing such."""
    own = sorted(protocols_of(source.text))
    found = next((it for it in own if (device.name, it) in running), "")
    running.update({(device.name, it): source.file for it in own if not found})
    return found and f"has 'router {found}' of {device.name}, and so has {running[device.name, found]}"


def _links(path: Path, known: dict[str, Device]) -> tuple[tuple[Cable, ...], tuple[Unread, ...]]:
    """The links of a file, and what else it holds; or of a folder with an LLDP dump per switch, named SWITCH.json.

    A port that a peer names otherwise than the port's own configuration is taken from the other switch's dump.
    """
    if not path.is_dir():
        value, lines = read_data(path)
        return parse_links(value, lines, str(path)), unjudged_of_links(value, lines, str(path))
    seen: list[Cable] = []
    problems: list[Problem] = []
    for item in sorted(it for it in path.iterdir() if it.suffix.lower() == ".json" and it.is_file()):
        try:
            value, lines = read_data(item)
            seen += parse_lldp(value, lines, str(item), item.name.split(".")[0])
        except InputErrors as error:
            problems += error.problems
    if not seen and not problems:
        problems.append(Problem(str(path), "no .json file in this folder", "one LLDP dump per switch: SWITCH.json"))
    if problems:
        raise InputErrors("links", problems)
    cables = [
        cable
        for cable in seen
        if cable.b[0] not in known
        or cable.b[1] in known[cable.b[0]].ports
        or not any(other.a[0] == cable.b[0] and other.b[0] == cable.a[0] for other in seen)
    ]
    return merge(cables), ()


def _cables_of_links(network: Network) -> None:
    """Lengths of the links file for switches whose language has none; what a switch states itself stays."""
    for cable in network.links:
        for end in (cable.a, cable.b):
            port = network.port(end)
            if (
                cable.length_m is not None
                and port is not None
                and port.cable_m is None
                and network.devices[end[0]].capabilities.cable_in_links_file
            ):
                port.cable_m, port.cable_where = cable.length_m, port.where


def read_data(path: Path, text: str | None = None) -> tuple[Any, JsonText | YamlText]:
    """The value of a JSON or YAML file, and its lines; `text` counts instead of the file's."""
    text = text or read_file(path, MAX_BYTES if path.suffix == ".json" else YAML_MAX_BYTES)
    source: JsonText | YamlText = (JsonText if path.suffix == ".json" else YamlText)(text, str(path))
    if source.duplicates:
        where, first, second = source.duplicates[0]
        raise refuse(f"{path}:{second}", f"'{'.'.join(where)}' is given twice, first on line {first}", "remove one")
    return source.value, source


def _hosts(path: Path, contents: Mapping[str, str] = MappingProxyType({}), outputs: Path | None = None) -> HostFiles:
    """A hosts file; or a folder with hosts.* and outputs of the hosts' tools (fabric.configs.hosts); or both."""
    folder = path if path.is_dir() else outputs
    named = [path] if not path.is_dir() else _hosts_files(path)
    if folder is not None and folder is not path and (inside := _hosts_files(folder)):
        text = f"so is {inside[0]}: which one says what the outputs leave open?"
        raise refuse(str(path), f"is a hosts file, and {text}", "remove one of them", "hosts")
    if len(named) > 1:
        raise refuse(str(named[1]), f"is a hosts file, and so is {named[0]}", "remove one of them", "hosts")
    settings = None
    if named:
        value, lines = read_data(named[0], contents.get(str(named[0])))
        settings = value, lines, str(named[0])
    if folder is not None:
        return load_hosts(folder, settings)
    return HostFiles({}, None) if settings is None else HostFiles(*parse_hosts(*settings))


def _hosts_files(folder: Path) -> list[Path]:
    return sorted(
        it
        for it in folder.iterdir()
        if it.is_file() and it.suffix.lower() in SUFFIXES and it.name.split(".")[0].lower() in HOSTS
    )


def _fibs(paths: Sequence[Path], known: dict[str, Device]) -> dict[str, tuple[Route, ...]]:
    """Tables by switch: of files named <switch>.json (and <switch>.v6.json), folders of them, or maps by name."""
    found: dict[str, tuple[Route, ...]] = {}
    problems: list[Problem] = []
    files = [
        item
        for path in paths
        for item in (
            sorted(it for it in path.iterdir() if it.suffix.lower() == ".json" and it.is_file())
            if path.is_dir()
            else [path]
        )
    ]
    for path in files:
        try:
            value, _ = read_data(path)
            tables = value if is_fib_map(value) else {path.name.split(".")[0]: value}
            for name, table in tables.items():
                if name not in known:
                    problems.append(
                        Problem(
                            str(path),
                            f"is the FIB of '{name[:60]}', which is no switch that was given",
                            nearest(name, list(known)) + "; files are named SWITCH.json",
                        )
                    )
                    continue
                found[name] = (*found.get(name, ()), *parse_fib(table, str(path)))
        except InputErrors as error:
            problems += error.problems
    if paths and not files:
        problems.append(Problem(str(paths[0]), "no .json file in this folder", "one per switch: SWITCH.json"))
    if problems:
        raise InputErrors("FIB", first_few(problems, str(paths[0]), "are these forwarding tables?"))
    return found


def _files(configs: Sequence[Path], given: Collection[Path]) -> tuple[list[Path], dict[str, Path], list[Unread]]:
    """Configurations; hosts and links that lie beside them; and other files and folders, which nothing reads.

    Folders in `given` are named by an option: they are read by it.
    """
    files: list[Path] = []
    found: dict[str, Path] = {}
    others: list[Unread] = []
    problems: list[Problem] = []
    for path in configs:
        if not path.is_dir():
            files.append(path)
            continue
        inside, folders = _listing(path)
        of_frr = [it for it in folders if it.name == FOLDER and it.absolute() not in given]
        folders = [it for it in folders if it not in of_frr]
        inside += [it for folder in of_frr for it in _listing(folder)[0]]
        known = [it for it in inside if it.suffix.lower() in SUFFIXES]
        others += [
            Unread(Place(str(it), 1), f"file '{it.name[:60]}': configurations end in " + ", ".join(sorted(SUFFIXES)))
            for it in inside
            if it.suffix.lower() not in SUFFIXES and it.suffix.lower() not in _BESIDE
        ]
        others += [
            Unread(Place(str(it), 1), f"folder '{it.name[:60]}': its files were not read; name it, too, to read them")
            for it in folders
            if known and it.absolute() not in given and it.name.lower() not in HOSTS
        ]
        for it in folders:
            if known and it.name.lower() in HOSTS and it.absolute() not in given:
                found["outputs"] = it
        for item in known:
            word = item.name.split(".")[0].lower()
            if not item.is_file():
                problems.append(
                    Problem(
                        str(item),
                        "is a link that leads nowhere, or no regular file",
                        "repair or remove it: its switch would be missing from the verdict",
                    )
                )
            elif word in HOSTS:
                found["hosts"] = item
            elif word in LINKS:
                found["links"] = item
            else:
                files.append(item)
        if not known:
            problems.append(
                Problem(
                    str(path),
                    "no configuration file in this folder",
                    (
                        f"it has folders: name them, as in {path}/*"
                        if folders
                        else "files end in " + ", ".join(sorted(SUFFIXES))
                    ),
                )
            )
    if len(files) > _MAX_FILES:
        raise refuse(str(configs[0]), f"{len(files)} files are more than {_MAX_FILES}", "validate one fabric at a time")
    counts = Counter(map(str, files))
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise InputErrors("options", [Problem(name, "is given twice", "name it once") for name in twice])
    if problems:
        raise InputErrors("configuration", problems)
    return files, found, others


def _why_a_note(path: Path, text: str) -> str:
    """Why a text of a folder is taken for one about the configurations; '' where it is not."""
    if path.suffix.lower() != _TEXT:
        return ""
    if path.stem.lower() in _NOTES:
        return "it is named as notes are; name the file itself to read it"
    return "no line of it is one of a switch's configuration" if is_prose(text) else ""


def _beside_configurations(configs: Sequence[Path]) -> list[Unread]:
    """What lies beside configurations on purpose, with the reason why it is not read."""
    return [
        Unread(Place(str(it), 1), f"file '{it.name[:60]}': {why}")
        for path in configs
        if path.is_dir()
        for it in _listing(path)[0]
        if (why := _BESIDE.get(it.suffix.lower()))
    ]


def _listing(folder: Path) -> tuple[list[Path], list[Path]]:
    """Files and folders in a folder, without hidden ones."""
    found = sorted(it for it in folder.iterdir() if not it.name.startswith("."))
    return [it for it in found if not it.is_dir()], [it for it in found if it.is_dir()]
