"""What happens in the microseconds after a cable is cut?"""

from __future__ import annotations

import fabric


def main() -> None:
    """Step through an incast, cut a cable on the way, and print counters every 50 us."""
    scenario = fabric.load("incast", {"transport.retransmit_timeout": "200us"})
    with fabric.Emulator(scenario) as emulator:
        emulator.advance("100us")
        record = emulator.inject("link-down", link="leaf1--spine2", until="+200us")
        print(f"cut {record['objects']['links'][0]} at {record['start_ns'] / 1000:.0f}us")
        print("   time  lost  sent again  pauses of spine2  messages done")
        more = True
        while more:
            more = emulator.advance("+50us")
            metrics = emulator.metrics()
            print(
                f"{emulator.now_ns / 1000:5.0f}us  {metrics['drops.link_down']:4}  "
                f"{metrics['transport.retransmits']:10}  {emulator.total('pfc_rx_pauses', device='spine2'):16}  "
                f"{metrics['messages.done']:13}"
            )


if __name__ == "__main__":
    main()
