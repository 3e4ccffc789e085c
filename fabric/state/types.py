"""The engine's tables: dtype, unit, owner and writer of every field, and the State tuple that holds them.

Ownership (why threads need no locks): every row belongs to one device. A handler writes only rows of its own
device; the few fields that another device reads or resets between windows say so. Row 0 of PACKET is nobody's: 0 means
"none" in every packet field. Narrow fields are read through int(): NumPy would keep the narrow type when the
kernels run as plain Python.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

I8, F8, U4, U2, U1 = np.int64, np.float64, np.uint32, np.uint16, np.uint8

KEY_BITS: Final = 12
"""Low bits of a calendar key hold the source: at most 4096 sources a device, 2**50 ps = 18 minutes simulated."""


CACHE_LINE: Final = 64
_LINE_PAIR = 2 * CACHE_LINE
"""Processors fetch lines two by two (Intel's optimisation manual: the spatial prefetcher): of neighbours that two
threads write, each takes the other's away.
"""
_PADDED_FROM = 56


def _table(*fields: tuple[Any, ...], apart: bool = False) -> np.dtype[np.void]:
    """A row type. Rows of more than 56 bytes fill whole cache lines: none straddles one needlessly, and rows of
    different owners never share one. Where it was measured to help, rows stand `apart`: they share no pair of lines
    either (decisions/0023).
    """
    packed = np.dtype(list(fields), align=True)
    if packed.itemsize <= _PADDED_FROM and not apart:
        return packed
    names, places = packed.names or (), dict(packed.fields or {})
    unit = _LINE_PAIR if apart else CACHE_LINE
    size = -(-packed.itemsize // unit) * unit
    return np.dtype({"names": names, "formats": [places[name][0] for name in names],
                     "offsets": [places[name][1] for name in names], "itemsize": size}, align=True)


def rows(count: int, dtype: np.dtype[Any] | type[Any]) -> NDArray[Any]:
    """(count,) zeros that begin on a pair of cache lines."""
    kind = np.dtype(dtype)
    raw = np.zeros(count * kind.itemsize + _LINE_PAIR, np.uint8)
    start = -raw.ctypes.data % _LINE_PAIR
    return raw[start : start + count * kind.itemsize].view(kind)


CONFIG = _table(  # (1,)  read-only while kernels run, except next_order and the fields of insertion order at its end
    ("n_nodes", I8), ("n_hosts", I8), ("n_ports", I8), ("n_qps", I8), ("n_threads", I8),
    ("order", I8),               # codes.Order
    ("next_order", I8),          # insertion order: next sequence number                writer: calendar
    ("tie_key", I8),             # insertion order: not 0: equal moments run in random order, drawn from this key
    ("lookahead_ps", I8),        # smallest time from a departure to its effect on another device
    ("law", I8), ("cc", I8), ("recovery", I8),
    ("seed", I8),
    # frames, bytes
    ("payload_bytes", I8), ("data_header_bytes", I8), ("reth_bytes", I8), ("ack_bytes", I8), ("cnp_bytes", I8),
    ("pfc_bytes", I8), ("vxlan_bytes", I8), ("min_gap_bytes", I8),  # min_gap_bytes: wire overhead per frame
    ("initial_ttl", I8), ("vxlan_ttl", I8),
    # transport
    ("window_bytes", I8), ("variable_window", I8), ("ack_every_packets", I8), ("timeout_ps", I8), ("retry_limit", I8),
    ("nak_interval_ps", I8), ("ack_dscp", I8), ("cnp_dscp", I8), ("ack_strict", I8), ("ack_strict_at_host", I8),
    ("sack_window_pkts", I8),
    # DCQCN
    ("gain", F8), ("initial_alpha", F8),
    ("alpha_timer_ps", I8), ("decrease_interval_ps", I8), ("increase_timer_ps", I8), ("byte_counter_bytes", I8),
    ("fast_recovery_steps", I8), ("additive_bps", I8), ("hyper_bps", I8), ("min_rate_bps", I8),
    ("clamp_target", I8), ("cnp_interval_ps", I8), ("cnp_delay_ps", I8),
    ("cut_divisor", I8), ("least_kept", F8),
    ("max_rate_bps", I8), ("first_rate_bps", I8),    # 0: none
    # overlay
    ("vxlan", I8), ("n_vnis", I8), ("arp_bytes", I8), ("vxlan_uniform", I8), ("vxlan_dscp", I8), ("vxlan_ecn_copy", I8),
    ("egress_detail", I8),       # 1: egress pools have sizes, guarantees or limits of ports (switch/egress_pool.py)
    ("n_l3", I8),                # tenants that route between subnets; 0: no table of theirs is ever read
    ("trace_rows", I8),          # rows of State.trace per thread
    ("trace_mask", I8),          # codes.TraceBit categories that are recorded
    ("inbox_rows", I8),          # rows of State.inbox for each turn and player
    ("reorder_window_ps", I8),   # out-of-order: least reordering window
    # insertion order: the event being run                                              writer: sequential
    ("now_ps", I8), ("event_order", I8),
    ("ancestry_rows", I8), ("ancestry_count", I8),   # rows of State.ancestry (0: not kept); entries since start
    ("ancestry_lost", I8),       # an entry was needed that had been overwritten
    ("running_timers", I8),      # queue pairs whose rate timers run                       writer: hpcc_dcqcn
)

DEVICE = _table(  # (n_nodes,)  one cache line; its neighbour stays empty
    ("first_port", U4), ("n_ports", U4),
    ("tree", U4),                # first row of this device's calendar in State.tree
    ("leaves", U4),              # a power of two
    ("player", U4),              # thread that played it last                             writer: loop
    ("free_head", U4),           # free packet rows                                       writer: pool
    ("free_count", U4),
    ("reserve", U4),             # packet rows that one event may need                    writer: build
    ("slot", U4),                # of State.next_ps and State.roster                      writer: build
    ("is_host", U1),
    ("window", I8),              # in which it was entered last                           writer: wire
    ("latency_ps", I8),
    ("events", I8),              # handled since start                                    writer: loop
    apart=True)

PORT = _table(  # (n_ports,)  first cache line: sending; second: receiving and counting; then what is rare
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
    ("out_window", I8),          # the window of that                                      writer: wire
    ("ctrl_head", U4), ("ctrl_tail", U4),    # PFC frames (and strict control frames) waiting
    ("tx_bytes", I8), ("tx_pkts", I8), ("busy_ps", I8),     # busy_ps: time spent sending; counters are never reset
    ("rx_bytes", I8), ("rx_pkts", I8),
    ("bit_error_ratio", F8),
    ("in_head", U4),             # first frame flying towards this port                    writer: wire
    ("pin_head", U4),            # first PFC frame
    ("first_loss", U4),          # first row of State.losses; 0: none                      writer: build, edits
    ("pout_window", I8), ("pout_tail", U4),  # as out_window and out_tail, for PFC frames
    ("rate_bps", I8),
    ("pause_delay_ps", I8),      # departure end -> the peer has stopped: propagation + peer response time
    ("pause_quanta", I8), ("quantum_ps", I8),      # 512 bit times at this port's speed
    ("pfc_next_ps", I8),         # earliest pause expiry or refresh of this port (may be early)   writer: pause
    ("response_ps", I8), ("propagation_ps", I8),
    ("tx_pause_pkts", I8), ("rx_pause_pkts", I8), ("fcs_errors", I8), ("dropped_pkts", I8), ("dropped_bytes", I8),
    ("lost_pkts", I8), ("lost_bytes", I8),       # lost in flight towards this port when the link went down
    ("down_since_ps", I8), ("down_ps", I8),
    ("wd_unpaused", U1),         # classes of which the watchdog has taken PFC away       writer: watchdog, edits
)

WIRE = _table(  # (n_ports,)  never written while kernels run: where what a port has sent is made known
    ("port", U4),                # the peer
    ("task", U4), ("inbox", U4))  # the task of its device, and that task's first row of every inbox

QUEUE = _table(  # (n_ports * 8,)  egress, row = port * 8 + queue; two hot cache lines, then what is rare
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

PG = _table(  # (n_ports * 8,)  ingress, row = port * 8 + priority group; two hot cache lines, then what is rare
    ("use_bytes", I8),           # reserved + shared, in cells                             writer: buffer
    ("headroom_bytes", I8),
    ("xoff_sent", U1), ("lossless", U1), ("pool", U4),
    ("reserved_bytes", I8), ("limit_bytes", I8), ("shift", I8),
    ("watermark_bytes", I8),     # since last sample
    ("peak_bytes", I8),          # since start
    ("least_margin_bytes", I8),  # smallest limit - shared use ever seen: <= 0 means XOFF
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

PRIO = _table(  # (n_ports * 8,)  PFC, row = port * 8 + priority
    ("until_ps", I8),            # receive side: paused until                              writer: pause
    ("since_ps", I8),            # start of the present pause; else the end of the last one
    ("refresh_ps", I8),          # send side: next XOFF refresh; INFINITY when not sent
    ("sent_since_ps", I8),       # send side: first XOFF of the present pause
    ("xoff_sent", U1),
    ("rx_xoff_pkts", I8), ("rx_xon_pkts", I8), ("tx_xoff_pkts", I8), ("tx_xon_pkts", I8),
    ("on2off_pkts", I8),         # received XOFF -> XON (or expiry) transitions
    ("rx_paused_ps", I8), ("tx_paused_ps", I8), ("longest_ps", I8), ("pauses", I8),
)

POOL = _table(  # (n_pools,)
    ("size_bytes", I8), ("used_bytes", I8), ("headroom_size_bytes", I8), ("headroom_used_bytes", I8),
    ("watermark_bytes", I8), ("peak_bytes", I8), ("headroom_peak_bytes", I8), ("switch", U4),
    ("headroom_watermark_bytes", I8),            # since last sample
)

SWITCH = _table(  # (n_nodes - n_hosts,)
    ("cell_bytes", I8), ("cells_row", U4),
    ("hash_algorithm", U1), ("load_balance", U1), ("mark_at_dequeue", U1), ("is_vtep", U1),
    ("hash_seed", I8), ("flowlet_gap_ps", I8), ("ip", I8),
    ("first_host", U4),          # a host at this leaf: stands for its VTEP in copies of broadcasts
    ("net_copies", I8),          # packets made by replication less packets used up by it    writer: arp
    ("dscp_to_tc", U1, (64,)), ("tc_to_pg", U1, (8,)), ("tc_to_queue", U1, (8,)),
    ("wd_poll_ps", I8), ("wd_detection_ps", I8), ("wd_restoration_ps", I8), ("wd_action", U1), ("wd_rule", U1),
    apart=True)

HOST = _table(  # (n_hosts,)
    ("starts", U4), ("n_starts", I8),        # region and fill of State.starts
    ("waits", U4), ("n_waits", I8),          # region and fill of State.waits
    ("scan_last", I8),           # HPCC law: round robin pointer
    ("first_qp", U4), ("n_qps", I8), ("first_qp_list", U4),
    ("drain_bps", I8), ("rx_buffer_bytes", I8), ("rx_xoff_bytes", I8), ("rx_xon_bytes", I8),
    ("rx_used_bytes", I8), ("rx_peak_bytes", I8), ("rx_head", U4), ("rx_tail", U4),
    ("rx_xoff_sent", U1), ("rx_port", U4),
    ("cnp_head", U4), ("cnp_tail", U4),
    ("first_storm", U4),         # first row of State.storms; 0: none                      writer: edits, faults
    ("storm_port", U4),          # by which it storms
    ("ask_next", U4), ("ask_end", U4),           # region of State.asks still to be sent
    ("timeout_ps", I8),          # next look at the retransmission timers
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
)

ADDRESS = _table(  # (n_hosts,)  read-only while kernels run: every switch reads it, so nothing written lies beside it
    ("ip", U4),
    ("leaf", U4),                # NodeId of the first attached switch
    ("vni", U4),                 # its subnet: column of State.segments; from n_vnis on a routed port of its own
)

QP = _table(  # (n_qps,)  sending side                                                  owner: source host
    ("src", U4), ("dst", U4), ("port", U4), ("next", U4),     # next: ready list, qp + 1
    ("dscp", U1), ("tc", U1), ("state", U1), ("cnp_seen", U1), ("alpha_seen", U1), ("started", U1), ("retries", U1),
    ("resend", U1),              # codes.Resend: why what is sent again is sent again
    ("words", U4),               # src UDP port | dst UDP port << 16
    ("next_psn", I8),            # next packet to send; PSNs do not wrap here
    ("acked_psn", I8),           # first packet not acknowledged
    ("posted_psn", I8),          # end of the last posted message
    ("top_psn", I8),             # end of what was ever sent: below it everything is a retransmission
    ("msg_head", U4), ("msg_tail", U4), ("msg_now", U4),  # message + 1: oldest unacknowledged, last posted, being sent
    ("available_ps", I8),        # pacing: earliest next departure
    ("rate_bps", I8), ("target_bps", I8), ("line_bps", I8), ("alpha", F8),
    ("alpha_at_ps", I8), ("increase_at_ps", I8), ("decrease_at_ps", I8),
    ("byte_count", I8), ("byte_stage", I8), ("time_stage", I8),
    ("deadline_ps", I8),         # retransmission timer
    ("recover_psn", I8),         # selective repeat: recovery ends when this is acknowledged
    ("sacked_psn", I8),          # selective repeat: end of what is known received
    ("resend_psn", I8),          # selective repeat: next hole to look at
    ("retransmitted_pkts", I8), ("timeouts", I8), ("cuts", I8), ("naks", I8), ("sent_pkts", I8),
)

NIC = _table(  # (n_hosts,) HPCC law, else (1,): the index of a host's queue pairs      owner: the host
    ("slots", I8),               # slots in use; a queue pair keeps its slot
    ("low", I8),                 # no queue pair on the list has a lower slot
    ("cursor", I8),              # slot of the queue pair that was served last; -1: HOST.scan_last only says its place
    ("n_waits", I8),             # fill of State.waits
    ("n_checks", I8),            # fill of State.checks
    ("past", I8),                # queue pairs with packets left whose next departure has come, blocked or not
    ("first_word", I8), ("words", I8),           # of State.slot_bits: first word, words of one level-0 bitmap
)

PAIR = _table(  # (n_qps,) HPCC law, else (1,)                                            owner: source host
    ("slot", U4),                # slot + 1; 0: not on the list
    ("where", U1),               # codes.Departure
    ("blocked", U1), ("ready", U1), ("finished", U1), ("checked", U1),    # as last found; has an entry in State.checks
    ("start_ps", I8), ("start_order", I8),       # when its rate timers started, and next_order then
    ("cut_ps", I8),              # when its increase timer was started last
)

ANCESTRY = _table(("order", I8), ("parent", I8))   # a scheduling, and the order of the event that did it

RQP = _table(  # (n_qps,)  receiving side                                               owner: destination host
    ("expected_psn", I8),
    ("last_cnp_ps", I8), ("nak_at_ps", I8), ("nak_for_psn", I8), ("unacked_pkts", I8),
    ("base_psn", I8),            # first packet of the message being received (go-back-0)
    ("out_of_sequence", I8),
    apart=True)

BOARD = _table(  # (n_qps,) or (1,)  recovery out-of-order, sending side; names of RFC 8985   owner: source host
    ("first_slot", I8), ("n_slots", I8),     # region of State.sent_ps and State.bitmap: packet psn has psn % n_slots
    ("pending_pkts", I8),        # declared lost and not sent again yet; above 0 QP.recover_psn is INFINITY_PS
    ("newest_sent_ps", I8), ("newest_psn", I8),  # RACK.xmit_ts, RACK.end_seq: of what arrived, that sent last
    ("end_psn", I8),             # end of what has arrived
    ("rtt_ps", I8), ("min_rtt_ps", I8), ("srtt_ps", I8),     # RACK.rtt, RACK.min_RTT, SRTT; 0 and INFINITY_PS: unknown
    ("peak_rtt_ps", I8),         # the longest recent round trip: a decaying peak
    ("recovery_end_psn", I8),    # next_psn when the present recovery began; 0: none
    ("round_psn", I8),           # RACK.dsack_round
    ("probe_psn", I8),           # TLP.end_seq of the last probe; -1: none
    ("reorder_ps", I8), ("probe_ps", I8),    # next loss detection (a lower bound), next tail loss probe
    ("window_mult", U1),         # RACK.reo_wnd_mult
    ("persist", U1),             # RACK.reo_wnd_persist
    ("probes", U1),              # sent since something has come
)

PLACEMENT = _table(  # (n_qps,) or (1,)  recovery out-of-order, receiving side           owner: destination host
    ("first_slot", I8), ("n_slots", I8),     # region of State.placed
    ("end_psn", I8),             # end of what has arrived
    apart=True)

MESSAGE = _table(  # (n_messages + 1,)  row 0 unused                                    owner: source host
    ("qp", U4), ("next", U4), ("waits_for", U4), ("first_dep", U4), ("n_deps", U4),
    ("size_bytes", I8), ("n_pkts", I8), ("base_psn", I8), ("ready_ps", I8), ("delay_ps", I8),
    ("start_ps", I8),            # posted; -1 before
    ("end_ps", I8),              # last byte acknowledged; -1 before
    ("retransmitted_pkts", I8), ("failed", U1),
)

RMESSAGE = _table(  # (n_messages + 1,)                                                 owner: destination host
    ("arrived_ps", I8),          # last byte in order at the receiver; -1 before
    ("first_ps", I8),            # first packet there
    ("hops", U4),                # switches its last packet crossed
    ("received_pkts", U4),       # selective repeat: distinct packets here
)

PACKET = _table(  # (capacity,)  64 bytes; owner: whoever holds it (a device, a wire)
    ("time_ps", I8),             # moment of its effect at the next device
    ("order", I8),               # insertion order of that event
    ("seq", U4),                 # PSN of data; next expected PSN of ACK/NAK; quanta of PFC
    ("next", U4),                # list it is in
    ("qp", U4), ("src", U4), ("dst", U4), ("msg", U4), ("in_port", U4),
    ("words", U4),               # UDP ports, source | destination << 16; while an outer VXLAN header is worn, its
                                 # source port | << 16: where PacketFlag.ROUTED row of the VTEP that it is for,
                                 # of flooded unicast NodeId of the host that it is for
    ("size", U2), ("payload", U2),
    ("charged", U2),             # bytes of whole cells that the present switch accounts it with
    ("inner_tos", U1),           # DSCP << 2 | ECN of the inner header, while an outer VXLAN header is worn
    ("unseen_hops", U1),         # switches that took nothing from the TTL that the receiver sees
    ("kind", U1), ("ecn", U1), ("tc", U1), ("dscp", U1),   # tc: class at the present device; dscp: outermost header
    ("flags", U1), ("ttl", U1), ("classes", U1), ("xoff", U1),    # ttl: of the outermost header; classes, xoff: of a
                                 # PFC frame, bitmaps; classes: the inner TTL, while an outer header is worn
)

DROP = _table(("pkts", I8), ("bytes", I8))          # (n_ports * 8 * N_DROP_REASONS,)  owner: the port's device
HEAP = _table(("time_ps", I8), ("item", U4), ("order", I8))    # regions of starts and waits
MEMBER = _table(("port", U4), ("pkts", I8), ("bytes", I8))     # ECMP group members
GROUP = _table(("first", U4), ("count", U4), ("next", U4))     # next: spraying
SEGMENT = _table(  # (n_switches * n_vnis,) a layer-2 VNI at a leaf                        owner: the leaf
    ("suppress", U1),            # answer ARP for known targets (RFC 7432 section 10)      writer: build, edits
    ("first", U4), ("count", U4),                # remote VTEPs of the flood list: a slice of State.vteps
    ("encap_pkts", I8), ("decap_pkts", I8),
    ("arp_requests", I8),        # broadcast, from local hosts
    ("arp_suppressed", I8), ("arp_flooded", I8),     # of these: answered here; sent to other leaves
    ("bum_sent_pkts", I8),       # copies to other leaves
    ("bum_received_pkts", I8),   # copies from other leaves
    ("bum_delivered_pkts", I8),  # copies to local ports
)
ASK = _table(  # (n_asks,) ARP requests of hosts, sorted by (host, time)                  owner: the asking host
    ("time_ps", I8), ("target", U4), ("answered_ps", I8),    # target NO_HOST: nobody has it; answered -1: not yet
)
NO_HOST: Final = 0xFFFFFFFF
NO_TENANT: Final = 0xFFFFFFFF
"""In State.domains: nobody routes for these hosts."""
NOWHERE: Final = 0
HERE: Final = 1
BY_HOST: Final = 0xFFFFFFFF
"""In State.tenant_fib: no route; to a host at a port of this leaf; as bridged packets go (no control plane)."""
ANY_VTEP: Final = 0xFFFF
"""Outer destination of a packet that goes as bridged ones do; a switch's row is below it."""
LOSS = _table(  # (1 + losses so far,) every n-th data frame that arrives at a port is lost   owner: the port's device
    ("fault", I8),               # fill_faults.key_of; 0: no fault's
    ("every", I8), ("count", I8),
    ("next", U4),                # of this port; 0: the last
)
STORM = _table(  # (1 + storms so far,) XOFF without end                                     owner: the host
    ("classes", U1), ("quanta", I8), ("gap_ps", I8), ("until_ps", I8),
    ("next_ps", I8), ("asked_until_ps", I8),     # next frame; end of the pause that its last frame asked for
    ("next", U4),                # of this host; 0: the last
)
SHARE = _table(  # (1 + limits,) what one port may take of one egress pool                    owner: the port's device
    ("port", U4), ("pool", U4),
    ("limit_bytes", I8), ("shift", I8),          # as of a queue
    ("used_bytes", I8),          # shared bytes of the port's queues in the pool             writer: egress_pool
    ("peak_bytes", I8),
)
FLOWLET = _table(("last_ps", I8), ("port", U4))     # (n_switches * 1024,) or (1,)
RANDOM = _table(("key", I8), ("count", I8))         # (n_nodes * N_RANDOM_USES,)
THREAD = _table(  # (n_threads,)  first cache line: a player in a window; then what is rare, and the coordinator's
    ("window", I8),                          # the window that it plays                      writer: wire
    ("count_base", I8), ("inbox_base", I8),  # its part of State.inbox_count and State.inbox in this window
    ("earliest_ps", I8), ("sent_ps", I8),    # of what it has played in it: next event, effect of what was sent
    ("stop", I8), ("trace_count", I8), ("events", I8), ("stop_device", I8),
    ("present", I8),                         # it takes part in this stretch of windows      writer: the coordinator
    ("windows", I8), ("dealt", I8),          # windows so far, and when tasks were last dealt
    ("recent_events", I8),                   # what the last few windows had
    ("reached_ps", I8),                      # the furthest horizon so far
    ("shared_windows", I8),                  # those that were open to helpers; of these:
    ("shared_events", I8), ("own_events", I8),   # all events, and those that the coordinator played
    ("own_ticks", I8), ("waited_ticks", I8),     # playing, waiting for helpers
    ("dear", I8),                                # helpers cost more than they save
    apart=True)
TASK = _table(  # (n_tasks,) devices that one thread plays in one go
    ("first", U4), ("count", U4),            # slots: places in State.roster and next_ps, on lines of their own
    ("inbox", U4),                           # its first row of every inbox                  writer: build
    ("family", U4),                          # the task of the switch above these hosts; of a switch: itself
    ("side", U4),                            # 0 or 1: where there are two, every cable leads to the other one
    ("owner", U4),                           # the thread that plays it unless another has time   writer: dealing
    ("player", U4),                          # the thread that played it last                writer: task
    ("homed", U4),                           # 1: hosts whose cables all lead to their family's switch
    ("seen", I8),                            # when it was last looked at, and by whom: wire.seen   writer: task
    ("next_ps", I8),                         # earliest event of its devices, inbox aside     writer: task
    ("events", I8), ("ticks", I8),           # since tasks were last dealt                   writer: stretch, dealing
    ("load", I8),                            # of a family, while tasks are dealt            writer: dealing
    apart=True)
LIST = _table(  # ((n_sides + 1) * n_threads,) tasks of one thread: of the first side, of the second, and homed hosts
    ("first", U4), ("count", U4),            # a slice of State.dealt                        writer: dealing
    ("load", I8),                            # ticks that these took, while they are dealt   writer: dealing
    apart=True)
SENT = _table(  # the frames that one wire got in one window
    ("wire", I8),                            # 2 * receiving port + is_pause
    ("first", U4),                           # the first of them, and
    ("before", U4))                          # the one sent before: the last that flies, if any does
TRACE = _table(  # (n_threads * capacity,)
    ("time_ps", I8), ("device", U4), ("port", U4), ("kind", U1), ("prio", U1), ("reason", U1), ("qp", U4),
    ("a", I8), ("b", I8), ("c", I8), ("d", I8),
)
DEPENDENT = _table(("message", U4), ("at_arrival", U1))


Heap = NDArray[np.void]
"""A table of HEAP rows."""


class _Tables(NamedTuple):
    config: NDArray[np.void]     # CONFIG (1,)
    devices: NDArray[np.void]    # DEVICE (n_nodes,)
    next_ps: NDArray[np.int64]   # (n_slots,) earliest event of each device, by slot; INFINITY_PS where there is none
    tree: NDArray[np.int64]      # calendars: one winner tree of packed keys per device
    ports: NDArray[np.void]      # PORT
    queues: NDArray[np.void]     # QUEUE
    pgs: NDArray[np.void]        # PG
    prios: NDArray[np.void]      # PRIO
    pools: NDArray[np.void]      # POOL
    packets: NDArray[np.void]    # PACKET
    drops: NDArray[np.void]      # DROP
    switches: NDArray[np.void]   # SWITCH
    hosts: NDArray[np.void]      # HOST
    addresses: NDArray[np.void]  # ADDRESS, by host
    qps: NDArray[np.void]        # QP
    rqps: NDArray[np.void]       # RQP
    messages: NDArray[np.void]   # MESSAGE
    rmessages: NDArray[np.void]  # RMESSAGE
    dependents: NDArray[np.void]  # DEPENDENT, grouped by earlier message
    starts: NDArray[np.void]     # HEAP
    waits: NDArray[np.void]      # HEAP
    nics: NDArray[np.void]       # NIC
    pairs: NDArray[np.void]      # PAIR
    slots: NDArray[np.uint32]    # HPCC law: queue pairs of each host by slot; regions as those of waits
    slot_bits: NDArray[np.int64]     # HPCC law: bitmaps of each host by slot, two levels each (host/nic_index)
    checks: NDArray[np.void]     # HEAP: blocked queue pairs whose window may grow; regions as those of waits
    ancestry: NDArray[np.void]   # ANCESTRY: a ring
    qp_list: NDArray[np.uint32]  # queue pairs of each host, contiguous per host
    fib: NDArray[np.uint32]      # (n_switches * n_hosts,) group + 1; 0: no route
    groups: NDArray[np.void]     # GROUP
    members: NDArray[np.void]    # MEMBER
    tx_ps: NDArray[np.int64]     # (n_rates * TX_SIZES,) serialisation time by rate row and frame bytes
    cells: NDArray[np.uint16]    # (n_cell_sizes * TX_SIZES,) bytes of whole cells by row and frame bytes
    random: NDArray[np.void]     # RANDOM
    flowlets: NDArray[np.void]   # FLOWLET
    losses: NDArray[np.void]     # LOSS
    shares: NDArray[np.void]     # SHARE
    storms: NDArray[np.void]     # STORM
    segments: NDArray[np.void]   # SEGMENT
    vteps: NDArray[np.uint32]    # flood lists: NodeIds of leaves
    known: NDArray[np.uint8]     # (n_switches * n_hosts,) 1: the leaf knows the host's MAC and IP by EVPN
                                 # 2: it does not know the host's MAC, and floods what is for it
    asks: NDArray[np.void]       # ASK
    domains: NDArray[np.uint32]  # (n_subnets,) by ADDRESS.vni: column of the L3 VNI's segment, or NO_TENANT
    tenant_fib: NDArray[np.uint32]  # (n_switches * n_hosts,) routed packets: NOWHERE, HERE, BY_HOST, or place in ways
    ways: NDArray[np.uint32]     # sets of equal VTEPs: how many, then the rows of their switches; from 2 on
    vtep_fib: NDArray[np.uint32]  # (n_switches * n_switches,) group + 1 towards a VTEP's address; 0: no route
    bitmap: NDArray[np.uint8]    # selective repeat: a byte per queue pair and packet of its window: sender, receiver;
                                 # out-of-order: of the sender, by slot (host/scoreboard.py)
    boards: NDArray[np.void]     # BOARD
    placements: NDArray[np.void]  # PLACEMENT
    sent_ps: NDArray[np.int64]   # (n_slots,) out-of-order, sender: when a packet in flight was sent last
    placed: NDArray[np.uint32]   # (n_slots,) out-of-order, receiver: 2 * message + (1: its last packet); 0: not here
    trace: NDArray[np.void]      # TRACE
    wires: NDArray[np.void]      # WIRE
    inbox: NDArray[np.void]      # SENT (2 * n_threads * inbox rows): by turn, by who sent, by receiving task
    inbox_count: NDArray[np.int64]   # (2 * n_threads * n_tasks, to whole lines) window and number of rows
    threads: NDArray[np.void]    # THREAD (n_threads,)
    tasks: NDArray[np.void]      # TASK (n_tasks,)
    lists: NDArray[np.void]      # LIST (n_sides * n_threads,)
    dealt: NDArray[np.uint32]    # (n_tasks,) tasks, grouped by side and owner
    roster: NDArray[np.uint32]   # (n_slots,) devices, grouped by task
    shared: NDArray[np.int64]    # (LINE * (N_SHARED + N_MAIL * n_threads),) codes.Shared, codes.Mail
    global_tree: NDArray[np.int64]   # insertion order: winner tree of leaf numbers, the root at 1, leaves from half on
    global_time: NDArray[np.int64]   # insertion order: pending moment of each node's winner
    global_order: NDArray[np.int64]  # insertion order: sequence number of each node's winner
    leaf_device: NDArray[np.uint32]  # insertion order: (n_leaves,) owner of a leaf


class State(_Tables):
    """Every table. Arrays only: a checkpoint is these arrays on disk, and digest() is a hash of the observable ones.

    Immutable but for the tables' contents, so what is derived from their addresses may be kept with it (jit.entry).
    """


TX_SIZES: Final = 16384
"""Frame sizes per row of State.tx_ps; a frame is at most 9216 + headers."""
