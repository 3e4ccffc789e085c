"""Do the tiers of my fabric hash alike, and what does another hash gain?"""

from __future__ import annotations

import fabric


def main() -> None:
    """Run the same traffic with one hash seed for all switches and with a seed per switch; print what differs."""
    alike = fabric.load("polarised", {"workload[0].size": "64KB", "workload[0].repeat": 2})
    mixed = alike.with_({"switches.hash.seed": "per-switch"})
    with fabric.run(alike) as before, fabric.run(mixed) as after:
        for title, result in (("one seed", before), ("seed per switch", after)):
            ports = [row for row in result.table("ports").to_pylist() if row["rate_bps"] == 200_000_000_000]
            busiest = max(row["tx_bytes"] for row in ports)
            used = sum(row["tx_bytes"] > busiest / 20 for row in ports)
            print(
                f"{title:16} {used:3} of {len(ports)} fabric ports used, "
                f"median slowdown {result.metrics['slowdown.p50']:.1f}x, "
                f"slowest message {result.metrics['fct.max_ns'] / 1000:.0f}us"
            )

        print("\nmetrics that differ most:")
        rows = [row for row in before.diff(after)["metrics"] if row["change"] is not None]
        for row in sorted(rows, key=lambda row: -abs(row["change"]))[:5]:
            print(f"  {row['metric']:28} {row['a']:>14,.6g} -> {row['b']:>14,.6g}  {row['change']:+.0%}")


if __name__ == "__main__":
    main()
