"""Words of a comparison: what was asked, what docs are called, and both rankings of the queries that changed most."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice

from rankscope.align.top import FEW_QUERIES, run_of_queries
from rankscope.analysis.side_by_side import ListSource, SideBySide, docs_in, has_shares, in_words, sides_of
from rankscope.comparison.evidence import EvidenceSource
from rankscope.comparison.records import Comparison, PairResult, QueryChange, QueryGroup
from rankscope.data.texts import Texts
from rankscope.io.ids import byte_order
from rankscope.records import replace

SHOWN_SIDES = 5
"""Losses, and gains, of a pair that are shown with both rankings."""
MOST_SIDES = 80
"""Queries with both rankings on a page in all; each is about ten thousand characters of it."""
MOST_FURTHER = 10
"""Losses, and gains, that follow those shown, where there are few pairs."""


def changes_of(comparison: Comparison, group: QueryGroup, pair: PairResult) -> tuple[list[QueryChange], ...]:
    """Return all losses and all gains of a pair, the largest first: the order of `rankscope show`."""
    first, second = (comparison.scores[name] for name in (pair.a, pair.b))
    inside = set(group.query_ids).difference(group.uncounted)
    before = dict(zip(first.query_ids, first.column(pair.measure).tolist(), strict=True))
    after = dict(zip(second.query_ids, second.column(pair.measure).tolist(), strict=True))
    pairs = ((query, a, after.get(query, math.nan)) for query, a in before.items() if query in inside)
    texts = comparison.texts
    changes = [
        QueryChange(query, a, b, b - a, texts.query(query) or None) for query, a, b in pairs if not math.isnan(b - a)
    ]
    losses, gains = ([change for change in changes if sign * pair.sign * change.delta > 0] for sign in (-1, 1))
    for one in (losses, gains):
        one.sort(key=lambda change: (-abs(change.delta), byte_order(change.query)))
    return losses, gains


def with_sides(comparison: Comparison, evidence: EvidenceSource) -> Comparison:
    """Return the comparison with both rankings of the queries that changed most, where docs have shares in scores.

    They are made of ids; `with_words` adds words.
    """
    measure, policies = evidence.measure, evidence.policies
    if not has_shares(measure):
        return comparison
    chosen = list(leading_pairs(comparison, len(comparison.groups)))
    each = sides_each(len(chosen))
    sides: dict[tuple[str | None, str, str], tuple[SideBySide, ...]] = {}
    for some in pairs_together(comparison, chosen, each):
        # each run is looked through once for all of these queries
        looked_at = dict[str, set[str]]()
        for (_, *names), queries in some.items():
            for name in names:
                looked_at.setdefault(name, set()).update(queries)
        sources = {
            name: ListSource(name, run_of_queries(aligned.run, sorted(looked_at[name]), policies), aligned.hits)
            for name, aligned in evidence.runs.items()
            if name in looked_at
        }
        for key, queries in some.items():
            a, b = (sources[name] for name in key[1:])
            sides[key] = tuple(
                sides_of(evidence.qrels, a, b, query, measure=measure, policies=policies) for query in queries
            )
    return comparison.with_lists(sides)


def pairs_together(
    comparison: Comparison, chosen: Sequence[tuple[QueryGroup, PairResult]], n_each: int
) -> Iterator[dict[tuple[str | None, str, str], list[str]]]:
    """Yield the queries that are shown of pairs, as many pairs at a time as have few enough queries for one look."""
    some, n_queries = dict[tuple[str | None, str, str], list[str]](), 0
    for group, pair in chosen:
        shown = [change.query for changes in changes_of(comparison, group, pair) for change in changes[:n_each]]
        if some and n_queries + len(shown) > FEW_QUERIES:
            yield some
            some, n_queries = {}, 0
        some[pair.group, pair.a, pair.b] = shown
        n_queries += len(shown)
    if some:
        yield some


def leading_pairs(comparison: Comparison, n_groups: int) -> Iterator[tuple[QueryGroup, PairResult]]:
    """Yield the pairs that are shown with rankings in a report of so many groups, of one comparison or several."""
    n_each = max(2, MOST_SIDES // (2 * SHOWN_SIDES * n_groups))
    for group in comparison.groups:
        shown = (pair for pair in comparison.pairs_in_order(group) if pair.differs)
        yield from ((group, pair) for pair in islice(shown, n_each))


def sides_each(n_pairs: int) -> int:
    """Return how many losses, and how many gains, of each of so many pairs are shown with both rankings."""
    return min(SHOWN_SIDES + MOST_FURTHER, max(SHOWN_SIDES, MOST_SIDES // (2 * max(n_pairs, 1))))


def with_fewer_sides(comparison: Comparison, n_groups: int) -> Comparison:
    """Return the comparison with its share of rankings in a report of several comparisons, of so many groups in all."""
    chosen = [(pair.group, pair.a, pair.b) for _, pair in leading_pairs(comparison, n_groups)]
    each = sides_each(len(chosen) * n_groups // len(comparison.groups))
    kept = {}
    for key in chosen:
        all_sides = comparison.lists.get(key, ())
        by_sign = ([one for one in all_sides if sign * (one.difference or 0) > 0] for sign in (-1, 1))
        kept[key] = tuple(one for sides in by_sign for one in sides[:each])
    return comparison.with_lists(kept)


def needed_docs(comparison: Comparison) -> frozenset[str]:
    """Return the docs whose words are shown somewhere."""
    found: set[str] = set()
    for pair in comparison:
        found.update(one.doc for one in pair.settle or ())
        if pair.movement is not None:
            found.update(one.doc for query in pair.movement.queries for one in query.docs)
    for sides in comparison.lists.values():
        found.update(*map(docs_in, sides))
    return frozenset(found)


def with_words(comparison: Comparison, texts: Texts) -> Comparison:
    """Return the comparison with these texts, also in its records: of queries, and of the docs that they name."""
    groups = tuple(
        replace(group, comparisons=tuple(pair_in_words(pair, texts) for pair in group.comparisons))
        for group in comparison.groups
    )
    lists = {pair: tuple(in_words(each, texts) for each in sides) for pair, sides in comparison.lists.items()}
    named = replace(comparison, groups=groups)
    vars(named).update(vars(comparison))  # what is at hand besides the record stays so
    return named.with_lists(lists).with_texts(texts)


def pair_in_words(pair: PairResult, texts: Texts) -> PairResult:
    movement = pair.movement
    if movement is not None:
        queries = tuple(
            replace(
                query,
                text=texts.query(query.query) or None,
                docs=tuple(replace(one, title=texts.title(one.doc) or None) for one in query.docs),
            )
            for query in movement.queries
        )
        movement = replace(movement, queries=queries)
    settle = pair.settle
    if settle is not None:
        settle = tuple(
            replace(one, text=texts.query(one.query) or None, title=texts.title(one.doc) or None) for one in settle
        )
    return replace(pair, movement=movement, settle=settle)
