"""`fabric validate` and `fabric headroom` as a user meets them: output, formats, exit codes, bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from fabrics import HOSTS, small_fabric

from fabric.cli.main import main
from fabric.validate.checks.registry import CHECKS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "new")


def write(folder: Path, **changes: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    fabric = small_fabric()
    for device, tables in changes.items():
        for table, rows in tables.items():
            for key, fields in rows.items():
                fabric[device].setdefault(table, {}).setdefault(key, {}).update(fields)
    for name, content in fabric.items():
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    (folder / "hosts.json").write_text(json.dumps(HOSTS), encoding="utf-8")
    return folder


BROKEN: dict[str, dict[str, Any]] = {"leaf1": {"DSCP_TO_TC_MAP": {"M": {"26": "0"}}}}


def test_a_clean_fabric_exits_0_with_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(folder)]) == 0
    assert "4 switches, 12 ports, 8 links: 0 errors, 0 warnings" in capsys.readouterr().out


def test_a_finding_exits_1_and_names_file_and_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, **BROKEN)
    assert main(["validate", str(folder)]) == 1
    out = capsys.readouterr().out
    lines = (folder / "leaf1.json").read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines, 1) if '"26"' in line)
    assert f"{folder / 'leaf1.json'}:{number}" in out
    assert "error M1" in out
    assert main(["validate", str(folder), "--fail-on", "never"]) == 0


@pytest.mark.parametrize("style", ["json", "sarif", "junit", "html", "markdown"])
def test_every_format_carries_the_finding(style: str, folder: Path, tmp_path: Path) -> None:
    write(folder, **BROKEN)
    target = tmp_path / f"out.{style}"
    assert main(["validate", str(folder), "--format", style, "-o", str(target)]) == 1
    text = target.read_text(encoding="utf-8")
    if style == "json":
        found = json.loads(text)
        assert found["counts"]["error"] == sum(it["severity"] == "error" for it in found["findings"]) > 0
    elif style == "sarif":
        run = json.loads(text)["runs"][0]
        result = next(it for it in run["results"] if it["ruleId"] == "M1")
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "M1"
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] > 1
        assert len({it["partialFingerprints"]["cause/v1"] for it in run["results"]}) == len(run["results"])
    elif style == "junit":
        suite = ET.fromstring(text)  # noqa: S314  our own output
        failed = [case.get("name") for case in suite if len(case)]
        assert any(name is not None and name.startswith("M1 ") for name in failed)
        assert suite.get("failures") == str(len(failed))
    else:
        assert "M1" in text
        assert "DSCP 26" in text


def test_a_baseline_leaves_only_what_is_new_and_says_what_changed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write(tmp_path / "old", leaf2={"PFC_WD": {"Ethernet16": {"action": "forward"}}})
    write(folder, **BROKEN)
    assert main(["validate", str(folder), "--baseline", str(old), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert {it["id"] for it in found["findings"] if it["severity"] == "error"} == {"M1", "M2", "L9", "N1"}
    assert {it["id"] for it in found["fixed"]} == {"W7"}
    assert found["changes"] == ["leaf1: DSCP_TO_TC_MAP|M|26: 3 → 0", "leaf2: PFC_WD|Ethernet16|action: forward → drop"]


def test_a_change_of_text_alone_is_no_change(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = write(tmp_path / "old")
    for path in folder.glob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")), sort_keys=True), encoding="utf-8")
    assert main(["validate", str(folder), "--baseline", str(old), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["changes"], found["findings"], found["fixed"]) == ([], [], [])


def test_a_suppression_needs_a_reason_and_ends(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, leaf1={"PFC_WD": {"Ethernet16": {"action": "forward"}}})
    rules = tmp_path / "accept.yml"
    row = "- {{check: W7, device: 'leaf*', reason: lab, expires: {day}}}\n"
    for day, code in (("2999-01-01", 0), ("2001-01-01", 1)):
        rules.write_text(row.format(day=day), encoding="utf-8")
        assert main(["validate", str(folder), "--suppress", str(rules), "--fail-on", "warn"]) == code
    rules.write_text("- {check: W77, expires: never}\n", encoding="utf-8")
    assert main(["validate", str(folder), "--suppress", str(rules)]) == 2
    err = capsys.readouterr().err
    assert all(word in err for word in ("'W77' is no check", "reason", "'never' is no day"))


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nowhere"],
        ["--only", "X1", "."],
        ["--explain", "X1"],
        ["--explain", "M1", "--list"],
        ["--list", "a.json"],
        ["--list", "--format", "html"],
        ["a", "--json", "--format", "text"],
        ["a", "--json", "--all"],
        ["a", "--roce-dscp", "64"],
        ["a", "--max-oversubscription", "0"],
        ["a", "--pg-profile-lookup", "nowhere.ini"],
    ],
)
def test_options_that_make_no_sense_exit_2_without_a_traceback(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", *argv]) == 2
    err = capsys.readouterr().err
    assert err
    assert "Traceback" not in err


def test_all_unreadable_files_are_named_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "leaf1.json").write_text('{"PORT": {', encoding="utf-8")
    (folder / "spine1.json").write_text("[]", encoding="utf-8")
    (folder / "hosts.json").write_text('{"default": {"mtu": "big", "speeed": 1}}', encoding="utf-8")
    assert main(["validate", str(folder)]) == 2
    err = capsys.readouterr().err
    assert all(word in err for word in ("leaf1.json:1", "spine1.json", "default.mtu", "default.speeed", "'speed'"))


def test_explain_says_condition_consequence_remedy_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--explain", "H2"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("condition", "consequence", "remedy", "buffermgr.cpp"))


@pytest.mark.parametrize(
    ("platform", "xoff"), [("sn5600", 283_648), ("MSN4700", 77_824), ("Mellanox-SN5640-C512X2", 104_448)]
)
def test_headroom_prints_the_vendors_row(platform: str, xoff: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["headroom", "--speed", "400G", "--cable", "40m", "--platform", platform, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["row"]["xoff_bytes"] == xoff
    assert found["bounds"]["d"] == 96_520


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--speed", "400G", "--cable", "40m", "--xoff", "38000"], 1),
        (["--speed", "400G", "--cable", "40m", "--xoff", "39000"], 1),
        (["--speed", "400G", "--cable", "40m", "--xoff", "96002"], 0),
        (["--speed", "400", "--cable", "40m"], 2),
        (["--speed", "400G", "--cable", "40"], 2),
        (["--speed", "400G", "--cable", "40m", "--platform", "sn56"], 2),
        (["--speed", "400G", "--cable", "40m", "--mtu", "1"], 2),
    ],
)
def test_headroom_judges_a_given_value_and_refuses_bad_input(argv: list[str], code: int) -> None:
    assert main(["headroom", *argv]) == code


def test_headroom_says_when_the_switch_would_make_no_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["headroom", "--speed", "400G", "--cable", "60m", "--platform", "sn4700"]) == 0
    assert "no row for this speed and cable" in capsys.readouterr().out


KEYS = {
    "": ({"$schema", "version", "runs"}, {"version", "runs"}),
    "run": ({"tool", "invocations", "results"}, {"tool"}),
    "invocation": ({"executionSuccessful", "toolExecutionNotifications"}, {"executionSuccessful"}),
    "notification": ({"level", "message", "locations"}, {"message"}),
    "tool": ({"driver"}, {"driver"}),
    "driver": ({"name", "version", "rules"}, {"name"}),
    "rule": ({"id", "name", "shortDescription", "fullDescription", "help", "defaultConfiguration"}, {"id"}),
    "result": (
        {"ruleId", "ruleIndex", "level", "message", "partialFingerprints", "locations", "suppressions"}
        | {"relatedLocations", "properties"},
        {"message"},
    ),
    "location": ({"physicalLocation"}, set()),
    "related": ({"physicalLocation", "id", "message"}, set()),
    "physicalLocation": ({"artifactLocation", "region"}, set()),
    "suppression": ({"kind", "justification"}, {"kind"}),
}
"""Object -> (properties of SARIF 2.1.0 that we use, those it requires). Every object forbids others."""


def keyed(kind: str, value: Any) -> Any:  # noqa: ANN401
    allowed, required = KEYS[kind]
    assert required <= set(value) <= allowed, kind
    return value


def test_sarif_has_the_properties_and_values_that_its_schema_asks_for(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, **BROKEN)
    (tmp_path / "with space").mkdir()
    folder.rename(tmp_path / "with space/new")
    rules = tmp_path / "accept.yml"
    rules.write_text("- {check: N1, reason: lab, expires: 2999-01-01}\n", encoding="utf-8")
    main(["validate", str(tmp_path / "with space/new"), "--format", "sarif", "--suppress", str(rules)])
    log = keyed("", json.loads(capsys.readouterr().out))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = keyed("driver", keyed("tool", keyed("run", run)["tool"])["driver"])
    ids = [keyed("rule", rule)["id"] for rule in driver["rules"]]
    (invocation,) = run["invocations"]
    for note in keyed("invocation", invocation)["toolExecutionNotifications"]:
        assert keyed("notification", note)["level"] in {"warning", "note"}
    assert len(set(ids)) == len(ids)
    assert all(
        rule["name"].isalnum()
        and not rule["name"][0].islower()
        and rule["name"] != rule["id"]
        and rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}
        for rule in driver["rules"]
    )
    assert any("suppressions" in result for result in run["results"])
    for result in run["results"]:
        keyed("result", result)
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        assert result["level"] in {"error", "warning", "note"}
        assert [keyed("suppression", it)["kind"] for it in result.get("suppressions", [])] in ([], ["external"])
        for number, other in enumerate(result.get("relatedLocations", []), 1):
            assert keyed("related", other)["id"] == number
            assert other["message"]["text"]
        (location,) = result["locations"]
        place = keyed("physicalLocation", keyed("location", location)["physicalLocation"])
        assert place["artifactLocation"]["uri"].startswith("file:///")
        assert "with%20space" in place["artifactLocation"]["uri"]
        assert place["region"]["startLine"] >= 1


def test_sarif_names_files_relative_to_where_it_was_called(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, **BROKEN)
    monkeypatch.chdir(folder.parent)
    main(["validate", folder.name, "--format", "sarif"])
    run = json.loads(capsys.readouterr().out)["runs"][0]
    assert {it["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for it in run["results"]} <= {
        f"{folder.name}/{name}.json" for name in ("leaf1", "leaf2", "spine1", "spine2", "hosts")
    }


def test_the_page_lists_each_check_once_and_folds_notes_and_suppressions(folder: Path, tmp_path: Path) -> None:
    write(folder, **BROKEN)
    rules, page = tmp_path / "accept.yml", tmp_path / "out.html"
    rules.write_text("- {check: N1, reason: in the <lab>, expires: 2999-01-01}\n", encoding="utf-8")
    main(["validate", str(folder), "--format", "html", "--suppress", str(rules), "-o", str(page)])
    text = page.read_text(encoding="utf-8")
    assert text.count('id="M1-error"') == text.count('href="#M1-error"') == 1
    assert "in the &lt;lab&gt;" in text
    assert 'id="L9-error"' not in text
    assert "With it: M2 (1), L9 (2)" in re.sub(r"</?abbr[^>]*>", "", text)
    assert text.index("<details>") > text.index('id="M1-error"')
    assert "Paths: shortest" in text


def test_checks_are_named_in_any_case_and_by_family(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, **BROKEN)
    assert main(["validate", "--explain", "e2B"]) == 0
    assert capsys.readouterr().out.startswith("E2b ")
    main(["validate", str(folder), "--only", "m,l9", "--json"])
    ids = {it["id"] for it in json.loads(capsys.readouterr().out)["findings"]}
    assert {"M1", "M2", "L9"} <= ids
    assert all(it.startswith("M") or it == "L9" for it in ids)


def test_a_file_that_is_no_table_is_not_refused_line_by_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(folder), "--pg-profile-lookup", str(folder / "leaf1.json")]) == 2
    err = capsys.readouterr().err
    assert "more like these" in err
    assert err.count("is no row of a headroom table") == 20


def test_a_suppression_that_hides_nothing_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "accept.yml"
    rules.write_text("- {check: W7, device: leaf9, reason: lab, expires: 2999-01-01}\n", encoding="utf-8")
    assert main(["validate", str(folder), "--suppress", str(rules)]) == 0
    assert "suppression of W7 hides nothing" in capsys.readouterr().err


def test_the_example_of_the_guide_shows_what_the_guide_says(
    repo_root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo_root)
    folder = "docs/howto/validate-example"
    guide = (repo_root / "docs/howto/validate-in-ci.md").read_text(encoding="utf-8")
    assert main(["validate", f"{folder}/before"]) == 0
    first = capsys.readouterr().out.splitlines()
    assert main(["validate", f"{folder}/after", "--baseline", f"{folder}/before"]) == 1
    second = capsys.readouterr().out.splitlines()
    shown = [
        line
        for line in guide.partition("## 0.")[2].partition("```\n")[2].partition("```")[0].splitlines()
        if line.strip() != "..." and not line.startswith("$")
    ]
    assert len(shown) > 4
    assert [line for line in shown if line not in {*first, *second}] == []


def test_changed_sessions_and_routes_are_told_one_by_one(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def with_peers(path: Path, asn: str, gateway: str) -> Path:
        return write(
            path,
            leaf1={
                "BGP_NEIGHBOR": {
                    "10.0.0.1": {"name": "spine1", "asn": asn},
                    "10.0.0.3": {"name": "spine2", "asn": "65000"},
                },
                "STATIC_ROUTE": {"default|10.9.0.0/24": {"nexthop": gateway}},
            },
        )

    old = with_peers(tmp_path / "old", "65000", "10.0.0.1")
    main(["validate", str(with_peers(folder, "65009", "10.0.0.3")), "--baseline", str(old), "--json"])
    assert json.loads(capsys.readouterr().out)["changes"] == [
        "leaf1: BGP_NEIGHBOR|10.0.0.1|asn: 65000 → 65009",
        "leaf1: STATIC_ROUTE|default|10.9.0.0/24|nexthop: 10.0.0.1 → 10.0.0.3",
    ]


def test_a_second_mistake_at_the_same_object_is_new(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write(tmp_path / "old")
    for path, settings in ((old, {"trust": "pcp"}), (folder, {"trust": "pcp", "pfc_enable": "4"})):
        hosts = {"default": {**HOSTS["default"], **settings}}
        (path / "hosts.json").write_text(json.dumps(hosts), encoding="utf-8")
    main(["validate", str(folder), "--baseline", str(old), "--only", "N1", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert {it["text"] for it in found["findings"]} == {"RoCE is in priority 3 here, the host has PFC on 4"}
    assert found["known"] == 4


@pytest.mark.parametrize("option", ["--hosts", "--links", "--fib", "--suppress"])
def test_a_configuration_given_for_another_file_is_not_refused_line_by_line(
    option: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(folder), option, str(folder / "leaf1.json")]) == 2
    assert len(capsys.readouterr().err.splitlines()) < 50


def test_a_file_that_never_ends_is_refused_unread(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "/dev/zero"]) == 2
    assert "is a device, not a regular file" in capsys.readouterr().err


def test_half_a_character_is_refused_with_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "leaf1.json").write_text('{"PORT":\n {"\\ud800": {"speed": "1"}}}', encoding="utf-8")
    (folder / "leaf2.json").write_text('{"PORT":\n {"Ethernet0": {"alias": "\\ud83d\\ude00"}}}', encoding="utf-8")
    (folder / "hosts.json").unlink()
    (folder / "hosts.yml").write_text('default:\n  nic: "\\ud800"\n', encoding="utf-8")
    assert main(["validate", str(folder)]) == 2
    err = capsys.readouterr().err
    assert "leaf1.json:2: an escape such as" in err
    assert "hosts.yml:2: not YAML: " in err  # libyaml refuses it itself
    assert "invalid Unicode character escape" in err
    assert "leaf2.json" not in err


def test_a_link_that_leads_nowhere_is_no_switch_left_out_in_silence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "leaf1.json").unlink()
    (folder / "leaf1.json").symlink_to("gone.json")
    (folder / "leaf2.json").unlink()
    (folder / "leaf2.json").symlink_to("leaf2.json")
    assert main(["validate", str(folder)]) == 2
    err = capsys.readouterr().err
    assert all(
        f"{name}: is a link that leads nowhere" in err.replace(str(folder) + "/", "")
        for name in ("leaf1.json", "leaf2.json")
    )


def test_a_file_of_another_ending_is_named_and_a_hidden_one_is_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("leaf3.bak", "README.md", ".pre-commit-config.yaml"):
        (folder / name).write_text("repos: []", encoding="utf-8")
    assert main(["validate", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "not understood: file 'leaf3.bak'" in out
    assert "README" not in out
    assert "(1 place not understood; " in out
    assert main(["validate", str(folder), "--all"]) == 0
    assert "not judged: file 'README.md': no configuration" in capsys.readouterr().out


def test_notes_beside_configurations_are_named_and_not_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "notes.txt").write_text("interface Ethernet1 of leaf3: ask for the cable\n", encoding="utf-8")
    (folder / "leaf9.txt").write_text("the login failed\n", encoding="utf-8")
    (folder / "tables.ini").write_text("# speed cable\n", encoding="utf-8")
    assert main(["validate", str(folder), "--all"]) == 0
    out = capsys.readouterr().out
    assert "not understood: file 'notes.txt': it is named as notes are; name the file itself to read it" in out
    assert "not understood: file 'leaf9.txt': no line of it is one of a switch's configuration" in out
    assert "not judged: file 'tables.ini': a headroom table is given with --pg-profile-lookup" in out


def test_a_text_that_is_named_is_an_error_and_so_is_a_folder_of_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "leaf9.txt").write_text("the login failed\n", encoding="utf-8")
    assert main(["validate", str(tmp_path / "leaf9.txt")]) == 2
    assert "not a configuration that is known" in capsys.readouterr().err
    assert main(["validate", str(tmp_path)]) == 2
    assert "file 'leaf9.txt': no line of it is one of a switch's configuration" in capsys.readouterr().err


def test_a_folder_per_switch_names_the_switches(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("leaf1", "leaf2"):
        tables = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        del tables["DEVICE_METADATA"]["localhost"]["hostname"]
        (tmp_path / "tree" / name).mkdir(parents=True)
        (tmp_path / "tree" / name / "config_db.json").write_text(json.dumps(tables), encoding="utf-8")
    assert main(["validate", str(tmp_path / "tree")]) == 2
    assert "name them, as in" in capsys.readouterr().err
    main(["validate", *(str(tmp_path / "tree" / name) for name in ("leaf1", "leaf2")), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["switches"] == 2
    assert {it["device"] for it in report["findings"] if it["id"] != "R11"} <= {"leaf1", "leaf2"}
    assert {it["device"] for it in report["findings"] if it["id"] == "R11"} == {"spine1", "spine2"}


def test_a_port_has_one_cable(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "links.yml").write_text(
        "links:\n- {a: [leaf1, Ethernet16], b: [spine1, Ethernet8]}\n- {a: [leaf1, Ethernet16], b: [spine2, Ethernet8]}"
        "\n- {a: [leaf2, Ethernet16], b: [leaf2, Ethernet16]}\n",
        encoding="utf-8",
    )
    assert main(["validate", str(folder)]) == 2
    err = capsys.readouterr().err
    assert "links.yml:3: leaf1:Ethernet16 is in two links, first on line 2" in err
    assert "links.yml:4: leaf2:Ethernet16 is both ends of this link" in err


def test_a_slip_in_the_name_of_a_table_or_field_is_guessed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        folder,
        leaf1={
            "BUFER_PG": {"Ethernet0|3": {}},
            "PFC_WD": {"Ethernet0": {"restoration_tim": "200"}},
            "NTP_SERVER": {"10.0.0.1": {}},
        },
    )
    main(["validate", str(folder)])
    out = capsys.readouterr().out
    assert "table BUFER_PG (did you mean 'BUFFER_PG'?)" in out
    assert "(did you mean 'restoration_time'?)" in out
    assert "table NTP_SERVER (" + str(folder) in out


def test_a_terminal_without_arrows_gets_escapes_and_no_traceback(folder: Path) -> None:
    write(folder, leaf1={"PORT_QOS_MAP": {"Ethernet16": {"pfc_enable": ""}}})
    for style in ("text", "json"):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from fabric.cli.main import entry; entry()",
                "validate",
                str(folder),
                "--format",
                style,
            ],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        assert done.returncode == 1, done.stderr
        assert b"leaf1:Ethernet16" in done.stdout
        assert not done.stderr
    assert "↔" in done.stdout.decode("utf-8")


@pytest.mark.parametrize("argument", ["X=", "=table.ini"])
def test_a_headroom_table_without_name_or_file_is_refused(
    argument: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(folder), "--pg-profile-lookup", argument]) == 2
    assert "write HWSKU=FILE or FILE" in capsys.readouterr().err


def test_tofinos_cable_term_says_how_its_script_divides(capsys: pytest.CaptureFixture[str]) -> None:
    main(["headroom", "--speed", "400G", "--cable", "40m", "--platform", "as9516"])
    line = next(line for line in capsys.readouterr().out.splitlines() if "198e6" in line)
    assert "19729" in line
    assert "bits over 8192" in line


def test_suppressed_neighbours_of_an_unknown_vlan_are_a_dangling_reference(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, leaf1={"SUPPRESS_VLAN_NEIGH": {"Vlan7": {"suppress": "on"}}})
    assert main(["validate", str(folder), "--only", "R1"]) == 1
    assert "SUPPRESS_VLAN_NEIGH|Vlan7" in capsys.readouterr().out


def test_the_output_does_not_replace_a_file_that_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.parent)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    victim = next(path for path in folder.iterdir() if path.suffix == ".json")
    assert main(["validate", str(folder), "-o", str(victim)]) == 2
    assert "is a file that this command reads" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    for _ in range(2):
        assert main(["validate", str(folder), "--fail-on", "never", "-o", str(folder / "verdict.html")]) == 0


def test_an_unknown_check_has_the_numbers_of_checks_and_the_families(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", ".", "--only", "ZZ9"]) == 2
    text = capsys.readouterr().err
    assert f"{len(CHECKS)} checks such as " in text
    assert "families R, " in text
