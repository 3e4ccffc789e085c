"""What the switches of each configuration language do and what their files state: one row per language.

Loading and the checks ask this table; none of them compares the name of a language. A new language is a row here, a
reader in `registry.py` and its tests. Sources: sonic-swss cfgmgr/buffermgr.cpp and orchagent, sonic-yang-models;
NVIDIA Cumulus Linux 5.x user guide; Arista EOS user manual; Cisco Nexus 9000 NX-OS QoS configuration guide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Language = Literal["sonic", "nvue", "eos", "nxos"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Facts about one language; every default is the plainest switch: nothing stated, nothing derived."""

    title: str
    """The operating system, as a reader knows it."""
    headroom_from_table: bool = False
    """The switch makes lossless groups at run time from speed, cable and its headroom table (buffermgrd)."""
    cable_in_links_file: bool = True
    """Cable lengths of the links file hold where the configuration states none. SONiC has CABLE_LENGTH for them."""
    class_to_group_map: bool = False
    """The configuration maps traffic classes to priority groups; elsewhere the chip's map is the identity."""
    every_group_stated: bool = False
    """A lossless priority without a group in the file has none on the switch; elsewhere the switch has a default."""
    group_memory_stated: bool = False
    """Reserved size and resume level of a group are in the file; elsewhere they are the chip's defaults."""
    all_pools_stated: bool = False
    """The pools of the file are all that share the packet buffer, so their sum can be held against it."""
    queue_profile_stated: bool = False
    """Every lossless egress queue needs a buffer profile in the file."""
    one_threshold: bool = False
    """A buffer profile has exactly one of a static and a dynamic threshold (bufferorch.cpp l.690-722)."""
    named_objects: bool = False
    """Profiles, schedulers and maps are named objects that may be defined and not bound."""
    strict_by_default: bool = False
    """Queues are served by strict priority where the file has no scheduler."""
    down_by_default: bool = False
    """A port is down where the file does not say (sonic-port.yang, admin_status)."""
    hash_seed_from_role: bool = False
    """The ECMP hash seed follows from the device's type (sonic-buildimage switch.json.j2)."""
    model_field_names: bool = False
    """The fields of a construct have the names that findings use, so evidence needs no other label."""
    tables: bool = False
    """Every setting is a field of a row of a table, which one command writes (CONFIG_DB)."""
    bundle: str = ""
    """Name of a LAG's interface in a running-config, before its number."""
    blocks_of_lines: bool = False
    """The file is a running-config: lines below headers, changed in configuration mode."""
    ends_with_end: bool = False
    """The command that shows the running-config writes a last line `end`."""
    shell_statements: bool = False
    """A change is a list of shell commands, which a last command puts in force (`nv`)."""
    sessions: bool = False
    """Configuration mode has sessions, whose changes act at their end only."""
    neighbor_on_each_line: bool = False
    """Each line of a BGP neighbour begins with the neighbour; elsewhere a neighbour is a block."""
    own_asn_is_a_value: bool = False
    """The switch's own AS number is a value; elsewhere it is the name of the block of BGP."""
    interfaces_state_up: bool = False
    """Interfaces have a line `no shutdown` where they are up."""
    isis_states_families: bool = False
    """IS-IS routes the families that its instance has lines for, and none without one."""
    family_below_neighbor: bool = False
    """Communities are sent by a line of the neighbour's address family."""
    routing_in_frr: bool = False
    """Files of FRR beside the configuration have the switch's routing, and are read with it."""
    missing_policies: tuple[tuple[str, str], ...] = ()
    """(kind, what an applied policy that is not defined does): 'permits' or 'denies' every route."""
    autoneg: str = ""
    """'on' or 'off' where a port states no autonegotiation; '': the transceiver decides."""
    advertised_loopback: str = ""
    """The loopback whose address the templates of BGP advertise where no line says what is; '': there are none."""
    classified_by_policies: bool = False
    """Only policies classify: without one a packet is in the default class."""
    pfc_in_one_policy: bool = False
    """Priorities with PFC are stated once, by a policy; those of ports, and the maps to groups and queues, follow."""
    watchdog_timers_for_all_ports: bool = False
    """The PFC watchdog has its timers for all ports, and a port states only whether it is on."""
    watchdog_poll_ms: int = 100
    """Interval at which the PFC watchdog polls where the file states none."""
    watchdog_poll_halved: bool = False
    """Where two polls do not fit into a time of the watchdog, the switch polls twice in that time; elsewhere it refuses
    a time below the poll.
    """
    watchdog_default_ms: int = 0
    """Detection time that the system's own start of the PFC watchdog sets; 0: none is published."""
    watchdog_ports_per_step: int = 0
    """That time is multiplied by the number of parts of so many ports; 0: it is the same for any number of ports."""
    marking_enabled_by_colour: bool = False
    """A marking profile has a switch for each colour, without which some platforms do not mark (qosorch.cpp)."""
    hash_seed_command: str = ""
    """The command that sets the seed of the ECMP hash, with {seed}; '' where there is none."""
    least_hash_seed: int = 0
    """The least seed that this command takes."""
    hash_seed_beside_fields: bool = False
    """The command states the hashed fields, too: a seed is added to the line that is there."""
    default_headroom_m: int | None = None
    """Longest cable that the switch's default headroom covers, metres; None where no default is published."""


_FRR: Final = (("route-map", "denies"), ("prefix-list", "denies"))
"""FRR: bgp_input_modifier and bgp_input_filter of bgpd/bgp_route.c; measured with bgpd 8.4.4 (decisions/0077).

EOS: `bgp missing-policy`, whose default is permit. NX-OS takes a name without entries for an empty object: an empty
route map denies, an empty prefix list permits (Unicast Routing Configuration Guide, "Route Policy Manager").
"""

CAPABILITIES: Final[dict[Language, Capabilities]] = {
    "sonic": Capabilities(
        "SONiC",
        headroom_from_table=True,
        cable_in_links_file=False,
        class_to_group_map=True,
        every_group_stated=True,
        group_memory_stated=True,
        all_pools_stated=True,
        queue_profile_stated=True,
        one_threshold=True,
        named_objects=True,
        down_by_default=True,
        hash_seed_from_role=True,
        model_field_names=True,
        tables=True,
        watchdog_poll_ms=100,  # sonic-swss orchdaemon.cpp, PFC_WD_POLL_MSECS; `pfcwd start_default` writes 200
        watchdog_default_ms=200,  # sonic-utilities pfcwd/main.py, start_default
        watchdog_ports_per_step=32,
        marking_enabled_by_colour=True,
        own_asn_is_a_value=True,
        autoneg="off",
        advertised_loopback="Loopback0",
        routing_in_frr=True,  # sonic-buildimage dockers/docker-fpm-frr/docker_init.sh
        missing_policies=_FRR,
    ),
    "nvue": Capabilities(
        "Cumulus Linux",
        group_memory_stated=True,
        watchdog_timers_for_all_ports=True,
        shell_statements=True,
        # Cumulus Linux user guide, "Equal Cost Multipath Load Sharing"
        hash_seed_command="nv set system forwarding hash-seed {seed}",
        watchdog_default_ms=300,  # three polls of 100 ms
        own_asn_is_a_value=True,
        autoneg="on",
        missing_policies=_FRR,
    ),
    "eos": Capabilities(
        "Arista EOS",
        strict_by_default=True,
        ends_with_end=True,
        watchdog_poll_halved=True,  # Arista's guides to the PFC watchdog
        bundle="Port-Channel",
        blocks_of_lines=True,
        sessions=True,
        isis_states_families=True,  # EOS User Manual, "Enabling IS-IS"
        neighbor_on_each_line=True,
        missing_policies=(("route-map", "permits"), ("prefix-list", "permits")),
    ),
    "nxos": Capabilities(
        "Cisco NX-OS",
        classified_by_policies=True,
        pfc_in_one_policy=True,
        # Nexus 9000 Unicast Routing Configuration Guide, "Configuring Load Sharing in the Unicast RIB"
        hash_seed_command="ip load-sharing address source-destination port source-destination universal-id {seed}",
        least_hash_seed=1,
        hash_seed_beside_fields=True,
        watchdog_default_ms=100,
        bundle="port-channel",
        blocks_of_lines=True,
        interfaces_state_up=True,
        family_below_neighbor=True,
        autoneg="on",
        default_headroom_m=100,
        missing_policies=(("route-map", "denies"), ("prefix-list", "permits")),
    ),
}
"""Every language of `registry.py`."""
