"""Which files are FRR's, and of which switch.

SONiC's routing stack takes BGP and OSPF from CONFIG_DB, or from files of FRR that an operator writes
(`docker_routing_config_mode`): one frr.conf ('split-unified'), or one file for each daemon ('split'). In the other
modes such a file is what the templates made of CONFIG_DB, or the output of `vtysh -c 'show running-config'`.
Source: sonic-buildimage dockers/docker-fpm-frr/docker_init.sh.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

FOLDER: Final = "frr"
"""Beside config_db.json, as /etc/sonic/frr is."""
OWN_MODES: Final = frozenset(("split", "split-unified"))
"""Values of docker_routing_config_mode in which no template writes FRR's files."""
_DAEMONS: Final = "frr|bgpd|zebra|ospfd|isisd|staticd|bfdd|vtysh"
_NAME: Final = re.compile(rf"(?:(?P<switch>[\w.-]+?)[.-])?(?:{_DAEMONS})\.conf", re.ASCII)
_HOSTNAME: Final = re.compile(r"^hostname (\S+)", re.MULTILINE)
_PROTOCOL: Final = re.compile(r"^router (\w+)", re.MULTILINE)
_MOST_BLANK_BYTES: Final = 4096


def is_named_frr(file: str) -> bool:
    """Whether a file has a name that FRR's files have: 'frr.conf', 'leaf1.bgpd.conf', 'leaf1-frr.conf'."""
    return _NAME.fullmatch(Path(file).name) is not None


def is_empty(path: Path) -> bool:
    """Whether a file of FRR has nothing in it: packages leave such files for daemons that are not used."""
    if not (is_named_frr(str(path)) and path.is_file()):
        return False
    return path.stat().st_size <= _MOST_BLANK_BYTES and not path.read_bytes().strip()


def protocols_of(text: str) -> frozenset[str]:
    """Routing protocols that a file has an instance of: 'bgp', 'ospf'."""
    return frozenset(_PROTOCOL.findall(text))


def switches_of(text: str, path: Path) -> tuple[str, ...]:
    """Names of the switch that a file may be of: by its hostname, by its own name, by its folder.

    The hostname comes first; daemons' files often have that of the daemon ('hostname bgpd'), which is no switch.
    """
    stated = _HOSTNAME.search(text)
    named = _NAME.fullmatch(path.name)
    folder = path.parent.parent if path.parent.name == FOLDER else path.parent
    own = (named["switch"] or folder.name) if named else path.name.split(".")[0].removesuffix("-frr")
    return tuple(dict.fromkeys((*([stated[1]] if stated else []), own)))
