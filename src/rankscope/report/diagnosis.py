"""The report of a diagnosis: what is lost most and what usually helps, then findings, queries and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rankscope.align.finding import count_and_share
from rankscope.analysis.diagnose.records import Diagnosis, DiagnosisFinding, LostTo, Positions, QueryList
from rankscope.data.texts import beginning
from rankscope.report.document import (
    Block,
    Bullets,
    Fact,
    Facts,
    Paragraph,
    Report,
    Section,
    Share,
    Shares,
    TableBlock,
    VerdictBlock,
)
from rankscope.report.evaluation import queries
from rankscope.report.table import Cell, Table

SEVERITIES_IN_WORDS = (
    "serious: one query in five or more; moderate: one in twenty or more; remark: fewer, or good to know"
)
MOST_STEPS = 5
LONGEST_TEXT = 120
"""A query's text is cut about there."""
LONGEST_TITLE = 80
HEADLINES: dict[LostTo, str] = {
    "order": "{run} loses most to the order of its top {k}: re-ranking these docs usually helps.",
    "ranked_low": "{run} loses most to relevant docs that it ranks below {k}: a better ranking usually helps.",
    "not_answered": "{run} loses most in queries that it does not answer: find out first why they have no docs.",
    "not_retrieved": "{run} loses most to relevant docs that it does not retrieve: better retrieval usually helps, "
    "a better ranking cannot.",
}
CURES: dict[LostTo, tuple[str, ...]] = {
    "order": ("poor_order", "first_hit_late", "bad_at_rank_1", "bad_in_top_3"),
    "ranked_low": ("ranked_low", "first_hit_late"),
    "not_answered": ("not_answered",),
    "not_retrieved": ("zero_hits", "pool_ceiling", "precise_but_incomplete"),
}
"""The findings that are about each kind of loss."""
LOSS_NAMES: dict[LostTo, str] = {
    "order": "lost to order",
    "ranked_low": "lost to ranking low",
    "not_answered": "lost to no answer",
    "not_retrieved": "lost to not retrieving",
}
GENERAL_STEPS: dict[LostTo, str] = {
    "order": "re-rank the first {k} docs, so that the relevant ones come first",
    "ranked_low": "re-rank more than the first {k} docs, or weigh what distinguishes the relevant ones",
    "not_answered": "find out why these queries have no docs",
    "not_retrieved": "retrieve more: expand queries, add another retriever, or index what these docs say",
}
"""What usually helps against each kind of loss, where no finding says more."""


def report_of(diagnosis: Diagnosis, *, command: str = "", per_query: bool = False) -> Report:
    first: list[Block] = [answer_block(diagnosis), facts_block(diagnosis)]
    if diagnosis.bands is not None:
        words = diagnosis.in_words or "they have none for these measures"
        first.append(Paragraph(f"in words (bands {diagnosis.bands}): {words}"))
    first += [shares_block(diagnosis), *steps_blocks(diagnosis), *worst_blocks(diagnosis)]
    sections = []
    if diagnosis.findings:
        intro = f"{sentence(SEVERITIES_IN_WORDS)}."
        sections.append(Section("What was found", tuple(finding_blocks(diagnosis)), intro=intro))
    reach = TableBlock("The first docs in their best order", pool_table(diagnosis))
    sections.append(Section("What a better ranking could reach", (reach,)))
    if diagnosis.slices:
        attributes = dict.fromkeys(one.attribute for one in diagnosis.slices)
        tables = (TableBlock(f"Queries by {name}", slice_table(name, diagnosis)) for name in attributes)
        sections.append(Section("Parts of the queries", tuple(tables)))
    if diagnosis.worst:
        lists = (query_block(diagnosis, query, folded=i > 0) for i, query in enumerate(diagnosis.worst))
        sections.append(Section("The worst queries, doc by doc", tuple(lists)))
    sections.append(Section("Where the relevant docs stand", tuple(rank_blocks(diagnosis, per_query=per_query))))
    settings = f"top {diagnosis.k}, docs from grade {diagnosis.min_rel:g} up are relevant"
    footer = [("diagnosed", settings), ("rankscope", diagnosis.rankscope)]
    return Report(
        title=f"Diagnosis of {diagnosis.run} · {diagnosis.measure} · {queries(diagnosis.n_queries)}",
        first_screen=tuple(first),
        sections=tuple(sections),
        footer=(*footer, *([("command", command)] if command else [])),
    )


def answer_block(diagnosis: Diagnosis) -> VerdictBlock:
    largest = diagnosis.losses.largest
    headline = f"These queries show nothing wrong with {diagnosis.run}."
    if not diagnosis.is_fine and largest is None:
        headline = f"{diagnosis.run} loses nothing by {diagnosis.measure}; other things were found."
    elif not diagnosis.is_fine and largest is not None:
        headline = HEADLINES[largest].format(run=diagnosis.run, k=diagnosis.k)
    return VerdictBlock(headline, diagnosis.summary, "fine" if diagnosis.is_fine else "look")


def facts_block(diagnosis: Diagnosis) -> Facts:
    k, last = diagnosis.k, diagnosis.pool[-1]
    facts = [
        Fact(diagnosis.measure, f"{diagnosis.losses.score:.4f}", f"over {queries(diagnosis.n_queries)}"),
        Fact("if ranked perfectly", f"{last.best_ndcg:.4f}", f"the first {last.depth} docs in their best order"),
        Fact(f"R@{k}", f"{diagnosis.recall:.4f}", f"of the relevant docs are in the top {k}"),
    ]
    if diagnosis.unjudged_share is not None:
        facts.append(Fact("unjudged", f"{diagnosis.unjudged_share:.1%}", f"of the docs in the top {k}"))
    return Facts("", tuple(facts))


def shares_block(diagnosis: Diagnosis, *, name: str = "") -> Shares:
    """Return where nDCG goes: the parts are those of the diagnosis, and add up to 1."""
    title = f"Where the {diagnosis.measure} of {name} goes" if name else f"Where {diagnosis.measure} goes"
    return Shares(title, tuple(shares_of(diagnosis)))


def shares_of(diagnosis: Diagnosis) -> Iterator[Share]:
    losses, k, depth = diagnosis.losses, diagnosis.k, diagnosis.pool[-1].depth
    below = f"relevant docs at ranks {k + 1} to {depth}" if depth > k else f"no list goes beyond rank {depth}"
    yield Share("reached", losses.score, "")
    yield Share(LOSS_NAMES["order"], losses.order, f"relevant docs in the top {k}, but not at its first ranks")
    yield Share(LOSS_NAMES["ranked_low"], losses.ranked_low, below)
    outside = f"relevant docs that are not among the first {depth}"
    yield Share(LOSS_NAMES["not_retrieved"], losses.not_retrieved, outside)
    if losses.not_answered:
        yield Share(LOSS_NAMES["not_answered"], losses.not_answered, "queries for which the run has no docs")


def steps_blocks(diagnosis: Diagnosis) -> Iterator[Bullets]:
    """Yield what usually helps, first against what most is lost to; nothing where there are only remarks."""
    steps = [
        f"{sentence(name_of(finding))} ({finding.n_queries:,} of {queries(finding.of_queries)}): {finding.helps}"
        for finding in advised(diagnosis)
    ]
    largest = diagnosis.losses.largest
    said = {finding.code for finding in advised(diagnosis)}
    if largest is not None and not diagnosis.is_fine and said.isdisjoint(CURES[largest]):
        steps.insert(0, f"{sentence(LOSS_NAMES[largest])}: {GENERAL_STEPS[largest].format(k=diagnosis.k)}")
    if steps:
        yield Bullets("What usually helps", tuple(steps), numbered=True)


def advised(diagnosis: Diagnosis) -> list[DiagnosisFinding]:
    """Return the findings from which steps follow, those about the largest loss first."""
    largest = diagnosis.losses.largest
    cured = () if largest is None else CURES[largest]
    complaints = [finding for finding in diagnosis.findings if finding.severity != "remark"]
    return sorted(complaints, key=lambda finding: finding.code not in cured)[:MOST_STEPS]


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def name_of(finding: DiagnosisFinding) -> str:
    return finding.what.partition(":")[0]


def finding_blocks(diagnosis: Diagnosis) -> Iterator[Bullets]:
    """Yield each finding with its counts and examples; what helps is said where it is no step above."""
    said = {finding.code for finding in advised(diagnosis)}
    for finding in diagnosis.findings:
        concerned = count_and_share(finding.n_queries, finding.of_queries, "queries")
        examples = [f"{query_words(one.query, one.query_text)}: {one.words}" for one in finding.examples]
        helps = [] if finding.code in said else [f"what usually helps: {finding.helps}"]
        yield Bullets(
            f"{sentence(finding.severity)}: {finding.what}",
            (concerned, *examples, *helps),
        )


def query_words(query: str, text: str) -> str:
    """Return what was asked, with the query's id behind it; the id alone where its text is not known."""
    return f"“{beginning(text, LONGEST_TEXT)}” (query {query})" if text else f"query {query}"


def worst_blocks(diagnosis: Diagnosis) -> Iterator[Bullets]:
    """Yield the worst queries: what was asked, what it scores, how much is found, and what is missing first of all."""
    k, items = diagnosis.k, []
    for query in diagnosis.worst:
        found = f"{query.n_found} of {query.n_relevant} relevant docs in the top {k}"
        words = query_words(query.query, query.query_text)
        items.append(f"{words}: {diagnosis.measure} {query.score:.4f}, {found}{missed_words(query)}")
    if items:
        yield Bullets(f"The worst {'query' if len(items) == 1 else 'queries'}", tuple(items), numbered=True)


def missed_words(query: QueryList) -> str:
    """Say which relevant doc is missing in the top most of all."""
    if not query.docs:
        return ", as it has no answer"
    if not query.missed:
        return ", but too low in it"
    first = query.missed[0]
    where = "is not retrieved" if first.rank is None else f"stands at rank {first.rank}"
    named = f"“{beginning(first.title, LONGEST_TITLE)}” ({first.doc})" if first.title else first.doc
    return f"; {named} {where}"


def query_block(diagnosis: Diagnosis, query: QueryList, *, folded: bool) -> TableBlock:
    """Return the docs of one query with their grades, and below them the best relevant docs that are not in the top."""
    grades = ("unjudged" if one.grade is None else f"{one.grade:g}" for one in query.docs)
    rows = [
        [Cell(str(one.rank)), Cell(doc_words(one.doc, one.title)), Cell(grade)]
        for one, grade in zip(query.docs, grades, strict=True)
    ]
    for missed in query.missed:
        place = "not retrieved" if missed.rank is None else f"missing: at {missed.rank}"
        rows.append([Cell(place), Cell(doc_words(missed.doc, missed.title)), Cell(f"{missed.grade:g}")])
    more = query.n_relevant - query.n_found - len(query.missed)
    title = (
        f"{query_words(query.query, query.query_text)}: {diagnosis.measure} {query.score:.4f}, "
        f"{query.n_found} of {query.n_relevant} relevant docs in the top {diagnosis.k}"
    )
    notes = [f"{more} more relevant docs are missing"] if more > 0 else []
    notes += [] if query.docs else ["nothing was retrieved"]
    return TableBlock(title, Table(["rank", "doc", "grade"], rows, n_name_columns=2, notes=notes), folded=folded)


def doc_words(doc: str, title: str) -> str:
    return f"{beginning(title, LONGEST_TITLE)} ({doc})" if title else doc


def pool_table(diagnosis: Diagnosis) -> Table:
    k, measure, last = diagnosis.k, diagnosis.measure, diagnosis.pool[-1]
    ceiling = (
        f"even a perfect re-ranker of the first {last.depth} docs reaches no more than "
        f"R@{k} {last.best_recall:.4f} and {measure} {last.best_ndcg:.4f}"
    )
    rows = [
        [Cell(f"the first {cut.depth}"), *score_cells(cut.recall, cut.best_recall, cut.best_ndcg)]
        for cut in diagnosis.pool
    ]
    header = ["candidate pool", "recall", f"R@{k} if ranked perfectly", f"{measure} if so"]
    return Table(header, rows, notes=(ceiling,), keep=(header[-1],))


def rank_blocks(diagnosis: Diagnosis, *, per_query: bool) -> Iterator[TableBlock]:
    """Yield in which ranks the relevant docs stand, what stands at each rank, and positions."""
    rows = []
    for band in diagnosis.relevant_docs:
        ranks = f"ranks {band.first} to {band.last}" if band.last else f"ranks from {band.first}"
        name = "not retrieved" if band.first is None else ranks
        rows.append([Cell(name), Cell(f"{band.n_docs:,}", raw=str(band.n_docs)), Cell(f"{band.share:.1%}")])
    yield TableBlock("Relevant docs by rank", Table(["relevant docs at", "docs", "share"], rows), folded=True)
    header = {"rank": "rank", "relevant": "relevant", "nonrelevant": "judged bad", "unjudged": "unjudged"}
    if any(row.empty for row in diagnosis.ranks):
        header["empty"] = "no doc"
    at_ranks = [[Cell(str(getattr(row, name))) for name in header] for row in diagnosis.ranks]
    yield TableBlock("What stands at each rank", Table(list(header.values()), at_ranks), folded=True)
    positions = diagnosis.positions
    tops = tuple(positions.overall.in_top)
    overall = positions_table({"all queries": positions.overall}, tops)
    yield TableBlock("Positions of the relevant docs", overall, folded=not per_query)
    if per_query:
        yield TableBlock("Positions of every query", positions_table(positions.queries, tops))
    if diagnosis.best:
        best = [
            [Cell(query_words(one.query, one.query_text) if one.query_text else one.query), *score_cells(one.score)]
            for one in diagnosis.best
        ]
        yield TableBlock("The best queries", Table(["query", diagnosis.measure], best), folded=True)


def score_cells(*values: float) -> list[Cell]:
    return [Cell(f"{value:.4f}", raw=repr(value)) for value in values]


def positions_table(positions_of: Mapping[str, Positions], tops: Iterable[int]) -> Table:
    rows = []
    for name, one in positions_of.items():
        average = "-" if one.average is None else f"{one.average:.1f}"
        ends = ("-" if end is None else str(end) for end in (one.best, one.worst))
        texts = (name, str(one.found), str(one.total), average, *ends, *map(str, one.in_top.values()))
        rows.append([Cell(text) for text in texts])
    header = ["positions", "found", "of", "average", "best", "worst", *(f"in top {n}" for n in tops)]
    return Table(header, rows)


def slice_table(attribute: str, diagnosis: Diagnosis) -> Table:
    """Return how the queries of each value do, and where they lose."""
    rows = [
        [
            Cell(one.value),
            Cell(f"{one.n_queries:,}", raw=str(one.n_queries)),
            *score_cells(one.losses.score, one.recall),
            *score_cells(one.losses.order, one.losses.ranked_low, one.losses.not_retrieved),
            Cell(
                "-" if one.p_adjusted is None else "<0.001" if one.p_adjusted < 0.001 else f"{one.p_adjusted:.3f}",
                raw=repr(one.p_adjusted),
            ),
        ]
        for one in diagnosis.slices
        if one.attribute == attribute
    ]
    lost = ("lost to order", f"below {diagnosis.k}", "not retrieved")
    header = [f"by {attribute}", "queries", diagnosis.measure, f"R@{diagnosis.k}", *lost, "p, others"]
    note = "p: how likely so large a difference to all other queries is by chance, with false alarms controlled"
    return Table(header, rows, notes=(note,), keep=(diagnosis.measure,))
