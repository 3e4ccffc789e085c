"""EOS `platform trident mmu`: headroom, alpha and the headroom pool; what is not read is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.configs.load import load_network, parse_device
from fabric.validate.checks.base import Severity
from fabric.validate.runner import validate

TEXT = """! device: leaf1 (DCS-7060X6-64PE, EOS-4.33.1F)
hostname leaf1
platform trident mmu headroom-pool limit cells 24000
platform trident mmu queue profile RoCE
   ingress reserved bytes 0
   ingress threshold 1
   ingress headroom bytes 120000
   ingress priority-group 3 threshold 1/2
   egress unicast queue 3 threshold 8
platform trident mmu queue profile RoCE apply
qos profile ROCE
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   uc-tx-queue 3
      random-detect ecn minimum-threshold 1000 segments maximum-threshold 4000 segments max-mark-probability 20
interface Ethernet1/1-2
   mtu 9214
   speed 400g-4
   service-profile ROCE
"""


def test_headroom_alpha_and_pool_are_those_of_the_applied_profile() -> None:
    device = parse_device(TEXT, "leaf1.cfg")
    assert not device.unread
    assert not device.defects
    port = device.ports["Ethernet1/2"]
    profile = device.profile_of(port.groups[3])
    assert profile is not None
    assert (profile.xoff_bytes, profile.dynamic_th, profile.assumed) == (120_000, -1, False)
    assert device.pools[profile.pool].shared_headroom_bytes == 24_000 * 254
    queue = device.profile_of(port.queues[3])
    assert queue is not None
    assert queue.dynamic_th == 3
    curve = device.wreds[port.queues[3].wred or ""].curve
    assert curve is not None
    assert (curve.min_bytes, curve.max_bytes) == (254_000, 1_016_000)


def test_cells_of_a_chip_that_is_not_named_are_refused_with_the_remedy() -> None:
    device = parse_device(TEXT.partition("\n")[2], "leaf1.cfg")
    assert {item.check for item in device.defects} == {"R5"}
    assert all("'! device:' line" in item.text for item in device.defects)


@pytest.mark.parametrize(
    ("old", "new", "check", "word"),
    [("profile RoCE apply", "profile Rocky apply", "R1", "Rocky"), ("threshold 1/2", "threshold 1/3", "R5", "1/3")],
)
def test_a_line_that_eos_would_refuse_is_a_defect(old: str, new: str, check: str, word: str) -> None:
    defects = parse_device(TEXT.replace(old, new), "leaf1.cfg").defects
    assert [item.check for item in defects] == [check]
    assert word in defects[0].text


def test_a_profile_that_is_not_applied_and_lines_of_other_chips_are_listed() -> None:
    text = TEXT.replace("profile RoCE apply", "profile Other apply") + (
        "platform trident mmu queue profile Other\n   ingress threshold 2\nplatform jericho mmu something 3\n"
    )
    device = parse_device(text, "leaf1.cfg")
    assert [item.what for item in device.unread] == [
        "'platform trident mmu queue profile RoCE' is not applied",
        "'platform jericho mmu something 3'",
    ]


def judged(tmp_path: Path, text: str, length_m: int) -> set[tuple[str, str]]:
    (tmp_path / "leaf1.cfg").write_text(text, encoding="utf-8")
    (tmp_path / "spine1.cfg").write_text(text.replace("leaf1", "spine1"), encoding="utf-8")
    (tmp_path / "links.yml").write_text(
        "links:\n"
        + "".join(
            f"- {{a: [leaf1, Ethernet1/{n}], b: [spine1, Ethernet1/{n}], length_m: {length_m}}}\n" for n in (1, 2)
        ),
        encoding="utf-8",
    )
    found = validate(load_network([tmp_path]), only={"H1", "B3", "B2", "H5", "H6"}).findings
    return {(it.check.id, it.severity.word) for it in found if it.severity > Severity.INFO}


def test_headroom_is_judged_for_the_length_in_the_links_file(tmp_path: Path) -> None:
    assert judged(tmp_path, TEXT, 40) == set()
    assert judged(tmp_path, TEXT.replace("headroom bytes 120000", "headroom bytes 20000"), 40) == {("H1", "error")}
    assert judged(tmp_path, TEXT, 500) == {("H1", "error")}


def test_an_alpha_of_eight_and_a_headroom_pool_of_a_few_cells_are_found(tmp_path: Path) -> None:
    text = TEXT.replace("group 3 threshold 1/2", "group 3 threshold 32").replace("cells 24000", "cells 100")
    assert judged(tmp_path, text, 40) == {("B3", "warn"), ("B2", "warn")}
