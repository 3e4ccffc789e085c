"""The table of transfers: sizes by formula, needs by count."""

from __future__ import annotations

from fabric.collectives.transfers import Event, TransferList, Transfers, expand


def ring_all_reduce(n: int, elements: int) -> Transfers:
    """Two transfers a rank: reduce-scatter and all-gather, chunk numbers as in docs of NCCL's ring."""
    rows = TransferList()
    small, longer = divmod(elements, n)
    shape = {"small_bytes": small, "unit_bytes": 1, "n_longer": longer, "stride": -1, "modulus": n}
    reduce = [rows.add(r, (r + 1) % n, n - 1, first=(r - 1) % n, **shape) for r in range(n)]
    gather = [rows.add(r, (r + 1) % n, n - 1, first=r, **shape) for r in range(n)]
    for r in range(n):
        rows.need(reduce[r - 1], reduce[r], lead=0, per=1)
        rows.need(reduce[r - 1], gather[r], lead=n - 1)
        rows.need(gather[r - 1], gather[r], lead=0, per=1)
    return rows.build()


def test_a_ring_sends_what_the_closed_form_says_also_where_chunks_differ() -> None:
    transfers = ring_all_reduce(5, 1_000_003)
    assert list(transfers.problems()) == []
    assert transfers.n_messages == 2 * 5 * 4
    assert int(transfers.sent_bytes(5).sum()) == 2 * 4 * 1_000_003
    sizes = transfers.sizes_bytes(0)  # rank 0 sends chunks 4, 3, 2, 1; the first three are longer
    assert sizes.tolist() == [200_000, 200_000, 200_001, 200_001]


def test_expansion_has_one_dependency_for_each_need_of_a_message() -> None:
    full = expand(ring_all_reduce(3, 3))
    assert len(full.size_bytes) == 12
    # Message 1 of rank 0's first half waits for message 0 of rank 2's, which is row 4.
    assert (4, 1, Event.ARRIVED) in full.after
    assert sum(later == 0 for _, later, _ in full.after) == 0
    # The second half begins after all of the first half that ends here, and message k also needs k of its own half.
    assert {earlier for earlier, later, _ in full.after if later == 7} == {5, 10}


def test_needs_that_the_posting_rank_cannot_know_are_problems() -> None:
    rows = TransferList()
    first = rows.add(0, 1, small_bytes=1)
    rows.need(first, rows.add(2, 0, small_bytes=1))
    assert len(list(rows.build().problems())) == 1
