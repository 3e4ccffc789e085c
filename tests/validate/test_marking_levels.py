"""E2 and E5: the texts say both numbers, where marking begins and where pausing does, and which of the two is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from fabrics import HOSTS

from fabric.configs.load import load_network
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate
from tests.recordings import SONIC

E, W = Severity.ERROR, Severity.WARN
MODEL = "! device: leaf1 (DCS-7060X6-64PE, EOS-4.32.1F)\n"
"""Tomahawk 5: 147,226,020 B, alpha 1."""
PAUSE = """policy-map type queuing IN
  class type queuing c-in-q3
    pause buffer-size {size} pause-threshold {pause} resume-threshold 10000
"""


def found(folder: Path, name: str, text: str, port: str) -> dict[str, tuple[Severity, str]]:
    (folder / "leaf1.cfg").write_text(text, encoding="utf-8")
    (folder / "links.yml").write_text(f"- {{a: [leaf1, '{port}'], b: [host1, eth0], length_m: 5}}\n", encoding="utf-8")
    its = validate(load_network([folder])).findings
    return {it.check.id: (it.severity, it.text) for it in its if it.check.id == name}


@pytest.mark.parametrize(
    ("model", "kmin_kb", "severity", "words"),
    [
        (
            MODEL,
            40_000,
            W,
            ("too late: Kmin 40000000 B at 400G, usual 1600000 B", "pausing begins at 73613010 B (assumed"),
        ),
        (MODEL, 80_000, E, ("never begins: Kmin 80000000 B", "pausing begins at 73613010 B (assumed")),
        (MODEL, 150_000, E, ("never begins: Kmin 150000000 B", "147226020 B")),
        (MODEL, 40, W, ("too early: Kmin 40000 B at 400G, usual 1600000 B",)),
        ("", 40_000, W, ("too late", "where pausing begins is not known")),
    ],
)
def test_a_threshold_that_does_not_fit_is_too_early_too_late_or_never(
    model: str, kmin_kb: int, severity: Severity, words: tuple[str, ...], tmp_path: Path
) -> None:
    text = (SONIC / "other_nos" / "eos_leaf.cfg").read_text(encoding="utf-8")
    curve = "minimum-threshold 400 kbytes maximum-threshold 1600 kbytes"
    assert curve in text
    text = text.replace(curve, f"minimum-threshold {kmin_kb} kbytes maximum-threshold {max(1600, 2 * kmin_kb)} kbytes")
    (only,) = found(tmp_path, "E5", model + text, "Ethernet1/1").values()
    assert only[0] is severity
    assert all(word in only[1] for word in words), only[1]


@pytest.mark.parametrize(("pause", "severity"), [(900_000, E), (2_000_000, W), (4_000_000, None)])
def test_the_pause_threshold_of_its_own_buffer_is_where_pausing_begins(
    pause: int, severity: Severity | None, tmp_path: Path
) -> None:
    """Kmin is 950 KB, Kmax 3 MB."""
    text = (SONIC / "other_nos" / "nxos_leaf.cfg").read_text(encoding="utf-8")
    policy = PAUSE.format(size=5_000_000, pause=pause)
    applied = "system qos\n  service-policy type queuing input IN\n"
    (tmp_path / "hosts.yml").write_text(str(HOSTS), encoding="utf-8")
    its = found(tmp_path, "E2", text + policy + applied, "Ethernet1/1")
    assert [it[0] for it in its.values()] == ([severity] if severity else [])
    assert all(f"pausing begins at {pause} B" in it[1] for it in its.values())
