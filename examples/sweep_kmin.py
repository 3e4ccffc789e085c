"""At which ECN threshold does an incast stop needing PFC, and what does that cost?

Runs one scenario per threshold, in as many processes as there are processors.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import fabric

KMIN_KB = (25, 100, 400, 1600)


def measure(scenario: fabric.Scenario) -> tuple[int, int, float]:
    """Pause frames, marked packets, and the slowest completion time in us."""
    with fabric.run(scenario) as result:
        metrics = result.metrics
        return metrics["pfc.pause_frames"], metrics["ecn.marked"], metrics["fct.max_ns"] / 1000


def main() -> None:
    """Print one line per threshold."""
    base = fabric.load("incast", {"expectations": []})
    scenarios = [
        base.with_({"switches.ecn": {"kmin": f"{kmin}KB", "kmax": f"{4 * kmin}KB", "pmax": 0.2}}) for kmin in KMIN_KB
    ]
    with ProcessPoolExecutor() as pool:
        print("   kmin  pause frames  marked  slowest message")
        for kmin, (pauses, marked, slowest) in zip(KMIN_KB, pool.map(measure, scenarios), strict=True):
            print(f"{kmin:5}KB  {pauses:12}  {marked:6}  {slowest:12.1f}us")


if __name__ == "__main__":
    main()
