"""The command line's root: find the verb, import its module and nothing else, turn errors into exit codes.

A verb is a module ``fabric/cli/<verb>.py`` with ``add_arguments(parser)`` and ``run(args) -> int``, and one row of
VERBS. Standard output is data, standard error is everything else. Exit codes:

    0    done
    1    a finding, or an expectation that was not met
    2    bad input: the user's files, options or file system
    3    a broken invariant or any other defect of ours
    130  interrupted (128 + SIGINT)
    141  the reader of our output went away (128 + SIGPIPE), as in ``fabric show ... | head``

This module imports the standard library and ``fabric.errors`` only, so that ``fabric --help`` does not wait for a
compiler to load.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import logging
import sys
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple, NoReturn, Protocol, cast

from fabric import __version__
from fabric.cli import logs, streams
from fabric.errors import FabricError, InputErrors

log = logging.getLogger(__name__)

EXIT_BAD_INPUT: Final = 2
EXIT_DEFECT: Final = 3
EXIT_INTERRUPTED: Final = 130
EXIT_BROKEN_PIPE: Final = 141


class Verb(NamedTuple):
    """One row of the command table; the module is ``fabric.cli.<name>``."""

    name: str
    job: str
    help: str


VERBS: Final = (
    Verb("run", "build", "play a scenario and write a run directory"),
    Verb("init", "build", "write a scenario or an example into this folder, to change it"),
    Verb("scenario", "build", "list or check scenarios, or print one with every default filled in"),
    Verb("validate", "build", "judge switch configurations: PFC, ECN, buffers, headroom, paths"),
    Verb("headroom", "build", "how much a port must still take after it asked for a pause, term by term"),
    Verb("topology", "build", "show, check, draw and export a fabric"),
    Verb("model", "build", "list the models and print what each one assumes"),
    Verb("show", "look", "tables of a run: messages, ports, queues, pfc, ecn, drops, hosts"),
    Verb("path", "look", "the paths between two hosts and why a flow takes one; what is wrong with all routes"),
    Verb("route", "look", "the forwarding table of a switch at a moment, and why a route is as it is"),
    Verb("bgp", "look", "BGP sessions and routes of a scenario at a moment, as FRR shows them"),
    Verb("evpn", "look", "EVPN routes, VNIs, MAC and ARP tables at a moment; proof that tenants are apart"),
    Verb("explain", "look", "why it happened: pause trees, thresholds against what was used"),
    Verb("report", "look", "one page about a run"),
    Verb("diff", "look", "what differs between two runs"),
    Verb("verify", "look", "whether the files of a run are as they were written"),
    Verb("serve", "operate", "play a scenario live: metrics for Prometheus, an API to break and change things"),
    Verb("top", "operate", "watch and steer a live run in the terminal"),
    Verb("alerts", "operate", "what would have paged, the rules for Prometheus, and what they are worth"),
    Verb("export", "operate", "a finished run for Prometheus, log stores and notebooks; dashboards for Grafana"),
    Verb("playbook", "operate", "run an incident from injection to mitigation, and read its runbook"),
    Verb("lab", "reference", "a scenario's fabric in real kernels with FRR, and where the model of it differs"),
    Verb("fidelity", "reference", "compare with recorded simulators, closed forms and theory"),
    Verb("schema", "reference", "JSON Schema of the scenario file; dictionary of a run's data"),
    Verb("completion", "reference", "completion script for bash, zsh or tcsh"),
)


EXPLAIN_QUESTIONS: Final = ("run", "pfc", "drops", "message")
"""Of `fabric explain`; the first where none is asked."""


class VerbModule(Protocol):
    """What a verb's module offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare options; ``-v`` and ``-h`` are there already."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the job and return the exit code."""


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that never guesses abbreviations and that names the nearest option it knows."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  argparse's own signature, passed through
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401  argparse's own signature
        """As argparse, and with the nearest spelling."""
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            text = f"'{value}' is none of {', '.join(choices)}{_did_you_mean(str(value), choices)}"
            raise argparse.ArgumentError(action, text)

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit 2, naming every argument that nothing reads and the nearest spelling of each."""
        known = [option for action in self._actions for option in action.option_strings]
        texts = [word + _did_you_mean(word.split("=")[0], known) for word in unknown]
        self.error("unknown: " + ", ".join(texts))


class Root(Parser):
    """The parser whose help lists the verbs by job; argparse itself knows one flat list only."""

    def format_help(self) -> str:
        """Usage, the verbs by job, and the options that stand before a verb."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, (), ())
        formatter.add_text(self.description)
        formatter.add_text(_verb_table(available()))
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        formatter.add_text("`fabric VERB --help` or `fabric help VERB` explains one of them. Begin with `fabric init`.")
        return formatter.format_help()


def available() -> tuple[Verb, ...]:
    """The rows of VERBS whose module is installed."""
    return tuple(verb for verb in VERBS if importlib.util.find_spec(f"fabric.cli.{verb.name}") is not None)


def build_parser(load: Collection[str] | None = None) -> tuple[Parser, dict[str, Parser]]:
    """The whole command line as one parser, and each verb's own.

    Only the verbs named in ``load`` are imported and have their options declared; None means all, which is what
    completion scripts need and what a single command must not pay for.
    """
    verbs = available()
    root = Root(prog="fabric", usage="fabric [-v] VERB ...",
                description="Emulate a data-centre fabric, packet by packet, and operate it.")
    root.add_argument("--version", action="version", version=f"fabric-emulator {__version__}")
    root.add_argument("-v", "--verbose", action="count", default=0, help="say more on standard error; twice for debug")
    verb_parsers = root.add_subparsers(dest="verb", metavar="VERB", help="what to do", parser_class=Parser)
    parsers: dict[str, Parser] = {}
    for verb in verbs:
        parser = verb_parsers.add_parser(verb.name, prog=f"fabric {verb.name}", help=verb.help,
                                         description=verb.help[0].upper() + verb.help[1:] + ".")
        # SUPPRESS keeps this copy's default from overwriting what stood before the verb.
        parser.add_argument("-v", "--verbose", action="count", default=argparse.SUPPRESS,
                            help="say more on standard error; twice for debug")
        if load is None or verb.name in load:
            _module(verb.name).add_arguments(parser)
        parsers[verb.name] = parser
    return root, parsers


def _with_signs(words: Sequence[str]) -> list[str]:
    """'--at -1ms' as '--at=-1ms': argparse would take the value for an option, and say that there is none."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "--at" and word[:1] == "-" and word[1:2].isdigit():
            joined[-1] = f"--at={word}"
        else:
            joined.append(word)
    return joined


def _spelt_out(words: Sequence[str]) -> list[str]:
    """'help run' as 'run --help', 'explain DIR' as 'explain run DIR'."""
    bare = [number for number, word in enumerate(words) if not word.startswith("-")]
    if not bare:
        return list(words)
    first = words[bare[0]]
    rest = [*words[: bare[0]], *words[bare[0] + 1:]]
    if first == "help":
        return [*rest, "--help"]
    if first == "explain" and len(bare) == 2 and words[bare[1]] not in EXPLAIN_QUESTIONS:
        return [*words[: bare[1]], EXPLAIN_QUESTIONS[0], *words[bare[1]:]]
    return list(words)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Raises nothing but what a debugger wants to see."""
    words = _with_signs(_spelt_out(sys.argv[1:] if argv is None else argv))
    streams.prepare()
    try:
        args = _parse(words)
    except SystemExit as stop:  # argparse has spoken already
        return stop.code if isinstance(stop.code, int) else EXIT_BAD_INPUT
    logs.configure(args.verbose)
    try:
        code = _module(args.verb).run(args)
        sys.stdout.flush()  # here, where a reader that went away is still an ordinary exception
    except KeyboardInterrupt:
        streams.say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        streams.discard()
        return EXIT_BROKEN_PIPE
    except Exception as error:  # noqa: BLE001  the last line before the user: every error gets its exit code here
        return _report(error, as_json=getattr(args, "json", False) is True)
    return code


def entry() -> NoReturn:
    """The ``fabric`` command."""
    streams.name_them()
    sys.exit(main())


def _parse(words: Sequence[str]) -> argparse.Namespace:
    # The root's own options take no values, so the first bare word is the verb.
    name = next((word for word in words if not word.startswith("-")), None)
    root, parsers = build_parser(load=() if name is None else (name,))
    if name is not None and name not in parsers:
        root.error(f"no verb '{name}'{_did_you_mean(name, parsers)}; `fabric --help` lists them")
    args, unknown = root.parse_known_args(words)
    if unknown:
        (root if name is None else parsers[name]).refuse(unknown)
    if name is None:
        root.print_help(sys.stderr)
        root.exit(EXIT_BAD_INPUT)
    return args


def _module(name: str) -> VerbModule:
    return cast("VerbModule", importlib.import_module(f"fabric.cli.{name}"))


def _did_you_mean(word: str, known: Collection[str]) -> str:
    import difflib  # noqa: PLC0415  only for someone who has mistyped

    nearest = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" (did you mean '{nearest[0]}'?)" if nearest else ""


def _verb_table(verbs: Sequence[Verb]) -> str:
    width = max((len(verb.name) for verb in verbs), default=0)
    lines = []
    for job in dict.fromkeys(verb.job for verb in verbs):
        lines += [f"{job}:", *(f"  {verb.name:<{width}}  {verb.help}" for verb in verbs if verb.job == job), ""]
    return "\n".join(lines[:-1])


def _report(error: Exception, *, as_json: bool) -> int:
    """Tell the user once: text on standard error, and with ``--json`` an object on standard output, too."""
    problems: tuple[dict[str, str], ...] = ()
    hint = ""
    if isinstance(error, FabricError):
        text, hint, code = error.text, error.hint, error.exit_code
        shown = str(error)
        if isinstance(error, InputErrors):
            problems = tuple({"path": it.path, "text": it.text, "hint": it.hint} for it in error.problems)
    elif isinstance(error, OSError):  # a file that is not there, may not be read, or does not fit
        text = shown = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        if error.filename == streams.STDOUT:
            streams.discard()
        code = EXIT_BAD_INPUT
    else:
        text = shown = f"{type(error).__name__}: {error}"
        code = EXIT_DEFECT
    defect = code == EXIT_DEFECT
    streams.say(f"{'defect' if defect else 'error'}: {shown}")
    log.log(logging.ERROR if defect else logging.DEBUG, "traceback", exc_info=error)
    if as_json:
        about = {"kind": type(error).__name__, "text": text, "hint": hint, "problems": problems, "exit_code": code}
        print(json.dumps({"error": about}))
    return code
