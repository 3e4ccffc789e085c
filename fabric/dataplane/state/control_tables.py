"""Tables of congestion controls whose senders keep more than QP's rate fields; units and owners as in types.py.

TIMELY and HPCC read what data frames carried to the receiver (State.telemetry, CONFIG.telemetry_words words a frame):
TIMELY's word 0 is the departure in ps, HPCC-PINT's the code. Swift's words are the departure and the wait in the
receiver's NIC, both in ps. HPCC's word 0 has the number of switches in its low 8 bits and,
above, a number that tells paths apart; words 1 to 5 are the records by hop, word 6 the speeds of these ports.
"""

from __future__ import annotations

from typing import Final

from fabric.dataplane.state.layout import F8, I8, U4, table

HOPS: Final = 5
"""Records of hops that fit HPCC's header (int-header.h: maxHop)."""

# fmt: off
TIMELY = table(  # (n_qps,) or (1,)                                                     owner: source host
    ("mark_psn", I8),            # an ACK beyond it is the first of a new window of data; 0: no ACK yet
    ("base_bps", I8),            # the rate that the next change starts from
    ("stage", I8),               # increases since the last decrease
    ("rtt_ns", I8),              # round trip of the last window's ACK
    ("slope_ns", F8),            # moving average of its change from window to window
)

HPCC = table(  # (n_qps,) or (1,)  names of the HPCC paper in brackets                   owner: source host
    ("mark_psn", I8),            # an ACK beyond it ends the reference window [lastUpdateSeq]; 0: no ACK yet
    ("base_bps", I8),            # reference rate [W^c as a rate]
    ("stage", I8),               # additive increases in a row [incStage]
    ("load_ratio", F8),          # moving average of the fullest hop's load [U]; 1: a full link without a queue
    ("rtt_ns", I8), ("window_bytes", I8),        # base round trip [T] and its window at line rate   writer: build
    ("frame_bytes", I8),         # last frame sent
    ("path", I8),                # word 0 of the last records
    ("acked_ps", I8),            # time of the last records
)

HPCC_HOP = table(  # (n_qps * HOPS,) or (1,)  row = queue pair * HOPS + hop                owner: source host
    ("record", I8),              # last one seen: time, bytes and queue as they were on the wire
    ("load_ratio", F8), ("rate_bps", I8), ("stage", I8),     # multi_rate: as in HPCC, by hop
)

SWIFT = table(  # (n_qps,) or (1,)                                                      owner: source host
    ("fabric_pkts", F8), ("host_pkts", F8),          # windows [fcwnd, ecwnd]
    ("fabric_cut_ps", I8), ("host_cut_ps", I8),      # time of each one's last cut [t_last_decrease]
    ("rtt_ps", I8),              # of the last answer
)

CUBIC = table(  # (n_qps,) or (1,)  names of RFC 9438 in brackets                        owner: source host
    ("window_pkts", F8), ("threshold_pkts", F8),     # [cwnd, ssthresh]
    ("peak_pkts", F8), ("before_pkts", F8),          # of the last cut [W_max, cwnd_prior]
    ("reno_pkts", F8), ("to_peak_s", F8),            # since the last cut [W_est]; from then to W_max [K]
    ("begin_ps", I8),            # of congestion avoidance [t_epoch]
    ("cut_end_psn", I8),         # no further cut until an ACK names this packet
    ("timeouts", I8),            # those of the queue pair that the window knows of
)

DEPARTURE = table(  # (n_ports,) or (1,)  last frame of a switch port             owner: its device
    ("start_ps", I8), ("bytes", I8),             # any kind of frame; bytes with wire overhead
)                                               # writer: port/transmit (control frames), transport/pint

PINT_CODE = table(  # (CODES,) or (1,)  HPCC-PINT: what follows from a small number alone, never written by kernels
    ("share", F8),               # of a load of row / 512, row >= 1: probability of the higher code, times 65536
    ("low", U4), ("high", U4),   # its codes
    ("power", F8),               # of a code, its row: base ** code
)

PINT_PORT = table(  # (n_ports,) or (1,)  HPCC-PINT: terms of a port's load, one cache line         owner: its device
    ("rate_bps", I8), ("queue_unit", F8),        # the speed that all terms are of; what the queue's power is times
    ("load_ratio", F8), ("other_load_ratio", F8),   # terms of frames of two sizes: most frames have one of them
    ("bytes", U4), ("other_bytes", U4),          # these sizes
    # The present load is the sum of: the term of a frame; powers of the logarithms of the queue's term and of the
    # previous load's, each plus 1, 0: no such term.
    ("frame_load_ratio", F8), ("queue_log", U4), ("old_log", U4),
    ("load_log", U4),            # logarithm of State.loads plus 1, where State.logs has it; else 0
)
# fmt: on

CODES: Final = 4096
"""Rows of PINT_CODE: loads up to 8, and codes. The few numbers beyond are computed."""
POWERS: Final = 448
"""Rows of State.powers: 2 to a whole number of 1/32768 is the product of three, one of 128, of 256 and of 64."""
LOGARITHMS: Final = 16384
"""Rows of State.logs: times up to 16 us, queues up to 4 MiB, frames, loads up to 2. Numbers beyond are computed."""
