"""The command line's root: find the verb, import its module and nothing else, turn errors into exit codes.

A verb is a module ``fabric/cli/<verb>.py`` with ``add_arguments(parser)`` and ``run(args) -> int``, and one row of
VERBS. Standard output is data, standard error is everything else. Exit codes:

    0    done
    1    a finding, or an expectation that was not met
    2    bad input: the user's files, options or file system
    3    a broken invariant or another defect of this program
    130  interrupted (128 + SIGINT)
    141  the reader of standard output ended (128 + SIGPIPE), as in ``fabric show ... | head``

This module imports the standard library, ``fabric.errors``, ``fabric.visible`` and the reader
of the user's configuration only, so that ``fabric --help`` does
not wait for a compiler to load.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import logging
import sys
import textwrap
from collections.abc import Collection, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, Protocol, cast

from fabric import __version__
from fabric.cli.settings import coloured, settings
from fabric.cli.terminal import logs, streams
from fabric.errors import FabricError, InputErrors
from fabric.visible import command, sentence, visible

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
    Verb("run", "build", "simulate a scenario and write a run directory"),
    Verb("whatif", "build", "what breaks and what slows when parts fail, are drained, or more is added"),
    Verb("reliability", "build", "how often a fabric of many parts fails, and the best interval of checkpoints"),
    Verb("demo", "build", "a gallery of short demos: run one, read its page, and continue from there"),
    Verb("init", "build", "copy a scenario or an example into this folder, to edit it"),
    Verb("scenario", "build", "list or check scenarios, or print one with every default filled in"),
    Verb("validate", "build", "check switch configurations: PFC, ECN, buffers, headroom, paths"),
    Verb("rollout", "build", "safe order of a change of switch configurations, and the hazards on the way"),
    Verb("qualify", "build", "published test plans run against a switch configuration, without a laboratory"),
    Verb("headroom", "build", "bytes that a port receives after it has sent XOFF, term by term"),
    Verb(
        "thresholds", "build", "packets at which a switch sends XOFF, drops and resumes, from its buffer configuration"
    ),
    Verb("collective", "build", "time and bandwidth of collective operations, as nccl-tests prints them"),
    Verb("topology", "build", "show, check, draw and export a fabric"),
    Verb("job", "build", "plan a training job: memory, volumes, bubble, placement, before anything runs"),
    Verb("sweep", "build", "simulate a scenario at many points and seeds; intervals, differences, Pareto front"),
    Verb("compare", "build", "the same traffic under several congestion controls and load balancers"),
    Verb("tune", "build", "search for the best settings; Pareto front, importances, configuration for switches"),
    Verb("model", "build", "list the models and print their assumptions"),
    Verb("trace", "build", "traces of other tools: Chakra, GOAL, SimAI; logs of nccl-tests compared"),
    Verb("show", "look", "tables of a run: messages, ports, queues, pfc, ecn, drops, hosts"),
    Verb("path", "look", "paths between two hosts and the choice of a flow; check of all routes"),
    Verb("route", "look", "the forwarding table of a switch at a given time, and the reason for a route"),
    Verb("bgp", "look", "BGP sessions and routes of a scenario at a given time, as FRR shows them"),
    Verb("evpn", "look", "EVPN routes, VNIs, MAC and ARP tables at a given time; proof of tenant isolation"),
    Verb("explain", "look", "causes of pauses, drops and delays: pause trees, thresholds, message times"),
    Verb("report", "look", "report of a run on one page"),
    Verb("diff", "look", "differences between two runs"),
    Verb("capture", "look", "packets at ports of a run or scenario as pcapng, for Wireshark and tshark"),
    Verb("verify", "look", "check the files of a run against their checksums"),
    Verb("serve", "operate", "simulate a scenario live: metrics for Prometheus, an API for faults and changes"),
    Verb("top", "operate", "watch and control a live run in the terminal"),
    Verb("alerts", "operate", "alerts and incidents of a run, rules for Prometheus, measured precision and recall"),
    Verb("campaign", "operate", "random fabrics, loads and faults: how well the diagnosis names what went wrong"),
    Verb("capacity", "operate", "growth, headroom and dates of exhaustion of link classes"),
    Verb("export", "operate", "a finished run for Prometheus, log stores and notebooks; dashboards for Grafana"),
    Verb("telemetry", "operate", "counters that cannot be true, in files, runs and answers of exporters"),
    Verb("playbook", "operate", "run an incident from injection to mitigation, and read its runbook"),
    Verb("drill", "operate", "find the root of a hidden incident and be scored; drill every single failure"),
    Verb("lab", "reference", "a scenario's fabric in real kernels with FRR, and its differences from the model"),
    Verb("fidelity", "reference", "compare with recorded simulators, closed forms and theory"),
    Verb("schema", "reference", "JSON Schema of scenario and study files; dictionary of a run's data"),
    Verb("config", "reference", "defaults of options from your configuration file, and where each comes from"),
    Verb("docs", "reference", "pages of the documentation: list, read and search them"),
    Verb("errors", "reference", "what an error message means, and its remedy, by the id or the words"),
    Verb("completion", "reference", "completion script for bash, zsh or tcsh"),
)


EXPLAIN_QUESTIONS: Final = ("run", "roots", "changes", "minimal", "probes", "pfc", "drops", "message", "step")
"""Actions of `fabric explain`; the first is the default."""


class VerbModule(Protocol):
    """Interface of a verb's module."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare options; ``-v`` and ``-h`` exist already."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the job and return the exit code."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Descriptions keep their lines where these fit; examples (indented) stay whole.

    Prose with a line that is wider than the help is folded again as a whole: its own line ends would leave short lines
    between full ones.
    """

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = super()._fill_text(text, width, indent).splitlines()
        rows: list[str] = []
        for is_prose, some in groupby(lines, lambda line: bool(line.strip()) and not line.startswith("  ")):
            block = list(some)
            if is_prose and max(map(len, block)) > width:
                rows += textwrap.wrap(" ".join(block), width, break_long_words=False)
            else:
                rows += block
        return "\n".join(rows)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser without abbreviations that suggests the nearest known option."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  argparse's own signature, passed through
        super().__init__(allow_abbrev=False, formatter_class=_Help, **options)
        self.color = False  # Python 3.14 would write escape sequences by itself

    def error(self, message: str) -> NoReturn:
        """Like argparse, on one line: a hint follows its text."""
        if message.startswith("the following arguments are required"):
            message += f"; `{self.prog} --help` explains them"
        super().error(visible(message.replace("\n  hint: ", "; ")))

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401  argparse's own signature
        """Like argparse, with the nearest spelling."""
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            near = _did_you_mean(str(value), choices)
            text = f"'{value}' is no choice{near}" if near else f"'{value}' is none of {', '.join(choices)}"
            raise argparse.ArgumentError(action, text)

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:  # noqa: ANN401  argparse's own signature
        """Like argparse; of a word that is no number, what is wanted instead of the name of a type."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type not in {int, float}:
                raise
            number = "a whole number" if action.type is int else "a number"
            raise argparse.ArgumentError(action, f"'{arg_string}' is not {number}; {action.help}") from None

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit 2, naming every unknown argument and the nearest spelling of each."""
        known = [option for action in self._actions for option in action.option_strings]
        texts = [word + _did_you_mean(word.split("=")[0], known) for word in unknown]
        self.error("unknown: " + ", ".join(texts))


class Root(Parser):
    """The parser whose help lists the verbs by job; argparse only supports one flat list."""

    def format_help(self) -> str:
        """Usage, the verbs by job, and the options before a verb."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, (), ())
        formatter.add_text(self.description)
        formatter.add_text(_verb_table(available()))
        formatter.start_section("options")
        formatter.add_arguments([action for action in self._actions if action.option_strings])
        formatter.end_section()
        formatter.add_text("`fabric VERB --help` or `fabric help VERB` explains one of them. Begin with `fabric demo`.")
        formatter.add_text(_documentation())
        return formatter.format_help()


def _documentation() -> str:
    """How to read the pages that texts of this program name."""
    pages = Path(__file__).resolve().parents[2] / "docs" / "index.md"
    site = "; `make site` builds them as a site" if pages.is_file() else "; `man fabric-VERB` has a manual page"
    return f"Documentation: `fabric docs` lists its pages, `fabric docs PAGE` prints one (docs/PAGE.md){site}."


def available(among: Collection[str] | None = None) -> tuple[Verb, ...]:
    """The rows of VERBS whose module is installed; with `among` only those of these names."""
    rows = VERBS if among is None else [verb for verb in VERBS if verb.name in among]
    return tuple(verb for verb in rows if importlib.util.find_spec(f"fabric.cli.{verb.name}") is not None)


def build_parser(load: Collection[str] | None = None) -> tuple[Parser, dict[str, Parser]]:
    """The parser of the whole command line, and the parser of each verb.

    Only the verbs named in ``load`` are imported and have a parser; None means all, which completion scripts need and
    which would slow down a single command.
    """
    root = Root(
        prog="fabric",
        usage="fabric [-v] VERB ...",
        description="Emulate a data-centre fabric, packet by packet, and operate it.",
    )
    root.add_argument("--version", action="version", version=f"fabric-emulator {__version__}")
    root.add_argument("-v", "--verbose", action="count", default=0, help="say more on standard error; twice for debug")
    verb_parsers = root.add_subparsers(dest="verb", metavar="VERB", help="what to do", parser_class=Parser)
    parsers: dict[str, Parser] = {}
    for verb in available(load):
        parser = verb_parsers.add_parser(
            verb.name,
            prog=f"fabric {verb.name}",
            help=verb.help,
            description=verb.help[0].upper() + verb.help[1:] + ".",
        )
        # SUPPRESS keeps this copy's default from overwriting an option before the verb.
        parser.add_argument(
            "-v",
            "--verbose",
            action="count",
            default=argparse.SUPPRESS,
            help="say more on standard error; twice for debug",
        )
        _module(verb.name).add_arguments(parser)
        parsers[verb.name] = parser
    return root, parsers


def _with_signs(words: Sequence[str]) -> list[str]:
    """'--at -1ms' as '--at=-1ms': argparse would read the value as an unknown option."""
    joined: list[str] = []
    for word in words:
        option = joined[-1] if joined else ""
        if option[:2] == "--" and len(option) > 2 and "=" not in option and word[:1] == "-" and word[1:2].isdigit():
            joined[-1] = f"{option}={word}"
        else:
            joined.append(word)
    return joined


def _spelt_out(words: Sequence[str]) -> list[str]:
    """'help run' as 'run --help', 'explain DIR' as 'explain run DIR', 'explain URL' as 'explain roots URL'."""
    bare = [number for number, word in enumerate(words) if not word.startswith("-")]
    if not bare:
        return list(words)
    first = words[bare[0]]
    rest = [*words[: bare[0]], *words[bare[0] + 1 :]]
    if first == "help":
        return [*rest, "--help"]
    if first == "explain" and len(bare) > 1 and words[bare[1]].startswith(("http://", "https://")):
        return [*words[: bare[1]], "roots", *words[bare[1] :]]
    if first == "explain" and len(bare) == 2 and words[bare[1]] not in EXPLAIN_QUESTIONS:
        return [*words[: bare[1]], EXPLAIN_QUESTIONS[0], *words[bare[1] :]]
    return list(words)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = _with_signs(_spelt_out(sys.argv[1:] if argv is None else argv))
    with streams.guarded():
        return _command(words)


def entry() -> NoReturn:
    """The ``fabric`` command."""
    streams.name_them()
    sys.exit(main())


def _command(words: Sequence[str]) -> int:
    try:
        args = _parse(words)
    except SystemExit as stop:  # argparse has printed the error
        return stop.code if isinstance(stop.code, int) else EXIT_BAD_INPUT
    logs.configure(args.verbose)
    try:
        with coloured(settings().colour):
            code = _module(args.verb).run(args)
        sys.stdout.flush()  # here, where a closed pipe is still an ordinary exception
    except KeyboardInterrupt:
        streams.say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        streams.discard()
        return EXIT_BROKEN_PIPE
    except Exception as error:  # noqa: BLE001  the last line before the user: every error gets its exit code here
        return _report(error, as_json=getattr(args, "json", False) is True)
    return code


def _parse(words: Sequence[str]) -> argparse.Namespace:
    # The root's own options take no values, so the first bare word is the verb.
    name = next((word for word in words if not word.startswith("-")), None)
    root, parsers = build_parser(load=() if name is None else (name,))
    if name is not None and name not in parsers:
        known = [verb.name for verb in available()]
        root.error(f"no verb '{name}'{_did_you_mean(name, known)}; `fabric --help` lists them")
    if name == "explain":
        _refuse_late_question(parsers[name], words)
    args, unknown = root.parse_known_args(words)
    if unknown:
        (root if name is None else parsers[name]).refuse(unknown)
    if name is None:
        root.print_help(sys.stderr)
        root.exit(EXIT_BAD_INPUT)
    return args


def _refuse_late_question(parser: Parser, words: Sequence[str]) -> None:
    """`fabric explain DIR pfc`: exit 2, with the order that is meant."""
    bare = [word for word in words if not word.startswith("-")][1:3]
    if len(bare) == 2 and bare[0] not in EXPLAIN_QUESTIONS and bare[1] in EXPLAIN_QUESTIONS:
        parser.error(f"the question comes first; did you mean `{command('fabric', 'explain', bare[1], bare[0])}`?")


def _module(name: str) -> VerbModule:
    return cast("VerbModule", importlib.import_module(f"fabric.cli.{name}"))


def _did_you_mean(word: str, known: Collection[str]) -> str:
    import difflib  # noqa: PLC0415  only for a misspelled word

    nearest = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" (did you mean '{nearest[0]}'?)" if nearest else ""


def _verb_table(verbs: Sequence[Verb]) -> str:
    width = max((len(verb.name) for verb in verbs), default=0)
    lines = []
    for job in dict.fromkeys(verb.job for verb in verbs):
        lines += [f"{job}:", *(f"  {verb.name:<{width}}  {verb.help}" for verb in verbs if verb.job == job), ""]
    return "\n".join(lines[:-1])


def _report(error: Exception, *, as_json: bool) -> int:
    """Report an error: text on standard error, and with ``--json`` an object on standard output, too."""
    problems: tuple[dict[str, str | None], ...] = ()
    hint, name = "", None
    if isinstance(error, FabricError):
        text, hint, code = error.text, error.hint, error.exit_code
        shown = str(error)
        if as_json and not isinstance(error, InputErrors) and code == EXIT_BAD_INPUT:
            name = _id_of(text)
        if as_json and isinstance(error, InputErrors):
            problems = tuple(
                {"id": _id_of(it.text), "path": it.path, "text": it.text, "hint": it.hint} for it in error.problems
            )
    elif isinstance(error, OSError):  # a missing or unreadable file, or a full disk
        text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        shown = sentence(text)
        if error.filename == streams.STDOUT:
            streams.discard()
        code = EXIT_BAD_INPUT
    elif isinstance(error, MemoryError):  # the estimate admitted the run, or other programs used the memory
        text = "there was not enough memory"
        hint = "`fabric run SCENARIO --estimate` shows the memory of a run and its parts"
        shown = f"{text}\n  hint: {hint}"
        code = EXIT_BAD_INPUT
    else:
        text = f"{type(error).__name__}: {error}"
        shown = sentence(text)
        code = EXIT_DEFECT
    defect = code == EXIT_DEFECT
    streams.say(f"{'defect' if defect else 'error'}: {shown}")
    log.log(logging.ERROR if defect else logging.DEBUG, "traceback", exc_info=error)
    if as_json:
        about = {
            "kind": type(error).__name__,
            "id": name,
            "text": text,
            "hint": hint,
            "problems": problems,
            "exit_code": code,
        }
        print(json.dumps({"error": about}))
    return code


def _id_of(text: str) -> str | None:
    """The id of a message in the catalogue of errors; None where its words are another program's."""
    from fabric.errorlist.entries import match  # noqa: PLC0415  a command without errors reads no catalogue

    entry = match(text)
    return entry.id if entry is not None else None
