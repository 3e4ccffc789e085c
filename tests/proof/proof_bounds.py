"""The bound of a rule against the bound of the simulation, each by bisection of one value of a configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from broken_fabrics import LOSSLESS, Broken, Change, every, nothing, put
from proof_cases import _LINK_300_M as CABLED

from fabric.proof.cut import Cutter
from fabric.proof.prove import shown
from fabric.proof.recipe import Case
from fabric.validate.checks.base import Severity
from fabric.validate.facts import Facts
from fabric.validate.runner import validate


@dataclass(frozen=True)
class Knob:
    """One value of the clean fabric."""

    check: str
    what: str
    unit: str
    bad: int
    good: int
    make: Callable[[int], Broken]
    share: float = 0.5
    """Of the time that 802.3 allows a peer."""
    errors_only: bool = False
    """Whether warnings of the rule do not count."""


@dataclass(frozen=True)
class Bounds:
    """The last value with the finding and the first without, towards the good end; None: no value changes it."""

    knob: Knob
    rule: tuple[int, int] | None
    simulated: tuple[int, int] | None
    always: bool
    """Where `simulated` is None: whether every value shows it."""


def _set(table: str, key: str, field: str, device: str = "leaf1") -> Callable[[int], Change]:
    return lambda value: put(device, table, key, **{field: str(value)})


def _broken(
    check: str, change: Callable[[int], Change], *also: Change, device: str = "", **more: object
) -> Callable[[int], Broken]:
    return lambda value: Broken(check, str(value), every(*also, change(value)), device=device, **more)  # type: ignore[arg-type]


def _cabled(value: int) -> Broken:
    links = [dict(it) for it in CABLED["links"]]
    links[0]["length_m"] = value
    return Broken("H5", str(value), nothing, links={"links": links}, device="leaf1")


def _step(check: str, value: int) -> Broken:
    levels = {"green_min_threshold": str(value), "green_max_threshold": str(value + 1)}
    return Broken(
        check, str(value), put("leaf1", "WRED_PROFILE", "W", green_drop_probability="100", **levels), device="leaf1"
    )


_LOW: Final = every(
    put("leaf1", "SCHEDULER", "low", type="DWRR"), put("leaf1", "QUEUE", "Ethernet0|3", scheduler="low")
)
_TUNNEL: Final = put("leaf1", "VXLAN_TUNNEL", "v", src_ip="10.0.0.1")
_SHARED: Final = put("leaf1", "BUFFER_PROFILE", LOSSLESS, size="37888")
KNOBS: Final = (
    Knob(
        "H1",
        "xoff, peer takes half of its time",
        "B",
        10_000,
        120_000,
        _broken("H1", _set("BUFFER_PROFILE", LOSSLESS, "xoff")),
    ),
    Knob(
        "H1",
        "xoff, peer takes no time",
        "B",
        10_000,
        120_000,
        _broken("H1", _set("BUFFER_PROFILE", LOSSLESS, "xoff")),
        share=0.0,
        errors_only=True,
    ),
    Knob(
        "H1",
        "xoff, peer takes all of its time",
        "B",
        10_000,
        120_000,
        _broken("H1", _set("BUFFER_PROFILE", LOSSLESS, "xoff")),
        share=1.0,
    ),
    Knob("H5", "length of the cable, 40 m and xoff 77,824 B configured", "m", 600, 10, _cabled),
    Knob(
        "B2",
        "shared headroom pool",
        "B",
        5_000,
        240_000,
        _broken("B2", _set("BUFFER_POOL", "ingress_lossless_pool", "xoff"), _SHARED),
    ),
    Knob(
        "B4",
        "size, xon 37,888 B and xoff 77,824 B",
        "B",
        60_000,
        130_000,
        _broken("B4", _set("BUFFER_PROFILE", LOSSLESS, "size")),
    ),
    Knob(
        "B6",
        "xon_offset, xon 0",
        "B",
        0,
        2_000_000,
        _broken(
            "B6", _set("BUFFER_PROFILE", LOSSLESS, "xon_offset"), put("leaf1", "BUFFER_PROFILE", LOSSLESS, xon="0")
        ),
    ),
    Knob(
        "B7",
        "egress limit of RoCE's queue",
        "B",
        1_000_000,
        40_000_000,
        _broken(
            "B7",
            _set("BUFFER_PROFILE", "egress_lossless_profile", "static_th"),
            put("leaf1", "BUFFER_PROFILE", "egress_lossless_profile", dynamic_th=None),
            device="leaf1",
        ),
    ),
    Knob(
        "B8",
        "dynamic_th of a lossy group, lossless 0",
        "",
        7,
        -8,
        _broken(
            "B8",
            _set("BUFFER_PROFILE", "lossy", "dynamic_th"),
            put("leaf1", "BUFFER_PROFILE", "lossy", pool="ingress_lossless_pool", size="0"),
            *(put("leaf1", "BUFFER_PG", f"Ethernet{8 * n}|0", profile="lossy") for n in range(4)),
        ),
    ),
    Knob(
        "E2",
        "Kmin = Kmax (a step), T(1) is 13,225,984 B",
        "B",
        14_000_000,
        400_000,
        lambda value: _step("E2", value),
        errors_only=True,
    ),
    Knob(
        "E11", "Kmin = Kmax (a step), T(1) is 13,225,984 B", "B", 13_225_000, 400_000, lambda value: _step("E11", value)
    ),
    Knob("E6", "probability", "%", 0, 20, _broken("E6", _set("WRED_PROFILE", "W", "green_drop_probability"))),
    Knob(
        "M11", "weight of RoCE's queue beside 50", "", 1, 50, _broken("M11", _set("SCHEDULER", "low", "weight"), _LOW)
    ),
    Knob(
        "L4",
        "MTU of a host's port, hosts' MTU 9000",
        "B",
        1_500,
        9_216,
        _broken("L4", _set("PORT", "Ethernet0", "mtu"), device="leaf1"),
        errors_only=True,
    ),
    Knob(
        "T1",
        "MTU of the underlay, hosts' MTU 9000",
        "B",
        4_100,
        9_216,
        _broken("T1", _set("PORT", "Ethernet8", "mtu", "spine1"), _TUNNEL),
    ),
    Knob(
        "N5",
        "receive buffer of the NIC",
        "B",
        20_000,
        400_000,
        lambda value: Broken("N5", str(value), nothing, hosts={"rx_buffer_bytes": value}),
    ),
    Knob(
        "W5",
        "detection at a 1G port",
        "ms",
        200,
        2_000,
        _broken(
            "W5",
            _set("PFC_WD", "Ethernet0", "detection_time"),
            put("leaf1", "PORT", "Ethernet0", speed="1000"),
            device="leaf1",
        ),
    ),
)


def measure(knob: Knob) -> Bounds:
    """Bisect the rule, then the simulation, over the knob's range."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        finding = knob.make(knob.bad).case(home / "bad").finding
        least = Severity.ERROR if knob.errors_only else Severity.WARN

        def rule(value: int) -> bool:
            network = knob.make(value).network(home / f"r{value}")
            found = validate(network, only={knob.check}).findings
            return any(
                (it.device, it.object) == (finding.device, finding.object) and it.severity >= least for it in found
            )

        def simulated(value: int) -> bool:
            facts = Facts(knob.make(value).network(home / f"s{value}"))
            try:
                return shown(Case(facts, Cutter(facts), finding), knob.share) is not None
            except Exception as error:
                if "fit in" in str(error):  # RoCE's frames fit: nothing to show
                    return False
                raise

        bad, good = simulated(knob.bad), simulated(knob.good)
        return Bounds(
            knob,
            _edge(rule, knob.bad, knob.good),
            _edge(simulated, knob.bad, knob.good) if bad and not good else None,
            bad,
        )


def _edge(holds: Callable[[int], bool], bad: int, good: int) -> tuple[int, int] | None:
    """(last with, first without), neighbours; None where both ends are alike."""
    if not holds(bad) or holds(good):
        return None
    while abs(good - bad) > 1:
        middle = (bad + good) // 2
        bad, good = (middle, good) if holds(middle) else (bad, middle)
    return bad, good
