"""A Document as one self-contained page: no script, style, font or picture from elsewhere, so it can be mailed.

Style and the script of the replay are separate files in assets/ and are copied into the page. It works without scripts:
everything but the replay is plain HTML and SVG. Every text of the run is escaped, because names come from scenarios.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files as resources
from typing import Final

from markdown_it import MarkdownIt

from fabric.render.document import (
    Answer,
    Block,
    Branch,
    Chart,
    Document,
    Fact,
    Facts,
    Gantt,
    LayeredMap,
    Map,
    Markdown,
    Picture,
    Prose,
    Section,
    Status,
    Table,
    Tree,
    Unit,
    Value,
    show,
)
from fabric.render.drawing import map_svg
from fabric.render.gantt import gantt_svg
from fabric.render.layered import layered_html
from fabric.render.plots import N_COLOURS, chart_svg
from fabric.visible import in_markup as escape
from fabric.visible import visible

MAX_ROWS: Final = 40
"""Rows of a table that are shown; the rest are counted and stand in the run directory."""
MAX_BRANCHES: Final = 24
"""As MAX_ROWS, children of one node of a tree."""
WRAP_CHARACTERS: Final = 36
"""Longer text may take several lines in its cell."""
N_WARP: Final = 240
"""Breakpoints of the replay's time scale."""
_BETWEEN_PARTS: Final = re.compile(r"(--|[:/_])(?=\w)")
"""Where a name may be broken: 'leaf1:|Ethernet3/|2', 'permutation/|8'."""
_MOST_IN_TILE: Final = 80
"""Characters: about five lines of a tile."""
_WIDEST_WORD: Final = 24
"""Characters of the longest word that fits into a tile."""
_SIGNS: Final = {Status.GOOD: "✓", Status.WARNING: "!", Status.BAD: "✗", Status.NEUTRAL: "·"}


def to_html(document: Document) -> str:
    """The whole page as text."""
    assets = resources("fabric.render") / "assets"
    style = (assets / "page.css").read_text(encoding="utf-8")
    sections = "".join(_section(section) for section in document.sections if section.blocks)
    contents = "".join(
        f'<a href="#{section.key}">{escape(section.title)}</a>' for section in document.sections if section.blocks
    )
    reasons = "".join(
        f'<li class="{reason.status.value}"><span class="sign">{_SIGNS[reason.status]}</span>{escape(reason.text)}</li>'
        for reason in document.reasons
    )
    blocks = [block for section in document.sections for block in section.blocks]
    layered = any(isinstance(block, LayeredMap) for block in blocks)
    noted = any(isinstance(block, Map | Gantt) for block in blocks)
    needed = {
        "nearest.js": layered or noted,
        "replay.js": any(isinstance(block, Map) and block.stills for block in blocks),
        "layers.js": layered,
        "notes.js": noted,
    }
    scripts = "".join(
        f"<script>{(assets / name).read_text(encoding='utf-8')}</script>" for name, it in needed.items() if it
    )
    wide = any(isinstance(block, LayeredMap) and len(block.panes) > 1 for block in blocks)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(document.title)}</title><style>{style}</style></head>"
        f'<body class="{"wide" if wide else "narrow"}">'
        f'<header class="{document.status.value}"><p class="kicker">{escape(document.subtitle)}</p>'
        f'<h1>{escape(document.title)}</h1><p class="verdict"><span class="sign">{_SIGNS[document.status]}</span>'
        f'{escape(document.verdict)}</p>{_answer(document.answer)}<ul class="reasons">{reasons}</ul></header>'
        f"<nav>{contents}</nav><main>{sections}</main>{scripts}</body></html>\n"
    )


def _answer(answer: Answer | None) -> str:
    """The first root cause with its place, its victims and the first act, and a link to its moment on the map."""
    if answer is None:
        return ""
    facts = "".join(map(_fact, answer.facts))
    listed = f'<dl class="facts">{facts}</dl>' if facts else ""
    link = f'<p class="tomap"><a href="#{answer.target}" data-opens>See it on the map</a></p>' if answer.target else ""
    return (
        f'<div class="answer {answer.status.value}"><p class="first"><b>First root cause</b> {escape(answer.text)}</p>'
        f"{listed}{link}</div>"
    )


def _section(section: Section) -> str:
    return (
        f'<section id="{section.key}"><h2>{escape(section.title)}</h2>'
        + "".join(_block(block) for block in section.blocks)
        + "</section>"
    )


def _block(block: Block) -> str:
    match block:
        case Prose(text, status):
            return f'<p class="{status.value}">{escape(text)}</p>'
        case Markdown(text):
            return _markdown(text)
        case Facts(facts):
            return f'<dl class="facts">{"".join(_fact(fact) for fact in facts)}</dl>'
        case Table():
            return _table(block)
        case Tree():
            return (
                f'<figure class="treebox"><figcaption>{escape(block.title)}</figcaption><ul class="tree">'
                f"{_branch(block.root)}</ul>{_note(block.note)}</figure>"
            )
        case Chart():
            return _chart(block)
        case Gantt():
            return _gantt(block)
        case Map():
            return _map(block)
        case LayeredMap():
            return layered_html(block, _note(block.note))
        case Picture():
            return (
                f'<figure class="chartbox"><figcaption>{escape(block.title)}</figcaption>'
                f"{_scroll(block.title)}{block.svg}</div>{_note(block.note)}</figure>"
            )


def _markdown(text: str) -> str:
    """CommonMark below the section's own heading. HTML in it is shown as text; links as words, without a target.

    Pictures are not loaded: the page loads nothing.
    """
    parser = MarkdownIt("commonmark", {"html": False}).disable("image")
    tokens = parser.parse(visible(text, lines=True))
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1:]) + 2, 6)}"
        if token.children:
            token.children = [child for child in token.children if child.type not in {"link_open", "link_close"}]
    return f'<div class="prose">{parser.renderer.render(tokens, parser.options, {})}</div>'


def _scroll(title: str) -> str:
    """The opening of a part that may be wider than the page: focusable, so that arrow keys reach all of it."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}">'


def _note(note: str) -> str:
    return f'<p class="note">{escape(note)}</p>' if note else ""


def _fact(fact: Fact) -> str:
    """A tile; across the page where a word is longer than a tile is wide, such as a path, or the text is long."""
    text = show(fact.value, fact.unit)
    long = len(text) > _MOST_IN_TILE or max(map(len, text.split()), default=0) > _WIDEST_WORD
    wide = " line" if long else ""
    return (
        f'<div class="{fact.status.value}{wide}"><dt>{escape(fact.title)}</dt>'
        f"<dd>{escape(text).replace(':', ':<wbr>')}</dd></div>"
    )


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    heads = "".join(f'<th class="{_align(column.unit)}">{escape(column.title)}</th>' for column in table.columns)
    rows = []
    for number, row in enumerate(table.rows[:MAX_ROWS]):
        status = table.statuses[number].value if table.statuses else Status.NEUTRAL.value
        cells = "".join(
            f'<td class="{_align(column.unit)}{_wide(value)}">{_cell(value, column.unit)}</td>'
            for value, column in zip(row, table.columns, strict=True)
        )
        rows.append(f'<tr class="{status}">{cells}</tr>')
    rest = len(table.rows) - MAX_ROWS
    more = f"{rest:,} more rows are in the run directory. " if rest > 0 else ""
    return (
        f'<figure class="tablebox"><figcaption>{escape(table.title)}</figcaption>'
        f"{_scroll(table.title or table.key.replace('_', ' '))}<table><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>{_note(more + table.note)}</figure>"
    )


def _align(unit: Unit) -> str:
    return "left" if unit is Unit.TEXT else "right"


def _wide(value: Value) -> str:
    if not isinstance(value, str):
        return ""
    return " wide" if len(value) > WRAP_CHARACTERS else " name" if _BETWEEN_PARTS.search(value) else ""


def _cell(value: Value, unit: Unit) -> str:
    text = escape(show(value, unit))
    if isinstance(value, bool):
        return f'<span class="{"good" if value else "bad"}"><span class="sign">{text}</span></span>'
    if unit is Unit.RATIO and isinstance(value, int | float):
        width = 100 * min(max(value, 0), 1)
        return f'<span class="bar"><i style="width:{width:.1f}%"></i></span><span class="beside-bar">{text}</span>'
    return _BETWEEN_PARTS.sub(r"\1<wbr>", text) if isinstance(value, str) and " " not in value else text


def _branch(branch: Branch) -> str:
    facts = "".join(
        f'<span class="fact"><b>{escape(fact.title)}</b> {escape(show(fact.value, fact.unit))}</span>'
        for fact in branch.facts
    )
    children = "".join(_branch(child) for child in branch.children[:MAX_BRANCHES])
    rest = len(branch.children) - MAX_BRANCHES
    if rest > 0:
        children += f'<li><span class="leaf">and {rest} more</span></li>'
    label = f'<span class="what {branch.status.value}">{escape(branch.label)}</span>{facts}'
    if not children:
        return f'<li><span class="leaf">{label}</span></li>'
    return f"<li><details open><summary>{label}</summary><ul>{children}</ul></details></li>"


def _chart(chart: Chart) -> str:
    legend = "".join(
        f'<span><i class="s{number % N_COLOURS}"></i>{escape(line.label)}</span>'
        for number, line in enumerate(chart.series)
        if line.label
    )
    return (
        f'<figure class="chartbox"><figcaption>{escape(chart.title)}</figcaption>'
        f"{_scroll(chart.title)}{chart_svg(chart)}</div>"
        f'<div class="legend">{legend}</div>{_note(chart.note)}</figure>'
    )


def _gantt(gantt: Gantt) -> str:
    legend = "".join(f'<span><i class="s{kind}"></i>{escape(name)}</span>' for kind, name in enumerate(gantt.kinds))
    return (
        f'<figure class="chartbox"><figcaption>{escape(gantt.title)}</figcaption>'
        f"{_scroll(gantt.title)}{gantt_svg(gantt)}</div>"
        f'<div class="legend">{legend}</div>{_note(gantt.note)}</figure>'
    )


def _map(drawing: Map) -> str:
    prefix = f"{drawing.key}-"
    scale = "".join(
        f'<span><i class="p{step}"></i>{text}</span>'
        for step, text in enumerate(("none", "&lt; 1%", "&lt; 5%", "&lt; 20%", "&lt; 50%", "more"))
    )
    legend = f'<div class="legend">{escape(drawing.measure)}: {scale}</div>'
    controls = ""
    if drawing.stills:
        data = {
            "prefix": prefix,
            "start": drawing.start_ns,
            "end": drawing.end_ns,
            "warp": _warp(drawing),
            "stills": [
                [still.link, int(still.by_a), still.start_ns, still.end_ns, still.tree]
                for still in drawing.stills
                if not drawing.hidden & {drawing.links[still.link].a, drawing.links[still.link].b}
            ],
            "links": [[link.a, link.b] for link in drawing.links],
            "hosts": [int(node.role == "host") for node in drawing.nodes],
        }
        # '<' is written as an escape, so that no name of a scenario can end the script element.
        text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
        controls = (
            f'<div class="replay" data-for="{prefix}"><button type="button" aria-label="Play">▶</button>'
            '<input type="range" min="0" max="1000" value="0" step="1" aria-label="Simulated time">'
            '<output class="clock"></output><output class="count"></output></div>'
            f'<script type="application/json" id="{prefix}data">{text}</script>'
        )
        legend = (
            '<div class="legend"><span><i class="stopped"></i>paused at this moment</span>'
            "<span>dashed ring: where a pause tree began</span></div>"
        )
    return (
        f'<figure class="mapbox"><figcaption>{escape(drawing.title)}</figcaption>{controls}'
        f"{_scroll(drawing.title)}{map_svg(drawing, prefix=prefix)}</div>{legend}{_note(drawing.note)}</figure>"
    )


def _warp(drawing: Map) -> list[int]:
    """Simulated time at evenly spaced slider positions: half by the clock, half by the number of events.

    A storm spreads in microseconds and then lasts for milliseconds; on a linear scale its spreading would be one frame.
    """
    moments = sorted(
        {
            drawing.start_ns,
            drawing.end_ns,
            *(
                moment
                for still in drawing.stills
                for moment in (still.start_ns, still.end_ns)
                if drawing.start_ns <= moment <= drawing.end_ns
            ),
        }
    )
    span = max(drawing.end_ns - drawing.start_ns, 1)
    steps = max(len(moments) - 1, 1)
    share = [(moment - drawing.start_ns) / span / 2 + number / steps / 2 for number, moment in enumerate(moments)]
    warp, row = [], 0
    for position in range(N_WARP + 1):
        target = position / N_WARP
        while row < len(share) - 2 and share[row + 1] < target:
            row += 1
        low, high = share[row], share[min(row + 1, len(share) - 1)]
        part = (target - low) / (high - low) if high > low else 0.0
        warp.append(round(moments[row] + min(part, 1.0) * (moments[min(row + 1, len(share) - 1)] - moments[row])))
    return warp
