"""docker-compose.yml and what it mounts: consistent with each other, with the rules, and with the command line."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from fabric.cli import serve
from fabric.cli.main import Parser
from fabric.scenario.load import load_scenario
from telemetry.alerting.alertmanager import PAGER_URL, TICKETS_URL
from telemetry.alerting.pager import LISTEN
from telemetry.alerting.render import RUNBOOKS
from telemetry.alerting.rules import NOMINAL_DILATION, SCRAPE_S
from tests.conftest import ROOT
from tests.telemetry.programs import program, run_tool

Yaml = dict[str, Any]
COMPOSE: Final[Yaml] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: Final[Yaml] = COMPOSE["services"]
PROMETHEUS: Final[Yaml] = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text())
SOURCES: Final[Yaml] = yaml.safe_load((ROOT / "deploy/grafana/datasources.yml").read_text())


def mounts(service: str) -> dict[str, str]:
    """Path in the container -> source."""
    return {it.split(":")[1]: it.split(":")[0] for it in SERVICES[service].get("volumes", ())}


def serving(service: str) -> Any:  # noqa: ANN401  argparse's namespace
    """A service's command as `fabric serve` reads it, with the variables' defaults."""
    words = [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", word) for word in SERVICES[service]["command"]]
    parser = Parser()
    serve.add_arguments(parser)
    assert words[0] == "serve"
    return parser.parse_args(words[1:])


def test_docker_compose_reads_the_file_where_it_is_installed() -> None:
    assert set(SERVICES) == {"emulator", "prometheus", "alertmanager", "pager", "grafana"}
    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], check=False, capture_output=True).returncode == 0:
        run_tool(docker, "compose", "-f", str(ROOT / "docker-compose.yml"), "config", "--quiet", cwd=ROOT)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_hardened_and_says_whether_it_is_well(service: str) -> None:
    found = SERVICES[service]
    assert found["read_only"] is True
    assert found["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in found["security_opt"]
    assert found["healthcheck"]["test"][0] == "CMD"


@pytest.mark.parametrize("service", SERVICES)
def test_ports_are_published_on_loopback_alone(service: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[service].get("ports", ()))


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_has_a_pinned_version_or_is_built_here(service: str) -> None:
    found = SERVICES[service]
    assert "build" in found or re.search(r":v?\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}$", found["image"])


@pytest.mark.parametrize("service", SERVICES)
def test_what_is_mounted_is_there_and_cannot_be_written(service: str) -> None:
    for it in SERVICES[service].get("volumes", ()):
        source = it.split(":")[0]
        if source.startswith("./"):
            assert (ROOT / source).exists(), source
            assert it.endswith(":ro")
        else:
            assert source in COMPOSE["volumes"]


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_waits_for_others_to_be_well(service: str) -> None:
    for name, how in SERVICES[service].get("depends_on", {}).items():
        assert name in SERVICES
        assert how == {"condition": "service_healthy"}


def test_the_emulator_runs_a_scenario_that_is_there_at_the_dilation_of_the_rules() -> None:
    args = serving("emulator")
    assert (ROOT / "scenarios" / args.scenario).is_file()
    assert args.dilation == NOMINAL_DILATION
    assert args.loop
    assert serve._checked(args) is None
    assert load_scenario(ROOT / "scenarios" / args.scenario, args.sets).telemetry.events == ("pause", "drop")
    assert args.as_seen_by == "ideal"


def test_prometheus_scrapes_every_view_of_the_one_emulator_where_it_is_served() -> None:
    """Two emulators would drift apart, and an act on one would not mend the other."""
    args = serving("emulator")
    views = {
        it["labels"].get("__metrics_path__", "/metrics"): (it["targets"], it["labels"]["instance"])
        for job in PROMETHEUS["scrape_configs"]
        for it in job["static_configs"]
    }
    assert set(views) == {"/metrics", *(f"/metrics/{name}" for name in args.also_seen_by)}
    assert {tuple(targets) for targets, _ in views.values()} == {(f"emulator:{args.listen.rpartition(':')[2]}",)}
    dropped = PROMETHEUS["alerting"]["alert_relabel_configs"][0]["regex"]
    assert [path for path, (_, name) in views.items() if re.fullmatch(dropped, name)] == ["/metrics/sonic"]


def test_the_emulators_know_the_names_under_which_prometheus_scrapes_them() -> None:
    for job in PROMETHEUS["scrape_configs"]:
        for target in (target for it in job["static_configs"] for target in it["targets"]):
            name = target.partition(":")[0]
            assert name in serving(name).hosts


def test_scrapes_evaluations_and_grafana_keep_the_interval_of_the_rules() -> None:
    interval = f"{SCRAPE_S}s"
    assert PROMETHEUS["global"]["scrape_interval"] == PROMETHEUS["global"]["evaluation_interval"] == interval
    assert SOURCES["datasources"][0]["jsonData"]["timeInterval"] == interval


def test_promtool_takes_prometheus_yml_with_the_rules_that_are_mounted(tmp_path: Path) -> None:
    shutil.copy(ROOT / mounts("prometheus")["/etc/prometheus/rules.yml"], tmp_path / "rules.yml")
    text = (ROOT / "deploy/prometheus.yml").read_text().replace("/etc/prometheus", str(tmp_path))
    (tmp_path / "prometheus.yml").write_text(text)
    assert "SUCCESS" in run_tool(program("promtool"), "check", "config", str(tmp_path / "prometheus.yml"))


def test_prometheus_serves_the_runbooks_where_dashboards_look_for_them() -> None:
    served = next(it for it in SERVICES["prometheus"]["command"] if it.startswith("--web.user-assets="))
    assert mounts("prometheus")[served.partition("=")[2]] == "./telemetry/prometheus/runbooks"
    port = SERVICES["prometheus"]["ports"][0].rpartition(":")[0]
    assert f"http://{port}/user" == RUNBOOKS


def test_grafana_is_given_datasources_dashboards_and_a_home() -> None:
    provider = yaml.safe_load((ROOT / "deploy/grafana/dashboards.yml").read_text())["providers"][0]
    folder = provider["options"]["path"]
    assert mounts("grafana")[folder] == "./telemetry/grafana/rendered"
    home = Path(SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert (ROOT / mounts("grafana")[str(home.parent)] / home.name).is_file()
    hosts = [re.fullmatch(r"http://(\w+):(\d+)", it["url"]) for it in SOURCES["datasources"]]
    assert [it and it.group(1) for it in hosts] == ["prometheus", "alertmanager"]
    assert [SERVICES[it.group(1)]["ports"][0].endswith(f":{it.group(2)}") for it in hosts if it] == [True, True]


def test_the_pager_shares_alertmanager_s_loopback_and_listens_where_it_sends() -> None:
    assert SERVICES["pager"]["network_mode"] == "service:alertmanager"
    assert SERVICES["pager"]["command"] == ["alerts", "pager"]
    assert (f"http://{LISTEN}/pager", f"http://{LISTEN}/tickets") == (PAGER_URL, TICKETS_URL)


def test_the_image_copies_what_is_there_and_not_ignored() -> None:
    lines = (ROOT / "deploy/Dockerfile").read_text().splitlines()
    copied = [
        word for line in lines if line.startswith("COPY") and "--from" not in line for word in shlex.split(line)[1:-1]
    ]
    kept = {line[1:] for line in (ROOT / "deploy/Dockerfile.dockerignore").read_text().splitlines() if line[0] == "!"}
    assert set(copied) == kept
    assert all((ROOT / name).exists() for name in copied)
