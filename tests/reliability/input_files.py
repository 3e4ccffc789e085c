"""Every kind of file that a user names, damaged, of another type, of another kind, or no file at all."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import re
import shutil
import socket
import subprocess
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import yaml

from tests.reliability import input_folders, run_archives, worlds
from tests.reliability.command import Answer, call
from tests.reliability.kind import Kind
from tests.reliability.report import PAGE, Row

EACH: Final = 60
"""Mutants of each kind and way."""
PART: Final = 12
"""Of these in `make test-all`."""
HOME: Final = PAGE.parents[1]
SONIC: Final = HOME / "tests/data/sonic"
ODD: Final[Sequence[Any]] = (
    None,
    True,
    False,
    -1,
    0,
    7,
    2**80,
    1.5,
    1e308,
    "",
    "x",
    "host1",
    "1e999",
    "9" * 5000,
    [],
    {},
    [[]],
    [None],
    {"a": []},
    {"": 1},
    ["x", 1],
)
_WORDS: Final = (
    b"!!timestamp x",
    b"!!bool maybe",
    b"!!int x",
    b"!!float x",
    b"!!map x",
    b"&a [*a]",
    b"\xff",
    b"\0",
    b"\x1b[8m",
    b"9" * 5000,
    b"1e999",
    b"nan",
    b"-1",
    b"\xe2\x80\xae",
    b"\r",
    b"{" * 60,
    b"- " * 60,
    b"\xef\xbb\xbf",
    b'"',
    b"'",
    b"0x1f",
    b"99999999999999999999",
    b"",
    b"\n",
)
LEAVES: Final = "kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G"
LISTED: Final = (
    "id,src,dst,size_bytes,start_ns,priority,after,delay_ns\na,host1,host2,1000,0,3,,\nb,host2,host1,1000,0,,a,10\n"
)
CDF: Final = "0 0\n1000 50\n10000 100\n"
HOSTS: Final = "hosts:\n  host1: {mtu: 9000, pfc: [3], trust: dscp}\n"
FIB: Final = [
    {
        "dst": "10.0.0.0/24",
        "dev": "Ethernet0",
        "protocol": "bgp",
        "nexthops": [{"gateway": "10.1.1.1", "dev": "Ethernet4", "weight": 1}],
    }
]
SUPPRESS: Final = "- {check: M1, device: leaf1, reason: known, expires: 2030-01-01}\n"
LLDP: Final = {
    "lldp": {
        "interface": [
            {
                "Ethernet0": {
                    "chassis": {"spine1": {"id": {"type": "mac", "value": "0:0:0:0:0:1"}}},
                    "port": {"id": {"type": "ifname", "value": "Ethernet0"}},
                }
            }
        ]
    }
}
PROFILE: Final = "# PG lossless profiles.\n# speed cable size xon xoff threshold\n100000 5m 1248 2288 35776 -3 2288\n"


def kinds(work: Path) -> dict[str, Kind]:
    """Every kind of input file that a command takes; run directories are apart."""
    scenario = worlds.SCENARIO.replace("SIZE", "1KB").replace("SEED", "1")
    plain = {"name": "s", "topology": yaml.safe_load(f"{{{LEAVES}}}"), "run": {"duration": "1ms"}}
    evpn = (HOME / "scenarios/mac-move.yml").read_bytes()
    lists = {**plain, "workload": [{"kind": "messages", "file": "list.csv"}]}
    sizes = {
        **plain,
        "workload": [{"kind": "poisson", "sizes": "file", "cdf": "sizes.txt", "load": 0.1, "stop": "1us"}],
    }
    custom = {
        **plain,
        "topology": {"kind": "custom", "file": "topology.json"},
        "workload": [{"kind": "permutation", "size": "1KB"}],
    }
    for name, value in (("lists", lists), ("sizes", sizes), ("custom", custom)):
        (work / f"{name}.yml").write_text(yaml.safe_dump(value), encoding="utf-8")
    exported = {}
    for style in ("node-link", "graphml", "containerlab"):
        (work / "base.yml").write_text(yaml.safe_dump(plain | {"workload": []}), encoding="utf-8")
        exported[style] = call("topology", "export", work / "base.yml", "--format", style).out.encode()
        assert exported[style], style
    book = HOME / "playbooks/incast"
    configs = work / "configs"
    shutil.copytree(HOME / "docs/howto/validate-example/before", configs)
    shutil.copytree(book, work / "book")
    sonic = (configs / "leaf1.json").read_bytes()
    certificate, key = _certificate(work)
    found = {
        "scenario": Kind("s.yml", scenario.encode(), lambda it: [("scenario", "check", it / "s.yml")]),
        "scenario with tenants": Kind("e.yml", evpn, lambda it: [("scenario", "check", it / "e.yml")]),
        "message list": Kind("list.csv", LISTED.encode(), lambda it: [("scenario", "check", it / "lists.yml")]),
        "size distribution": Kind("sizes.txt", CDF.encode(), lambda it: [("scenario", "check", it / "sizes.yml")]),
        "node-link topology": Kind(
            "topology.json",
            exported["node-link"],
            lambda it: [("topology", "show", it / "topology.json"), ("scenario", "check", it / "custom.yml")],
        ),
        "graphml topology": Kind("t.graphml", exported["graphml"], lambda it: [("topology", "show", it / "t.graphml")]),
        "containerlab topology": Kind(
            "t.clab.yml",
            exported["containerlab"],
            lambda it: [
                ("topology", "show", it / "t.clab.yml"),
                ("validate", it / "configs", "--links", it / "t.clab.yml"),
            ],
        ),
        "SONiC configuration": Kind("configs/leaf1.json", sonic, lambda it: [("validate", it / "configs")]),
        "NVUE configuration": Kind(
            "l.yaml", (SONIC / "other_nos/nvue_startup.yaml").read_bytes(), lambda it: [("validate", it / "l.yaml")]
        ),
        "EOS configuration": Kind(
            "l.cfg", (SONIC / "other_nos/eos_leaf.cfg").read_bytes(), lambda it: [("validate", it / "l.cfg")]
        ),
        "NX-OS configuration": Kind(
            "n.cfg", (SONIC / "other_nos/nxos_leaf.cfg").read_bytes(), lambda it: [("validate", it / "n.cfg")]
        ),
        "hosts": Kind(
            "configs/hosts.yml", (configs / "hosts.yml").read_bytes(), lambda it: [("validate", it / "configs")]
        ),
        "LLDP dump": Kind(
            "lldp/leaf1.json",
            json.dumps(LLDP).encode(),
            lambda it: [("validate", it / "configs", "--links", it / "lldp")],
        ),
        "forwarding table": Kind(
            "fib/leaf1.json", json.dumps(FIB).encode(), lambda it: [("validate", it / "configs", "--fib", it / "fib")]
        ),
        "suppressions": Kind(
            "known.yml", SUPPRESS.encode(), lambda it: [("validate", it / "configs", "--suppress", it / "known.yml")]
        ),
        "headroom table": Kind(
            "pg.ini", PROFILE.encode(), lambda it: [("validate", it / "configs", "--pg-profile-lookup", it / "pg.ini")]
        ),
        "playbook": Kind(
            "book/playbook.yml", (book / "playbook.yml").read_bytes(), lambda it: [("playbook", "show", it / "book")]
        ),
        "runbook": Kind("book/README.md", b"# What to do\n", lambda it: [("playbook", "show", it / "book")]),
        "journal": Kind(
            "j.jsonl",
            b"".join((HOME / "tests/lab/journals/frr-8.4.4.jsonl").read_bytes().splitlines(keepends=True)[:40]),
            lambda it: [("bgp", "replay", it / "j.jsonl")],
        ),
        "case of a simulator": Kind(
            "cases/c.json",
            (HOME / "tests/data/ns3/cases/B_step_ackq0.json").read_bytes(),
            lambda it: [("fidelity", "--case", it / "cases/c.json", "--list")],
        ),
        "token": Kind(
            "token",
            b"x" * 40 + b"\n",
            lambda it: [("top", "127.0.0.1:1", "--token-file", it / "token", "--once", "--interval", "100ms")],
        ),
        "certificate": Kind(
            "cert.pem",
            certificate,
            lambda it: [
                (
                    "top",
                    "https://127.0.0.1:1",
                    "--token-file",
                    it / "good-token",
                    "--tls-ca",
                    it / "cert.pem",
                    "--once",
                    "--interval",
                    "100ms",
                )
            ],
        ),
        "key": Kind(
            "key.pem",
            key,
            lambda it: [
                (
                    "top",
                    "https://127.0.0.1:1",
                    "--token-file",
                    it / "good-token",
                    "--tls-cert",
                    it / "good.pem",
                    "--tls-key",
                    it / "key.pem",
                    "--once",
                    "--interval",
                    "100ms",
                )
            ],
        ),
    }
    (work / "good-token").write_bytes(b"x" * 40)
    (work / "good.pem").write_bytes(certificate)
    found |= input_folders.kinds(work)
    for kind in found.values():
        path = work / kind.file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(kind.content)
    return found


def _certificate(work: Path) -> tuple[bytes, bytes]:
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            "/CN=x",
            "-keyout",
            work / "k.pem",
            "-out",
            work / "c.pem",
        ],
        check=True,
        capture_output=True,
    )
    return (work / "c.pem").read_bytes(), (work / "k.pem").read_bytes()


def rows(work: Path, each: int = EACH, only: Collection[str] = ()) -> list[Row]:
    """Bytes, values, what is no such file, and archives; of all kinds of file, or of those that are named."""
    (work / "in").mkdir()
    known = {name: kind for name, kind in kinds(work / "in").items() if not only or name in only}
    whole = [
        f"{name}: {' '.join(map(str, words))}: {answer.err[-160:]}"
        for name, kind in known.items()
        for words, answer in kind.answers(work / "in")
        if answer.code not in {0, 1} and not name.startswith(("token", "certificate", "key"))
    ]
    assert not whole, whole  # the family starts from files that are read
    return [
        _row(
            "a changed byte, word or number, a piece cut out or doubled, the end cut off, in each of "
            f"{len(known)} kinds of input file",
            "1 of 300 on fe3fa65: traceback; of files in folders, of settings and placements 1 of 152 on 418b237",
            work / "in",
            known,
            _damaged,
            each,
        ),
        _row(
            "a value of another type or absent, in each kind of input file that is JSON or YAML",
            "0 of 180 on fe3fa65; of files in folders, of settings and placements 10 of 96 on 418b237: traceback",
            work / "in",
            {name: kind for name, kind in known.items() if _tree(kind.content) is not None},
            _swapped,
            each,
        ),
        _strangers(work / "in", known, every=1 if each >= EACH else 2),
        run_archives.row(work, each),
    ]


def _row(
    what: str,
    before: str,
    home: Path,
    known: Mapping[str, Kind],
    mutants: Callable[[Kind, random.Random], bytes],
    each: int,
) -> Row:
    count, failures = 0, []
    for name, kind in known.items():
        choose = random.Random(name)
        path = home / kind.file
        for number in range(each):
            path.write_bytes(mutants(kind, choose))
            for _, answer in kind.answers(home):
                count += 1
                failures += _failed(f"{name} {number}", answer)
        path.write_bytes(kind.content)
    return Row(f"{what}: a result, or exit 2 with a place and a remedy; never a traceback", count, before, failures)


def _failed(name: str, answer: Answer) -> list[str]:
    if answer.defect:
        return [f"{name}: {answer.defect}"]
    if answer.code == 2 and "hint:" not in answer.err:
        return [f"{name}: no remedy: {answer.err.strip()[-160:]}"]
    if answer.code == 2 and len(answer.err) > 40_000:
        return [f"{name}: an error of {len(answer.err):,} characters"]
    return []


def _damaged(kind: Kind, choose: random.Random) -> bytes:
    data = kind.content
    for _ in range(choose.choice([1, 1, 1, 2, 4])):
        at = choose.randrange(len(data) + 1)
        way = choose.randrange(7)
        if way == 0 and data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([data[at] ^ 1 << choose.randrange(8)]) + data[at + 1 :]
        elif way == 1:
            data = data[:at] + choose.choice(_WORDS) + data[at:]
        elif way == 2:
            data = data[:at] + data[at + choose.choice([1, 4, 40]) :]
        elif way == 3:
            data = data[:at] + data[at : at + 40] * choose.choice([1, 2, 50]) + data[at:]
        elif way == 4:
            data = data[:at]
        elif way == 5:
            spots = [match.span() for match in re.finditer(rb"[0-9.]+", data)]
            if spots:
                start, end = choose.choice(spots)
                data = data[:start] + choose.choice(_WORDS) + data[end:]
        else:
            spots = [match.span() for match in re.finditer(rb"[A-Za-z_]+", data)]
            if spots:
                start, end = choose.choice(spots)
                data = data[:start] + choose.choice(_WORDS) + data[end:]
    return data


def _tree(content: bytes) -> tuple[str, Any] | None:
    """('json' | 'lines' | 'yaml', value); None for text of another kind."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    if text.startswith(("{", "[")):
        try:
            return "json", json.loads(text)
        except ValueError:
            return "lines", [json.loads(line) for line in text.splitlines()]
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    return ("yaml", value) if isinstance(value, dict | list) else None


def _places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(item, (*path, key))


def swapped(value: Any, choose: random.Random) -> Any:  # noqa: ANN401  JSON
    """The value with one of its parts replaced, removed, or doubled under another name."""
    value = deepcopy(value)
    for _ in range(choose.choice([1, 1, 2])):
        places = list(_places(value))
        if not places:
            return choose.choice(ODD)
        *path, last = choose.choice(places)
        here = value
        for step in path:
            here = here[step]
        way = choose.randrange(8)
        if way == 0:
            del here[last]
        elif way == 1 and isinstance(here, dict):
            here["x" if choose.random() < 0.5 else f"{last}"[::-1]] = deepcopy(here[last])
        elif way == 2 and isinstance(here, list):
            here.append(deepcopy(here[last]))
        else:
            here[last] = deepcopy(choose.choice(ODD))
    return value


def _swapped(kind: Kind, choose: random.Random) -> bytes:
    found = _tree(kind.content)
    assert found is not None
    style, value = found
    value = swapped(value, choose)
    if style == "json" or (not isinstance(value, list) and style == "lines"):
        return json.dumps(value).encode()
    return ("".join(json.dumps(line) + "\n" for line in value) if style == "lines" else yaml.safe_dump(value)).encode()


def some_rows(work: Path) -> list[Row]:
    """About a quarter of the cases of each row."""
    return rows(work, each=PART)


def _strangers(home: Path, known: Mapping[str, Kind], every: int) -> Row:
    """What is no file, no file of this kind, or too large; of these every second one with `every` 2."""
    contents: dict[str, bytes] = {
        "nothing": b"",
        "zeros": bytes(4096),
        "UTF-16": "name: x\n".encode("utf-16"),
        "a gzip bomb": gzip.compress(bytes(50 << 20)),
        "a zlib bomb": base64.b64encode(zlib.compress(bytes(100 << 20))),
        "random": random.Random(1).randbytes(5000),
        "an ELF program": Path("/bin/true").read_bytes()[:5000],
        "a list": b"[]",
        "a text": b"x",
        "null": b"null",
        "deep JSON": b"[" * 200_000,
        "JSON of 900 levels": b"[" * 900 + b"]" * 900,
        "objects of 5,000 levels": b'{"a":' * 5000 + b"0" + b"}" * 5000,
        "deep YAML": b"- " * 200_000,
        "a long line": b"x" * 5_000_000,
        "many lines": b"x\n" * 500_000,
        "NUL": b"\0",
        "a shell history": b"root:$6$secret:1:0\n",
    }
    contents |= {name: kind.content for name, kind in known.items()}

    def special(path: Path, what: str) -> None:
        if what == "a pipe":
            os.mkfifo(path)
        elif what == "a folder":
            path.mkdir()
        elif what == "a socket":
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            # A socket's path has at most 107 bytes, and this one is short wherever the folder is (proc(5)).
            socket.socket(socket.AF_UNIX).bind(f"/proc/self/fd/{folder}/{path.name}")
            os.close(folder)
        elif what == "a loop":
            path.symlink_to(path.name)
        elif what == "a tebibyte":
            with path.open("wb") as file:
                file.truncate(1 << 40)
        elif what.startswith("/"):
            path.symlink_to(what)

    specials = (
        "a pipe",
        "a folder",
        "a socket",
        "a loop",
        "a tebibyte",
        "nothing there",
        "/dev/zero",
        "/dev/urandom",
        "/dev/full",
        "/proc/self/mem",
        "/proc/kmsg",
    )
    count, failures = 0, []
    for order, (name, kind) in enumerate(known.items()):
        path = home / kind.file
        for what in (*contents, *specials)[order % every :: every]:
            if what == name:
                continue
            path.unlink()
            if what in contents:
                path.write_bytes(contents[what])
            else:
                special(path, what)
            for _, answer in kind.answers(home):
                count += 1
                wrong = _failed(f"{name} is {what}", answer)
                if "$6$secret" in answer.err + answer.out and name != "runbook":  # which is shown
                    wrong.append(f"{name} is {what}: its content is repeated")
                failures += wrong
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
                path.touch()
            elif not os.path.lexists(path):
                path.touch()
        path.unlink()
        path.write_bytes(kind.content)
    return Row(
        "each kind of input file is empty, another kind, a gzip bomb, 5 MB on one line, a pipe, a socket, a folder, "
        "a device without end, a tebibyte, or not there: the same, and what it holds is not repeated",
        count,
        "no count on fe3fa65: `--token-file /dev/zero` took all memory and ended the tests; pipes as tokens and PEM "
        "files, and /proc/kmsg, were waited for without end; of files in folders, of settings and placements 66 of 855 "
        "on 418b237: traceback (49), no remedy, no end or megabytes of errors (16), content repeated (1)",
        failures,
    )
