"""Watch a project: run it, compare every system with its history, and send a message where quality fell.

PROJECT is a rankscope.toml or the folder of one; without it the nearest one is taken, from the current folder upwards.
All answers are asked for anew and kept in the store, and all runs are scored under the judgments of today. The mean of
the primary measure is a drop where it lies outside the control band of the last 10 runs (median -+ 3 x 1.4826 x MAD)
by more than the margin, or where a gate would fail it against the run that the tag `baseline` is on. A target of the
project that is not met, and a system that cannot be measured, are alerts, too. Messages go to the tables [notify.NAME]
of the project file, once for each alert, and once when it has recovered.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rankscope.cli import options
from rankscope.cli.exit_codes import FINDING, FINE, UNFINISHED, WRONG_INPUT, code_of_error
from rankscope.cli.run import print_note, progress_bars
from rankscope.cli.style import show
from rankscope.errors import OptionError, RankscopeError, shorten
from rankscope.printable import counted, printable

if TYPE_CHECKING:
    from rankscope.experiment.project import Project
    from rankscope.experiment.watch import WatchResult

EPILOG = """\
examples:
  rankscope watch                                 once, as from cron
  rankscope watch --every 1h                      until Ctrl-C
  rankscope watch search/ --only hybrid --baseline release
  rankscope watch --stored --dry-run              what would be sent, from the runs that are stored
  rankscope watch --test-notify                   a test message to every [notify.NAME]
  rankscope watch --accept                        take things as they are for the new normal

a table of the project file, for example (docs/watch.md has e-mail and commands, too):
  [notify.slack]
  type = "webhook"
  url = "${SLACK_WEBHOOK}"

exit codes: 0 fine, 1 a drop or a target that is not met, also of an earlier watch that has not recovered,
2 wrong use or input, or a system that could not be measured, 3 could not finish, or a message could not be
sent (it is tried again by the next watch)"""

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LEAST_S = 1
LONGEST_LINE = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", metavar="PROJECT", nargs="?", help="the project file, or its folder")
    only, collection = "watch this system; may be repeated", "watch this collection; may be repeated"
    parser.add_argument("--only", action="append", default=[], metavar="SYSTEM", help=only)
    parser.add_argument("--collection", action="append", default=[], metavar="NAME", help=collection)
    baseline = (
        "a stored run to compare its system with: tag, number, hash or SYSTEM~1; may be repeated "
        "(default: the tag baseline, if there is one)"
    )
    parser.add_argument("--baseline", action="append", default=[], metavar="RUN", help=baseline)
    every = "watch again and again, e.g. every 30m, 1h, 1d or 1w, until Ctrl-C (default: once)"
    parser.add_argument("--every", type=seconds, metavar="TIME", help=every)
    stored = "look at the newest stored runs, and run nothing"
    parser.add_argument("--stored", action="store_true", help=stored)
    dry = "show what would be sent; nothing is sent, and no alert is opened or closed (a run is kept as always)"
    parser.add_argument("--dry-run", action="store_true", help=dry)
    instead = parser.add_mutually_exclusive_group()
    test = "send a test message to every notifier, and do nothing else"
    instead.add_argument("--test-notify", action="store_true", help=test)
    accept = "close all open alerts, and let history begin at the newest runs; nothing is run or sent"
    instead.add_argument("--accept", action="store_true", help=accept)
    where = "the store: a file, a folder or postgresql://… (default: beside the project file, in .rankscope/store.db)"
    parser.add_argument("--store", metavar="WHERE", help=where)
    options.add_format_option(parser, "text", "json", by_extension={".json": "json", ".txt": "text"})
    options.add_output_option(parser, "write to a file: .json .txt")


def seconds(text: str) -> int:
    """Read a time such as 90s, 30m, 1h, 1d, 1w or 1h30m."""
    parts = re.findall(r"(\d{1,6})([smhdw])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text} is not a time such as 30m, 1h or 1d")
    total = sum(int(number) * _SECONDS[unit] for number, unit in parts)
    if total < _LEAST_S:
        raise argparse.ArgumentTypeError(f"{text} is no time to wait")
    return total


def run(args: argparse.Namespace) -> int:
    from rankscope.experiment.project import project_file

    form = options.chosen_format(args)
    refuse_what_does_nothing(args)
    file = project_file(args.project).resolve()
    if args.test_notify:
        return test_notifiers(file)
    if args.accept:
        return accept_all(file, args.store)
    return watch_once(file, args, form) if args.every is None else watch_for_ever(file, args, form)


def refuse_what_does_nothing(args: argparse.Namespace) -> None:
    """Refuse options that would be ignored."""
    action = "--test-notify" if args.test_notify else "--accept" if args.accept else ""
    ignored = ("only", "collection", "baseline", "every", "stored", "dry_run", "output", "format")
    for name in ignored if action else ():
        if getattr(args, name):
            raise OptionError(
                f"--{name.replace('_', '-')} has nothing to do with {action}", hint="leave one of them out"
            )
    if args.test_notify and args.store:
        raise OptionError("--store has nothing to do with --test-notify", hint="leave one of them out")


def watch_for_ever(file: Path, args: argparse.Namespace, form: str) -> int:
    """Watch at fixed distances in time; what goes wrong once is printed, and the next watch may do better."""
    if options.is_file(args.output):
        raise OptionError("-o keeps one result, and --every has many", hint="leave one of them out: > FILE takes all")
    start, n_done = time.monotonic(), 0
    while True:
        try:
            watch_once(file, args, form)
        except RankscopeError as error:
            if not n_done and code_of_error(error) == WRONG_INPUT:
                raise  # it was never right
            show(f"error: {error.message}", *([f"hint: {error.hint}"] if error.hint else []), file=sys.stderr)
        n_done += 1
        sys.stdout.flush()
        behind = time.monotonic() - start
        time.sleep(args.every - behind % args.every)


def watch_once(file: Path, args: argparse.Namespace, form: str) -> int:
    from rankscope.experiment.keep import project_store
    from rankscope.experiment.project import build_notifiers, load_project
    from rankscope.experiment.watch import WatchFailedError, WatchOptions, watch_project
    from rankscope.records import to_json
    from rankscope.store import open_store, open_to_look
    from rankscope.systems.working_directory import process_of

    project = load_project(file)
    asked = WatchOptions(
        only=tuple(args.only),
        collections=tuple(args.collection),
        baseline=tuple(args.baseline),
        stored=args.stored,
        dry_run=args.dry_run,
        command=options.command_line(args),
    )
    notifiers = () if args.dry_run else build_notifiers(project)
    failed: RankscopeError | None = None
    place, only_looks = args.store or project_store(project), args.stored and args.dry_run
    with (
        open_to_look(place) if only_looks else open_store(place, create=not args.stored) as store,
        process_of(file.parent) if args.owns_process else nullcontext(),
        progress_bars(sys.stderr) as on_progress,
    ):
        try:
            result = watch_project(
                project, store, asked, notifiers=notifiers, on_progress=on_progress, on_note=print_note
            )
        except WatchFailedError as error:
            failed, result = error.error, error.result
    with options.output_to(args.output) as stream:
        if form == "json":
            stream.write(result.to_json() if args.every is None else to_json(result, indent=None) + "\n")
        else:
            show(*lines_of(result, project), file=stream)
    options.say_where(args.output)
    for line in lines_of_failures(result):
        show(line, file=sys.stderr)
    if failed is not None:
        show(f"error: {failed.message}", *([f"hint: {failed.hint}"] if failed.hint else []), file=sys.stderr)
        return code_of_error(failed)
    if result.is_incomplete:
        return WRONG_INPUT
    return FINDING if result.has_drop else UNFINISHED if result.is_unsent else FINE


def lines_of(result: WatchResult, project: Project) -> Iterator[str]:
    """Yield what was found: a line for each system, then alerts and messages."""
    from rankscope.experiment.alerts import mean_lines, moment, notice_of, subject_of

    marks = {"fine": "ok", "drop": "DROP", "unmeasured": "NOT MEASURED"}
    n_dropped = sum(mean.state == "drop" for mean in result.watched)
    n_unknown = sum(mean.state == "unmeasured" for mean in result.watched)
    n_missed = sum(target.outcome == "failed" for target in result.targets)
    answers = [counted(n_dropped, "drop")] * bool(n_dropped)
    answers += [f"{counted(n_missed, 'target')} missed"] * bool(n_missed)
    answers += [f"{n_unknown} could not be measured"] * bool(n_unknown)
    yield f"{moment(result.at)}: {', '.join(answers) or 'no drop'}"
    for mean in result.watched:
        first, *more = mean_lines(mean)
        yield f"  {marks[mean.state]:<4}  {first}"
        yield from (f"          {line}" for line in more)
    for target in result.targets:
        if target.outcome != "passed":
            mark = "FAIL" if target.outcome == "failed" else "ok  "
            why = " (quarantined)" if target.outcome == "quarantined" else ""
            about = f"{target.system} on {target.collection}: target {target.target!r}{why}: {target.words}"
            yield f"  {mark}  {printable(shorten(about, limit=LONGEST_LINE))}"
    if result.targets:
        n_met = sum(target.outcome == "passed" for target in result.targets)
        yield f"  {n_met} of {counted(len(result.targets), 'target')} met"
    yield from (f"note: {printable(note)}" for mean in result.watched for note in mean.notes)
    if result.dry_run:
        if not result.planned:
            yield "Nothing would be sent."
        for each in result.planned:
            notice = notice_of(each.alert, project=result.project)
            yield f"\nWould be sent by {each.notifier}:"
            yield from (f"    {line}".rstrip() for line in (notice.line, "", *notice.lines.split("\n")))
        return
    yield from (f"alert opened: {subject_of(alert)}" for alert in result.opened)
    yield from (f"alert open since {moment(alert.opened)}: {subject_of(alert)}" for alert in result.kept)
    yield from (f"alert closed: {subject_of(alert)}" for alert in result.recovered)
    yield from (f"sent by {each.notifier}: {each.subject}" for each in result.sent if each.sent)
    if (result.opened or result.kept) and not project.notify:
        yield f"Nobody was sent a message: {project.file.name} has no table [notify.NAME] (docs/watch.md)."


def lines_of_failures(result: WatchResult) -> Iterator[str]:
    """Yield what could not be sent, and why."""
    from rankscope.experiment.alerts import moment

    for each in (*result.sent, *result.waiting):
        if not each.sent:
            tried = "once" if each.attempts == 1 else f"{each.attempts} times"
            again = f"the first watch after {moment(each.next_try)} tries again"
            yield f"error: {each.notifier} could not send (tried {tried}): {each.failure}; {again}: {each.subject}"
        elif each.failure:
            yield f"warning: {each.notifier}: {each.failure}"


def test_notifiers(file: Path) -> int:
    from rankscope.experiment.alerts import trial_notice
    from rankscope.experiment.project import build_notifiers, load_project
    from rankscope.experiment.watch import project_label
    from rankscope.notify.notice import NotifyError

    project = load_project(file)
    notifiers = build_notifiers(project)
    if not notifiers:
        raise OptionError(
            f"{project.file.name} has no table [notify.NAME], so there is nobody to send to",
            hint="docs/watch.md shows tables for Slack, e-mail and commands",
        )
    code = FINE
    for notifier in notifiers:
        try:
            notifier.send(trial_notice(project_label(project)))
        except NotifyError as error:
            code = UNFINISHED
            show(f"error: {notifier.name} ({notifier.type}): {error.message}", file=sys.stderr)
        else:
            show(f"{notifier.name} ({notifier.type}): sent")
    return code


def accept_all(file: Path, where: str | None) -> int:
    from rankscope.experiment.alerts import moment, subject_of
    from rankscope.experiment.keep import project_store
    from rankscope.experiment.project import load_project
    from rankscope.experiment.watch import accept
    from rankscope.records import replace
    from rankscope.store import open_store

    project = load_project(file)
    with open_store(where or project_store(project)) as store:
        closed = accept(store)
        for alert in closed:
            subject = subject_of(replace(alert, closed=None))
            since = "" if alert.history_from is None else f"; history counts from run {alert.history_from} on"
            show(f"accepted: {subject}, open since {moment(alert.opened)}{since}")
    if not closed:
        show("there is no open alert")
    return FINE
