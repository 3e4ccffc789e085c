"""State.config: what holds for the whole run, and for each congestion control in use (decision 0124)."""

from __future__ import annotations

from fabric.dataplane.state.layout import F8, I8, table

# fmt: off
# CONFIG, (n_laws,): row 0 is the run's, others are laws of queue pairs (transport/laws). Read-only while kernels run,
# except next_order and the fields of insertion order at its end.
CONFIG = table(
    ("n_nodes", I8), ("n_hosts", I8), ("n_ports", I8), ("n_qps", I8), ("n_threads", I8),
    ("order", I8),               # codes.Order
    ("next_order", I8),          # insertion order: next sequence number                writer: calendar
    ("tie_key", I8),             # insertion order: not 0: equal moments run in random order, drawn from this key
    ("lookahead_ps", I8),        # smallest time from a departure to its effect on another device
    ("semantics", I8), ("cc", I8), ("recovery", I8),
    ("n_laws", I8),              # rows of CONFIG
    ("telemetry_words", I8),     # of State.telemetry for each frame; 0: no control in use has any
    ("telemetry_of_switches", I8),   # 1: switches read and write them
    ("flow_control", I8),        # codes.FlowControl, of every link
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
    # TIMELY
    ("beta", F8), ("low_rtt_ns", I8), ("high_rtt_ns", I8), ("min_rtt_ns", I8),
    # HPCC
    ("load_target", F8), ("fast_react", I8), ("multi_rate", I8), ("sample_feedback", I8),
    ("increase_stages", I8),     # additive increases in a row before the next multiplicative one
    ("int_multiple", I8),        # units of the records: 128 and 80 bytes times this
    ("int_shift", I8),           # which is 2 to this power; below 0: no power of 2
    # Swift: packets, and times of targets
    ("base_target_ps", I8), ("hop_target_ps", I8), ("host_target_ps", I8), ("flow_range_ps", F8),
    ("flow_scale_ps", F8), ("flow_offset_ps", F8),   # flow scaling: scale / sqrt(window) + offset
    ("increment_pkts", F8), ("largest_cut", F8), ("least_window", F8),
    # DCTCP, CUBIC
    ("loss_cut", F8), ("cubic_scale", F8), ("first_window", F8), ("fast_convergence", I8),
    # HPCC-PINT
    ("code_base", F8), ("code_scale", F8), ("code_mask", I8),   # a load of u is the code log(512 u) * code_scale
    ("accepted", I8), ("span_ns", I8),   # of 65536 ACKs; T of switches, of Swift the base round trip
    ("log_span", F8),            # logarithm of span_ns, as State.logs                      writer: fill_pint
    ("radix", F8), ("notes_departures", I8),   # 2, unknown to the compiler, so that it keeps pow; 1: State.departures
    # overlay
    ("vxlan", I8), ("n_vnis", I8), ("arp_bytes", I8), ("vxlan_uniform", I8), ("vxlan_dscp", I8), ("vxlan_ecn_copy", I8),
    # 1: egress pools have sizes, guarantees or limits of ports (dataplane/switch/egress_pool.py)
    ("egress_detail", I8),
    ("notices", I8),             # 1: a switch sends congestion notices (dataplane/switch/notice.py)
    ("route_choice", I8),        # codes.RouteChoice of NICs
    ("nic_ports", I8),           # most ports of a NIC, if packets of a queue pair leave by several; else 1
    #                                                                                      writer: fill_routes
    ("n_l3", I8),                # tenants that route between subnets; 0: their tables are not read
    ("n_messages", I8),          # rows of MESSAGE of the run's single messages; later rows are those of transfers
    ("n_transfers", I8),
    ("n_streams", I8),
    ("keep_messages", I8),       # 1: rows of finished messages of transfers wait for the driver, which reads them
    ("trace_rows", I8),          # rows of State.trace per thread
    ("trace_mask", I8),          # codes.TraceBit categories that are recorded
    ("inbox_rows", I8),          # rows of State.inbox for each turn and thread
    ("reorder_window_ps", I8),   # out-of-order: least reordering window
    # insertion order: the event being run                                              writer: sequential
    ("now_ps", I8), ("event_order", I8),
    ("ancestry_rows", I8), ("ancestry_count", I8),   # rows of State.ancestry (0: not kept); entries since start
    ("ancestry_lost", I8),       # a needed entry had been overwritten
    ("running_timers", I8),      # queue pairs whose rate timers run                       writer: ns3_dcqcn
)
# fmt: on
