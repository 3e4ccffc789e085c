"""Hostile texts in the files and arguments of commands."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from fabric.cli.main import VERBS
from tests.reliability import worlds
from tests.reliability.hostile_tries import EXAMPLE, LABELS, Try, row
from tests.reliability.report import PAGE, Row


def scenarios(work: Path, texts: Mapping[str, str]) -> Row:
    """Every text in every place of a scenario that takes one."""
    places: Mapping[str, Callable[[str], dict[str, Any]]] = {
        "name": lambda text: {"name": text},
        "description": lambda text: {"description": text},
        "key": lambda text: {text: 1},
        "kind": lambda text: {"workload": [{"kind": text}]},
        "quantity": lambda text: {"run": {"duration": text}},
        "host": lambda text: {"workload": [{"kind": "incast", "receiver": text, "senders": ["host*"], "size": "1KB"}]},
        "message": lambda text: {
            "workload": [
                {
                    "kind": "messages",
                    "messages": [
                        {"id": text[:63] or "x", "src": "host1", "dst": "host2", "size": "1KB"},
                        {"src": "host1", "dst": text, "size": "1KB"},
                    ],
                }
            ]
        },
        "file": lambda text: {"workload": [{"kind": "messages", "file": text}]},
        "fault": lambda text: {"faults": [{"kind": "link-down", "link": text, "name": text, "at": "1us"}]},
        "expectation": lambda text: {"expectations": [text]},
    }

    def cases() -> Iterator[tuple[str, Sequence[Try]]]:
        base = yaml.safe_load(worlds.SCENARIO.replace("SIZE", "1KB").replace("SEED", "1"))
        for name, text in texts.items():
            for place, change in places.items():
                file = work / "s.yml"
                file.write_text(yaml.safe_dump({**base, **change(text)}), encoding="utf-8")
                yield (
                    f"{name} as {place}",
                    [Try("text", ("scenario", "check", file)), Try("json", ("scenario", "show", file, "--json"))],
                )

    return row(
        "a hostile text (escape sequences, newlines, bidirectional controls, markup, formulas, HTML, 60,000 "
        "letters) as a name, key, value or reference of a scenario: it is refused or printed, and what "
        "reaches standard output and error is plain text of one line for each line, or JSON",
        "144 on fe3fa65: control characters (136), forged lines (8)",
        cases(),
        terminal=False,
    )


def arguments(work: Path, texts: Mapping[str, str]) -> Row:
    """Every verb with a hostile argument."""
    scenario, run = worlds.scenario(work, "1KB"), worlds.finished(work, size="1KB")

    def cases() -> Iterator[tuple[str, Sequence[Try]]]:
        for name, text in texts.items():
            if name == "nul":
                continue  # no argument of a process can hold it
            yield (
                name,
                [
                    *(Try("text", (verb.name, text)) for verb in VERBS if verb.name not in {"schema", "fidelity"}),
                    Try("text", ("scenario", "check", scenario, "--set", f"name={text}")),
                    Try("text", ("scenario", "check", scenario, "--set", f"{text}=1")),
                    Try("text", ("show", run, "ports", "--filter", text)),
                    Try("text", ("show", run, "ports", "--filter", f"port={text}")),
                    Try("text", ("show", run, "ports", "--sort", text)),
                    Try("text", ("path", text, "host1", scenario)),
                    Try("text", ("route", text, scenario)),
                    Try("text", ("explain", "message", run, text)),
                    *(
                        [Try("openmetrics", ("export", "openmetrics", run, "--label", f"x={text}"))]
                        if name in LABELS
                        else []
                    ),
                    Try("text", (f"--{text}",)),
                ],
            )

    return row(
        "the same as an argument of every verb, of --set, --filter, --sort and --label",
        "460 on fe3fa65: control characters (434), forged lines (25), traceback (1)",
        cases(),
        terminal=False,
    )


def message_lists(work: Path, texts: Mapping[str, str]) -> Row:
    """CSV files of a workload."""
    file, table = work / "s.yml", work / "m.csv"
    base = yaml.safe_load(worlds.SCENARIO.replace("SIZE", "1KB").replace("SEED", "1"))
    file.write_text(yaml.safe_dump({**base, "workload": [{"kind": "messages", "file": "m.csv"}]}), encoding="utf-8")

    def cases() -> Iterator[tuple[str, Sequence[Try]]]:
        for name, text in texts.items():
            for place in ("id", "src", "header"):
                with table.open("w", encoding="utf-8", errors="surrogatepass", newline="") as out:
                    writer = csv.writer(out)
                    writer.writerow(
                        ["id", "src", "dst", "size_bytes", "start_ns", *([text] if place == "header" else [])]
                    )
                    writer.writerow(
                        [text if place == "id" else "m", text if place == "src" else "host1", "host2", 1, 0]
                    )
                yield f"{name} as {place}", [Try("text", ("scenario", "check", file))]

    return row(
        "the same in the header, ids and hosts of a message list (CSV)",
        "36 on fe3fa65: control characters (34), forged lines (2)",
        cases(),
        terminal=False,
    )


def topologies(work: Path, texts: Mapping[str, str]) -> Row:
    """Topology files of each format, and exports of what is read."""

    def cases() -> Iterator[tuple[str, Sequence[Try]]]:
        for name, text in texts.items():
            for place in ("node", "group", "port", "name"):
                node = {"node": text}.get(place, "h1")
                nodes = [
                    {"id": node, "role": "host", "group": text[:63] if place == "group" else ""},
                    {"id": "l1", "role": "leaf"},
                ]
                link = {
                    "source": node,
                    "target": "l1",
                    "rate": "100G",
                    "cable": "3m",
                    **({"source_port": text[:63], "a_port": text[:63]} if place == "port" else {}),
                }
                graph = {
                    "directed": False,
                    "multigraph": True,
                    "nodes": nodes,
                    "edges": [link],
                    "graph": {"name": text if place == "name" else "g"},
                }
                file = work / "t.json"
                file.write_text(json.dumps(graph), encoding="utf-8")
                lab = work / "t.clab.yml"
                lab.write_text(
                    yaml.safe_dump(
                        {
                            "name": text if place == "name" else "g",
                            "topology": {
                                "nodes": {
                                    node: {"kind": "linux", "labels": {"fabric-role": "host", "fabric-group": text}},
                                    "l1": {"kind": "linux", "labels": {"fabric-role": "leaf"}},
                                },
                                "links": [
                                    {
                                        "endpoints": [f"{node}:{text if place == 'port' else 'eth1'}", "l1:eth1"],
                                        "vars": {"rate": "100G", "cable": "3m"},
                                    }
                                ],
                            },
                        }
                    ),
                    encoding="utf-8",
                )
                tries = [Try("text", ("topology", job, source)) for job in ("show", "check") for source in (file, lab)]
                tries += [
                    Try("xml", ("topology", "export", file, "--format", "graphml")),
                    Try("json", ("topology", "export", file, "--format", "node-link")),
                    Try("text", ("topology", "export", file, "--format", "containerlab")),
                ]
                yield f"{name} as {place}", tries

    return row(
        "the same as names, groups and ports of topology files (node-link, containerlab), shown and exported",
        "129 on fe3fa65: control characters (96), XML that is not well-formed (24), forged lines (7), traceback (2)",
        cases(),
        terminal=False,
    )


def configs(work: Path, texts: Mapping[str, str]) -> Row:
    """Switch configurations."""
    formats = {"text": "text", "json": "json", "sarif": "json", "junit": "xml", "html": "html", "markdown": "markdown"}

    def cases() -> Iterator[tuple[str, Sequence[Try]]]:
        for name, text in texts.items():
            folder = work / "configs"
            shutil.copytree(EXAMPLE, folder)
            for file in folder.glob("*.json"):
                raw = file.read_text(encoding="utf-8")
                spelled = json.dumps(text)[1:-1]
                raw = re.sub(
                    r'"(pg_lossless_\w+|AZURE\w*|leaf[12]|spine[12]|ingress_\w+|egress_\w+)"',
                    lambda match, more=spelled: f'"{match[1]}{more}"',
                    raw,
                )
                file.write_text(
                    re.sub(r'"(Ethernet4)(["|])', lambda match, more=spelled: f'"{match[1]}{more}{match[2]}', raw),
                    encoding="utf-8",
                )
            extra = folder / "lldp"
            extra.mkdir()
            (extra / "leaf1.json").write_text(
                json.dumps(
                    {
                        "lldp": {
                            "interface": [
                                {text: {"chassis": {text: {}}, "port": {"id": {"type": "ifname", "value": text}}}}
                            ]
                        }
                    }
                ),
                encoding="utf-8",
            )
            tries = [Try(reader, ("validate", folder, "--format", style)) for style, reader in formats.items()]
            tries.append(Try("text", ("validate", folder, "--links", extra, "--all")))
            yield name, tries
            shutil.rmtree(folder)

    return row(
        "the same as names of switches, ports, profiles and maps in configurations and LLDP dumps: verdicts as "
        "text, JSON, SARIF, JUnit XML, HTML and Markdown",
        "95 on fe3fa65: control characters (89), Markdown with links, pictures and further cells (4), forged lines (2)",
        cases(),
    )


def playbooks(work: Path, texts: Mapping[str, str]) -> Row:
    """Playbooks and runbooks of a user."""
    folder = work / "book"
    shutil.copytree(PAGE.parents[1] / "playbooks/incast", folder)
    raw = yaml.safe_load((folder / "playbook.yml").read_text(encoding="utf-8"))

    def cases() -> Iterator[tuple[str, Sequence[Try]]]:
        for name, text in texts.items():
            for place in ("title", "summary", "step", "runbook"):
                book = {**raw, **({place: text[:120]} if place in raw else {})}
                if place == "step":
                    book["steps"] = [{**raw["steps"][0], "text": text[:120]}, *raw["steps"][1:]]
                (folder / "playbook.yml").write_text(yaml.safe_dump(book), encoding="utf-8")
                if place == "runbook" and name != "newline":  # a runbook may have many lines
                    (folder / "README.md").write_text(f"# {text}\n", encoding="utf-8", errors="surrogatepass")
                else:
                    (folder / "README.md").write_text("# what\n", encoding="utf-8")
                if not (place == "summary" and name == "newline"):
                    yield (
                        f"{name} as {place}",
                        [
                            Try("text", ("playbook", "show", folder)),
                            Try("json", ("playbook", "show", folder, "--json")),
                        ],
                    )

    return row(
        "the same in a playbook's title, summary, steps and runbook",
        "71 on fe3fa65: control characters (67), forged lines (3), traceback (1)",
        cases(),
        terminal=False,
    )


def paths(work: Path, texts: Mapping[str, str]) -> Row:
    """Folders with hostile names, and what is printed to be copied into a shell."""
    run = worlds.finished(work)

    def cases() -> Iterator[tuple[str, Sequence[Try]]]:
        for name, text in texts.items():
            if name == "nul":
                continue
            folder = work / f"d {text.replace('/', '_')[:80]}"
            folder.mkdir()
            scenario = worlds.scenario(folder, "1KB")
            shutil.copytree(run, folder / "run")
            yield (
                name,
                [
                    Try("text", ("scenario", "check", scenario)),
                    Try("text", ("scenario", "check", folder / "no")),
                    Try("text", ("show", folder / "run")),
                    Try("text", ("show", folder / "run", "messages")),
                    Try("text", ("report", folder / "run", "--text")),
                    Try("html", ("report", folder / "run", "-o", "-")),
                    Try("text", ("explain", "run", folder / "run")),
                    Try("text", ("show", folder)),
                    Try("text", ("diff", folder / "run", run)),
                    Try("json", ("verify", folder / "run", "--json")),
                    Try("text", ("run", scenario, "--out", folder / "out", "--quiet")),
                    Try("text", ("validate", folder)),
                    Try("text", ("init", "incast", "--out", folder / "i.yml")),
                ],
            )
            shutil.rmtree(folder)

    return row(
        "commands on files in a folder with such a name",
        "189 on fe3fa65: control characters (179), forged lines (10)",
        cases(),
        terminal=False,
    )
