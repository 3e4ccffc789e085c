"""`fabric`, whose server waits for its run as long as a busy machine takes.

Its own limits in seconds are a promise for a machine that keeps up. Tests that overload it judge what is answered, and
in which order.
"""

from __future__ import annotations

from typing import Final

PATIENCE_S: Final = 600.0
PATIENT: Final = "from tests.reliability.patient import entry; entry()"
"""The program."""


def entry() -> None:
    """`fabric`, as its entry point is."""
    from fabric.cli.main import entry as of_fabric
    from telemetry.export import server
    from telemetry.live import simulation
    from telemetry.live.mailbox import Mailbox

    server.ANSWER_S = server.CHANGE_S = PATIENCE_S  # type: ignore[misc]
    simulation.READY_S = simulation.DEAD_S = PATIENCE_S  # type: ignore[misc]
    Mailbox.ask.__defaults__ = (PATIENCE_S,)
    of_fabric()
