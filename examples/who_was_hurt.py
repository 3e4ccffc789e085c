"""A NIC storms pause frames: which hosts and messages does it stop?"""

from __future__ import annotations

import fabric


def main() -> None:
    """Print the cause, the ports that were paused, and the messages that took longest."""
    with fabric.run("pause-storm") as result:
        answer = result.explain("pfc")
        print(answer.verdict)
        (tree, *_) = answer.data["pause_trees"]["trees"]
        print(f"{tree['messages']} messages waited, {tree['victims']} of them although they send nothing to that host")

        print("ports that were paused longest:")
        paused = [row for row in result.table("pfc").to_pylist() if row["pfc_rx_paused_ns"]]
        for row in sorted(paused, key=lambda row: -row["pfc_rx_paused_ns"])[:6]:
            print(f"  {row['port']:18} class {row['class']}  {row['pfc_rx_paused_ns'] / 1000:8.1f}us by {row['peer']}")

        print("most slowed down:")
        done = [row for row in result.table("messages").to_pylist() if row["slowdown"] is not None]
        for row in sorted(done, key=lambda row: -row["slowdown"])[:5]:
            print(f"  {row['src']} to {row['dst']}  {row['slowdown']:5.1f}x its ideal time")


if __name__ == "__main__":
    main()
