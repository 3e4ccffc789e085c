"""`vxlan.job_vni`: every job is a tenant of the overlay with a separate VNI, its storage nodes included.

The tenants are written into the scenario before anything else reads them, so the control plane, the data plane and the
check of messages between tenants need to know nothing of jobs.
"""

from __future__ import annotations

from typing import Final

from fabric.errors import Problem
from fabric.scenario.schema.scenario import Scenario
from fabric.scenario.schema.tenant_spec import TenantSpec
from fabric.scenario.surroundings import surroundings
from fabric.topology.model import Fabric
from fabric.workload.job import seated

REST: Final = "without-a-job"
"""Tenant of the hosts that no job holds."""


def with_job_tenants(scenario: Scenario, fabric: Fabric, problems: list[Problem]) -> Scenario:
    """The scenario with the tenants written out; unchanged without vxlan.job_vni. Problems are appended."""
    if scenario.vxlan is None or scenario.vxlan.job_vni is None:
        return scenario
    first = scenario.vxlan.job_vni
    around = surroundings(scenario, fabric, problems)
    tenants: list[TenantSpec] = []
    owner: dict[int, str] = {}
    for number, (where, name, spec) in enumerate(around.jobs):
        found = seated(spec, name, where, around)
        if found is None:
            continue
        hosts = list(dict.fromkeys([*(slot.host for slot in found.slots), *found.storage]))
        twice = [host for host in hosts if host in owner]
        if twice:
            text = f"'{fabric.nodes[twice[0]].name}' is a storage node of jobs '{owner[twice[0]]}' and '{name}'"
            hint = "a host belongs to one VNI: give each job other storage nodes (storage:)"
            problems.append(Problem(f"{where}.storage", text, hint))
            continue
        owner.update(dict.fromkeys(hosts, name))
        names = tuple(fabric.nodes[host].name for host in hosts)
        tenants.append(TenantSpec(name=name, vni=first + number, hosts=names))
    rest = tuple(host.name for host in fabric.hosts if host.id not in owner)
    if rest:
        tenants.append(TenantSpec(name=REST, vni=first + len(around.jobs), hosts=rest))
    if problems:
        return scenario
    vxlan = scenario.vxlan.model_copy(update={"tenants": tuple(tenants), "job_vni": None})
    changed = scenario.model_copy(update={"vxlan": vxlan})
    changed._file = scenario.file  # noqa: SLF001  model_copy keeps private attributes only if they are set on it
    return changed
