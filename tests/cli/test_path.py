"""fabric path: what a person reads, what a script reads, and what a typo gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.main import main
from fabric.runs import files

ROOT = Path(__file__).parents[2]
POLARISED = str(ROOT / "scenarios" / "polarised.yml")
FAILURE = str(ROOT / "scenarios" / "link-failure.yml")


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["path", *words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def errors(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str]]:
    code, found = answer(capsys, *words)
    assert code == 2
    return [(it["path"], it["hint"]) for it in found["error"]["problems"]]


def test_all_64_paths_are_listed_and_the_taken_one_is_the_one_the_hashes_choose(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, found = answer(capsys, "host1", "host17", POLARISED)
    paths, decisions = found["paths"]["paths"], found["choice"]["decisions"]
    assert code == 0
    assert len(paths) == 64
    [taken] = [path for path in paths if path["taken"]]
    for it in decisions:
        assert it["egress"] in taken["path"]
        if it["hash"] != "-":
            assert int(it["hash"], 16) % it["members"] == it["member"]
    assert sum(path["source_ports"] for path in paths) == 1 << 14
    assert sum(path["source_ports"] > 0 for path in paths) == 4


def test_a_polarised_pair_of_tiers_is_explained_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path", "host1", "host17", POLARISED]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Polarised: p1-spine3 has 4 members; the flows that p1-leaf1 sends it by member" in text
    assert "member 2 of 4 reach 1 of them for any source port" in text
    assert "both compute crc32 with seed 7: the same hash" in text
    assert "switches.hash: {algorithm: murmur3, seed: per-switch}" in text
    assert main(["path", "host1", "host17", POLARISED, "--set", "switches.hash={algorithm: murmur3}"]) == 0
    assert "Polarised" not in capsys.readouterr().out


def test_every_queue_pair_of_the_scenario_is_put_on_its_path(capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["--set", "workload=[{kind: permutation, shift: 16, size: 64KB, repeat: 8, interval: 1ns}]"]
    _, found = answer(capsys, "host1", "host17", POLARISED, *sets)
    pairs = found["queue_pairs"]["queue_pairs"]
    by_number = {path["number"]: path["path"] for path in found["paths"]["paths"]}
    assert len(pairs) == 4
    assert sum(pair["bytes"] for pair in pairs) == 8 * 64_000
    for pair in pairs:
        assert by_number[pair["path_number"]].startswith(pair["path"])
        _, alone = answer(capsys, "host1", "host17", POLARISED, "--sport", pair["src_port"])
        [taken] = [path["number"] for path in alone["paths"]["paths"] if path["taken"]]
        assert taken == pair["path_number"]


def test_options_may_stand_between_the_words(capsys: pytest.CaptureFixture[str]) -> None:
    _, found = answer(capsys, "host1", "host17", "--sport", "50000", POLARISED)
    assert ":50000 →" in found["reasons"][0]


def test_the_whole_fabric_is_checked_and_a_finding_is_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer(capsys, POLARISED)
    assert code == 1
    assert found["routes"]["polarised_pairs"] == 24
    assert [(row["first"], row["second"], row["least_reached"]) for row in found["polarisation"]["tiers"]] == [
        ("leaf", "spine", 1),
        ("spine", "super-spine", 1),
    ]
    code, found = answer(capsys, FAILURE)
    assert (code, found["status"]) == (0, "good")


def test_a_failure_shows_before_it_between_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    flow = ("host1", "host5", "--sport", "49156", FAILURE)
    dead = {}
    for moment in ("0", "300us", "800us", "3ms"):
        _, found = answer(capsys, *flow, "--at", moment)
        dead[moment] = [path["state"] for path in found["paths"]["paths"] if path["state"] != "up"]
    assert dead == {"0": [], "300us": ["leaf1:Ethernet16: cable is down"], "800us": [], "3ms": []}
    code, found = answer(capsys, FAILURE, "--at", "300us")
    assert code == 1
    assert found["routes"]["dead_link"] == 4


def test_a_flow_on_the_dead_cable_is_said_to_be_lost_until_routes_follow(capsys: pytest.CaptureFixture[str]) -> None:
    for port in range(49152, 49200):
        _, found = answer(capsys, "host1", "host5", "--sport", str(port), FAILURE, "--at", "300us")
        if found["status"] == "bad":
            assert found["verdict"].startswith("Lost at leaf1:Ethernet16: its cable is down")
            _, later = answer(capsys, "host1", "host5", "--sport", str(port), FAILURE, "--at", "800us")
            assert later["status"] == "good"
            return
    pytest.fail("no flow took the dead cable")


def test_spines_with_an_as_each_loop_over_a_leaf_for_a_moment_and_spines_of_one_as_do_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """RFC 7938 section 5.2.1: after a failure a spine with a separate AS uses the path over another leaf."""
    found = {}
    for spine_asn in ("shared", "distinct"):
        bgp = f"{{update_delay: 100us, fib_delay: 10us, carrier_delay: 10us, prune_delay: 5us, spine_asn: {spine_asn}}}"
        _, answered = answer(
            capsys,
            FAILURE,
            "--set",
            "faults[0].link=leaf1--spine2",
            "--set",
            "routing=bgp",
            "--set",
            "run.reroute_delay=null",
            "--set",
            f"bgp={bgp}",
            "--at",
            "400us",
        )
        found[spine_asn] = [answered["routes"][kind] for kind in ("no_route", "loops", "valleys", "buffer_cycles")]
    assert found["shared"] == [1, 0, 0, 0]
    assert found["distinct"][0] == 0
    assert min(found["distinct"][1:]) > 0


def test_tenants_are_apart_and_that_is_no_black_hole(capsys: pytest.CaptureFixture[str]) -> None:
    tenants = "{name: blue, vni: 10100, hosts: ['host[1-8]']}, {name: red, vni: 10200, hosts: ['host9', 'host1?']}"
    within = "{kind: messages, messages: [{src: host1, dst: host5, size: 4KB}]}"
    sets = ("--set", f"vxlan={{tenants: [{tenants}]}}", "--set", f"workload=[{within}]", "--set", "expectations=[]")
    scenario = str(ROOT / "scenarios" / "bgp-spine-failure.yml")
    code, found = answer(capsys, scenario, *sets)
    assert (code, found["routes"]["no_route"]) == (0, 0)
    _, found = answer(capsys, "host1", "host9", scenario, *sets)
    assert found["verdict"] == "No path: host1 is in blue (VNI 10100), host9 in red (VNI 10200)."
    _, found = answer(capsys, "host1", "host5", scenario, *sets)
    assert found["verdict"].startswith("Takes path")


def test_vxlan_hashes_the_outer_header_with_its_entropy_port(capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["--set", "vxlan={}"]
    code, found = answer(capsys, "host1", "host5", FAILURE, *sets)
    assert code == 0
    first = found["choice"]["decisions"][0]
    assert first["header"] == "outer (VXLAN)"
    assert first["hashed"].endswith(":4789")
    assert "RFC 7348 section 5" in found["reasons"][0]


def test_a_run_directory_answers_as_its_scenario_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    sets = ["--set", "workload[0].size=64KB", "--set", "run.duration=3ms"]
    assert main(["run", FAILURE, "--out", str(out), "--quiet", "--json", *sets]) in {0, 1}
    capsys.readouterr()
    of_run = answer(capsys, "host1", "host5", str(out), "--at", "300us")
    assert of_run == answer(capsys, "host1", "host5", FAILURE, *sets, "--at", "300us")
    assert errors(capsys, str(out), "--set", "run.seed=3")[0][0] == "--set"


def test_wrong_words_are_named_together_with_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert errors(capsys, "hst1", "leaf2", "--sport", "70000", FAILURE) == [
        ("SRC", "did you mean 'host1'?"),
        ("DST", "hosts: host2, host12, host1, host3, host4, host5, host6, host7, ... (16 in all)"),
        ("--sport", "give 0 to 65535"),
    ]
    assert errors(capsys, "host1", "host1", FAILURE)[0][0] == "DST"
    assert errors(capsys, "host1", FAILURE)[0][0] == "SOURCE"
    assert errors(capsys, "host1", "host5", FAILURE, "--nic", "eth7") == [("--nic", "did you mean 'eth0'?")]
    assert errors(capsys, FAILURE, "--sport", "4")[0][0] == "--sport"
    assert errors(capsys, FAILURE, "--at", "3 parsecs")[0][0] == "--at"
    code, found = answer(capsys, "host1", "host5", "nowhere.yml")
    assert code == 2
    assert "nowhere.yml" in found["error"]["text"]


def test_cables_that_an_operator_shut_during_a_run_are_known_from_its_event_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with a playbook: a cable went down in the run that is not a fault of its scenario."""
    out = tmp_path / "run"
    assert main(
        [
            "run",
            FAILURE,
            "--out",
            str(out),
            "--quiet",
            "--json",
            "--set",
            "workload[0].size=64KB",
            "--set",
            "run.duration=3ms",
            "--set",
            "run.stop=duration",
        ]
    ) in {0, 1}
    capsys.readouterr()
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    about = manifest["scenario"]
    before, _, after = about["text"].partition("faults:")
    about["text"] = before + "run:" + after.partition("run:")[2].replace("reroute_delay: 500us", "seed: 1")
    about["set"] += ["expectations=[]"]
    files.write_index(out / files.MANIFEST, manifest)
    _, found = answer(capsys, "host1", "host5", str(out), "--at", "300us")
    assert [path["state"] for path in found["paths"]["paths"] if path["state"] != "up"] == [
        "leaf1:Ethernet16: cable is down"
    ]


def test_a_moment_after_the_end_is_shown_with_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faults = ("--set", "faults=[{kind: link-down, link: leaf1--spine1, at: 900us}]")
    out = str(tmp_path / "run")
    assert main(["run", FAILURE, "--out", out, "--quiet", "--set", "expectations=[]", *faults, "--until", "100us"]) < 2
    assert "so 1 fault never happened (link-down at 900us)" in " ".join(capsys.readouterr().out.split())
    for words, note in (
        (["path", "host1", "host9", out, "--at", "1ms"], "1ms is after the end of this run, 100us"),
        (["route", "leaf1", out, "--at", "1ms"], "1ms is after the end of this run, 100us"),
        (["route", "leaf1", FAILURE, "--at", "10s", "--json"], "10s is after run.duration"),
        (["route", "leaf1", out, "--at", "100us"], ""),
        (["route", "leaf1", FAILURE], ""),
    ):
        assert main(words) == 0
        errors = capsys.readouterr().err
        assert (note in errors) if note else not errors
