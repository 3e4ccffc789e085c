"""Broken fabrics for proofs: changes of the small clean fabric of tests/validate, one finding each."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabric.configs.load import load_network
from fabric.configs.network import Network
from fabric.proof.cut import Cutter
from fabric.proof.prove import prove
from fabric.proof.recipe import Case
from fabric.validate.checks.base import Finding
from fabric.validate.facts import Facts
from fabric.validate.proofs import Proof
from fabric.validate.runner import validate

_VALIDATE: Final = Path(__file__).resolve().parent.parent / "validate"
sys.path[:0] = [
    str(_VALIDATE),
    str(_VALIDATE.parent.parent),
]  # its modules import each other without their folder, as pytest has it

from fabrics import HOSTS, Tables, small_fabric, switch  # noqa: E402
from finding_cases import LOSSLESS, put  # noqa: E402

from tests.validate.test_reachability import fabric  # noqa: E402

Fabric = dict[str, Tables]
Change = Callable[[Fabric], Any]


@dataclass(frozen=True)
class Broken:
    """A fabric with one mistake, and its finding."""

    check: str
    what: str
    """What is wrong, for the table."""
    change: Change
    result: str = "proven"
    device: str = ""
    """Of the finding; '': the first finding of the check."""
    object: str = ""
    hosts: dict[str, Any] | None = None
    """Settings of the hosts that differ from the clean fabric's."""
    links: dict[str, Any] | None = None
    make: Callable[[Path], Network] | None = None
    """Another fabric than the small one, written to a folder and read."""

    @property
    def id(self) -> str:
        """For test reports."""
        return f"{self.check}: {self.what}"

    def network(self, folder: Path) -> Network:
        """Write it, and read it."""
        if self.make is not None:
            folder.mkdir(parents=True, exist_ok=True)
            return self.make(folder)
        fabric = small_fabric()
        self.change(fabric)
        hosts = {"default": {**HOSTS["default"], **(self.hosts or {})}}
        return written(folder, fabric, hosts, self.links)

    def case(self, folder: Path) -> Case:
        """Its finding with its network."""
        network = self.network(folder)
        found = [it for it in validate(network, only={self.check}).findings if self._is_it(it)]
        assert found, f"{self.check} finds nothing"
        facts = Facts(network)
        return Case(facts, Cutter(facts), found[0])

    def _is_it(self, item: Finding) -> bool:
        return (not self.device or item.device == self.device) and (not self.object or item.object == self.object)

    def proof(self, folder: Path) -> Proof:
        """Simulate it."""
        return prove(self.case(folder))


def with_tables(fib: dict[str, list[dict[str, Any]]]) -> Callable[[Path], Network]:
    """The clean fabric with tables of routes (`--fib`)."""

    def make(folder: Path) -> Network:
        written(folder / "configs", small_fabric(), HOSTS)
        (folder / "fib").mkdir()
        for name, rows in fib.items():
            (folder / "fib" / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
        return load_network([folder / "configs"], fibs=[folder / "fib"])

    return make


def with_lines(**edits: Callable[[Any], None]) -> Callable[[Path], Network]:
    """The EOS fabric with BGP of tests/validate/test_reachability.py, some of its switches edited."""
    return lambda folder: load_network([fabric("eos", folder, **edits)])


def written(folder: Path, fabric: Fabric, hosts: dict[str, Any], links: dict[str, Any] | None = None) -> Network:
    """A fabric as files, read again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, tables in fabric.items():
        (folder / f"{name}.json").write_text(json.dumps(tables, indent=1), encoding="utf-8")
    (folder / "hosts.json").write_text(json.dumps(hosts), encoding="utf-8")
    if links is not None:
        (folder / "links.json").write_text(json.dumps(links), encoding="utf-8")
    return load_network([folder])


def narrow_network(folder: Path) -> Network:
    """The guide's example with queues that are limited to 15 MB."""
    example = _VALIDATE.parents[1] / "docs" / "howto" / "margins-example"
    fabric = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in example.glob("[ls]*.json")}
    for tables in fabric.values():
        tables["BUFFER_PROFILE"]["egress_lossless_profile"]["static_th"] = "15000000"
        tables["BUFFER_POOL"]["egress_lossless_pool"]["size"] = "60817392"
    return written(folder, fabric, HOSTS)


def every(*changes: Change) -> Change:
    """Several changes."""

    def change(fabric: Fabric) -> None:
        for one in changes:
            one(fabric)

    return change


def on_all(table: str, key: str, **values: str | None) -> Change:
    """The same change on every switch."""

    def change(fabric: Fabric) -> None:
        for name in fabric:
            put(name, table, key, **values)(fabric)

    return change


def nothing(_: Fabric) -> None:
    """The clean fabric."""


def ring(fabric: Fabric, size: int = 5) -> None:
    """Switches in a cycle instead, each with a host."""
    fabric.clear()
    for number in range(size):
        near = {
            "Ethernet0": (f"host{number}", "eth0"),
            "Ethernet8": (f"s{(number + 1) % size}", "Ethernet16"),
            "Ethernet16": (f"s{(number - 1) % size}", "Ethernet8"),
        }
        fabric[f"s{number}"] = switch(f"s{number}", str(65001 + number), "ToRRouter", near)


def one_in(folder: str | None = None) -> Path:
    """A new folder for a fabric."""
    return Path(tempfile.mkdtemp(dir=folder))


__all__ = [
    "HOSTS",
    "LOSSLESS",
    "Broken",
    "every",
    "narrow_network",
    "nothing",
    "on_all",
    "one_in",
    "put",
    "ring",
    "with_lines",
    "with_tables",
    "written",
]
