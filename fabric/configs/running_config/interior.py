"""OSPFv2 and IS-IS of EOS and NX-OS running-configs, in the default VRF.

Lines that are known and of no effect here are accepted as not judged; all others stay listed as not understood.
Sources: EOS User Manual, "Open Shortest Path First - Version 2" and "IS-IS"; Cisco Nexus 9000 Unicast Routing
Configuration Guide, "Configuring OSPFv2" and "Configuring IS-IS".
"""

from __future__ import annotations

import re
from dataclasses import replace
from ipaddress import IPv4Address, ip_network
from typing import Final

from fabric.configs.identity import NOTHING, Stated
from fabric.configs.interior import (
    BROADCAST,
    Circuit,
    Interior,
    area_name,
    interfaces_inside,
    is_net,
    one_of,
    with_defaults,
)
from fabric.configs.running_config.reader import Line, TextReader
from fabric.configs.text.port_ranges import interfaces_of
from fabric.configs.text.spelling import is_address, meant

_INTERFACE: Final = r"interface ((?:Ethernet|[Pp]ort-?[Cc]hannel|[Ll]oopback|Vlan)[\d/.]+|lo)"
_ACCEPTED: Final = (
    r"log-adjacency.*|no log-adjacency.*|auto-cost .*|maximum-paths .*|max-lsa .*|bfd.*|timers .*|distance .*|"
    r"graceful-restart.*|fast-reroute .*|passive-interface .*|nsf.*|summary-address .*|area \S+ (?:range|"
    r"filter|default-cost).*|compatible .*|spf-interval .*|lsp-.*|metric-style .*|advertise .*|reference-bandwidth .*|"
    r"default-information .*|point-to-point routes|redistribute .*|name-lookup|distribute .*|flush-routes|isolate|"
    r"authentication key.*|hostname dynamic|capability .*|rfc1583compatibility"
)
_ACCEPTED_AT_PORTS: Final = (
    r"(?:no )?ip ospf (?:bfd|neighbor bfd|priority \d+|retransmit-interval \d+|transmit-delay \d+|mtu-ignore|"
    r"authentication-key .*|message-digest-key .*|advertise-subnet)|(?:no )?isis (?:bfd.*|hello-.*|priority .*|"
    r"csnp-interval .*|lsp-interval .*|ipv4 .*|authentication key.*|hello padding.*|retransmit-.*|mesh-group .*)|"
    r"medium p2p"
)


_MOST_COST: Final = {"ip ospf": 65_535, "isis": 16_777_214}
"""RFC 2328 section A.4.2 (16 bits of a metric); RFC 5305 section 3 (24 bits, of which the last value is no path)."""


def read_interior(reader: TextReader) -> None:
    """Fill in the instance of the default VRF, where there is one."""
    root = reader.root
    found = [
        (line, _instance(reader, line, protocol, match[1] or ""))
        for protocol, word in (("OSPF", "ospf"), ("IS-IS", "isis"))
        for line, match in root.find(rf"router {word}(?: (\S+))?(?: vrf default)?")
    ]
    root.accept(r"router (?:ospf|isis)(?: \S+)? vrf \S+")
    _circuits(reader, [interior for _, interior in found])
    for block, interior in found:
        _by_networks(reader, block, interior)
        _passive(reader, block, interior)
        with_defaults(interior)
        _check_net(reader, block, interior)
    reader.device.identity.interior = one_of(interior for _, interior in found)


def _instance(reader: TextReader, block: Line, protocol: str, name: str) -> Interior:
    key = block.text
    found = Interior(protocol, name, reader.note(block, key))
    for line, match in block.find(r"(?:ospf )?router-id (?:ipv4 )?(\S+)"):
        if is_address(match[1]):
            found.router_id = Stated(match[1], reader.note(line, key, "router-id"))
        else:
            reader.defect(line, f"{key}|router-id", f"'{match[1][:40]}' is no router ID", "R5")
    for line, match in block.find(r"net (\S+)"):
        found.net = Stated(match[1].lower(), reader.note(line, key, "net"))
    for line, match in block.find(r"is-type (level-1-2|level-1|level-2(?:-only)?)"):
        found.level = Stated(match[1].removesuffix("-only"), reader.note(line, key, "is-type"))
    for line, match in block.find(r"(max-metric router-lsa|set-overload-bit)(?P<more>(?: \S+)*)"):
        words = (match["more"] or "").split()
        line.rest = ""
        if not {"on-startup", "wait-for"} & set(words):  # after a restart only
            drained = Stated(line.text, reader.note(line, key, match[1]))
            reader.device.identity.drained = drained
    for line, _ in block.find(r"redistribute (?:connected|direct)(?: .*)?"):
        found.redistributes = Stated("connected", reader.note(line, key, "redistribute connected"))
    for line, match in block.find(r"area (\S+) authentication(?: (message-digest))?"):
        kind = "message-digest" if match[2] else "password"
        found.authenticates[area_name(match[1])] = Stated(
            kind, reader.note(line, key, f"area {match[1]} authentication")
        )
    for line, match in block.find(r"area (\S+) (stub|nssa)(?P<more> .*)?"):
        found.area_kinds[area_name(match[1])] = Stated(match[2], reader.note(line, key, f"area {match[1]} {match[2]}"))
    for line, match in block.find(r"authentication(?: mode|-type) (\S+)(?: .*)?"):
        found.authentication = Stated(match[1], reader.note(line, key, "authentication"))
    for line, _ in block.find(r"shutdown"):
        found.up = False
        found.where = reader.note(line, key, "shutdown")
    for family, _ in block.find(r"address-family ipv4(?: unicast)?"):
        for line, _ in family.find(r"redistribute (?:connected|direct)(?: .*)?"):
            found.redistributes = Stated("connected", reader.note(line, key, "redistribute connected"))
        family.accept(_ACCEPTED)
    block.accept(rf"{_ACCEPTED}|no shutdown|no passive-interface .*|address-family .*|network \S+(?: \S+)? area \S+")
    return found


def _circuits(reader: TextReader, found: list[Interior]) -> None:
    """Circuits of each instance, by lines of interfaces."""
    device = reader.device
    by_name = {(it.protocol, it.name): it for it in found}
    only = {it.protocol: it for it in found}
    for block, match in reader.root.find(_INTERFACE):
        name = match[1]
        for line, word in block.find(r"ip (?:address )?unnumbered (\S+)"):
            device.identity.borrowed[name] = Stated(word[1], reader.note(line, "interface", name, "ip unnumbered"))
        for protocol, circuit, line in _joined(reader, block, name):
            process = by_name.get((protocol, circuit.process)) if circuit.process else only.get(protocol)
            if process is None:
                _dangling(reader, line, name, circuit, [it.name for it in found if it.protocol == protocol])
            elif not (vrf := device.identity.interface_vrfs.get(name)):
                process.circuits[name] = circuit
            elif not _has_vrf(reader, vrf):
                process.outside[name] = vrf
        block.accept(_ACCEPTED_AT_PORTS)


def _has_vrf(reader: TextReader, vrf: str) -> bool:
    """Whether an instance is configured in a VRF: on a line of its own (EOS), or inside one (NX-OS)."""
    blocks = [it for it in reader.root.children if it.text.startswith(("router ospf ", "router isis "))]
    return any(it.text.endswith(f" vrf {vrf}") or any(row.text == f"vrf {vrf}" for row in it.children) for it in blocks)


def _joined(reader: TextReader, block: Line, name: str) -> list[tuple[str, Circuit, Line]]:
    """The protocols that lines of an interface put it in."""
    found = []
    base = Circuit(name, reader.note(block, "interface", name))
    ospf = _settings(reader, block, base, "ip ospf")
    for line, match in block.find(r"(?:ip ospf|ip router ospf (\S+)) area (\S+)(?: secondaries none)?"):
        area = Stated(area_name(match[2]), reader.note(line, "interface", name, "ospf area"))
        if not area.value:
            reader.defect(line, f"{name}|area", f"'{match[2][:40]}' is no area", "R5", ("interface", name))
            continue
        found.append(("OSPF", replace(ospf, process=match[1] or "", area=area, where=area.where), line))
    isis = _settings(reader, block, base, "isis")
    for line, match in block.find(r"(?:isis enable|ip router isis) (\S+)"):
        where = reader.note(line, "interface", name, "isis")
        found.append(("IS-IS", replace(isis, process=match[1], where=where), line))
    return found


def _settings(reader: TextReader, block: Line, circuit: Circuit, begin: str) -> Circuit:
    """What the lines of an interface say about its circuit; the last line of a kind counts."""
    name = circuit.name
    changes: dict[str, Stated] = {}

    def note(field: str, line: Line, value: str) -> None:
        changes[field] = Stated(value, reader.note(line, "interface", name, f"{begin} {field}"))

    for line, match in block.find(rf"{begin} network (point-to-point|broadcast)"):
        note("network", line, match[1])
    for line, _ in block.find(rf"no {begin} network(?: .*)?|default {begin} network.*"):
        note("network", line, BROADCAST)
    for line, match in block.find(rf"(no )?{begin} passive(?:-interface)?(?: level-[12-]+)?"):
        note("passive", line, "off" if match[1] else "on")
    most = _MOST_COST[begin]
    for line, match in block.find(rf"{begin} (?:cost|metric) (\d+)(?: level-[12-]+)?"):
        if reader.number(line, match[1], 1, most, "cost", ("interface", name)) is not None:
            note("cost", line, match[1])
    for line, match in block.find(rf"{begin} circuit-type (level-1-2|level-1|level-2(?:-only)?)"):
        note("level", line, match[1].removesuffix("-only"))
    for line, _ in block.find(rf"{begin} (?:shutdown|disabled)"):
        note("shut", line, "down")
    for line, match in block.find(rf"{begin} authentication(?: mode|-type)?(?: (\S+))?(?: level-[12-]+)?"):
        note("authentication", line, match[1] or "password")
    for line, _ in block.find(rf"{begin} authentication key-chain (\S+)(?: level-[12-]+)?"):
        if "authentication" not in changes:
            note("authentication", line, "key chain")
    if begin == "ip ospf":
        for line, match in block.find(r"ip ospf (hello|dead)-interval (\d+)"):
            note(match[1], line, match[2])
        for line, match in block.find(r"ip ospf message-digest-key (\d+) (\S+) .*"):
            kind = changes.get("authentication", NOTHING)
            if kind.value == "message-digest":
                note("authentication", line, f"message-digest key {match[1]} {match[2]}")
    if changes.get("authentication", NOTHING).value == "null":
        changes["authentication"] = Stated("", changes["authentication"].where)
    circuit = replace(circuit, ignores_mtu=block.has(r"ip ospf mtu-ignore"))
    return replace(circuit, **changes)  # type: ignore[arg-type]  # keys are those fields that are Stated


def _dangling(reader: TextReader, line: Line, name: str, circuit: Circuit, known: list[str]) -> None:
    """A defect (R1) for an interface in an instance that no line makes; not in a part of a file."""
    if not any(it.text.startswith("hostname ") for it in reader.root.children):
        return
    shown = f"'{circuit.process[:40]}' " if circuit.process else ""
    text = f"'{line.text[:60]}': the instance {shown}is not in the file{meant(circuit.process, frozenset(known))}"
    reader.defect(line, f"{name}|{line.text}"[:120], text, "R1", ("interface", name))


def _by_networks(reader: TextReader, block: Line, interior: Interior) -> None:
    """`network PREFIX area A` of OSPF takes in every interface of the default VRF whose address is in the prefix."""
    for line, match in block.find(r"network (\d\S*)(?: (\d\S*))? area (\S+)") if interior.protocol == "OSPF" else ():
        area = Stated(area_name(match[3]), reader.note(line, block.text, line.text))
        try:
            network = ip_network(f"{match[1]}/{_length(match[2])}" if match[2] else match[1], strict=False)
        except ValueError:
            reader.defect(line, "network", f"'{line.text[:60]}' has no prefix", "R5")
            continue
        for name in interfaces_inside(reader.device, network):
            if name not in interior.circuits:
                circuit = Circuit(name, area.where, area=area)
                for port in (it for it in reader.root.children if it.text == f"interface {name}"):
                    circuit = _settings(reader, port, circuit, "ip ospf")
                interior.circuits[name] = circuit


def _length(wildcard: str) -> int:
    """'0.0.0.255' -> 24."""
    return 32 - (int(IPv4Address(wildcard))).bit_length()


def _passive(reader: TextReader, block: Line, interior: Interior) -> None:
    """`passive-interface` of the instance; a line of the interface itself counts before it."""
    usual = NOTHING
    stated: dict[str, Stated] = {}
    for line, match in block.find(r"(no )?passive(?:-interface)? (.+)"):
        where = reader.note(line, block.text, line.text)
        if match[2].split()[0] == "default":
            usual = NOTHING if match[1] else Stated("on", where)
            continue
        for name in interfaces_of(match[2])[0] or [match[2]]:
            stated[name] = Stated("off" if match[1] else "on", where)
    for name, circuit in interior.circuits.items():
        value = circuit.passive or stated.get(name) or usual
        interior.circuits[name] = replace(circuit, passive=value if value.value == "on" else NOTHING)


def _check_net(reader: TextReader, block: Line, interior: Interior) -> None:
    """A defect for an IS-IS instance whose NET is missing or none: it starts no adjacency (ISO 10589 section 7.1).

    Where the language has no family on by itself, one is needed, too.
    """
    if interior.protocol != "IS-IS":
        return
    families = any(re.match(r"address-family ipv[46]\b", it.text) for it in block.children)
    if reader.device.capabilities.isis_states_families and not families:
        text = f"'{block.text}' has no 'address-family ipv4 unicast': it carries no IPv4 route"
        reader.defect(block, f"{block.text}|address-family", text, "R9", root=(block.text,))
    lines = [it for it in block.children if it.text.startswith("net ")]
    if not lines:
        reader.defect(block, f"{block.text}|net", f"'{block.text}' has no 'net': it forms no adjacency", "R9")
    elif not is_net(interior.net.value):
        text = f"'{interior.net.value[:60]}' is no NET: an area, twelve hexadecimal digits in groups of four, and 00"
        reader.defect(lines[-1], f"{block.text}|net", text, "R5", (block.text, "net"))
