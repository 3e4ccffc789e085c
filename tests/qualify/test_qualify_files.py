"""Files of test plans: what they may say, and how they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from fabric import shipped
from fabric.errors import InputErrors
from fabric.qualify.cases import cases_of, chosen, left_out_of, plans, read_case
from fabric.qualify.expression import Measured, parse
from fabric.qualify.measures import READERS
from fabric.qualify.names import MEASURES
from fabric.qualify.schema import StreamSpec
from fabric.qualify.whole.case_runs import READERS as FABRIC_READERS
from fabric.qualify.whole.schema import LoadSpec

TC1 = shipped.test_plans()["sonic-rocev2"][0]


def changed(folder: Path, **fields: object) -> Path:
    raw = yaml.safe_load(TC1.read_text(encoding="utf-8"))
    path = folder / "TC1.yml"
    path.write_text(yaml.safe_dump({**raw, **fields}, sort_keys=False), encoding="utf-8")
    return path


def test_a_demand_has_a_measure_a_comparison_and_a_value() -> None:
    one = parse("sum acked(lossless) > 0 in window")
    assert (one.left, one.total, one.compare, one.right, one.in_window) == (
        Measured("acked", "lossless"), True, ">", 0.0, True)  # fmt: skip
    two = parse("every acks_received(lossy) == queue_packets(ack)")
    assert two.right == Measured("queue_packets", "ack")
    assert not two.in_window
    assert parse("latency(all) <= 5us").right == 5_000_000
    assert parse("share_error(data) <= 5%").right == 0.05


@pytest.mark.parametrize("text", ["naks == 0", "naks(all) = 0", "naks(all) == much", "each naks(all) == 0", ""])
def test_what_is_no_demand_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"demand|number"):
        parse(text)


def test_a_limit_is_met_at_the_limit_and_not_beside_it() -> None:
    demand = parse("latency(all) <= 5us")
    assert demand.holds(5_000_000, 5_000_000)
    assert not demand.holds(5_000_001, 5_000_000)


def test_every_measure_has_a_reader_and_every_reader_a_name() -> None:
    assert set(READERS) == {name for name, it in MEASURES.items() if not it.of_fabric}
    assert set(FABRIC_READERS) == {name for name, it in MEASURES.items() if it.of_fabric}


def test_every_shipped_case_is_read_and_named_as_its_file() -> None:
    assert {name: [it.case for it in cases_of(name)] for name in plans()} == {
        "bmwg": ["BALANCE", "BURST", "COLLECTIVES", "DCQCN", "FAILOVER", "INCAST", "LATENCY", "TENANTS", "THROUGHPUT"],
        "seed": ["ECMP", "HOPS", "ISOLATED", "MARKS", "SCALES", "STORM"],
        "sonic-ecn-pause": ["ECN-CURVE", "ECN-LOAD", "ECN-RESPONSE", "PFC-QUANTA", "PFC-RATE", "SMALLEST"],
        "sonic-pfc-lossless": [f"L{number:02}" for number in range(1, 16) if number not in {10, 14}],
        "sonic-pfc-lossy": ["Y01", "Y04"],
        "sonic-pfcwd": ["GAPS"],
        "sonic-rocev2": ["TC1", "TC2", "TC3", "TC4"],
    }
    assert {name: [it.case for it in left_out_of(name)] for name in plans()} == {
        "bmwg": ["DEADLOCK", "ECN-ACCURACY", "HEALTH", "MLPERF", "SOAK", "UET"],
        "seed": [],
        "sonic-ecn-pause": [],
        "sonic-pfc-lossless": ["L10", "L14"],
        "sonic-pfc-lossy": ["Y02", "Y03"],
        "sonic-pfcwd": [],
        "sonic-rocev2": [],
    }


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"speed": 1}, "speed"),
        ({"lossless": [9]}, "lossless"),
        ({"mtu": "9000B"}, "mtu"),
        ({"times": {"plan": "1s", "simulated": "1ms", "warm_up": "900us"}}, "warm_up"),
        ({"checks": [{"id": "1", "title": "t", "source": "s"}]}, "nothing"),
        ({"checks": [{"id": "1", "title": "t", "source": "s", "holds": ["naks(ack) == 0"]}]}, "naks"),
        ({"checks": [{"id": "1", "title": "t", "source": "s", "holds": ["nak(all) == 0"]}]}, "did you mean 'naks'"),
        (
            {"checks": [{"id": "1", "title": "t", "source": "s", "holds": ["naks(all) == 0"], "scenarios": ["x"]}]},
            "'x'",
        ),
        ({"case": "TC9"}, "TC9"),
    ],
)
def test_a_case_with_a_mistake_is_refused_with_its_place(fields: dict[str, object], words: str, tmp_path: Path) -> None:
    with pytest.raises(InputErrors) as caught:
        read_case(changed(tmp_path, **fields))
    assert words in str(caught.value)
    assert "TC1.yml" in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"pattern": "across", "skip": 1}, "skip has no effect with pattern: across"),
        ({"pattern": "across", "each": True}, "each is of datagrams"),
        ({"pattern": "across", "part": "odd"}, "part is of pattern: collective"),
    ],
)
def test_a_load_with_a_field_of_another_pattern_is_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LoadSpec.model_validate({"message": "1MB", **fields})


def test_a_burst_ends_by_itself() -> None:
    with pytest.raises(ValueError, match="leave out stops"):
        StreamSpec.model_validate({"priorities": [3], "share": 0.5, "frame": "1KB", "fill": 0.5, "stops": "10us"})


def test_a_case_may_be_chosen_with_one_scenario() -> None:
    (case,) = chosen("sonic-rocev2", ["tc2/q3_single"])
    assert [it.name for it in case.scenarios] == ["q3_single"]
    (whole,) = chosen("sonic-rocev2", ["TC2/q3_single", "TC2"])
    assert len(whole.scenarios) == 3


@pytest.mark.parametrize(("name", "words"), [("TC7", "TC7"), ("TC2/q9", "q9")])
def test_an_unknown_case_or_scenario_is_named(name: str, words: str) -> None:
    with pytest.raises(InputErrors) as caught:
        chosen("sonic-rocev2", [name])
    assert words in str(caught.value)
