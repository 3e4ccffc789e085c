"""Slurm's topology.yaml: a list of topologies, of which the default one is read: tree, block or flat.

Source: topology.yaml(5) of SchedMD Slurm. Its ring and torus3d plugins are refused: the man page documents neither.
"""

from __future__ import annotations

from typing import Any, Final

from fabric.errors import InputErrors, Problem
from fabric.jobs.slurm import STAGE, SlurmTopology, Switch, block_sizes, checked, hostlist
from fabric.visible import visible
from fabric.yamltext import YamlError, build

MAX_YAML_NODES: Final = 2_000_000
KINDS: Final = ("tree", "block", "flat")


def parse_topology_yaml(text: str, file: str) -> SlurmTopology:
    """The first topology with `cluster_default: true`, or the only one. Raises: InputErrors with every problem."""
    try:
        value = build(text, _scalar, max_nodes=MAX_YAML_NODES, too_many="give a smaller file")
    except YamlError as error:
        raise InputErrors(STAGE, [Problem(f"{file}:{error.line}", error.text, error.hint)]) from error
    if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
        hint = "begin with '- topology: NAME'; topology.conf has another form, and another ending"
        raise InputErrors(STAGE, [Problem(file, "is not a list of topologies", hint)])
    place, chosen = _default(value, file)
    problems: list[Problem] = []
    kinds = [key for key in chosen if key not in {"topology", "cluster_default"}]
    where = f"{file}: [{place}]"
    if len(kinds) != 1 or kinds[0] not in KINDS:
        text_ = f"defines {' and '.join(visible(str(kind)) for kind in kinds) or 'nothing'}"
        problem = Problem(where, f"{text_}, where one of {', '.join(KINDS)} is read", "name a topology of those kinds")
        raise InputErrors(STAGE, [problem])
    kind, body = kinds[0], chosen[kinds[0]]
    if kind == "flat":
        return SlurmTopology(flat=True)
    if not isinstance(body, dict):
        raise InputErrors(STAGE, [Problem(f"{where}.{kind}", "is no mapping", "see topology.yaml(5)")])
    found = _tree(body, where, problems) if kind == "tree" else _block(body, where, problems)
    return checked(found, file, problems)


def _scalar(text: str, plain: bool, line: int) -> Any:  # noqa: ANN401  as yamltext.Resolve
    del line
    if plain and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    return text


def _default(topologies: list[dict[str, Any]], file: str) -> tuple[int, dict[str, Any]]:
    chosen = [place for place, each in enumerate(topologies) if each.get("cluster_default") is True]
    if not chosen and len(topologies) > 1:
        hint = "give the one to use cluster_default: true"
        raise InputErrors(STAGE, [Problem(file, f"none of its {len(topologies)} topologies is the default", hint)])
    place = chosen[0] if chosen else 0
    return place, topologies[place]


def _entries(
    body: dict[str, Any], name: str, where: str, allowed: set[str], problems: list[Problem]
) -> list[dict[str, Any]]:
    """Mappings of a list; what is none of them, or has other fields, is a problem."""
    problems += [
        Problem(f"{where}.{key}", "there is no such field", f"the fields are {', '.join(sorted(allowed))}")
        for key in body
        if key not in allowed
    ]
    found = body.get(name)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        problems.append(Problem(f"{where}.{name}", "is not a list of mappings", "see topology.yaml(5)"))
        return []
    return found


def _names(entry: dict[str, Any], field: str, where: str, problems: list[Problem]) -> tuple[str, ...]:
    value = entry.get(field, "")
    try:
        if not isinstance(value, str):
            raise ValueError(f"{field} is no list of hosts")  # noqa: TRY301, TRY004  one way out for both
        return tuple(hostlist(value))
    except ValueError as error:
        problems.append(Problem(f"{where}.{field}", str(error), "such as tux[0-3,12]"))
        return ()


def _tree(body: dict[str, Any], where: str, problems: list[Problem]) -> SlurmTopology:
    switches = []
    for number, entry in enumerate(_entries(body, "switches", f"{where}.tree", {"switches"}, problems)):
        at = f"{where}.tree.switches[{number}]"
        _fields(entry, {"switch", "children", "nodes"}, at, problems)
        nodes, below = _names(entry, "nodes", at, problems), _names(entry, "children", at, problems)
        switches.append(Switch(str(entry.get("switch", "")), nodes, below))
    return SlurmTopology(tuple(switches))


def _block(body: dict[str, Any], where: str, problems: list[Problem]) -> SlurmTopology:
    allowed = {"blocks", "block_sizes"}
    blocks = []
    for number, entry in enumerate(_entries(body, "blocks", f"{where}.block", allowed, problems)):
        at = f"{where}.block.blocks[{number}]"
        _fields(entry, {"block", "nodes"}, at, problems)
        blocks.append((str(entry.get("block", "")), _names(entry, "nodes", at, problems)))
    sizes = body.get("block_sizes", [])
    try:
        made = block_sizes(",".join(map(str, sizes))) if isinstance(sizes, list) and sizes else ()
    except ValueError as error:
        problems.append(Problem(f"{where}.block.block_sizes", str(error), "such as [4, 16]"))
        made = ()
    return SlurmTopology(blocks=tuple(blocks), block_sizes=made)


def _fields(entry: dict[str, Any], allowed: set[str], where: str, problems: list[Problem]) -> None:
    problems += [
        Problem(f"{where}.{key}", "there is no such field", f"the fields are {', '.join(sorted(allowed))}")
        for key in entry
        if key not in allowed
    ]
