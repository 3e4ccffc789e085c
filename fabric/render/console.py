"""The only console for rich: every string is printed as plain text.

Rich passes ESC on and reads '[red]' in a string as a style, '[/]' as an error, ':smile:' as a picture. On this console
a string is plain, styles come from Text objects and columns, hidden characters are spelled out (fabric/visible.py),
and no hyperlink (OSC 8) is written: one can show an address and lead to another.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from fabric.visible import visible


def below(stream: TextIO) -> TextIO:
    """The stream that a guarded one writes to; any other is its own."""
    raw = vars(stream).get("raw") if hasattr(stream, "__dict__") else None
    return stream if raw is None else raw


class PlainConsole(Console):
    """A console for a stream.

    Parameters
    ----------
    stream : TextIO          sys.stdout, sys.stderr, a file; rich's own escape sequences pass by the guard of the first
                             two (fabric/cli/terminal/streams.py)
    width : int, optional    where the stream is no terminal
    """

    def __init__(self, stream: TextIO, width: int | None = None, *, soft_wrap: bool = False) -> None:
        raw = below(stream)
        super().__init__(
            file=raw,
            markup=False,
            emoji=False,
            highlight=False,
            soft_wrap=soft_wrap,
            width=None if raw.isatty() else width,
        )

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich, with the text of every segment visible; control segments are rich's own."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
                continue
            style = segment.style
            if style is not None and style.link is not None:
                style = style.update_link(None)
            yield Segment(visible(segment.text, lines=True), style)

    def on_broken_pipe(self) -> None:
        """Raise the BrokenPipeError that rich is handling, as print() does: the command ends with 141.

        Rich itself would end the process with exit code 1, which means a finding (docs/architecture.md, section 6).
        """
        error = sys.exception()
        if error is not None:
            raise error
