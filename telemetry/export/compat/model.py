"""Aliases: how a metric of another exporter follows from a native one. Their tables are in the other files here.

Rules
1. An alias takes the samples of one native name on hosts or on switches, scales them and writes them under another name
   and other labels. Samples that get the same name and labels are added (XOFF and XON frames, where the other exporter
   counts PFC frames).
2. One answer has every device of the fabric, while the other exporter runs on each device. Therefore `instance`, which
   Prometheus would add, is a label here: scrape with `honor_labels: true`.
3. Types and names are those of the other exporter, also where they break Prometheus' rules: dashboards depend on them.
4. Metrics about the run itself (fabric_run_info, fabric_sim_*) stay: rates cannot be interpreted without the dilation.
5. What the model does not have is absent, and listed with its reason in Layer.absent: a zero would say that a device
   looked and saw nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.samples import Sample

from fabric.dataplane.state.codes import N_CLASSES
from telemetry.catalogue.metrics import SELF

KEPT: Final = frozenset(
    spec.family for spec in SELF if spec.name.startswith(("fabric_sim_", "fabric_run", "fabric_build", "fabric_scrape"))
)
"""Families that every layer keeps."""


_CLASSES: Final = ("priority", "queue", "traffic_class")
"""Native labels that may stand in a name."""

Target = tuple[tuple[str, str], ...]
"""Labels of a series under the other exporter's name."""


@dataclass(frozen=True, slots=True)
class Absent:
    """Metrics of another exporter that are not served."""

    names: str
    """One name, or several with '*'."""
    reason: str


@dataclass(frozen=True, slots=True)
class Alias:
    """One metric of another exporter."""

    name: str
    """Sample name; '{priority}' is replaced by a native label's value."""
    kind: str
    """Type: counter, gauge, info or unknown (untyped)."""
    help: str
    source: str
    """Name of a native metric."""
    on_hosts: bool
    """Hosts or switches."""
    labels: Mapping[str, str]
    """Label -> text with native labels in braces; {index} is the number at the end of the port's name."""
    factor: float = 1.0
    """Factor, such as seconds to microseconds."""
    only: Mapping[str, str] = field(default_factory=dict)
    """Native labels that a sample must have."""
    when: float | None = None
    """Native value that a sample must have; the value written is then 1: a state that is a label of the other
    exporter."""
    constant: float | None = None
    """Value written instead of the native one: a setting of the other exporter."""

    @property
    def native(self) -> str:
        """Family of the source."""
        return self.source.removesuffix("_total").removesuffix("_info")

    def names(self) -> list[str]:
        """Sample names, one per class where the class stands in the name."""
        if not any("{" + name + "}" in self.name for name in _CLASSES):
            return [self.name]
        return [self.name.format_map(dict.fromkeys(_CLASSES, str(class_))) for class_ in range(N_CLASSES)]

    def target(self, native: Mapping[str, str], hosts: AbstractSet[str]) -> tuple[str, Target] | None:
        """Name and labels of the sample that a native sample with these labels becomes; None: it is not used."""
        if (native["device"] in hosts) != self.on_hosts or any(native.get(key) != it for key, it in self.only.items()):
            return None
        port = native.get("port", "")
        known = {**native, "index": port[len(port.rstrip("0123456789")) :] or "0"}
        labels = tuple((key, text.format_map(known)) for key, text in self.labels.items())
        return self.name.format_map(known), labels

    def value(self, native: float) -> float | None:
        """Value written for a native one; None: none."""
        if self.when is not None:
            return 1.0 if native == self.when else None
        return self.constant if self.constant is not None else native * self.factor


@dataclass(frozen=True, slots=True)
class Layer:
    """One exporter's names."""

    name: str
    about: str
    aliases: tuple[Alias, ...]
    absent: tuple[Absent, ...] = ()
    """What the other exporter has and the model has not."""

    def described(self) -> Iterator[Metric]:
        """Every possible family, without samples."""
        names = {name: alias for alias in self.aliases for name in alias.names()}
        yield from (
            Metric(family_name(name, alias.kind), alias.help, metric_type(alias)) for name, alias in names.items()
        )
        yield from (Metric(spec.family, spec.help, spec.kind.value, spec.unit) for spec in SELF if spec.family in KEPT)

    def families(self, native: Iterable[Metric]) -> Iterator[Metric]:
        """Native families -> families of this exporter."""
        found = {family.name: family for family in native}
        yield from (family for name, family in found.items() if name in KEPT)
        roles = found.get("fabric_device")
        hosts = {it.labels["device"] for it in roles.samples if it.labels["role"] == "host"} if roles else set()
        made: dict[str, tuple[Alias, dict[Target, float]]] = {}
        for alias in self.aliases:
            if alias.native in found:
                for sample in found[alias.native].samples:
                    target, value = alias.target(sample.labels, hosts), alias.value(sample.value)
                    if target is not None and value is not None:
                        values = made.setdefault(target[0], (alias, {}))[1]
                        values[target[1]] = values.get(target[1], 0.0) + value
        for name, (alias, values) in made.items():
            family = Metric(family_name(name, alias.kind), alias.help, metric_type(alias))
            family.samples = [Sample(name, dict(labels), value) for labels, value in values.items()]
            yield family


def metric_type(alias: Alias) -> str:
    """These exporters write a gauge of 1 where OpenMetrics has a type info."""
    return "gauge" if alias.kind == "info" else alias.kind


def family_name(name: str, kind: str) -> str:
    """Name of the family of a sample name."""
    return name.removesuffix("_total") if kind == "counter" else name
