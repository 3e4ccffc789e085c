"""The site of the documentation: built without a warning, read without a network, and as a viewer shows the files."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import pytest
from markdown_it import MarkdownIt

from tests.conftest import ROOT
from tools import site

DOCS: Final = ROOT / "docs"
TAGS: Final = ("blockquote", "code", "em", "h1", "h2", "h3", "li", "pre", "strong", "table", "td", "tr")
FETCHED: Final = re.compile(r"<(?:script|img|iframe|source)[^>]*\ssrc=\"([^\"]*)\"|<link[^>]*\shref=\"([^\"]*)\"")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` does."""
    out = tmp_path_factory.mktemp("site") / "out"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def page(built: Path, source: Path) -> str:
    """Text of a page between its header and footer, without the site's own buttons."""
    name = source.relative_to(DOCS).with_suffix(".html")
    file = built / (name.with_name("index.html") if source.name == "README.md" else name)
    found = re.search(r"<article[^>]*>(.*?)</article>", file.read_text(encoding="utf-8"), re.DOTALL)
    assert found, file
    return re.sub(r"<(button|nav)\b.*?</\1>", "", found[1], flags=re.DOTALL)


def shown(text: str) -> tuple[Counter[str], list[str]]:
    """Tags by their number, and the code in sentences and tables."""
    tags = Counter(re.findall(rf"<({'|'.join(TAGS)})\b", text))
    code = re.findall(r"<code>([^<]*)</code>", re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL))
    return tags, [" ".join(html.unescape(it).split()) for it in code]


def test_a_page_of_the_site_has_what_a_viewer_of_the_repository_shows(built: Path) -> None:
    reader = MarkdownIt("commonmark").enable("table")
    sources = sorted(DOCS.rglob("*.md"))
    assert len(sources) > 150
    for source in sources:
        there = shown(page(built, source))
        here = shown(reader.render(source.read_text(encoding="utf-8")))
        assert there == here, source


def test_no_page_fetches_anything_from_elsewhere(built: Path) -> None:
    found = {
        address
        for file in built.rglob("*.html")
        for pair in FETCHED.findall(file.read_text(encoding="utf-8"))
        for address in pair
        if re.match(r"(?:[a-z]+:)?//", address)
    }
    assert found == set()
    styles = "".join(file.read_text(encoding="utf-8") for file in built.rglob("*.css"))
    assert not re.findall(r"url\(['\"]?(?:https?:)?//[^)]*\)|@import[^;]*//", styles)


def test_the_search_works_from_files_and_knows_pages_but_not_copied_files(built: Path) -> None:
    text = (built / "search/search_index.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("var __index = "))
    places = {it["location"].partition("#")[0] for it in index["docs"]}
    assert places >= {"commands.html", "tutorials/check-thresholds.html", "checks.html", "decisions/0001-licence.html"}
    assert not [it for it in places if it.startswith("files/scenarios")]
    assert "iframe-worker.js" in (built / "index.html").read_text(encoding="utf-8")


def test_the_search_of_a_site_on_a_disk_finds_pages_in_a_browser(built: Path, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    given = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    address = f"{(built / 'index.html').as_uri()}?q=headroom"
    done = subprocess.run(
        [chromium, *given, f"--user-data-dir={tmp_path}", "--virtual-time-budget=15000", "--dump-dom", address],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.search(r"(\d+) matching documents", done.stdout)
    assert found, done.stderr[-1000:]
    assert int(found[1]) > 20


def test_a_file_outside_docs_has_a_page_in_the_site(built: Path) -> None:
    assert "PFC storm" in (built / "files/playbooks/pfc-storm/index.html").read_text(encoding="utf-8")
    assert "clos3" in (built / "files/scenarios/clos-1024.yml.html").read_text(encoding="utf-8")


def test_a_link_to_nothing_and_a_link_elsewhere_stay_as_they_are() -> None:
    assert site._resolved("docs/index.md", "absent.md") is None
    assert site._resolved("docs/index.md", "https://example.org/a.md") is None
    assert site._resolved("docs/index.md", "../../outside.md") is None
    assert site._resolved("docs/index.md", "../playbooks/pfc-storm") == "playbooks/pfc-storm/README.md"


def test_a_pattern_of_the_navigation_is_the_pages_that_no_entry_names(tmp_path: Path) -> None:
    from mkdocs.config.defaults import MkDocsConfig

    for name, heading in (("one", "First"), ("two", "Zeta"), ("three", "Alpha")):
        (tmp_path / f"{name}.md").write_text(f"# {heading}\n")
    config = MkDocsConfig()
    config.docs_dir = str(tmp_path)
    config.nav = [{"All": ["one.md", "*.md", "absent*.md"]}]
    assert site.on_config(config).nav == [{"All": ["one.md", "three.md", "two.md"]}]
