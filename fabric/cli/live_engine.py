"""The emulator of a live run, and the settings that edits leave behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from fabric.engine import edits as e
from fabric.engine.driver import Emulator
from fabric.scenario.compile import CompiledScenario
from fabric.state.params import EngineParams
from fabric.topology.model import Fabric


class LiveEmulator(Emulator):
    """The emulator of `fabric run`, built from a compiled scenario."""

    def __init__(self, compiled: CompiledScenario, **options: Any) -> None:  # noqa: ANN401  the base's own options
        super().__init__(compiled.fabric, compiled.params, compiled.edits, record=compiled.record,
                         reroute_delay_ps=compiled.reroute_delay_ps, **options)

    def replan(self, edits: Sequence[e.Edit]) -> None:
        """Let these take the place of all that has not been applied yet."""
        self._edits[self._applied:] = sorted(edits, key=lambda edit: edit.time_ps)


def settings_after(fabric: Fabric, params: EngineParams, edits: Iterable[e.Edit]) -> EngineParams:
    """What is configured once `edits` have been applied in their order: where the next change starts from."""
    ports, switches, hosts = list(params.ports), dict(params.switches), dict(params.hosts)
    for edit in edits:
        match edit:
            case e.QueueEcn():
                queues = list(ports[edit.port].queues)
                queues[edit.queue] = replace(queues[edit.queue], ecn=edit.ecn)
                ports[edit.port] = replace(ports[edit.port], queues=tuple(queues))
            case e.PgThreshold():
                groups = list(ports[edit.port].pgs)
                groups[edit.pg] = edit.pg_params
                ports[edit.port] = replace(ports[edit.port], pgs=tuple(groups))
            case e.PfcClasses():
                ports[edit.port] = replace(ports[edit.port], pfc_classes=edit.classes)
            case e.LinkErrors():
                for port in (fabric.links[edit.link].a, fabric.links[edit.link].b):
                    ports[port] = replace(ports[port], bit_error_ratio=edit.bit_error_ratio)
            case e.HostDrain():
                hosts[edit.host] = replace(hosts[edit.host], drain_bps=edit.drain_bps)
            case e.WatchdogSet():
                switches[edit.switch] = replace(switches[edit.switch], watchdog=edit.watchdog)
            case _:     # changes no setting: a cable, a NIC or a route
                pass
    return replace(params, ports=ports, switches=switches, hosts=hosts)
