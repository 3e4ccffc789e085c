"""Manual pages, made from the parsers: fabric(1), and one page for each verb with all its actions.

They are kept in docs/man (`make docs`) and travel in the wheel as share/man/man1. The requests are those of man(7) that
groff and mandoc both know.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Final

from fabric import __version__
from fabric.cli.main import VERBS, Parser, build_parser

_EXITS: Final = (
    ("0", "done"),
    ("1", "a finding, or an expectation that was not met"),
    ("2", "bad input: files, options, or the file system"),
    ("3", "a defect of this program"),
    ("130", "interrupted"),
    ("141", "the reader of standard output ended"),
)
_VARIABLES: Final = (
    ("FABRIC_CONFIG", "the configuration file; empty: none (see fabric-config(1))"),
    ("NO_COLOR, FORCE_COLOR", "no colours, or colours also where standard output is no terminal"),
)


def pages() -> dict[str, str]:
    """File name -> page."""
    root, parsers = build_parser()
    found = {"fabric.1": _root(root)}
    for verb in VERBS:
        if verb.name in parsers:
            found[f"fabric-{verb.name}.1"] = _verb(verb.name, verb.help, parsers[verb.name])
    return found


def roff(text: str) -> str:
    """Text that groff prints as it is, also where a line begins like a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def _page(name: str, about: str, body: list[str]) -> str:
    head = [
        f'.TH "{roff(name.upper())}" "1" "" "fabric\\-emulator {__version__}" "User Commands"',
        ".SH NAME",
        f"{roff(name)} \\- {roff(about)}",
    ]
    return "\n".join([*head, *body]) + "\n"


def _root(root: Parser) -> str:
    body = [
        ".SH SYNOPSIS",
        "\\fBfabric\\fR [\\fB\\-v\\fR] \\fIVERB\\fR ...",
        ".SH DESCRIPTION",
        roff(root.description or ""),
    ]
    for job in dict.fromkeys(verb.job for verb in VERBS):
        body += [f".SS {job.capitalize()}"]
        for verb in VERBS:
            if verb.job == job:
                body += [".TP", f"\\fBfabric\\-{verb.name}\\fR(1)", roff(verb.help)]
    body += [".SH OPTIONS", *_options(root, root._optionals)]  # noqa: SLF001  argparse has no public list of them
    body += [".SH EXIT STATUS"]
    for code, text in _EXITS:
        body += [".TP", f"\\fB{code}\\fR", roff(text)]
    body += [".SH ENVIRONMENT"]
    for name, text in _VARIABLES:
        body += [".TP", f"\\fB{name}\\fR", roff(text)]
    return _page("fabric", "emulate a data-centre fabric, packet by packet, and operate it", body)


def _verb(name: str, about: str, parser: argparse.ArgumentParser) -> str:
    body = [".SH SYNOPSIS", _synopsis(parser)]
    body += [".SH DESCRIPTION", roff(parser.description or about), *_arguments(parser)]
    for action in _actions(parser):
        body += [f'.SH "{roff(action.prog.upper())}"', _synopsis(action)]
        text = _help_of(parser, action) or action.description
        body += [".PP", roff(text)] if text else []
        body += _arguments(action)
        for inner in _actions(action):
            body += [f'.SS "{roff(inner.prog)}"', _synopsis(inner), *_arguments(inner)]
    return _page(f"fabric-{name}", about, [*body, ".SH SEE ALSO", "\\fBfabric\\fR(1)"])


def _actions(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Parsers of the second word."""
    return [
        it
        for action in parser._actions  # noqa: SLF001  as above
        if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001
        for it in action.choices.values()
    ]


def _help_of(parser: argparse.ArgumentParser, inner: argparse.ArgumentParser) -> str:
    for action in parser._actions:  # noqa: SLF001  as above
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            texts = {it.dest: it.help or "" for it in action._choices_actions}  # noqa: SLF001
            return next((texts.get(name, "") for name, it in action.choices.items() if it is inner), "")
    return ""


def _synopsis(parser: argparse.ArgumentParser) -> str:
    words = [f"\\fB{roff(parser.prog)}\\fR"]
    words += [
        f"\\fB{roff(action.option_strings[-1])}\\fR {_value(action)}"
        for action in parser._actions  # noqa: SLF001  as above
        if action.option_strings and action.required
    ]
    words.append("[\\fIOPTION\\fR ...]")
    words += [_value(action) for action in parser._actions if not action.option_strings]  # noqa: SLF001
    return " ".join(words)


def _value(action: argparse.Action) -> str:
    """Its value as in a synopsis; '' for a flag."""
    if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  as above
        return f"\\fI{roff(str(action.metavar or 'ACTION'))}\\fR ..."
    if action.nargs == 0:
        return ""
    names = action.metavar if isinstance(action.metavar, tuple) else (action.metavar,)
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices is not None else ""
    shown = " ".join(f"\\fI{roff(str(name or choices or action.dest.upper()))}\\fR" for name in names)
    if action.nargs == "?":
        return f"[{shown}]"
    return f"[{shown} ...]" if action.nargs == "*" else f"{shown} ..." if action.nargs == "+" else shown


def _arguments(parser: argparse.ArgumentParser) -> list[str]:
    lines: list[str] = []
    for group in parser._action_groups:  # noqa: SLF001  as above
        rows = list(_options(parser, group))
        if rows:
            lines += [f'.SS "{roff((group.title or "options").capitalize())}"', *rows]
    if parser.epilog:
        lines += [".PP", ".nf", roff(parser.epilog.strip()), ".fi"]
    return lines


def _options(parser: argparse.ArgumentParser, group: argparse._ArgumentGroup) -> Iterator[str]:
    formatter = parser._get_formatter()  # noqa: SLF001  as above; it fills %(default)s in
    for action in group._group_actions:  # noqa: SLF001
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            continue
        value = _value(action)
        spelled = ", ".join(f"\\fB{roff(it)}\\fR" for it in action.option_strings)
        yield ".TP"
        yield f"{spelled} {value}".strip() if spelled else value
        if action.help:
            yield roff(formatter._expand_help(action))  # noqa: SLF001
