"""Counts at which switches pause and drop: by rule, in the emulator, and as sonic-mgmt's tests expect them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fabric.cli.main import main
from fabric.configs.buffers.mmu import MMUS, PoolSize, chip_of, find_mmu, pool_size_of
from fabric.configs.buffers.thresholds import Thresholds, thresholds
from fabric.configs.load import parse_device
from fabric.scenario.presets.asics import ASICS
from tests.silicon.page_of_chips import PAGE, page
from tests.silicon.rows_of_chips import DATA, Chip, agrees, by_rule, chips, expected, simulated

QUICK = [chip for chip in chips() if chip.raw["asic"] in {"td2", "th"}]
TRIDENT3 = DATA / "config" / "td3-c32-t1-2022-06.json"


def config(**changes: dict[str, Any]) -> dict[str, Any]:
    """A Trident 3 with 32 ports; `changes` replace fields of rows: BUFFER_POOL={'pool': {'size': '1'}}."""
    raw: dict[str, Any] = json.loads(TRIDENT3.read_text(encoding="utf-8"))
    for table, rows in changes.items():
        for key, fields in rows.items():
            raw[table].setdefault(key, {}).update(fields)
    return raw


def counted(raw: dict[str, Any], asic: str = "trident3", **options: Any) -> Thresholds:  # noqa: ANN401  as thresholds()
    return thresholds(parse_device(json.dumps(raw), "leaf1.json"), MMUS[asic], **options)


@pytest.mark.parametrize("chip", chips(), ids=lambda it: it.name)
def test_the_rule_gives_the_counts_of_the_switch(chip: Chip) -> None:
    rule = by_rule(chip)
    assert {name: rule[name] for name, wanted in expected(chip).items() if not agrees(rule[name], wanted)} == {}


@pytest.mark.parametrize("chip", chips(), ids=lambda it: it.name)
def test_xon_has_come_by_the_use_at_which_the_switch_has_sent_it(chip: Chip) -> None:
    _, group, _ = chip.counts()
    if "xon_dismiss" in chip.raw["measured"] and "xon_dismiss" not in chip.doubtful:
        assert group.xon_packets is not None
        assert group.xon_packets >= group.xoff_packets - chip.raw["measured"]["xon_dismiss"]


@pytest.mark.parametrize("chip", QUICK, ids=lambda it: it.name)
def test_the_emulator_gives_the_counts_of_the_rule(chip: Chip) -> None:
    rule, run = by_rule(chip), simulated(chip)
    _, group, _ = chip.counts()
    assert {name: run[name] - rule[name] for name in run if name in rule and abs(run[name] - rule[name]) > 2} == {}
    assert group.xon_packets is not None
    assert group.xon_packets <= run["XON"] < run["XOFF"]


@pytest.mark.slow
def test_the_page_has_what_rule_and_emulator_give() -> None:
    text = page()
    assert "**no**" not in text
    assert PAGE.read_text(encoding="utf-8") == text, "run: python -m tests.silicon"


def test_chips_are_known_by_hwsku_and_by_the_words_of_sonic_mgmt() -> None:
    for chip in chips():
        mmu = find_mmu(chip.raw["asic"])
        assert mmu is not None
        assert chip_of(chip.device()) == mmu.name


def test_a_pool_is_gross_where_it_cannot_be_net() -> None:
    unknown = MMUS["tomahawk2"]
    assert pool_size_of(unknown, 40_000_000, 0) is PoolSize.GROSS
    assert pool_size_of(unknown, 40_000_000, 4_000_000) is PoolSize.GROSS
    assert pool_size_of(unknown, 30_000_000, 4_000_000) is PoolSize.NET
    assert all(pool_size_of(mmu, 1, 1) is mmu.pool_size for mmu in MMUS.values() if mmu.pool_size)


def test_a_memory_that_differs_from_that_of_scenarios_has_its_reason() -> None:
    taken = {name: asic.buffer_bytes for name, asic in ASICS.items()}
    differ = {name for name, mmu in MMUS.items() if taken.get(name, mmu.memory_bytes) != mmu.memory_bytes}
    assert differ == {name for name, mmu in MMUS.items() if mmu.usable} == {"tomahawk3", "tomahawk5"}
    assert all(f"{taken[name]:,}" in MMUS[name].usable for name in differ)


def test_the_card_of_chips_has_how_their_memory_is_divided(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "show", "asics", "--json"]) == 0
    chips = {it["name"]: it for it in json.loads(capsys.readouterr().out)["asics"]}
    five = chips["tomahawk5"]
    assert (five["buffer_bytes"], five["memory_of_chip_bytes"]) == (147_226_020, 165_363_200)
    assert (chips["tomahawk3"]["partitions"], chips["tomahawk3"]["pool_size"]) == (2, "gross")
    assert (chips["spectrum3"]["headroom_of"], chips["teralynx10"]["partitions"]) == ("port", None)
    assert main(["model", "show", "mmus", "--json"]) == 0
    assert {"trident2", "tomahawk"} < {it["name"] for it in json.loads(capsys.readouterr().out)["mmus"]}


def test_every_guarantee_of_a_gross_pool_is_taken_off_once() -> None:
    found = counted(config())
    assert found.shared_cells == 32_712_448 // 256 - 1_622_016 // 256 - 64 * 18 - 160 * 7
    assert set(found.minimums_of_port.values()) == {2 * 18 + 5 * 7}
    without = counted(config(), queue_minimums=False)
    assert without.shared_cells == found.shared_cells + 160 * 7


def test_a_queue_of_a_lossless_class_is_not_lossy_wherever_the_maps_put_it() -> None:
    raw = config()
    raw["BUFFER_QUEUE"]["Ethernet0|5-6"] = {"profile": "egress_lossless_profile"}
    raw["TC_TO_QUEUE_MAP"] = {"AZURE": {str(tc): str({3: 5, 4: 6}.get(tc, tc)) for tc in range(8)}}
    raw["PORT_QOS_MAP"] = {"Ethernet0": {"tc_to_queue_map": "AZURE"}}
    lossy = [it.queue for it in counted(raw).queues if it.port == "Ethernet0"]
    assert lossy == [0, 1, 2, 3, 4]


def test_a_static_limit_is_the_limit() -> None:
    raw = config()
    profile = raw["BUFFER_PROFILE"]["pg_lossless_100000_300m_profile"]
    del profile["dynamic_th"]
    profile["static_th"] = str(1000 * 256)
    group = counted(raw).groups[0]
    assert (group.alpha, group.xoff_packets, group.ingress_drop_packets) == (None, 1018, 1018 + 362 + 1)


def test_no_count_is_given_where_none_is_known() -> None:
    raw = config()
    raw["BUFFER_PG"] = {}
    assert counted(raw).unknown == ("every count: no lossless group",)
    raw = config(BUFFER_PROFILE={"egress_lossy_profile": {"pool": "egress_lossless_pool"}})
    del raw["BUFFER_POOL"]["egress_lossless_pool"]["size"]
    found = counted(raw)
    assert found.queues == ()
    assert any("lossy queues" in it for it in found.unknown)
    assert any("assumed" in it for it in counted(config(), "tomahawk5").unknown)


def spoken(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["thresholds", *words])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_the_verb_prints_one_row_for_ports_alike(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = spoken(capsys, str(TRIDENT3))
    assert code == 0
    assert "119,175" in out
    assert "Ethernet0 and 31 more" in out
    code, out, _ = spoken(
        capsys, str(TRIDENT3), "--port", "Ethernet4", "--json", "--lossy-pool", "egress_lossless_pool"
    )
    answer = json.loads(out)
    assert [it["xoff_packets"] for it in answer["groups"]] == [59_605]
    assert [it["drop_packets"] for it in answer["queues"]] == [113_199]
    assert code == 0


def test_simulated_counts_stand_beside_those_of_the_rule(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = spoken(capsys, str(DATA / "config" / "td2-s6000-t1.json"), "--simulate", "--json")
    (group,) = json.loads(out)["groups"]
    assert abs(group["simulated"]["alone"]["xoff_packets"] - group["xoff_packets"]) <= 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["absent.json"], "cannot be read"),
        ([str(TRIDENT3), "--asic", "td9"], "--asic: the memory of 'td9' is not known"),
        ([str(TRIDENT3), "--port", "Ethernet1"], "--port: 'Ethernet1' is no port"),
        ([str(TRIDENT3), "--lossy-pool", "pool"], "--lossy-pool: 'pool' is no pool"),
        ([str(DATA.parent / "sonic" / "other_nos" / "eos_leaf.cfg")], "is a configuration of eos"),
    ],
)
def test_wrong_input_is_named(capsys: pytest.CaptureFixture[str], words: list[str], text: str) -> None:
    code, _, err = spoken(capsys, *words)
    assert code == 2
    assert text in err
    assert "Traceback" not in err


def test_a_switch_of_an_unknown_chip_is_refused(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: ANN401
    raw = config(DEVICE_METADATA={"localhost": {"hwsku": "Arista-7280DR3A-36"}})
    (tmp_path / "leaf1.json").write_text(json.dumps(raw), encoding="utf-8")
    code, _, err = spoken(capsys, str(tmp_path / "leaf1.json"))
    assert code == 2
    assert "names no known chip" in err
