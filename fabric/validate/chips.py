"""The packet buffer of a switch, by the chip that its HWSKU or platform means.

Sizes are those of the simulator's chips (`fabric.scenario.presets.asics`, each with its source). NVIDIA's SONiC
platforms count headroom beside the pools, Broadcom's and Marvell's inside them: shipped renders of Tomahawk 3, 5 and
Teralynx 10 have pools as large as the memory, and their headroom on top.
"""

from __future__ import annotations

from fabric.configs.buffers.mmu import chip_of
from fabric.configs.buffers.platforms import find_platform
from fabric.configs.model import Device
from fabric.scenario.presets.asics import ASICS


def is_nvidia(device: Device) -> bool:
    """Whether the platform's buffer accounting is NVIDIA's."""
    text = f"{device.platform} {device.hwsku}".lower()
    return "mlnx" in text or "nvidia" in text or "mellanox" in text or "msn" in text or "acs-sn" in text


def mmu_bytes(device: Device) -> int | None:
    """The whole packet buffer, where it is known. NVIDIA's egress lossless pool is as large as the buffer."""
    if is_nvidia(device):
        known, pool = find_platform(device.hwsku), device.pools.get("egress_lossless_pool")
        exact = (known.mmu_bytes if known else None) or (pool.size_bytes if pool else None)
        if exact:
            return exact
    chip = ASICS.get(chip_of(device) or "")
    return None if chip is None else chip.buffer_bytes
