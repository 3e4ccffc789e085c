"""Scale-up domains: GPUs of a server over NVLink and an NVSwitch, and PCIe between a GPU and its NIC.

Each GPU is a host with one link to the domain's switch and its NIC ports. All chips of a server's NVSwitch are one
switch here, and all NVLinks of a GPU one link at the sum of their usable rates (decision 0058).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fabric.topology.model import LinkSpec, NodeSpec, Role
from fabric.topology.quantities import RateBps, SizeBytes, TimePs

DEFAULT_UNIT_BYTES: Final = 16_000
"""Payload of a packet on scale-up links (decision 0058)."""
LEAST_UNIT_BYTES: Final = 256
"""Data of an NVLink packet: 16 flits of 16 bytes (Foley and Danskin, IEEE Micro 2017)."""
MOST_UNIT_BYTES: Final = 16_000
"""The engine's tables end at frames of 16 KiB."""
HOST_PORT: Final = "scaleup0"
"""Name of a GPU's port to the domain's switch."""

ProfileName = Literal["v100-dgx2", "a100-hgx", "h800-hgx", "h100-hgx", "b200-hgx", "gb200-nvl72"]
PcieName = Literal["gen4", "gen5", "gen6"]


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of server."""

    gpus: int
    links: int
    """NVLinks of a GPU."""
    link_bps: int
    """Raw, each way."""
    usable_link_bps: int
    """Payload, each way."""
    latency_ps: int
    """From GPU to GPU, one way, without serialisation."""
    source: str
    assumed: tuple[str, ...] = ()
    """Fields that no public measurement gives."""

    @property
    def usable_bps(self) -> int:
        """Payload of a GPU, each way."""
        return self.links * self.usable_link_bps


_NCCL: Final = "usable: NCCL 2.30.7 src/graph/topo.h (SM*_NVLINK_BW)"
_LATENCY: Final = "latency: astra-sim 518bd51, HGX-H100-validated (one switch, 400 GB/s, 936 ns)"
_GB_S: Final = 8 * 10**9

PROFILES: Final[Mapping[str, Profile]] = {
    "v100-dgx2": Profile(
        16, 6, 25 * _GB_S, 20 * _GB_S, 936_000,
        "NVLink 2: 6 links of 25 GB/s each way (V100 data sheet); 16 GPUs on NVSwitch 1 (DGX-2)",
        ("usable_link_bps", "latency_ps"),
    ),
    "a100-hgx": Profile(
        8, 12, 25 * _GB_S, 20 * _GB_S, 936_000,
        f"NVLink 3: 12 links of 25 GB/s each way (A100 data sheet); {_NCCL}",
        ("latency_ps",),
    ),
    "h800-hgx": Profile(
        8, 8, 25 * _GB_S, 20_600_000_000 * 8, 936_000,
        f"NVLink 4, 8 links of 25 GB/s each way; {_NCCL}",
        ("latency_ps",),
    ),
    "h100-hgx": Profile(
        8, 18, 25 * _GB_S, 20_600_000_000 * 8, 936_000,
        f"NVLink 4: 18 links of 25 GB/s each way (H100 data sheet); {_NCCL}; {_LATENCY}",
    ),
    "b200-hgx": Profile(
        8, 18, 50 * _GB_S, 40_100_000_000 * 8, 936_000,
        f"NVLink 5: 18 links of 50 GB/s each way (B200 data sheet); {_NCCL}",
        ("latency_ps",),
    ),
    "gb200-nvl72": Profile(
        72, 18, 50 * _GB_S, 40_100_000_000 * 8, 936_000,
        f"NVLink 5: 18 links of 50 GB/s each way, one to each of 18 switch chips; {_NCCL}",
        ("latency_ps",),
    ),
}  # fmt: skip
"""Name -> kind of server. Vendors' totals count both directions."""

PCIE_RAW_BPS: Final[Mapping[str, int]] = {
    "gen4": 31_500_000_000 * 8,
    "gen5": 63_000_000_000 * 8,
    "gen6": 121_000_000_000 * 8,
}
"""x16, each way, after line coding (PCI Express base specifications 4.0, 5.0; 6.0 in flit mode)."""
PCIE_PAYLOAD: Final = (256, 256 + 28)
"""Payload of a packet and its size: sequence number, header of 4 words, ECRC, LCRC and framing are 24 to 28 B."""


def pcie_usable_bps(generation: str) -> int:
    """Payload of an x16 slot, each way."""
    data, whole = PCIE_PAYLOAD
    return PCIE_RAW_BPS[generation] * data // whole


class ScaleUpSpec(BaseModel):
    """`scale_up:` of a topology: links inside servers."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    profile: ProfileName = Field(
        "h100-hgx", description="Kind of server: usable NVLink rate, latency and number of GPUs (docs/scale-up.md)."
    )
    rate: RateBps | None = Field(
        None, description="Usable rate of a GPU, each way, payload only; the profile's if absent."
    )
    latency: TimePs | None = Field(
        None, gt=1, description="From GPU to GPU, one way, without serialisation; the profile's if absent."
    )
    unit: Annotated[SizeBytes, Field(ge=LEAST_UNIT_BYTES, le=MOST_UNIT_BYTES)] | None = Field(
        None, description="Payload of a packet inside a server, 256B to 16000B; 16000B if absent."
    )
    pcie: PcieName | None = Field(
        None, description="PCIe x16 between a GPU and its NIC: bounds the NIC's rate; unbounded if absent."
    )
    nics_per_slot: int = Field(1, ge=1, le=8, description="NICs that share an x16 slot; needs pcie.")

    @model_validator(mode="after")
    def _has_effect(self) -> Self:
        if self.pcie is None and self.nics_per_slot != 1:
            raise ValueError("nics_per_slot has no effect without pcie; give pcie: gen4, gen5 or gen6, or remove it")
        return self

    @property
    def unit_bytes(self) -> int:
        """Payload of a packet."""
        return DEFAULT_UNIT_BYTES if self.unit is None else self.unit

    @property
    def rate_bps(self) -> int:
        """Payload of a GPU, each way."""
        return PROFILES[self.profile].usable_bps if self.rate is None else self.rate

    @property
    def latency_ps(self) -> int:
        """From GPU to GPU, one way, without serialisation."""
        return PROFILES[self.profile].latency_ps if self.latency is None else self.latency

    def nic_bps(self, line_bps: int) -> int:
        """Rate of a NIC behind its PCIe slot."""
        return line_bps if self.pcie is None else min(line_bps, pcie_usable_bps(self.pcie) // self.nics_per_slot)


def server_parts(spec: ScaleUpSpec, server: str, gpus: list[str], group: str) -> tuple[NodeSpec, list[LinkSpec]]:
    """The switch of a server's domain and a link to each GPU.

    Both links of a path carry half of the latency, so that neither end sees the other sooner than need be: the engine
    runs devices independently for the shortest delay of any link.
    """
    switch = f"{server}-nvswitch" if server else "nvswitch"
    links = [
        LinkSpec(gpu, switch, spec.rate_bps, max(spec.latency_ps // 2, 1), 0, HOST_PORT, f"gpu{number}")
        for number, gpu in enumerate(gpus, 1)
    ]
    return NodeSpec(switch, Role.SCALE_UP, 1, group), links
