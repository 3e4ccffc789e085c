"""A file of FRR -> the routing of the switch that it lies beside: what bgpd, ospfd and staticd run.

Where it has an instance of BGP, its sessions are the switch's, and those of CONFIG_DB are not: bgpd runs what is in
its file (docs/decisions/0154). Every other part adds to what CONFIG_DB states. Places of findings name this file.
Sources: FRR user guide, "BGP", "OSPFv2", "Route Maps", "Filtering", "Static Route Commands"; measured with 8.4.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabric.configs.frr.bgp import read_instances
from fabric.configs.frr.mistyped import mend, opener, report
from fabric.configs.frr.nesting import EXITS, nested
from fabric.configs.identity import Stated, Vni
from fabric.configs.model import Device, Place, Unread, Where
from fabric.configs.running_config.interior import read_interior
from fabric.configs.running_config.policy import below, read_policies
from fabric.configs.running_config.reader import IPV4_ADDRESS, Line, TextReader, read_address
from fabric.configs.running_config.routes import read_static_routes
from fabric.configs.text.jsonfile import FixedLines

_MAX_VNI: Final = 16_777_215
_KNOWN: Final = (
    r"frr (?:version|defaults) .*|(?:no )?service integrated-vtysh-config|(?:no )?log .*|password .*|"
    r"enable password .*|agentx|line vty|(?:no )?zebra .*|(?:no )?ip(?:v6)? forwarding|(?:no )?fpm .*|debug .*|"
    r"ip(?:v6)? nht resolve-via-default|bfd|allow-external-route-update|domainname .*|hostname .*|"
    r"Building configuration\.\.\.|Current configuration:|bgp (?:(?:large-|ext)?community-list|as-path) .*|"
    r"access-list .*|ipv6 (?:prefix-list|access-list) .*|ip(?:v6)? protocol .*|ip router-id .*"
)


@dataclass(frozen=True, slots=True)
class FrrFile:
    """A file of FRR, its text, and the first word of the places in it."""

    file: str
    text: str

    @property
    def key(self) -> str:
        """The file's name, which no construct of CONFIG_DB has."""
        return Path(self.file).name


class FrrReader(TextReader):
    """A file of FRR that fills the routing of a switch that is there already."""

    def __init__(self, source: FrrFile, device: Device) -> None:
        self.key = source.key  # `note` needs it from the first line on
        super().__init__(nested(source.text, opener), source.file, device.name, device.language)
        self.switch = device
        self.device.name = device.name
        self.device.identity, self.device.addresses = device.identity, device.addresses
        self.device.ports = device.ports
        device.beside[self.key] = source.file, self.lines

    def note(self, line: Line, *where: str) -> Where:
        """Remember where a construct stands, below the name of this file."""
        return self.lines.note((self.key, *where), line.number)


def add_frr(device: Device, source: FrrFile) -> None:
    """Read the file, and put its routing in the place of the switch's own. Raises InputErrors."""
    reader = FrrReader(source, device)
    root = reader.root
    refused = mend(reader)
    _interfaces(reader)
    read_policies(reader)
    read_static_routes(reader)
    read_interior(reader)
    interior = [line for line, _ in root.find(r"router (?:ospf|isis)(?: (?!vrf)\S+)?(?: vrf default)?")]
    for line in interior[:1]:
        device.identity.igp = Stated(line.text.removeprefix("router "), reader.note(line, "router"))
    _vrfs(reader)
    traditional = next((line for line, _ in root.find("frr defaults traditional")), None)
    for line in below(root):
        line.used |= line.text in EXITS
    if any(line.text.startswith("router bgp ") for line in root.children):
        _replace_sessions(reader, device)
        read_instances(reader, traditional)
        device.sessions = reader.device.sessions
        device.asn = reader.device.asn
        if reader.device.multipath is not None:
            device.multipath, device.multipath_where = reader.device.multipath, (source.key, "maximum-paths")
    for line, _ in root.find(r"no router bgp(?: \d+)?"):
        device.identity.bgp_withdrawn = Stated(line.text, reader.note(line, line.text))
    _router_id(reader)
    root.accept(_KNOWN)
    report(reader, refused)
    read = reader.finish()
    device.routes += read.routes
    device.defects += read.defects
    device.unread += read.unread
    device.unjudged += read.unjudged


def _router_id(reader: FrrReader) -> None:
    """The identifier that zebra gives to BGP and OSPF where they state none (FRR user guide, "Zebra")."""
    its = reader.device.identity
    for line, match in reader.root.find(r"(?:ip )?router-id (\d[\d.]*)"):
        stated = Stated(match[1], reader.note(line, "router-id"))
        if any(it.text.startswith("router bgp ") for it in reader.root.children):
            of_bgp = its.router_id.where[:1] == (reader.key,)
            its.router_id = its.router_id if of_bgp else stated
        if its.interior is not None and its.interior.protocol == "OSPF" and not its.interior.router_id:
            its.interior.router_id = stated


def refused_lines(source: FrrFile) -> Iterator[Unread]:
    """Lines that FRR refuses, of a file that is of no switch: its node is not judged, and its lines are."""
    reader = FrrReader(source, Device(source.key, source.file, "sonic", FixedLines()))
    report(reader, mend(reader))
    for item in reader.device.defects:
        yield Unread(Place(source.file, reader.lines.line(item.where)), item.text, roce="routes could be missing")


def _replace_sessions(reader: FrrReader, device: Device) -> None:
    """CONFIG_DB's neighbours, of which bgpd knows nothing but what is in its file: listed, and of no effect."""
    rows = [it for it in device.sessions if it.where[:1] == ("BGP_NEIGHBOR",)]
    if rows:
        what = f"BGP_NEIGHBOR and its families ({len(rows)} neighbours): {reader.key} has BGP, and bgpd runs that"
        below = tuple((it.where, "") for it in rows)
        device.unjudged.append(Unread(Place(device.file, device.locator.line(rows[0].where)), what, below, ""))
    device.bgp.clear()


def _interfaces(reader: FrrReader) -> None:
    """Addresses that zebra sets; those that CONFIG_DB states as well are said once."""
    for block, match in reader.root.find(r"interface (\S+)"):
        for line, word in block.find(rf"ip address ({IPV4_ADDRESS})(?: secondary)?"):
            if word[1].replace(" ", "/") not in reader.device.addresses.get(match[1], ()):
                read_address(reader, line, match[1], word[1])
        block.accept(r"description .*|ipv6 nd .*|no ipv6 nd .*|bandwidth .*|(?:no )?shutdown|ipv6 address .*")


def _vrfs(reader: FrrReader) -> None:
    """The VNI of a VRF, which VRF of CONFIG_DB states, too."""
    found = reader.device.identity
    for block, match in reader.root.find(r"vrf (\S+)"):
        for line, word in block.find(r"vni (\d+)(?: prefix-routes-only)?"):
            if reader.number(line, word[1], 1, _MAX_VNI, "VNI") is None:
                continue
            at = reader.note(line, "vrf", match[1], "vni")
            known = next((it for it in found.routed_vnis if it.vrf == match[1]), None)
            if known is not None and known.number != word[1]:
                text = f"VRF {match[1]} has VNI {word[1]} here, and {known.number} in CONFIG_DB"
                reader.defect(line, f"vrf {match[1]}|vni", text, "R9", root=known.where)
            if known is None:
                bridged = [it for it in found.vnis if it.number == word[1]]
                vlan = bridged[0].vlan if bridged else ""
                found.vnis[:] = [it for it in found.vnis if it.number != word[1]]
                found.routed_vnis.append(
                    Vni(word[1], at, vlan, in_tunnel=bool(bridged), targets_where=at, vrf=match[1])
                )
        block.accept(r"(?:no )?ip(?:v6)? .*")
