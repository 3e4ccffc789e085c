"""Standard output and error accept every character, and an error of writing names the file."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from fabric.cli.main import main
from fabric.cli.options.output import LineFile, write_file
from fabric.cli.terminal.progress import ProgressLine

RUN = """\
name: streams
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 400G}
switches: {asic: trident3}
workload:
  - {kind: permutation, size: 20KB}
run: {duration: 1ms, seed: 3}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "strøm.yml"
    path.write_text(RUN, encoding="utf-8")
    return path


def invoked(encoding: str, *words: str | Path) -> tuple[int, str, str]:
    """A command whose standard streams are as Python makes them for that encoding."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
        out.flush(), err.flush()
    return code, *(it.buffer.getvalue().decode(encoding) for it in (out, err))  # type: ignore[attr-defined]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "shift_jis"])
def test_a_finished_run_exits_0_whatever_the_encoding_lacks(scenario: Path, tmp_path: Path, encoding: str) -> None:
    code, out, err = invoked(encoding, "run", scenario, "--out", tmp_path / "läuft \u2713", "--quiet")
    assert (code, err) == (0, "")
    assert "all 4 messages done" in out


def test_characters_of_our_own_are_spelled_and_others_escaped(scenario: Path, tmp_path: Path) -> None:
    _, out, _ = invoked("ascii", "run", scenario, "--out", tmp_path / "名", "--quiet")
    assert "  yes all 4 messages done" in out
    assert "results in " + str(tmp_path / r"\u540d") in out
    code, _, err = invoked("ascii", "show", tmp_path / "nö→")
    assert code == 2
    assert str(tmp_path / r"n\xf6->") + " is not a directory" in err


def test_names_that_are_not_utf_8_are_printed_and_kept(tmp_path: Path) -> None:
    home = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    home.mkdir()
    (home / "it.yml").write_text(RUN, encoding="utf-8")
    code, out, err = invoked("utf-8", "run", home / "it.yml", "--out", home / "out", "--quiet")
    assert (code, err) == (0, "")
    assert r"caf\udce9/out" in out
    manifest = json.loads((home / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["scenario"]["file"] == str(home / "it.yml")
    for words in (("show", "messages"), ("show", "events"), ("verify",), ("report",)):
        assert invoked("utf-8", words[0], home / "out", *words[1:])[0] == 0, words


def test_standard_output_that_is_full_is_named_and_the_results_too(scenario: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        entry = (sys.executable, "-c", "from fabric.cli.main import entry; entry()")
        done = subprocess.run(
            [*entry, "run", str(scenario), "--out", str(tmp_path / "out"), "--quiet"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"the run is done; its results are in {tmp_path / 'out'}",
        "error: standard output: No space left on device",
    ]


def test_a_file_that_cannot_be_written_is_named() -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_file(Path("/dev/full"), "text")


def test_progress_that_nobody_can_read_does_not_end_a_run() -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    line = ProgressLine(Gone(), quiet=False)
    with line:
        line._compiler._begins()
        timer = line._compiler._timer
        assert timer is not None
        line._compiler._explain(timer)
        line.first_answer()
        line.update(_standing())
        line._bar._shown_s -= 100
        line.update(_standing())
        assert line._bar.quiet
        line.update(_standing())


def _standing() -> object:
    from fabric.runs.session import Progress

    return Progress(1, 2, 3, None, None, None)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("mode", ["w", "a"])
def test_a_log_that_cannot_be_written_is_named_by_the_line_that_did_not_fit(mode: Literal["w", "a"]) -> None:
    file = LineFile(Path("/dev/full"), mode)
    for write in (lambda: file.write("a line\n"), lambda: file.writelines(["a line\n"]), file.close):
        with pytest.raises(OSError, match="No space left") as caught:
            write()
        assert caught.value.filename == "/dev/full"


def test_a_line_of_a_log_is_in_the_file_when_it_has_been_written(tmp_path: Path) -> None:
    with LineFile(tmp_path / "log", "w") as file:
        file.write("one\n")
        assert (tmp_path / "log").read_text(encoding="utf-8") == "one\n"
    with LineFile(tmp_path / "log", "a") as file:
        file.writelines(["two\n", "\udcff\n"])
    assert (tmp_path / "log").read_text(encoding="utf-8") == "one\ntwo\n\\udcff\n"
    with pytest.raises(OSError, match="nowhere"):
        LineFile(tmp_path / "nowhere" / "log", "w")
