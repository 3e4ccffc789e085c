"""Bad scenarios: the exact text that a user sees, one file each in errors/."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.errors import InputErrors
from fabric.scenario.compile.scenario import compile_scenario
from fabric.scenario.load import apply_overrides, apply_values, load_scenario
from fabric.scenario.yaml_input import MAX_BYTES, parse_yaml, read_yaml

CASES = sorted((Path(__file__).parent / "errors").glob("*.yml"))


def failure(file: Path, sets: tuple[str, ...] = ()) -> InputErrors:
    with pytest.raises(InputErrors) as caught:
        compile_scenario(load_scenario(file, sets))
    return caught.value


def test_at_least_forty_kinds_of_bad_input_are_under_golden_test() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_bad_input_is_explained_word_for_word(file: Path) -> None:
    error = failure(file)
    assert str(error).replace(str(file.parent), "<here>") + "\n" == file.with_suffix(".txt").read_text(encoding="utf-8")
    assert error.exit_code == 2


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_every_problem_names_its_file(file: Path) -> None:
    assert all(problem.path.startswith(file.name) for problem in failure(file).problems)


def test_an_alias_bomb_is_refused_without_being_expanded() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]
    with pytest.raises(InputErrors, match="once aliases are followed"):
        parse_yaml("\n".join(lines), Path("bomb.yml"))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(InputErrors, match="levels"):
        parse_yaml("a: " + "[" * 300 + "]" * 300, Path("deep.yml"))


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "large.yml"
    with file.open("wb") as handle:
        handle.truncate(MAX_BYTES + 1)
    with pytest.raises(InputErrors, match="is larger than 8MiB"):
        read_yaml(file)


def test_a_missing_file_offers_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "incast.yml").write_text("name: x", encoding="utf-8")
    with pytest.raises(InputErrors, match=r"did you mean 'incast\.yml'"):
        read_yaml(tmp_path / "incats.yml")


def test_binary_is_not_a_scenario(tmp_path: Path) -> None:
    file = tmp_path / "binary.yml"
    file.write_bytes(b"name: \xff\xfe")
    with pytest.raises(InputErrors, match="UTF-8"):
        read_yaml(file)


def test_python_tags_do_nothing_but_fail() -> None:
    with pytest.raises(InputErrors, match="is not read"):
        parse_yaml("name: !!python/object/apply:os.system ['true']", Path("evil.yml"))


def test_on_and_off_are_words_and_not_booleans() -> None:
    assert parse_yaml("pfc: off\nx: yes\ny: true\nz: 1e-9\nt: 1:30\nn:", Path("a.yml")) == {
        "pfc": "off",
        "x": "yes",
        "y": True,
        "z": 1e-9,
        "t": "1:30",
        "n": None,
    }


def test_an_override_replaces_creates_and_removes() -> None:
    raw = {"name": "x", "workload": [{"size": "1MB", "fan_in": 3}], "switches": {"dscp_to_tc": {26: 3}}}
    sets = [
        "transport.cc=none",
        "workload[0].size=4MB",
        "workload[0].fan_in=null",
        "switches.dscp_to_tc.26=4",
        "switches.lossless=[3, 4]",
    ]
    assert apply_overrides(raw, sets) == {
        "name": "x",
        "workload": [{"size": "4MB"}],
        "transport": {"cc": "none"},
        "switches": {"dscp_to_tc": {26: 4}, "lossless": [3, 4]},
    }
    assert raw["workload"] == [{"size": "1MB", "fan_in": 3}]
    assert raw["switches"] == {"dscp_to_tc": {26: 3}}


def test_an_override_copies_the_section_that_it_changes_and_no_other() -> None:
    raw = {"workload": [{"size": "1MB"}], "transport": {"dcqcn": "default"}, "run": {"seed": 1}}
    found = apply_overrides(raw, ["run.seed=2", "run.duration=1ms"])
    assert found["workload"] is raw["workload"]
    values = apply_values(raw, {"transport.dcqcn.g": 0.5, "run.seed": 3})
    assert (values["run"], values["transport"]["dcqcn"]) == ({"seed": 3}, {"preset": "default", "g": 0.5})
    assert raw == {"workload": [{"size": "1MB"}], "transport": {"dcqcn": "default"}, "run": {"seed": 1}}


def test_all_bad_overrides_are_reported_together() -> None:
    with pytest.raises(InputErrors) as caught:
        apply_overrides(
            {"name": "x", "workload": []}, ["transprot.cc=none", "name", "workload[2].size=1MB", "name.x=1"]
        )
    text = str(caught.value)
    assert len(caught.value.problems) == 4
    assert "did you mean 'transport'?" in text
    assert "is not path=value" in text
