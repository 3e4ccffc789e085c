"""Aliases: how a metric of another exporter follows from a native one. Their tables are in the other files here.

Rules
1. An alias takes the samples of one native name on hosts or on switches, scales them and writes them under another name
   and other labels. Samples that get the same name and labels are added (XOFF and XON frames, where the other exporter
   counts PFC frames).
2. One answer has every device of the fabric, while the other exporter runs on each device. Therefore `instance`, which
   Prometheus would add, is a label here: scrape with `honor_labels: true`.
3. Types and names are those of the other exporter, also where they break Prometheus' rules: dashboards depend on them.
4. Metrics about the run itself (fabric_run_info, fabric_sim_*) stay: rates cannot be interpreted without the dilation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.samples import Sample

from fabric.dataplane.state.codes import N_CLASSES
from telemetry.catalogue.metrics import SELF

_KEPT: Final = frozenset(
    spec.family for spec in SELF if spec.name.startswith(("fabric_sim_", "fabric_run", "fabric_build", "fabric_scrape"))
)


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

    @property
    def native(self) -> str:
        """Family of the source."""
        return self.source.removesuffix("_total").removesuffix("_info")

    def names(self) -> list[str]:
        """Sample names, one per class where the class stands in the name."""
        labels = {name: "{" + name + "}" in self.name for name in ("priority", "queue")}
        if not any(labels.values()):
            return [self.name]
        return [self.name.format_map(dict.fromkeys(labels, str(class_))) for class_ in range(N_CLASSES)]


@dataclass(frozen=True, slots=True)
class Layer:
    """One exporter's names."""

    name: str
    about: str
    aliases: tuple[Alias, ...]

    def described(self) -> Iterator[Metric]:
        """Every possible family, without samples."""
        names = {name: alias for alias in self.aliases for name in alias.names()}
        yield from (Metric(_family(name, alias.kind), alias.help, _type(alias)) for name, alias in names.items())
        yield from (Metric(spec.family, spec.help, spec.kind.value, spec.unit) for spec in SELF if spec.family in _KEPT)

    def families(self, native: Iterable[Metric]) -> Iterator[Metric]:
        """Native families -> families of this exporter."""
        found = {family.name: family for family in native}
        yield from (family for name, family in found.items() if name in _KEPT)
        roles = found.get("fabric_device")
        hosts = {it.labels["device"] for it in roles.samples if it.labels["role"] == "host"} if roles else set()
        made: dict[str, tuple[Alias, dict[tuple[str, tuple[tuple[str, str], ...]], float]]] = {}
        for alias in self.aliases:
            if alias.native in found:
                for sample in found[alias.native].samples:
                    _take(alias, sample, hosts, made)
        for name, (alias, values) in made.items():
            family = Metric(_family(name, alias.kind), alias.help, _type(alias))
            family.samples = [Sample(named, dict(labels), value) for (named, labels), value in values.items()]
            yield family


def _take(
    alias: Alias,
    sample: Sample,
    hosts: set[str],
    made: dict[str, tuple[Alias, dict[tuple[str, tuple[tuple[str, str], ...]], float]]],
) -> None:
    native = sample.labels
    if (native["device"] in hosts) != alias.on_hosts or any(
        native.get(key) != value for key, value in alias.only.items()
    ):
        return
    port = native.get("port", "")
    known = {**native, "index": port[len(port.rstrip("0123456789")) :] or "0"}
    name = alias.name.format_map(known)
    labels = tuple((key, text.format_map(known)) for key, text in alias.labels.items())
    values = made.setdefault(name, (alias, {}))[1]
    values[name, labels] = values.get((name, labels), 0.0) + sample.value * alias.factor


def _type(alias: Alias) -> str:
    """These exporters write a gauge of 1 where OpenMetrics has a type info."""
    return "gauge" if alias.kind == "info" else alias.kind


def _family(name: str, kind: str) -> str:
    return name.removesuffix("_total") if kind == "counter" else name
