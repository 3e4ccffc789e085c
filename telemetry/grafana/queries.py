"""Expressions of panels, checked against the catalogue: a panel cannot use a metric, label or unit that does not exist.

Rates are per simulated second: growth of a counter over growth of simulated time, at any dilation, and also where a
live run lags behind its pace (as in telemetry/alerting/rules.py). A share of time is the rate of a counter of seconds.
"""

from __future__ import annotations

from typing import Final

from telemetry.catalogue.metrics import BY_NAME, CATALOGUE
from telemetry.catalogue.spec import Kind, MetricSpec
from telemetry.grafana.model import Quantity, Unit, Variable

WINDOW: Final = "$__rate_interval"
"""Grafana: at least four scrape intervals."""
RANGE: Final = "$__range"
"""Grafana: the time range of the dashboard."""
STEP: Final = "$__interval"
"""Grafana: between two points of a graph."""
INSTANCE: Final = "$instance"

INSTANCES: Final = Variable("instance", "Run", "label_values(fabric_sim_time_seconds, instance)")
DEVICES: Final = Variable("device", "Device", 'label_values(fabric_device_info{instance="$instance"}, device)', True)
PORTS: Final = Variable(
    "port", "Port", 'label_values(fabric_port_info{instance="$instance", device=~"$device"}, port)', True
)
PRIORITIES: Final = Variable(
    "priority", "Priority", 'label_values(fabric_pfc_paused{instance="$instance"}, priority)', True
)

_CHOSEN_BY: Final = {"device": "device", "port": "port", "priority": "priority", "queue": "priority"}
"""Label -> variable: a queue has the number of its priority."""
_NOW: Final = {
    "bytes": Unit.BYTES,
    "seconds": Unit.SECONDS,
    "ratio": Unit.SHARE,
    "bytes_per_second": Unit.BYTES_PER_SECOND,
}
_RATE: Final = {"bytes": Unit.BYTES_PER_SECOND, "seconds": Unit.SHARE, "packets": Unit.PACKETS_PER_SECOND}
_PARTS: Final = {
    f"{spec.family}_{part}": spec for spec in CATALOGUE if spec.is_histogram for part in ("bucket", *spec.count_and_sum)
}


def spec_of(name: str) -> MetricSpec:
    """The catalogue's entry of a metric or of a part of a histogram. Raises: KeyError."""
    return BY_NAME[name] if name in BY_NAME else _PARTS[name]


class Asking:
    """Makes expressions for a dashboard with these variables, `instance` among them always.

    `where` adds labels with one value each; a value that begins with ~ is a regular expression.
    """

    def __init__(self, *variables: Variable, instance: str = INSTANCE) -> None:
        self._variables = {it.name for it in variables}
        self._instance = instance

    def rows(self, name: str, **where: str) -> str:
        """An instant vector. Raises: KeyError for an unknown metric, ValueError for an unknown label."""
        labels = spec_of(name).labels
        if unknown := set(where) - {*labels, "le"}:
            raise ValueError(f"{name} has no label {', '.join(sorted(unknown))}; it has {', '.join(labels)}")
        chosen = [
            f'{label}=~"${_CHOSEN_BY[label]}"'
            for label in labels
            if _CHOSEN_BY.get(label) in self._variables and label not in where
        ]
        fixed = [
            f'{label}=~"{value[1:]}"' if value.startswith("~") else f'{label}="{value}"'
            for label, value in where.items()
        ]
        matchers = ", ".join([f'instance="{self._instance}"', *chosen, *fixed])
        return f"{name}{{{matchers}}}"

    def now(self, name: str, **where: str) -> Quantity:
        """Present values."""
        return Quantity(self.rows(name, **where), _NOW.get(spec_of(name).unit, Unit.COUNT))

    def per_simulated_second(self, expr: str) -> str:
        """A rate per second of wall clock -> per simulated second."""
        elapsed = f'rate(fabric_sim_elapsed_seconds_total{{instance="{self._instance}"}}[{WINDOW}])'
        return f"{expr} / on (instance) group_left () {elapsed}"

    def rate(self, name: str, *, by: str = "", **where: str) -> Quantity:
        """Growth per simulated second; with `by`, summed over all labels but `by` and instance."""
        spec = spec_of(name)
        if spec.kind is not Kind.COUNTER:
            raise ValueError(f"{name} is a {spec.kind}, and only counters have a rate")
        grown = f"rate({self.rows(name, **where)}[{WINDOW}])"
        if by:
            grown = f"sum by (instance, {by}) ({grown})"
        return Quantity(self.per_simulated_second(grown), _RATE.get(spec.unit, Unit.EVENTS_PER_SECOND))

    def total(self, name: str, *, by: str = "instance", **where: str) -> Quantity:
        """Growth over the dashboard's time range, summed."""
        unit = _NOW.get(spec_of(name).unit, Unit.COUNT)
        return Quantity(f"sum by ({by}) (increase({self.rows(name, **where)}[{RANGE}]))", unit)

    def highest(self, of: Quantity, *, by: str) -> Quantity:
        """Maximum over the dashboard's time range."""
        return Quantity(f"max by (instance, {by}) (max_over_time(({of.expr})[{RANGE}:{STEP}]))", of.unit)

    def quantile(self, share: float, family: str, *, by: str, unit: Unit) -> Quantity:
        """A quantile of a histogram in the window; no row where the histogram has no new observation."""
        counted = f"sum by (instance, {by}, le) (rate({self.rows(f'{family}_bucket')}[{WINDOW}]))"
        return Quantity(f"histogram_quantile({share:g}, {counted}) >= 0", unit)

    def towards(self, of: Quantity, *labels: str) -> Quantity:
        """Rows by port, with labels of the remote end of the cable."""
        info = f'fabric_port_info{{instance="{self._instance}"}}'
        return Quantity(f"({of.expr}) * on (instance, device, port) group_left ({', '.join(labels)}) {info}", of.unit)

    def discarded(self, reasons: str) -> Quantity:
        """Packets discarded for these reasons, by device; 0 without any: a reason has rows from its first drop on."""
        found = self.rate("fabric_dropped_packets_total", by="device", reason=reasons)
        none = f"0 * max by (instance, device) ({self.rows('fabric_port_up')})"
        return Quantity(f"{found.expr} or {none}", found.unit)

    def from_peer(self, of: Quantity) -> Quantity:
        """Rows by port under the names of the ports at the other ends of their cables."""
        named = self.towards(of, "peer_device", "peer_port").expr
        moved = f'label_replace({named}, "device", "$1", "peer_device", "(.*)")'
        moved = f'label_replace({moved}, "port", "$1", "peer_port", "(.*)")'
        return Quantity(f"max by (instance, device, port) ({moved})", of.unit)

    def facing(self, of: Quantity, role: str) -> Quantity:
        """Rows by port whose cable ends at a device of this role."""
        peers = self._as_peers(f'fabric_device_info{{instance="{self._instance}", role="{role}"}}')
        return Quantity(f"{self.towards(of, 'peer_device').expr} and on (instance, peer_device) {peers}", of.unit)

    @staticmethod
    def _as_peers(devices: str) -> str:
        return f'label_replace({devices}, "peer_device", "$1", "device", "(.*)")'

    def between(self, of: Quantity, local: str, remote: str) -> Quantity:
        """The highest row of every pair of devices with these roles (regular expressions)."""
        here = self.rows("fabric_device_info", role=f"~{local}")
        peers = self.rows("fabric_device_info", role=f"~{remote}")
        there = self._as_peers(peers)
        joined = self.towards(of, "peer_device").expr
        return Quantity(
            f"max by (device, peer_device) ({joined} and on (instance, device) {here} "
            f"and on (instance, peer_device) {there})",
            of.unit,
        )


def top(count: int, of: Quantity) -> Quantity:
    """The highest rows."""
    return Quantity(f"topk({count}, {of.expr})", of.unit)


def over(part: Quantity, whole: Quantity, unit: Unit = Unit.SHARE, on: str = "") -> Quantity:
    """A quotient; no row where the denominator is 0. `on`: labels that both have, where the denominator is coarser."""
    matching = f" on ({on}) group_left ()" if on else ""
    return Quantity(f"({part.expr}) /{matching} (({whole.expr}) > 0)", unit)
