"""``fabric validate CONFIGS...``: check switch configurations before a rollout."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabric import shipped
from fabric.cli.options.assumptions import add_latency, add_response, assumptions
from fabric.cli.options.output import STDOUT, add_out, problems_of_out, write_styled
from fabric.cli.options.ratio import ratio
from fabric.cli.validate_class_path import add_class_path, class_path
from fabric.cli.validate_class_path import problems_of as class_path_problems
from fabric.cli.validate_recommend import problems_of, recommended
from fabric.cli.validate_search import add_search, searched, wanted, with_search
from fabric.cli.validate_search import problems_of as search_problems
from fabric.errors import InputErrors, Problem

if TYPE_CHECKING:
    from fabric.configs.network import Network
    from fabric.proof.search.search import Found
    from fabric.validate.checks.base import Severity
    from fabric.validate.judge import Request
    from fabric.validate.proofs import Proof
    from fabric.validate.runner import Verdict

EXIT_FINDING: Final = 1
EXIT_INTERRUPTED: Final = 130
_FORMATS: Final = ("text", "json", "sarif", "junit", "html", "markdown")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        "examples:\n  fabric validate configs/ --hosts hosts.yml --format html -o verdict.html\n"
        "  fabric validate new/ --baseline old/\n  fabric validate configs/ --reach\n"
        "  fabric validate configs/ --fix patches/\n  fabric validate configs/ --recommend\n"
        "  fabric validate configs/ --hosts hosts/ --class-path\n"
        "  fabric validate configs/ --reach host1 host3\n  fabric validate --explain E2"
    )
    parser.add_argument(
        "configs", nargs="*", type=shipped.example, metavar="CONFIGS", help="files, or folders of them, one per switch"
    )
    parser.add_argument(
        "--links",
        type=shipped.example,
        metavar="FILE",
        help="links, containerlab or netlab file, or a "
        "folder of LLDP dumps named SWITCH.json (default: the switches' neighbour tables, or "
        "topology.* in the folder)",
    )
    parser.add_argument(
        "--hosts",
        type=shipped.example,
        metavar="FILE",
        help="hosts' RoCE settings, or a folder with the outputs of the hosts' tools, a file or folder for each host "
        "(default: hosts.* and hosts/ in the folder)",
    )
    parser.add_argument(
        "--fib",
        type=Path,
        action="append",
        default=[],
        metavar="FILE|DIR",
        help="the switches' "
        "forwarding tables as JSON (`ip -j route`, FRR or EOS `show ip route`), named SWITCH.json; "
        "paths follow them (default: static routes, else shortest paths); repeatable",
    )
    parser.add_argument(
        "--pg-profile-lookup",
        action="append",
        default=[],
        metavar="[HWSKU=]FILE",
        help="headroom table of the switches, or of one HWSKU; repeatable",
    )
    parser.add_argument(
        "--roce-dscp",
        type=_dscp,
        action="append",
        metavar="N",
        help="DSCP of RoCE (default: the hosts', else 26); repeatable",
    )
    parser.add_argument(
        "--cnp-dscp",
        type=_dscp,
        action="append",
        metavar="N",
        help="DSCP of CNPs (default: the hosts', else 48); repeatable",
    )
    add_response(parser, "--peer-response")
    add_latency(parser)
    parser.add_argument("--max-oversubscription", type=ratio, metavar="RATIO", help="error above this (default 3)")
    parser.add_argument(
        "--reach",
        nargs="*",
        metavar="HOST",
        help="no checks: which hosts reach each other over BGP, EVPN and VXLAN, and why the others do not; with two "
        "hosts, only those two",
    )
    add_class_path(parser)
    parser.add_argument(
        "--recommend",
        action="store_true",
        help="no checks: headroom, alpha and marking curve for each class of ports, found by simulated runs, with "
        "their margins",
    )
    parser.add_argument(
        "--baseline", type=shipped.example, metavar="DIR", help="the present configurations; report only new findings"
    )
    parser.add_argument(
        "--suppress", type=Path, metavar="FILE", help="accepted findings, each with a reason and a date"
    )
    parser.add_argument("--only", metavar="IDS", help="only these checks or families, such as M1,E2 or M,L")
    parser.add_argument(
        "--fail-on",
        choices=("error", "warn", "info", "never"),
        help="exit code 1 from this severity on (default error)",
    )
    parser.add_argument(
        "--fix",
        nargs="?",
        const=STDOUT,
        type=Path,
        metavar="DIR",
        help="after CONFIGS: the smallest changes that clear the warnings and errors, each tried on copies in memory; "
        "with DIR, written there: SWITCH.patch.json for SONiC's `config apply-patch`, else SWITCH.commands.txt",
    )
    parser.add_argument("--fix-apply", type=Path, metavar="DIR", help="write fixed copies of all files to DIR")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="parts of files that no check uses and that could act on RoCE are errors (check R10)",
    )
    parser.add_argument(
        "--prove",
        action="store_true",
        help="simulate the findings: traffic that shows each one on the fabric as configured, and not on the remedied "
        "one; without a finding, search (docs/proof.md)",
    )
    add_search(parser)
    parser.add_argument(
        "--prove-out",
        type=Path,
        metavar="DIR",
        help="with --prove: write each proof as scenario files for `fabric run`, as soon as it is made",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="with --prove and --recommend: no progress on standard error"
    )
    parser.add_argument("--format", choices=_FORMATS, help="default text")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument(
        "--all", action="store_true", help="text: notes, suppressed findings and everything not understood, too"
    )
    add_out(parser, "FILE", "write to FILE instead of standard output")
    parser.add_argument("--explain", metavar="ID", help="condition, reason and source of one check")
    parser.add_argument("--list", action="store_true", help="every check; --format markdown with full text")


def run(args: argparse.Namespace) -> int:
    """Explain, list, or check."""
    style = _checked(args)
    if args.explain or args.list:
        write_styled(args.out, _catalogue(args.explain, style), style)
        return 0
    from fabric.validate.judge import Request, judged  # noqa: PLC0415  --list needs no parser

    request = Request(
        args.configs,
        args.links,
        args.hosts,
        args.fib,
        args.pg_profile_lookup,
        args.roce_dscp or (),
        args.cnp_dscp or (),
        args.max_oversubscription,
        args.baseline,
        args.suppress,
        args.only,
        assumptions(args, "peer_response"),
        args.strict,
    )
    if args.recommend:
        text, complete = recommended(request, style, quiet=args.quiet)
        write_styled(args.out, text, style)
        return 0 if complete else EXIT_INTERRUPTED
    if args.class_path is not None:
        text, whole = class_path(args, request, style)
        write_styled(args.out, text, style)
        return 0 if whole or args.fail_on == "never" else EXIT_FINDING
    if args.reach is not None:
        return _reach(args, request, style)
    _check_folders(args, request)
    verdict, network = judged(request)
    whole = True
    limit = _limit(args.fail_on or "error")
    found = None
    if args.prove:
        verdict, whole = _proved(verdict, network, args.prove_out, quiet=args.quiet)
        if whole and wanted(args, verdict):
            found = searched(args, network)
            whole = found.complete
    if args.fix is not None or args.fix_apply is not None:
        write_styled(args.out, _fixed(args, request, verdict, style), style)
    else:
        from fabric.validate.fix.told import with_remedies  # noqa: PLC0415  --list needs no parser

        verdict = with_remedies(request, verdict)
        write_styled(args.out, _rendered(verdict, style, limit, found, everything=args.all), style)
    if not whole:
        return EXIT_INTERRUPTED
    lost = found is not None and bool(found.certain)
    return EXIT_FINDING if limit is not None and (verdict.reaches(limit) or lost) else 0


def _check_folders(args: argparse.Namespace, request: Request) -> None:
    """Before minutes of work: folders that may not be written. Raises: InputErrors."""
    if args.prove_out is not None:
        from fabric.proof.files import COMMAND  # noqa: PLC0415  --list needs no parser
        from fabric.runs.owned import check  # noqa: PLC0415

        check(args.prove_out, "--prove-out", COMMAND)
    if args.fix is None and args.fix_apply is None:
        return
    from fabric.validate.fix.files import refuse, refuse_shared  # noqa: PLC0415

    folders = {"--fix": args.fix, "--fix-apply": args.fix_apply, "--out": args.out}
    named = {option: path for option, path in folders.items() if path not in {None, STDOUT}}
    refuse_shared(named)
    for option, folder in named.items():
        if option != "--out":
            refuse(request, folder, option)


def _fixed(args: argparse.Namespace, request: Request, verdict: Verdict, style: str) -> str:
    """Find the changes, write their files, and render them; other formats than text have the verdict, too."""
    from fabric.validate.fix.files import write_copies, write_patches  # noqa: PLC0415  --list needs no parser
    from fabric.validate.fix.search import find  # noqa: PLC0415
    from fabric.validate.fix.told import told  # noqa: PLC0415
    from fabric.validate.output import data as render_data  # noqa: PLC0415
    from fabric.validate.output import fix as render  # noqa: PLC0415
    from fabric.validate.output import page as render_page  # noqa: PLC0415

    plan = find(request, verdict)
    verdict = told(verdict, plan)
    files = [] if args.fix in {None, STDOUT} else list(map(str, write_patches(plan, args.fix)))
    if args.fix_apply is not None:
        files += map(str, write_copies(plan, args.fix_apply))
    if style == "json":
        return render_data.as_json(verdict, {**render.as_data(plan), "files": files})
    if style == "sarif":
        return render_data.as_sarif(verdict, render.sarif_fixes(plan))
    if style == "markdown":
        return render_page.as_markdown(verdict) + render.as_markdown(plan)
    return render.as_text(plan, files)


def _proved(verdict: Verdict, network: Network, folder: Path | None, *, quiet: bool) -> tuple[Verdict, bool]:
    """The verdict with its proofs, and whether all were tried: an interruption keeps those that are finished."""
    from fabric.cli.terminal.proof_progress import ProofProgress  # noqa: PLC0415  it loads the engine
    from fabric.proof.files import Folder  # noqa: PLC0415
    from fabric.proof.prove import left_out, proofs, tasks  # noqa: PLC0415
    from fabric.runs.files import naming  # noqa: PLC0415

    work = tasks(verdict)
    found: list[Proof] = []
    whole = True
    with ExitStack() as stack:
        home = None
        if folder is not None:
            stack.enter_context(naming(folder))
            home = Folder(folder)
        show = stack.enter_context(ProofProgress(sys.stderr, len(work), quiet=quiet))
        try:
            for proof in proofs(network, work):
                found.append(proof if home is None else home.write(proof))
                show.update(found)
        except KeyboardInterrupt:
            whole = False
        if home is not None:
            home.index(found)
    if not whole:
        print(f"interrupted: {len(found)} of {len(work)} findings were simulated", file=sys.stderr)
    return replace(verdict, proofs=tuple(found), not_simulated=left_out(verdict)), whole


def _reach(args: argparse.Namespace, request: Request, style: str) -> int:
    """Print reachability; exit code 1 where a pair of one segment or VRF, or the pair asked for, does not reach."""
    from fabric.validate.judge import reachability  # noqa: PLC0415  --list needs no parser
    from fabric.validate.output import reach as render_reach  # noqa: PLC0415
    from fabric.validate.reach_table import meant_to_reach, pairs_of, table_of  # noqa: PLC0415

    reach = reachability(request)
    render = render_reach.as_json if style == "json" else render_reach.as_text
    write_styled(args.out, render(reach, args.reach), style)
    if args.reach:
        whole = all(verdict.reaches for _, _, verdict in pairs_of(reach, *args.reach))
    else:
        whole = table_of(reach).whole and not any(True for _ in meant_to_reach(reach))
    return 0 if whole or args.fail_on == "never" else EXIT_FINDING


def _checked(args: argparse.Namespace) -> str:
    """The format; every contradiction of the options together."""
    problems = []
    if args.json and args.format not in {None, "json"}:
        problems.append(Problem("--json", f"contradicts --format {args.format}", "give one of them"))
    style: str = "json" if args.json else args.format or "text"
    asked = bool(args.explain) + bool(args.list)
    if asked and args.recommend:
        problems.append(Problem("--recommend", "contradicts --list and --explain", "leave it out"))
    if asked and args.configs:
        problems.append(Problem("CONFIGS", "are not read with --list or --explain", "leave them out"))
    if asked > 1:
        problems.append(Problem("--explain", "contradicts --list", "give one of them"))
    if not asked and not args.configs:
        problems.append(Problem("CONFIGS", "no configuration was given", "name files or a folder, one file per switch"))
    if asked and style not in {"text", "json", "markdown"}:
        problems.append(Problem("--format", f"{style} is for verdicts", "use text, json or markdown"))
    if args.explain and style == "markdown":
        problems.append(Problem("--format", "markdown is for --list", "use text or json"))
    if args.all and style != "text":
        problems.append(Problem("--all", f"has no effect on {style}, which is complete", "leave it out"))
    if args.strict and args.fail_on == "never":
        problems.append(Problem("--strict", "contradicts --fail-on never", "give one of them"))
    if args.fix is not None or args.fix_apply is not None:
        problems += _fix_problems(args, style, asked=bool(asked))
    if args.prove_out is not None and not args.prove:
        problems.append(Problem("--prove-out", "has no effect without --prove", "add --prove, or leave it out"))
    problems += search_problems(args)
    if args.quiet and not (args.prove or args.recommend):
        problems.append(Problem("--quiet", "has no effect without --prove or --recommend", "leave it out"))
    if args.prove and (asked or args.reach is not None):
        problems.append(Problem("--prove", "is for verdicts", "leave out --list, --explain and --reach"))
    for option, given, what in (
        ("--peer-response", args.peer_response, "which tries peers from none to all of the 802.3 limit"),
        ("--latency", args.latency, "which takes none: a loss without it is a loss with it"),
    ):
        if args.prove and given is not None:
            problems.append(Problem(option, f"has no effect with --prove, {what}", "leave it out"))
    if args.prove and (args.fix is not None or args.fix_apply is not None):
        problems.append(Problem("--prove", "contradicts --fix and --fix-apply", "simulate the fixed copies afterwards"))
    if args.class_path is not None:
        problems += class_path_problems(args, style)
    elif args.recommend:
        problems += problems_of(args, style)
    elif args.reach is not None:
        problems += _reach_problems(args, style)
    if args.out is not None:
        from fabric.configs.load import SUFFIXES  # noqa: PLC0415  --list needs no parser

        read = (*args.configs, args.links, args.hosts, args.baseline, args.suppress, *args.fib)
        problems += problems_of_out(args.out, [path for path in read if path is not None], SUFFIXES)
    if problems:
        raise InputErrors("options", problems)
    return style


def _fix_problems(args: argparse.Namespace, style: str, *, asked: bool) -> list[Problem]:
    problems = []
    if asked or args.reach is not None:
        problems.append(Problem("--fix", "is for a verdict", "leave out --list, --explain and --reach"))
    elif style not in {"text", "json", "sarif", "markdown"}:
        problems.append(Problem("--format", f"{style} has no fixes", "use text, json, sarif or markdown with --fix"))
    if not args.configs and not asked:
        problems.append(Problem("--fix", "takes the word after it as its DIR", "write --fix after CONFIGS"))
    if args.all:
        problems.append(Problem("--all", "has no effect on fixes", "leave it out"))
    return problems


def _reach_problems(args: argparse.Namespace, style: str) -> list[Problem]:
    problems = []
    if len(args.reach) not in {0, 2}:
        text = f"{len(args.reach)} hosts were given"
        problems.append(Problem("--reach", text, "name two hosts or none, after CONFIGS"))
    if style not in {"text", "json"}:
        problems.append(Problem("--format", f"{style} is for verdicts", "use text or json with --reach"))
    checked = (
        ("--only", args.only),
        ("--baseline", args.baseline),
        ("--suppress", args.suppress),
        ("--peer-response", args.peer_response),
        ("--latency", args.latency),
    )
    for option, given in checked:
        if given is not None:
            problems.append(Problem(option, "is for checks, and --reach runs none", "leave it out"))
    return problems


def _catalogue(explain: str | None, style: str) -> str:
    import json  # noqa: PLC0415

    from fabric.topology.select import nearest  # noqa: PLC0415
    from fabric.validate.checks.registry import CHECKS  # noqa: PLC0415
    from fabric.validate.output import text as render_text  # noqa: PLC0415

    if explain is not None:
        explain = next((name for name in CHECKS if name.upper() == explain.strip().upper()), explain)
    if explain is not None and explain not in CHECKS:
        raise InputErrors(
            "options", [Problem("--explain", f"'{explain}' is not a check", nearest(explain, list(CHECKS)))]
        )
    if style == "json":
        rows = [
            {
                "id": it.id,
                "severity": it.severity.word,
                "title": it.title,
                "condition": it.condition,
                "consequence": it.consequence,
                "remedy": it.remedy,
                "source": it.source,
            }
            for it in CHECKS.values()
        ]
        return (
            json.dumps(
                rows if explain is None else next(row for row in rows if row["id"] == explain),
                indent=2,
                ensure_ascii=False,
            )
            + "\n"
        )
    if explain is not None:
        return render_text.explain(CHECKS[explain])
    return render_text.catalogue_markdown() if style == "markdown" else render_text.catalogue()


def _limit(word: str) -> Severity | None:
    from fabric.validate.checks.base import Severity  # noqa: PLC0415

    return None if word == "never" else Severity[word.upper()]


def _rendered(
    verdict: Verdict, style: str, limit: Severity | None, found: Found | None = None, *, everything: bool
) -> str:
    from fabric.validate.checks.base import Severity  # noqa: PLC0415
    from fabric.validate.output import data as render_data  # noqa: PLC0415
    from fabric.validate.output import page as render_page  # noqa: PLC0415
    from fabric.validate.output import text as render_text  # noqa: PLC0415

    if found is not None:
        return with_search(verdict, found, style, limit, everything=everything)
    if style == "text":
        return render_text.render(verdict, everything=everything)
    if style == "json":
        return render_data.as_json(verdict)
    if style == "sarif":
        return render_data.as_sarif(verdict)
    if style == "junit":
        return render_data.as_junit(verdict, limit or Severity.ERROR)
    return render_page.as_html(verdict) if style == "html" else render_page.as_markdown(verdict)


def _dscp(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 3 and int(text) < 64):
        raise argparse.ArgumentTypeError(f"{text!r} is not a DSCP in 0..63")
    return int(text)
