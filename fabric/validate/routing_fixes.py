"""Changes of BGP, EVPN, VXLAN and interfaces of VLANs, as commands of each switch's own language.

EOS and NX-OS: lines of configuration mode. Cumulus: `nv set`. SONiC: `config` of sonic-utilities where it has a
command, else a write to CONFIG_DB. Sources: EOS user manual, "BGP" and "EVPN"; Nexus 9000 NX-OS VXLAN and Unicast
Routing Configuration Guides; NVUE object reference; sonic-utilities doc/Command-Reference.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from fabric.configs.identity import Aggregate, Stated, Vni
from fabric.configs.model import Device, Lag, Port, Session, StaticRoute, Where
from fabric.configs.policy import Use
from fabric.validate.commands import nvue_words, quoted, row_command
from fabric.validate.edits import BETWEEN_COMMANDS, BETWEEN_LINES, Row, rows
from fabric.validate.frr_fixes import fix_in_frr, in_frr, renumbered, vtysh
from fabric.validate.peer_groups import is_refused
from fabric.validate.remedies import Fix, remove_field

_TABLES: Final = (("Loopback", "LOOPBACK_INTERFACE"), ("Vlan", "VLAN_INTERFACE"), ("Port", "PORTCHANNEL_INTERFACE"))
"""Start of an interface's name to the table of its addresses (SONiC)."""


def _table_of(interface: str) -> str:
    """SONiC's table of an interface's addresses."""
    if "." in interface:
        return "VLAN_SUB_INTERFACE"
    return next((table for start, table in _TABLES if interface.startswith(start)), "INTERFACE")


def _fix(device: Device, field: str, value: str, commands: Mapping[str, str], row: Sequence[Row]) -> Fix:
    """A fix with the command of the device's language, and with the rows of its tables where it has such."""
    found = tuple(row) if device.capabilities.tables else ()
    return Fix(device.name, field, value, commands[device.language], found)


def _bgp(device: Device, field: str, value: str, commands: Mapping[str, str], row: Sequence[Row]) -> Fix:
    """The same for what is in a file of FRR where the switch has one with BGP."""
    if in_frr(device, device.identity.asn_where):
        return fix_in_frr(device, device.identity.asn_where, field, value, commands["eos"])
    return _fix(device, field, value, commands, row)


def _name_of(group: Where) -> str:
    """The name of a peer group or a template: of 'neighbor SPINES', 'template peer SPINES', 'default|SPINES'."""
    return group[-1].rpartition(" ")[2].rpartition("|")[2]


def set_session(
    device: Device, session: Session, field: str, value: str, lines: dict[str, str], group: Where = ()
) -> Fix:
    """A line of a neighbour: `lines` has it for EOS and NX-OS, the words of `nv set`, and SONiC's field.

    A neighbour in a file of FRR takes that of 'frr', or EOS's.

    Parameters
    ----------
    group    the peer group or the template that gets the line in place of the neighbour; () where none does
    """
    at = group or session.where
    name = _name_of(group) if group else session.address or session.interface
    kind = "peer-group" if group and device.capabilities.shell_statements else "neighbor"
    template = group[-1] if group and group[-1].startswith("template ") else ""
    vrf = f"vrf {session.vrf}; " if session.vrf and not template else ""
    begin = {
        "eos": f"router bgp {device.asn}; {vrf}neighbor {name} ",
        "nxos": f"router bgp {device.asn}; {vrf}{template or f'neighbor {name}'}; ",
        "nvue": f"nv set vrf {quoted(session.vrf or 'default')} router bgp {kind} {quoted(name)} ",
        "sonic": f"sonic-db-cli CONFIG_DB HSET {quoted('|'.join(at))} ",
    }[device.language]
    named = template or f"{kind} {name}"
    if in_frr(device, session.where):
        line = lines.get("frr", lines.get("eos", ""))
        family, _, rest = line.rpartition("; ")  # 'address-family l2vpn evpn; send-community extended'
        inside = f"{family}; " if family else ""
        text = f"router bgp {device.asn}; {vrf}{inside}neighbor {name} {rest}" if line else ""
        return fix_in_frr(device, session.where, f"neighbor {name} {field}", value, text)
    line = lines.get(device.language, "")
    words = line.split() if device.capabilities.tables else []
    row = tuple(Row((*at, words[it]), words[it + 1]) for it in range(0, len(words), 2))
    return Fix(device.name, f"{named} {field}", value, f"{begin}{line}" if line else "", row)


def open_session(device: Device, session: Session) -> Fix:
    """The switch opens a session itself: a neighbour's own line does that for it alone, also in a group."""
    name = session.address or session.interface
    begin = f"router bgp {device.asn}; {f'vrf {session.vrf}; ' if session.vrf else ''}"
    commands = {
        "eos": f"{begin}no neighbor {name} passive",
        "nxos": f"{begin}neighbor {name}; no transport connection-mode passive",
    }
    words = {"nvue": "passive-mode off", "sonic": "passive_mode false"}
    fix = set_session(device, session, "passive", "off", words)
    if in_frr(device, session.where):
        return replace(fix, command=vtysh(commands["eos"]))
    return replace(fix, command=commands.get(device.language, fix.command))


def set_remote_as(device: Device, session: Session, asn: str, group: Where = ()) -> Fix | None:
    """The AS number that is expected of a neighbour, or of all of a group; None where the switch takes no such line."""
    if not group and is_refused(device, session, "remote-as"):
        return None
    line = f"remote-as {asn}"
    lines = {"eos": line, "nxos": line, "nvue": line, "sonic": f"asn {asn}"}
    return set_session(device, session, "remote-as", asn, lines, group)


def start_session(device: Device, session: Session) -> Fix:
    """A neighbour, or the group that has the line, without `shutdown`."""
    group = session.group_where if session.at("shutdown") != session.where else ()
    fix = set_session(device, session, "shutdown", "off", {"nvue": "shutdown off", "sonic": "admin_status up"}, group)
    name = _name_of(group) if group else session.address or session.interface
    vrf = f"vrf {session.vrf}; " if session.vrf else ""
    block = group[-1] if group and group[-1].startswith("template ") else f"{vrf}neighbor {name}"
    commands = {
        "eos": f"router bgp {device.asn}; {vrf}no neighbor {name} shutdown",
        "nxos": f"router bgp {device.asn}; {block}; no shutdown",
    }
    if in_frr(device, session.where):
        return replace(fix, command=vtysh(commands["eos"]))
    return replace(fix, command=commands.get(device.language, fix.command))


def add_neighbor(device: Device, address: str, asn: str, own: str, name: str) -> Fix:
    """A neighbour with an AS number, to which the switch is `own`. What else its lines are is not known here."""
    what = f"add the neighbour {address} of AS {asn} ({name})"
    return Fix(device.name, f"neighbor {address} added", f"{asn} {own} {name}", what=what)


def send_from(device: Device, session: Session, interface: str, address: str, group: Where = ()) -> Fix:
    """The interface, in SONiC its address, that a session or all of a group is sent from."""
    line = f"update-source {interface}"
    lines = {"eos": line, "nxos": line, "nvue": line, "sonic": f"local_addr {address}"}
    return set_session(device, session, "update-source", interface, lines, group)


def set_address(device: Device, interface: str, old: str, new: str) -> Fix:
    """Another address, or another length, of an interface; `old`: '' where it has none."""
    name, was, will = quoted(interface), quoted(old), quoted(new)
    gone = {"nvue": f"nv unset interface {name} ip address {was}", "sonic": f"config interface ip remove {name} {was}"}
    come = {"nvue": f"nv set interface {name} ip address {will}", "sonic": f"config interface ip add {name} {will}"}
    commands = {it: BETWEEN_COMMANDS.join((*([gone[it]] if old else []), come[it])) for it in come}
    commands |= dict.fromkeys(("eos", "nxos"), f"interface {interface}; ip address {new}")
    table, key, *_ = (*device.identity.address_where.get((interface, old), ()), "", "")
    begin = key.partition("|")[0] or interface
    table = table if key else _table_of(interface)
    row = (*([Row((table, f"{begin}|{old}"), None)] if old else []), Row((table, f"{begin}|{new}"), ""))
    return _fix(device, f"{interface} address", new, commands, row)


def set_router_id(device: Device, address: str) -> Fix:
    """The BGP identifier."""
    where = device.identity.router_id.where
    bgp = "bgp " if in_frr(device, device.identity.asn_where) else ""
    commands = {
        "eos": f"router bgp {device.asn}; {bgp}router-id {address}",
        "nxos": f"router bgp {device.asn}; router-id {address}",
        "nvue": f"nv set {nvue_words(where)} {address}",
        "sonic": row_command(where, address),
    }
    return _bgp(device, "router-id", address, commands, (Row(where, address),))


def whole_aggregate(device: Device, aggregate: Aggregate) -> Fix:
    """An aggregate beside the more specific routes, not in their place."""
    own = f"router bgp {device.asn}; "
    commands = {
        "eos": f"{own}no aggregate-address {aggregate.prefix}; aggregate-address {aggregate.prefix}",
        "nxos": f"{own}address-family ipv4 unicast; no aggregate-address {aggregate.prefix}; "
        f"aggregate-address {aggregate.prefix}",
        "nvue": f"nv set {nvue_words(aggregate.where)} summary-only off",
        "sonic": "",
    }
    return _bgp(device, f"aggregate {aggregate.prefix} summary-only", "off", commands, ())


def leave_lag(device: Device, port: Port) -> Fix:
    """A port that is a member of no LAG."""
    name, lag = quoted(port.name), quoted(port.lag or "")
    commands = {
        "eos": f"interface {port.name}; no channel-group",
        "nxos": f"interface {port.name}; no channel-group",
        "nvue": f"nv unset interface {lag} bond member {name}",
        "sonic": f"config portchannel member del {lag} {name}",
    }
    row = (Row(("PORTCHANNEL_MEMBER", f"{port.lag}|{port.name}"), None),)
    return _fix(device, f"{port.name} LAG", "none", commands, row)


def bring_lag_up(device: Device, lag: Lag) -> Fix:
    """A LAG that a line shuts."""
    commands = {
        "eos": f"interface {lag.name}; no shutdown",
        "nxos": f"interface {lag.name}; no shutdown",
        "nvue": f"nv set interface {quoted(lag.name)} link state up",
        "sonic": f"config interface startup {lag.name}",
    }
    return _fix(device, f"{lag.name} shutdown", "up", commands, rows("PORTCHANNEL", lag.name, {"admin_status": "up"}))


def need_members(device: Device, lag: Lag, count: int) -> Fix:
    """A LAG that is up with this number of members."""
    commands = {
        "eos": f"interface {lag.name}; port-channel min-links {count}",
        "nxos": f"interface {lag.name}; lacp min-links {count}",
        "sonic": f"sonic-db-cli CONFIG_DB HSET {quoted(f'PORTCHANNEL|{lag.name}')} min_links {count}",
    }
    row = rows("PORTCHANNEL", lag.name, {"min_links": str(count)})
    return _fix(device, f"{lag.name} min-links", str(count), commands, row)


def set_vlan_mtu(device: Device, vlan: str, mtu: int) -> Fix:
    """The MTU of a VLAN's interface."""
    commands = {
        "eos": f"interface Vlan{vlan}; mtu {min(mtu, 9214)}",
        "nxos": f"interface Vlan{vlan}; mtu {min(mtu, 9216)}",
        "nvue": f"nv set interface vlan{quoted(vlan)} link mtu {mtu}",
        "sonic": f"sonic-db-cli CONFIG_DB HSET {quoted(f'VLAN|Vlan{vlan}')} mtu {mtu}",
    }
    row = rows("VLAN", f"Vlan{vlan}", {"mtu": mtu})
    return _fix(device, f"Vlan{vlan} mtu", str(mtu), commands, row)


def bring_up(device: Device, interface: str) -> Fix:
    """An interface of a VLAN, a sub-interface, or a loopback, that is down."""
    commands = {
        "eos": f"interface {interface}; no shutdown",
        "nxos": f"interface {interface}; no shutdown",
        "nvue": f"nv set interface {quoted(interface)} link state up",
        "sonic": f"config interface startup {quoted(interface)}"
        if "." in interface
        else f"sonic-db-cli CONFIG_DB HSET {quoted(f'VLAN|{interface}')} admin_status up",
    }
    row = (Row(device.identity.shut[interface].where, "up"),)
    return _fix(device, f"{interface} shutdown", "up", commands, row)


def start_tunnel(device: Device) -> Fix:
    """A tunnel interface that is up."""
    commands = {
        "eos": "interface Vxlan1; no shutdown",
        "nxos": "interface nve1; no shutdown",
        "nvue": "nv set nve vxlan enable on",
        "sonic": "",
    }
    return _fix(device, "tunnel", "up", commands, ())


def set_distinguisher(device: Device, vni: Vni) -> Fix | None:
    """The route distinguisher of a VLAN's VNI, with the switch's own router ID before its number; NX-OS: automatic."""
    own, number = device.identity.router_id.value, vni.distinguisher.rpartition(":")[2]
    commands = {
        "eos": f"router bgp {device.asn}; vlan {vni.vlan}; rd {own}:{number}",
        "nxos": f"evpn; vni {vni.number} l2; rd auto",
        "nvue": f"nv set evpn vni {vni.number} rd {own}:{number}",
        "sonic": row_command(vni.distinguisher_where, f"{own}:{number}"),
    }
    if not own or not vni.vlan or not vni.distinguisher_where or in_frr(device, vni.distinguisher_where):
        return None
    row = (Row(vni.distinguisher_where, f"{own}:{number}"),)
    return _fix(device, f"VNI {vni.number} rd", f"{own}:{number}", commands, row)


def end_maintenance(device: Device) -> Fix:
    """Take the line away that keeps traffic from the switch."""
    drained = device.identity.drained
    where, line = drained.where, drained.value
    inside = where[1:] if in_frr(device, where) else where
    within = f"router bgp {device.asn}; " if inside[:1] == ("router bgp",) else ""
    interior = inside[0].startswith(("router ospf", "router isis"))
    within = f"{inside[0]}; " if interior else within
    unit = f"maintenance; {'; '.join(where[1:-1])}; no {line}"
    commands = {
        "eos": f"{within}no {line}" if interior or in_frr(device, where) else unit,
        "nxos": f"{within}no {line}",
        "nvue": f"nv set {nvue_words(where)} {'disabled' if where[-1] == 'mode' else 'off'}",
        "sonic": f"sonic-db-cli CONFIG_DB HSET {quoted('|'.join(where[:-1]))} {where[-1]} false",
    }
    row = rows(where[0], where[1], {where[-1]: "false"}) if device.capabilities.tables else ()
    return _bgp(device, "|".join(where[-2:]), "nothing (remove it)", commands, row)


def set_vxlan_port(device: Device, port: str) -> Fix:
    """The UDP port of VXLAN."""
    command = {
        "eos": f"interface Vxlan1; vxlan udp-port {port}",
        "nxos": f"vxlan udp port {port}",
        "nvue": f"nv set nve vxlan port {port}",
    }.get(device.language, "")
    return Fix(device.name, "VXLAN UDP port", port, command)


def advertise_learned(device: Device, vlan: str) -> Fix:
    """EOS: MAC addresses of ports as routes of type 2."""
    return Fix(device.name, f"vlan {vlan} redistribute", "learned",
               f"router bgp {device.asn}; vlan {vlan}; redistribute learned")  # fmt: skip


def keep_targets(device: Device) -> Fix:
    """NX-OS: EVPN routes that no VNI here imports."""
    lines = f"router bgp {device.asn}", "address-family l2vpn evpn", "retain route-target all"
    return Fix(device.name, "l2vpn evpn retain route-target", "all", "; ".join(lines))


def replicate(device: Device, vni: str, group: str = "") -> Fix:
    """A way for broadcast of a VNI to the other VTEPs: copies to each, or a multicast group."""
    way = f"mcast-group {group}" if group else "ingress-replication protocol bgp"
    command = {"nxos": f"interface nve1; member vni {vni}; {way}", "nvue": "nv set nve vxlan flooding enable on"}.get(
        device.language, ""
    )
    return Fix(device.name, f"VNI {vni} replication", group or "ingress replication", command)


def copy_no_more(device: Device, where: Where, address: str) -> Fix:
    """No copies of broadcast to an address of a list of VTEPs."""
    member = next((it for it in where if it.startswith("member vni ")), "member vni VNI")
    commands = {
        "eos": f"interface Vxlan1; vxlan flood vtep remove {address}",
        "nxos": f"interface nve1; {member}; ingress-replication protocol static; no peer-ip {address}",
        "nvue": f"nv unset nve vxlan flooding head-end-replication {address}",
        "sonic": "",
    }
    return _fix(device, "|".join(where[-2:]), "nothing (remove it)", commands, ())


def join_vlan(device: Device, port: str, vlan: str) -> Fix:
    """A port into an access VLAN; a trunk becomes an access port."""
    its = device.ports.get(port)
    trunk = "switchport mode access; no switchport trunk allowed vlan; " if its is not None and its.trunk else ""
    commands = {
        "eos": f"interface {port}; {trunk}switchport access vlan {vlan}",
        "nxos": f"interface {port}; switchport; {trunk}switchport access vlan {vlan}",
        "nvue": f"nv set interface {quoted(port)} bridge domain br_default access {quoted(vlan)}",
        "sonic": f"config vlan member add -u {quoted(vlan)} {quoted(port)}",
    }
    row = rows("VLAN_MEMBER", f"Vlan{vlan}|{port}", {"tagging_mode": "untagged"})
    return _fix(device, f"{port} VLAN", vlan, commands, row)


def make_access(device: Device, port: str, vlan: str) -> Fix:
    """A port that is a trunk into one VLAN, untagged."""
    command = f"interface {port}; switchport mode access; switchport access vlan {vlan}"
    if device.capabilities.shell_statements:
        command = f"nv set interface {quoted(port)} bridge domain br_default access {quoted(vlan)}"
    return Fix(device.name, f"{port} VLAN", vlan, command)


def untag(device: Device, port: str, vlan: str) -> Fix:
    """SONiC: a member of a VLAN without tags."""
    name, number = quoted(port), quoted(vlan)
    command = f"config vlan member del {number} {name} && config vlan member add -u {number} {name}"
    row = rows("VLAN_MEMBER", f"Vlan{vlan}|{port}", {"tagging_mode": "untagged"})
    return Fix(device.name, f"VLAN_MEMBER|Vlan{vlan}|{port}|tagging_mode", "untagged", command, row)


def map_vni(device: Device, vlan: str, vni: str) -> Fix:
    """A VLAN into a VXLAN segment."""
    tunnel = next(iter(device.tunnels), "vtep")
    commands = {
        "eos": f"interface Vxlan1; vxlan vlan {vlan} vni {vni}",
        "nxos": f"vlan {vlan}; vn-segment {vni}",
        "nvue": f"nv set bridge domain br_default vlan {quoted(vlan)} vni {quoted(vni)}",
        "sonic": f"config vxlan map add {quoted(tunnel)} {quoted(vlan)} {quoted(vni)}",
    }
    row = rows("VXLAN_TUNNEL_MAP", f"{tunnel}|map_{vni}_Vlan{vlan}", {"vlan": f"Vlan{vlan}", "vni": vni})
    return _fix(device, f"VLAN {vlan} VNI", vni, commands, row)


def unmap_vni(device: Device, vni: Vni) -> Fix:
    """A VLAN without its VXLAN segment."""
    commands = {
        "eos": f"interface Vxlan1; no vxlan vlan {vni.vlan} vni {vni.number}",
        "nxos": f"vlan {vni.vlan}; no vn-segment",
        "nvue": f"nv unset {nvue_words(vni.where[:-1])}",
        "sonic": row_command(vni.where, None),
    }
    return _fix(device, f"VLAN {vni.vlan} VNI", "nothing (remove it)", commands, (Row(vni.where, None),))


def keep_next_hop(device: Device, session: Session) -> Fix | None:
    """The VTEP's next hop of EVPN routes that are passed on to a neighbour (EOS, FRR, NVUE)."""
    name, at = session.address or session.interface, f"router bgp {device.asn}"
    if in_frr(device, session.where):
        lines = BETWEEN_LINES.join((at, "address-family l2vpn evpn", f"no neighbor {name} next-hop-self"))
        return fix_in_frr(device, session.where, f"neighbor {name} next-hop-self", "nothing (remove it)", lines)
    if device.capabilities.shell_statements:
        words = f"nv unset {nvue_words(session.where)} address-family l2vpn-evpn"
        gone = (f"{words} {it}" for it in ("nexthop-setting", "attribute-mod next-hop-self"))
        return Fix(device.name, f"neighbor {name} next-hop-self", "nothing (remove it)", BETWEEN_COMMANDS.join(gone))
    line = f"neighbor {name} next-hop-unchanged"
    command = {"eos": f"{at}; {line}"}.get(device.language, "")
    return Fix(device.name, line, "on", command) if command else None


def route_vni(device: Device, vrf: str, vni: str) -> Fix:
    """The VNI of a VRF. SONiC: its VLAN has to be in the tunnel already."""
    commands = {
        "eos": f"interface Vxlan1; vxlan vrf {vrf} vni {vni}",
        "nxos": f"vrf context {vrf}; vni {vni}; exit; interface nve1; member vni {vni} associate-vrf",
        "nvue": f"nv set vrf {quoted(vrf)} evpn vni {quoted(vni)}",
        "sonic": f"config vrf add_vrf_vni_map {quoted(vrf)} {quoted(vni)}",
    }
    return _fix(device, f"VRF {vrf} VNI", vni, commands, rows("VRF", vrf, {"vni": vni}))


def set_gateway(device: Device, vlan: str, address: str) -> Fix:
    """An anycast gateway of a VLAN."""
    commands = {
        "eos": f"interface Vlan{vlan}; ip address virtual {address}",
        "nxos": f"interface Vlan{vlan}; ip address {address}; fabric forwarding mode anycast-gateway",
        "nvue": f"nv set interface vlan{quoted(vlan)} ip vrr address {quoted(address)} && "
        f"nv set interface vlan{quoted(vlan)} ip vrr enable on",
        "sonic": f"sonic-db-cli CONFIG_DB HSET {quoted(f'VLAN_INTERFACE|Vlan{vlan}')} static_anycast_gateway true"
        f" && sonic-db-cli CONFIG_DB HSET {quoted(f'VLAN_INTERFACE|Vlan{vlan}|{address}')} NULL NULL",
    }
    row = (
        *rows("VLAN_INTERFACE", f"Vlan{vlan}", {"static_anycast_gateway": "true"}),
        *rows("VLAN_INTERFACE", f"Vlan{vlan}|{address}", {}),
    )
    return _fix(device, f"VLAN {vlan} gateway", address, commands, row)


def set_gateway_mac(device: Device, mac: str) -> Fix:
    """The MAC address of anycast gateways."""
    digits = mac.replace(":", "")
    dotted = ".".join(digits[at : at + 4] for at in range(0, 12, 4))
    commands = {
        "eos": f"ip virtual-router mac-address {mac}",
        "nxos": f"fabric forwarding anycast-gateway-mac {dotted}",
        "nvue": f"nv set system global anycast-mac {mac}",
        "sonic": f"sonic-db-cli CONFIG_DB HSET 'SAG|GLOBAL' gateway_mac {mac}",
    }
    row = rows("SAG", "GLOBAL", {"gateway_mac": mac})
    return _fix(device, "gateway MAC address", mac, commands, row)


def set_multipath(device: Device, paths: int) -> Fix:
    """How many equal BGP paths carry traffic."""
    commands = {
        "eos": f"router bgp {device.asn}; maximum-paths {paths}",
        "nxos": f"router bgp {device.asn}; address-family ipv4 unicast; maximum-paths {paths}",
        "nvue": f"nv set vrf default router bgp address-family ipv4-unicast multipaths ebgp {paths}",
        "sonic": f"sonic-db-cli CONFIG_DB HSET 'BGP_GLOBALS_AF|default|ipv4_unicast' max_ebgp_paths {paths}",
    }
    row = rows("BGP_GLOBALS_AF", "default|ipv4_unicast", {"max_ebgp_paths": paths})
    return _bgp(device, "maximum-paths", str(paths), commands, row)


def set_vtep_source(device: Device, loopback: str, address: str) -> Fix:
    """The address that the tunnel is sent from."""
    tunnel = next(iter(device.tunnels), "vtep")
    commands = {
        "eos": f"interface Vxlan1; vxlan source-interface {loopback}",
        "nxos": f"interface nve1; source-interface {loopback}",
        "nvue": f"nv set nve vxlan source address {address}",
        "sonic": f"sonic-db-cli CONFIG_DB HSET {quoted(f'VXLAN_TUNNEL|{tunnel}')} src_ip {address}",
    }
    row = rows("VXLAN_TUNNEL", tunnel, {"src_ip": address})
    return _fix(device, "VTEP source", f"{loopback} ({address})", commands, row)


def advertise(device: Device, prefix: str) -> Fix:
    """A connected prefix into BGP."""
    commands = {
        "eos": f"router bgp {device.asn}; address-family ipv4; network {prefix}",
        "nxos": f"router bgp {device.asn}; address-family ipv4 unicast; network {prefix}",
        "nvue": f"nv set vrf default router bgp address-family ipv4-unicast network {quoted(prefix)}",
        "sonic": f"sonic-db-cli CONFIG_DB HSET {quoted(f'BGP_GLOBALS_AF_NETWORK|default|ipv4_unicast|{prefix}')} "
        "NULL NULL",
    }
    row = rows("BGP_GLOBALS_AF_NETWORK", f"default|ipv4_unicast|{prefix}", {})
    return _bgp(device, "network", prefix, commands, row)


def activate(device: Device, session: Session, family: str, group: Where = ()) -> Fix:
    """An address family of a neighbour or of its group; NVUE: of the VRF as well, where no neighbour of it has the
    family.
    """
    name = _name_of(group) if group else session.address or session.interface
    kind = "peer-group" if group else "neighbor"
    block = group[-1] if group and group[-1].startswith("template ") else f"neighbor {name}"
    table = "BGP_PEER_GROUP_AF" if group else "BGP_NEIGHBOR_AF"
    words = {"ipv4": ("ipv4", "ipv4 unicast", "ipv4-unicast"), "evpn": ("evpn", "l2vpn evpn", "l2vpn-evpn")}[family]
    vrf, row = session.vrf or "default", words[2].replace("-", "_")
    commands = {
        "eos": f"router bgp {device.asn}; address-family {words[0]}; neighbor {name} activate",
        "nxos": f"router bgp {device.asn}; {block}; address-family {words[1]}",
        "nvue": f"nv set vrf {quoted(vrf)} router bgp {kind} {quoted(name)} address-family {words[2]} enable on",
        "sonic": f"sonic-db-cli CONFIG_DB HSET {quoted(f'{table}|{vrf}|{name}|{row}')} admin_status true",
    }
    others = [it.families for it in device.sessions if it.vrf == session.vrf and it.families is not None]
    if not any(family in it for it in others):
        of_vrf = f"nv set vrf {quoted(vrf)} router bgp address-family {words[2]} enable on"
        commands["nvue"] = BETWEEN_COMMANDS.join((of_vrf, commands["nvue"]))
    found = rows(table, f"{vrf}|{name}|{row}", {"admin_status": "true"})
    return _bgp(device, f"neighbor {name} {family}", "activate", commands, found)


def send_targets(device: Device, session: Session) -> Fix:
    """Extended communities to a neighbour, which carry the route targets."""
    family = "address-family l2vpn evpn; " if device.capabilities.family_below_neighbor else ""
    line = f"{family}send-community extended"
    frr = "address-family l2vpn evpn; send-community extended"
    return set_session(device, session, "send-community", "extended", {"eos": line, "nxos": line, "frr": frr})


def default_distance(device: Device) -> Fix:
    """The language's own distance of BGP's routes."""
    commands = {
        "eos": f"router bgp {device.asn}; no distance bgp",
        "nxos": f"router bgp {device.asn}; address-family ipv4 unicast; no distance",
        "nvue": "nv unset vrf default router bgp address-family ipv4-unicast admin-distance external",
    }
    if in_frr(device, device.identity.distance.where):
        line = f"router bgp {device.asn}; address-family ipv4; no distance bgp"
        return fix_in_frr(device, device.identity.distance.where, "distance bgp", "nothing (remove it)", line)
    return Fix(device.name, "distance", "nothing (remove it)", commands.get(device.language, ""))


def no_default(device: Device, stated: Stated) -> Fix:
    """A line that announces the default route is taken away."""
    where, gone = stated.where, "nothing (remove it)"
    if device.capabilities.tables and not in_frr(device, where):
        row = Row(where, None)
        return Fix(device.name, "|".join(where), gone, row_command(where, None), (row,))
    if device.capabilities.shell_statements:
        words = where[:-1] if where[-1] == "enable" else where
        return Fix(device.name, stated.value, gone, f"nv unset {nvue_words(words)}")
    blocks = where[2 if in_frr(device, where) else 1 : -1]
    outer = blocks[:-1] if stated.value.startswith("neighbor ") else blocks
    lines = BETWEEN_LINES.join((f"router bgp {device.asn}", *outer, f"no {stated.value}"))
    if in_frr(device, where):
        return fix_in_frr(device, where, stated.value, gone, lines)
    return Fix(device.name, stated.value, gone, lines)


def without_policy(device: Device, session: Session, use: Use) -> Fix:
    """A policy of a neighbour's routes that the switch sends, taken away."""
    name, at, gone = session.address or session.interface, f"router bgp {device.asn}", "nothing (remove it)"
    line = f"no neighbor {name} {use.kind} {use.name} out"
    where = use.where[1:] if in_frr(device, use.where) else use.where
    family = next((it for it in where if it.startswith("address-family ") or it == use.family), "")
    block = [family if family.startswith("address-family ") else f"address-family {family}"] if family else []
    if in_frr(device, use.where):
        lines = BETWEEN_LINES.join((at, *block, line))
        return fix_in_frr(device, use.where, f"neighbor {name} {use.kind}", gone, lines)
    if device.capabilities.tables:
        return remove_field(device, use.where[:-1], use.where[-1])
    peer = (f"neighbor {name}", "address-family ipv4 unicast", f"no {use.kind} {use.name} out")
    commands = {
        "eos": BETWEEN_LINES.join((at, *block, line)),
        "nxos": BETWEEN_LINES.join((at, *peer)),
        "nvue": f"nv unset {nvue_words(use.where)}",
    }
    return Fix(device.name, f"neighbor {name} {use.kind}", gone, commands[device.language])


def remove_route(device: Device, route: StaticRoute) -> Fix:
    """A static route of the default VRF, taken away, so that those of BGP count."""
    gone, hops = "nothing (remove it)", route.hops or (("", "Null0"),)
    words = [" ".join(filter(None, (interface, gateway))) for gateway, interface in hops]
    lines = BETWEEN_LINES.join(f"no ip route {route.prefix} {it}" for it in words)
    if in_frr(device, route.where):
        return fix_in_frr(device, route.where, f"ip route {route.prefix}", gone, lines)
    commands = {
        "eos": lines,
        "nxos": lines,
        "nvue": f"nv unset {nvue_words(route.where)}",
        "sonic": row_command(route.where, None),
    }
    return _fix(device, f"static route {route.prefix}", gone, commands, (Row(route.where, None),))


def loose_sources(device: Device, interface: str) -> Fix:
    """An interface takes packets whose source it has any route to (EOS, NX-OS)."""
    line = "ip verify unicast source reachable-via any"
    command = f"interface {interface}; {line}" if device.capabilities.blocks_of_lines else ""
    return Fix(device.name, f"interface {interface}", line, command)


def set_asn(device: Device, asn: str) -> Fix:
    """The switch's own AS number."""
    commands = {
        "eos": f"router bgp {asn}",
        "nxos": f"router bgp {asn}",
        "nvue": f"nv set router bgp autonomous-system {asn}",
        "sonic": f"sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' bgp_asn {asn}",
    }
    row = rows("DEVICE_METADATA", "localhost", {"bgp_asn": asn})
    if in_frr(device, device.identity.asn_where):
        file = device.beside[device.identity.asn_where[0]][0]
        return Fix(device.name, "router bgp", asn, renumbered(device, asn), file=file)
    return _fix(device, "AS number", asn, commands, row)
