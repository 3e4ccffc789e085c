"""The engine's tables of transfers (decisions/0055); conventions as in types.py."""

from __future__ import annotations

from fabric.dataplane.state.layout import I8, U1, U4, table

# fmt: off
TRANSFER = table(  # (n_transfers,) or (1,)  a series of messages (decisions/0055)      owner: source host
    ("src", U4), ("dst", U4), ("qp", U4),        # NodeIds; qp NO_QP: a computation
    ("waits_for", U4),           # needs of the next message that are not met                writer: transfers
    ("first_need", U4), ("n_needs", U4),         # of this transfer, in State.needs
    # needs that name this transfer as the earlier, in State.wakes: on arrival, which the destination's host reads
    # alone; then on completion and on posting, for the source's
    ("first_wake", U4), ("n_arrived", U4), ("n_completed", U4), ("n_posted", U4),
    ("count", I8), ("small_bytes", I8), ("unit_bytes", I8),
    ("n_longer", I8), ("first", I8), ("stride", I8), ("modulus", I8),
    ("start_ps", I8), ("delay_ps", I8), ("delay_fs_per_byte", I8),
    ("number", I8),              # insertion order: the number of its first message
    ("n_sent", I8),              # messages that are sent: neither empty nor computed       writer: build
    ("posted", I8),              # messages posted or computed, with the empty ones behind them: the next one's index
    ("completed", I8),           # messages acknowledged or computed, with the empty ones behind them
    ("ready_ps", I8),            # every need of the next message was met                   writer: transfers
    ("size_bytes", I8),          # of the next message, once that is so
    ("first_ps", I8),            # first posting; -1 before
    ("posted_ps", I8),           # last posting; before the first: start_ps
    ("completed_ps", I8),        # last acknowledgement, or end of a computation; -1 before
    ("waited_ps", I8),           # from each posting until the next message's needs were met
    ("retransmitted_pkts", I8),  # of its acknowledged messages
    ("done_messages", I8), ("failed_messages", I8),
)

RTRANSFER = table(  # (n_transfers,) or (1,)                                            owner: destination host
    ("arrived", I8),             # messages arrived in order, with the empty ones behind them
    ("arrived_ps", I8),          # the last arrival in order; -1 before
    ("ahead", U4),               # rows of State.issued that arrived before an earlier one, a list by State.ahead
)

NEED = table(  # (n_needs,) or (1,)  grouped by later transfer                          owner: the later one's source
    ("earlier", U4), ("later", U4), ("event", U1),
    ("met", U1),                 # for the later transfer's next message                    writer: transfers
    ("lead", I8), ("per", I8),   # message k needs the first lead + per k of `earlier`
)

AGENDA = table(  # (n_hosts,) or (1,)  transfers of one host                               owner: the host
    ("turns", U4), ("n_turns", U4),              # region and fill of State.turns
    ("free", U4),                # free rows of MESSAGE, linked by MESSAGE.next              writer: transfers
    ("done", U4),                # rows that the driver has not read yet, likewise
    apart=True)

ISSUED = table(  # (rows of MESSAGE - n_messages,)  row = message - n_messages            owner: source host
    ("transfer", U4), ("state", U4),             # codes.Issue
    ("index", I8), ("ready_ps", I8),
)
# fmt: on
