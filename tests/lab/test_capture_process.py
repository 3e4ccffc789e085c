"""A separate process writes captures: its imports, its errors, and the report of its end."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.capture.process import PROGRAM, Frame, FrameBuilder, FrameFile
from fabric.errors import FabricError, InvariantError

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "scenarios/mac-move.yml"
APACHE = {"pyarrow", "prometheus_client", "numba", "llvmlite"}
"""Libraries of the emulator's process; the first two have licence Apache-2.0 only, incompatible with GPL-2.0-only."""
FRAME: Frame = {
    "ethernet": {"source": "02:00:00:00:00:01", "destination": "02:00:00:00:00:02"},
    "ipv4": {"source": "10.0.0.1", "destination": "10.0.0.2", "ttl": 1},
    "tcp": {
        "source_port": 179,
        "destination_port": 50_000,
        "sequence": 1,
        "acknowledgement": 0,
        "flags": "S",
        "window": 1,
    },
    "payload": "00" * 4096,
}


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [name.name for it in ast.walk(tree) if isinstance(it, ast.Import) for name in it.names]
    found += [it.module or "" for it in ast.walk(tree) if isinstance(it, ast.ImportFrom)]
    return {name.partition(".")[0] for name in found}


def test_only_the_program_imports_scapy_and_it_imports_nothing_else() -> None:
    modules = [path for top in ("fabric", "telemetry", "playbooks", "bench") for path in (ROOT / top).rglob("*.py")]
    named = [path for path in modules if "scapy" in path.read_text(encoding="utf-8")]
    assert [path for path in named if "scapy" in imports(path)] == [PROGRAM]
    assert imports(PROGRAM) - sys.stdlib_module_names == {"scapy"}


def test_no_process_has_both_scapy_and_the_libraries_of_the_emulator(tmp_path: Path) -> None:
    """Both processes list their modules at their end."""
    script = (
        "import sys; from fabric.cli.main import main; "
        f"code = main(['bgp', 'capture', {str(SCENARIO)!r}, '-o', {str(tmp_path / 'out.pcapng')!r}]); "
        "import pyarrow, prometheus_client; "
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ours = set(done.stderr.split())
    assert ours >= {"pyarrow", "prometheus_client"}
    assert "scapy" not in ours
    listing = (
        "import atexit, os, runpy, sys; names = lambda: {name.partition('.')[0] for name in sys.modules}; "
        "atexit.register(lambda: print(*names(), file=sys.stderr)); "
        f"sys.argv = [{str(PROGRAM)!r}, 'pcapng']; "
        f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')"
    )
    with (tmp_path / "one.pcapng").open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-P", "-c", listing],
            input=json.dumps({"at_ns": 1, **FRAME}) + "\n",
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stderr
    theirs = set(done.stderr.splitlines()[-1].split())
    assert "scapy" in theirs
    assert not theirs & (APACHE | {"fabric", "telemetry", "numpy", "pydantic"})


def test_the_program_finds_its_modules_whatever_the_current_folder_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("scapy", "json", "fabric"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    with FrameBuilder() as builder:
        assert len(builder.bytes_of(FRAME)) == 14 + 20 + 20 + 4096


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ({"ipv4": {}}, "is no object with the key ethernet"),
        ({**FRAME, "mpls": {}}, "unknown header 'mpls'"),
        ({**FRAME, "tcp": {"flags": "S"}}, "tcp: missing field 'acknowledgement'"),
        ({**FRAME, "vxlan": {"vni": 1, "flag": 1}}, "vxlan: unknown field 'flag'"),
        ({**FRAME, "ipv4": []}, "ipv4 is no object"),
        ({**FRAME, "payload": "0"}, "payload: ValueError"),
        ({**FRAME, "ipv4": {"source": "10.0.0.1", "destination": "10.0.0.2", "ttl": 4096}}, "ValueError: .*ttl"),
        ({**FRAME, "at_ns": "soon"}, "at_ns is no number"),
    ],
)
def test_a_frame_that_cannot_be_is_refused_with_its_number_and_field(
    frame: Frame, expected: str, tmp_path: Path
) -> None:
    builder = FrameBuilder()
    builder.bytes_of(FRAME)
    with pytest.raises(InvariantError, match=f"refuses frame 2: .*{expected}"):
        builder.bytes_of(frame)
    file = FrameFile(tmp_path / "out.pcapng")
    file.write(0, FRAME)
    file.write(0, frame) if "at_ns" not in frame else file._program.send(frame)
    with pytest.raises(InvariantError, match=f"refuses frame 2: .*{expected}"):
        file.close()


def test_a_program_that_is_killed_is_reported_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "out.pcapng"
    file = FrameFile(path)
    file.write(0, FRAME)
    os.kill(file._program._process.pid, signal.SIGKILL)
    with pytest.raises(FabricError, match=f"makes {path} was ended by the signal SIGKILL") as caught:  # noqa: PT012
        for _ in range(1000):
            file.write(0, FRAME)
        file.close()
    assert "not whole" in caught.value.hint
    file.close()  # a second call has no effect
    builder = FrameBuilder()
    builder.bytes_of(FRAME)
    assert builder._program is not None
    os.kill(builder._program._process.pid, signal.SIGTERM)
    with pytest.raises(FabricError, match="makes a frame was ended by the signal SIGTERM"):
        builder.bytes_of(FRAME)
    assert len(builder.bytes_of(FRAME)) > 4096  # the next frame starts a new program
    builder.close()


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone/out\.pcapng"):
        FrameFile(tmp_path / "gone/out.pcapng")
    full = FrameFile(Path("/dev/full"))
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):  # noqa: PT012  it is buffered
        for _ in range(1000):
            full.write(0, FRAME)
        full.close()


def test_a_machine_without_scapy_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scapy").mkdir()
    (tmp_path / "scapy/__init__.py").write_text("raise ImportError('No module named scapy')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(FabricError, match="scapy cannot be imported") as caught:
        FrameBuilder().bytes_of(FRAME)
    assert caught.value.hint == "pip install scapy"


def test_the_program_prints_its_format_and_refuses_other_words() -> None:
    for words, code in ((["--help"], 0), ([], 2), (["pcap"], 2), (["hex", "hex"], 2)):
        done = subprocess.run(
            [sys.executable, "-m", "fabric.capture.writer", *words],
            input="",
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "A line is one frame" in (done.stderr if code else done.stdout)) == (code, True)


def test_a_capture_without_frames_is_a_capture(tmp_path: Path) -> None:
    FrameFile(tmp_path / "empty.pcapng").close()
    assert (tmp_path / "empty.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"  # a section header block


def test_an_interrupt_from_the_terminal_does_not_reach_the_program(tmp_path: Path) -> None:
    file = FrameFile(tmp_path / "out.pcapng")
    assert os.getpgid(file._program._process.pid) != os.getpgid(0)
    file.close()


@pytest.mark.slow
def test_a_large_capture_takes_no_more_memory_than_a_small_one(tmp_path: Path) -> None:
    """With 16 times the frames the peak memory of the program grows by less than a quarter of their bytes."""

    def peak_kib(count: int) -> int:
        script = (
            "import resource; from pathlib import Path; from bench.machine import peak_rss_bytes; "
            "from fabric.capture.process import FrameFile; "
            f"file = FrameFile(Path({str(tmp_path / 'out.pcapng')!r})); frame = {FRAME!r}; "
            f"[file.write(at, frame) for at in range({count})]; file.close(); "
            "children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss; "
            "print(max(peak_rss_bytes() // 1024, children))"
        )
        return int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)

    small, large = peak_kib(500), peak_kib(8000)
    assert large - small < 7500 * 4096 / 1024 / 4, (small, large)


def test_a_capture_without_a_packet_has_the_header_of_its_format(tmp_path: Path) -> None:
    path = tmp_path / "none.pcapng"
    FrameFile(path).close()
    assert path.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
