"""Hooks of mkdocs.yml: what the pages need to be a site as well as files of a repository.

A page links to files outside docs/ (scenarios, playbooks, sources), which a viewer of the repository shows. The site
has a page for each such file below files/. Patterns in the navigation stand for the pages that no other entry names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from tools.requirements import ROOT

OUTSIDE: Final = "files"
"""Folder of the site for the files outside docs/."""
_LINK: Final = re.compile(r"(?P<before>\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?=[)\s])")
_FENCE: Final = re.compile(r"^(?P<fence> *(`{3,}|~{3,}))[^\n]*\n.*?^(?P=fence) *$", re.MULTILINE | re.DOTALL)
_CELL: Final = re.compile(r"^\|.*$", re.MULTILINE)
_CODE: Final = re.compile(r"`[^`]+`")
"""In a table a '|' within code is escaped for CommonMark, and shown with its backslash by Python-Markdown."""
_TERMINAL: Final = re.compile(r"\A( *`{3,})(\n(?:.*\n)*? *\$ )")
"""A block with a prompt, coloured as a terminal."""
_LIST: Final = re.compile(r"(?<=\n)(?P<line>(?![ \t]*(?:[-*+]|\d+\.) |[|>#]|    )[^\n]+\n)(?=(?:- |1\. ))")
_LANGUAGES: Final = {
    ".cfg": "text",
    ".conf": "text",
    ".frr": "text",
    ".ipynb": "json",
    ".json": "json",
    ".md": "markdown",
    ".py": "python",
    ".yaml": "yaml",
    ".yml": "yaml",
}
"""Ending -> how the page of such a file is coloured; the page of a folder names these files."""
_AS_THEY_ARE: Final = (".md", ".png", ".svg")
"""Files of docs/ that the site has under their own names; others get a page."""
_MARKS: Final = re.compile(r"[*?]")


# -- navigation --------------------------------------------------------------------------------------------------------


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace each pattern of the navigation by the pages that no other entry names."""
    docs = Path(config.docs_dir)
    named = {it for it in _entries(config.nav) if not _MARKS.search(it)}

    def pages(pattern: str) -> list[str]:
        found = [it.relative_to(docs).as_posix() for it in docs.glob(pattern)]
        new = sorted((it for it in found if it not in named), key=lambda it: title((docs / it).read_text("utf-8")))
        named.update(new)
        return new

    config.nav = _expanded(config.nav, pages)
    return config


def title(text: str) -> str:
    """Heading of a page, for its place among others."""
    found = re.search(r"^# +(.+)$", text, re.MULTILINE)
    return found[1].casefold() if found else ""


def _entries(nav: Any) -> Iterator[str]:  # noqa: ANN401  parsed YAML
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        nav = list(nav.values())
    if isinstance(nav, list):
        for each in nav:
            yield from _entries(each)


def _expanded(nav: list[Any], pages: Callable[[str], list[str]]) -> list[Any]:
    made: list[Any] = []
    for each in nav:
        if isinstance(each, str) and _MARKS.search(each):
            made += pages(each)
        elif isinstance(each, dict):
            made += [{name: _expanded(sub, pages) if isinstance(sub, list) else sub} for name, sub in each.items()]
        else:
            made.append(each)
    return made


# -- files outside docs/ -----------------------------------------------------------------------------------------------


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file outside docs/ to which a page links, or a page of such a file, and so on."""
    docs = Path(config.docs_dir).relative_to(ROOT).as_posix()
    todo = [f"{docs}/{it.src_uri}" for it in files.documentation_pages()]
    seen: set[str] = set()
    while todo:
        source = todo.pop()
        new = {it for it in _targets(source) if _uri(it, docs).startswith(f"{OUTSIDE}/")} - seen
        seen |= new
        todo += new
    for path in sorted(seen):
        files.append(File.generated(config, _uri(path, docs), content=_shown(path, docs)))
    return files


def _targets(source: str) -> Iterator[str]:
    """Files and folders of the repository to which the page of `source` links."""
    if (ROOT / source).is_dir():
        yield from _listed(source)
    elif source.endswith(".md"):
        text = _FENCE.sub("", (ROOT / source).read_text(encoding="utf-8"))
        found = (_resolved(source, it["target"]) for it in _LINK.finditer(text))
        yield from (path for path in found if path is not None)


def _listed(folder: str) -> list[str]:
    """Files in a folder and the folders below it, as the page of a folder names them."""
    files = (it for it in (ROOT / folder).rglob("*") if it.is_file() and it.suffix in _LANGUAGES)
    return sorted(it.relative_to(ROOT).as_posix() for it in files)


def _resolved(source: str, target: str) -> str | None:
    """Path in the repository that a link means; a folder with a README.md is that page; None for other addresses."""
    if re.match(r"[a-z]+:|/", target):
        return None
    path = PurePosixPath(os.path.normpath(PurePosixPath(source).parent / target))
    if path.parts[:1] == ("..",) or not (ROOT / path).exists():
        return None  # MkDocs names it
    if (ROOT / path / "README.md").is_file():
        path /= "README.md"
    return path.as_posix()


def _uri(path: str, docs: str) -> str:
    """Where the site has a file of the repository."""
    if path.startswith(f"{docs}/") and (ROOT / path).suffix in _AS_THEY_ARE:
        return PurePosixPath(path).relative_to(docs).as_posix()
    if (ROOT / path).is_dir():
        return f"{OUTSIDE}/{path}/index.md"
    return f"{OUTSIDE}/{path}" + ("" if path.endswith(".md") else ".md")


def _shown(path: str, docs: str) -> str:
    """Text of the page of a file or folder outside docs/."""
    file = ROOT / path
    if file.suffix == ".md":
        return file.read_text(encoding="utf-8")
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"
    if file.is_dir():
        here = PurePosixPath(_uri(path, docs)).parent
        names = ((it.removeprefix(f"{path}/"), os.path.relpath(_uri(it, docs), here)) for it in _listed(path))
        return head + "".join(f"- [{name}]({to})\n" for name, to in names)
    text = file.read_text(encoding="utf-8")
    return f"{head}~~~~{_LANGUAGES.get(file.suffix, 'text')}\n{text.rstrip()}\n~~~~\n"


# -- pages -------------------------------------------------------------------------------------------------------------


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:  # noqa: ANN401, ARG001  MkDocs' call
    """The text of a page with the links of the site, and with lists as CommonMark reads them."""
    docs = Path(config.docs_dir).relative_to(ROOT).as_posix()
    uri = page.file.src_uri
    inside = uri.startswith(f"{OUTSIDE}/")
    source = uri.removeprefix(f"{OUTSIDE}/") if inside else f"{docs}/{uri}"
    if uri.startswith("decisions/"):
        page.meta.setdefault("search", {"boost": 0.5})  # a question about use is answered before one about reasons
    if inside and not (ROOT / source).is_file():
        return markdown  # made by _shown, which knows the site

    def linked(found: re.Match[str]) -> str:
        path = _resolved(source, found["target"])
        if path is None:
            return found[0]
        to = os.path.relpath(_uri(path, docs), PurePosixPath(uri).parent)
        return f"{found['before']}{to}{found['anchor'] or ''}"

    def plain(text: str) -> str:
        return _CELL.sub(bare, spaced(_LINK.sub(linked, text)))

    made, end = [], 0
    for fence in _FENCE.finditer(markdown):
        made += [plain(markdown[end : fence.start()]), _TERMINAL.sub(r"\1console\2", fence[0])]
        end = fence.end()
    return "".join([*made, plain(markdown[end:])])


def bare(row: re.Match[str]) -> str:
    """A row of a table without the backslashes before '|' in code."""
    return _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0])


def spaced(text: str) -> str:
    """An empty line before each list that follows a paragraph: Python-Markdown needs it, CommonMark does not."""
    return _LIST.sub(r"\g<line>\n", text)
