"""`fabric show`, `diff` and `schema` over real runs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from fabric.cli.main import main
from fabric.runs import dictionary, files, schemas
from fabric.runs.rundir import RunDir
from fabric.scenario.schema.expectations import METRICS, summary_key

SCENARIO = """\
name: looked-at
topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 4, host_rate: 100G, fabric_rate: 100G}
switches: {asic: trident3}
workload:
  - {kind: incast, receiver: host1, senders: ["*"], size: 2MB}
faults:
  - {kind: drop-every, port: "leaf2:Ethernet0", every: 50, at: 0us}
run: {duration: 50ms, seed: 3}
expectations: [messages.done == 7]
"""
TABLES = ("messages", "ports", "queues", "pfc", "pfc-history", "ecn", "drops", "hosts", "events")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two runs of one scenario that differ in the size of the messages."""
    folder = tmp_path_factory.mktemp("shown")
    path = folder / "looked-at.yml"
    path.write_text(SCENARIO, encoding="utf-8")
    assert main(["run", str(path), "--out", str(folder / "a"), "--quiet"]) == 0
    assert main(["run", str(path), "--out", str(folder / "b"), "--quiet", "--set", "transport.cc=none"]) == 0
    return str(folder / "a"), str(folder / "b")


@pytest.mark.parametrize("table", TABLES)
def test_csv_and_json_hold_the_same_rows(runs: tuple[str, str], table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", runs[0], table, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert main(["show", runs[0], table, "--format", "csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows
    assert [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows] == lines


def test_the_history_of_pauses_is_that_of_the_event_log(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """As SONiC's `show pfc counters --history`: transitions, total, most recent pause and its start."""
    assert main(["show", runs[1], "pfc-history", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert main(["show", runs[1], "events", "--filter", "kind=resumed", "--json"]) == 0
    ended: dict[tuple[str, int], list[dict[str, int]]] = {}
    for it in json.loads(capsys.readouterr().out):
        ended.setdefault((it["port"], it["class"]), []).append(it)
    assert rows
    for row in rows:
        its = ended[row["port"], row["class"]]
        assert row["pfc_rx_pauses"] == len(its)
        assert abs(row["pfc_rx_recent_pause_start_ns"] + row["pfc_rx_recent_pause_ns"] - its[-1]["time_ns"]) <= 1


def test_the_history_of_a_run_that_did_not_record_the_most_recent_pauses_says_so(
    runs: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run of an earlier version has no such counters."""
    counters = RunDir.counters

    def of_earlier(run: RunDir, names: Sequence[str] | None = None) -> pa.Table:
        return counters(run, [it for it in names or () if "recent" not in it])

    monkeypatch.setattr(RunDir, "counters", of_earlier)
    assert main(["show", runs[1], "pfc-history", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["pfc_rx_recent_pause_ns"] for row in rows} == {None}
    totals = [row["pfc_rx_paused_ns"] for row in rows]
    assert totals == sorted(totals, reverse=True)
    assert main(["show", runs[1], "pfc-history"]) == 0
    assert "an earlier version made this run" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("table", TABLES)
def test_a_table_shows_the_worst_rows_with_units(
    runs: tuple[str, str], table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", runs[0], table, "--top", "3"]) == 0
    out = capsys.readouterr().out
    assert len([line for line in out.splitlines() if line.strip()]) <= 7
    assert "None" not in out


def test_filters_take_units_patterns_and_numbers(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    def shown(*words: str) -> list[dict[str, object]]:
        assert main(["show", runs[0], *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    every = shown("messages")
    assert len(shown("messages", "--filter", "src=host[23]")) == 2
    assert len(shown("messages", "--filter", "src!=host[23]")) == len(every) - 2
    slow = shown("messages", "--filter", "fct_ns>=1ms", "--sort", "fct_ns", "--ascending")
    assert [row["fct_ns"] for row in slow] == sorted(row["fct_ns"] for row in every if row["fct_ns"] >= 1_000_000)
    assert all(
        row["port"].startswith("leaf1:") and row["class"] == 3
        for row in shown("queues", "--filter", "port=leaf1:*", "--filter", "class=3")
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["messages", "--filter", "fcts>3"], "did you mean 'fct_ns'"),
        (["messages", "--filter", "src>host1"], "no order"),
        (["messages", "--filter", "fct_ns>3G"], "write a time"),
        (["messages", "--filter", "nonsense"], "is not a filter"),
        (["messages", "--sort", "slow"], "there is no column 'slow'"),
        (["messages", "--top", "0"], "0 rows are not possible"),
        (["messages", "--json", "--format", "csv"], "contradicts"),
        (["--sort", "fct_ns"], "has no effect on the summary"),
    ],
)
def test_what_cannot_be_shown_exits_2_with_a_remedy(
    runs: tuple[str, str], words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", runs[0], *words]) == 2
    assert expected in capsys.readouterr().err


def test_a_directory_without_a_run_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(tmp_path)]) == 2
    assert "no run was written there" in capsys.readouterr().err
    (tmp_path / files.MANIFEST).write_text('{"format": 99}')
    assert main(["show", str(tmp_path)]) == 2
    assert "this version reads" in capsys.readouterr().err
    for text, expected in (
        ("{", "not JSON any more"),
        ("", "empty"),
        ("[]", "not an object"),
        ('{"format": 3}', "without its own checksum"),
    ):
        (tmp_path / files.MANIFEST).write_text(text)
        assert main(["show", str(tmp_path)]) == 2
        assert f"manifest.json is damaged: {expected}" in capsys.readouterr().err


def test_drops_are_attributed_to_the_fault_that_asked_for_them(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["show", runs[0], "drops", "--json"])
    assert {row["reason"] for row in json.loads(capsys.readouterr().out)} == {"injected"}
    main(["show", runs[0]])
    assert "a fault of the scenario asked for it" in capsys.readouterr().out


def test_truth_names_the_injected_fault(runs: tuple[str, str]) -> None:
    assert RunDir.open(runs[0]).truth()["kind"].to_pylist() == ["drop-every"]


def test_a_run_does_not_differ_from_itself(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", runs[0], runs[0]]) == 0
    assert "The same result: the digests are equal." in capsys.readouterr().out


def test_the_page_of_a_diff_overwrites_no_file_of_a_run(
    runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = Path(runs[0]) / "manifest.json"
    before = manifest.read_bytes()
    assert main(["diff", runs[0], runs[0], "--page", str(manifest)]) == 2
    assert f"lies in the run {runs[0]}" in capsys.readouterr().err
    assert manifest.read_bytes() == before


def test_diff_names_what_was_changed_and_what_it_did(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *runs, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert list(found["scenario"]) == ["transport.cc", "transport.dcqcn"]  # a set of another control has no effect
    metrics = {row["metric"]: row for row in found["metrics"]}
    assert metrics["cnp.sent"]["b"] == 0 or metrics["transport.rate_cuts"]["b"] == 0
    assert found["messages"]["in_both"] == 7
    assert main(["diff", *runs]) == 1
    assert "Completion time of the 7 of 7 messages done in both" in capsys.readouterr().out


def test_summary_carries_every_metric_that_expectations_may_name(runs: tuple[str, str]) -> None:
    assert set(RunDir.open(runs[0]).summary["metrics"]) == {summary_key(name) for name in METRICS}


def test_files_have_the_columns_the_dictionary_promises(runs: tuple[str, str]) -> None:
    found = RunDir.open(runs[0])
    for table, schema in (
        (found.messages(), schemas.MESSAGES),
        (found.counters(), schemas.COUNTERS),
        (found.timeseries(), schemas.TIMESERIES),
        (found.events(), schemas.EVENTS),
    ):
        assert table.schema.equals(schema)
    # The run has no transfers and no datagrams.
    of_transfers = {files.TRANSFERS, files.TRANSFER_MESSAGES, files.SCHEDULE, files.NEEDS, files.DATAGRAMS}
    assert set(dictionary.FILES) - of_transfers == {path.name for path in Path(runs[0]).iterdir()}


def test_schema_prints_the_dictionary_and_the_scenario_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in found["files"][files.MESSAGES]["columns"]} == set(schemas.MESSAGES.names)
    assert main(["schema", "--scenario"]) == 0
    assert json.loads(capsys.readouterr().out)["$schema"].startswith("https://json-schema.org")
    assert main(["schema", "--scenario", "--markdown", "x.md"]) == 2


def test_arp_is_shown_by_leaf_and_vni(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "arp.yml"
    scenario.write_text("""
name: arp
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
vxlan: {tenants: [{name: red, vni: 77, hosts: ["host1", "host3"], arp_suppression: "off"},
                  {name: blue, vni: 88, hosts: ["host2", "host4"]}]}
workload: [{kind: arp, interval: 10us, stop: 100us}]
run: {duration: 1ms}
""")
    assert main(["run", str(scenario), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["show", str(tmp_path / "run"), "arp", "--json"]) == 0
    rows = {(row["device"], row["vni"]): row for row in json.loads(capsys.readouterr().out)}
    assert rows["leaf1", "77"]["arp_flooded"] == rows["leaf1", "77"]["arp_requests"] == 10
    assert rows["leaf1", "88"]["arp_suppressed"] == 10
    assert rows["leaf1", "88"]["bum_sent_pkts"] == 0
