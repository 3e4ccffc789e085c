"""``fabric model``: the models and their assumptions, with sources; the presets of chips, DCQCN and ECN."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from fabric.cli.options.output import add_out, write_out
from fabric.configs.buffers.mmu import mmu_card
from fabric.errors import FabricError
from fabric.scenario.card import asic_card, dcqcn_card, ecn_card, model_card
from fabric.scenario.docs import model_markdown
from fabric.scenario.presets.cubic import cubic_card
from fabric.scenario.presets.dctcp import dctcp_card
from fabric.scenario.presets.hpcc import hpcc_card
from fabric.scenario.presets.models import MODELS
from fabric.scenario.presets.pint import pint_card
from fabric.scenario.presets.swift import swift_card
from fabric.scenario.presets.timely import timely_card
from fabric.topology.select import nearest

PRESETS: Final[Mapping[str, Callable[[], list[dict[str, Any]]]]] = {
    "asics": asic_card,
    "mmus": mmu_card,
    "dcqcn": dcqcn_card,
    "dctcp": dctcp_card,
    "timely": timely_card,
    "hpcc": hpcc_card,
    "pint": pint_card,
    "swift": swift_card,
    "cubic": cubic_card,
    "ecn": ecn_card,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the three jobs."""
    jobs = parser.add_subparsers(dest="job", metavar="JOB", required=True)
    listing = jobs.add_parser("list", help="names of models and preset tables")
    show = jobs.add_parser("show", help="one model card, or one table of presets")
    show.add_argument("name", metavar="NAME", help=f"{', '.join([*MODELS, *PRESETS])}")
    docs = jobs.add_parser("docs", help="write the model cards as a document")
    add_out(docs, "FILE", "default docs/model-card.md; '-' for standard output", default=Path("docs/model-card.md"))
    for job in (listing, show, docs):
        job.add_argument("--json", action="store_true", help="print an object")


def run(args: argparse.Namespace) -> int:
    """0; an unknown name is bad input."""
    if args.job == "docs":
        if write_out(args.out, model_markdown()):
            print(json.dumps({"wrote": str(args.out)}) if args.json else args.out)
    elif args.job == "list":
        rows = {
            **{name: model.purpose for name, model in MODELS.items()},
            "asics": "switch chips: memory, cell, lossless profile",
            "mmus": "switch chips: what divides their memory, and what a configuration's pool sizes contain",
            "dcqcn": "DCQCN parameter sets",
            "dctcp": "DCTCP parameters",
            "timely": "TIMELY parameters",
            "hpcc": "HPCC parameters",
            "pint": "HPCC-PINT parameters",
            "swift": "Swift parameters",
            "cubic": "CUBIC parameters",
            "ecn": "named ECN curves",
        }
        print(json.dumps(rows, indent=2) if args.json else "\n".join(f"{name:8} {text}" for name, text in rows.items()))
    elif args.name in PRESETS:
        table = PRESETS[args.name]()
        print(json.dumps({args.name: table}, indent=2) if args.json else "\n\n".join(_entry(item) for item in table))
    elif args.name in MODELS:
        card = model_card(args.name)
        print(json.dumps(card, indent=2) if args.json else _text(card))
    else:
        raise FabricError(f"there is no model or table '{args.name}'", nearest(args.name, [*MODELS, *PRESETS], "names"))
    return 0


def _entry(item: Mapping[str, Any]) -> str:
    rest = "\n".join(f"  {key:22} {value}" for key, value in item.items() if key != "name")
    return f"{item['name']}\n{rest}"


def _text(card: Mapping[str, Any]) -> str:
    lines = [
        f"{card['name']}: {card['purpose']}",
        "",
        "modelled:",
        *(f"  - {text}" for text in card["modelled"]),
        "",
        "not modelled:",
        *(f"  - {text}" for text in card["not_modelled"]),
        "",
        "defaults:",
    ]
    for default in card["defaults"]:
        lines += [f"  {default['path']} = {default['value']}", f"      {default['source']}"]
    if card["fixed"]:
        lines += ["", "fixed:"]
    for fixed in card["fixed"]:
        lines += [f"  {fixed['path']}: {fixed['value']}", f"      {fixed['source']}"]
    for title in ("dcqcn", "dctcp", "timely", "hpcc", "pint", "swift", "cubic", "ecn_curves", "asics"):
        if not card[title]:
            continue
        lines += [
            "",
            f"{title}:",
            *("\n".join(f"  {line}" for line in _entry(item).splitlines()) for item in card[title]),
        ]
    return "\n".join(lines)
