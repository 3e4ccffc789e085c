"""Route targets: derived, configured, and matched on import (RFC 4364 section 4.3.1, RFC 8365 section 5.1.2.1).

FRR derives ASN:VNI with the low 16 bits of the AS number. A derived import target matches *any* AS with the VNI, so
every leaf can have a different AS. A configured import target matches exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from fabric.controlplane.evpn.evpn_attributes import target_text
from fabric.controlplane.evpn.rd import rd_packed

RtStyle = Literal["frr", "rfc8365"]
_AUTO_VXLAN: Final = 1 << 28
"""RFC 8365 section 5.1.2.1: bit 31 clear (derived), type 1 (VXLAN) in bits 28 to 30, domain id 0 in bits 24 to 27."""


def auto_target(asn: int, vni: int, style: RtStyle = "frr") -> bytes:
    """Derived route target of a VNI, 8 bytes."""
    number = vni | _AUTO_VXLAN if style == "rfc8365" else vni
    return b"\x00\x02" + (asn & 0xFFFF).to_bytes(2, "big") + number.to_bytes(4, "big")


def target_packed(text: str) -> bytes:
    """'65000:10100' or '10.0.0.1:5' -> route target. Raises ValueError."""
    packed = rd_packed(text)  # the same three types with the same fields
    return packed[1:2] + b"\x02" + packed[2:]


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """An import target: one target, or one number with any administrator (`any_asn`) of the same type."""

    target: bytes
    any_asn: bool = False

    def matches(self, target: bytes) -> bool:
        """True if a route with `target` is imported."""
        return self.form(target) == self.form(self.target)

    def form(self, target: bytes) -> bytes:
        """The part of a target that this import compares."""
        return masked(target) if self.any_asn else target

    def __str__(self) -> str:
        return target_text(masked(self.target) if self.any_asn else self.target)


def masked(target: bytes) -> bytes:
    """The target with its administrator zeroed, as FRR keeps derived import targets: '0:10100'."""
    return target[:2] + bytes(2) + target[4:] if target[0] == 0 else target[:2] + bytes(4) + target[6:]


def import_target(text: str) -> ImportTarget:
    """'65000:10100', or '*:10100' for any 2-byte AS. Raises ValueError."""
    if text.startswith("*:"):
        return ImportTarget(target_packed(f"0:{text[2:]}"), any_asn=True)
    return ImportTarget(target_packed(text))
