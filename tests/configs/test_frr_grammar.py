"""The forms of FRR's lines against vtysh, and what is said of lines that vtysh refuses.

`vtysh -C` reads a file without a daemon, and names each line that it refuses. Its program has the definitions of all
commands in it: lines are drawn from them, so that those of protocols that are not read are among them.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from fabric.configs.frr.mistyped import in_full, slip_of
from fabric.configs.frr.nesting import nested
from fabric.configs.load import load_network
from fabric.errors import InputErrors
from tests.mistakes import frr
from tests.mistakes.mistake import Edit, replaced, write
from tests.mistakes.score import judged

_BGP: Final = ("router bgp 65001",)
_EVPN: Final = (*_BGP, "address-family l2vpn evpn")
_PLACES: Final = {
    ("",): (),
    ("", "router bgp"): _BGP,
    ("", "router bgp", "address-family ipv4 unicast"): (*_BGP, "address-family ipv4 unicast"),
    ("", "router bgp", "address-family l2vpn evpn"): _EVPN,
    ("", "router bgp", "address-family l2vpn evpn", "vni NUMBER"): (*_EVPN, "vni 100"),
    ("", "interface NAME"): ("interface eth1",),
    ("", "route-map NAME"): ("route-map RM permit 10",),
    ("", "router ospf"): ("router ospf",),
    ("", "vrf NAME"): ("vrf red",),
    ("", "bfd"): ("bfd",),
    ("", "bfd", "peer ADDRESS"): ("bfd", "peer 10.0.0.9"),
    ("", "line vty"): ("line vty",),
}
"""Blocks to the lines that open them."""
_QUICK: Final = [it for it in _PLACES if it[-1] in {"", "router bgp"}]
_WORDS: Final = {
    "A.B.C.D": "10.0.0.1", "A.B.C.D/M": "10.0.0.0/24", "X:X::X:X": "fe80::1", "X:X::X:X/M": "2001:db8::/32",
    "ASN:NN_OR_IP-ADDRESS:NN": "65001:10", "RT": "65001:10", "RTLIST": "65001:10", "AA:NN": "65001:10",
    "X:X:X:X:X:X": "00:11:22:33:44:55",
}  # fmt: skip
_TOKEN: Final = re.compile(r"[][<>{}|]|\([-\d]+\)|[^][<>{}|()\s]+")
_NO_CONFIGURATION: Final = re.compile(r"(?:\[no\] ?|no )?(?:show|clear|debug|undebug|end|exit|quit|find|list)\b")
_OF_FABRICS: Final = re.compile(
    r"(?:neighbor|network|bgp|address-family|router|interface|route-map|match|set|timers|vni|maximum-paths|redistribute"
    r"|advertise|route-target|rd|area|passive-interface|distance|peer|ip (?:route|prefix|address|ospf))\b"
)


def _drawn(tokens: list[str], rng: random.Random) -> list[str]:
    """A line of a definition: `[...]` or nothing, one of `<...>`, some of `{...}`."""
    parts, depth, inner = [list[list[str]]()], 0, list[str]()
    for token in tokens:
        if token in "[<{" or depth:
            depth += (token in "[<{") - (token in "]>}")
            inner.append(token)
            if not depth:
                parts[-1].append(inner)
                inner = []
        elif token == "|":
            parts.append([])
        elif not token.startswith("$"):
            parts[-1].append([token])
    found = []
    for part in rng.choice(parts):
        kind, body = part[0], part[1:-1]
        if kind == "[" and rng.random() < 0.4:
            continue
        if len(part) > 1:
            for _ in range(rng.choice((1, 1, 2)) if kind == "{" else 1):
                found += _drawn(body, rng)
        else:
            found.append(_word(kind, rng))
    return found


def _word(token: str, rng: random.Random) -> str:
    token = token.split("$", maxsplit=1)[0].removesuffix("...")
    if token.startswith("("):
        return rng.choice(re.findall(r"-?\d+", token.replace("-", " ", 1) if token[1] != "-" else token))
    return _WORDS.get(token, "eth7" if re.fullmatch(r"[A-Z][A-Z0-9_:-]*", token) else token)


def _lines(rng: random.Random, each: int) -> list[str]:
    """Lines that are drawn from the definitions in vtysh."""
    program = shutil.which("vtysh")
    if program is None:
        pytest.skip("FRR is not installed")
    found = dict[str, None]()
    for raw in re.findall(rb"[\t\n\x20-\x7e]{3,}", Path(program).read_bytes()):
        text = " ".join(raw.decode().split())
        if "%" in text or "=" in text or "_" in text.split(" ")[0]:  # a message, or a name in the program
            continue
        if not re.match(r"[a-z[<]", text) or len(text) > 600 or _NO_CONFIGURATION.match(text):
            continue
        for _ in range(each):
            try:
                line = " ".join(_drawn(_TOKEN.findall(text), rng))
            except IndexError:  # a sentence, with a bracket that has no end
                break
            if 1 < len(line) < 200:
                found[line] = None
    return list(found)


def _refused(lines: list[str], opening: tuple[str, ...], folder: Path) -> set[str]:
    """The lines that vtysh refuses in a block."""
    rows = [row for line in lines for row in (*opening, line)]
    file = folder / "lines.conf"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = subprocess.run(
        ["vtysh", "-C", "-f", file], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    numbers = {int(it) for it in re.findall(r"^line (\d+):", done.stdout + done.stderr, re.MULTILINE)}
    return {rows[number - 1] for number in numbers}


def _no_false_alarm(blocks: tuple[str, ...], lines: list[str], folder: Path) -> None:
    refused = _refused(lines, _PLACES[blocks], folder)
    good = [it for it in lines if it not in refused]
    assert len(good) > len(lines) / 12  # most of what is drawn are lines of other blocks, and sentences
    assert [(it, slip_of(it, blocks)) for it in good if slip_of(it, blocks) is not None] == []
    assert sum(in_full(it, blocks) is None for it in good) < len(good) / 40


@pytest.mark.parametrize("blocks", _QUICK, ids=lambda it: it[-1] or "outermost")
def test_no_line_that_vtysh_takes_is_called_wrong(blocks: tuple[str, ...], tmp_path: Path) -> None:
    _no_false_alarm(blocks, _lines(random.Random(1), 1), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("blocks", _PLACES, ids=lambda it: it[-1] or "outermost")
def test_none_of_many_lines_that_vtysh_takes_is_called_wrong(
    blocks: tuple[str, ...], seed: int, tmp_path: Path
) -> None:
    _no_false_alarm(blocks, _lines(random.Random(seed), 5), tmp_path)


def _mistyped(line: str, rng: random.Random) -> Iterator[str]:
    """The line with one slip of each kind."""
    words = line.split()
    places = [number for number, it in enumerate(words) if re.fullmatch(r"[a-z-]{4,}", it)]
    if places:
        number = rng.choice(places)
        word = words[number]
        at = rng.randrange(len(word) - 1)
        slips = (
            word[:at] + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word + rng.choice("aen"),
        )
        yield " ".join((*words[:number], rng.choice(slips), *words[number + 1 :]))
    if any(it.isdigit() for it in words):
        number = rng.choice([number for number, it in enumerate(words) if it.isdigit()])
        yield " ".join((*words[:number], "99999999999", *words[number + 1 :]))
    if len(words) > 2:
        yield " ".join(words[:-1])


@pytest.mark.parametrize("blocks", [("", "router bgp"), ("", "route-map NAME")], ids=lambda it: it[-1])
def test_nearly_every_line_with_one_slip_is_named(blocks: tuple[str, ...], tmp_path: Path) -> None:
    rng = random.Random(5)
    lines = [it for it in _lines(rng, 1) if _OF_FABRICS.match(it)]
    refused = _refused(lines, _PLACES[blocks], tmp_path)
    slips = list(dict.fromkeys(slip for it in lines if it not in refused for slip in _mistyped(it, rng)))
    wrong = sorted(_refused(slips, _PLACES[blocks], tmp_path) & set(slips))
    missed = [it for it in wrong if slip_of(it, blocks) is None]
    assert len(wrong) > 150
    assert len(missed) < 0.03 * len(wrong), missed


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("neigbor 10.0.0.1 remote-as 65001", "neighbor 10.0.0.1 remote-as 65001"),
        ("neighbor 10.0.0.1 remtoe-as 65001", "neighbor 10.0.0.1 remote-as 65001"),
        ("neighbor 10.0.0.1 Remote-as 65001", "neighbor 10.0.0.1 remote-as 65001"),
        ("nieghbor 10.0.0.l activate", None),  # two slips
        ("neighbor 10.0.0.1 remove-private-as", "neighbor 10.0.0.1 remove-private-AS"),
        ("address-family l2vpn evnp", "address-family l2vpn evpn"),
        ("no neighbor 10.0.0.1 shutdwon", "no neighbor 10.0.0.1 shutdown"),
        ("neighbor 10.0.0.1 remote-as 4294967295", None),
        ("neighbor 10.0.0.1 remote-as 4294967296", ": '4294967296' is no AS number"),
        ("neighbor 10.0.0.1 ebgp-multihop 255", None),
        ("neighbor 10.0.0.1 ebgp-multihop 256", ": 256 is outside 1..255"),
        ("neighbor 10.0.256.1 remote-as 65001", ": '10.0.256.1' is no address"),
        ("bgp router-id 10.0.0", ": '10.0.0' is no IPv4 address"),
        ("neighbor 10.0.0.1 remote-as", " ends too early"),
        ("bgp listen range 10.0.0.0/24 FABRIC", " lacks a word before 'FABRIC': 'peer-group'"),
        ("advertise-all-vni", " is no line of 'router bgp', but of 'address-family l2vpn evpn'"),
        ("neigh 10.0.0.1 remote 65001", None),
        ("neighbor 10.0.0.1 description neigbor of rack 7", None),
    ],
)
def test_a_line_of_bgp_is_judged_by_its_form(line: str, said: str | None) -> None:
    slip = slip_of(line, ("", "router bgp"))
    assert (slip is None) == (said is None)
    assert slip is None or said is None or said in (slip.meant if slip.meant and not slip.text else slip.text)


def test_words_that_are_begun_are_written_out() -> None:
    assert in_full("neigh 10.0.0.1 remote 65001", ("", "router bgp")) == "neighbor 10.0.0.1 remote-as 65001"
    assert in_full("ip route 10.0.0.0/8 Null0", ("", "router bgp")) == "ip route 10.0.0.0/8 Null0"
    assert in_full("network 10.0.0.0/8", ("",)) is None


_OPENED = "address-family l2vpn evpn"


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (replaced(_OPENED, "address-family l2vpn evnp"), "did you mean 'address-family l2vpn evpn'?"),
        (replaced("router bgp", "ruoter bgp"), "did you mean 'router bgp 65101'?"),
        (replaced("10.1.0.1 remote-as 65000", "10.1.0.1 remote-as"), "ends too early"),
        (replaced("10.1.0.1 activate", "10.1.0.1 actvate"), "did you mean 'neighbor 10.1.0.1 activate'?"),
        (replaced("network 10.0.0.1/32", "network 10.0.0.1/33"), "'10.0.0.1/33' is no IPv4"),
    ],
)
def test_a_line_that_frr_refuses_is_one_cause(edit: Edit, said: str, flat: bool, tmp_path: Path) -> None:
    files = frr.good()
    text = edit(files["leaf1.frr.conf"])
    files["leaf1.frr.conf"] = "\n".join(row.strip() for row in text.split("\n")) if flat else text
    write("sonic", files, tmp_path)
    causes = judged(tmp_path)
    assert [it.check.id for cause in causes for it in cause.findings] == ["R5"]
    assert said in causes[0].findings[0].text
    assert causes[0].findings[0].place is not None


def test_an_abbreviated_file_says_what_the_full_one_says(tmp_path: Path) -> None:
    files = frr.good()
    files["leaf1.frr.conf"] = files["leaf1.frr.conf"].replace("remote-as", "remote").replace("activate", "activ")
    write("sonic", files, tmp_path)
    assert not judged(tmp_path)


def test_a_flat_file_keeps_the_rows_of_a_block_whose_first_line_is_mistyped() -> None:
    text = "router bgp 65001\nadress-family l2vpn evpn\nadvertise-all-vni\nexit-address-family"
    assert nested(text, lambda _, row: row.replace("adress", "address")).split("\n")[2] == "  advertise-all-vni"


def test_lines_of_a_router_that_is_no_switch_are_judged(tmp_path: Path) -> None:
    write("sonic", frr.good(), tmp_path)
    (tmp_path / "router9.frr.conf").write_text("hostname router9\nrouter bgp 65009\n neigbor 10.0.0.1 passive\n")
    unread = load_network([tmp_path]).unread
    assert [it.place.line for it in unread if "did you mean 'neighbor 10.0.0.1 passive'" in it.what] == [3]


def test_files_of_frr_alone_are_refused_with_their_wrong_lines(tmp_path: Path) -> None:
    (tmp_path / "frr.conf").write_text("hostname router9\nrouter bgp 65009\n timers bgp 3\n", encoding="utf-8")
    with pytest.raises(InputErrors, match="ends too early") as caught:
        load_network([tmp_path])
    assert len(caught.value.problems) == 2
