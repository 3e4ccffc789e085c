"""A port's speed that was changed alone: what has to follow it asks for the speed of the baseline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric.validate.checks.base import Severity
from fabric.validate.fix.told import with_remedies
from fabric.validate.judge import Request, judge
from fabric.validate.runner import Verdict
from tests.mistakes.mistake import both, good, put, write

FILES = {
    "eos": ("leaf1.cfg", "speed 400g-8", "speed 40g"),
    "nxos": ("leaf1.cfg", "speed 400000", "speed 40000"),
    "nvue": ("leaf1.yaml", "speed: 400G", "speed: 40G"),
    "sonic": ("leaf1.json", '"speed": "400000"', '"speed": "40000"'),
}


def _changed(language: str, count: int, folder: Path) -> Verdict:
    name, old, new = FILES[language]
    for it in ("old", "new"):
        (folder / it).mkdir()
        write(language, good(language), folder / it)
        hosts = folder / it / "hosts.json"
        settings = json.loads(hosts.read_text(encoding="utf-8"))
        bare = {name: {key: value for key, value in own.items() if key != "speed"} for name, own in settings.items()}
        hosts.write_text(json.dumps(bare), encoding="utf-8")
    path = folder / "new" / name
    text = path.read_text(encoding="utf-8")
    assert text.count(old) > 1
    path.write_text(text.replace(old, new, count), encoding="utf-8")
    request = Request([folder / "new"], baseline=folder / "old")
    return with_remedies(request, judge(request))


@pytest.mark.parametrize("language", FILES)
def test_the_speed_of_one_host_port_is_put_back(language: str, tmp_path: Path) -> None:
    found = _changed(language, 1, tmp_path)
    [cause] = [it for it in found.causes if it.severity >= Severity.WARN]
    assert "the baseline has 400000 Mb/s at " in cause.first.text
    assert [it.value for it in cause.fixes] == ["400000"]


def test_the_speed_of_most_ports_is_a_new_one(tmp_path: Path) -> None:
    found = _changed("sonic", -1, tmp_path)
    assert not [it for it in found.findings if "the baseline has 400000" in it.text and it.check.id in {"H3", "E5"}]


def test_a_finding_of_another_port_keeps_its_own_remedy(tmp_path: Path) -> None:
    files = good("sonic")
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        write("sonic", files, tmp_path / folder)
        files["leaf1.json"] = both(
            put("PORT", "Ethernet16", "speed", value="40000"),
            put("WRED_PROFILE", "W", "green_min_threshold", value="4000"),
        )(files["leaf1.json"])
    found = judge(Request([tmp_path / "new"], baseline=tmp_path / "old")).findings
    of_ports = [it for it in found if it.check.id == "E5" and it.device == "leaf1" and it.object.startswith("Ethernet")]
    changed = [it.object for it in of_ports if "the baseline has 400000" in it.text]
    assert changed == ["Ethernet16|3"]
    assert len(of_ports) > 1
