"""The built wheel in an empty environment and an empty folder: the first commands of the documentation work.

Nothing is fetched: the environment has the packages of lock/runtime.txt, as links to those of this one, and the wheel.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.wheels import build_wheel, link_locked
from tools import page_commands

ROOT = Path(__file__).resolve().parent.parent
ENDINGS = {"fabric diff runs/incast runs/incast-no-cc": 1}
"""Commands of first-run.md that end with another exit code than 0: these two runs differ."""


NEEDS = {"docs/howto/compare.md": ("studies", "scipy>="), "docs/howto/gnmi.md": ("gnmi", "pygnmi>=")}
"""Guide -> the extra that its commands need, as the guide says, and a package that the refusal installs."""


def commands(page: Path) -> list[str]:
    """Every line of the code blocks of a page, without its comment."""
    blocks = re.findall(r"^```\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [
        line.partition(" #")[0].strip() for block in blocks for line in block.splitlines() if line.startswith("fabric ")
    ]


@pytest.fixture(scope="module")
def installed(built_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment that holds the wheel and what it needs, and nothing of this checkout."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home)
    python = home / "bin/python"
    (site_packages,) = home.glob("lib/python*/site-packages")
    link_locked(site_packages)
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    for words in (["install", "-q", "--no-deps", "--no-index", str(built_wheel)], ["check"]):
        done = subprocess.run([*pip, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return python.parent


def spoken(installed: Path, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(installed / words[0]), *words[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


def test_the_first_commands_of_the_documentation_work_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    first = commands(ROOT / "docs/howto/first-run.md")
    assert len(first) >= 9
    extra = [
        "python -m fabric --version",
        "fabric demo",
        "fabric demo rollout",
        "fabric config",
        "fabric capture runs/incast --port leaf1:Ethernet0 --to 20us -o incast.pcapng",
        "fabric playbook run incast",
        "fabric drill start --kind slow-receiver --seed 1 --out runs/drill",
        "fabric drill look runs/drill",
        "fabric init job",
        "fabric scenario check job.yml",
        "fabric init",
        "fabric scenario check leaf-spine.yml",
        "fabric init rail",
        "fabric scenario list",
        "fabric help run",
        "fabric explain runs/incast",
        "fabric playbook show pfc-storm",
        "fabric completion bash",
        "fabric docs",
        "fabric docs docs/diagnosis.md",
        "fabric docs --search watchdog",
        "fabric topology show scenarios/clos-1024.yml",
        "fabric alerts rules --out rules",
        "fabric init validate-example",
        "fabric init rollout-example",
        "fabric rollout rollout-example/old rollout-example/new",
        "fabric init tenants-example",
        "fabric validate tenants-example/working --reach",
        "fabric bgp capture scenarios/mac-move.yml -o bgp.pcapng",
    ]
    for command in [*first, *extra]:
        done = spoken(installed, command, tmp_path)
        assert done.returncode == ENDINGS.get(command, 0), (command, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, command
    done = spoken(installed, "fabric validate validate-example/after --baseline validate-example/before", tmp_path)
    assert done.returncode == 1
    for page in ("incast/report.html", "demo-rollout/rollout.html", "playbook-incast/playbook.html"):
        assert (tmp_path / "runs" / page).is_file()
    assert {path.name for path in (tmp_path / "rules").iterdir()} >= {"alertmanager.yml", "runbooks"}
    assert (installed.parent / "share/man/man1/fabric-run.1").is_file()
    where = spoken(installed, "python -c 'import fabric; print(fabric.__file__)'", tmp_path)
    assert str(installed.parent) in where.stdout


def first_commands() -> list[tuple[str, str, int]]:
    """(page, command, exit code): of every guide the first command that the page's own test runs."""
    rows, found = page_commands.table(), []
    for page in page_commands.pages():
        if page.startswith(("docs/howto/", "docs/tutorials/")):
            mine = [(it.text, page_commands.how(it, rows)) for it in page_commands.commands(page)]
            run = [(page, how.run_as or text, how.exit) for text, how in mine if not (how.run_by or how.not_run)]
            found += [it for it in run if it[1].startswith("fabric ")][:1]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command", "code"), first_commands())
def test_the_first_command_of_a_guide_works_in_an_empty_folder(
    page: str, command: str, code: int, installed: Path, tmp_path: Path
) -> None:
    done = spoken(installed, command, tmp_path)
    if page in NEEDS:
        assert done.returncode == 2
        extra, package = NEEDS[page]
        assert re.search(rf"pip install .*'{package}", " ".join(done.stderr.split()))
        assert f"pip install -e '.[{extra}]'" in (ROOT / page).read_text(encoding="utf-8")
    else:
        assert done.returncode == code, (page, done.stdout, done.stderr)


def test_a_source_distribution_builds_a_wheel_with_the_same_files(built_wheel: Path, tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    build_wheel(archive, tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    held = [sorted(zipfile.ZipFile(it).namelist()) for it in (wheel, built_wheel)]
    assert held[0] == held[1]
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert names >= {f"lock/{path.name}" for path in (ROOT / "lock").iterdir()}
    assert names >= {"tools/lock.py", "deploy/base-image.txt", "docs/licences.md", ".ci/run"}
