"""`python -m tools.figures`: how each picture of the pages is made, and make them again.

    python -m tools.figures              the table: picture, command, duration
    python -m tools.figures clos3.svg    make these, by the end of their path; `make figures NAME=clos3.svg`
    python -m tools.figures --all        make every picture, in hours; `make figures NAME=--all`

A picture that a page shows is in this table, and the other way round (tests/docs/test_figures.py).
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabric.cli.demo_gallery import DEMOS
from tools.requirements import ROOT

IMAGES: Final = "docs/images"
PAUSES: Final = "<style>nav, header, main > *:not(#pauses) { display: none }</style>"
"""Hides all of a run's page but its pauses."""
DAMAGE: Final = "<style>nav, header + ul, #overview, #ranking, #redundancy, #repeat { display: none }</style>"
"""Hides all of a what-if page but its verdict, the map and the worst failure."""
PHONE: Final = 'style="border: 0; width: 390px; height: 844px"'


@dataclass(frozen=True)
class Figure:
    """Pictures that one command makes."""

    paths: tuple[str, ...]
    """Below docs/images."""
    command: str
    """`fabric ...` or `python -m ...`; {} stands for an empty folder."""
    takes: str
    finish: Callable[[Path, Path], None] | None = None
    """What makes the pictures of the folder that the command has filled: (folder, docs/images)."""


def _browser() -> str:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("chromium is not installed (Debian: apt-get install chromium)")
    return chromium


def _storm(folder: Path, images: Path) -> None:
    """The replay of a storm at the moment at which most ports are paused, at which its page opens."""
    from tools.gallery import shot_of  # noqa: PLC0415  it needs the extra `plot`

    page = folder / "report.html"
    subprocess.run([sys.executable, "-m", "fabric", "report", str(folder)], check=True)
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{PAUSES}</body>"), encoding="utf-8")
    with tempfile.TemporaryDirectory() as work:
        shot = shot_of(page, _browser(), Path(work), (1120, 870), 1120)
    (images / "pause-storm.png").write_bytes(shot)


def _site(folder: Path, images: Path) -> None:
    """The first page of the site: wide, on a phone, and in dark colours as its button chooses them."""
    from tools.gallery import shot_of  # noqa: PLC0415  as in _storm()

    first, dark, phone = (folder / name for name in ("index.html", "dark.html", "phone.html"))
    text = first.read_text(encoding="utf-8")
    dark.write_text(text.replace('data-md-color-scheme="default"', 'data-md-color-scheme="slate"'), encoding="utf-8")
    # A browser without a screen is never narrower than 500 pixels.
    phone.write_text(
        f'<body style="margin: 0"><iframe src="{first.as_uri()}" {PHONE}></iframe></body>', encoding="utf-8"
    )
    with tempfile.TemporaryDirectory() as work:
        for name, page, window, width, crop in (
            ("desktop", first, (1280, 800), 800, 0),
            ("dark", dark, (1280, 800), 800, 0),
            ("phone", phone, (600, 844), 390, 390),
        ):
            (images / f"site-{name}.png").write_bytes(shot_of(page, _browser(), Path(work), window, width, crop))


def _what_if(folder: Path, images: Path) -> None:
    """The page of a what-if study, its map of damage and the worst failure explained."""
    from tools.gallery import shot_of  # noqa: PLC0415  as in _storm()

    page = folder / "whatif.html"
    text = page.read_text(encoding="utf-8").replace(f"{folder}/", "runs/whatif/")
    page.write_text(text.replace("</body>", f"{DAMAGE}</body>"), encoding="utf-8")
    with tempfile.TemporaryDirectory() as work:
        shot = shot_of(page, _browser(), Path(work), (1240, 1560), 720)
    (images / "what-if.png").write_bytes(shot)


FIGURES: Final = (
    Figure(("what-if.png",), "fabric whatif scenarios/three-tier.yml --out {} --yes", "1 minute", _what_if),
    Figure(("pause-storm.png",), "fabric playbook run pfc-storm --out {}", "1 minute", _storm),
    Figure(
        ("clos3.svg",),
        "fabric topology show --kind clos3 --set pods=2 --set leaves_per_pod=2 --set spines_per_pod=2 "
        "--set super_spines=4 --set hosts_per_leaf=8 --set host_rate=100G --set fabric_rate=400G "
        "--draw docs/images/clos3.svg",
        "seconds",
    ),
    Figure(
        ("site-desktop.png", "site-phone.png", "site-dark.png"),
        "python -m mkdocs build --strict --quiet --site-dir {}",
        "1 minute",
        _site,
    ),
    Figure(
        ("study-ecn-front.svg", "study-ecn-surface.svg"),
        "python -m bench.study_results --write docs/study-results.md",
        "15 minutes",
    ),
    Figure(
        ("control-rates.svg",),
        "fabric fidelity --reference tests/data/ns3_cc --draw-rates docs/images/control-rates.svg",
        "minutes",
    ),
    Figure(
        tuple(f"fidelity-{name}.svg" for name in ("fixed-point", "presets", "scatter", "stability")),
        "fabric fidelity --reference tests/data/ns3 --write docs/fidelity.md",
        "half an hour",
    ),
    Figure(
        tuple(f"performance-{name}.svg" for name in ("curve", "profile", "threads")),
        "python -m bench --plots docs/images --write docs/performance.md",
        "hours",
    ),
    *(
        Figure((f"gallery/{demo.name}.png",), f"python -m tools.gallery {demo.name}", f"{demo.seconds} s")
        for demo in DEMOS
    ),
)


def table() -> str:
    """The table as text."""
    return "".join(f"{' '.join(it.paths)}\n    {it.command}    ({it.takes})\n" for it in FIGURES)


def make(figure: Figure) -> None:
    """Run its command. Raises: CalledProcessError."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "figure"
        program, *words = shlex.split(figure.command.replace("{}", str(folder)))
        module = ["-m", "fabric"] if program == "fabric" else []
        subprocess.run([sys.executable, *module, *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        if figure.finish is not None:
            figure.finish(folder, ROOT / IMAGES)


def main(given: Sequence[str] | None = None) -> int:
    """List, or make."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.figures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="make these")
    parser.add_argument("--all", action="store_true", help="make every picture, in hours")
    args = parser.parse_args(given)
    names = [""] if args.all else args.names
    if args.all and args.names:
        parser.error("--all makes every picture: leave out the names")
    if not names:
        print(table(), end="")
        return 0
    wanted = [it for it in FIGURES if any(path.endswith(name) for path in it.paths for name in names)]
    missing = [name for name in names if not any(path.endswith(name) for it in FIGURES for path in it.paths)]
    if missing:
        parser.error(f"no picture is called {', '.join(missing)}")
    for it in wanted:
        make(it)
        print(", ".join(it.paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
