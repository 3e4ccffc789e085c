"""The result of a simulated proof of one finding: data that `fabric.proof` makes and the outputs show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Result = Literal["proven", "refuted", "not proven"]
RESULTS: Final[tuple[Result, ...]] = ("proven", "refuted", "not proven")


@dataclass(frozen=True, slots=True)
class Proof:
    """One finding, simulated."""

    check: str
    device: str
    object: str
    result: Result
    text: str
    """Evidence of a proof; what was seen instead; or why there is none."""
    condition: str = ""
    """'only if ...': the assumed value that the result depends on; '' where it depends on none that was varied."""
    claim: str = ""
    """What the finding claims: loss, pause, marks, victim, deadlock."""
    traffic: str = ""
    """CHAIN, INC, STEP, ...; '' where nothing was simulated."""
    remedy: str = ""
    """What differs in the remedied scenario."""
    alike: int = 1
    """Findings of this check with the same cause, of which this is one."""
    scenario: str = ""
    """The scenario as text, as configured: `fabric run` exits with 1."""
    remedied: str = ""
    """The same with the remedy: `fabric run` exits with 0."""
    file: str = ""
    """Where the scenario was written; '' where it was not."""
    assumed: tuple[str, ...] = ()
    not_lowered: tuple[str, ...] = ()

    def as_dict(self, *, scenarios: bool = True) -> dict[str, Any]:
        """For JSON."""
        found: dict[str, Any] = {
            "id": self.check,
            "device": self.device,
            "object": self.object,
            "result": self.result,
            "text": self.text,
            "condition": self.condition or None,
            "claim": self.claim or None,
            "traffic": self.traffic or None,
            "remedy": self.remedy or None,
            "alike": self.alike,
            "file": self.file or None,
            "assumed": list(self.assumed),
            "not_lowered": list(self.not_lowered),
        }
        if scenarios:
            found |= {"scenario": self.scenario or None, "remedied": self.remedied or None}
        return found

    def __str__(self) -> str:
        condition = f" ({self.condition})" if self.condition else ""
        return f"{self.result}: {self.text}{condition}"


def counted(proofs: Sequence[Proof]) -> str:
    """'3 proven, 1 refuted, 2 not proven'; '' where nothing was tried."""
    if not proofs:
        return ""
    return ", ".join(f"{sum(it.result == word for it in proofs)} {word}" for word in RESULTS)
