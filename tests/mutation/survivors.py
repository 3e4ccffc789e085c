"""Survivors that are understood: no test can tell them from the code, or telling them apart is not worth a test.

A row names a module, a line and what the mutant makes of it, so that it stays true when lines move. Rows whose
mutant is gone are reported.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Known(NamedTuple):
    """Why a mutant may survive."""

    module: str
    """Package of packages.py and file, wherever it lies."""
    before: str
    after: str
    reason: str


EQUIVALENT: Final[tuple[Known, ...]] = (
    Known(
        "port/gate.py",
        'if time_ps < row["pfc_next_ps"]:',
        'if time_ps <= row["pfc_next_ps"]:',
        "the moment is scheduled already, and scheduling it again changes nothing",
    ),
    Known(
        "port/wire.py",
        "if _count(state, task, _part(state, window, thread), window) > 0:",
        "if _count(state, task, _part(state, window, thread), window) >= 0:",
        "simulates a task without events: costs time, changes no result",
    ),
    Known(
        "port/hooks.py",
        'if row["bit_error_ratio"] <= 0.0 or damaged(state, device, port, packet) == INTACT:',
        'if row["bit_error_ratio"] < 0.0 or damaged(state, device, port, packet) == INTACT:',
        "damaged() checks the same, and counted losses take data frames only",
    ),
    Known(
        "transport/dcqcn.py",
        "while next_ps < end_ps:",
        "while next_ps <= end_ps:",
        "the increase falls on the departure itself: nothing is paid at the new rate",
    ),
    Known("transport/dcqcn.py", "if at_ps < end_ps:", "if at_ps <= end_ps:", "adds a rate times no time"),
    Known(
        "transport/dcqcn.py",
        "if at_ps + need_ps <= next_ps:",
        "if at_ps + need_ps < next_ps:",
        "what is paid exactly at the timer is paid a step later, in no time",
    ),
    Known(
        "transport/ns3_dcqcn.py",
        "if left < _STEADY:",
        "if left <= _STEADY:",
        "64 steps are left only where alpha does not change any more",
    ),
    Known("switch/buffer.py", "if shift >= 0:", "if shift > 0:", "a shift by nothing either way"),
    Known(
        "switch/buffer.py",
        'if limit - shared >= row["least_margin_bytes"] and shared < limit and row["headroom_bytes"] == 0:',
        'if limit - shared > row["least_margin_bytes"] and shared < limit and row["headroom_bytes"] == 0:',
        "a margin as small as the least is neither noted nor does it send anything",
    ),
    Known("switch/buffer.py", "if from_headroom > 0:", "if from_headroom >= 0:", "gives back nothing"),
    Known("switch/hashing.py", "if bit > 0:", "if bit >= 0:", "a shift by 32 of a 32-bit word leaves nothing"),
    Known(
        "host/nic.py",
        'if state.hosts[device]["n_waits"] > 0 and (not waiting or state.devices[device]["n_ports"] > 1):',
        'if state.hosts[device]["n_waits"] >= 0 and (not waiting or state.devices[device]["n_ports"] > 1):',
        "cancels a wake-up at which nothing would happen",
    ),
    Known(
        "host/nic.py",
        'if state.hosts[device]["n_waits"] > 0 and state.devices[device]["n_ports"] > 1:',
        'if state.hosts[device]["n_waits"] >= 0 and state.devices[device]["n_ports"] > 1:',
        "cancels a wake-up at which nothing would happen",
    ),
    Known(
        "host/scoreboard.py",
        'if look_ps < host["timeout_ps"]:',
        'if look_ps <= host["timeout_ps"]:',
        "the moment is scheduled already",
    ),
    Known(
        "host/placement.py",
        "while expected < end:",
        "while expected <= end:",
        "the slot at the end is empty, which ends the search, too",
    ),
    Known(
        "host/messages.py",
        'if above["time_ps"] < time_ps or (above["time_ps"] == time_ps and above["order"] <= order):',
        'if above["time_ps"] < time_ps or (above["time_ps"] == time_ps and above["order"] < order):',
        "no two postings have one number",
    ),
    Known(
        "host/receiver.py",
        'if i64(frame["flags"]) & _FIRST and psn >= row["expected_psn"] '
        'and state.rmessages[u(message)]["first_ps"] < 0:',
        'if i64(frame["flags"]) & _FIRST and psn >= row["expected_psn"] '
        'and state.rmessages[u(message)]["first_ps"] <= 0:',
        "no packet can have arrived at time 0",
    ),
    Known(
        "checks/tunnels.py",
        "if host.roce_mtu and len(sizes) > 1 and host.roce_mtu != sizes[-1]:",
        "if host.roce_mtu and len(sizes) > 0 and host.roce_mtu != sizes[-1]:",
        "one size is the largest size: no host differs from it",
    ),
    Known(
        "checks/routing.py",
        "speeds = sorted({line.port.speed_mbps or 0 for line in up})",
        "speeds = sorted({line.port.speed_mbps or 1 for line in up})",
        "lines without a speed are not among these",
    ),
)
"""These compute the same; they are not counted."""


class Caught(NamedTuple):
    """A mutant that no test detected once, and the test that fails with it today."""

    package: str
    what: str
    before: str
    after: str
    test: str


ONCE_SURVIVED: Final[tuple[Caught, ...]] = (
    Caught(
        "port",
        "the deficit of an emptied class is kept",
        'state.queues[port * 8 + chosen]["deficit_bytes"] = 0',
        "pass",
        "tests/edges/test_port_edges.py::test_a_class_that_was_empty_starts_with_deficit_0",
    ),
    Caught(
        "semantics",
        "XON below its level only",
        "shared <= max(",
        "shared < max(",
        "tests/edges/test_switch_edges.py::test_xon_is_sent_at_the_higher_of_xon_and_limit_less_offset_to_the_byte",
    ),
    Caught(
        "switch",
        "half of the rotations of CRC-32 over addresses and ports",
        "mix32(seed & _MASK) & 31",
        "mix32(seed & _MASK) & 15",
        "tests/dataplane/test_hashing.py::test_crc32_with_a_seed_is_zlibs_from_that_start_rotated_by_an_amount_drawn_from_it",
    ),
    Caught(
        "switch",
        "half of the rotations of CRC-32 with the queue pair",
        "mix32(seed & _MASK) & 31",
        "mix32(seed & _MASK) & 15",
        "tests/dataplane/test_hashing.py::test_the_destination_qp_is_a_fourth_word_of_the_published_hashes",
    ),
    Caught(
        "host",
        "CNPs more than an interval apart",
        '>= state.config[law(state, qp)]["cnp_interval_ps"]',
        '> state.config[law(state, qp)]["cnp_interval_ps"]',
        "tests/edges/test_host_edges.py::test_a_mark_exactly_at_the_end_of_the_cnp_interval_causes_a_cnp",
    ),
    Caught(
        "checks",
        "B1 at its bound",
        "if pools + private > total:",
        "if pools + private >= total:",
        "tests/validate/test_edges.py::test_a_check_speaks_beyond_its_bound_and_not_at_it",
    ),
    Caught(
        "checks",
        "B2 at its bound",
        "W if ratio > 6 else I",
        "W if ratio >= 6 else I",
        "tests/validate/test_edges.py::test_a_check_speaks_beyond_its_bound_and_not_at_it",
    ),
)
"""Survivors of earlier tests. Each was made by hand, and its test failed with it."""
