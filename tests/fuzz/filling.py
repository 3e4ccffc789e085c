"""How a model of the schema is filled with valid values: its own annotations, and a strategy for what these leave open.

A field that holds words, flags or other models needs no strategy: they are read from the schema. Any other field has
one in STRATEGIES; a field without one is a NoStrategyError that names it, and test_coverage.py fails with the names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel

from fabric.topology.model import Fabric
from tests.fuzz.choices import Choices
from tests.fuzz.models import bare, members


class NoStrategyError(LookupError):
    """A field of the schema for which the fuzzer has no values."""


@dataclass
class World:
    """What the values of one scenario depend on."""

    choose: Choices
    duration_ps: int
    ns3_rdma: bool = False
    """model: hpcc-ns3."""
    bgp: bool = False
    overlay: bool = False
    files: dict[str, str] = field(default_factory=dict)
    """Files that the scenario names: name -> content."""
    built: Fabric | None = None
    groups: list[list[str]] = field(default_factory=list)
    """Hosts that may send to each other."""
    vnis: list[int] = field(default_factory=list)
    """Of layer 2."""
    silent: list[str] = field(default_factory=list)
    """Hosts of vxlan.silent."""
    numbers: int = 0

    @property
    def fabric(self) -> Fabric:
        """The fabric; its section is filled first."""
        if self.built is None:
            raise AssertionError("the topology comes first")
        return self.built

    def number(self) -> int:
        """Another number each time, for names."""
        self.numbers += 1
        return self.numbers

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts."""
        return [host.name for host in self.fabric.hosts]

    @property
    def switches(self) -> list[str]:
        """Names of the switches."""
        return [switch.name for switch in self.fabric.switches]

    @property
    def leaves(self) -> list[str]:
        """Names of the switches with hosts."""
        return list(dict.fromkeys(self.fabric.peer_of(host.first_port).name for host in self.fabric.hosts))


Strategy = Callable[[World], Any]
Tidy = Callable[[World, dict[str, Any]], None]
STRATEGIES: Final[dict[str, dict[str, Strategy]]] = {}
"""Model -> field -> values; a subclass has those of its bases."""
TIDY: Final[dict[str, list[Tidy]]] = {}
"""Model -> what removes contradictions between its fields."""
LIKELY: Final[dict[str, int]] = {}
"""Model -> in how many of a hundred cases an optional field is written; 30 where absent."""


def of(model: type[BaseModel], /, likely: int = 30, tidy: Sequence[Tidy] = (), **strategies: Strategy) -> None:
    """Declare the strategies of a model."""
    unknown = set(strategies) - set(model.model_fields)
    if unknown:
        raise ValueError(f"{model.__name__} has no {', '.join(sorted(unknown))}")
    STRATEGIES.setdefault(model.__name__, {}).update(strategies)
    TIDY[model.__name__] = list(tidy)
    LIKELY[model.__name__] = likely


def strategy(model: type[BaseModel], name: str) -> Strategy:
    """Values of one field. Raises: NoStrategyError."""
    for base in model.__mro__:
        if name in STRATEGIES.get(base.__name__, {}):
            return STRATEGIES[base.__name__][name]
    found = _by_annotation(model.model_fields[name].annotation)
    if found is None:
        raise NoStrategyError(f"{model.__name__}.{name}: add values for it to tests/fuzz")
    return found


def fill(world: World, model: type[BaseModel], fixed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A mapping as a user would write it, with every required field and some of the others.

    Parameters
    ----------
    fixed : fields that are given already; None leaves one out
    """
    likely = next((LIKELY[base.__name__] for base in model.__mro__ if base.__name__ in LIKELY), 30)
    written: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        if fixed is not None and name in fixed:
            if fixed[name] is not None:
                written[name] = fixed[name]
        elif info.is_required() or world.choose.chance(likely):
            value = strategy(model, name)(world)
            if value is not None:
                written[name] = value
    for base in model.__mro__:
        for tidy in TIDY.get(base.__name__, ()):
            tidy(world, written)
    return written


def exclusive(*names: str) -> Tidy:
    """Of these fields only one is kept."""

    def tidy(world: World, written: dict[str, Any]) -> None:
        given = [name for name in names if name in written]
        for name in given:
            if given and name != given[world.numbers % len(given)]:
                del written[name]
        world.numbers += 1

    return tidy


def _by_annotation(annotation: Any) -> Strategy | None:  # noqa: ANN401
    options: list[Strategy] = []
    for member in members(annotation):
        if get_origin(member) is Literal:
            options += [_constant(word) for word in get_args(member)]
        elif member is bool:
            options += [_constant(False), _constant(True)]
        elif isinstance(member, type) and issubclass(member, BaseModel):
            options.append(_model(member))
        elif get_origin(member) is tuple:
            inner = _by_annotation(bare(get_args(member)[0]))
            if inner is None:
                return None
            options.append(_several(inner))
        else:
            return None
    return lambda world: world.choose.pick(options)(world)


def _constant(value: object) -> Strategy:
    return lambda _: value


def _model(model: type[BaseModel]) -> Strategy:
    return lambda world: fill(world, model)


def _several(inner: Strategy) -> Strategy:
    return lambda world: [inner(world) for _ in range(world.choose.integer(1, 2))]


def one_of(*values: object) -> Strategy:
    """One of some values."""
    return lambda world: world.choose.pick(values)


def whole(least: int, most: int) -> Strategy:
    """A whole number."""
    return lambda world: world.choose.integer(least, most)


def time(ps: int) -> str:
    """A time as a scenario writes it, in its largest whole unit."""
    return next(
        f"{ps // step}{unit}"
        for step, unit in ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"), (1, "ps"))
        if ps % step == 0
    )


def moment(world: World, least: int = 0, most: int | None = None) -> int:
    """A moment within the run, often a round one."""
    most = world.duration_ps - 1 if most is None else most
    if most <= least:
        return least
    share = least + (most - least) * world.choose.integer(0, 8) // 9
    return share if world.choose.chance(60) else world.choose.integer(least, most)


def within(least: int = 0, most: int | None = None) -> Strategy:
    """A moment within the run, as text."""
    return lambda world: time(moment(world, least, most))
