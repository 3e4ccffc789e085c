"""One server: GPUs over their NVSwitch, without a network."""

from __future__ import annotations

from fabric.topology.builders.assemble import assemble
from fabric.topology.builders.wiring import node
from fabric.topology.model import Fabric, Role
from fabric.topology.scale_up import server_parts
from fabric.topology.spec import ServerSpec


def server(spec: ServerSpec) -> Fabric:
    """Hosts gpu1.., switch nvswitch. Raises: nothing for a spec that is valid."""
    gpus = [node(f"gpu{number}", Role.HOST) for number in range(1, spec.n_gpus + 1)]
    switch, links = server_parts(spec.scale_up, "", [gpu.name for gpu in gpus], "")
    return assemble(spec.name or spec.kind, [*gpus, switch], links)
