"""Let people judge docs, in tasks that several raters share, and see what their judgments settle.

create NAME RUN...    make a task of stored runs, the first is the baseline; or of the docs that a file names (--file)
list                  all tasks, with how much is judged
show TASK             where a task stands: raters, progress, and whether the verdict is settled
invite TASK NAME...   add raters; prints the link of each, which cannot be shown again
revoke TASK RATER     end an invitation; what was judged stays
renew TASK RATER      another link for a rater who lost it, or may go on; the old one ends
forget TASK RATER     end an invitation and take the name away; what was judged stays, as that of "rater N"
guideline TASK [FILE] print the guideline, or let what is judged from now on follow another text of the same scale
stop TASK             take no more judgments; reopen TASK goes on
extend TASK           add docs (--k, --size, --file) or raters of each doc (--overlap)
grade [TASK|FILE]     judge in the terminal, as one of the raters; or fill in a table that compare --settle wrote
qrels TASK            make qrels of the grades, by the rule of the task or another one
agreement TASK        how far raters agree, and whether the verdict depends on the rater
flags TASK            flags, choices and preferences: by rank, system and note
import FILE           take in judgments: qrels, CSV, JSONL, Quepid, exports of the doctor finder; those of a model
                      become qrels that are called as the model, for --judge-qrels
export FILE           write judgments: .txt (qrels), .csv, .jsonl, or for Quepid (--to quepid)

Settled means that no grades of the docs that are left can change the verdict: docs of the task, and those that the
measure reads of each run. An audit grows (extend --size) until its first look. Raters of a blind task see neither
systems nor ranks. A task is named by its name or its number, and so is a rater: what is a name and a number is a name.
"""

from __future__ import annotations

import argparse
import getpass
import shlex
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rankscope.cli import options
from rankscope.cli.exit_codes import FINE
from rankscope.cli.style import WIDTH, show
from rankscope.data.tasks import name_of_forgotten, raters_called, raters_meant, shown_rater
from rankscope.errors import InputError, OptionError, UnknownNameError, did_you_mean
from rankscope.io.addresses import shown_url
from rankscope.io.files import read_text
from rankscope.io.numbers import integer_in, number_in
from rankscope.printable import counted, printable
from rankscope.records import Record, to_json

if TYPE_CHECKING:
    from rankscope.judging.records import Task, TaskRater
    from rankscope.store import Store
    from rankscope.store.qrels import StoredQrels

RULES_HELP = (
    "how several grades become one: lower median (default), majority (of several as frequent the lowest), mean, max, "
    "latest (by their times), trusted, dawid-skene or only"
)
OWN_POOLS = ("top", "settle", "sample", "disagreements", "audit")
EPILOG = """\
examples:
  rankscope judge create hearts bm25 dense -m nDCG@10 --pool settle --qrels clinic
  rankscope judge create first bm25 dense hybrid --k 5 --overlap 2 --guideline guideline.md
  rankscope judge invite hearts Ann Bo --url https://search.example.org
  rankscope judge grade hearts --rater ann
  rankscope judge grade judge-these.csv
  rankscope judge show hearts
  rankscope judge qrels hearts --rule majority -o qrels.txt
  rankscope judge import ratings.csv --task hearts --rater ann
  rankscope judge create trust bm25 dense -m nDCG@10 --pool audit --judge-qrels gpt.jsonl
  rankscope judge export hearts.csv --task hearts

exit codes: 0 fine, 2 wrong use or input"""
OF_ACTIONS: dict[str, tuple[str, ...]] = {
    "pool": ("create",),
    "k": ("create", "extend"),
    "size": ("create", "extend"),
    "overlap": ("create", "extend"),
    "file": ("create", "extend"),
    "settle": ("extend",),
    "measure": ("create", "agreement"),
    "margin": ("create",),
    "qrels": ("create",),
    "judge_qrels": ("create",),
    "gold_share": ("create",),
    "repeat_share": ("create",),
    "lists": ("create",),
    "show_ranks": ("create",),
    "guideline": ("create", "grade"),
    "seed": ("create",),
    "rule": ("create", "qrels"),
    "trusted": ("create", "qrels"),
    "collection": ("create", "import", "export"),
    "url": ("invite", "renew"),
    "rater": ("grade", "import"),
    "new_rater": ("grade",),
    "task": ("import", "export"),
    "query": ("import",),
    "kind": ("import",),
    "to": ("export",),
    "name": ("qrels",),
    "output": ("qrels", "agreement", "flags"),
    "details": ("agreement", "flags"),
}
"""The actions that an option has a meaning for."""

MOST_NAMES = {
    "list": 0,
    "show": 1,
    "guideline": 2,
    "stop": 1,
    "reopen": 1,
    "extend": 1,
    "grade": 1,
    "qrels": 1,
    "agreement": 1,
    "flags": 1,
}
"""Of actions that do not take any number of names; import and export say themselves that they take one file."""

LOOKING = ("list", "show", "agreement", "flags", "export")
"""The actions that only read."""
FORMATS = ("text", "markdown", "html", "latex", "json")
FORMATS_OF_ACTIONS = {"list": ("text", "json"), "show": ("text", "json"), "agreement": FORMATS, "flags": FORMATS}


class ListedTask(Record):
    """A task as the list shows it."""

    number: int
    name: str
    collection: str
    mode: str
    pool: str
    state: str
    docs: int
    """Without gold docs; in lists: queries."""
    gold: int
    """Docs of known grade, by which raters are checked: each rater gets some of them, and some may be nobody's."""
    judged: int
    """Docs that a rater has judged: graded, or said that they cannot tell; in lists queries."""
    finished: int
    """Of these, docs that as many raters have judged as are to judge each one."""
    overlap: int
    raters: int
    """Those who are revoked count where they have judged a doc."""
    revoked: int
    """How many of the raters are revoked."""
    created: str


class ListedRater(Record):
    """A rater as `show` lists it."""

    number: int
    name: str
    judged: int
    seen: str | None
    revoked: str | None
    invited: bool
    """Whether there ever was a link; who is known only by a file is asked for nothing more."""


class ShownTask(Record, kw_only=True):
    """A task as `show` has it."""

    task: ListedTask
    raters: tuple[ListedRater, ...]
    stage: str
    settled: bool
    """Whether no grade of an open doc changes the verdict: one of the task, or among the first `depth` of a list."""
    no_labels: str
    """Why the task's rule makes no labels of the grades there are: then the lower median stands in, and nothing is
    settled. Empty where it makes some, or nothing is graded."""
    depth: int | None
    """How many docs of each list the measure reads; None: all of them, or there is nothing to settle."""
    open_ideal: bool
    """Whether a relevant doc elsewhere would change the ideal of the measure, which `settled` does not cover."""
    short: str
    words: str
    n_open: int
    """Open docs of the task that can move the verdict, and that raters are asked for."""
    n_judgments: int
    """How many judgments these lack."""
    n_about: int | None
    n_outside: int
    """Docs outside the task that can move the verdict: no rater is asked for them."""
    n_untold: int
    """Docs of the task that can move it, and that raters could not tell."""
    can_be_settled: bool
    """Whether the task alone settles it for certain."""
    n_queries: int
    n_unjudged_queries: int
    """Queries without a judged doc; they count as no difference."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", help=f"{', '.join([*ACTIONS][:-1])} or {[*ACTIONS][-1]}")
    parser.add_argument("names", metavar="NAME", nargs="*", help="a task, then runs, raters or a file: see above")
    options.add_store_option(parser)
    make = parser.add_argument_group("what is judged (create, extend)")
    pools = (
        "top (default): the first k of each run; settle: docs that can turn the verdict; sample; disagreements; audit"
    )
    make.add_argument("--pool", metavar="WORD", help=pools)
    make.add_argument("--file", metavar="FILE", help="a table or qrels that name the docs to judge")
    deep = "so many of each run's first docs (default: 10; of an audit as many as its measure reads)"
    make.add_argument("--k", metavar="N", help=deep)
    make.add_argument(
        "--size",
        metavar="N",
        help="at most so many docs (of top: those of whole queries), or queries of an audit or of lists",
    )
    make.add_argument("--overlap", metavar="N", help="so many raters judge each doc (default: 1)")
    make.add_argument("--settle", action="store_true", help="with extend: docs that can turn the verdict")
    make.add_argument("-m", "--measure", metavar="NAME", help="the measure whose comparison is to be settled")
    make.add_argument("--margin", metavar="X", help="the smallest difference that matters, as for compare")
    make.add_argument("--qrels", metavar="NAME", help="stored qrels of people, which are known already")
    make.add_argument("--judge-qrels", metavar="NAME", help="labels of a model, for audits: stored, or a file")
    make.add_argument("--lists", action="store_true", help="judge whole lists side by side")
    make.add_argument("--show-ranks", action="store_true", help="let raters see systems and ranks: not blind")
    make.add_argument("--gold-share", metavar="X", help="the share of docs whose grade is known (default: 0)")
    make.add_argument("--repeat-share", metavar="X", help="the share of docs that come twice (default: 0.05)")
    make.add_argument("--guideline", metavar="FILE", help="Markdown with a list `## Scale` (default: one for 0 to 3)")
    make.add_argument("--rule", metavar="WORD", help=RULES_HELP)
    make.add_argument("--trusted", metavar="RATER", help="whose grade counts, with --rule trusted")
    make.add_argument("--seed", metavar="N", help="seed of everything random (default: 0)")
    more = parser.add_argument_group("others")
    more.add_argument("--collection", metavar="NAME", help="the collection, where no run or task says it")
    more.add_argument("--url", metavar="URL", help="with invite, renew: the page, such as https://search.example.org")
    more.add_argument(
        "--rater",
        metavar="NAME",
        help="with grade: who judges (default: your login name); with import: who judged what names no rater "
        "(default: a rater called imported)",
    )
    more.add_argument("--new-rater", action="store_true", help="with grade: add the rater to those of the task")
    more.add_argument("--task", metavar="TASK", help="with import and export: the task")
    more.add_argument(
        "--query", metavar="TEXT", help="with import: what was searched for, where an export does not say"
    )
    more.add_argument("--kind", metavar="WORD", help="with import: judgments, table, quepid, export or qrels")
    more.add_argument("--to", metavar="WORD", help="with export: qrels, csv, jsonl or quepid")
    more.add_argument(
        "--name", metavar="NAME", help="with qrels: what they are called in the store (default: as the task)"
    )
    more.add_argument("-o", "--output", metavar="FILE", help="with qrels, agreement, flags: write it to a file")
    more.add_argument("--details", action="store_true", help="with agreement and flags: all tables")
    options.add_format_option(parser, *FORMATS, only="of list and show text or json")


def run(args: argparse.Namespace) -> int:
    if args.action not in ACTIONS:
        message = f"there is no action {args.action!r}; there are {', '.join(ACTIONS)}"
        raise OptionError(message, hint=did_you_mean(args.action, ACTIONS))
    for name, actions in OF_ACTIONS.items():
        if getattr(args, name) not in (None, False) and args.action not in actions:
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(f"{flag} does nothing with {args.action}", hint=f"it goes with {', '.join(actions)}")
    check_format(args)
    check_names(args)
    check_output(args)
    if args.action == "grade" and args.names and looks_like_a_file(args.names[0]):
        grade_file(args)
        return FINE
    from rankscope.store import open_store, open_to_look

    with open_to_look(args.store) if only_looks(args) else open_store(args.store) as store:
        ACTIONS[args.action](args, store)
    return FINE


def check_names(args: argparse.Namespace) -> None:
    """Refuse names that an action would not read."""
    extra = args.names[MOST_NAMES.get(args.action, len(args.names)) :]
    if extra:
        hint = "`rankscope judge --help` says what it takes"
        raise OptionError(f"{args.action} does nothing with {shlex.join(extra)}", hint=hint)


def only_looks(args: argparse.Namespace) -> bool:
    """Tell whether an action keeps nothing, so that a store will do that may only be read."""
    return args.action in LOOKING or (args.action == "guideline" and len(args.names) < 2)


def check_format(args: argparse.Namespace) -> None:
    form = options.chosen_format(args)
    if form in FORMATS_OF_ACTIONS.get(args.action, ("text",)):
        return
    others = ", ".join(action for action, formats in FORMATS_OF_ACTIONS.items() if form in formats)
    if args.action not in FORMATS_OF_ACTIONS:
        raise OptionError(f"--format does nothing with {args.action}", hint=f"--format {form} goes with {others}")
    words = " or ".join(FORMATS_OF_ACTIONS[args.action])
    raise OptionError(f"{args.action} writes {words}, not {form}", hint=f"--format {form} goes with {others}")


def check_output(args: argparse.Namespace) -> None:
    """Refuse a file that would be called as what it does not hold, before anything is read."""
    if args.action == "qrels" and args.output:
        options.check_ending(args.output, (".txt", ".qrels", ".trec", ".tsv"))
    if args.action in ("agreement", "flags"):
        from rankscope.cli.judge_results import form_of

        form_of(args)


def number_option(args: argparse.Namespace, name: str, kind: type = int) -> Any:
    """Return a number that was given as text, None where it was not."""
    text = getattr(args, name)
    number = None if text is None else integer_in(text) if kind is int else number_in(text)
    if number is None and text is not None:
        what = "a whole number, or too large" if kind is int else "a number"
        raise OptionError(f"--{name.replace('_', '-')} {text!r} is not {what}")
    return number


def task_of(args: argparse.Namespace, store: Store) -> Task:
    if not args.names:
        raise OptionError(
            "no task is named", hint=f"rankscope judge {args.action} TASK; `rankscope judge list` lists them"
        )
    return store.tasks.get(args.names[0])


def create(args: argparse.Namespace, store: Store) -> None:
    from rankscope.judging.pools import cut_of
    from rankscope.judging.records import LabelRule, TaskPlan
    from rankscope.judging.settling import is_bounded
    from rankscope.judging.task_notes import task_notes
    from rankscope.judging.tasks import create_task

    if not args.names:
        raise OptionError("the task has no name", hint="rankscope judge create NAME RUN...")
    name, *runs = args.names
    pool = args.pool or ("file" if args.file else "top")
    if pool not in (*OWN_POOLS, "file"):
        raise OptionError(
            f"there is no pool {pool!r}; there are {', '.join(OWN_POOLS)}", hint=did_you_mean(pool, OWN_POOLS)
        )
    if (pool == "file") != bool(args.file):
        raise OptionError("--file takes the place of a pool", hint="leave --pool out, or --file")
    rule = args.rule or "lower median"
    if rule not in get_args(LabelRule):
        raise OptionError(f"there is no rule {rule!r}; there are {', '.join(get_args(LabelRule))}")
    pairs = list(pairs_in(args.file)) if args.file else []
    given: dict[str, Any] = {
        "k": number_option(args, "k"),
        "size": number_option(args, "size"),
        "overlap": number_option(args, "overlap"),
        "gold_share": number_option(args, "gold_share", float),
        "repeat_share": number_option(args, "repeat_share", float),
        "margin": number_option(args, "margin", float),
        "seed": number_option(args, "seed"),
        "measure": args.measure,
        "trusted": args.trusted,
        "qrels": None if args.qrels is None else store.qrels.find(args.qrels).number,
        "judge_qrels": judge_qrels_number(args, store, runs),
    }
    given |= {"pool": pool, "rule": rule, "mode": "lists" if args.lists else "docs", "blind": not args.show_ranks}
    if pool == "audit" and given["k"] is None:
        given["k"] = cut_of(args.measure or "")
    plan = TaskPlan(**{key: value for key, value in given.items() if value is not None})
    task = create_task(
        store,
        name,
        plan,
        runs=runs,
        collection=args.collection,
        guideline=None if args.guideline is None else guideline_in(args.guideline),
        pairs=pairs,
        who=getpass_user(),
    )
    items = store.tasks.items(task)
    queries = len({item.query for item in items})
    what = (
        f"lists of {counted(queries, 'query')}"
        if args.lists
        else f"{counted(len(items), 'doc')} of {counted(queries, 'query')}"
    )
    show(f"task {task.number}, {task.name}: {what} to judge", f"next: rankscope judge invite {task.number} NAME")
    if task.plan.measure and task.plan.mode == "docs" and not is_bounded(task.plan.measure):
        note = f"note: what open docs could do to {task.plan.measure} at the worst is not known: a verdict by it is "
        show(*wrapped(f"{note}settled only once all docs are judged that it reads"))
    for words in task_notes(store, task):
        show(*wrapped(f"note: {words}"))


def judge_qrels_number(args: argparse.Namespace, store: Store, runs: Sequence[str]) -> int | None:
    """Return the number of the stored labels of a model; a file of them is kept first, and its name said."""
    from rankscope.judging.importing import judge_qrels_in

    named = args.judge_qrels
    if named is None:
        return None
    try:
        return store.qrels.find(named).number
    except UnknownNameError as error:
        if not Path(named).is_file():
            hint = f"{error.hint}; a file of labels can be named, too".removeprefix("; ")
            raise UnknownNameError(error.message, hint=hint) from None
    collection = args.collection or (store.runs.find(runs[0]).collection if runs else None)
    if collection is None:
        raise OptionError("it is not said of which collection the labels are", hint="--collection NAME")
    stored = judge_qrels_in(store, named, collection=collection)
    show(f"the labels of {named} are kept as those of a model: --judge-qrels {shlex.quote(stored.name)}")
    return stored.number


def pairs_in(path: str) -> Iterator[tuple[str, str]]:
    """Yield the queries and docs that a table or qrels name, with or without a grade."""
    from rankscope.data.loading import load_qrels
    from rankscope.errors import RankscopeError
    from rankscope.io.table import read_rows

    try:
        rows = [row for _, row in read_rows(path)]
    except RankscopeError:
        rows = []
    if rows and all("query" in row and "doc" in row for row in rows):
        yield from ((str(row["query"]), str(row["doc"])) for row in rows)
        return
    judged = load_qrels(path).rows
    yield from zip(judged.query, judged.doc, strict=True)


def getpass_user() -> str:
    """Return who is logged in, empty where nobody knows."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def listed(store: Store, task: Task) -> ListedTask:
    from rankscope.judging.left_to_judge import judged_by

    every = store.tasks.items(task)
    items = [item for item in every if item.gold is None]
    gold = {(item.query, item.doc) for item in every} - {(item.query, item.doc) for item in items}
    said = [each for each in judged_by(store, task) if each[:2] not in gold]
    judged, by = Counter((query, doc) for query, doc, _ in said), {rater for *_, rater in said}
    raters = [rater for rater in store.raters.list(task) if rater.revoked is None or rater.key in by]
    return ListedTask(
        number=task.number,
        name=task.name,
        collection=task.collection,
        mode=task.plan.mode,
        pool=task.plan.pool,
        state=task.state,
        docs=len({item.query for item in items}) if task.plan.mode == "lists" else len(items),
        gold=len(gold),
        judged=len(judged),
        finished=sum(n >= task.plan.overlap for n in judged.values()),
        overlap=task.plan.overlap,
        raters=len(raters),
        revoked=sum(rater.revoked is not None for rater in raters),
        created=task.created,
    )


def judged_words(each: ListedTask) -> str:
    """Say how much is judged; where several raters judge each doc, also of how many docs that is so."""
    words = f"{each.judged:,} of {counted(each.docs, 'query' if each.mode == 'lists' else 'doc')} judged"
    words += f" ({each.finished:,} by {each.overlap:,} raters)" if each.overlap > 1 else ""
    return f"{words}, beside {counted(each.gold, 'gold doc')}" if each.gold else words


def list_tasks(args: argparse.Namespace, store: Store) -> None:
    from rankscope.judging.left_to_judge import raters_words

    tasks = [listed(store, task) for task in store.tasks.list()]
    if options.chosen_format(args) == "json":
        print(to_json(tasks))
        return
    if not tasks:
        show("there are no tasks; `rankscope judge create NAME RUN...` makes the first one")
    for each in tasks:
        raters = raters_words(each.raters, each.revoked)
        show(f"{each.number}  {each.name}: {judged_words(each)}, {raters}, {each.state}")


def show_task(args: argparse.Namespace, store: Store) -> None:
    from rankscope.judging.left_to_judge import judged_by, nobody_words
    from rankscope.judging.pools import n_added
    from rankscope.judging.settling import settling_of

    task = task_of(args, store)
    state = settling_of(store, task)
    judged = judged_by(store, task)
    by_rater = Counter(rater for _, _, rater in judged)
    known = store.raters.list(task)
    names = {rater.id: name if rater.name else "" for rater, name in zip(known, named(known), strict=True)}
    raters = tuple(
        ListedRater(rater.number, names[rater.id], by_rater[rater.key], rater.seen, rater.revoked, rater.invited)
        for rater in known
    )
    shown = ShownTask(
        task=listed(store, task),
        raters=raters,
        stage=state.stage,
        settled=state.settled,
        no_labels=state.no_labels,
        depth=state.depth,
        open_ideal=state.open_ideal,
        short=state.short,
        words=state.words,
        n_open=state.n_open,
        n_judgments=state.n_judgments,
        n_about=state.n_about,
        n_outside=state.n_outside,
        n_untold=state.n_untold,
        can_be_settled=state.can_be_settled,
        n_queries=state.n_queries,
        n_unjudged_queries=state.n_unjudged_queries,
    )
    if options.chosen_format(args) == "json":
        print(to_json(shown))
        return
    each = shown.task
    n_more = n_added(store, task)
    added = f" and {counted(n_more, 'doc')} added since" if n_more else ""
    blind, in_lists = "blind" if task.plan.blind else "with systems and ranks", task.plan.mode == "lists"
    show(
        f"task {each.number}, {each.name}: {judged_words(each)}, {each.state}",
        f"  {', '.join(task.plan.systems) or 'docs of a list'}; pool {each.pool}{added}, "
        f"{counted(task.plan.overlap, 'rater')} for each {'query' if in_lists else 'doc'}, {blind}"
        f"{'' if in_lists else f', rule {task.plan.rule}'}",
        *(rater_line(rater) for rater in raters),
        *(line for words in state.lines for line in wrapped(words)),
        *wrapped(nobody_words(task, state, known, judged)),
    )


def named(raters: Sequence[TaskRater]) -> list[str]:
    """Return what raters are called here and on the page, no two alike."""
    from rankscope.data.tasks import names_of_raters

    return list(names_of_raters(raters).values())


def wrapped(words: str) -> list[str]:
    return textwrap.wrap(words, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def rater_line(rater: ListedRater) -> str:
    when = (
        "revoked"
        if rater.revoked
        else f"last seen {rater.seen[:16].replace('T', ' ')}"
        if rater.seen
        else "not invited"
        if not rater.invited
        else "not on the page"
        if rater.judged
        else "not seen yet"
    )
    return f"  {rater_words(rater.number, rater.name)}: {rater.judged:,} judged, {when}"


def rater_words(number: int, name: str) -> str:
    """Return the number of a rater with the name; one whose name was taken away is called by the number alone."""
    if name == name_of_forgotten(number):
        return f"{name} (name taken away)"
    return f"rater {number}, {name or 'no name yet'}"


def invite(args: argparse.Namespace, store: Store) -> None:
    task = task_of(args, store)
    names = args.names[1:]
    if not names:
        raise OptionError("no rater is named", hint=f"rankscope judge invite {args.names[0]} NAME...")
    check_url(args)
    if not all(names):
        raise OptionError("a rater has no name", hint=f"rankscope judge invite {args.names[0]} NAME...")
    for name in names:
        show_link(args, *store.raters.invite(task, name=name))
    if not args.url:
        show("put the address of your page before these links; --url does so")


def check_url(args: argparse.Namespace) -> None:
    if args.url and not args.url.startswith(("http://", "https://")):
        raise OptionError(f"{args.url!r} is no address of a page", hint="--url https://search.example.org")


def show_link(args: argparse.Namespace, rater: TaskRater, token: str) -> None:
    base = (args.url or "").rstrip("/")
    show(f"{rater_words(rater.number, rater.name)}: {base}/judge/start?invite={token}")


def renew(args: argparse.Namespace, store: Store) -> None:
    task = task_of(args, store)
    check_url(args)
    for rater in named_raters(args, store, task):
        show_link(args, *store.raters.renew(rater.number))
    if not args.url:
        show("put the address of your page before these links; --url does so")


def forget(args: argparse.Namespace, store: Store) -> None:
    task = task_of(args, store)
    for rater in named_raters(args, store, task):
        called = store.raters.forget(rater.number).name
        show(f"{rater.name or called} is called {called} from now on, and the link has ended; what was judged stays")


def guideline(args: argparse.Namespace, store: Store) -> None:
    from rankscope.judging.tasks import change_guideline

    task = task_of(args, store)
    if len(args.names) < 2:
        show(store.tasks.guideline_text(task).rstrip("\n"))
        return
    change_guideline(store, task, guideline_in(args.names[1]))
    show(f"what is judged in {task.name} from now on follows {args.names[1]}")


def guideline_in(path: str) -> str:
    if Path(path).is_dir():
        raise InputError(f"{path} is a folder", hint="give the file of the guideline, a text in Markdown")
    return read_text(path)


def named_raters(args: argparse.Namespace, store: Store, task: Task) -> list[TaskRater]:
    """Return the raters who are named after the task; all are looked for before anything is changed."""
    if len(args.names) < 2:
        raise OptionError("no rater is named", hint=f"rankscope judge {args.action} {args.names[0]} RATER")
    return [find_rater(store, task, name) for name in args.names[1:]]


def find_rater(store: Store, task: Task, name: str) -> TaskRater:
    raters = store.raters.list(task)
    found = raters_meant(raters, name)
    if len(found) == 1:
        return found[0]
    if found:
        numbers = ", ".join(str(rater.number) for rater in found)
        raise UnknownNameError(f"several raters of {task.name} are called {name}", hint=f"take a number: {numbers}")
    known = ", ".join(named(raters))
    raise UnknownNameError(
        f"{task.name} has no rater {name!r}", hint=f"there are {known}" if known else "there are none"
    )


def revoke(args: argparse.Namespace, store: Store) -> None:
    task = task_of(args, store)
    for each in named_raters(args, store, task):
        rater = store.raters.revoke(each.number)
        show(f"{rater_words(rater.number, rater.name)}: revoked; what was judged stays")


def stop(args: argparse.Namespace, store: Store) -> None:
    show(f"{store.tasks.stop(task_of(args, store)).name} takes no more judgments")


def reopen(args: argparse.Namespace, store: Store) -> None:
    show(f"{store.tasks.reopen(task_of(args, store)).name} goes on")


def extend(args: argparse.Namespace, store: Store) -> None:
    from rankscope.judging.tasks import docs_that_settle, extend_task

    task = task_of(args, store)
    given = {name: number_option(args, name) for name in ("k", "size", "overlap")}
    if not args.file and not args.settle and not any(given.values()):
        hint = "--k, --size, --file or --settle adds docs, --overlap raters of each doc"
        raise OptionError("nothing is added", hint=hint)
    adds_docs = args.file or args.settle or given["k"] or given["size"]
    if given["overlap"] == task.plan.overlap and not adds_docs:
        each = counted(task.plan.overlap, "rater")
        raise OptionError(f"nothing is added: {each} for each doc is what {task.name} has", hint="give a larger number")
    items = docs_that_settle(store, task) if args.settle else ()
    more = extend_task(store, task, **given, pairs=pairs_in(args.file) if args.file else (), items=items)
    show(f"{task.name}: {counted(more.items, 'doc')} added, {counted(more.task.plan.overlap, 'rater')} for each doc")


def looks_like_a_file(name: str) -> bool:
    return Path(name).suffix.lower() in (".csv", ".jsonl", ".ndjson", ".tsv", ".txt") or Path(name).is_file()


def grade_file(args: argparse.Namespace) -> None:
    from rankscope.cli.judge_grade import FileDesk, grade_all
    from rankscope.judging.guidelines import DEFAULT_GUIDELINE

    if args.rater or args.new_rater:
        flag = "--rater" if args.rater else "--new-rater"
        raise OptionError(f"{flag} does nothing with a file", hint="it is for tasks, which know who judged")
    desk = FileDesk(Path(args.names[0]), DEFAULT_GUIDELINE if args.guideline is None else guideline_in(args.guideline))
    grade_all(desk)


def grade(args: argparse.Namespace, store: Store) -> None:
    from rankscope.cli.judge_grade import TaskDesk, grade_all
    from rankscope.judging.session import session_of
    from rankscope.judging.settling import TaskSettling

    if args.guideline:
        raise OptionError("--guideline does nothing with a task", hint="a task has its own")
    if not args.names:
        opened = [task for task in store.tasks.list() if task.state == "open" and task.plan.mode == "docs"]
        if len(opened) != 1:
            names = ", ".join(task.name for task in opened)
            raise OptionError(
                "no task is named", hint=f"there are {names}" if opened else "`rankscope judge create` makes one"
            )
        args.names = [opened[0].name]
    task = task_of(args, store)
    if task.state == "stopped":
        raise InputError(f"the task {task.name} was stopped", hint=f"rankscope judge reopen {task.number}")
    name = args.rater or getpass_user()
    if not name:
        raise OptionError("nobody knows who judges", hint="--rater NAME says it")
    rater = who_grades(args, store, task, name)
    if rater.revoked is not None:
        raise InputError(f"the invitation of {name} was revoked", hint="judge as somebody else: --rater NAME")
    settling = TaskSettling(store, task) if task.plan.measure else None
    grade_all(TaskDesk(session_of(store, task, rater), settling))


def who_grades(args: argparse.Namespace, store: Store, task: Task, name: str) -> TaskRater:
    """Return the rater with a name; a new one gets a share of what others were to judge, so that has to be meant."""
    from rankscope.judging.imported_raters import rater_named

    raters = store.raters.list(task)
    if raters_called(raters, name):
        if args.new_rater:
            raise OptionError(f"{task.name} has a rater {name} already", hint="leave --new-rater out")
        return rater_named(store, task, name)
    if (numbered := raters_meant(raters, name)) and not args.new_rater:
        return numbered[0]
    if not raters or args.new_rater or is_meant(f"{task.name} has no rater {printable(name)}. Add one"):
        return rater_named(store, task, name)
    names = named(raters)
    near = did_you_mean(name, names) or f"there are {', '.join(names)}"
    raise UnknownNameError(
        f"{task.name} has no rater {name!r}", hint=f"{near}; --new-rater adds one, who gets a share of the docs"
    )


def is_meant(question: str) -> bool:
    """Ask somebody at a terminal; where nobody is there, nothing is meant that was not said."""
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    print(f"{question}? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def make_qrels(args: argparse.Namespace, store: Store) -> None:
    from rankscope.judging.exporting import export_judgments
    from rankscope.judging.labels import make_qrels as make
    from rankscope.judging.rater_verdicts import task_queries
    from rankscope.judging.records import LabelRule
    from rankscope.judging.same_numbers import same_numbers

    task = task_of(args, store)
    if args.rule and args.rule not in get_args(LabelRule):
        raise OptionError(f"there is no rule {args.rule!r}; there are {', '.join(get_args(LabelRule))}")
    stored = make(store, task, rule=args.rule, trusted=args.trusted, name=args.name)
    rows = store.qrels.judgments(stored).rows
    facts, raters = stored.facts, store.raters.list(task)
    planned, trusted = (shown_rater(raters, word) for word in (task.plan.trusted, args.trusted or task.plan.trusted))
    show(qrels_words(stored, len(rows)))
    if stored.name in store.runs.collections():
        words = f"note: {stored.name} is a collection: its pages use these labels from now on, in place of those before"
        show(*wrapped(f"{words}, until `rankscope run` keeps those of its project again"))
    if facts.get("n_untrusted"):
        show(f"  note: {trusted} did not grade {counted(facts['n_untrusted'], 'doc')}: lower median of the others")
    if args.output:
        export_judgments(store, args.output, collection=task.collection, task=task, format="qrels", qrels=stored)
        show(f"written to {args.output}")
    if facts["rule"] != task.plan.rule or trusted != planned:
        show(f"  note: `judge show` follows the task's rule, {task.plan.rule}, so that its numbers may be others")
    elif same := same_numbers(store, task, stored, file=args.output or "", place=args.store or ""):
        show(*(line for words in same.sentences for line in wrapped(words)), *(f"    {each}" for each in same.commands))
        return
    asked = set(task_queries(store, task)) | {item.query for item in store.tasks.items(task)}
    if lacking := asked - set(rows.query):
        n, of = f"{len(lacking):,}", counted(len(asked), "query")
        show(
            f"  note: {n} of {of} have no doc in these qrels:",
            "  `compare` leaves them out, or with `--unjudged-queries zero` counts them as no difference",
        )


def qrels_words(stored: StoredQrels, n_docs: int) -> str:
    """Say what qrels of a task hold, and how many of their docs nobody graded in it."""
    facts = stored.facts
    known = f" ({n_docs - facts['n_known']:,} graded here, {facts['n_known']:,} known before)"
    raters = counted(facts["n_raters"], "rater")
    differed = f"; they differed on {facts['n_disagreed']:,}" if facts["n_raters"] > 1 else ""
    return (
        f"qrels {stored.name} ({stored.short}): {counted(n_docs, 'doc')}{known if facts['n_known'] else ''}, "
        f"rule {facts['rule']}, of {raters}{differed}"
    )


def agreement(args: argparse.Namespace, store: Store) -> None:
    from rankscope.cli.judge_results import show_agreement

    show_agreement(args, store, task_of(args, store))


def flags(args: argparse.Namespace, store: Store) -> None:
    from rankscope.cli.judge_results import show_flags

    show_flags(args, store, task_of(args, store))


def file_and_place(args: argparse.Namespace, store: Store) -> tuple[str, str, Task | None]:
    """Return the file, the collection and the task that judgments go to or come from."""
    if len(args.names) != 1:
        raise OptionError("one file is named", hint=f"rankscope judge {args.action} FILE --task TASK")
    task = None if args.task is None else store.tasks.get(args.task)
    collection = task.collection if task is not None else args.collection
    if task is not None and args.collection not in (None, task.collection):
        raise OptionError(f"the task {task.name} is of the collection {task.collection}", hint="leave --collection out")
    if collection is None:
        known = store.runs.collections()
        if len(known) != 1:
            raise OptionError(
                "it is not said of which collection", hint=f"--task TASK, or --collection {'|'.join(known) or 'NAME'}"
            )
        collection = known[0]
    return args.names[0], collection, task


def take_in_file(args: argparse.Namespace, store: Store) -> None:
    from rankscope.judging.importing import import_judgments
    from rankscope.judging.judgment_files import IMPORT_FORMATS

    path, collection, task = file_and_place(args, store)
    check_word("kind", args.kind, IMPORT_FORMATS)
    rater = args.rater or ""
    if task is not None and rater.isdecimal():  # numbers name raters, and nobody is added who is called by one
        rater = find_rater(store, task, rater).id
    given = {"rater": rater, "query": args.query or "", "format": args.kind}
    taken = import_judgments(store, path, collection=collection, task=task, **given)
    kinds = {"grade": taken.n_grades, "flag": taken.n_flags, "choice": taken.n_choices}
    kinds["preference"] = taken.n_preferences
    said = [counted(n, noun) for noun, n in kinds.items() if n]
    # a doc may be graded and flagged at once, so that the kinds need not add up
    words = f" (with {', '.join(said)})" if said else ""
    show(
        f"{shown_url(path)} ({taken.format}): {counted(taken.n, 'judgment')}{words}, {taken.n_new:,} of them new",
        *(f"  note: {note}" for note in taken.notes),
        *(f"labels of a model: --judge-qrels {shlex.quote(name)} audits them" for name in taken.judge_qrels),
    )


def write_out_file(args: argparse.Namespace, store: Store) -> None:
    from rankscope.judging.exporting import EXPORT_FORMATS, export_judgments

    path, collection, task = file_and_place(args, store)
    check_word("to", args.to, EXPORT_FORMATS)
    n = export_judgments(store, path, collection=collection, task=task, format=args.to)
    show(f"{counted(n, 'line')} written to {path}")


def check_word(option: str, word: str | None, known: Sequence[str]) -> None:
    if word is not None and word not in known:
        raise OptionError(f"--{option} {word!r} is not one of {', '.join(known)}", hint=did_you_mean(word, known))


ACTIONS: Mapping[str, Callable[[argparse.Namespace, Store], None]] = {
    "create": create,
    "list": list_tasks,
    "show": show_task,
    "invite": invite,
    "revoke": revoke,
    "renew": renew,
    "forget": forget,
    "guideline": guideline,
    "stop": stop,
    "reopen": reopen,
    "extend": extend,
    "grade": grade,
    "qrels": make_qrels,
    "agreement": agreement,
    "flags": flags,
    "import": take_in_file,
    "export": write_out_file,
}
