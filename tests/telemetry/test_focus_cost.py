"""What a root cost, in the first screen of a report."""

from __future__ import annotations

import pytest

from telemetry.sources.focus import cost_of


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        (
            {"messages.total": 16_481, "messages.done": 15_000, "messages.failed": 0, "drops.total": 25_055},
            "25,055 packets lost, 1,481 of 16,481 messages not done",
        ),
        (
            {"messages.total": 2, "messages.done": 0, "messages.failed": 1, "drops.total": 1},
            "1 packet lost, 1 of 2 messages failed, 1 of 2 messages not done",
        ),
        (
            {"messages.total": 2, "messages.done": 2, "messages.failed": 0, "drops.total": 0},
            "time only: no packet was lost, every message was done",
        ),
        ({}, "time only: no packet was lost, every message was done"),
    ],
)
def test_the_cost_of_a_run_is_packets_lost_and_messages_not_delivered(metrics: dict[str, int], said: str) -> None:
    assert cost_of({"metrics": metrics}) == said
