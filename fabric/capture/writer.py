"""A separate program that encodes frames, described as JSON lines, with scapy.

    python -m fabric.capture.writer pcapng < frames.jsonl > frames.pcapng    one pcapng file
    python -m fabric.capture.writer hex < frames.jsonl                       one line of hexadecimal digits per frame

Scapy's licence (GPL-2.0-only) and that of libraries which the emulator loads (Apache-2.0) cannot be combined in one
work. So this program imports only scapy and the standard library, and no other module imports scapy
(docs/decisions/0041). The emulator uses it through pipes, in the format below (fabric/capture/process.py); other
programs can too.

A line is one frame: a JSON object whose keys are the headers from the outside in. Of each header every field is
required, unless it is in [brackets].

    at_ns                  time stamp in nanoseconds, for pcapng
    interface              name of the capturing interface, for pcapng
    direction              "in" or "out", for pcapng
    comment                text beside the frame, for pcapng
    ethernet               source, destination, [type]: if no known header follows
    vlan                   id, priority                                                      (IEEE 802.1Q clause 9)
    class_based_pause      quanta: one number or null for each of the 8 classes              (IEEE 802.1Q clause 36)
    arp                    operation, sender_mac, sender_ip, target_mac, target_ip           (RFC 826, RFC 903)
    ipv4                   source, destination, ttl, [dscp], [ecn], [dont_fragment], [identification]
    ipv6                   source, destination, hop_limit, [dscp], [ecn]
    tcp                    source_port, destination_port, sequence, acknowledgement, flags ("SA"), window
    udp                    source_port, destination_port, [checksum]: computed if absent
    vxlan                  vni                                                               (RFC 7348)
    inner                  the encapsulated frame: an object as this one, without the pcapng fields
    bth                    opcode, queue_pair, psn, [ack_request], [becn]; ICRC is computed  (IB vol. 1, annex A17)
    reth                   address, key, length                                              (IB vol. 1, section 9.3.3)
    aeth                   syndrome, msn                                                     (IB vol. 1, section 9.3.5)
    neighbor_solicitation  target, [source_mac]                                              (RFC 4861 section 4.3)
    neighbor_advertisement target, router, solicited, target_mac                             (RFC 4861 section 4.4)
    payload                bytes after the last header, in hexadecimal digits
    zeros                  number of bytes of zero after that

Lengths and checksums are computed. Standard error has one JSON object at the end: {"frames": N}, or {"error": "...",
"line": N, "errno": N} with the fields that are known. Exit status: 0, or 2 after an error.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import IO, Any, Final

Fields = Mapping[str, Any]
_NOTES: Final = {"at_ns", "interface", "direction", "comment"}
"""Keys that are no header."""
_PLAIN: Final = {"payload", "zeros"}
"""Keys whose value is no object."""
_NS_PER_S: Final = 1_000_000_000
_INTERFACE, _IF_NAME, _IF_TSRESOL, _END_OF_OPTIONS = 1, 2, 9, 0
"""pcapng (draft-ietf-opsawg-pcapng), section 4.2: block type and options."""
_SNAPLEN: Final = 1 << 18
_DIRECTIONS: Final = {"in": 1, "out": 2}
"""pcapng, epb_flags."""
Header = tuple[frozenset[str], frozenset[str], Callable[[Fields], Any]]
"""(required fields, optional fields, constructor of the scapy layers)."""


class FrameError(ValueError):
    """A line that does not describe a frame."""


def _headers() -> dict[str, Header]:
    """Every header by its key, outermost first. Scapy is imported here, so that its absence is reported as an error."""
    from scapy.contrib.mac_control import MACControlClassBasedFlowControl  # noqa: PLC0415
    from scapy.contrib.roce import AETH, BTH  # noqa: PLC0415
    from scapy.layers.inet import IP, TCP, UDP  # noqa: PLC0415
    from scapy.layers.inet6 import (  # noqa: PLC0415
        ICMPv6ND_NA,
        ICMPv6ND_NS,
        ICMPv6NDOptDstLLAddr,
        ICMPv6NDOptSrcLLAddr,
        IPv6,
    )
    from scapy.layers.l2 import ARP, Dot1Q, Ether  # noqa: PLC0415
    from scapy.layers.vxlan import VXLAN  # noqa: PLC0415
    from scapy.packet import Raw  # noqa: PLC0415

    def solicitation(it: Fields) -> Any:  # noqa: ANN401  scapy's layers have no common type that helps
        message = ICMPv6ND_NS(tgt=it["target"])
        if "source_mac" in it:
            message.add_payload(ICMPv6NDOptSrcLLAddr(lladdr=it["source_mac"]))
        return message

    def advertisement(it: Fields) -> Any:  # noqa: ANN401  as above
        message = ICMPv6ND_NA(tgt=it["target"], R=int(it["router"]), S=int(it["solicited"]), O=1)
        message.add_payload(ICMPv6NDOptDstLLAddr(lladdr=it["target_mac"]))
        return message

    def header(required: str, optional: str, make: Callable[[Fields], Any]) -> Header:
        return frozenset(required.split()), frozenset(optional.split()), make

    def pause(it: Fields) -> Any:  # noqa: ANN401  as above
        quanta = it["quanta"]
        fields: Any = {f"c{number}_enabled": int(value is not None) for number, value in enumerate(quanta)}
        fields |= {f"c{number}_pause_time": value or 0 for number, value in enumerate(quanta)}
        return MACControlClassBasedFlowControl(**fields)

    headers: dict[str, Header] = {
        "ethernet": header(
            "source destination",
            "type",
            lambda it: Ether(src=it["source"], dst=it["destination"], **({"type": it["type"]} if "type" in it else {})),
        ),
        "vlan": header("id priority", "", lambda it: Dot1Q(vlan=it["id"], prio=it["priority"])),
        "class_based_pause": header("quanta", "", pause),
        "arp": header(
            "operation sender_mac sender_ip target_mac target_ip",
            "",
            lambda it: ARP(
                op=it["operation"],
                hwsrc=it["sender_mac"],
                psrc=it["sender_ip"],
                hwdst=it["target_mac"],
                pdst=it["target_ip"],
            ),
        ),
        "ipv4": header(
            "source destination ttl",
            "dscp ecn dont_fragment identification",
            lambda it: IP(
                src=it["source"],
                dst=it["destination"],
                ttl=it["ttl"],
                tos=_traffic_class(it),
                flags="DF" if it.get("dont_fragment") else 0,
                id=it.get("identification", 0),
            ),
        ),
        "ipv6": header(
            "source destination hop_limit",
            "dscp ecn",
            lambda it: IPv6(src=it["source"], dst=it["destination"], hlim=it["hop_limit"], tc=_traffic_class(it)),
        ),
        "tcp": header(
            "source_port destination_port sequence acknowledgement flags window",
            "",
            lambda it: TCP(
                sport=it["source_port"],
                dport=it["destination_port"],
                seq=it["sequence"],
                ack=it["acknowledgement"],
                flags=it["flags"],
                window=it["window"],
            ),
        ),
        "udp": header(
            "source_port destination_port",
            "checksum",
            lambda it: UDP(
                sport=it["source_port"],
                dport=it["destination_port"],
                **({"chksum": it["checksum"]} if "checksum" in it else {}),
            ),
        ),
        "vxlan": header("vni", "", lambda it: VXLAN(vni=it["vni"], flags=0x08)),  # RFC 7348 section 5: the I flag
        "inner": (frozenset(), frozenset(), lambda it: _frame(headers, it)),
        "bth": header(
            "opcode queue_pair psn",
            "ack_request becn",
            lambda it: BTH(
                opcode=it["opcode"],
                dqpn=it["queue_pair"],
                psn=it["psn"],
                ackreq=int(it.get("ack_request", False)),
                becn=int(it.get("becn", False)),
            ),
        ),
        "reth": header(
            "address key length", "", lambda it: Raw(struct.pack(">QII", it["address"], it["key"], it["length"]))
        ),
        "aeth": header("syndrome msn", "", lambda it: AETH(syndrome=it["syndrome"], msn=it["msn"])),
        "neighbor_solicitation": header("target", "source_mac", solicitation),
        "neighbor_advertisement": header("target router solicited target_mac", "", advertisement),
        "payload": (frozenset(), frozenset(), lambda it: Raw(bytes.fromhex(it["payload"]))),
        "zeros": (frozenset(), frozenset(), lambda it: Raw(bytes(it["zeros"]))),
    }
    return headers


def _sentence(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _traffic_class(fields: Fields) -> int:
    return int(fields.get("dscp", 0)) << 2 | int(fields.get("ecn", 0))


def _frame(headers: Mapping[str, Header], described: Fields) -> Any:  # noqa: ANN401  as above
    """Scapy's frame of an object. Raises: FrameError."""
    unknown = sorted(set(described) - set(headers) - _NOTES)
    if unknown:
        raise FrameError(f"unknown header {unknown[0]!r}")
    frame = None
    for name, (required, optional, make) in headers.items():
        if name not in described:
            continue
        fields = described if name in _PLAIN else described[name]
        if name not in _PLAIN:
            if not isinstance(fields, dict):
                raise FrameError(f"{name} is no object")
            if name != "inner" and (
                wrong := sorted(required - set(fields)) or sorted(set(fields) - required - optional)
            ):
                raise FrameError(f"{name}: {'missing' if wrong[0] in required else 'unknown'} field {wrong[0]!r}")
        try:
            layer = make(fields)
            if frame is None:
                frame = layer
            else:
                frame.add_payload(layer)
        except FrameError:
            raise
        except Exception as error:  # noqa: BLE001  any error of scapy for an invalid field value
            raise FrameError(f"{name}: {_sentence(error)}") from None
    return frame


def _built(headers: Mapping[str, Header], line: str) -> tuple[Fields, Any]:
    """(the line's object, scapy's frame). Raises: FrameError."""
    try:
        described = json.loads(line)
    except ValueError as error:
        raise FrameError(f"is no JSON: {error}") from None
    if not isinstance(described, dict) or "ethernet" not in described:
        raise FrameError("is no object with the key ethernet")
    frame = _frame(headers, described)
    if type(described.get("at_ns", 0)) is not int:
        raise FrameError(f"at_ns is no number: {described['at_ns']!r}")
    if described.get("direction", "in") not in _DIRECTIONS:
        raise FrameError(f"direction is neither in nor out: {described['direction']!r}")
    return described, frame


def _bytes(frame: Any) -> bytes:  # noqa: ANN401  as above
    try:
        return bytes(frame)
    except Exception as error:  # noqa: BLE001  scapy checks most values only now
        raise FrameError(_sentence(error)) from None


class _Encoded(bytes):
    """The bytes of a frame, with what scapy's writer reads beside them (comment: before 2.7; comments: from 2.7 on)."""

    sniffed_on: str | None
    direction: int | None
    comment: bytes | None
    comments: list[bytes] | None


class _PcapNg:
    """pcapng on standard output, by scapy's writer."""

    def __init__(self) -> None:
        from scapy.utils import PcapNgWriter  # noqa: PLC0415  as in _headers()

        class Nanoseconds(PcapNgWriter):
            """Interfaces with if_tsresol, which scapy's writer leaves out: its time stamps are microseconds."""

            def _write_block_idb(self, linktype: int, ifname: bytes | None = None) -> None:
                block = struct.pack(self.endian + "HHI", linktype, 0, _SNAPLEN)
                name = b"" if ifname is None else self._option(_IF_NAME, ifname)
                options = name + self._option(_IF_TSRESOL, b"\x09") + self._option(_END_OF_OPTIONS, b"")
                self.f.write(self.build_block(struct.pack(self.endian + "I", _INTERFACE), block, options=options))

            def _option(self, code: int, value: bytes) -> bytes:
                head: bytes = struct.pack(self.endian + "HH", code, len(value))
                return head + value + bytes(-len(value) % 4)

        self._writer = Nanoseconds("/dev/stdout")
        self._writer.tsresol = _NS_PER_S
        self._writer.sync = not stat.S_ISREG(os.fstat(1).st_mode)  # a pipe's reader follows, packet by packet

    def frame(self, described: Fields, frame: Any) -> None:  # noqa: ANN401  as above
        data = _Encoded(_bytes(frame))
        data.sniffed_on = described.get("interface")
        data.direction = _DIRECTIONS.get(described.get("direction", ""))
        data.comment = str(described["comment"]).encode() if "comment" in described else None
        data.comments = None if data.comment is None else [data.comment]
        if not self._writer.header_present:
            self._writer.write_header(frame)
        exact: Any = Fraction(described.get("at_ns", 0), _NS_PER_S)  # a float would round
        self._writer.write_packet(data, sec=exact)

    def close(self) -> None:
        if not self._writer.header_present:  # a capture without a packet is a file that programs read
            from scapy.layers.l2 import Ether  # noqa: PLC0415  as in _headers()

            self._writer.write_header(Ether())
        self._writer.close()


class _Hex:
    """One line per frame on standard output, flushed at once: the other side waits for it."""

    def frame(self, _described: Fields, frame: Any) -> None:  # noqa: ANN401  as above
        sys.stdout.write(_bytes(frame).hex() + "\n")
        sys.stdout.flush()

    def close(self) -> None:
        sys.stdout.flush()


OUTPUTS: Final[Mapping[str, Callable[[], _PcapNg | _Hex]]] = {"pcapng": _PcapNg, "hex": _Hex}


def write(lines: Iterable[str], output: str, status: IO[str]) -> int:
    """Encode all lines, and write the outcome to `status`. Returns: the exit status."""
    count = 0
    try:
        headers = _headers()
        sink = OUTPUTS[output]()
        for line in lines:
            sink.frame(*_built(headers, line))
            count += 1
        sink.close()
    except FrameError as error:
        outcome: dict[str, Any] = {"error": str(error), "line": count + 1}
    except OSError as error:
        outcome = {"error": error.strerror or str(error), "errno": error.errno}
    except ImportError as error:
        outcome = {"error": f"scapy cannot be imported: {error}"}
    else:
        outcome = {"frames": count}
    print(json.dumps(outcome), file=status, flush=True)
    return 2 if "error" in outcome else 0


def main(words: list[str]) -> int:
    """The command line: one word, the output format."""
    if words in (["-h"], ["--help"]):
        with suppress(BrokenPipeError):
            print(__doc__, flush=True)
        return 0
    if len(words) != 1 or words[0] not in OUTPUTS:
        print(__doc__, file=sys.stderr, flush=True)
        return 2
    return write(sys.stdin, words[0], sys.stderr)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    if code:
        # Scapy's writer may still buffer bytes that do not fit on the disk: do not write them again at exit.
        os._exit(code)
