"""Show what became of systems over time: every stored run, scored again under the judgments of today.

Without an action: a line for each system with its newest score, its interval and its trend, then the newest changes.
A run is named by its number, the beginning of its hash, a tag, or its system (bm25 is its newest run, bm25~1 the one
before).

show RUN       what is known of a run: options, versions, host, commit, latency, failures
diff A B       what changed from run A to run B: the system's part and the labels' part, with a verdict on the first
tag NAME RUN   give a run a name, such as baseline; the name moves, and where it was is kept. Without arguments: list
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankscope.cli import options
from rankscope.cli.exit_codes import FINE
from rankscope.cli.style import show
from rankscope.errors import OptionError, did_you_mean
from rankscope.printable import amount
from rankscope.records import to_json

if TYPE_CHECKING:
    from rankscope.store import Store, StoredRun

ACTIONS = ("show", "diff", "tag")
FORMATS = ("text", "markdown", "html", "latex", "json")
OF_ACTIONS: dict[str, tuple[str | None, ...]] = {
    "measure": (None, "diff"),
    "system": (None,),
    "last": (None,),
    "qrels": (None, "diff"),
    "margin": (None, "diff"),
    "anyway": ("diff",),
    "remove": ("tag",),
    "details": (None,),
    "output": (None, "diff", "show"),
}
"""The actions that an option has a meaning for; None is the whole history."""
EPILOG = """\
examples:
  rankscope history
  rankscope history -m AP --system bm25 --last 10 -o history.html
  rankscope history show bm25
  rankscope history diff bm25~1 bm25
  rankscope history diff baseline hybrid -o change.html
  rankscope history tag baseline bm25

runs that were asked other queries are not compared, unless --anyway compares them on those that both were asked"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", nargs="?", help="show, diff or tag; without it, the whole history")
    parser.add_argument("names", metavar="NAME", nargs="*", help="runs, or a tag and a run")
    parser.add_argument("-m", "--measure", metavar="NAME", help="the measure (default: that of the project)")
    parser.add_argument("--collection", metavar="NAME", help="the collection, where the store has several")
    only = "only this system; may be repeated"
    parser.add_argument("--system", action="append", default=[], metavar="NAME", help=only)
    parser.add_argument("--last", type=options.whole_number, metavar="N", help="only the newest N runs of each system")
    labels = "other judgments of the store than the newest: their number or the beginning of their hash"
    parser.add_argument("--qrels", metavar="NAME", help=labels)
    margin = "the smallest difference that matters (default: that of the project)"
    parser.add_argument("--margin", type=float, metavar="X", help=margin)
    parser.add_argument("--anyway", action="store_true", help="with diff: compare runs that were asked other queries")
    parser.add_argument("--remove", action="store_true", help="with tag: take a tag away")
    options.add_store_option(parser)
    parser.add_argument("--details", action="store_true", help="in text: every run, too")
    options.add_format_option(parser, *FORMATS, by_extension=options.REPORT_EXTENSIONS)
    options.add_output_option(parser, "write to a file: .html .md .tex .json .txt")


def run(args: argparse.Namespace) -> int:
    from rankscope.store import open_store, open_to_look

    if args.action is not None and args.action not in ACTIONS:
        message = f"there is no action {args.action!r}; there are {', '.join(ACTIONS)}"
        raise OptionError(message, hint=did_you_mean(args.action, ACTIONS))
    refuse_what_has_no_place(args)
    form = options.chosen_format(args)
    moves_a_tag = args.action == "tag" and (args.names or args.remove)
    with open_store(args.store) if moves_a_tag else open_to_look(args.store) as store:
        if args.action == "tag":
            return tag(store, args)
        if args.action == "show":
            return show_run(store, args, form)
        if args.action == "diff":
            return diff(store, args, form)
        return whole_history(store, args, form)


def refuse_what_has_no_place(args: argparse.Namespace) -> None:
    """Refuse options that an action does not look at, rather than do nothing about them."""
    for name, actions in OF_ACTIONS.items():
        if getattr(args, name) and args.action not in actions:
            places = [f"history {action}" if action else "history" for action in actions]
            used = " and ".join(f"`rankscope {place}`" for place in places)
            raise OptionError(f"--{name} goes with {used}", hint="leave it out")


def whole_history(store: Store, args: argparse.Namespace, form: str) -> int:
    from rankscope.experiment.history import history_of
    from rankscope.report.history import report_of

    progress = options.progress_on(sys.stderr, "scoring runs under the judgments of today")
    found = history_of(
        store,
        collection=args.collection,
        measure=args.measure,
        systems=args.system,
        last=args.last,
        qrels=args.qrels,
        margin=args.margin,
        on_progress=progress,
    )
    command = options.command_line(args)
    options.write_result(
        args,
        form,
        found,
        lambda with_figures, every_pair: report_of(
            found, command=command, with_figures=with_figures, every_run=every_pair
        ),
    )
    return FINE


def wanted(names: Sequence[str], n: int, usage: str) -> Sequence[str]:
    if len(names) != n:
        raise OptionError(f"{len(names)} names are given, but {n} are needed", hint=f"rankscope history {usage}")
    return names


def diff(store: Store, args: argparse.Namespace, form: str) -> int:
    from rankscope.experiment.history import diff_runs
    from rankscope.report.history import change_report

    before, after = (store.runs.find(name, collection=args.collection) for name in wanted(args.names, 2, "diff A B"))
    found = diff_runs(
        store, before, after, measure=args.measure, qrels=args.qrels, margin=args.margin, anyway=args.anyway
    )
    with options.output_to(args.output) as stream:
        if form == "json":
            stream.write(to_json(found, indent=1) + "\n")
        else:
            report = change_report(found, command=options.command_line(args))
            options.write_report(lambda **_: report, form, stream, details=True, table_width=options.text_width(stream))
    options.say_where(args.output)
    return FINE


def show_run(store: Store, args: argparse.Namespace, form: str) -> int:
    from rankscope.report.history import facts_report

    [name] = wanted(args.names, 1, "show RUN")
    found = store.runs.find(name, collection=args.collection)
    tags = [tag for tag, number in store.tags.current().items() if number == found.number]
    facts = facts_of(found, tags, store.runs.repetitions([found])[found.number])
    with options.output_to(args.output) as stream:
        if form == "json":
            stream.write(to_json(found, indent=1) + "\n")
        elif form == "text":
            width = max(map(len, facts))
            show(*(f"{name:<{width}}  {value}" for name, value in facts.items()), file=stream)
        else:
            report = facts_report(found.in_words, facts, command=options.command_line(args))
            options.write_report(lambda **_: report, form, stream, details=True, table_width=options.text_width(stream))
    options.say_where(args.output)
    return FINE


def repetition_words(found: StoredRun, repetitions: Sequence[StoredRun]) -> str:
    """Say which runs are the repetitions of one, or which one of several a run is."""
    if found.details.repetition > 1:
        return f"number {found.details.repetition} of {found.details.n_repetitions}"
    if len(repetitions) == 1:
        return ""
    numbers = ", ".join(f"{each.number}" for each in repetitions)
    return f"{len(repetitions)} (runs {numbers}): scores are means over all of them"


def facts_of(found: StoredRun, tags: Sequence[str], repetitions: Sequence[StoredRun]) -> dict[str, str]:
    """Return what is known of a run, by name."""
    details, counts = found.details, {"judgments" if name == "qrels" else name: n for name, n in found.counts.items()}
    lines = {
        "run": f"{found.number} ({found.digest[:16]})",
        "system": f"{found.system}{f', {found.type}' if found.type else ''}",
        "tags": ", ".join(tags),
        "collection": f"{found.collection} ({', '.join(f'{n:,} {part}' for part, n in counts.items())})",
        "made": f"{found.started[:19].replace('T', ' ')} UTC",
        "answers": f"those of {details.answers_of[:16]}, not asked again" if details.answers_of else "",
        "repetitions": repetition_words(found, repetitions),
        "options": ", ".join(f"{key} = {value}" for key, value in found.config.items() if key != "type"),
        "docs asked for": "" if details.depth is None else f"{details.depth}",
        "latency": latency_words(details.latency_ms),
        "failed queries": f"{len(details.failed)}" if details.failed else "none",
        "host": details.host,
        "commit": details.git_commit,
        "versions": ", ".join(f"{name} {version}" for name, version in details.versions.items()),
        "seeds": ", ".join(map(str, details.seeds)),
        "command": details.command,
        "ranking": found.ranking_sha256[:16],
        "note": details.note,
    }
    return {name: value for name, value in lines.items() if value}


def latency_words(latency: dict[str, float] | None) -> str:
    if not latency:
        return ""
    return f"p50 {amount(latency['p50'])} ms, p95 {amount(latency['p95'])} ms ({latency['n']:.0f} queries)"


def tag(store: Store, args: argparse.Namespace) -> int:
    if not args.names and not args.remove:
        current = store.tags.current()
        for name, number in sorted(current.items()):
            show(f"{name}  {store.runs.find(str(number)).in_words}")
        if not current:
            show("there are no tags yet; rankscope history tag NAME RUN gives a run a name", file=sys.stderr)
        return FINE
    if args.remove:
        [name] = wanted(args.names, 1, "tag --remove NAME")
        store.tags.remove(name)
        show(f"{name} is no longer a tag", file=sys.stderr)
        return FINE
    name, reference = wanted(args.names, 2, "tag NAME RUN")
    found = store.runs.find(reference, collection=args.collection)
    store.tags.move(name, found)
    show(f"{name} is {found.in_words}", file=sys.stderr)
    return FINE
