"""V: imported route targets that no switch exports, such as a mistyped one that stayed when the right one was added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fabric.configs.text.spelling import is_slip
from fabric.validate.checks.base import Check, Found, I, W, check, first, named
from fabric.validate.checks.identity import stated
from fabric.validate.facts import Facts


@check(
    "V20",
    W,
    "a route target is imported that no switch exports",
    condition="every route target that a VNI imports is exported by some switch; a warning where it is a slip of one "
    "that the VNI imports as well, else a note: a switch that was not given may export it",
    consequence="nothing is imported by it now; the first VNI that exports it is joined with this one",
    remedy="remove the import",
    source="RFC 4364 section 4.3.1; RFC 8365 section 5.1.2.1",
)
def V20(facts: Facts) -> Iterator[Found]:  # noqa: N802
    """Where the VNI also imports a target that is exported. Where it does not, it is isolated, which V3 reports."""
    rows = [(it, vni) for it in facts.devices for vni in (*it.identity.vnis, *it.identity.routed_vnis)]
    exported = {target for _, vni in rows for target in vni.exports}
    automatic = {vni.number for _, vni in rows if not vni.exports and not vni.exports_nothing}
    for device, vni in rows:
        odd = sorted(
            it
            for it in vni.imports - exported
            if it.rpartition(":")[2] not in automatic and it.rpartition(":")[2] != "auto"
        )
        meant = vni.imports & exported
        if not odd or not meant:
            continue
        slips = any(is_slip(it, other) for it in odd for other in meant)
        yield Found(
            device.name,
            f"{named(vni.targets_where)}|import",
            f"VNI {vni.number} imports {first(odd)}, which no switch exports, beside {first(sorted(meant))}",
            (stated(device, ", ".join(odd), vni.line_of("import", vni.imports - set(odd)), f"{device.name} imports"),),
            root=(device.name, vni.targets_where),
            severity=W if slips else I,
        )


CHECKS: Final[tuple[Check, ...]] = (V20,)
