"""The fabric coloured by the damage that the failure of each part does."""

from __future__ import annotations

from fabric.render.document import Map, MapLink, MapNode, Status, Unit, show
from fabric.whatif.damage import STATUS, WORDS, Damage
from fabric.whatif.elements import ElementKind
from fabric.whatif.study import Study

_SWITCHES = {ElementKind.LEAF, ElementKind.SPINE, ElementKind.SUPER_SPINE, ElementKind.SWITCH}


def damage_map(study: Study) -> Map:
    """Switches by the effect of their loss, cables by the damage of a cut; equal elements have one colour."""
    fabric = study.place.fabric
    by_name = {it.key: it for it in study.place.failures}
    switch: dict[int, Damage] = {}
    cable: dict[int, Damage] = {}
    for it in study.findings:
        if it.case.kind != "failure" or it.damage is None:
            continue
        kind = it.case.elements[0].kind
        for name in it.case.members:
            element = by_name[f"{kind} {name}"]
            if kind in _SWITCHES:
                switch[element.switches[0]] = it.damage
            elif kind is ElementKind.LINK:
                cable[element.links[0]] = it.damage
    nodes = []
    for node in fabric.nodes:
        found = switch.get(node.id)
        status = Status.NEUTRAL if found is None else STATUS[found.effect]
        note = "" if found is None else f": {WORDS[found.effect]}, damage {show(found.damage_ratio, Unit.RATIO)}"
        nodes.append(MapNode(node.name, node.role.value, 0 if node.is_host else max(node.tier, 1), status, note))
    links = []
    for link in fabric.links:
        a, b = fabric.ports[link.a].node, fabric.ports[link.b].node
        hurt = cable.get(link.id)
        said = (
            "was not asked for"
            if hurt is None
            else f"{WORDS[hurt.effect]}, damage {show(hurt.damage_ratio, Unit.RATIO)}"
        )
        ratio = 0.0 if hurt is None else hurt.damage_ratio
        note = f"{fabric.nodes[a].name} - {fabric.nodes[b].name} cut: {said}"
        links.append(MapLink(a, b, link.rate_bps, ratio, ratio, note))
    return Map(
        "damage",
        "Damage by the part that fails",
        tuple(nodes),
        tuple(links),
        note="Switches: red, its loss breaks something; yellow, it slows; green, no effect; grey, not simulated. "
        "Cables: damage of a cut. Point at a part for its numbers. "
        "Parts that are equal to a simulated one have its colour.",
        measure="damage of a cut cable",
    )
