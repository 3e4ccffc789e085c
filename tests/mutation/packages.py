"""What is mutated, and which tests may kill a mutant: the one place that names modules and test folders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "port": ("fabric/dataplane/port/*.py", "fabric/dataplane/port/flowcontrol/*.py"),
    "transport": ("fabric/dataplane/transport/*.py",),
    "switch": ("fabric/dataplane/switch/*.py",),
    "host": ("fabric/dataplane/host/*.py",),
    "semantics": ("fabric/dataplane/state/semantics.py",),
    "checks": ("fabric/validate/checks/*.py",),
    "headroom": (
        "fabric/configs/buffers/headroom.py",
        "fabric/configs/sonic/pgtable.py",
        "fabric/configs/sonic/buffermgr.py",
    ),
    "decision": ("fabric/controlplane/bgp/decision.py", "fabric/controlplane/bgp/policy.py"),
    "overlay": (
        "fabric/controlplane/evpn/mac.py",
        "fabric/controlplane/evpn/arp.py",
        "fabric/controlplane/evpn/isolation.py",
    ),
}
"""Name of a package in the report to its modules."""

LEFT_OUT: Final = frozenset(("__init__.py", "base.py", "registry.py"))
"""Modules of words and tables."""

_GOLDENS: Final = (
    "base",
    "pfc-two-classes",
    "shared-headroom",
    "lossy-go-back-n",
    "lossy-selective",
    "ecn-dequeue",
    "dcqcn-mlx5",
    "dctcp",
    "scheduler-dwrr",
    "hash-crc32",
    "watchdog-drop",
    "vxlan",
    "hpcc-ns3-insertion",
    "hpcc-ns3-windows",
    "tenant-routing",
    "arp-flooded",
)

TESTS: Final = (
    "tests/edges",
    *(f"tests/goldens/test_goldens.py::test_a_run_has_the_committed_result[{name}]" for name in _GOLDENS),
    "tests/dataplane/test_hashing.py",
    "tests/validate/test_edges.py",
    "tests/validate/test_checks.py",
    "tests/validate/test_variants.py",
    "tests/configs/buffers/test_headroom.py",
    "tests/bgp/test_decision.py",
    "tests/bgp/test_tables.py",
    "tests/evpn/test_arp.py",
    "tests/evpn/test_mobility.py",
    "tests/evpn/test_isolation.py",
)
"""Fast tests that run in this process: what a test starts as another program sees no mutant. Of the golden runs one for
each mechanism: a survivor meets them all.
"""

WITHOUT_EFFECT: Final = frozenset(("prefetch", "prefetch_inbox"))
"""Calls that cannot change a result: hints to the processor. Their statements are not mutated."""
