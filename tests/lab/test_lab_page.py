"""docs/howto/lab.md: its commands with real routers, as root and so without sudo."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import ROOT
from tests.lab.routers import REAL, router
from tests.shell import said
from tools.page_commands import commands

pytestmark = REAL
SPEAK: Final = "sudo fabric bgp speak "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    return tmp_path


def test_the_laboratories_of_the_page_agree_run_and_end(folder: Path) -> None:
    page = [it.words for it in commands("docs/howto/lab.md") if re.match(r"(sudo )?(fabric lab|ip netns) ?", it.words)]
    assert page[-1].startswith("sudo fabric lab down ")
    try:
        for command in page:
            found = said(command.removeprefix("sudo "), folder)
            if " compare " in command:
                assert "all equal" in found, command
            if command.endswith("lab show scenarios/mac-move.yml"):
                assert "running, 12 of 12 daemons run" in found
    finally:
        said(page[-1].removeprefix("sudo "), folder)  # `down` may be called again


def test_the_session_of_the_page_has_its_routes_and_its_journal_replays(folder: Path) -> None:
    page = {it.words for it in commands("docs/howto/lab.md")}
    (speak,) = (it for it in page if it.startswith(SPEAK))
    with router() as here:
        found = said(f"ip netns exec {here.name} {speak.removeprefix('sudo ')}", folder)
    assert "8 ipv4 unicast, 36 l2vpn evpn routes" in found
    assert "session with 192.0.2.0 is up" in found
    (replay,) = (it for it in page if it.startswith("fabric bgp replay "))
    assert "all the same" in said(replay, folder)


def test_the_frame_of_the_page_is_an_arp_request(folder: Path) -> None:
    text = (ROOT / "docs/howto/lab.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\$ (echo '\{.*?> arp\.pcapng)$", text, re.MULTILINE | re.DOTALL)
    said(command, folder)
    assert "Who has 10.0.0.2? Tell 10.0.0.1" in said("tshark -r arp.pcapng", folder)
