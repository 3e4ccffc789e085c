"""The engine's tables: dtype, unit, owner and writer of every field, and the State tuple that holds them.

CONFIG is in config_table.py; the tables of transfers, datagrams, shapers and controls are in files of their own.

Ownership (why threads need no locks): every row belongs to one device. A handler writes only rows of its own device;
the few fields that another device reads or resets between windows are marked. Row 0 of PACKET is unused: 0 means
"none" in every packet field. Narrow fields are read through int(): NumPy would keep the narrow type when the kernels
run as plain Python.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fabric.dataplane.state.layout import F8, I8, LINE_PAIR, U1, U2, U4, table

KEY_BITS: Final = 12
"""Low bits of a calendar key hold the source: at most 4096 sources a device, 2**50 ps = 18 minutes simulated."""


def rows(count: int, dtype: np.dtype[Any] | type[Any]) -> NDArray[Any]:
    """(count,) zeros that begin on a pair of cache lines."""
    kind = np.dtype(dtype)
    raw = np.zeros(count * kind.itemsize + LINE_PAIR, np.uint8)
    start = -raw.ctypes.data % LINE_PAIR
    return raw[start : start + count * kind.itemsize].view(kind)


# fmt: off
DEVICE = table(  # (n_nodes,)  one cache line; its neighbour stays empty
    ("first_port", U4), ("n_ports", U4),
    ("tree", U4),                # first row of this device's calendar in State.tree
    ("leaves", U4),              # a power of two
    ("thread", U4),              # last thread that ran it                                 writer: loop
    ("free_head", U4),           # free packet rows                                       writer: pool
    ("free_count", U4),
    ("reserve", U4),             # packet rows that one event may need                    writer: build
    ("slot", U4),                # of State.next_ps and State.roster                      writer: build
    ("is_host", U1),
    ("window", I8),              # of its last visit                                      writer: wire
    ("latency_ps", I8),
    ("events", I8),              # handled since start                                    writer: loop
    apart=True)

PORT = table(  # (n_ports,)  first cache line: sending; second: receiving and counting; then rare fields
    ("node", U4), ("peer", U4), ("peer_node", U4), ("index", U2),
    ("rate_row", U2),            # row of State.tx_ps                                      writer: build, edits
    ("up", U1), ("free_pending", U1), ("nonempty", U1), ("paused", U1),   # bitmaps by class, writer: owner
    ("strict", U1),              # bitmap of classes with strict priority                 writer: build, edits
    ("rr_class", U1),            # DWRR / round robin pointer                              writer: scheduler
    ("pfc_classes", U1),         # PAUSE honoured and sent for these          writer: build, edits, watchdog
    ("wd_dropping", U1),         # classes that the watchdog empties                       writer: watchdog
    ("mtu_bytes", U4),
    ("out_tail", U4),            # last frame sent                                         writer: wire
    ("busy_until_ps", I8),       # end of the frame being sent                             writer: transmit
    ("arrival_delay_ps", I8),    # departure end -> the peer handles it: propagation + peer latency
    ("out_window", I8),          # its window                                              writer: wire
    ("ctrl_head", U4), ("ctrl_tail", U4),    # PFC frames (and strict control frames) waiting
    ("tx_bytes", I8), ("tx_pkts", I8), ("busy_ps", I8),     # busy_ps: time spent sending; counters are never reset
    ("rx_bytes", I8), ("rx_pkts", I8),
    ("bit_error_ratio", F8),
    ("in_head", U4),             # first frame in flight to this port                      writer: wire
    ("pin_head", U4),            # first PFC frame
    ("first_loss", U4),          # first row of State.losses; 0: none                      writer: build, edits
    ("dscp_map", U2),            # row of State.dscp_maps: of a switch port for packets that come in, of a host port
                                 # that of its peer, for packets that leave
    ("held", U2),                # bitmap of classes that a shaper keeps from leaving; bit 8: the port has a shaper
                                 #                                                  writer: build, shaper
    ("pout_window", I8), ("pout_tail", U4),  # as out_window and out_tail, for PFC frames
    ("rate_bps", I8),
    ("pause_delay_ps", I8),      # departure end -> the peer has stopped: propagation + peer response time
    ("pause_quanta", I8), ("quantum_ps", I8),      # 512 bit times at this port's speed
    ("pfc_next_ps", I8),         # earliest pause expiry or refresh of this port (may be early)   writer: pause
    ("response_ps", I8), ("propagation_ps", I8),
    ("tx_pause_pkts", I8), ("rx_pause_pkts", I8), ("fcs_errors", I8), ("dropped_pkts", I8), ("dropped_bytes", I8),
    ("lost_pkts", I8), ("lost_bytes", I8),       # lost in flight towards this port when the link went down
    ("down_since_ps", I8), ("down_ps", I8),
    ("wd_unpaused", U1),         # classes without PFC because of the watchdog            writer: watchdog, edits
    ("scale_up", U1),            # of a host: to its scale-up switch, so frames go past the NIC's receive buffer
    ("pfc_unsent", U1), ("pfc_ignored", U1),   # of pfc_classes: no PAUSE is sent; none is obeyed
    ("shaped", U2),              # bitmap of queues with a shaper; bit 8: the whole port     writer: build
    ("wd_action", U1), ("wd_detection_ps", I8), ("wd_restoration_ps", I8),
    ("tx_notice_pkts", I8), ("rx_notice_pkts", I8),  # congestion notices      writer: transmit, switch/notice
)

WIRE = table(  # (n_ports,)  never written while kernels run: where sent frames are announced
    ("port", U4),                # the peer
    ("task", U4), ("inbox", U4))  # the task of its device, and that task's first row of every inbox

QUEUE = table(  # (n_ports * 8,)  egress, row = port * 8 + queue; two hot cache lines, then rare fields
    ("head", U4), ("tail", U4),
    ("depth_bytes", I8), ("depth_pkts", I8),
    ("pool", U4), ("ecn", U1), ("drop_non_ect", U1), ("wd_state", U1), ("wd_watched", U1),
    ("kmin_bytes", I8),
    ("limit_bytes", I8),         # static limit; -1: dynamic
    ("shift", I8),               # dynamic limit = free << shift (or >> -shift)
    ("watermark_bytes", I8),     # since last sample                          writer: egress; sampler resets
    ("peak_bytes", I8),          # since start
    ("enqueued_pkts", I8), ("enqueued_bytes", I8), ("sent_pkts", I8), ("sent_bytes", I8),
    ("ect_pkts", I8), ("kmax_bytes", I8), ("pmax_ratio", F8),
    ("marked_pkts", I8),
    ("ready_head", U4), ("ready_tail", U4),  # hosts: queue pairs in round robin, qp + 1
    ("quantum_bytes", I8), ("deficit_bytes", I8),
    ("dropped_pkts", I8), ("dropped_bytes", I8),  # refused and flushed
    ("flushed_pkts", I8), ("flushed_bytes", I8),  # discarded after they had been enqueued (dead link, watchdog)
    # watchdog memory
    ("wd_left_ps", I8), ("wd_restore_left_ps", I8), ("wd_stormed_ps", I8), ("wd_last_sent_pkts", I8),
    ("wd_detected", I8), ("wd_restored", I8), ("wd_dropped_pkts", I8), ("wd_last_rx_pkts", I8), ("wd_last_on2off", I8),
    ("wd_last_paused_ps", I8), ("wd_last_paused", I8), ("wd_polled", I8),
    # egress pools in detail; 0 where CONFIG.egress_detail is
    ("use_bytes", I8),           # reserved + shared, in cells                             writer: egress_pool
    ("reserved_bytes", I8),      # guaranteed before the queue draws on the pool
    ("share", U4),               # row of State.shares: its port's limit in the pool; 0: none
)

PG = table(  # (n_ports * 8,)  ingress, row = port * 8 + priority group; two hot cache lines, then rare fields
    ("use_bytes", I8),           # reserved + shared, in cells                             writer: buffer
    ("headroom_bytes", I8),
    ("xoff_sent", U1), ("lossless", U1), ("pool", U4),
    ("reserved_bytes", I8), ("limit_bytes", I8), ("shift", I8),
    ("watermark_bytes", I8),     # since last sample
    ("peak_bytes", I8),          # since start
    ("least_margin_bytes", I8),  # smallest limit - shared use so far: <= 0 means XOFF
    ("admitted_pkts", I8),
    ("rx_pkts", I8), ("rx_bytes", I8),           # received in this class, on hosts too       writer: ingress, station
    ("xoff_bytes", I8), ("xon_bytes", I8), ("xon_offset_bytes", I8),
    ("headroom_watermark_bytes", I8),            # since last sample
    ("headroom_peak_bytes", I8),                 # since start
    ("peak_share_ratio", F8),    # shared use / limit when the margin was least: 1 = XOFF
    ("peak_limit_bytes", I8),    # the limit at that moment
    ("dropped_pkts", I8),
    ("xoff_count", I8),
    ("lost_pkts", I8),           # of this class, lost in flight when the link went down (drops count them too)
)

PRIO = table(  # (n_ports * 8,)  PFC, row = port * 8 + priority
    ("until_ps", I8),            # receive side: paused until                              writer: pause
    ("since_ps", I8),            # start of the present pause; else the end of the last one
    ("refresh_ps", I8),          # send side: next XOFF refresh; INFINITY when not sent
    ("sent_since_ps", I8),       # send side: first XOFF of the present pause
    ("xoff_sent", U1),
    ("rx_xoff_pkts", I8), ("rx_xon_pkts", I8), ("tx_xoff_pkts", I8), ("tx_xon_pkts", I8),
    ("on2off_pkts", I8),         # received XOFF -> XON (or expiry) transitions
    ("rx_paused_ps", I8), ("tx_paused_ps", I8), ("longest_ps", I8), ("pauses", I8),
    ("begun_ps", I8),            # start of the most recent pause; 0 before the first         writer: pause
    ("recent_ps", I8),           # length of the last pause that ended                        writer: pause
)

POOL = table(  # (n_pools,)
    ("size_bytes", I8), ("used_bytes", I8), ("headroom_size_bytes", I8), ("headroom_used_bytes", I8),
    ("watermark_bytes", I8), ("peak_bytes", I8), ("headroom_peak_bytes", I8), ("switch", U4),
    ("headroom_watermark_bytes", I8),            # since last sample
)

SWITCH = table(  # (n_nodes - n_hosts,)
    ("cell_bytes", I8), ("cells_row", U4),
    ("hash_algorithm", U1), ("hash_fields", U1), ("load_balance", U1), ("mark_at_dequeue", U1), ("is_vtep", U1),
    ("hash_seed", I8), ("flowlet_gap_ps", I8), ("ip", I8),
    ("first_host", U4),          # a host at this leaf: represents its VTEP in copies of broadcasts
    ("net_copies", I8),          # packets made by replication less packets used up by it    writer: arp
    ("tc_to_pg", U1, (8,)), ("tc_to_queue", U1, (8,)),
    ("wd_poll_ps", I8), ("wd_rule", U1),
    ("wd_charge_ps", I8),        # time that each poll counts for; 0: wd_poll_ps
    apart=True)

HOST = table(  # (n_hosts,)
    ("starts", U4), ("n_starts", I8),        # region and fill of State.starts
    ("waits", U4), ("n_waits", I8),          # region and fill of State.waits
    ("scan_last", I8),           # ns3_rdma: round robin pointer
    ("first_qp", U4), ("n_qps", I8), ("first_qp_list", U4),
    ("drain_bps", I8), ("rx_buffer_bytes", I8), ("rx_xoff_bytes", I8), ("rx_xon_bytes", I8),
    ("rx_used_bytes", I8), ("rx_peak_bytes", I8), ("rx_head", U4), ("rx_tail", U4),
    ("rx_xoff_sent", U1), ("rx_port", U4),
    ("cnp_head", U4), ("cnp_tail", U4),
    ("first_storm", U4),         # first row of State.storms; 0: none                      writer: edits, faults
    ("storm_port", U4),          # port of the storms
    ("ask_next", U4), ("ask_end", U4),           # region of State.asks still to be sent
    ("timeout_ps", I8),          # next check of the retransmission timers
    # counters since start
    ("goodput_bytes", I8), ("cnp_sent", I8), ("cnp_handled", I8), ("cnp_ignored", I8), ("ecn_received", I8),
    ("out_of_sequence", I8), ("naks_sent", I8), ("naks_received", I8), ("retransmitted_pkts", I8), ("timeouts", I8),
    ("rx_discards", I8), ("messages_done", I8), ("messages_failed", I8), ("duplicates", I8),
    ("retransmitted_gbn_pkts", I8), ("retransmitted_sr_pkts", I8), ("retransmitted_timeout_pkts", I8),
    ("arp_requests_sent", I8), ("arp_requests_received", I8), ("arp_replies_sent", I8), ("arp_replies_received", I8),
    # recovery out-of-order; receiving: placed while an earlier packet was missing, the most packets that the bitmap
    # spanned; sending: declared lost, sent again although it arrived, sent again as a tail loss probe
    ("out_of_order_pkts", I8), ("out_of_order_peak_pkts", I8),
    ("declared_lost_pkts", I8), ("spurious_pkts", I8), ("retransmitted_probe_pkts", I8),
    ("datagrams_sent", I8), ("datagrams_refused", I8), ("datagrams_received", I8), ("datagrams_marked", I8),
    ("source_routed_pkts", I8),  # sent with a source route                               writer: source_route
    ("routes_withdrawn", I8),    # source routes withdrawn now, of those that it uses      writer: fill_routes
)

ADDRESS = table(  # (n_hosts,)  read-only while kernels run: every switch reads it, so no written field is beside it
    ("ip", U4),
    ("leaf", U4),                # NodeId of the first attached switch
    ("vni", U4),                 # its subnet: column of State.segments; from n_vnis on: a routed port
)

QP = table(  # (n_qps,)  sending side                                                  owner: source host
    ("src", U4), ("dst", U4), ("port", U4), ("next", U4),     # next: ready list, qp + 1
    ("dscp", U1), ("tc", U1), ("state", U1), ("cnp_seen", U1), ("alpha_seen", U1), ("started", U1), ("retries", U1),
    ("resend", U1),              # codes.Resend: reason of the present retransmissions
    ("words", U4),               # src UDP port | dst UDP port << 16
    ("next_psn", I8),            # next packet to send; PSNs do not wrap here
    ("acked_psn", I8),           # first packet not acknowledged
    ("posted_psn", I8),          # end of the last posted message
    ("top_psn", I8),             # end of all packets sent so far: a packet below it is a retransmission
    ("msg_head", U4), ("msg_tail", U4), ("msg_now", U4),  # message + 1: oldest unacknowledged, last posted, being sent
    ("available_ps", I8),        # pacing: earliest next departure
    ("rate_bps", I8), ("target_bps", I8), ("line_bps", I8), ("alpha", F8),
    ("alpha_at_ps", I8), ("increase_at_ps", I8), ("decrease_at_ps", I8),
    ("byte_count", I8), ("byte_stage", I8), ("time_stage", I8),
    ("deadline_ps", I8),         # retransmission timer
    ("recover_psn", I8),         # selective repeat: recovery ends when this is acknowledged
    ("sacked_psn", I8),          # selective repeat: end of the packets known received
    ("resend_psn", I8),          # selective repeat: next hole to check
    ("retransmitted_pkts", I8), ("timeouts", I8), ("cuts", I8), ("naks", I8), ("sent_pkts", I8),
    ("payload_bytes", I8),       # of a full packet
)

NIC = table(  # (n_hosts,) ns3_rdma, else (1,): the index of a host's queue pairs      owner: the host
    ("slots", I8),               # slots in use; a queue pair keeps its slot
    ("low", I8),                 # no queue pair on the list has a lower slot
    ("cursor", I8),              # slot of the queue pair served last; -1: only its place HOST.scan_last is known
    ("n_waits", I8),             # fill of State.waits
    ("n_checks", I8),            # fill of State.checks
    ("past", I8),                # queue pairs with packets left whose next departure has come, blocked or not
    ("first_word", I8), ("words", I8),           # of State.slot_bits: first word, words of one level-0 bitmap
)

PAIR = table(  # (n_qps,) ns3_rdma, else (1,)                                            owner: source host
    ("slot", U4),                # slot + 1; 0: not on the list
    ("where", U1),               # codes.Departure
    ("blocked", U1), ("ready", U1), ("finished", U1), ("checked", U1),    # at the last check; in State.checks
    ("start_ps", I8), ("start_order", I8),       # start of its rate timers, and next_order then
    ("cut_ps", I8),              # last start of its increase timer
    ("wait_ps", I8),             # departure of its entry in State.waits, while WAITING
    ("window_bytes", I8),        # its window at line rate, if there are windows              writer: build
)

ANCESTRY = table(("order", I8), ("parent", I8))   # order of a scheduled event, and of its parent

RQP = table(  # (n_qps,)  receiving side                                               owner: destination host
    ("expected_psn", I8),
    ("last_cnp_ps", I8), ("nak_at_ps", I8), ("nak_for_psn", I8), ("unacked_pkts", I8),
    ("base_psn", I8),            # first packet of the message being received (go-back-0)
    ("out_of_sequence", I8),
    apart=True)

BOARD = table(  # (n_qps,) or (1,)  recovery out-of-order, sending side; names of RFC 8985   owner: source host
    ("first_slot", I8), ("n_slots", I8),     # region of State.sent_ps and State.bitmap: packet psn has psn % n_slots
    ("pending_pkts", I8),        # declared lost and not sent again yet; above 0 QP.recover_psn is INFINITY_PS
    ("newest_sent_ps", I8), ("newest_psn", I8),  # RACK.xmit_ts, RACK.end_seq: of the arrived packets, the one sent last
    ("end_psn", I8),             # end of the arrived packets
    ("rtt_ps", I8), ("min_rtt_ps", I8), ("srtt_ps", I8),     # RACK.rtt, RACK.min_RTT, SRTT; 0 and INFINITY_PS: unknown
    ("peak_rtt_ps", I8),         # the longest recent round trip: a decaying peak
    ("recovery_end_psn", I8),    # next_psn when the present recovery began; 0: none
    ("round_psn", I8),           # RACK.dsack_round
    ("probe_psn", I8),           # TLP.end_seq of the last probe; -1: none
    ("reorder_ps", I8), ("probe_ps", I8),    # next loss detection (a lower bound), next tail loss probe
    ("window_mult", U1),         # RACK.reo_wnd_mult
    ("persist", U1),             # RACK.reo_wnd_persist
    ("probes", U1),              # sent since the last arrival
)

PLACEMENT = table(  # (n_qps,) or (1,)  recovery out-of-order, receiving side           owner: destination host
    ("first_slot", I8), ("n_slots", I8),     # region of State.placed
    ("end_psn", I8),             # end of the arrived packets
    apart=True)

DCTCP = table(  # (n_qps,) or (1,)  sending side; names of RFC 8257                      owner: source host
    ("window_end_psn", I8),      # DCTCP.WindowEnd: an ACK beyond it ends the observation window
    ("acked_pkts", I8),          # DCTCP.BytesAcked, in packets: acknowledged in this observation window
    ("marked_pkts", I8),         # DCTCP.BytesMarked, in packets: of these, by ACKs with an echo
    ("cut_end_psn", I8),         # no further cut until an ACK is beyond it
)

DCTCP_RECEIVER = table(  # (n_qps,) or (1,)  receiving side                             owner: destination host
    ("ce", U1),                  # DCTCP.CE: whether the last packet was marked
    apart=True)

MESSAGE = table(  # (1 + n_messages + issued,)  row 0 unused                           owner: source host
    ("qp", U4), ("next", U4), ("waits_for", U4), ("first_dep", U4), ("n_deps", U4),
    ("size_bytes", I8), ("n_pkts", I8), ("base_psn", I8), ("ready_ps", I8), ("delay_ps", I8),
    ("start_ps", I8),            # posted; -1 before, -2 while a flow of ns3_rdma is being made (host/station)
    ("end_ps", I8),              # last byte acknowledged; -1 before
    ("retransmitted_pkts", I8), ("failed", U1),
)

RMESSAGE = table(  # (1 + n_messages + issued,)  owner: destination host; of a transfer's message, from its posting
                    # until its last packet is accepted, then its source (host/transfers, rule 4)
    ("arrived_ps", I8),          # last byte in order at the receiver; -1 before
    ("first_ps", I8),            # first packet there
    ("hops", U4),                # switches its last packet crossed
    ("received_pkts", U4),       # selective repeat: distinct packets here
)

PACKET = table(  # (capacity,)  64 bytes; owner: its present holder (a device, a wire)
    ("time_ps", I8),             # time of its effect at the next device
    ("order", I8),               # insertion order of that event
    ("seq", U4),                 # PSN of data; next expected PSN of ACK/NAK; quanta of PFC
    ("next", U4),                # list it is in
    ("qp", U4), ("src", U4), ("dst", U4), ("msg", U4), ("in_port", U4),
    ("words", U4),               # UDP ports, source | destination << 16; while encapsulated, the outer
                                 # source port | << 16: with PacketFlag.ROUTED row of its target VTEP,
                                 # with a source route its place in State.route_ports << 4 | switches passed,
                                 # of flooded unicast NodeId of its target host
    ("size", U2), ("payload", U2),
    ("charged", U2),             # bytes of whole cells charged at the present switch
    ("inner_tos", U1),           # DSCP << 2 | ECN of the inner header, while encapsulated
    ("unseen_hops", U1),         # switches that did not decrement the TTL that the receiver sees
    ("kind", U1), ("ecn", U1), ("tc", U1), ("dscp", U1),   # tc: class at the present device; dscp: outermost header
    ("flags", U1), ("ttl", U1), ("classes", U1), ("xoff", U1),    # ttl: of the outermost header; classes, xoff: of a
                                 # PFC frame, bitmaps; classes: the inner TTL, while encapsulated; xoff of an ACK
                                 # or NAK: switches that its data packet crossed
)

DROP = table(("pkts", I8), ("bytes", I8))          # (n_ports * 8 * N_DROP_REASONS,)  owner: the port's device
HEAP = table(("time_ps", I8), ("item", U4), ("order", I8))    # regions of starts and waits
MEMBER = table(("port", U4), ("pkts", I8), ("bytes", I8))     # ECMP group members
GROUP = table(("first", U4), ("count", U4), ("next", U4))     # next: spraying, adaptive
NOTICE = table(  # (n_ports,) or (1,)  congestion notices of a switch port                 owner: its device
    ("threshold_bytes", I8),     # of its level 1; 0: the port has no level
    ("level", U1), ("announced_ps", I8),         # announced last, and when
    ("first", U4), ("count", U4),                # slice of State.noticed: by index of the peer's port
)                                                # writer: switch/notice
ROUTE_SET = table(  # (1 + sets,) source routes from a switch to a host; row 0 unused          writer: fill_routes
    ("first", U4), ("count", U4),                # rows of State.routes
    ("live", U4),                # routes to choose from: those not withdrawn, or all if all are
)
ROUTE = table(  # (routes,) or (1,)                                                           writer: fill_routes
    ("place", U4),               # in State.route_ports: its egress ports, one for each switch
    ("withdrawn", U1),
    ("order", U4),               # by place in the set: its routes (row - first), those to choose from first
)
NIC_PORTS = table(  # (2 * n_qps,) or (1,) data of each queue pair, then its answers; bitmaps by port of the NIC
    ("reach", I8),               # ports from which a route leads to the destination             writer: fill_routes
    ("line", I8),                # those whose rates add up to its line rate                     writer: fill_routes
    ("live", I8),                # those that packets may leave by now                           writer: fill_routes
    ("port", U4),                # of the next packet                  writer: host/nic_ports, of its sender's device
)
NOTICED = table(("drain_ps", I8), ("until_ps", I8))  # of a port of the peer: what its last notice adds, until when
SEGMENT = table(  # (n_switches * n_vnis,) a layer-2 VNI at a leaf                        owner: the leaf
    ("suppress", U1),            # answer ARP for known targets (RFC 7432 section 10)      writer: build, edits
    ("first", U4), ("count", U4),                # remote VTEPs of the flood list: a slice of State.vteps
    ("encap_pkts", I8), ("decap_pkts", I8),
    ("arp_requests", I8),        # broadcast, from local hosts
    ("arp_suppressed", I8), ("arp_flooded", I8),     # of these: answered here; sent to other leaves
    ("bum_sent_pkts", I8),       # copies to other leaves
    ("bum_received_pkts", I8),   # copies from other leaves
    ("bum_delivered_pkts", I8),  # copies to local ports
)
ASK = table(  # (n_asks,) ARP requests of hosts, sorted by (host, time)                  owner: the asking host
    ("time_ps", I8), ("target", U4), ("answered_ps", I8),    # target NO_HOST: no such host; answered -1: not yet
)

HOP_BITS: Final = 4
"""Low bits of a source-routed packet's words: the switches that it has passed."""
NO_QP: Final = 0xFFFFFFFF
"""In TRANSFER: a computation."""
NO_HOST: Final = 0xFFFFFFFF
NO_TENANT: Final = 0xFFFFFFFF
"""In State.domains: no routing for these hosts."""
NOWHERE: Final = 0
HERE: Final = 1
BY_HOST: Final = 0xFFFFFFFF
"""In State.tenant_fib: no route; to a host at a port of this leaf; as bridged packets go (no control plane)."""
ANY_VTEP: Final = 0xFFFF
"""Outer destination of a packet that takes the routes of bridged packets; a switch's row is below it."""
LOSS = table(  # (1 + losses so far,) every n-th frame that arrives at a port is lost        owner: the port's device
    ("fault", I8),  # fill_faults.key_of; 0: without a fault
    ("all_kinds", U1),  # of every kind but flow control; else data frames and datagrams alone
    ("every", I8), ("count", I8),
    ("next", U4),  # of this port; 0: the last
)
STORM = table(  # (1 + storms so far,) endless XOFF                                         owner: the host
    ("classes", U1), ("quanta", I8), ("gap_ps", I8), ("until_ps", I8),
    ("next_ps", I8),
    ("paused_until_ps", I8),  # next frame; end of the pause by its last frame
    ("next", U4),  # of this host; 0: the last
)
SHARE = table(  # (1 + limits,) limit of one port in one egress pool                         owner: the port's device
    ("port", U4), ("pool", U4), ("limit_bytes", I8),
    ("shift", I8),  # as of a queue
    ("used_bytes", I8),  # shared bytes of the port's queues in the pool             writer: egress_pool
    ("peak_bytes", I8),
)
# fmt: on
FLOWLET = table(("last_ps", I8), ("port", U4))  # (n_switches * 1024,) or (1,)
RANDOM = table(("key", I8), ("count", I8))  # (n_nodes * N_RANDOM_USES,)
THREAD = table(  # (n_threads,)  first cache line: one window; then rare fields, and the coordinator's
    ("window", I8),  # its present window                            writer: wire
    ("count_base", I8),
    ("inbox_base", I8),  # its part of State.inbox_count and State.inbox in this window
    ("earliest_ps", I8),
    ("sent_ps", I8),  # of its present window: next event, effect of sent frames
    ("stop", I8),
    ("trace_count", I8),
    ("events", I8),
    ("stop_device", I8),
    ("present", I8),  # it takes part in this epoch                   writer: the coordinator
    ("windows", I8),
    ("rebalanced", I8),  # windows so far, and at the last load balancing
    ("recent_events", I8),  # events per window over the last few
    ("reached_ps", I8),  # the furthest horizon so far
    ("shared_windows", I8),  # windows open to workers; of these:
    ("shared_events", I8),
    ("own_events", I8),  # all events, and those of the coordinator
    ("own_ticks", I8),
    ("waited_ticks", I8),  # simulating, waiting for workers
    ("unprofitable", I8),  # workers cost more than they save
    apart=True,
)
TASK = table(  # (n_tasks,) devices that one thread simulates in one window
    ("first", U4),
    ("count", U4),  # slots: places in State.roster and next_ps, on separate cache lines
    ("inbox", U4),  # its first row of every inbox                  writer: build
    ("family", U4),  # the task of the switch above these hosts; of a switch: itself
    ("side", U4),  # 0 or 1: where there are two, every cable leads to the other one
    ("owner", U4),  # the thread that runs it unless another takes it    writer: balancing
    ("thread", U4),  # the thread that ran it last                   writer: task
    ("homed", U4),  # 1: hosts whose cables all lead to their family's switch
    ("seen", I8),  # window and thread of its last visit: wire.seen       writer: task
    ("next_ps", I8),  # earliest event of its devices, inbox aside     writer: task
    ("events", I8),
    ("ticks", I8),  # since the last load balancing                 writer: epoch, balancing
    ("load", I8),  # of a family, during load balancing            writer: balancing
    apart=True,
)
LIST = table(  # ((n_sides + 1) * n_threads,) tasks of one thread: first side, second side, homed hosts
    ("first", U4),
    ("count", U4),  # a slice of State.assigned                     writer: balancing
    ("load", I8),  # ticks that these took, during load balancing  writer: balancing
    apart=True,
)
SENT = table(  # the frames that one wire got in one window
    ("wire", I8),  # 2 * receiving port + is_pause
    ("first", U4),  # the first of them, and
    ("before", U4),
)  # the one sent before: the last that flies, if any does
TRACE = table(  # (n_threads * capacity,)
    ("time_ps", I8),
    ("device", U4),
    ("port", U4),
    ("kind", U1),
    ("prio", U1),
    ("reason", U1),
    ("qp", U4),
    ("a", I8),
    ("b", I8),
    ("c", I8),
    ("d", I8),
)
DEPENDENT = table(("message", U4), ("at_arrival", U1))


Table: TypeAlias = Any  # records: columns have no static type, and np.void has mypy try all overloads of NumPy
Heap = NDArray[np.void]
"""A table of HEAP rows."""


class _Tables(NamedTuple):
    config: Table  # CONFIG (n_laws,)
    devices: Table  # DEVICE (n_nodes,)
    next_ps: NDArray[np.int64]  # (n_slots,) earliest event of each device, by slot; INFINITY_PS where there is none
    tree: NDArray[np.int64]  # calendars: one winner tree of packed keys per device
    ports: Table  # PORT
    queues: Table  # QUEUE
    pgs: Table  # PG
    prios: Table  # PRIO
    pools: Table  # POOL
    packets: Table  # PACKET
    drops: Table  # DROP
    switches: Table  # SWITCH
    hosts: Table  # HOST
    addresses: Table  # ADDRESS, by host
    qps: Table  # QP
    rqps: Table  # RQP
    messages: Table  # MESSAGE
    rmessages: Table  # RMESSAGE
    dependents: Table  # DEPENDENT, grouped by earlier message
    starts: Table  # HEAP
    waits: Table  # HEAP
    transfers: Table  # TRANSFER
    rtransfers: Table  # RTRANSFER
    needs: Table  # NEED
    wakes: NDArray[np.uint32]  # (n_needs,) rows of State.needs, grouped by earlier transfer and event
    agendas: Table  # AGENDA
    turns: Table  # HEAP: postings and ends of computations to come, at most one a transfer
    issued: Table  # ISSUED
    ahead: NDArray[np.uint32]  # (rows of ISSUED,) next one of RTRANSFER.ahead             owner: destination host
    nics: Table  # NIC
    pairs: Table  # PAIR
    slots: NDArray[np.uint32]  # ns3_rdma: queue pairs of each host by slot; regions as those of waits
    slot_bits: NDArray[np.int64]  # ns3_rdma: bitmaps of each host by slot, two levels each (host/ns3_index)
    checks: Table  # HEAP: blocked queue pairs whose window may grow; regions as those of waits
    ancestry: Table  # ANCESTRY: a ring
    laws: NDArray[np.uint8]  # (n_qps,) row of config with the congestion control of each queue pair
    qp_list: NDArray[np.uint32]  # queue pairs of each host, contiguous per host
    fib: NDArray[np.uint32]  # (n_switches * n_hosts,) group + 1; 0: no route
    groups: Table  # GROUP
    members: Table  # MEMBER
    dscp_maps: NDArray[np.uint8]  # (n_maps * 64,) traffic class by row and DSCP
    tx_ps: NDArray[np.int64]  # (n_rates * TX_SIZES,) serialisation time by rate row and frame bytes
    cells: NDArray[np.uint16]  # (n_cell_sizes * TX_SIZES,) bytes of whole cells by row and frame bytes
    random: Table  # RANDOM
    flowlets: Table  # FLOWLET
    notices: Table  # NOTICE
    noticed: Table  # NOTICED
    route_sets: Table  # ROUTE_SET
    routes: Table  # ROUTE
    route_ports: NDArray[np.uint32]  # egress ports of all source routes
    route_set_of: NDArray[np.uint32]  # (n_switches * n_hosts,) or (1,) row of route_sets, by switch and host; 0: none
    route_turns: NDArray[np.uint32]  # (2 * n_qps * CONFIG.nic_ports,) or (1,) next route of data, then of answers, by
    # port of the NIC  owner: their sender
    nic_ports: Table  # NIC_PORTS
    losses: Table  # LOSS
    shares: Table  # SHARE
    shapers: Table  # shaper_tables.SHAPER
    storms: Table  # STORM
    segments: Table  # SEGMENT
    vteps: NDArray[np.uint32]  # flood lists: NodeIds of leaves
    known: NDArray[np.uint8]  # (n_switches * n_hosts,) 1: the leaf knows the host's MAC and IP by EVPN
    # 2: it does not know the host's MAC, and floods packets for it
    asks: Table  # ASK
    streams: Table  # STREAM
    rstreams: Table  # RSTREAM
    sources: Table  # SOURCE
    stream_turns: Table  # HEAP: the next datagram of each stream that has one left
    datagram_drops: Table  # DROP, of datagrams alone; (1,) where there is no stream
    domains: NDArray[np.uint32]  # (n_subnets,) by ADDRESS.vni: column of the L3 VNI's segment, or NO_TENANT
    tenant_fib: NDArray[np.uint32]  # (n_switches * n_hosts,) routed packets: NOWHERE, HERE, BY_HOST, or place in ways
    ways: NDArray[np.uint32]  # sets of equal VTEPs: their number, then the rows of their switches; from 2 on
    vtep_fib: NDArray[np.uint32]  # (n_switches * n_switches,) group + 1 towards a VTEP's address; 0: no route
    bitmap: NDArray[np.uint8]  # selective repeat: a byte per queue pair and packet of its window: sender, receiver;
    # out-of-order: of the sender, by slot (dataplane/host/scoreboard.py)
    boards: Table  # BOARD
    placements: Table  # PLACEMENT
    dctcp: Table  # DCTCP
    dctcp_receivers: Table  # DCTCP_RECEIVER
    timely: Table  # control_tables.TIMELY
    hpcc: Table  # control_tables.HPCC
    hpcc_hops: Table  # control_tables.HPCC_HOP
    swift: Table  # control_tables.SWIFT
    cubic: Table  # control_tables.CUBIC
    departures: Table  # control_tables.DEPARTURE
    loads: NDArray[np.int64]  # HPCC-PINT: (n_ports,) or (1,) of each port, 8192: full, rounded
    load_terms: Table  # control_tables.PINT_PORT
    logs: NDArray[np.int32]  # HPCC-PINT: (LOGARITHMS,) or (1,) of whole numbers, to the base 2, in steps of 1/32768
    powers: NDArray[np.float64]  # HPCC-PINT: (POWERS,) or (1,) of 2
    pint_codes: Table  # control_tables.PINT_CODE
    draws: Table  # HPCC-PINT: RANDOM, (n_nodes,) or (1,)
    generator: NDArray[np.int64]  # HPCC-PINT, insertion order: rng.WORDS words of one generator; else (1,)
    telemetry: NDArray[np.int64]  # (CONFIG.telemetry_words * rows of packets,) or (1,): beside a data frame, its answer
    sent_ps: NDArray[np.int64]  # (n_slots,) out-of-order, sender: when a packet in flight was sent last
    placed: NDArray[np.uint32]  # (n_slots,) out-of-order, receiver: 2 * message + (1: its last packet); 0: not here
    trace: Table  # TRACE
    wires: Table  # WIRE
    inbox: Table  # SENT (2 * n_threads * inbox rows): by turn, by sending thread, by receiving task
    inbox_count: NDArray[np.int64]  # (2 * n_threads * n_tasks, to whole lines) window and number of rows
    threads: Table  # THREAD (n_threads,)
    tasks: Table  # TASK (n_tasks,)
    lists: Table  # LIST (n_sides * n_threads,)
    assigned: NDArray[np.uint32]  # (n_tasks,) tasks, grouped by side and owner
    roster: NDArray[np.uint32]  # (n_slots,) devices, grouped by task
    shared: NDArray[np.int64]  # (LINE * (N_SHARED + N_MAIL * n_threads),) codes.Shared, codes.Mail
    global_tree: NDArray[np.int64]  # insertion order: winner tree of leaf numbers, the root at 1, leaves from half on
    global_time: NDArray[np.int64]  # insertion order: pending moment of each node's winner
    global_order: NDArray[np.int64]  # insertion order: sequence number of each node's winner
    leaf_device: NDArray[np.uint32]  # insertion order: (n_leaves,) owner of a leaf


class State(_Tables):
    """Every table. Arrays only: a checkpoint is these arrays on disk, and digest() is a hash of the observable ones.

    Immutable except for the tables' contents, so data derived from their addresses may be kept with it (jit.entry).
    """


TX_SIZES: Final = 16384
"""Frame sizes per row of State.tx_ps; a frame is at most 9216 + headers."""
