"""Files that a user names, through every option that takes one: refused at once, in one sentence, never repeated."""

from __future__ import annotations

import json
import os
import random
import threading
from pathlib import Path

import pytest

from fabric.cli.main import main
from fabric.errors import InputErrors
from fabric.reading import read_bytes, read_text
from fabric.scenario.yaml_input import parse_yaml
from fabric.yamltext import MAX_DEPTH

SCENARIO = """name: s
topology: {kind: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2, host_rate: 100G, fabric_rate: 100G}
workload: [WORKLOAD]
run: {duration: 1ms}
"""
READERS = {
    "scenario": lambda file: ["scenario", "check", file],
    "run": lambda file: ["run", file],
    "topology": lambda file: ["topology", "show", file],
    "configs": lambda file: ["validate", file],
    "journal": lambda file: ["bgp", "replay", file],
    "case": lambda file: ["fidelity", "--case", file],
}


def spoken(capsys: pytest.CaptureFixture[str], words: list[str]) -> tuple[int, str]:
    code = main(words)
    return code, capsys.readouterr().err


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("what", ["/dev/zero", "/dev/urandom", "pipe", "directory", "nothing", "unreadable"])
def test_what_is_no_file_is_refused_at_once(
    reader: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(what) if what.startswith("/") else tmp_path / f"{what}.yml"
    if what == "pipe":
        os.mkfifo(file)
    elif what == "directory":
        file.mkdir()
    elif what == "unreadable":
        file.symlink_to("unreadable.yml")
    done: list[tuple[int, str]] = []
    thread = threading.Thread(target=lambda: done.append(spoken(capsys, READERS[reader](str(file)))), daemon=True)
    thread.start()
    thread.join(60)
    assert done, "it reads without end"
    code, output = done[0]
    assert code == 2, output
    assert "Traceback" not in output
    assert len(output.splitlines()) <= 4


@pytest.mark.parametrize(
    "workload", ["{kind: messages, file: secret}", "{kind: poisson, sizes: file, cdf: secret, load: 0.1, stop: 1us}"]
)
def test_what_another_file_holds_is_not_repeated(
    workload: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "secret").write_text("root:$6$abcdef:20228:0:99999:7:::\nnext\n", encoding="utf-8")
    file = tmp_path / "s.yml"
    file.write_text(SCENARIO.replace("WORKLOAD", workload), encoding="utf-8")
    code, output = spoken(capsys, ["scenario", "check", str(file)])
    assert code == 2
    assert "secret" in output
    assert "abcdef" not in output
    assert "hint:" in output


@pytest.mark.parametrize(
    ("text", "line", "output"),
    [
        ("a: 1\nb: !!timestamp x", 2, "is not read"),
        ("a: !!bool maybe", 1, "is not read"),
        ("a: !!int x", 1, "is not read"),
        ("a: !!float x", 1, "is not read"),
        ("a: !!map x", 1, "is not read"),
        ("a: !!set {b}", 1, "is not read"),
        ("a: " + "9" * 5000, 1, "5,000 digits"),
        ("a: 1e999", 1, "is not a finite number"),
        ("a: " + "[" * 100_000, 1, f"{MAX_DEPTH} levels"),
        ("{a: " * 5000, 1, f"{MAX_DEPTH} levels"),
        ("- " * 5000, 1, f"{MAX_DEPTH} levels"),
        ("a: 1\na: 2", 2, "given twice"),
        ("? [a]\n: b", 1, "no plain word"),
        ("a: &x [*x]", 1, "names nothing before it"),
        ("a: 1\n---\nb: 1", 2, "more than one document"),
        ("a: [1,\n2", 3, "not YAML"),
        ("true: 1", 1, "is not a key"),
        ("1.5: 1", 1, "is not a key"),
        ("a: *b", 1, "names nothing before it"),
    ],
)
def test_yaml_that_is_not_wanted_is_refused_with_its_line(text: str, line: int, output: str) -> None:
    with pytest.raises(InputErrors) as caught:
        parse_yaml(text, Path("x.yml"))
    [problem] = caught.value.problems
    assert output.replace("no plain word", "not a plain word") in problem.text
    assert problem.path == f"x.yml, line {line}"
    assert problem.hint


def test_plain_yaml_is_read_as_yaml_1_2_has_it() -> None:
    text = (
        "a: on\nb: yes\nc: 2001-01-01\nd: 0x1f\ne: 1_000\nf: 017\ng: .5\nh: ~\ni: TRUE\nj: '5'\nk: |\n  x\nl: &q [1]\n"
        "m: *q\nn: {1: x, true7: y}\no: 1²\np: '5'\nq: 5\n"
    )
    assert parse_yaml(text, Path("x")) == {
        "a": "on",
        "b": "yes",
        "c": "2001-01-01",
        "d": "0x1f",
        "e": "1_000",
        "f": 17,
        "g": 0.5,
        "h": None,
        "i": True,
        "j": "5",
        "k": "x\n",
        "l": [1],
        "m": [1],
        "n": {1: "x", "true7": "y"},
        "o": "1²",
        "p": "5",
        "q": 5,
    }


def test_aliases_that_multiply_are_counted_not_built() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(InputErrors, match="once aliases are followed"):
        parse_yaml("\n".join(lines), Path("x.yml"))


@pytest.mark.parametrize("value", ["1e999", "nan", "-inf", "1e400ms", "9" * 400])
def test_an_expectation_beyond_every_number_is_refused(
    value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.yml"
    file.write_text(
        SCENARIO.replace("WORKLOAD", "{kind: permutation, size: 1KB}")
        + f"expectations: ['messages.done == {value}']\n",
        encoding="utf-8",
    )
    code, output = spoken(capsys, ["scenario", "check", str(file)])
    assert code == 2
    assert "expectations[0]" in output


def test_a_journal_with_values_of_another_type_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = next((Path(__file__).parent / "lab" / "journals").glob("*")).read_text(encoding="utf-8").splitlines()
    random_ = random.Random(16)
    odd = [None, True, -1, 2**80, "", "x", "ff", [], {}, [[]], 1.5]
    file = tmp_path / "journal"
    for _ in range(120):
        lines = source[:40]
        number = random_.randrange(len(lines))
        entry = json.loads(lines[number])
        key = random_.choice(list(entry))
        entry[key] = random_.choice(odd)
        lines[number] = json.dumps(entry)
        file.write_text("\n".join(lines), encoding="utf-8")
        code, output = spoken(capsys, ["bgp", "replay", str(file)])
        assert code in {0, 1, 2}, (entry, output)
        assert "Traceback" not in output
        if code == 2:
            assert f"{file}: " in output


def test_the_limit_is_stated_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"x" * 11)
    assert read_bytes(file, 11) == b"x" * 11
    with pytest.raises(InputErrors, match="is larger than 10B"):
        read_bytes(file, 10)
    file.write_bytes(b"ab\n\xff")
    with pytest.raises(InputErrors, match=r"f:2: not UTF-8 text: byte 3 is 0xff"):
        read_text(file, 10)
