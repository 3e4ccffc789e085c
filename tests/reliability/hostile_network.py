"""Hostile texts from servers and BGP neighbours, and in logs."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from fabric.capture.journal import speaker_of
from fabric.cli import bgp_speak
from fabric.cli.terminal import logs, streams
from fabric.controlplane.bgp.actions import Action
from fabric.controlplane.bgp.afi import IPV4_UNICAST, prefix_key
from fabric.controlplane.bgp.attributes import Attributes, sequence
from fabric.controlplane.bgp.capabilities import Capabilities, write_capabilities
from fabric.controlplane.bgp.message import KEEPALIVE_BYTES, Notification, Open, encode_notification, encode_open
from fabric.controlplane.bgp.update import reach_messages
from fabric.lab.speaker_setup import Limits, session_config
from fabric.wire.iana import CapabilityCode, Cease, ErrorCode
from telemetry.live.audit import AuditLog
from tests.reliability.hostile_tries import Try, row
from tests.reliability.report import Row
from tests.reliability.strict import READERS


class _Foreign(BaseHTTPRequestHandler):
    """Answers as a server of live runs might, with hostile names."""

    text = ""

    def do_GET(self) -> None:
        name = self.text
        row = {
            "device": name,
            "port": name,
            "peer": name,
            "priority": 3,
            "up": True,
            "paused": True,
            "pausing": False,
            "paused_ratio": 0.5,
            "paused_seconds": 1.0,
            "transmit_ratio": 0.1,
            "queue": 3,
            "bytes": 1,
            "peak_bytes": 1,
            "marked_packets": 1,
            "dropped_packets": 1,
            "stormed": False,
        }
        status = {
            "scenario": name,
            "state": name,
            "pass": 1,
            "loop": True,
            "sim_time_seconds": 0.1,
            "duration_seconds": 1.0,
            "dilation": 1.0,
            "realtime_ratio": 1.0,
            "slipped_seconds": 0.0,
            "hosts_paused": 1,
            "hosts": 2,
        }
        node = {"depth": 0, "port": name, "victim": name, "pauses": 1, "paused_seconds": 0.1, "still": True}
        incident = {
            "open": True,
            "text": name,
            "since_seconds": 0.1,
            "until_seconds": None,
            "depth": 1,
            "hosts": [name],
            "switches": [name],
            "paused_seconds": 0.1,
            "tree": [node],
        }
        root = {
            "kind": name,
            "title": name,
            "place": name,
            "since_seconds": 0.1,
            "until_seconds": 0.2,
            "open": False,
            "confidence": 0.5,
            "evidence": [name],
            "act": name,
        }
        roots = {"pass": 1, "from_seconds": 0.0, "until_seconds": 0.2, "roots": [root]}
        view = {"status": status, "window_seconds": 0.1, "ports": [row], "queues": [row], "incidents": [incident]}
        self._answer(200, roots if self.path.endswith("/roots") else view)

    def _answer(self, code: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:  # type: ignore[override]
        """Nothing."""


class _Refusing(_Foreign):
    """Refuses with a hostile reason."""

    def do_GET(self) -> None:
        problem = {"path": self.text, "text": self.text, "hint": self.text}
        self._answer(422, {"error": {"text": self.text, "hint": self.text, "problems": [problem]}})


def servers(work: Path, texts: Mapping[str, str]) -> Row:
    """`fabric top` before servers of others."""
    token = work / "token"
    token.write_text("x" * 40)

    def cases() -> Iterator[tuple[str, Sequence[Try]]]:
        for name, text in texts.items():
            for kind in (_Foreign, _Refusing):
                handler = type("Handler", (kind,), {"text": text})
                with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
                    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
                    thread.start()
                    url = f"http://127.0.0.1:{server.server_address[1]}"
                    yield (
                        f"{name} of {kind.__name__}",
                        [
                            Try("json", ("top", url, "--token-file", token, "--json", "--interval", "100ms")),
                            Try("text", ("top", url, "--token-file", token, "--once", "--interval", "100ms")),
                        ],
                    )
                    server.shutdown()

    return row(
        "the same in answers and refusals of an HTTP server that `fabric top` asks",
        "56 on fe3fa65: control characters (52), forged lines (3), traceback (1)",
        cases(),
        terminal=False,
    )


def peers(work: Path, texts: Mapping[str, str]) -> Row:
    """BGP neighbours: their host name (draft-walton-bgp-hostname-capability) and why they go (RFC 9003)."""
    failures, count = [], 0
    for name, text in texts.items():
        raw = text.encode("utf-8", "surrogatepass")[:64]
        speaker = speaker_of(
            session_config(
                "127.0.0.1",
                "127.0.0.2",
                65001,
                65002,
                "10.0.0.1",
                "tried",
                passive=True,
                hold_time_s=9,
                limits=Limits(),
            )
        )
        speaker.start(0)
        speaker.connected("127.0.0.2", 0, 1, outgoing=False)
        capabilities = write_capabilities(Capabilities(families=(IPV4_UNICAST.id,), asn4=65002))
        whole = (*capabilities, (CapabilityCode.FQDN, bytes([len(raw)]) + raw + b"\0"))
        actions: list[Action] = []
        ((before, behind),) = reach_messages(
            IPV4_UNICAST, Attributes(as_path=sequence(65002)), 4, [prefix_key("10.1.0.0/16")], 4096, 4
        )
        for data in (encode_open(Open(65002, 9, 7, whole)), KEEPALIVE_BYTES, before + bytes([127, 0, 0, 2]) + behind):
            actions += speaker.received("127.0.0.2", data, 0, 1)
        tables = bgp_speak._tables(speaker, 0)
        cease = Notification(ErrorCode.CEASE, Cease.ADMINISTRATIVE_SHUTDOWN, bytes([len(raw)]) + raw)
        actions += speaker.received("127.0.0.2", encode_notification(cease), 0, 1)
        for reader, show in {
            "text": lambda it=tables: bgp_speak._print(it, as_json=False),
            "json": lambda it=tables: bgp_speak._print(it, as_json=True),
            "plain": lambda it=speaker, done=actions: bgp_speak._report(it, 0, done),
        }.items():
            count += 1
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                streams.prepare()
                show()
            wrong = READERS["json" if reader == "json" else "text"](out.getvalue())
            failures += [f"{name}: {reader}: {wrong}"] if wrong or not out.getvalue() else []
    return Row(
        "the same as the host name of a BGP neighbour and as the reason for which it ends the session: tables, "
        "JSON and messages of `fabric bgp speak`",
        count,
        "16 on fe3fa65: control characters (15), forged line (1)",
        failures,
    )


def log_lines(work: Path, texts: Mapping[str, str]) -> Row:
    """Log records and the audit log."""
    failures = []
    formatter = logs.FactsFormatter()
    for name, text in texts.items():
        record = logging.makeLogRecord({"msg": "session down", "reason": text, "levelname": "INFO"})
        line = formatter.format(record)
        if "\n" in line or READERS["text"](line):
            failures.append(f"{name}: log: {READERS['text'](line) or 'more than one line'}")
        path = work / f"{name}.jsonl"
        with AuditLog(path) as log:
            log.write(text, text, text, text, request={text: text})
        wrong = READERS["jsonl"](path.read_text(encoding="utf-8"))
        if wrong or path.read_text(encoding="utf-8").count("\n") != 1:
            failures.append(f"{name}: audit log: {wrong or 'more than one line'}")
    return Row(
        "the same as facts of a log record and of an entry of the audit log: one line each",
        2 * len(texts),
        "19 on fe3fa65: control characters (18), forged line (1)",
        failures,
    )
