"""The measurements by name, with the tables of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench import cases
from bench.controls import controls, controls_table
from bench.rings import rings, rings_table
from bench.simulate import bytes_by_row
from bench.table import Table, count, megabytes, millions, seconds
from bench.worker import measure

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Section:
    """One measurement."""

    about: str
    run: Callable[[bool], Result]
    """quick -> result, plain data."""
    table: Callable[[Result], Table]


def _case(name: str) -> Section:
    def run(quick: bool) -> Result:
        return measure("simulate", raw=cases.named(name, quick=quick), repeats=1 if quick else 3)

    return Section(_ABOUT[name], run, lambda result: case_table({name: result}))


_ABOUT: Final = {
    "P256": "16 leaves x 16 hosts, 8 spines, 100G, 1 us cables, random permutation of 4 MB",
    "P1024": "1,024 hosts in three tiers, otherwise as P256",
    "I64": "32 of 64 hosts send 1 MB each to one host",
    "A64": "64 hosts send 64 KB to each other, all at once",
}


def case_table(found: Mapping[str, Result]) -> Table:
    """Table of cases, one a row."""
    rows = [
        (
            name,
            count(it["packet_hops"]),
            f"{it['events'] / it['packet_hops']:.3f}",
            millions(it["hops_per_wall_s"]),
            millions(it["best_hops_per_wall_s"]),
            millions(it["hops_per_cpu_s"]),
            seconds(it["wall_s"]),
            megabytes(it["rss_peak_bytes"]),
            count(it["marked"]),
            count(it["pause_frames"]),
        )
        for name, it in found.items()
    ]
    return Table(
        "Packets crossing a link, one thread",
        (
            "case",
            "packet-hops",
            "events/hop",
            "M hops/s (median, wall)",
            "best",
            "per CPU s",
            "wall",
            "peak memory",
            "marked",
            "pause frames",
        ),
        rows,
    )


def _memory(quick: bool) -> Result:
    built = measure("simulate", raw=cases.permutation(512 if quick else 1024, "1KB", "ports"))
    pairs = measure("simulate", raw=cases.many_messages(3 if quick else 25))
    few = measure("simulate", raw=cases.many_messages(1))
    large = measure("simulate", raw=cases.named("P1024", quick=quick))
    return {
        "by_row": bytes_by_row(),
        "ports": built["ports"],
        "queue_pairs": pairs["queue_pairs"] - few["queue_pairs"],
        "packet_rows_per_port": built["packet_rows"] / built["ports"],
        "rss_per_port": (built["rss_built_bytes"] - built["rss_base_bytes"]) / built["ports"],
        "rss_per_queue_pair": (pairs["rss_built_bytes"] - few["rss_built_bytes"])
        / (pairs["queue_pairs"] - few["queue_pairs"]),
        "rss_base_bytes": built["rss_base_bytes"],
        "rss_p1024_bytes": large["rss_peak_bytes"],
    }


def _memory_table(it: Result) -> Table:
    row = it["by_row"]
    return Table(
        "Memory",
        ("what", "by table layout", "resident, measured"),
        (
            ("the process with its kernels, before a scenario", "", megabytes(it["rss_base_bytes"])),
            (
                f"a port: 8 queues and groups, calendar, {it['packet_rows_per_port']:.0f} packet rows handed out",
                f"{count(round(row['port'] + it['packet_rows_per_port'] * row['packet']))} B",
                f"{count(round(it['rss_per_port']))} B",
            ),
            (
                "a queue pair with one message",
                f"{count(row['queue_pair'] + row['message'])} B",
                f"{count(round(it['rss_per_queue_pair']))} B",
            ),
            ("a packet", f"{row['packet']} B", ""),
            ("P1024, peak", "", megabytes(it["rss_p1024_bytes"])),
        ),
        f"Ports: P1024's fabric with its scenario and names ({count(it['ports'])} ports). Queue pairs: "
        f"{count(it['queue_pairs'])} more of them on one fabric, everything that compiling them leaves included. "
        "Resident is less than the layout where rows have not been touched yet.",
    )


def _threads(quick: bool) -> Result:
    from bench.threads import threads  # noqa: PLC0415  loads only the chosen sections

    return threads(quick=quick, repeats=1 if quick else 4)


def _threads_table(it: Result) -> Table:
    alone = {(row["case"], row["busy"]): row for row in it["rows"] if row["threads"] == 1}
    rows = []
    for row in it["rows"]:
        base = alone[row["case"], row["busy"]]
        rows.append(
            (
                row["case"],
                f"{row['threads']}",
                "kept busy" if row["busy"] else "left alone",
                millions(row["hops_per_s"]),
                millions(row["best_hops_per_s"]),
                f"{row['hops_per_s'] / base['hops_per_s']:.2f}",
                millions(row["undisturbed_hops_per_s"]),
                f"{row['undisturbed_hops_per_s'] / base['undisturbed_hops_per_s']:.2f}",
                f"{row['cpu_per_wall_ratio']:.2f}",
            )
        )
    return Table(
        "Threads",
        (
            "case",
            "threads",
            "one core",
            "M hops/s (median, wall)",
            "best",
            "times one thread",
            "undisturbed",
            "times one thread",
            "CPU s per wall s",
        ),
        rows,
        "Digests of all runs are equal. Undisturbed: every 100 us of simulated time counts as in the second "
        "fastest of all runs.",
    )


def _startup(quick: bool) -> Result:
    from bench.startup import startup  # noqa: PLC0415  as above

    return startup(cold=not quick, repeats=1 if quick else 3)


def _startup_table(it: Result) -> Table:
    first = ("the first time ever: kernels are compiled", seconds(it["cold_s"]), "", seconds(it["cold_cpu_s"]))
    cold = [first] if it["cold"] else []
    warm = ("every time after", seconds(it["warm_s"]), seconds(it["warm_min_s"]), seconds(it["warm_cpu_s"]))
    return Table(
        "`fabric run` of a small incast, shell to shell", ("start", "median, wall", "best", "CPU time"), [*cold, warm]
    )


def _control(quick: bool) -> Result:
    from bench.control import control  # noqa: PLC0415  as above

    return control(quick=quick)


def _control_table(it: Result) -> Table:
    results = it["results"]
    per_10m = results["writing_s"] * 1e7 / results["packet_hops"]
    results_name = (
        f"{count(results['packet_hops'])} packet-hops: samples, events, results ({megabytes(results['written_bytes'])})"
    )
    return Table(
        "Around the packets",
        ("what", "time"),
        (
            (
                f"{count(it['hosts'])} hosts, {count(it['ports'])} ports: file to engine parameters, with routes",
                seconds(it["compile_s"]),
            ),
            ("their engine state, with forwarding tables", seconds(it["build_s"])),
            (results_name, seconds(results["writing_s"])),
            ("the same per 10 M packet-hops", seconds(per_10m)),
            (f"`fabric run` of {count(it['messages'])} messages of one packet", seconds(it["run_s"])),
            ("`fabric show DIR` of that run", seconds(it["summary_s"])),
            ("`fabric show DIR messages`", seconds(it["table_s"])),
            ("`fabric show DIR messages --sort slowdown`", seconds(it["sorted_s"])),
            ("`fabric show DIR messages --format csv`, all rows", seconds(it["csv_s"])),
        ),
    )


def _telemetry(quick: bool) -> Result:
    return {
        "scrape": measure("scrape", hosts=256 if quick else 512, repeats=2 if quick else 5),
        "sampling": measure("sampling", raw=cases.named("P256")),
    }


def _telemetry_table(it: Result) -> Table:
    scrape, sampling = it["scrape"], it["sampling"]
    per = 100_000 / scrape["series"]
    what = f"{count(scrape['series'])} series of {count(scrape['hosts'])} hosts, {count(scrape['ports'])} ports"
    return Table(
        "Watching a run",
        ("what", "measured", "per 100,000 series, or share of the run"),
        (
            (f"scrape, {what}: the first", seconds(scrape["first_s"]), seconds(per * scrape["first_s"])),
            ("every other, median", seconds(scrape["again_s"]), seconds(per * scrape["again_s"])),
            ("every other, worst", seconds(scrape["worst_s"]), seconds(per * scrape["worst_s"])),
            (
                f"one sample of every metric, {count(sampling['hosts'])} hosts sending",
                seconds(sampling["metrics_sample_s"]),
                f"{100 * sampling['metrics_share_ratio']:.2f} %",
            ),
            (
                "one sample of the run's own time series",
                seconds(sampling["run_sample_s"]),
                f"{100 * sampling['run_share_ratio']:.2f} %",
            ),
        ),
        f"Scrapes are OpenMetrics, compressed, over loopback ({megabytes(scrape['text_bytes'])} of text), from the "
        "copy of the counters to the last byte. Shares are of a run that is sampled every simulated millisecond, of "
        f"which it simulates one in {seconds(sampling['simulating_s_per_ms'])}.",
    )


def _curve(quick: bool) -> Result:
    hosts = [n for n in cases.CURVE_HOSTS if n <= 256 or not quick]
    return {
        "rows": [
            measure(
                "simulate",
                raw=cases.permutation(n, "250KB" if quick else "1MB", "curve"),
                repeats=1 if n > 1000 or quick else 3,
            )
            for n in hosts
        ]
    }


def _curve_table(it: Result) -> Table:
    rows = [
        (
            count(row["hosts"]),
            count(row["ports"]),
            count(row["packet_hops"]),
            seconds(row["cpu_s"]),
            f"{1e9 * row['cpu_s'] / row['packet_hops']:.0f} ns",
            millions(row["hops_per_wall_s"]),
            millions(row["hops_per_cpu_s"]),
            megabytes(row["rss_peak_bytes"]),
        )
        for row in it["rows"]
    ]
    return Table(
        "Random permutation of 1 MB, from one leaf to sixteen pods, one thread",
        ("hosts", "ports", "packet-hops", "CPU time", "a hop", "M hops/s (wall)", "per CPU s", "peak memory"),
        rows,
    )


def _pairs(quick: bool) -> Result:
    rows = []
    for order in ("source", "insertion"):
        for queue_pairs in cases.QUEUE_PAIRS:
            asic, ns3 = (
                measure(
                    "simulate", raw=cases.pairs(model, queue_pairs, quick=quick), order=order, repeats=1 if quick else 3
                )
                for model in ("asic", "hpcc-ns3")
            )
            rows.append({"order": order, "queue_pairs": queue_pairs, "asic": asic, "hpcc-ns3": ns3})
    return {"rows": rows}


def _pairs_table(it: Result) -> Table:
    rows = [
        (
            row["order"],
            count(row["queue_pairs"]),
            millions(row["asic"]["hops_per_cpu_s"]),
            millions(row["hpcc-ns3"]["hops_per_cpu_s"]),
            f"{row['hpcc-ns3']['hops_per_cpu_s'] / row['asic']['hops_per_cpu_s']:.2f}",
            f"{row['hpcc-ns3']['events'] / row['hpcc-ns3']['packet_hops']:.3f}",
        )
        for row in it["rows"]
    ]
    return Table(
        "8-to-1 incast of 32 MB a host, by queue pairs a host, one thread",
        (
            "order of equal moments",
            "queue pairs a host",
            "asic, M hops per CPU s",
            "hpcc-ns3, M hops per CPU s",
            "hpcc-ns3 / asic",
            "hpcc-ns3, events/hop",
        ),
        rows,
        "`source` runs in windows; `insertion` runs one event at a time, as a simulator with one global event list.",
    )


def _profile(quick: bool) -> Result:
    return measure("profile", raw=cases.named("P256", quick=quick))


def _profile_table(it: Result) -> Table:
    rows = [
        (
            row["kind"],
            count(row["events"]),
            f"{row['events'] / it['packet_hops']:.3f}",
            f"{row['ns']:.0f}" if row["events"] else "",
            f"{100 * row['share_ratio']:.1f} %",
        )
        for row in it["rows"]
    ]
    return Table(
        "P256 by kind of event",
        ("event", "how many", "per packet-hop", "ns each", "share"),
        rows,
        f"{it['events_per_hop']:.3f} events and {it['ns_per_hop']:.0f} ns a packet-hop. The last row is what "
        f"passes outside handlers, per event. Two readings of the cycle counter an event, "
        f"{it['reading_ns']:.0f} ns each, are subtracted; the overlap between events that they prevent is not.",
    )


def _bgp(quick: bool) -> Result:
    from bench.bgp import bgp  # noqa: PLC0415  as above

    return bgp(quick=quick)


def _bgp_table(it: Result) -> Table:
    rows = [
        (
            f"{row['leaves']} x {row['spines']}",
            count(row["hosts"]),
            count(row["sessions"]),
            count(row["evpn_routes"]),
            count(row["routes_received"]),
            seconds(row["wall_s"]),
            seconds(row["cpu_s"]),
            megabytes(row["rss_peak_bytes"]),
            seconds(row["failure_s"]),
            count(row["failure_updates"]),
            f"{row['failure_convergence_ns'] / 1e6:.0f} ms",
        )
        for row in it["rows"]
    ]
    return Table(
        "BGP and EVPN from cold start to convergence, then one cable lost, one process",
        (
            "leaves x spines",
            "hosts",
            "sessions",
            "EVPN routes",
            "routes held, all speakers",
            "wall",
            "CPU",
            "peak memory",
            "cable lost: wall",
            "updates",
            "simulated convergence",
        ),
        rows,
        "Every message is encoded, sent and decoded. The loss is simulated for one second, keepalives included.",
    )


def _idle(quick: bool) -> Result:
    from bench.idle import idle  # noqa: PLC0415  as above

    return idle(quick=quick)


def _idle_table(it: Result) -> Table:
    from bench.idle import idle_table  # noqa: PLC0415  as above

    return idle_table(it)


def _studies(quick: bool) -> Result:
    return measure("studies", quick=quick)


def _studies_table(found: Result) -> Table:
    small = count(found["small_runs"])
    rows = [
        (
            f"{found['runs']} runs of {seconds(found['run_s'])}, one process: time beside the runs",
            f"{found['overhead_ratio']:.1%}",
        ),
        ("two processes against one: runs in the same time", f"{found['throughput_ratio']:.2f}x"),
        ("the same run with a run directory, kernels loaded", seconds(found["recorded_s"])),
        ("the same as `fabric run`, from exec to exit", seconds(found["shell_s"])),
        (f"{small} small runs in one process: each", seconds(found["small_run_s"])),
        ("memory of that process after a tenth of them", megabytes(found["memory_early_bytes"])),
        ("memory after all of them", megabytes(found["memory_late_bytes"])),
    ]
    return Table("Many runs", ("what", "measured"), rows)


SECTIONS: Final[Mapping[str, Section]] = {
    **{name: _case(name) for name in cases.NAMES},
    "threads": Section(
        "P256 with 1 and 2 threads, a core left alone or kept busy; P1024 with both left alone",
        _threads,
        _threads_table,
    ),
    "curve": Section("16 to 4,096 hosts", _curve, _curve_table),
    "pairs": Section(
        "8-to-1 with 1, 32 and 512 queue pairs a host, asic and hpcc-ns3, in both orders", _pairs, _pairs_table
    ),
    "controls": Section("P256 under each congestion control", controls, controls_table),
    "rings": Section("ring all-reduce of 64, 256 and 1,024 ranks", rings, rings_table),
    "profile": Section("P256 by kind of event", _profile, _profile_table),
    "memory": Section("bytes per port, queue pair and packet", _memory, _memory_table),
    "startup": Section("`fabric run` of a small incast, cold and warm", _startup, _startup_table),
    "bgp": Section("BGP/EVPN of 16x8 to 128x32 switches: convergence, and one cable lost", _bgp, _bgp_table),
    "control": Section("building, writing, listing", _control, _control_table),
    "studies": Section("many runs: overhead, two processes against one, memory", _studies, _studies_table),
    "idle": Section("an idle simulated second, and 60 s of BGP with one failure", _idle, _idle_table),
    "telemetry": Section("a scrape of many series, sampling while packets move", _telemetry, _telemetry_table),
}
"""Values of `--only`, in the order of their runs."""
