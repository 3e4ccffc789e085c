"""The models: purpose, modelled and omitted effects, and every default with its source.

The compiler and the model card read the same defaults, so the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fabric.dataplane.state.params import EcnParams
from fabric.scenario.presets.asics import DEFAULT_ASIC
from fabric.scenario.presets.dcqcn import DEFAULT_DCQCN
from fabric.theory.headroom import ASSUMED_LATENCY_PS, ASSUMED_RESPONSE
from fabric.topology.quantities import exact_time


@dataclass(frozen=True, slots=True)
class Default:
    """The default of one field."""

    path: str
    """Path in a scenario file."""
    value: Any
    """Value as a scenario file writes it."""
    source: str
    """Standard, product documentation or paper; 'assumed: ...' where no public source decides."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model card."""

    name: str
    purpose: str
    modelled: tuple[str, ...]
    not_modelled: tuple[str, ...]
    defaults: tuple[Default, ...]
    fixed: tuple[Default, ...] = ()
    """Values that no scenario can change; the path is their name."""


DEFAULT_REROUTE_DELAY: Final = "1ms"

_ASIC_DEFAULTS: Final = (
    Default("switches.asic", DEFAULT_ASIC, "assumed: the chip whose numbers all come from one shipped hardware SKU"),
    Default(
        "switches.latency",
        exact_time(ASSUMED_LATENCY_PS),
        "assumed: mid-range of data-sheet port-to-port latencies, store and forward",
    ),
    Default("switches.mtu", "9100B", "SONiC default port MTU (sonic-buildimage port_config)"),
    Default("switches.lossless", [3], "NVIDIA RoCE default: DSCP 26, priority 3"),
    Default("switches.pool", "auto", "memory less headroom and guarantees, as SONiC buffer_pool_mellanox.lua does"),
    Default(
        "switches.shared_headroom", "off", "private headroom, the safe choice; SONiC's pools carry xoff per platform"
    ),
    Default("switches.mark", "enqueue", "SAI WRED acts on the queue that a packet joins"),
    Default(
        "switches.hash",
        {
            "algorithm": "murmur3",
            "fields": ["source-ip", "destination-ip", "source-port", "destination-port"],
            "seed": "per-switch",
        },
        "assumed: a hash that is not linear, as SAI_HASH_ALGORITHM_RANDOM or Broadcom's macro-flow hashing; a CRC "
        "polarises in some pairs of switches with any seeds (decisions/0030)",
    ),
    Default("switches.load_balancing", "ecmp", "RFC 2992; the default of switches"),
    Default(
        "switches.flowlet_gap", "50us", "assumed: a few fabric round trips (CONGA, SIGCOMM 2014, uses 500 us at 10G)"
    ),
    Default("switches.congestion_notices", "off", "global load balancing is off until configured (Juniper, QFX5240)"),
    Default("switches.watchdog", "off", "SONiC: pfcwd is off until started"),
    Default(
        "switches.ecn", "hpcc", "Kmin 4 KB, Kmax 16 KB per Gb/s, Pmax 20 %: HPCC run.py; QOS practice of vendors varies"
    ),
    Default(
        "switches.buffer",
        {"headroom": "auto", "lossy_dynamic_th": 3},
        "headroom: worst case, terms: `fabric headroom --explain` (decisions/0068); lossy: dynamic_th 3 of SONiC's "
        "q_lossy_profile",
    ),
    Default(
        "switches.scheduler", {6: "strict"}, "NVIDIA RoCE default: CNP class 6 strict, the others share by DWRR alike"
    ),
    Default("switches.pause_quanta", 65535, "IEEE 802.3 annex 31D: the largest timer, as vendors send"),
    Default(
        "switches.response",
        ASSUMED_RESPONSE,
        "half of the IEEE 802.3 31B.3.7 bound for the speed; assumed: peers do better than it",
    ),
    Default("hosts.latency", "500ns", "assumed: NIC and PCIe on reception"),
    Default("hosts.mtu", "9100B", "as the switches"),
    Default("hosts.response", "half", "as the switches"),
    Default("hosts.pause_quanta", 65535, "as the switches"),
    Default("hosts.scheduler", {6: "strict"}, "as the switches"),
    Default("hosts.drain", "off", "a healthy host keeps up with its link"),
    Default("hosts.rx_buffer", "512KiB", "assumed: order of a NIC's shared receive buffer"),
    Default("hosts.rx_xoff", "auto", "Linux mlx5e en/port_buffer.c: buffer - ((301 + 2.16 m) Gb/s + 2.72 MTU)"),
    Default("hosts.rx_xon", "auto", "Linux mlx5e en/port_buffer.c: one MTU below xoff"),
    Default(
        "transport.source_routes",
        {"choice": "packet", "withdrawal": "1ms"},
        "a NIC sprays over its routes (draft-filsfils-srv6ops-srv6-ai-backend); assumed: it finds a dead one by probes "
        "within 1 ms",
    ),
    Default("transport.mtu", "4096B", "largest RDMA path MTU (IB specification vol. 1, section 9.7)"),
    Default("transport.cc", "dcqcn", "the default of RoCEv2 NICs (ROCE_CC_PRIO_MASK enabled)"),
    Default("transport.dcqcn", DEFAULT_DCQCN, "what deployed NICs run"),
    Default(
        "transport.recovery",
        "go-back-n",
        "IB specification vol. 1, section 9.7.5: NAK sequence error; "
        "out-of-order where packets are sprayed (decisions/0028)",
    ),
    Default(
        "transport.reorder_window",
        "100us",
        "assumed: paths of one fabric differ by less, 1.25 MB of queue at 100G; timers of this size: IRN's RTO_low "
        "(SIGCOMM 2018, section 4.1), uet-htsim's DEFAULT_UEC_RTO_MIN",
    ),
    Default("transport.receive_bitmap", 1024, "assumed: 4 MiB of 4096 B packets, 80 us at 400G"),
    Default(
        "transport.window",
        "auto",
        "RoCEv2 NICs bound bytes in flight by nothing smaller than the PSN space; "
        "DCTCP, HPCC and HPCC-PINT are windows, and sets of DCQCN parameters come with one (hpcc-dcqcn-vwin, simai, "
        "hawkeye-deadlock): run.py HAS_WIN",
    ),
    Default(
        "transport.variable_window",
        False,
        "a feature of the HPCC simulator; true with HPCC, HPCC-PINT, and with DCTCP, where the window is what "
        "RFC 8257 controls",
    ),
    Default("transport.ack_every", 1, "assumed: one ACK per packet, as in the ns-3 simulators; NICs coalesce"),
    Default(
        "transport.retransmit_timeout", "67108864ns", "IB local ACK timeout 14: 4.096 us x 2^14 (perftest default)"
    ),
    Default("transport.retries", 7, "perftest and NCCL default: retry_cnt 7"),
    Default("transport.nak_interval", "0s", "IB specification: one NAK per gap"),
    Default("transport.dscp", 26, "NVIDIA RoCE default (AF31)"),
    Default("transport.cnp_dscp", 48, "mlx5 cnp_dscp default"),
    Default("transport.ack_dscp", "data", "IB: acknowledgements travel on the request's service level"),
    Default("transport.ip", 4, "assumed: RoCEv2 over IPv4"),
    Default("transport.ttl", 64, "IANA IP parameters: default time to live 64; Linux net.ipv4.ip_default_ttl"),
    Default("transport.vlan_tag", False, "routed fabrics carry the priority in the DSCP"),
    Default("transport.qp", {"per": "message"}, "assumed: as in the literature, where a flow is a queue pair"),
    Default("transport.source_port", "hashed", "UDP source port 0xC000 to 0xFFFF per queue pair (Linux ib_verbs.h)"),
    Default("transport.nic_port", "rail", "assumed: queue pairs of two hosts take the ports in turn"),
    Default(
        "run.reroute_delay",
        DEFAULT_REROUTE_DELAY,
        "assumed: loss of light to new hardware groups, without a routing protocol",
    ),
)

_NS3_RDMA_DEFAULTS: Final = (
    Default("switches.memory", "16 MiB per 50G of NIC rate", "run.py: bfsz = 16 * bw / 50 (BUFFER_SIZE)"),
    Default(
        "switches.ecn",
        "hpcc; dctcp with cc: dctcp; that of their configuration for simai and hawkeye-deadlock",
        "run.py: KMIN_MAP 100 KB, KMAX_MAP 400 KB per 25G of port speed, PMAX_MAP 0.2; dctcp: 3 KB per Gb/s",
    ),
    Default(
        "switches.buffer",
        {"headroom": "auto", "reserved": "4096B", "xon_offset": "3072B"},
        "third.cc: headroom = rate * delay / 8 / 10^9 * 3; switch-mmu.cc: reserve, resume_offset",
    ),
    Default("transport.mtu", "1000B", "run.py: PACKET_PAYLOAD_SIZE"),
    Default(
        "transport.cc",
        "dcqcn",
        "run.py --cc dcqcn (CC_MODE 1); dctcp, timely, hpcc, hpcc-pint: 8, 7, 3, 10; none: switches do not mark",
    ),
    Default("transport.dcqcn", "hpcc-dcqcn", "run.py --cc dcqcn; -paper: dcqcn_paper; -vwin: dcqcn_vwin"),
    Default(
        "transport.window",
        "largest BDP of two hosts for DCTCP, HPCC, HPCC-PINT and presets with a window, else off",
        "run.py: HAS_WIN, VAR_WIN, GLOBAL_T 1; third.cc: maxBdp",
    ),
    Default("transport.variable_window", "as the preset", "run.py: VAR_WIN"),
    Default(
        "transport.acks",
        "stock; data-class for DCTCP, HPCC, HPCC-PINT and presets with a window",
        "run.py: ACK_HIGH_PRIO 1, or 0 with windows; SwitchNode::AckHighPrio is never set by third.cc",
    ),
)

_NS3_RDMA_FIXED: Final = (
    Default("header of a data frame", "48B", "ppp-header.cc 14, IPv4 20, UDP 8, sequence number and group 6"),
    Default("ACK and NACK", "60B", "rdma-hw.cc: 14 + 20 + 12, padded to 60"),
    Default("PFC frame", "43B", "pause-header.cc: 14 + 20 + 9; sent before anything else, after the frame in flight"),
    Default("threshold", "free bytes / 8", "third.cc: shift 3, one less per doubling of port speed above the NIC's"),
    Default("pause", "until resumed", "qbb-net-device.cc: the time field is carried and never read"),
    Default("ECN", "queue without the leaving packet", "switch-node.cc, SwitchNotifyDequeue"),
    Default("NACK interval", "500us", "rdma-hw.cc, m_nack_interval as third.cc leaves it"),
    Default("retransmission timeout", "none", "rdma-hw.cc: a flow that loses its tail never completes"),
    Default("rate at the first notification", "1.0", "rdma-hw.cc, m_rateOnFirstCNP"),
    Default("first decrease timer", "Td + 1ns", "rdma-hw.cc: after an alpha update of the same moment"),
    Default("ports", "10000 + k to 100", "third.cc: k-th flow of its pair of hosts; flow file"),
    Default("hash", "MurmurHash3, seed: node number", "switch-node.cc: EcmpHash; third.cc: node_id_to_ip"),
    Default("latency of switches and hosts", "0s", "qbb-net-device.cc: reception to transmission in one moment"),
)

MODELS: Final[Mapping[str, Model]] = {
    "asic": Model(
        "asic",
        "The behaviour of switch and NIC hardware; the model for judging configurations.",
        (
            "every packet, in exact picoseconds, store and forward",
            "RoCEv2 frames byte by byte in size: RETH, AETH, ICRC, FCS, preamble and gap, VXLAN",
            "buffers: cells, priority groups with guarantee, dynamic or static limit, own or shared headroom",
            "ECN/WRED on the instantaneous queue, at enqueue or dequeue",
            "PFC (802.1Q clause 36, 802.3 annex 31D): eight priorities, quanta, refresh, response time, pausing hosts",
            "PFC watchdog per SONiC: detection by platform, drop, forward or alert, restoration",
            "strict and DWRR scheduling; control frames never wait behind data that has not started",
            "RDMA WRITE: segmentation, pacing, ACK and NAK, go-back-N or selective repeat, timeouts and retry limit",
            ("NICs that place packets in any order: bitmap, selective ACKs, loss detected by time (RFC 8985)"),
            "DCQCN: notification point, alpha, timer and byte-counter increase; CNPs are packets",
            "DCTCP (RFC 8257) as a rate with a window in proportion: marks echoed in ACKs, one cut per round trip",
            "TIMELY (SIGCOMM 2015): round trips of single packets, one change per window of data",
            "HPCC (SIGCOMM 2019): telemetry of up to five switches, 42 bytes in every data frame and answer",
            "HPCC-PINT (SIGCOMM 2020): the load of the fullest hop as a code of 16 bits, rounded by chance",
            "Swift (SIGCOMM 2020): delays of fabric and host, targets by hops and flows, pacing below one packet",
            "CUBIC (RFC 9438) and, with loss_cut, DCTCP: the windows of TCP traffic beside RDMA, in a lossy class",
            "ECMP by hash with a seed per switch, weighted ECMP, packet spraying, flowlets, adaptive routing",
            "source routes: NICs name the path of each packet in an outer IPv6 header (SRv6 uSIDs, RFC 9800)",
            "congestion notices: a switch announces long queues to its neighbours, whose adaptive routing avoids them",
            "TTL: taken by switches that route, the outer one between VTEPs, none by bridges (RFC 1812, RFC 9135)",
            "link failures, lost lanes, bit errors, slow receivers, broken NICs, drifted configuration",
            "BGP and EVPN on every switch (routing: bgp): messages, timers, decisions, packets lost meanwhile",
            "silent hosts (vxlan.silent): unknown unicast and ARP are flooded until the host has answered",
            "tenants that route between subnets: symmetric IRB, anycast gateways, Type-5 (RFC 9135, RFC 9136)",
        ),
        (
            "cut-through forwarding",
            "pipelines and memory slices inside a chip; virtual output queues",
            "PCIe, doorbells, CPU and memory of hosts beyond one latency and one drain rate",
            "RDMA READ, SEND, atomics",
            "link-layer retry and FEC latency",
            "hosts that routing leaves find by ARP on demand; unknown unicast to hosts that have left",
            "routing messages as packets in queues (decisions/0009)",
            (
                "of DCQCN in firmware: a cut at the end of a monitor period (here at once), CNPs spaced per port "
                "(here per "
                "queue pair), the limiter's release at line rate, alpha on a free-running timer (decisions/0026)"
            ),
            "of DCTCP: slow start (RDMA NICs start at line rate), a cut by retransmission timeouts",
            "of TCP: connections, segments of a byte stream, receive windows, HyStart; a queue pair is a connection",
            "of TIMELY, HPCC and HPCC-PINT: a departure moved to an earlier time when the rate rises",
            "of Swift: a cut by retransmission timeouts",
            "averaged WRED queues (SONiC programs weight 0)",
        ),
        _ASIC_DEFAULTS,
    ),
    "hpcc-ns3": Model(
        "hpcc-ns3",
        "The public HPCC simulator (ns-3), to the nanosecond; for comparison with studies made with it.",
        (
            "its clock: whole nanoseconds, serialisation truncated through 64.64 fixed point (1048 B at 100G: 83 ns)",
            (
                "its frames: data 48 + payload, ACK 60, PFC 43 bytes (HPCC: 90 + payload, 88; TIMELY: 56, "
                "HPCC-PINT: 50 + payload); "
                "no FCS, preamble, gap, BTH"
            ),
            "its buffer: reserve per port, dynamic threshold (1/8 and more above NIC speed), headroom of 3 one-way BDP",
            "its PFC: one class a frame, on until resumed, acting at once; hosts never pause",
            "its ECN: at dequeue, on the queue without the leaving packet; certain only above Kmax",
            "its NIC: one list of queue pairs scanned round robin; finished ones are removed during the scan",
            (
                "its DCQCN: notification in the ACK of every marked packet, timers only, alpha and decrease timers "
                "run free"
            ),
            "its DCTCP, TIMELY, HPCC and HPCC-PINT (CC_MODE 8, 7, 3 and 10), with windows by GLOBAL_T 1",
            "its go-back-N: NACK at most every 500 us for one gap, no timeout, duplicates are not acknowledged",
            "its ECMP: MurmurHash3 seeded with the switch's number, next hops in descending order",
            "its stock fault: hosts send ACKs in the strict queue, switches put them into the data queue (acks: stock)",
        ),
        (
            "priorities other than 3, several ports per host, overlays, faults, watchdogs: it has no such rules",
            "its random numbers: every coin flip there opens a new stream; compare over seeds; not HPCC-PINT's",
            "order of equal moments, except with --scheduler sequential --order insertion",
            (
                "timers that it leaves running after a flow whose last ACK is its first notification (no effect on "
                "results)"
            ),
            "GLOBAL_T 0 in scenarios; L2_ACK_INTERVAL other than 1; L2_BACK_TO_ZERO",
            "latency of switches and hosts: it has none",
        ),
        _NS3_RDMA_DEFAULTS,
        _NS3_RDMA_FIXED,
    ),
}
"""Model cards by name."""

ECN_CURVES: Final[Mapping[str, tuple[EcnParams, int, str]]] = {
    # name: (curve, rate it is for; 0: any, source)
    "hpcc": (
        EcnParams(100_000, 400_000, 0.2),
        25 * 10**9,
        "alibaba-edu/High-Precision-Congestion-Control run.py: 100/400 KB at 25G, growing with the speed",
    ),
    "paper-2015": (EcnParams(5_000, 200_000, 0.01), 0, "Zhu et al., SIGCOMM 2015: 5/200 KB, 1 %, for 40G ports"),
    "sonic": (EcnParams(2**20, 2**21, 0.05), 0, "sonic-buildimage qos_config.j2 AZURE_LOSSLESS: 1/2 MiB, 5 %"),
    "dctcp": (
        EcnParams(75_000, 75_001, 1.0),
        25 * 10**9,
        "a step, as RFC 8257 section 3.1 has it: every packet above 3 KB per Gb/s (HPCC run.py, mode dctcp)",
    ),
}


def ecn_curve(name: str, rate_bps: int) -> EcnParams:
    """A named curve for one port speed."""
    curve, reference_bps, _ = ECN_CURVES[name]
    if not reference_bps:
        return curve
    return EcnParams(
        curve.kmin_bytes * rate_bps // reference_bps, curve.kmax_bytes * rate_bps // reference_bps, curve.pmax_ratio
    )


def default_tree(model: str) -> dict[str, Any]:
    """The defaults of a model as a nested mapping in the form of a scenario."""
    tree: dict[str, Any] = {}
    for default in MODELS[model].defaults:
        section, _, field = default.path.partition(".")
        tree.setdefault(section, {})[field] = default.value
    return tree
