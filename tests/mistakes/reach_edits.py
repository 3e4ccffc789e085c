"""Route policies and static routes of leaf1 in the spelling of each language."""

from __future__ import annotations

from tests.mistakes.mistake import Edit, both, everywhere, put, replaced

_EOS_MAP = "route-map FILTER {0}\n   match ip address prefix-list LOOPBACKS\n"


def filtered_eos(list_: str, action: str = "permit 10", then: str = "", *, way: str = "in") -> Edit:
    uses = "".join(f"      neighbor {it} route-map FILTER {way}\n" for it in ("10.1.0.1", "10.1.0.3"))
    return both(
        replaced("router bgp", f"ip prefix-list LOOPBACKS {list_}\n{_EOS_MAP.format(action)}{then}router bgp"),
        replaced("   address-family ipv4\n", f"   address-family ipv4\n{uses}"),
    )


def filtered_nxos(list_: str, action: str = "permit 10", then: str = "", *, way: str = "in") -> Edit:
    text = f"ip prefix-list LOOPBACKS {list_}\nroute-map FILTER {action}\n  match ip address prefix-list LOOPBACKS\n"
    family = "    address-family ipv4 unicast\n"
    return both(
        replaced("router bgp", text + then + "router bgp"),
        everywhere(family, f"{family}      route-map FILTER {way}\n"),
    )


def _rule(action: str, *words: str) -> dict[str, object]:
    return {"action": action, "match": {word: {"max-prefix-len": 32} for word in words}}


def filtered_nvue(action: str, prefix: str, *, rest: bool = False, way: str = "inbound") -> Edit:
    rules = {"10": {"action": action, "match": {"type": "ipv4", "ip-prefix-list": "LOOPBACKS"}}}
    neighbors = [
        put(
            *(*["vrf", "default", "router", "bgp", "neighbor"], it, "address-family", "ipv4-unicast", "policy", way),
            value={"route-map": "FILTER"},
        )
        for it in ("10.1.0.1", "10.1.0.3")
    ]
    return both(
        put(
            "router",
            "policy",
            "prefix-list",
            "LOOPBACKS",
            value={"type": "ipv4", "rule": {"1": _rule("permit", prefix)}},
        ),
        put(
            "router",
            "policy",
            "route-map",
            "FILTER",
            value={"rule": rules | ({"20": {"action": "permit"}} if rest else {})},
        ),
        *neighbors,
    )


def filtered_sonic(action: str, prefix: str, *, rest: bool = False, way: str = "in") -> Edit:
    rows = {"FILTER|10": {"route_operation": action, "match_prefix_set": "LOOPBACKS"}}
    use = {"admin_status": "true", f"route_map_{way}": ["FILTER"]}
    families = {f"default|{it}|ipv4_unicast": use for it in ("10.1.0.1", "10.1.0.3")}
    families |= {f"default|{it}|l2vpn_evpn": {"admin_status": "true"} for it in ("10.1.0.1", "10.1.0.3")}
    return both(
        put("PREFIX_SET", value={"LOOPBACKS": {"mode": "IPv4"}}),
        put("PREFIX", value={f"LOOPBACKS|10|{prefix}|8..32": {"action": "permit"}}),
        put("ROUTE_MAP", value=rows | ({"FILTER|20": {"route_operation": "permit"}} if rest else {})),
        put("BGP_NEIGHBOR_AF", value=families),
    )


def static(language: str, prefix: str, gateway: str) -> Edit:
    """A static route in the spelling of a language."""
    line = f"ip route {prefix} {gateway}\n"
    return {
        "sonic": put("STATIC_ROUTE", prefix, value={"nexthop": gateway}),
        "eos": replaced("router bgp", f"{line}router bgp"),
        "nxos": replaced("router bgp", f"{line}router bgp"),
        "nvue": put(
            *["vrf", "default", "router", "static"], prefix, value={"via": {gateway: {"type": "ipv4-address"}}}
        ),
    }[language]


def by_path_eos(expression: str) -> Edit:
    lines = (
        f"ip as-path access-list PATHS permit {expression} any\nroute-map FILTER permit 10\n   match as-path PATHS\n"
    )
    uses = "".join(f"      neighbor {it} route-map FILTER in\n" for it in ("10.1.0.1", "10.1.0.3"))
    return both(
        replaced("router bgp", f"{lines}router bgp"),
        replaced("   address-family ipv4\n", f"   address-family ipv4\n{uses}"),
    )


def by_path_nxos(expression: str) -> Edit:
    lines = (
        f'ip as-path access-list PATHS seq 5 permit "{expression}"\nroute-map FILTER permit 10\n  match as-path PATHS\n'
    )
    family = "    address-family ipv4 unicast\n"
    return both(
        replaced("router bgp", f"{lines}router bgp"), everywhere(family, f"{family}      route-map FILTER in\n")
    )


def by_path_nvue(expression: str) -> Edit:
    rules = {"10": {"action": "permit", "match": {"type": "ipv4", "as-path-list": "PATHS"}}}
    peer = ("vrf", "default", "router", "bgp", "neighbor")
    family = ("address-family", "ipv4-unicast", "policy", "inbound")
    return both(
        put(
            "router",
            "policy",
            "as-path-list",
            "PATHS",
            value={"rule": {"5": {"action": "permit", "aspath-exp": expression}}},
        ),
        put("router", "policy", "route-map", "FILTER", value={"rule": rules}),
        *(put(*peer, it, *family, value={"route-map": "FILTER"}) for it in ("10.1.0.1", "10.1.0.3")),
    )


def by_path_sonic(expression: str) -> Edit:
    use = {"admin_status": "true", "route_map_in": ["FILTER"]}
    families = {f"default|{it}|ipv4_unicast": use for it in ("10.1.0.1", "10.1.0.3")}
    families |= {f"default|{it}|l2vpn_evpn": {"admin_status": "true"} for it in ("10.1.0.1", "10.1.0.3")}
    return both(
        put("AS_PATH_SET", value={"PATHS": {"as_path_set_member": [expression]}}),
        put("ROUTE_MAP", value={"FILTER|10": {"route_operation": "permit", "match_as_path": "PATHS"}}),
        put("BGP_NEIGHBOR_AF", value=families),
    )
