"""A sample of the damaged and foreign input files that tests/reliability/input_files.py tries; all are slow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.errors import InputErrors
from fabric.reading import read_bytes
from tests.reliability.input_files import rows
from tests.reliability.report import row_text

FEW = ("message list", "headroom table", "journal", "token")


def test_damaged_and_foreign_input_files_end_in_one_sentence(tmp_path: Path) -> None:
    found = rows(tmp_path, each=2, only=FEW)
    assert all(row.cases for row in found)
    assert not [row_text(row) for row in found if row.failures]


@pytest.mark.parametrize("option", ["--token-file", "--tls-ca", "--tls-cert"])
def test_a_pipe_in_place_of_a_token_or_certificate_is_not_waited_for(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe, token = tmp_path / "pipe", tmp_path / "token"
    os.mkfifo(pipe)
    token.write_text("x" * 40)
    words = ["top", "https://127.0.0.1:1", "--once", option, str(pipe)]
    words += [] if option == "--token-file" else ["--token-file", str(token)]
    words += ["--tls-key", str(pipe)] if option == "--tls-cert" else []
    assert main(words) == 2
    errors = capsys.readouterr().err
    assert "a pipe, not a regular file" in errors
    assert "hint:" in errors


def test_a_file_of_the_kernel_that_waits_is_not_read(tmp_path: Path) -> None:
    assert read_bytes(Path("/proc/self/status"), 10) == b""
    link = tmp_path / "zero"
    link.symlink_to("/dev/zero")
    with pytest.raises(InputErrors, match="a device, not a regular file"):
        read_bytes(link, 10)
