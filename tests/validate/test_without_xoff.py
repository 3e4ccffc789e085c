"""A lossless profile without xoff: the missing field is the cause, whatever the profile is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.mistakes.mistake import good, write
from tests.mistakes.score import judged

NAME = "pg_lossless_400000_40m_profile"


def named(tree: Any, name: str) -> dict[str, Any]:  # noqa: ANN401  JSON
    """The profile of long cables under another name."""
    profile: dict[str, Any] = tree["BUFFER_PROFILE"].pop(NAME)
    tree["BUFFER_PROFILE"][name] = profile
    for row in tree["BUFFER_PG"].values():
        if row["profile"] == NAME:
            row["profile"] = name
    return profile


def removed(tree: Any) -> str:  # noqa: ANN401
    """Without the field."""
    del tree["BUFFER_PROFILE"][NAME]["xoff"]
    return NAME


def zero(tree: Any) -> str:  # noqa: ANN401
    """With the field, of no bytes."""
    tree["BUFFER_PROFILE"][NAME]["xoff"] = "0"
    return NAME


def own_name(tree: Any) -> str:  # noqa: ANN401
    """Without the field, under a name of the operator's own."""
    del named(tree, "headroom40m")["xoff"]
    return "headroom40m"


@pytest.mark.parametrize("edit", [removed, zero, own_name])
def test_a_missing_xoff_is_the_only_cause(edit: Callable[[Any], str], tmp_path: Path) -> None:
    files = good("sonic")
    name = edit(files["leaf1.json"])
    write("sonic", files, tmp_path)
    (cause,) = judged(tmp_path)
    assert cause.check.id == "M4"
    assert f"'{name}', which states no xoff" in cause.first.text
    assert {(it.field, it.value) for it in cause.fixes} == {(f"BUFFER_PROFILE|{name}|xoff", "77824")}
    assert set(cause.counts) == {"L9"}


def test_a_lossy_profile_on_a_lossless_group_is_a_wrong_binding(tmp_path: Path) -> None:
    files = good("sonic")
    tree = files["leaf1.json"]
    pool = tree["BUFFER_PROFILE"][NAME]["pool"]
    tree["BUFFER_PROFILE"]["ingress_lossy_profile"] = {"pool": pool, "size": "0", "static_th": "20000"}
    tree["BUFFER_PG"]["Ethernet24|3"]["profile"] = "ingress_lossy_profile"
    write("sonic", files, tmp_path)
    (cause,) = (it for it in judged(tmp_path) if it.check.id == "M4")
    assert "states no xoff" not in cause.first.text
    assert {it.value for it in cause.fixes} == {NAME}
