"""Two ends of a cable that state different lengths: the switch that is named is the one that has to change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mistakes.mistake import Edit, good, put, write
from tests.mistakes.score import judged


@pytest.mark.parametrize(
    ("language", "edit", "port", "right"),
    [
        ("sonic", put("CABLE_LENGTH", "AZURE", "Ethernet24", value="300m"), "Ethernet24", "40m"),  # longer
        ("sonic", put("CABLE_LENGTH", "AZURE", "Ethernet24", value="5m"), "Ethernet24", "40m"),  # shorter
        ("nvue", put("qos", "pfc", "default-global", "cable-length", value=300), "swp3", "40m"),
        ("nvue", put("qos", "pfc", "default-global", "cable-length", value=5), "swp3", "40m"),
    ],
)
def test_the_switch_with_the_wrong_length_is_named_first(
    language: str, edit: Edit, port: str, right: str, tmp_path: Path
) -> None:
    files = good(language)
    name = next(it for it in files if it.startswith("leaf1."))
    files[name] = edit(files[name])
    write(language, files, tmp_path)
    (cause,) = judged(tmp_path)
    assert (cause.check.id, list(cause.devices)) == ("H5", ["leaf1"])
    assert cause.first.object == port
    assert {(it.device, it.value) for it in cause.fixes} == {("leaf1", right)}


def test_a_length_that_no_row_has_is_told_beside_that_of_the_other_end(tmp_path: Path) -> None:
    files = good("sonic")
    files["leaf1.json"] = put("CABLE_LENGTH", "AZURE", "Ethernet24", value="400m")(files["leaf1.json"])
    write("sonic", files, tmp_path)
    (cause,) = judged(tmp_path)
    assert cause.check.id == "H2"
    assert "; spine1:Ethernet8 states 40m" in cause.first.text
    assert not cause.fixes  # the cable may be as long as that: then its row is missing
