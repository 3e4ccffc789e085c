"""Names of a configuration in a recommendation: text stays text, Markdown stays a paragraph."""

from __future__ import annotations

from fabric.recommend.classes import Classes
from fabric.recommend.output import as_markdown, as_text
from fabric.recommend.recommend import Recommendation
from tests.reliability.strict import markdown, plain

HOSTILE = "leaf1\x1b[8m\u202e\nFORGED: all is well ![x](http://e.example/p) <b> |"


def found() -> Recommendation:
    return Recommendation(Classes({}, {}, (), "dcqcn", (f"{HOSTILE}: its chip is not known",)), {}, (), complete=True)


def test_a_name_forges_no_line_and_reaches_no_terminal() -> None:
    text = as_text(found(), 80)
    assert not plain(text)
    assert len(text.splitlines()) == 1


def test_a_name_is_neither_a_picture_nor_a_tag_in_markdown() -> None:
    assert not markdown(as_markdown(found()))
