"""A finding names the line of the statement, in every language: the one by which the file differs from the right."""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path

import pytest

from fabric.validate.fix.told import with_remedies
from fabric.validate.judge import Request, judge
from tests.mistakes.mistake import LANGUAGES, Edit, good, put, replaced, write

_PORT = "interface Ethernet1/3"
MISTAKES: tuple[tuple[str, str, Edit], ...] = (
    ("nxos", "leaf1.cfg", replaced("remote-as 65000", "remote-as 65010")),
    ("nxos", "leaf1.cfg", replaced("mtu 9216", "mtu 1500", after=_PORT)),
    ("nxos", "spine1.cfg", replaced("no shutdown", "shutdown")),
    ("eos", "leaf1.cfg", replaced("mtu 9214", "mtu 1500", after="interface Ethernet3")),
    ("eos", "leaf1.cfg", replaced("priority-flow-control priority 3", "priority-flow-control priority 4")),
    ("nvue", "leaf1.yaml", put("interface", "swp3", "link", "mtu", value=1500)),
    ("nvue", "leaf1.yaml", put("interface", "swp3", "qos", "pfc-watchdog", "state", value="disable")),
    ("sonic", "leaf1.json", put("PORT", "Ethernet16", "mtu", value="1500")),
)


@pytest.mark.parametrize(("language", "name", "edit"), MISTAKES)
def test_the_place_of_a_finding_is_the_statement(language: str, name: str, edit: Edit, tmp_path: Path) -> None:
    files = good(language)
    right = files[name] if isinstance(files[name], str) else LANGUAGES[language].text(files[name])
    files[name] = edit(files[name])
    write(language, files, tmp_path)
    wrong = (tmp_path / name).read_text(encoding="utf-8")
    edits = SequenceMatcher(None, right.split("\n"), wrong.split("\n"), autojunk=False).get_opcodes()
    (line,) = (low + 1 for kind, _, _, low, _ in edits if kind != "equal")
    request = Request([tmp_path])
    place = with_remedies(request, judge(request)).causes[0].first.place
    assert place is not None
    assert (Path(place.file).name, place.line) == (name, line)
