"""`python -m bench.estimates`: estimates against runs, over the scenarios that come with the package and random ones.

Every scenario is run by `fabric run` in a separate process, with kernels compiled before; its files, time and memory
are compared with the estimate. `--keep FILE` keeps the measurements; a scenario that is in it is not run
again. `--write FILE` puts the tables between the marks of a Markdown page.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from bench.estimate_cases import HELD_OUT_SEED, random_scenarios
from fabric import shipped
from fabric.scenario.compile.scenario import admitted_fabric
from fabric.scenario.estimate.estimator import estimate
from fabric.scenario.load import load_scenario

RANDOM: Final = 40
FIGURES: Final = {
    "messages": "messages",
    "queue pairs": "queue pairs",
    "packets": "packets",
    "packet-hops": "hops",
    "simulated time": "time simulated",
    "samples": "samples",
    "series rows": "series rows",
    "event rows": "event rows",
    "disk": "disk",
    "memory": "memory",
    "time": "CPU time",
}
"""Figure of an estimate -> heading."""
BEGIN: Final = "<!-- bench: estimates -->"
END: Final = "<!-- end: estimates -->"


def scenarios(work: Path) -> dict[str, Path]:
    """Name -> file: those of the package except those of `fabric fidelity`, and random ones."""
    home = shipped.folder("scenarios")
    found = {file.stem: file for file in sorted(home.glob("*.yml"))}
    for group in ("starters", "alerts"):
        found |= {
            f"{group}/{file.stem}": file for file in sorted((home / group).glob("*.yml")) if file.stem != "corpus"
        }
    for name, raw in random_scenarios(RANDOM, HELD_OUT_SEED).items():
        found[name] = work / f"{name}.yml"
        found[name].write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return found


def measured(file: Path, out: Path) -> dict[str, float]:
    """Real figures of a run, by figure of an estimate. Raises: RuntimeError if it failed."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from fabric.cli.main import entry; entry()",
            "run",
            str(file),
            "--out",
            str(out),
            "--force",
            "--quiet",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, 1}:
        raise RuntimeError(f"{file}: exit {process.returncode}")
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    counters = pq.read_table(out / "counters.parquet")
    messages = pq.read_table(out / "messages.parquet", columns=["qp"])
    sent = pc.sum(counters.filter(pc.equal(counters["observable"], "qp_sent_pkts"))["value"]).as_py()
    rows = {name: pq.read_metadata(out / f"{name}.parquet").num_rows for name in ("timeseries", "events")}
    pairs = pc.max(messages["qp"]).as_py()
    return {
        "messages": messages.num_rows,
        "queue pairs": 0 if pairs is None else pairs + 1,
        "packets": sent or 0,
        "packet-hops": manifest["timings"]["packet_hops"],
        "simulated time": manifest["timings"]["simulated_ps"],
        "samples": manifest["samples"],
        "series rows": rows["timeseries"],
        "event rows": rows["events"],
        "disk": sum(path.stat().st_size for path in out.rglob("*") if path.is_file()),
        "memory": used.ru_maxrss * 1024,
        "time": used.ru_utime + used.ru_stime,
    }


def ratios(file: Path, real: Mapping[str, float]) -> dict[str, float | None]:
    """Estimated over real; None if the real figure is 0."""
    scenario = load_scenario(file)
    estimated = estimate(scenario, admitted_fabric(scenario))
    return {name: estimated[name].likely / real[name] if real[name] else None for name in FIGURES}


def markdown(found: Mapping[str, Mapping[str, float | None]]) -> str:
    """The tables."""
    lines = [
        "| estimated over real | scenarios | least | 5 % | median | 95 % | most |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, heading in FIGURES.items():
        values = np.array([row[name] for row in found.values() if row[name] is not None], float)
        marks = [values.min(), *np.quantile(values, (0.05, 0.5, 0.95)), values.max()]
        lines.append(f"| {heading} | {len(values)} | {' | '.join(f'{it:.2f}' for it in marks)} |")
    lines += ["", "| scenario | " + " | ".join(FIGURES.values()) + " |", "|---|" + "---:|" * len(FIGURES)]
    lines += [
        f"| {name} | " + " | ".join("" if it is None else f"{it:.2f}" for it in row.values()) + " |"
        for name, row in found.items()
    ]
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, compare, print or write."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.estimates", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", metavar="FILE", type=Path, help="JSON of what was measured; read first, if it exists")
    parser.add_argument("--write", metavar="FILE", type=Path, help="put the tables between this Markdown file's marks")
    args = parser.parse_args(given)
    known: dict[str, Any] = {}
    if args.keep and args.keep.is_file():
        known = json.loads(args.keep.read_text(encoding="utf-8"))
    found = {}
    with tempfile.TemporaryDirectory(prefix="estimates-") as folder:
        work = Path(folder)
        for name, file in scenarios(work).items():
            if name not in known:
                print(f"  {name}", file=sys.stderr, flush=True)
                known[name] = measured(file, work / "run")
                if args.keep:
                    args.keep.write_text(json.dumps(known, indent=1), encoding="utf-8")
            found[name] = ratios(file, known[name])
    text = markdown(found)
    if args.write is None:
        print(text)
        return 0
    page = args.write.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN, 1)
    args.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
