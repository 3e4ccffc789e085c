"""Unique names of laboratories and of their namespaces, stations and files.

1. The name of a laboratory is that of its scenario: letters, digits, '.', '_' and '-'. For a comparison '@' and the
   id of its process follow, so it cannot equal the name of a scenario.
2. Its network namespaces are `fabric+LABORATORY+NODE`. Neither part can contain '+', so every namespace belongs to
   exactly one pair, and no `fabric+LABORATORY+` is the beginning of another laboratory's names.
3. The stations of MAC addresses without a host of the plan are `LEAF@PORT`, which is not a valid node name.
4. Its files are in RUN/LABORATORY/NODE. A Unix socket's path has 107 characters at most (unix(7)), also in FRR.

Interfaces are named within their namespace and never exist outside of one: fabric/lab/netns.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from fabric.errors import Problem

RUN: Final = Path("/run/fabric-lab")
"""Folder of the folders of all laboratories of this machine."""
RUN_NETNS: Final = Path("/run/netns")
"""Where `ip netns` keeps namespaces."""
OWN: Final = "@"
"""Separator that scenario and node names cannot contain."""
INTERFACE_LIMIT: Final = 15
"""Longest interface name, IFNAMSIZ - 1."""
_SEPARATOR: Final = "+"
_SOCKET_PATH_LIMIT: Final = 107
_LONGEST_SOCKET: Final = "zserv.api"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_WHOLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}(@[A-Za-z0-9._-]+)?")


def name_problems(name: str, place: str = "--name") -> Iterator[Problem]:
    """Problems of a laboratory name given by a user."""
    if not _NAME.fullmatch(name):
        yield Problem(
            place,
            f"{name!r} cannot be the name of a laboratory",
            "1 to 63 letters, digits, '.', '_' and '-'; the first a letter or a digit",
        )


def is_laboratory(name: str) -> bool:
    """Whether a folder of RUN can belong to a laboratory."""
    return _WHOLE.fullmatch(name) is not None


def node_problems(laboratory: str, nodes: Iterable[str], run: Path = RUN) -> Iterator[Problem]:
    """Nodes whose names are invalid or too long for files and namespaces of this laboratory."""
    for node in nodes:
        if not _WHOLE.fullmatch(node):
            yield Problem(
                "topology",
                f"{node!r} cannot be the name of a node",
                "1 to 63 letters, digits, '.', '_' and '-'; the first a letter or a digit",
            )
            continue
        over = len(str(run / laboratory / node / _LONGEST_SOCKET)) - _SOCKET_PATH_LIMIT
        if over > 0:
            yield Problem(
                "--name",
                f"'{laboratory}' and the node '{node}' together make paths of Unix sockets that "
                f"are {over} characters too long",
                "give a shorter name: --name NAME",
            )


def namespace_name(laboratory: str, node: str) -> str:
    """The name of a node's network namespace."""
    for part in (laboratory, node):
        if not _WHOLE.fullmatch(part):
            raise ValueError(f"{part!r} is not a name of a laboratory or a node")
    return _SEPARATOR.join(("fabric", laboratory, node))


def of_comparison(name: str, pid: int) -> str:
    """The name of the laboratory of one comparison."""
    return f"{name}{OWN}{pid}"


def station(leaf: str, port: str) -> str:
    """Name of the node with the MAC addresses that are not hosts of the plan."""
    return f"{leaf}{OWN}{port}"
