"""Systems against a baseline, or each against each: the report of a comparison, live."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated, Literal

from msgspec import Meta

from rankscope import records
from rankscope.comparison.records import Comparison, PairResult, QueryGroup
from rankscope.errors import RankscopeError, UnfinishedError
from rankscope.experiment.stored_comparison import (
    StoredQuestion,
    compare_stored,
    names_of_runs,
    query_table_of,
    strata_in,
    with_fewer_docs,
)
from rankscope.experiment.stored_scoring import MeasureWithMargin, measure_with_margin, policies_of
from rankscope.printable import counted, listed
from rankscope.records import Options, Record
from rankscope.report import comparison as report
from rankscope.report import comparison_pair as parts
from rankscope.report import document as doc
from rankscope.report.changed_queries import changed_queries
from rankscope.report.charts import figures
from rankscope.store import StoredRun
from rankscope.web.charts import MappedSystem, quality_latency_figure
from rankscope.web.choices import known_measures
from rankscope.web.chosen import CollectionRuns, challengers_of, collection_runs, latency_of_run, usual_baseline
from rankscope.web.library import Library

MOST_SYSTEMS, MOST_SCORES = 20, 60_000
"""Unless systems are chosen, so many are compared, and so many scores: more of them take long, and say less."""
MOST_VALUES = 30
"""Attributes with more values than this are no strata to choose from."""
MOST_GROUPS = 4
"""Of more groups of queries, such as languages, the queries that changed are shown of the first."""


class ComparePageOptions(Options):
    """What is compared, and how."""

    collection: str = ""
    """The collection; by default the one with the newest run."""
    systems: tuple[str, ...] = ()
    """Runs: a system for its newest, a number, a tag or the beginning of a hash; by default the newest of each."""
    baseline: str = ""
    """The run to compare with; by default the one with the tag production or baseline, else as `rankscope run` does."""
    pairs: Literal["baseline", "all"] = "baseline"
    """Compare each with the baseline, or each with each."""
    measure: str = ""
    """The measure that decides; by default the one that decided last."""
    margin: Annotated[float, Meta(ge=0)] | None = None
    """The smallest difference that matters; by default 0.01 for measures between 0 and 1."""
    stratum: tuple[str, ...] = ()
    """Only queries with these attributes, each as `name=value`; of two values of a name, either."""
    pool: bool = False
    """Also compare over all languages together."""
    anyway: bool = False
    """Compare runs that were asked other queries on those that they have in common."""
    challenger: str = ""
    """The system whose queries are shown; by default the best one."""


class SystemChoice(Record, kw_only=True):
    """A run that can be compared."""

    name: str
    """What it is called here."""
    reference: str
    """What names it in an address."""
    run: int
    started: str
    tags: tuple[str, ...] = ()
    chosen: bool = True


class StratumChoice(Record):
    """A part of the queries that can be looked at alone."""

    attribute: str
    value: str
    n_queries: int

    @property
    def reference(self) -> str:
        return f"{self.attribute}={self.value}"


class Refusal(Record):
    """Why nothing can be said, and what to do."""

    what: str
    hint: str
    other_queries: bool = False
    """Whether the runs can be compared anyway, on the queries that they have in common."""


class ComparedPair(Record, kw_only=True):
    """Two systems query by query."""

    group: str | None
    a: str
    b: str
    run_a: int
    run_b: int
    changed: tuple[doc.ChangedQueries, ...]
    """The largest losses and gains."""


class DocsToJudge(Record):
    """How many judgments would settle the verdict on two systems."""

    group: str | None
    a: str
    b: str
    n: int


class ComparePage(Record, kw_only=True, dict=True):
    """What stands on the page."""

    collections: tuple[str, ...]
    collection: str
    measure: str = ""
    measures: tuple[str, ...] = ()
    """To choose from."""
    baseline: str = ""
    """The name of the run that others are compared with."""
    baseline_why: str = ""
    """Why it is that one, where nobody chose it on the page."""
    no_baseline: bool = False
    """Whether nothing says what others are to be compared with."""
    systems: tuple[SystemChoice, ...] = ()
    """The runs that are compared, then the newest run of each other system."""
    n_not_shown: int = 0
    """Systems that were left out, as they were asked other queries, or as there are very many."""
    strata: tuple[StratumChoice, ...] = ()
    """To choose from."""
    n_queries: int = 0
    """Queries that the baseline was asked."""
    languages: bool = False
    """Whether the queries are in several languages."""
    refused: Refusal | None = None
    """Why there is no comparison, where there is none."""
    comparison: Comparison | None = None
    """What `rankscope compare` says of the same runs; of docs to judge it lists the first 1,000 of each pair."""
    to_judge: tuple[DocsToJudge, ...] = ()
    """How many docs to judge there are in all."""
    quality_latency: tuple[MappedSystem, ...] = ()
    """Mean and median latency of each system."""
    pairs: tuple[ComparedPair, ...] = ()
    """The best challenger query by query, or the one that was asked for: of each group of queries."""


class CompareView(Record, eq=False):
    """What is drawn of a comparison."""

    first: tuple[doc.Block, ...]
    """The answer, then what it rests on."""
    figures: tuple[doc.Block, ...]
    """Who beats whom, and quality against latency, side by side."""
    tables: tuple[doc.Block, ...]
    pairs: tuple[tuple[doc.Block, ...], ...]
    """What is drawn of each pair: a picture of all queries, and the checks."""
    sections: tuple[doc.Section, ...]


class Findings(Record, kw_only=True, eq=False):
    """What of the page depends on the runs and judgments alone."""

    comparison: Comparison
    to_judge: tuple[DocsToJudge, ...]
    quality_latency: tuple[MappedSystem, ...]
    pairs: tuple[ComparedPair, ...]
    view: CompareView


def compare_view(page: ComparePage) -> CompareView | None:
    """Return what is drawn, which was made with the page; None where nothing was compared."""
    view: CompareView | None = page.__dict__.get("view")
    return view


def compare_report(page: ComparePage) -> doc.Report | None:
    """Return what is on the page as a report, from which files are exported."""
    view, comparison = compare_view(page), page.comparison
    if view is None or comparison is None:
        return None
    queries = [
        doc.Section(f"{pair.b} against {pair.a}, query by query{f', {pair.group}' if pair.group else ''}", blocks)
        for pair, drawn in zip(page.pairs, view.pairs, strict=True)
        if (blocks := (*drawn, *pair.changed))
    ]
    return doc.Report(
        title=report.title_of(comparison),
        first_screen=(*view.first, *view.figures, *view.tables),
        sections=(*queries, *view.sections),
        footer=(("seed", str(comparison.settings.seed)), ("rankscope", comparison.rankscope)),
    )


class QueryFacts(Record):
    """How many queries there are, and by what they can be divided."""

    n: int
    strata: tuple[StratumChoice, ...]
    n_languages: int


class PageQuestion(Record, eq=False):
    """A page without an answer, and what is asked; None where nothing can be."""

    page: ComparePage
    question: StoredQuestion | None = None


def compare_page(library: Library, asked: ComparePageOptions) -> ComparePage:
    """Say which system is better than a baseline, by how much, and where the difference sits."""
    known = collection_runs(library, asked.collection).name  # with and without its name, it is one page
    named = records.replace(asked, collection=known)
    begun = begun_page(library, named)
    page, question = begun.page, begun.question
    if question is None:
        return page
    numbers = tuple((name, run.number) for name, run in question.runs.items())
    baseline = page.baseline if question.baseline is None else question.baseline
    found = library.large(  # it depends on runs and judgments that never change
        ("compared", named, question.measure.name, question.margin, baseline, numbers, question.labels.number),
        compute_findings,
        question,
        named,
        n_scores=len(numbers) * page.n_queries,
        what=f"the comparison of {listed([name for name, _ in numbers])} on {counted(page.n_queries, 'query')}",
    )
    if isinstance(found, Refusal):
        return records.replace(page, refused=found, n_not_shown=0)
    done = records.replace(
        page,
        comparison=found.comparison,
        to_judge=found.to_judge,
        quality_latency=found.quality_latency,
        pairs=found.pairs,
    )
    done.__dict__["view"] = found.view
    return done


def begun_page(library: Library, asked: ComparePageOptions) -> PageQuestion:
    """Return a page with all but what is found; nothing is compared for it."""
    return library.cached(("compare", asked), lambda: begin_page(library, asked))


def compute_findings(library: Library, question: StoredQuestion, asked: ComparePageOptions) -> Findings | Refusal:
    """Return what is found, or why these runs cannot be compared."""
    try:
        return findings_of(compare_stored(library.store, question), question.runs, asked)
    except UnfinishedError:  # a disk is full, or another program is in the way: that may be otherwise soon
        raise
    except RankscopeError as error:
        return refusal_of(error)


def refusal_of(error: RankscopeError) -> Refusal:
    return Refusal(error.message, error.hint or "", "the same queries" in error.message)


def begin_page(library: Library, asked: ComparePageOptions) -> PageQuestion:
    of = collection_runs(library, asked.collection)
    if not of.runs:
        return PageQuestion(ComparePage(collections=(), collection=""))
    decides = measure_with_margin(library.store, of.runs, asked.measure or None)
    measure = decides.measure
    page = ComparePage(
        collections=of.collections,
        collection=of.name,
        measure=measure.name,
        measures=known_measures(library, of.name, measure.name, from_rankings=True),
        systems=tuple(choice_of(name, run, of, chosen=False) for name, run in of.newest.items()),
    )
    try:
        baseline, runs, n_not_shown = chosen_runs(library, of, asked)
        queries = query_facts(library, baseline.queries_sha256)
        page = records.replace(with_choices(page, of, baseline, runs, queries), n_not_shown=n_not_shown)
        if of.chosen is not None and not asked.baseline and baseline.number == of.chosen.run.number:
            is_unknown = of.chosen.why == "none"
            page = records.replace(page, baseline_why=of.chosen.words, no_baseline=is_unknown)
        return PageQuestion(page, question_of(library, baseline, runs, decides, asked))
    except RankscopeError as error:
        return PageQuestion(records.replace(page, refused=refusal_of(error)))


def query_facts(library: Library, queries_sha256: str) -> QueryFacts:
    """Return what must be known of queries to ask about them; these never change."""
    return library.cached(
        ("query facts", queries_sha256), lambda: read_query_facts(library, queries_sha256), lasting=True
    )


def read_query_facts(library: Library, queries_sha256: str) -> QueryFacts:
    table = query_table_of(library.store.texts.queries(queries_sha256))
    strata = [
        StratumChoice(name, value, n)
        for name, values in strata_in(table).items()
        if len(values) <= MOST_VALUES
        for value, n in values.items()
    ]
    language = table.language
    n_languages = 0 if language is None else len(set(map(str, table.attributes[language].values())))
    return QueryFacts(len(table), tuple(strata), n_languages)


def chosen_runs(
    library: Library, of: CollectionRuns, asked: ComparePageOptions
) -> tuple[StoredRun, list[StoredRun], int]:
    """Return the baseline, all runs with it first, and how many systems were left out.

    Where no run is named, those that were asked other queries are left out, and of very many systems the oldest.
    """
    find = library.store.runs.find
    given = [find(reference, collection=of.name) for reference in asked.systems]
    if asked.baseline:
        baseline = find(asked.baseline, collection=of.name)
    elif len(given) > 1 and of.main_run not in given:
        baseline = given[0]
    else:
        baseline = of.main_run if given else usual_baseline(of)
    if given:
        return baseline, unique([baseline, *given]), 0
    same = challengers_of(of, baseline)
    n_queries = query_facts(library, baseline.queries_sha256).n or 1
    most = max(2, min(MOST_SYSTEMS, MOST_SCORES // n_queries)) - 1
    n_others = sum(run.number != baseline.number for run in of.newest.values())
    return baseline, [baseline, *same[:most]], n_others - len(same[:most])


def unique(runs: Sequence[StoredRun]) -> list[StoredRun]:
    return list({run.number: run for run in runs}.values())


def choice_of(name: str, run: StoredRun, of: CollectionRuns, *, chosen: bool = True) -> SystemChoice:
    is_newest = of.newest.get(run.system) == run and run.system not in of.tags.get(run.number, ())
    return SystemChoice(
        name=name,
        reference=run.system if is_newest else str(run.number),
        run=run.number,
        started=run.started,
        tags=of.tags.get(run.number, ()),
        chosen=chosen,
    )


def with_choices(
    page: ComparePage, of: CollectionRuns, baseline: StoredRun, runs: Sequence[StoredRun], queries: QueryFacts
) -> ComparePage:
    named = names_of_runs(runs)
    numbers = {run.number for run in runs}
    chosen = [choice_of(name, run, of) for name, run in named.items()]
    others = [each for each in page.systems if each.run not in numbers]
    return records.replace(
        page,
        baseline=next(name for name, run in named.items() if run.number == baseline.number),
        systems=(*chosen, *others),
        strata=queries.strata,
        n_queries=queries.n,
        languages=queries.n_languages > 1,
    )


def question_of(
    library: Library,
    baseline: StoredRun,
    runs: Sequence[StoredRun],
    decides: MeasureWithMargin,
    asked: ComparePageOptions,
) -> StoredQuestion:
    named = names_of_runs(runs)
    against = next(name for name, run in named.items() if run.number == baseline.number)
    return StoredQuestion(
        runs=named,
        labels=library.store.qrels.find(baseline.collection),
        measure=decides.measure,
        policies=policies_of(baseline),
        baseline=None if asked.pairs == "all" else against,
        margin=decides.margin if asked.margin is None else asked.margin,
        pool=asked.pool,
        stratum=asked.stratum,
        anyway=asked.anyway,
    )


def findings_of(comparison: Comparison, runs: dict[str, StoredRun], asked: ComparePageOptions) -> Findings:
    """Return what was found, and what is drawn of it."""
    shown = [
        (group, pair)
        for group in comparison.groups[:MOST_GROUPS]
        if (pair := shown_pair(comparison, group, asked.challenger)) is not None
    ]
    systems = tuple(mapped_systems(comparison, runs))
    lower = any(pair.lower_is_better for pair in comparison)
    first = list(first_blocks(comparison, is_part=bool(asked.stratum)))
    later = doc.Figure | doc.TableBlock if len(comparison.groups) == 1 else doc.Figure
    return Findings(
        comparison=records.replace(with_fewer_docs(comparison)),  # without scores, which take much memory
        to_judge=tuple(
            DocsToJudge(pair.group, pair.a, pair.b, pair.n_settle or len(pair.settle))
            for pair in comparison
            if pair.settle and pair.unjudged is not None and pair.unjudged.strength != "stands"
        ),
        quality_latency=systems,
        pairs=tuple(compared_pair(comparison, group, pair, runs) for group, pair in shown),
        view=CompareView(
            first=tuple(block for block in first if not isinstance(block, later)),
            figures=(
                *(block for block in first if isinstance(block, doc.Figure)),
                *quality_latency_figure(systems, comparison.primary, lower_is_better=lower),
            ),
            tables=tuple(block for block in first if isinstance(block, later) and isinstance(block, doc.TableBlock)),
            pairs=tuple(tuple(pair_blocks(comparison, pair)) for _, pair in shown),
            sections=tuple(sections_of(comparison, shown)),
        ),
    )


def compared_pair(
    comparison: Comparison, group: QueryGroup, pair: PairResult, runs: dict[str, StoredRun]
) -> ComparedPair:
    """Return the queries that a pair changed most; a page of its own shows the rankings of each."""
    changed = [
        records.replace(block, note="", queries=tuple(records.replace(one, sides=None) for one in block.queries))
        for block in changed_queries(comparison, pair)
    ]
    return ComparedPair(
        group=group.name,
        a=pair.a,
        b=pair.b,
        run_a=runs[pair.a].number,
        run_b=runs[pair.b].number,
        changed=tuple(changed),
    )


def first_blocks(comparison: Comparison, *, is_part: bool) -> Iterator[doc.Block]:
    """Yield the answer and what it rests on, as the report has it."""
    yield from report.answer_over_groups(comparison)
    for group in comparison.groups:
        for block in report.first_screen(comparison, group, with_figures=True):
            if is_part and isinstance(block, doc.VerdictBlock):
                words = "This is a part of the queries: what is found in one of many parts may be chance."
                yield records.replace(block, cautions=(*block.cautions, words))
            else:
                yield block
    if comparison.languages:
        yield report.spread_block(comparison.languages, comparison.primary)


def shown_pair(comparison: Comparison, group: QueryGroup, challenger: str) -> PairResult | None:
    """Return the pair that is looked at query by query: that of the system asked for, or of the best one."""
    pairs = [pair for pair in comparison.pairs_in_order(group) if pair.n_queries]
    if challenger in comparison.systems:
        reference = report.reference_of(comparison, group) if group.leaderboard else ""
        mine = [pair for pair in pairs if challenger in (pair.a, pair.b)]
        pairs = [pair for pair in mine if reference in (pair.a, pair.b)] or mine
    return pairs[0] if pairs else None


def pair_blocks(comparison: Comparison, pair: PairResult) -> Iterator[doc.Block]:
    yield from figures("differences", "comparison", comparison, pair)
    if len(comparison.groups) > 1 or len(comparison.groups[0].compared) > 1:  # of a single pair the first screen has it
        yield doc.Signals("Can I trust it?", tuple(report.signals(comparison, pair)))


def sections_of(comparison: Comparison, shown: Sequence[tuple[QueryGroup, PairResult]]) -> Iterator[doc.Section]:
    """Yield the details, which are opened on demand."""
    for group in comparison.groups:
        reasons = tuple(report.reason_lines(comparison, group))
        if reasons and len(group.compared) > 1:
            yield doc.Section(parts.in_group("Notes on the verdicts", group), (doc.Bullets("", reasons),))
    for group, pair in shown:
        named: dict[str, Iterator[doc.Block]] = {
            "all measures": iter([doc.TableBlock("", parts.measures_table(comparison, group, pair))]),
            "where the difference comes from": chain(
                parts.rank_blocks(comparison, pair), parts.slice_blocks(comparison, pair), parts.movement_blocks(pair)
            ),
            "unjudged docs": parts.unjudged_blocks(pair),
        }
        for title, found in named.items():
            if made := tuple(found):
                yield doc.Section(parts.in_group(f"{pair.b} against {pair.a}: {title}", group), made)
    for group in comparison.groups:
        title = "Leaderboard" if comparison.baseline is None else "Means"
        blocks: list[doc.Block] = [doc.TableBlock(title, report.leaderboard_table(comparison, group))]
        if not comparison.isolated_by:
            blocks.append(doc.TableBlock("All measures", report.means_table(comparison, group)))
            blocks += figures("distribution", "comparison", comparison)
        yield doc.Section(parts.in_group("Systems", group), tuple(blocks))
    yield report.specialist_section(comparison)


def mapped_systems(comparison: Comparison, runs: dict[str, StoredRun]) -> Iterator[MappedSystem]:
    """Yield quality and latency of each system; of several groups of queries there is no one mean."""
    if len(comparison.groups) > 1:
        return
    for place in comparison.groups[0].leaderboard:
        latency = latency_of_run(runs[place.system], "p50")
        if latency is not None:
            low, high = (None, None) if place.ci is None else (place.ci.low, place.ci.high)
            yield MappedSystem(place.system, place.mean, low, high, latency)
