"""Requests from other threads to the simulation thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from telemetry.live.mailbox import MAX_CHANGES, MAX_READS, BusyError, Mailbox
from tests.telemetry.programs import PATIENCE_S, wait_for


@pytest.fixture
def served() -> Iterator[Mailbox]:
    """A mailbox whose requests are done until the test is over."""
    mailbox, over = Mailbox(), threading.Event()

    def work() -> None:
        while not over.is_set():
            mailbox.work(0.05)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield mailbox
    over.set()
    thread.join(PATIENCE_S)


def test_work_is_done_by_the_simulating_thread(served: Mailbox) -> None:
    assert served.ask(threading.get_ident, PATIENCE_S) != threading.get_ident()


def test_what_work_raises_reaches_who_asked(served: Mailbox) -> None:
    with pytest.raises(ZeroDivisionError):
        served.ask(lambda: 1 // 0, PATIENCE_S)
    assert served.ask(lambda: 7, PATIENCE_S) == 7


def test_requests_are_done_in_the_order_of_asking() -> None:
    mailbox, order = Mailbox(), []
    with ThreadPoolExecutor(1) as pool:
        for number in (1, 2):
            asked = pool.submit(mailbox.ask, lambda number=number: order.append(number), PATIENCE_S)
            assert mailbox.work(PATIENCE_S)
            asked.result()
    assert order == [1, 2]


def test_a_request_that_was_not_begun_in_time_is_never_done() -> None:
    mailbox, done = Mailbox(), []
    with pytest.raises(BusyError):
        mailbox.ask(lambda: done.append(1), timeout_s=0.01)
    assert not mailbox.work(0)
    assert not done


def test_no_request_is_lost_or_done_twice(served: Mailbox) -> None:
    done: list[int] = []
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: served.ask(lambda: done.append(number), PATIENCE_S), range(200)))
    assert sorted(done) == list(range(200))


def test_without_requests_work_returns_after_its_time() -> None:
    assert not Mailbox().work(0)


def test_reads_go_before_changes_and_one_call_carries_out_one_change() -> None:
    mailbox, order = Mailbox(), []
    with ThreadPoolExecutor(6) as pool:
        asked = [
            pool.submit(mailbox.ask, lambda number=number: order.append(f"change {number}"), PATIENCE_S, change=True)
            for number in range(3)
        ]
        wait_for(lambda: len(mailbox._changes) == 3, "three changes to be asked for")
        asked += [pool.submit(mailbox.ask, lambda: order.append("read"), PATIENCE_S) for _ in range(2)]
        wait_for(lambda: len(mailbox._reads) == 2, "two reads to be asked for")
        counts = []
        while mailbox.work(0):
            counts.append(len(order))
        for it in asked:
            it.result()
    assert counts == [3, 4, 5]
    assert order[:2] == ["read", "read"]
    assert sorted(order[2:]) == ["change 0", "change 1", "change 2"]


@pytest.mark.parametrize(("change", "most"), [(False, MAX_READS), (True, MAX_CHANGES)])
def test_what_waits_is_bounded(change: bool, most: int) -> None:
    mailbox = Mailbox()
    with ThreadPoolExecutor(most) as pool:
        asked = [pool.submit(mailbox.ask, lambda: 1, PATIENCE_S, change=change) for _ in range(most)]
        wait_for(lambda: len(mailbox._reads) + len(mailbox._changes) == most, "as many requests as may wait")
        with pytest.raises(BusyError, match="waiting for the run already"):
            mailbox.ask(lambda: 1, PATIENCE_S, change=change)
        while mailbox.work(0):
            pass
        assert [it.result() for it in asked] == [1] * most
