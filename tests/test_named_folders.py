"""Files in folders that a user names, and answers of servers: one boundary reads them, one error refuses them."""

from __future__ import annotations

import base64
import io
import json
import os
import threading
import urllib.request
import zlib
from hashlib import sha256
from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import pytest

from fabric.cli.main import main
from fabric.errors import FabricError, RunDirError
from fabric.reading import MAX_JSON_DEPTH, inflate, json_value
from fabric.runs import lock
from fabric.runs.topology_file import fabric_from_json, fabric_to_json
from fabric.topology.registry import build_topology, parse_topology
from telemetry.capacity.prometheus_api import Source, readings
from tests.reliability import input_folders

KINDS = ("index of a campaign", "index of a drill", "looks of a drill", "result of a drill", "index of a study",
         "metrics of a drill", "journal of a campaign", "settings")  # fmt: skip
DEEP = '{"a":' * 5000 + "0" + "}" * 5000


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder with every kind of file, none of them damaged."""
    home = tmp_path_factory.mktemp("named")
    found = input_folders.kinds(home)
    for kind in found.values():
        (home / kind.file).write_bytes(kind.content)
    return home, dict(found)


@pytest.mark.parametrize("what", ["a pipe", "deep JSON", "a list", "a tebibyte"])
@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_a_folder_that_cannot_be_read_ends_in_one_error(
    name: str, what: str, known: tuple[Path, dict[str, Any]]
) -> None:
    home, kinds = known
    kind = kinds[name]
    path = home / kind.file
    path.unlink()
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a tebibyte":
        with path.open("wb") as file:
            file.truncate(1 << 40)
    else:
        path.write_text(DEEP if what == "deep JSON" else "[]", encoding="utf-8")
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.extend(it for _, it in kind.answers(home)), daemon=True)
    thread.start()
    thread.join(60)
    path.unlink()
    path.write_bytes(kind.content)
    assert answers, "it reads without end"
    for answer in answers:
        assert not answer.defect
        told = answer.err + answer.out
        if name.startswith("index of a study"):  # `fabric verify` lists what is damaged
            assert answer.code != 0
        elif answer.code != 0 or name not in {"looks of a drill", "result of a drill", "journal of a campaign"}:
            assert answer.code == 2
            assert "hint:" in told


def test_a_drill_whose_seal_holds_more_than_it_may_is_not_unpacked(known: tuple[Path, dict[str, Any]]) -> None:
    home, kinds = known
    kind = kinds["sealed root of a drill"]
    path = home / kind.file
    path.write_bytes(base64.b64encode(zlib.compress(bytes(65 << 20))))
    [(_, answer)] = kind.answers(home)
    path.write_bytes(kind.content)
    assert answer.code == 2
    assert "larger than 64MiB" in answer.err


def test_a_seal_that_was_forged_with_its_digest_is_refused(known: tuple[Path, dict[str, Any]]) -> None:
    home, kinds = known
    kind, index = kinds["sealed root of a drill"], home / "open/d/drill.json"
    before = index.read_text(encoding="utf-8")
    for secret in ('{"kind": "no-such"}', DEEP, "[]", '{"kind": 1}'):
        (home / kind.file).write_bytes(base64.b64encode(zlib.compress(secret.encode())))
        digest = sha256(secret.encode()).hexdigest()
        index.write_text(json.dumps(json.loads(before) | {"digest": digest}), encoding="utf-8")
        [(_, answer)] = kind.answers(home)
        assert answer.code == 2
        assert "is damaged" in answer.err
    index.write_text(before, encoding="utf-8")
    (home / kind.file).write_bytes(kind.content)


def test_packed_data_is_unpacked_up_to_its_limit() -> None:
    packed = zlib.compress(b"x" * 10)
    assert inflate(packed, 10) == b"x" * 10
    for data, limit in ((packed, 9), (packed[:-2], 10), (b"x", 10)):
        with pytest.raises(ValueError, match=r"larger|cut off|header"):
            inflate(data, limit)


def test_json_is_read_to_its_stated_depth() -> None:
    assert json_value("[" * MAX_JSON_DEPTH + "]" * MAX_JSON_DEPTH)
    for levels in (MAX_JSON_DEPTH + 1, 900, 100_000):
        with pytest.raises(ValueError, match="nested more than"):
            json_value("[" * levels + "]" * levels)
    assert json_value('{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        DEEP.encode(),
        b'{"data": {"result": [{"metric": {}, "values": []}]}}',
        b'{"data": {"result": [1]}}',
        b'{"data": {"result": [{"metric": {"role": "a", "peer_role": "b"}, "values": [[0, "x"]]}]}}',
        b"",
    ],
)
def test_an_answer_that_is_not_of_prometheus_is_one_error(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request.OpenerDirector, "open", lambda *_, **__: io.BytesIO(body))
    with pytest.raises(FabricError, match="no Prometheus"):
        list(readings(Source("http://127.0.0.1:1"), 0, 86_400))


def test_an_answer_that_is_cut_off_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*_: object, **__: object) -> io.BytesIO:
        raise IncompleteRead(b"")

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", cut)
    with pytest.raises(FabricError, match="cannot be reached"):
        list(readings(Source("http://127.0.0.1:1"), 0, 86_400))


@pytest.mark.parametrize(
    "text", ["threads = " + "9" * 5000, "a = " + "[" * 5000 + "]" * 5000, 'out = "~nobody-here/x"']
)
def test_settings_of_an_odd_form_end_in_no_traceback(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text + "\n", encoding="utf-8")
    monkeypatch.setenv("FABRIC_CONFIG", str(file))
    assert main(["config"]) == (0 if "nobody" in text else 2)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["ranks", "Slurm's topology.conf"])
@pytest.mark.parametrize("text", ["x" * 200_000 + "\n", "root:$6$secret:1:0\n" * 5000])
def test_another_file_as_placement_is_one_short_error(name: str, text: str, known: tuple[Path, dict[str, Any]]) -> None:
    home, kinds = known
    path = home / kinds[name].file
    path.write_text(text, encoding="utf-8")
    [(_, answer)] = kinds[name].answers(home)
    path.write_bytes(kinds[name].content)
    assert answer.code == 2
    assert not answer.defect
    assert "secret" not in answer.err
    assert len(answer.err.splitlines()) < 60


def test_a_pipe_in_place_of_a_lock_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / lock.NAME)
    thread = threading.Thread(target=lambda: lock.writer(tmp_path), daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("table", "row", "field", "value"),
    [
        ("links", 0, "a", 10**6),
        ("ports", 0, "peer", -1),
        ("ports", 0, "node", -1),
        ("nodes", 0, "n_ports", 99),
        ("nodes", 1, "first_port", 0),
        ("nodes", 1, "name", "host1"),
        ("links", 0, "rate_bps", "fast"),
        ("nodes", 0, "group", 1.5),
        ("ports", 0, "name", []),
    ],
)
def test_a_topology_that_refers_to_nothing_is_refused(table: str, row: int, field: str, value: object) -> None:
    whole = fabric_to_json(build_topology(parse_topology(dict(input_folders.TOPOLOGY), "t"), Path()))
    assert fabric_to_json(fabric_from_json(whole)) == whole
    whole[table][row][field] = value
    with pytest.raises(RunDirError, match="is not a topology"):
        fabric_from_json(whole)
