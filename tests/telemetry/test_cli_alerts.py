"""The command `fabric alerts`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml

from fabric.cli.main import main
from telemetry.alerting.alerts import ALERTS
from telemetry.alerting.render import rules_yaml


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, repo_root: Path) -> Path:
    """A run of 15 ms of a pause storm."""
    out = tmp_path_factory.mktemp("alerts") / "run"
    assert (
        main(["run", str(repo_root / "scenarios/alerts/storm.yml"), "--out", str(out), "--quiet", "--until", "15ms"])
        == 0
    )
    return out


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    capsys.readouterr()
    return capsys


def test_a_run_shows_its_incident_and_its_score(run: Path, output: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "show", str(run)]) == 0
    text = output.readouterr().out
    assert "host1 kept leaf1:Ethernet0 from sending priority 3" in text
    assert "FabricPfcStorm ×1" in text
    assert "1 of 1 found, 1 of 1 incidents name the root of one" in text


def test_all_alerts_and_anomalies_are_shown_on_demand(run: Path, output: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "show", str(run), "--all", "--anomalies"]) == 0
    text = output.readouterr().out
    assert text.count("FabricPfcPauseRatioHigh") > 3
    assert "fabric_pfc_receive_paused_seconds_total" in text


def test_json_has_incidents_alerts_and_score(run: Path, output: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "show", str(run), "--json", "--anomalies"]) == 0
    found = json.loads(output.readouterr().out)
    assert found["incidents"][0]["root_device"] == "host1"
    assert found["incidents"][0]["change_before"] is None
    assert {it["labels"]["alertname"] for it in found["alerts"]} >= {"FabricPfcStorm", "FabricPfcPauseRatioHigh"}
    assert found["score"]["recall"] == 1.0
    assert found["score"]["delay_ns"] == 6_000_000
    assert found["anomalies"][0]["labels"] == {"device": "leaf1", "port": "Ethernet0", "priority": "3"}


def test_another_dilation_fires_at_the_same_simulated_moment(run: Path, output: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "show", str(run), "--json", "--dilation", "1000"]) == 0
    found = json.loads(output.readouterr().out)
    assert found["incidents"][0]["fired_ns"] == 8_000_000, "rules scale with the dilation, so simulated time does not"


def test_rules_are_printed_or_written_with_what_pages(tmp_path: Path, output: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "rules"]) == 0
    assert output.readouterr().out == rules_yaml()
    assert (
        main(
            [
                "alerts",
                "rules",
                "--out",
                str(tmp_path / "new"),
                "--dilation",
                "1000",
                "--pager",
                "http://pager.example/",
                "--runbooks",
                "https://example.org/runbooks",
                "--dashboards",
                "https://grafana.example/d",
            ]
        )
        == 0
    )
    rules = yaml.safe_load((tmp_path / "new" / "rules.yml").read_text())["groups"][0]
    assert rules["interval"] == "1s"
    storm = next(it for it in rules["rules"] if it.get("alert") == "FabricPfcStorm")
    assert storm["annotations"]["runbook_url"] == (
        "https://example.org/runbooks/FabricPfcStorm.html?LEAF={{ $labels.device | urlquery }}"
        "&PORT={{ $labels.port | urlquery }}&HOST={{ $labels.peer_device | urlquery }}"
    )
    assert storm["annotations"]["dashboard_url"].startswith("https://grafana.example/d/")
    config = yaml.safe_load((tmp_path / "new" / "alertmanager.yml").read_text())
    assert config["receivers"][0]["webhook_configs"][0]["url"] == "http://pager.example/"
    scrapes = yaml.safe_load((tmp_path / "new" / "prometheus.yml").read_text())
    assert scrapes["global"]["scrape_interval"] == rules["interval"]


@pytest.mark.parametrize(
    ("options", "tickets"),
    [
        (["--pager", "http://oncall.example:9095/pager"], "http://oncall.example:9095/tickets"),
        (["--pager", "http://oncall.example/hook?team=net"], "http://oncall.example/hook?team=net"),
        (["--pager", "http://a/pager", "--tickets", "http://b/desk"], "http://b/desk"),
        ([], "http://127.0.0.1:9095/tickets"),
    ],
)
def test_tickets_go_where_pages_go_unless_they_are_told_otherwise(
    options: list[str], tickets: str, tmp_path: Path, output: pytest.CaptureFixture[str]
) -> None:
    assert main(["alerts", "rules", "--out", str(tmp_path / "new"), *options]) == 0
    assert "prometheus.yml" in output.readouterr().out
    config = yaml.safe_load((tmp_path / "new" / "alertmanager.yml").read_text())
    urls = {it["name"]: it["webhook_configs"][0]["url"] for it in config["receivers"]}
    assert urls["tickets"] == tickets


def test_the_list_names_every_alert(output: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "list"]) == 0
    assert [line.split()[0] for line in output.readouterr().out.splitlines()] == [it.name for it in ALERTS]
    assert main(["alerts", "list", "--json"]) == 0
    assert len(json.loads(output.readouterr().out)) == len(ALERTS)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["show", "nowhere"], "nowhere"),
        (["rules", "--dilation", "0"], "0 is not a dilation"),
        (["rules", "--dilation", "nan"], "nan is not a dilation"),
        (["rules", "--pager", "http://pager.example/"], "has no effect without --out"),
        (["rules", "--out", "x", "--pager", "pager.example"], "'pager.example' is not a URL"),
        (["rules", "--out", "x", "--tickets", "http://[::1"], "'http://[::1' is not a URL"),
        (["rules", "--dilation", "1e12"], "give 10 to 280,000 to `fabric serve` and here"),
        (["rules", "--dilation", "280001"], "rules for 280001 need scrapes"),
        (["rules", "--dilation", "9.9"], "rules for 9.9 need scrapes"),
        (["rules", "--runbooks", "not-a-url"], "--runbooks: 'not-a-url' is not a URL"),
        (["rules", "--dashboards", "grafana"], "--dashboards: 'grafana' is not a URL"),
        (["rules", "--out", "pyproject.toml"], "--out pyproject.toml: is a file"),
        (
            ["rules", "--out", "x", "--emulator", "localhost:9090"],
            "--prometheus: 127.0.0.1:9090 is the address of --emulator, too",
        ),
        (["rules", "--out", "x", "--alertmanager", "127.0.0.1:9095"], "is the address of --alertmanager, too"),
        (["show", "http://127.0.0.1:9464"], "`fabric explain roots http://127.0.0.1:9464`"),
        (["corpus", "--corpus", "nowhere.yml"], "nowhere.yml"),
    ],
)
def test_bad_input_is_one_clear_error(words: list[str], text: str, output: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", *words]) == 2
    captured = output.readouterr()
    assert text in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["bank", "--corpus", "FILE"], "deprecated: `alerts bank` (now `alerts corpus`)"),
        (["corpus", "--bank", "FILE"], "deprecated: `--bank` (now `--corpus`)"),
        (["bank", "--bank=FILE"], "deprecated: `alerts bank` (now `alerts corpus`), `--bank` (now `--corpus`)"),
        (["corpus", "--corpus", "FILE"], None),
    ],
)
def test_old_names_of_the_corpus_are_accepted_with_one_line_that_has_the_new_ones(
    words: list[str], line: str | None, tmp_path: Path, output: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "corpus.yml"
    file.write_text("seeds: [1]\nheld_out: [2]\ncases: [{scenario: gone.yml}]\n", encoding="utf-8")
    assert main(["alerts", *(word.replace("FILE", str(file)) for word in words)]) == 2
    captured = output.readouterr()
    assert [it for it in captured.err.splitlines() if it.startswith("deprecated")] == ([line] if line else [])
    assert "cases[0].scenario" in captured.err
    assert captured.out == ""


def test_the_old_file_name_of_the_corpus_finds_the_new_one(tmp_path: Path, output: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "corpus.yml").write_text("seeds: [1]\nheld_out: [1]\ncases: [{scenario: a.yml}]\n", encoding="utf-8")
    assert main(["alerts", "corpus", "--corpus", str(tmp_path / "bank.yml")]) == 2
    first, *rest = output.readouterr().err.splitlines()
    assert first == f"deprecated: {tmp_path / 'bank.yml'} (now {tmp_path / 'corpus.yml'})"
    assert "seed 1 is one of seeds, too" in "".join(rest)


def test_help_and_completion_have_the_new_names_only(output: pytest.CaptureFixture[str]) -> None:
    for words in (["alerts", "--help"], ["alerts", "corpus", "--help"], ["completion", "bash"]):
        assert main(words) == 0
        text = output.readouterr().out
        assert "corpus" in text
        assert "bank" not in text


def test_a_run_that_ends_before_an_alert_fires_says_what_was_pending(
    tmp_path: Path, output: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "short.yml"
    scenario.write_text(
        "name: short\n"
        "topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}\n"
        "switches: {asic: trident3}\n"
        "workload: [{kind: incast, receiver: host1, senders: ['*'], size: 20MB}]\n"
        "faults: [{kind: pause-storm, hosts: [host1], priorities: [3], at: 200us, duration: 5ms}]\n"
        "run: {duration: 4ms, seed: 1}\n",
        encoding="utf-8",
    )
    main(["run", str(scenario), "--out", str(tmp_path / "run"), "--quiet"])
    output.readouterr()
    assert main(["alerts", "show", str(tmp_path / "run")]) == 0
    said = output.readouterr().out
    assert "no alert fired; 1 injected fault not detected" in said
    assert "pending since 1ms, fires after 6ms: FabricBrokenNic: host1 has paused leaf1:Ethernet0" in said
    assert "run.stop: duration" in said
    assert main(["alerts", "show", str(tmp_path / "run"), "--json"]) == 0
    assert {"FabricBrokenNic"} <= {it["alert"] for it in json.loads(output.readouterr().out)["pending"]}


@pytest.mark.parametrize("dilation", [None, "1000"])
def test_written_rules_are_followed_by_the_commands_that_read_them(
    dilation: str | None, tmp_path: Path, output: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new rules"
    assert main(["alerts", "rules", "--out", str(out), *(["--dilation", dilation] if dilation else [])]) == 0
    said = output.readouterr()
    assert len(said.out.splitlines()) == 4, "standard output is data"
    *commands, last = said.err.splitlines()[1:]
    serve, pager, alertmanager, prometheus = (shlex.split(line) for line in commands)
    assert str(out / "prometheus") in last, "another scenario has nothing to do with the last hour of this one"
    assert ("--dilation" in serve) == (dilation is not None)
    assert pager == ["fabric", "alerts", "pager"]
    for words, file in ((alertmanager, "alertmanager.yml"), (prometheus, "prometheus.yml")):
        [config] = [word.partition("=")[2] for word in words if word.startswith("--config.file=")]
        assert Path(config) == out / file
        assert Path(config).is_file()
    assert f"--web.user-assets={out / 'runbooks'}" in prometheus
    for words in (alertmanager, prometheus):
        [listen] = [word.partition("=")[2] for word in words if word.startswith("--web.listen-address=")]
        assert listen.startswith("127.0.0.1:"), "no program that is printed here listens to the network"
    assert main(["alerts", "rules", "--out", str(out), "--json"]) == 0
    assert output.readouterr().err == ""


def test_programs_at_other_ports_are_in_every_file_and_command(
    tmp_path: Path, output: pytest.CaptureFixture[str]
) -> None:
    places = {"emulator": "127.0.0.1:9474", "alertmanager": "127.0.0.1:9193", "prometheus": "127.0.0.1:9190"}
    options = [word for name, place in places.items() for word in (f"--{name}", place)]
    options += ["--pager", "http://127.0.0.1:9195/pager"]
    assert main(["alerts", "rules", "--out", str(tmp_path / "new"), *options]) == 0
    told = output.readouterr().err
    assert "--listen 127.0.0.1:9474" in told
    assert "fabric alerts pager --listen 127.0.0.1:9195" in told
    assert all(f"--web.listen-address={places[name]}" in told for name in ("alertmanager", "prometheus"))
    prometheus = (tmp_path / "new" / "prometheus.yml").read_text()
    assert places["emulator"] in prometheus
    assert places["alertmanager"] in prometheus
    assert "http://127.0.0.1:9190/user/FabricPfcStorm.html" in (tmp_path / "new" / "rules.yml").read_text()
    page = (tmp_path / "new" / "runbooks" / "FabricPfcStorm.html").read_text()
    assert "fabric explain roots http://127.0.0.1:9474" in page
    assert "9464" not in page


def test_the_receiver_is_not_started_here_where_the_pager_is_elsewhere(
    tmp_path: Path, output: pytest.CaptureFixture[str]
) -> None:
    assert main(["alerts", "rules", "--out", str(tmp_path / "new"), "--pager", "https://pager.example/hook"]) == 0
    assert "fabric alerts pager" not in output.readouterr().err


@pytest.mark.parametrize(
    "words",
    [["--emulator", "127.0.0.1:9474"], ["--out", "new", "--alertmanager", "9093"],
     ["--out", "new", "--prometheus", "http://a:1"], ["--prometheus", "a:1", "--runbooks", "http://b"]],
)  # fmt: skip
def test_a_place_that_is_none_or_has_no_effect_is_refused(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["alerts", "rules", *words]) == 2
    assert output.readouterr().err.startswith("error: options: 1 problem")
    assert not (tmp_path / "new").exists()
