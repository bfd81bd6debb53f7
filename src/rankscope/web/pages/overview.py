"""The first page: what to do, what needs somebody, and how things went of late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rankscope.comparison.records import Comparison, PairResult, QueryGroup, Stratum
from rankscope.comparison.verdict import WORDS as VERDICT_WORDS
from rankscope.comparison.verdict import interval_words, with_sign
from rankscope.data.tasks import Task
from rankscope.experiment.alerts import subject_of
from rankscope.experiment.history_records import History, HistoryPoint
from rankscope.experiment.stored_scoring import measure_with_margin
from rankscope.experiment.usual_baseline import PRODUCTION
from rankscope.printable import amount, counted, listed, printable
from rankscope.records import Options, Record, to_json
from rankscope.report import comparison as comparison_report
from rankscope.report import comparison_pair as parts
from rankscope.report import document as doc
from rankscope.report.history import answer_of as history_answer
from rankscope.report.history import trend_figure
from rankscope.report.table import Cell, Table
from rankscope.store import StoredRun
from rankscope.web.address import address
from rankscope.web.chosen import CollectionRuns, collection_runs, latency_of_run, usual_baseline
from rankscope.web.library import Library
from rankscope.web.pages.compare import ComparePage, ComparePageOptions, compare_page
from rankscope.web.pages.history import read_history
from rankscope.web.pages.judge import standing_of
from rankscope.web.pages.targets import TargetLine, TargetsOptions, targets_page

TREND_POINTS = 12
"""The newest runs of a system that the trend shows."""
SHOWN_NEEDS = 6
SHOWN_TARGETS = 2
"""Of more failing targets, these come before what else waits."""
SHOWN_TASKS = 3
"""Of more judging tasks that are not done, the newest are named, and the others counted."""
SHOWN_VERDICTS = 8
SHOWN_SLICES = 8
MADE_OF_RANKING = ("query length in words", "relevant docs")
"""Parts of the queries that nobody named as an attribute."""


class OverviewOptions(Options):
    """What the overview shows."""

    collection: str = ""
    """The collection; by default the one with the newest run."""


class RunLine(Record):
    """One stored run."""

    number: int
    system: str
    started: str
    n_failed: int


class OtherCollection(Record):
    """Another collection."""

    name: str
    newest: RunLine
    n_systems: int
    verdicts: str = ""
    """What the newest comparison on it said that is kept; empty where there is none."""


class NeededAction(Record):
    """Something that waits for somebody."""

    mark: doc.Mark
    what: str
    words: str
    link: str
    """Where to look."""
    link_words: str


class SliceLine(Record):
    """The best candidate on a part of the queries, which is exploratory."""

    attribute: str
    value: str
    n_queries: int
    now: float | None
    candidate: float | None
    difference: float | None
    low: float | None
    high: float | None
    stands_out: bool
    """Whether the difference here is another one than among all other queries."""
    verdict: str
    """What the interval says of this part alone: better, worse, or cannot tell."""
    mark: doc.Mark


class OverviewPage(Record, kw_only=True):
    """What stands on the overview."""

    collections: tuple[str, ...]
    collection: str
    measure: str = ""
    n_queries: int = 0
    answer: doc.VerdictBlock | None = None
    """None where there are no runs."""
    facts: tuple[doc.Fact, ...] = ()
    baseline: str = ""
    """What others are compared with: what users see, where that is known."""
    baseline_why: str = ""
    """Why it is that one."""
    candidate: str = ""
    """The best of the others; empty where there is none."""
    baseline_run: int | None = None
    candidate_run: int | None = None
    verdicts: tuple[doc.Estimates, ...] = ()
    """The newest run of each system against the baseline, for each group of queries, which is the title."""
    n_more: int = 0
    """Verdicts that are not shown."""
    not_compared: str = ""
    """Why there are no verdicts, where there are none."""
    needs: tuple[NeededAction, ...] = ()
    n_needs: int = 0
    """All of them, with those that are not shown."""
    trend: History | None = None
    """The newest runs of the main system and of the candidate, under the judgments of today."""
    slices: tuple[SliceLine, ...] = ()
    slices_in: str = ""
    """The group of queries that the slices are in, where there are several."""
    trend_words: tuple[str, ...] = ()
    """What still compares where a run was asked other queries than the one before."""
    runs: tuple[RunLine, ...] = ()
    """The newest."""
    others: tuple[OtherCollection, ...] = ()
    """Other collections, that with the newest run first."""


class OverviewView(Record, eq=False):
    """What is drawn of the overview."""

    trend: tuple[doc.Block, ...]


def overview_view(page: OverviewPage) -> OverviewView:
    """Return the trend as a chart, where there is one."""
    history = page.trend
    drawn = history is not None and any(len(system.points) > 1 for system in history.systems)
    return OverviewView((trend_figure(history),) if history is not None and drawn else ())


def overview_page(library: Library, asked: OverviewOptions) -> OverviewPage:
    """Say how things stand: the newest verdicts, trends, and what needs somebody."""
    lines = targets_page(library, TargetsOptions(collection=asked.collection or None)).lines
    new = tuple(line.name for line in lines if line.state == "unchecked")  # it is not the store that has these
    waiting = tuple(unfinished(library, collection_runs(library, asked.collection).name))  # tasks are stopped, reopened
    return library.cached(("overview", asked, new, waiting), lambda: build_page(library, asked, waiting))


def build_page(library: Library, asked: OverviewOptions, waiting: Sequence[NeededAction]) -> OverviewPage:
    of = collection_runs(library, asked.collection)
    if not of.runs:
        return OverviewPage(collections=(), collection="")
    compared = compare_page(library, ComparePageOptions(collection=of.name))
    comparison = compared.comparison
    group = None if comparison is None else largest_group(comparison)
    pair = None if comparison is None or group is None else best_pair(comparison, group)
    candidate = "" if pair is None else pair.b
    run_of = {choice.name: run for choice in compared.systems for run in of.runs if run.number == choice.run}
    systems = [of.main, *([run_of[candidate].system] if candidate else [])]
    history = trend_of(library, of, list(dict.fromkeys(systems)), n_changes=0 if comparison is not None else 1)
    targets = targets_page(library, TargetsOptions(collection=of.name)).lines
    failed = list(failing(targets, of))
    needs = [
        *alerts_of(library, of.name),
        *failed[:SHOWN_TARGETS],
        *never_checked(targets, of),
        *unsettled(compared),
        *waiting,
        *unanswered(of),
        *failed[SHOWN_TARGETS:],
    ]
    groups = () if comparison is None else comparison.groups
    verdicts = [(each.name or "", comparison_report.estimates_of(comparison, each)) for each in groups if comparison]
    return OverviewPage(
        collections=of.collections,
        collection=of.name,
        measure=history.measure,
        n_queries=compared.n_queries,
        answer=answer_of(comparison, history, needs),
        facts=tuple(facts_of(of, history, pair, run_of, targets=targets, compared=compared)),
        baseline=compared.baseline,
        baseline_why="" if of.chosen is None or compared.baseline != of.main else of.chosen.words,
        candidate=candidate,
        baseline_run=run_of[compared.baseline].number if candidate else None,
        candidate_run=run_of[candidate].number if candidate else None,
        verdicts=tuple(
            doc.Estimates(group_name, each.estimates[:SHOWN_VERDICTS], each.margin) for group_name, each in verdicts
        ),
        n_more=sum(max(0, len(each.estimates) - SHOWN_VERDICTS) for _, each in verdicts),
        not_compared=reason_of(compared),
        needs=tuple(needs[:SHOWN_NEEDS]),
        n_needs=len(needs),
        trend=history,
        trend_words=tuple(words_on_trend(history)),
        slices=() if pair is None else tuple(slices_of(pair)),
        slices_in="" if group is None else group.name or "",
        runs=tuple(line_of(run) for run in reversed(of.runs[-5:])),
        others=tuple(other_collections(library, of)),
    )


def trend_of(library: Library, of: CollectionRuns, systems: Sequence[str], *, n_changes: int) -> History:
    """Return the newest runs of some systems, under the judgments of today."""
    measure = measure_with_margin(library.store, of.runs).measure.name
    return read_history(library, of, measure=measure, systems=systems, last=TREND_POINTS, n_changes=n_changes)


def largest_group(comparison: Comparison) -> QueryGroup:
    """Return the group with the most queries; of several, such as languages, one stands in the facts."""
    return max(comparison.groups, key=lambda group: (group.n_queries, not group.pooled))


def best_pair(comparison: Comparison, group: QueryGroup) -> PairResult | None:
    """Return the pair of the baseline and the best of the others."""
    return next((pair for pair in comparison.pairs_in_order(group) if pair.delta is not None), None)


def reason_of(compared: ComparePage) -> str:
    if compared.refused is None:
        return ""
    if len(compared.systems) == 1:
        return "With a second system there will be verdicts here."
    return f"{compared.refused.what[:1].upper()}{compared.refused.what[1:]}."


def answer_of(comparison: Comparison | None, history: History, needs: Sequence[NeededAction]) -> doc.VerdictBlock:
    """Say what to do by the verdicts, or how the only system does, and how much waits."""
    waits = f" {counted(len(needs), 'thing')} {'needs' if len(needs) == 1 else 'need'} you." if needs else ""
    if comparison is None or comparison.recommendation is None:
        block = history_answer(history)
        return doc.VerdictBlock(f"{block.headline}{waits}", block.reason, block.mark, "", block.cautions)
    advice = comparison.recommendation
    if len(comparison.groups) == 1:
        pairs = comparison.pairs_in_order(comparison.groups[0])
        reason = pairs[0].final_verdict.reason if len(pairs) == 1 else advice.more
    else:
        reason = f"Each {comparison.isolated_by or 'group'} is compared on its own. {advice.more}".rstrip()
    return doc.VerdictBlock(f"{advice.text}{waits}", reason, parts.advice_mark(advice))


def facts_of(
    of: CollectionRuns,
    history: History,
    pair: PairResult | None,
    run_of: dict[str, StoredRun],
    *,
    targets: Sequence[TargetLine],
    compared: ComparePage,
) -> Iterator[doc.Fact]:
    """Yield at most five numbers."""
    point = main_point(of, history)
    if point is not None and point.mean is not None:
        is_tagged = PRODUCTION in point.tags
        role = "Production" if is_tagged else of.main
        ends = "" if point.low is None or point.high is None else f"{point.low:.3f} to {point.high:.3f}"
        name = f" · {of.main}" if is_tagged else ""
        yield doc.Fact(f"{role}, {history.measure}", f"{point.mean:.3f}", f"{ends}{name}")
    if pair is not None:
        where = f", {pair.group}" if pair.group else ""
        yield doc.Fact(f"Best candidate{where}", with_sign(pair.delta, pair), f"{interval_words(pair)} · {pair.b}")
    system = run_of[pair.b].system if pair is not None else of.main
    mine = [line for line in targets if line.system == system]
    if mine:
        n_failed = sum(line.state == "failed" for line in mine)
        n_quarantined = sum(line.state == "quarantined" for line in mine)
        words = [f"{n_failed} {'fails' if n_failed == 1 else 'fail'}" if n_failed else "none fails"]
        words += [f"{n_quarantined} in quarantine"] if n_quarantined else []
        n_passed = sum(line.state == "passed" for line in mine)
        yield doc.Fact(f"Targets of {system}", f"{n_passed} of {len(mine)}", ", ".join(words))
    timed = run_of[pair.b] if pair is not None else of.newest[of.main]
    p95, now = latency_of_run(timed, "p95"), latency_of_run(of.main_run, "p95")
    if p95 is not None:
        against = f"{of.main} {amount(now)} ms" if pair is not None and now is not None else ""
        yield doc.Fact("p95 latency", f"{amount(p95)} ms", f"{timed.system}{f' · {against}' if against else ''}")
    if pair is not None and pair.judged is not None and pair.judged.b is not None:
        among = "Judged" if pair.judged.depth is None else f"Judged in the first {pair.judged.depth}"
        key = (pair.group, pair.a, pair.b)
        n = next((each.n for each in compared.to_judge if (each.group, each.a, each.b) == key), 0)
        settle = f"{pair.b} · {counted(n, 'doc')} would settle the verdict" if n else f"of {pair.b}"
        yield doc.Fact(among, f"{pair.judged.b:.0%}", settle)


def main_point(of: CollectionRuns, history: History) -> HistoryPoint | None:
    """Return how the run that users see does; where it is older than the trend, the newest of its system."""
    points = [point for system in history.systems if system.system == of.main for point in system.points]
    return next((point for point in points if PRODUCTION in point.tags), points[-1] if points else None)


def alerts_of(library: Library, collection: str) -> Iterator[NeededAction]:
    for alert in library.store.alerts.current():
        if alert.is_open and alert.collection in ("", collection):
            link = address("/history", collection=collection, system=alert.system or None)
            reason = " ".join(printable(each) for each in alert.reasons[:1])
            yield NeededAction(
                "worse", subject_of(alert), f"{reason} Since {alert.opened[:10]}.", link, "See its history"
            )


def failing(targets: Sequence[TargetLine], of: CollectionRuns) -> Iterator[NeededAction]:
    """Yield the targets that fail in systems that are still run, each once, whatever the number of systems."""
    failed: dict[str, list[TargetLine]] = {}
    for line in targets:
        if line.state == "failed" and line.system in of.newest:
            failed.setdefault(line.name, []).append(line)
    for lines in failed.values():
        line, systems = lines[0], [each.system for each in lines]
        asked = f"“{line.query_text}”: " if line.query_text else ""
        words = f"{asked}{line.expected}. {line.words}" if len(lines) == 1 else f"{asked}{line.expected}."
        only = systems[0] if len(systems) == 1 else None
        link = address("/targets", collection=of.name, system=only, state="failed")
        yield NeededAction("fails", f"Target fails on {listed(systems, most=4)}", words, link, "See the target")


def never_checked(targets: Sequence[TargetLine], of: CollectionRuns) -> Iterator[NeededAction]:
    """Yield how many targets of the project no run was checked on."""
    n = sum(line.state == "unchecked" for line in targets)
    if n:
        link = address("/targets", collection=of.name, state="unchecked")
        what = f"{counted(n, 'target')} {'was' if n == 1 else 'were'} never checked"
        words = "A run that is started from the page checks them, and so does `rankscope check`."
        yield NeededAction("look", what, words, link, "See them")


def unsettled(compared: ComparePage) -> Iterator[NeededAction]:
    """Yield the verdicts that wait for judgments."""
    pair_of = {(pair.group, pair.a, pair.b): pair for pair in compared.comparison or ()}
    for each in compared.to_judge:
        pair, where = pair_of[each.group, each.a, each.b], f", {each.group}" if each.group else ""
        judged = pair.judged
        if judged is None:
            continue
        shares = [share for share in (judged.a, judged.b) if share is not None]
        among = "results" if judged.depth is None else f"first {judged.depth} results"
        fewer = pair.a if judged.a is not None and (judged.b is None or judged.a < judged.b) else pair.b
        yield NeededAction(
            parts.VERDICT_MARKS[pair.final_verdict.code],
            f"{counted(each.n, 'doc')} {'settles' if each.n == 1 else 'settle'} {pair.b} against {pair.a}{where}",
            f"{min(shares, default=0.0):.0%} of the {among} of {fewer} are judged, too few to be sure.",
            address("/compare", collection=compared.collection, challenger=pair.b),
            "See which",
        )


def unfinished(library: Library, collection: str) -> Iterator[NeededAction]:
    """Yield the open judging tasks of a collection of which something is left to judge, the newest first."""
    store = library.store
    left: list[tuple[Task, str]] = []
    for task in store.tasks.list()[::-1]:
        if task.collection != collection or task.state != "open":
            continue
        raters = tuple((rater.number, rater.name, rater.invited, rater.revoked) for rater in store.raters.list(task))
        key = ("standing", task.number, task.guideline, to_json(task.plan, indent=None), raters)
        standing = library.cached(key, partial(standing_of, library, task))
        if standing.share < 1:
            left.append((task, standing.words))
    for task, words in left[:SHOWN_TASKS]:
        link = address("/judge/show", task=task.number)
        yield NeededAction("unsure", f"Judging task {task.name} is not done", words, link, "See the task")
    more = len(left) - SHOWN_TASKS
    if more > 0:
        what = f"And {counted(more, 'more judging task')} {'is' if more == 1 else 'are'} not done"
        yield NeededAction("unsure", what, "", address("/judge", collection=collection), "See all tasks")


def unanswered(of: CollectionRuns) -> Iterator[NeededAction]:
    """Yield the newest runs that leave queries without an answer."""
    for name, run in of.newest.items():
        if run.details.failed:
            n = counted(len(run.details.failed), "query")
            words = "What fails counts as nothing found, so the number is lower than the system is good."
            link = address("/systems", collection=of.name)
            yield NeededAction("look", f"{name} failed on {n}", words, link, "See the systems")


def slices_of(pair: PairResult) -> list[SliceLine]:
    """Return the parts of the queries by their attributes, the largest first."""
    named = [part for part in pair.strata or () if part.attribute not in MADE_OF_RANKING and not part.too_few]
    largest = sorted(named, key=lambda part: (-part.n_queries, part.attribute, part.value))[:SHOWN_SLICES]
    return [
        SliceLine(
            part.attribute,
            part.value,
            part.n_queries,
            part.mean.a,
            part.mean.b,
            part.delta,
            part.ci.low,
            part.ci.high,
            part.stands_out,
            *verdict_on_slice(part, pair),
        )
        for part in largest
    ]


def verdict_on_slice(part: Stratum, pair: PairResult) -> tuple[str, doc.Mark]:
    """Return what the interval of a part of the queries says of it alone, which is exploratory."""
    low, high = part.ci.low, part.ci.high
    if low is None or high is None or low <= 0 <= high:
        return "cannot tell", "unsure"
    return ("better", "better") if (low > 0) != pair.lower_is_better else ("worse", "worse")


def words_on_trend(history: History) -> Iterator[str]:
    """Say where lines begin anew as other queries were asked, and what still compares."""
    for system in history.systems:
        last = system.points[-1]
        if last.queries is None or last.queries.are_same:
            continue
        words = f"{system.system}: before its newest run {last.queries.in_words}, so the line begins anew"
        if last.change is not None and last.change.system is not None:
            common = counted(last.queries.n_common, "query")
            yield f"{words}; on the {common} that both runs were asked it changed by {last.change.system:+.3f}."
        else:
            yield f"{words}."


def line_of(run: StoredRun) -> RunLine:
    return RunLine(run.number, run.system, run.started, len(run.details.failed))


def other_collections(library: Library, of: CollectionRuns) -> Iterator[OtherCollection]:
    """Yield the other collections with their newest runs; nothing of them is computed here."""
    found = [(name, collection_runs(library, name)) for name in of.collections if name != of.name]
    for name, runs in sorted(found, key=lambda item: item[1].runs[-1].started, reverse=True):
        yield OtherCollection(name, line_of(runs.runs[-1]), len(runs.newest), kept_verdicts(library, runs))


def kept_verdicts(library: Library, of: CollectionRuns) -> str:
    """Return what the newest comparison with the baseline said that is kept, in words; nothing is computed."""
    made = library.store.comparisons.list(queries_sha256=usual_baseline(of).queries_sha256)
    for one in reversed(made):
        if one.look and one.pairs and all(pair.a == of.main and pair.b in of.newest for pair in one.pairs):
            said = [f"{pair.b} {VERDICT_WORDS[pair.verdict]}" for pair in one.pairs if pair.verdict in VERDICT_WORDS]
            return f"against {of.main}: {listed(said, most=4)}"
    return ""


def overview_report(page: OverviewPage) -> doc.Report | None:
    """Return what is on the page as a report, from which files are exported."""
    if page.answer is None:
        return None

    def number(value: float | None) -> Cell:
        return Cell("-") if value is None else Cell(f"{value:.4f}", raw=repr(value))

    tables = []
    if page.needs:
        rows = [[Cell(need.what), Cell(need.words)] for need in page.needs]
        tables.append(doc.TableBlock("Needs you", Table(["what", "why"], rows, n_name_columns=2)))
    if page.slices:
        header = ["attribute", "value", "queries", "now", "candidate", "difference", "low", "high", "verdict"]
        rows = [
            [
                *map(Cell, (one.attribute, one.value, str(one.n_queries))),
                *map(number, (one.now, one.candidate, one.difference, one.low, one.high)),
                Cell(one.verdict),
            ]
            for one in page.slices
        ]
        tables.append(doc.TableBlock("Where it helps", Table(header, rows, n_name_columns=2)))
    return doc.Report(
        title=f"Overview of {page.collection}",
        first_screen=(page.answer, doc.Facts("", page.facts), *page.verdicts, *tables, *overview_view(page).trend),
        sections=(),
        footer=(),
    )
