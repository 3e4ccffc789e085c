"""`python -m tools.gallery`: run every demo, take a picture of its page, and write docs/gallery.md.

    python -m tools.gallery              all of them: pictures, page, measured seconds
    python -m tools.gallery pfc-storm    pictures of these only, and the page
    python -m tools.gallery --page       the page alone, from the gallery and the pictures that are there

Pictures are made by headless Chromium and reduced to a palette, at most MAX_BYTES each.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from fabric.cli.demo_gallery import DEMOS, Demo
from fabric.visible import command
from tools.requirements import ROOT

PAGE: Final = "docs/gallery.md"
PICTURES: Final = "docs/images/gallery"
MAX_BYTES: Final = 80_000
WINDOW: Final = (1000, 1000)
"""Pixels of the browser: the map of a page, else its beginning."""
MAP: Final = """<style>
body:has(#map) :is(nav, header > *:not(h1):not(.verdict), main > *:not(#map)) { display: none }
</style></body>"""
"""Hides all but title and map of a page that has a map."""
WIDTH: Final = 800
COLOURS: Final = (64, 32, 16)
MIN_COLOURS: Final = 20
"""A picture with fewer shows nothing."""


def page() -> str:
    """The gallery as Markdown."""
    lines = [
        "# Gallery",
        "",
        "Made by `python -m tools.gallery`, which runs every demo. `fabric demo` lists them in the terminal, and",
        "`fabric demo NAME` runs one in any folder: it prints its commands, leaves a page, and says what to ask next.",
        "The first run compiles the engine, once per version; the seconds below are those of one core afterwards.",
    ]
    for it in DEMOS:
        lines += ["", f"## {it.name}: {it.question}", "", f"{it.shows} About {it.seconds} s.", "", "```"]
        folder = f"runs/demo-{it.name}"
        lines += [f"fabric demo {it.name}", *(command("fabric", *_placed(words, folder)) for words in it.ask), "```"]
        if (ROOT / PICTURES / f"{it.name}.png").is_file():
            lines += ["", f"![Page of the demo {it.name}](images/gallery/{it.name}.png)"]
    return "\n".join(lines) + "\n"


def _placed(words: tuple[str, ...], folder: str) -> list[str]:
    return [word.replace("{}", folder) for word in words]


def run_demo(it: Demo, folder: Path) -> float:
    """Run a demo in `folder`. Returns: its processor time in seconds.

    Raises: CalledProcessError, also where it ends otherwise than it should.
    """
    before = os.times()
    words = [sys.executable, "-m", "fabric", "demo", it.name, "--out", folder.name, "--json"]
    subprocess.run(words, capture_output=True, check=True, cwd=folder.parent)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def picture(file: Path, chromium: str, work: Path) -> bytes:
    """The map or the beginning of a page as a PNG of a palette.

    Raises: ValueError where it is blank, or too large with the fewest colours.
    """
    copy = work / "page.html"
    copy.write_text(file.read_text(encoding="utf-8").replace("</body>", MAP), encoding="utf-8")
    return shot_of(copy, chromium, work, WINDOW, WIDTH)


def shot_of(file: Path, chromium: str, work: Path, window: tuple[int, int], width: int, crop: int = 0) -> bytes:
    """A page as `window` of the browser shows it, made `width` pixels wide; `crop`: only the left part of the window.

    Raises: as picture().
    """
    from PIL import Image  # noqa: PLC0415  comes with matplotlib, of the extra `plot`

    shot = work / "shot.png"
    subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            f"--user-data-dir={work / 'profile'}",
            f"--window-size={window[0]},{window[1]}",
            "--virtual-time-budget=3000",
            f"--screenshot={shot}",
            file.as_uri(),
        ],
        capture_output=True,
        check=True,
        timeout=120,
    )
    with Image.open(shot) as image:
        whole = image.convert("RGB").crop((0, 0, crop or window[0], window[1]))
        if len(whole.getcolors(window[0] * window[1]) or ()) < MIN_COLOURS:
            raise ValueError(f"{file}: its picture is blank")
        small = whole.resize((width, whole.height * width // whole.width), Image.Resampling.LANCZOS)
    for colours in COLOURS:
        out = io.BytesIO()
        small.quantize(colours, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        if len(out.getvalue()) <= MAX_BYTES:
            return out.getvalue()
    raise ValueError(f"{file}: its picture is larger than {MAX_BYTES} bytes")


def main(given: list[str] | None = None) -> int:
    """Run, take pictures, write."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.gallery", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these demos")
    parser.add_argument("--page", action="store_true", help="run nothing")
    words = parser.parse_args(given)
    unknown = set(words.names) - {it.name for it in DEMOS}
    if unknown:
        parser.error(f"no demo {', '.join(sorted(unknown))}")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not words.page and chromium is None:
        parser.error("chromium is not installed (Debian: apt-get install chromium)")
    for it in [] if words.page else [it for it in DEMOS if not words.names or it.name in words.names]:
        with tempfile.TemporaryDirectory() as home:
            folder = Path(home) / "demo"
            began = time.monotonic()
            seconds = run_demo(it, folder)
            shot = picture(Path(it.page.replace("{}", str(folder))), str(chromium), Path(home))
        (ROOT / PICTURES).mkdir(parents=True, exist_ok=True)
        (ROOT / PICTURES / f"{it.name}.png").write_bytes(shot)
        wall = time.monotonic() - began
        print(f"{it.name}: {seconds:.1f} s of processor time, {wall:.0f} s in all, {len(shot)} bytes", flush=True)
    (ROOT / PAGE).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
