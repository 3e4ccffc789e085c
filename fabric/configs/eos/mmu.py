"""EOS `platform trident mmu` lines -> thresholds and headroom of the neutral model.

One applied queue profile holds for every port: its ingress threshold is alpha, its ingress headroom is what a lossless
group takes after the pause, from the headroom pool that all groups share. The size of the shared buffer is not in a
running-config, so checks that need it stay silent. Amounts in cells need the chip, which the `! device:` line names.
`platform jericho` and other chips have other lines, which are not read, and are listed.
Source: EOS user manual, platform trident mmu commands, as rendered by AVD's eos_cli_config_gen.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from fabric.configs.model import Binding, BufferProfile, Pool, Unread, Where
from fabric.configs.running_config.reader import Line, TextReader

POOL: Final = "ingress"
_EGRESS: Final = "egress"
_MMU: Final = "platform trident mmu "
_AMOUNT: Final = r"(?:(bytes|cells) )?(\d+)"
_ALPHA: Final = r"(\d+(?:/\d+)?)"
_ALPHAS: Final = {str(Fraction(2) ** n): n for n in range(-8, 8)}
"""'1/8', '1', '8' to the exponent."""
_CELLS: Final = (("7060cx", 208), ("7260cx", 208), ("7060px4", 254), ("7060dx4", 254), ("7368x4", 254), ("7060x6", 254))
"""Cell of Tomahawk and Tomahawk 2, and of Tomahawk 3 and 5, by the model's name."""
_DEVICE: Final = re.compile(r"^! device: \S+ \(([^,)]+)", re.MULTILINE)


def model_of(text: str) -> str:
    """The model in the `! device: name (DCS-7060X6-64PE, EOS-4.32.1F)` line that EOS writes; '' where it is not."""
    found = _DEVICE.search(text[:2000])
    return "" if found is None else found[1].removeprefix("DCS-")


def cell_bytes(model: str) -> int | None:
    """Bytes of a buffer cell; None where the model is not known."""
    return next((size for name, size in _CELLS if name in model.lower().replace("-", "")), None)


def read_mmu(reader: TextReader) -> None:
    """Pool and profiles of the device, and the groups and queues of its lossless ports. After the interfaces."""
    device = reader.device
    profiles = {match[1]: line for line, match in reader.root.find(_MMU + r"queue profile (\S+)")}
    for line, match in reader.root.find(_MMU + r"headroom-pool limit " + _AMOUNT):
        where = reader.note(line, "platform trident mmu", "headroom-pool")
        device.pools[POOL] = Pool(POOL, where, "ingress", "dynamic", None, _bytes(reader, line, match[1], match[2]))
    applied = [(line, match[1]) for line, match in reader.root.find(_MMU + r"queue profile (\S+) apply")]
    for name, line in profiles.items():
        if applied and name == applied[-1][1]:
            _apply(reader, line, name)
        else:
            place = device.place(reader.note(line, line.text))
            below = tuple(((line.text, child.text), "") for child, _ in line.find(r".*"))
            device.unread.append(Unread(place, f"'{line.text[:80]}' is not applied", below))
    for line, name in applied:
        if name not in profiles:
            reader.defect(line, "platform trident mmu", f"queue profile '{name[:40]}' is not in the file", "R1")


def _apply(reader: TextReader, block: Line, name: str) -> None:
    device, where = reader.device, reader.note(block, "platform trident mmu", name)
    device.pools.setdefault(POOL, Pool(POOL, where, "ingress", "dynamic", None))
    amounts = {
        word: [
            (line, _bytes(reader, line, match[1], match[2])) for line, match in block.find(rf"ingress {word} {_AMOUNT}")
        ]
        for word in ("reserved", "headroom")
    }
    usual = [(line, match[1]) for line, match in block.find(rf"ingress threshold {_ALPHA}")]
    own = {
        int(match[1]): (line, match[2])
        for line, match in block.find(rf"ingress priority-group ([0-7]) threshold {_ALPHA}")
    }
    floor = {
        int(match[1]): _bytes(reader, line, match[2], match[3])
        for line, match in block.find(rf"ingress priority-group ([0-7]) reserved {_AMOUNT}")
    }
    queues = {
        int(match[1]): (line, match[2])
        for line, match in block.find(rf"egress unicast queue ([0-7]) threshold {_ALPHA}")
    }
    block.accept(rf"egress unicast queue [0-7] reserved {_AMOUNT}")
    block.accept(r"egress multicast queue .*")
    headroom = amounts["headroom"][-1] if amounts["headroom"] else None
    for port in device.ports.values():
        for priority in sorted(port.lossless):
            line, alpha = own.get(priority) or (usual[-1] if usual else (block, None))
            if headroom is None and alpha is None:
                continue
            key = f"{name} priority-group {priority}"
            if key not in device.profiles:
                at = reader.note(headroom[0] if headroom else line, *where, str(priority))
                reserved = floor.get(priority, amounts["reserved"][-1][1] if amounts["reserved"] else 0)
                device.profiles[key] = BufferProfile(
                    key,
                    at,
                    POOL,
                    reserved,
                    _exponent(reader, line, alpha),
                    xoff_bytes=headroom[1] if headroom else 1,
                    assumed=headroom is None,
                )
            port.groups[priority] = Binding(port.qos_where, key, where)
            if priority in queues:
                _queue(reader, (name, priority), queues[priority], where)
                bound = port.queues.setdefault(priority, Binding(where))
                bound.profile, bound.profile_where = f"{name} queue {priority}", where


def _queue(reader: TextReader, key: tuple[str, int], row: tuple[Line, str], where: Where) -> None:
    name = f"{key[0]} queue {key[1]}"
    at = reader.note(row[0], *where, f"queue {key[1]}")
    pool = reader.device.pools.setdefault(_EGRESS, Pool(_EGRESS, where, "egress", "dynamic", None))
    reader.device.profiles.setdefault(name, BufferProfile(name, at, pool.name, 0, _exponent(reader, row[0], row[1])))


def _exponent(reader: TextReader, line: Line, text: str | None) -> int | None:
    if text is not None and text not in _ALPHAS:
        reader.defect(line, "threshold", f"{text[:20]} is none of {', '.join(_ALPHAS)}")
    return None if text is None else _ALPHAS.get(text)


def _bytes(reader: TextReader, line: Line, unit: str | None, text: str) -> int:
    """Bytes; a defect where the cell of the chip is needed and not known. EOS counts in bytes by default."""
    value = reader.number(line, text, 0, 10**9, "amount") or 0
    cell = cell_bytes(reader.device.hwsku) if unit == "cells" else 1
    if cell is None:
        reader.defect(line, "cells", "the cell of this chip is not known: write bytes, or keep the '! device:' line")
    return value * (cell or 0)
