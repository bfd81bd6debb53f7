"""The queries of a collection as two runs score them: which runs are looked at, and the queries in an order.

Scores are arrays from the store; of the texts of queries only those that are shown are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from rankscope.align.policies import Policies
from rankscope.arrays import Bools, Floats, Ints
from rankscope.errors import UnknownNameError
from rankscope.experiment.stored_scoring import mean_of_repetitions, measure_with_margin, policies_of
from rankscope.measures.parse import parse_measure
from rankscope.measures.spec import Measure
from rankscope.printable import printable
from rankscope.records import Options, Record
from rankscope.stats.units import paired_differences
from rankscope.store import StoredRun
from rankscope.store.qrels import StoredQrels
from rankscope.store.scores import StoredScores
from rankscope.web.choices import known_measures
from rankscope.web.chosen import CollectionRuns, challengers_of, collection_runs, ensure_scores, usual_baseline
from rankscope.web.library import Library

SEEN_DOCS = 10
"""Unjudged docs are counted down to this rank, where the measure has no cut-off."""
MANY_VALUES = 40
"""An attribute with more values than this is no stratum."""
MOST_WORDS = 8
MOST_EARLIER = 40
"""Runs to choose from, besides the newest of each system; an address may name any other."""
NOTHING_FOUND = "R"
"""The measure that is 0 where no relevant doc was retrieved, at any rank."""

Shown = Literal["all", "better", "worse", "same", "failed", "unjudged", "never_found", "undefined"]
SortedBy = Literal["difference", "a", "b", "text"]


class QueryListOptions(Options):
    """Which queries are looked at, of which runs, and in which order."""

    collection: str = ""
    """The collection; by default that of the newest run."""
    a: str = ""
    """The first run: a system for its newest, a number, a tag or the beginning of a hash; by default the baseline."""
    b: str = ""
    """The second run, which is compared with the first."""
    measure: str = ""
    """The measure; by default the one that decided the newest run."""
    words: Annotated[str, Meta(max_length=300)] = ""
    """Only queries that have all of these words, in the text or in the id."""
    stratum: tuple[str, ...] = ()
    """Only queries with these attributes, each as `name=value`; of two values of a name, either."""
    show: Shown = "all"
    """Only queries that got better or worse, tie, failed, have unjudged docs, or of which nothing was ever found."""
    sort: SortedBy = "difference"
    """By the difference, the score of the first or second run, or the text."""
    descending: bool = False
    """The largest first, or the alphabet from its end."""


class ListedRun(Record):
    """A stored run that can be looked at."""

    number: int
    system: str
    started: str
    tags: tuple[str, ...] = ()


class ChosenRuns(Record, eq=False):
    """The runs that are looked at, and how they are scored."""

    collection: str
    collections: tuple[str, ...]
    runs: tuple[StoredRun, ...]
    """One or more; the first is what the others are compared with."""
    newest: tuple[ListedRun, ...]
    """The newest run of each system, to choose from."""
    earlier: tuple[ListedRun, ...]
    """The newest of all other runs, the newest first."""
    measures: tuple[str, ...]
    """Measures to choose from."""
    tags: Mapping[int, tuple[str, ...]]
    measure: Measure
    policies: Policies
    labels: StoredQrels

    @property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return -1 if self.measure.spec.better == "lower" else 1

    @property
    def key(self) -> tuple[object, ...]:
        """What stands for it in a cache."""
        return (*(run.number for run in self.runs), self.labels.number, self.measure.name)

    def listed(self, run: StoredRun) -> ListedRun:
        return listed_run(run, self.tags)


def choose_runs(library: Library, asked: QueryListOptions, more: Sequence[str] = ()) -> ChosenRuns | None:
    """Return the runs asked for, others by default; None where the store has no runs yet."""
    store, of = library.store, collection_runs(library, asked.collection)
    if not of.name:
        return None
    name, tags = of.name, of.tags
    newest = [of.newest[system] for system in sorted(of.newest)]
    others = [run for run in reversed(of.runs) if run.number != of.newest[run.system].number]
    labels = library.cached(("labels", name), lambda: store.qrels.find(name))
    measure = parse_measure(asked.measure) if asked.measure else measure_with_margin(store, of.runs).measure
    first = store.runs.find(asked.a, collection=name) if asked.a else default_first(of)
    second = store.runs.find(asked.b, collection=name) if asked.b else default_second(library, of, first, labels)
    further = [store.runs.find(each, collection=name) for each in more]
    runs = [first, *([second] if second is not None else []), *further]
    for run in runs:
        if run.collection != name:
            raise UnknownNameError(
                f"run {run.number} is of {run.collection}, not of {name}", hint=f"choose {run.collection} for it"
            )
    unique = tuple({run.number: run for run in runs}.values())
    return ChosenRuns(
        collection=name,
        collections=of.collections,
        runs=unique,
        newest=tuple(listed_run(run, tags) for run in newest),
        earlier=tuple(listed_run(run, tags) for run in others[:MOST_EARLIER]),
        measures=known_measures(library, name, measure.name, from_rankings=True),
        tags=tags,
        measure=measure,
        policies=policies_of(unique[-1]),
        labels=labels,
    )


def listed_run(run: StoredRun, tags: Mapping[int, tuple[str, ...]]) -> ListedRun:
    return ListedRun(run.number, run.system, run.started, tags.get(run.number, ()))


def default_first(of: CollectionRuns) -> StoredRun:
    """Return the run that others are compared with, as the page Compare has it; of one system alone the run before."""
    usual = usual_baseline(of)
    earlier = [run for run in of.runs if run.number != usual.number]
    return earlier[-1] if len(of.newest) == 1 and earlier and usual == of.newest[of.main] else usual


def default_second(library: Library, of: CollectionRuns, first: StoredRun, labels: StoredQrels) -> StoredRun | None:
    """Return the best of the other systems, by the measure that decides; those with the same queries come first."""
    others = challengers_of(of, first) or [run for run in of.newest.values() if run.number != first.number]
    if len(others) < 2:
        return others[0] if others else None
    measure, policies = measure_with_margin(library.store, of.runs).measure, policies_of(others[-1])
    sign = -1 if measure.spec.better == "lower" else 1

    ensure_scores(library, others, labels, [measure], policies)

    def best() -> StoredRun:
        means = library.store.scores.means(others, labels, measure, policies)
        of_run = {number: summary.mean for number, summary in means.items()}
        return max(others, key=lambda run: (of_run.get(run.number) is not None, sign * (of_run.get(run.number) or 0.0)))

    key = ("best", labels.number, measure.name, *(run.number for run in others))
    return library.cached(key, best, lasting=True)


class QueryScores(Record, eq=False):
    """What runs score, query by query, on the queries that all of them were asked with the same words."""

    query_ids: tuple[str, ...]
    places: Ints
    """Where each query stands among those that the last run was asked; -1 where it was not asked of it."""
    values: tuple[Floats, ...]
    """For each run, the means over its repetitions; NaN where a score is undefined and left out."""
    failed: Bools
    """Whether one of the runs has no answer because it failed."""
    unjudged: Ints
    """Docs among the first ones that nobody judged, in the list that has more of them."""
    never_found: Bools
    """Whether there are relevant docs, of which no run has one at any rank."""
    differences: Floats
    """The second run less the first; NaN where a score is undefined, 0 everywhere where there is one run."""
    means: tuple[float | None, ...]
    """Of each run, as the store has it."""


def scores_of_runs(library: Library, chosen: ChosenRuns) -> QueryScores:
    ensure_scores(library, chosen.runs, chosen.labels, measures_looked_at(chosen), chosen.policies)
    return library.cached(("query scores", *chosen.key), lambda: read_scores(library, chosen), lasting=True)


def measures_looked_at(chosen: ChosenRuns) -> tuple[Measure, ...]:
    """Return the measure that is shown, and those that tell of which queries nothing was found, or much is unjudged."""
    k = chosen.measure.options.get("k") or SEEN_DOCS
    return (chosen.measure, parse_measure(NOTHING_FOUND), parse_measure(f"Unjudged@{k}"))


def read_scores(library: Library, chosen: ChosenRuns) -> QueryScores:
    k, measures = chosen.measure.options.get("k") or SEEN_DOCS, measures_looked_at(chosen)
    repetitions = library.store.runs.repetitions(chosen.runs)
    every_run = [each for run in chosen.runs for each in repetitions[run.number]]
    library.store.scores.compute(every_run, chosen.labels, measures, chosen.policies)  # each run is read once
    found = {run.number: library.store.scores.of(run, chosen.labels, measures, chosen.policies) for run in every_run}

    def means_by(measure: Measure) -> list[StoredScores]:
        groups = ([found[each.number][measure.name] for each in repetitions[run.number]] for run in chosen.runs)
        return [group[0] if len(group) == 1 else mean_of_repetitions(group, measure) for group in groups]

    scored, recalls, unjudged = map(means_by, measures)
    query_ids = common_queries(library, chosen.runs, scored)
    rows = [rows_of(each.query_ids, query_ids) for each in scored]
    values = tuple(np.asarray(each.vector.values)[at] for each, at in zip(scored, rows, strict=True))
    missed = [
        (np.asarray(each.vector.values)[at] == 0) & ~np.asarray(each.vector.undefined)[at]
        for each, at in zip(recalls, rows, strict=True)
    ]
    shares = [np.nan_to_num(np.asarray(each.vector.values)[at]) for each, at in zip(unjudged, rows, strict=True)]
    failed = {query for run in chosen.runs for query in run.details.failed}
    place_of = {query: i for i, query in enumerate(library.store.texts.query_ids(chosen.runs[-1].queries_sha256))}
    return QueryScores(
        query_ids=query_ids,
        places=np.array([place_of.get(query, -1) for query in query_ids], dtype=np.int64),
        values=values,
        failed=np.array([query in failed for query in query_ids], dtype=bool),
        unjudged=np.rint(np.max(shares, axis=0) * k).astype(np.int64),
        never_found=np.logical_and.reduce(missed),
        differences=paired_differences(values[0], values[1]) if len(values) > 1 else np.zeros(len(query_ids)),
        means=tuple(each.summary.mean for each in scored),
    )


def common_queries(library: Library, runs: Sequence[StoredRun], scored: Sequence[StoredScores]) -> tuple[str, ...]:
    """Return the queries that all runs were asked with the same words and that are judged, in the order of the last."""
    if len({run.queries_sha256 for run in runs}) == 1 and len({each.query_ids for each in scored}) == 1:
        return scored[-1].query_ids
    texts = {run.queries_sha256: library.store.texts.queries(run.queries_sha256) for run in runs}
    asked = [{query: each.text for query, each in texts[run.queries_sha256].items()} for run in runs]
    inside = [frozenset(each.query_ids) for each in scored]
    return tuple(
        query
        for query in scored[-1].query_ids
        if all(query in one for one in inside) and len({of_run.get(query) for of_run in asked}) == 1
    )


def rows_of(known: Sequence[str], wanted: Sequence[str]) -> Ints:
    """Return where wanted queries stand among those known."""
    if known == wanted:
        return np.arange(len(wanted))
    place_of = {query: i for i, query in enumerate(known)}
    return np.array([place_of[query] for query in wanted], dtype=np.int64)


class StratumValue(Record):
    """A value of an attribute of queries."""

    value: str
    key: str
    """As `stratum` takes it."""
    n_queries: int
    n_better: int
    n_worse: int


class QueryStratum(Record):
    """An attribute of queries with few values."""

    attribute: str
    values: tuple[StratumValue, ...]


class Strata(Record, eq=False):
    """Which queries have which attributes, by the places that they have among all that were asked."""

    places_of: Mapping[str, Mapping[str, Ints]]
    """By attribute and value."""

    def of(self, places: Ints, gains: Floats) -> tuple[QueryStratum, ...]:
        """Return attributes and values that some queries have, with how many of these gained and lost."""
        found = []
        for attribute, values in self.places_of.items():
            inside = {value: np.isin(places, at) for value, at in values.items()}
            shown = tuple(
                StratumValue(
                    value,
                    stratum_key(attribute, value),
                    int(mask.sum()),
                    int((gains[mask] > 0).sum()),
                    int((gains[mask] < 0).sum()),
                )
                for value, mask in inside.items()
                if mask.any()
            )
            if len(shown) > 1:
                found.append(QueryStratum(attribute, shown))
        return tuple(found)

    def inside(self, places: Ints, strata: Iterable[str]) -> Bools:
        """Tell which queries have a wanted value of every attribute that values are wanted of."""
        wanted = set(strata)
        keep = np.ones(len(places), dtype=bool)
        for attribute, values in self.places_of.items():
            keys = {stratum_key(attribute, value): at for value, at in values.items()}
            named = [at for key, at in keys.items() if key in wanted]
            wanted.difference_update(keys)
            if named:
                keep &= np.isin(places, np.concatenate(named))
        if wanted:  # a value that no query has
            keep[:] = False
        return keep


def stratum_key(attribute: str, value: str) -> str:
    """Return what stands for a value of an attribute in addresses and forms."""
    return printable(f"{attribute}={value}")


def strata_of(library: Library, run: StoredRun) -> Strata:
    return library.cached(
        ("strata", run.queries_sha256), lambda: read_strata(library, run.queries_sha256), lasting=True
    )


def simple_values(value: Any) -> list[Any]:
    """Return the values of an attribute by which queries can be divided: no objects, as turns of a conversation are."""
    return [each for each in (value if isinstance(value, list) else [value]) if not isinstance(each, dict | list)]


def read_strata(library: Library, queries_sha256: str) -> Strata:
    places: dict[str, dict[str, list[int]]] = {}
    for place, attributes in enumerate(library.store.texts.attributes(queries_sha256)):
        for name, value in attributes.items():
            for each in simple_values(value):
                of_name = places.setdefault(name, {})
                if len(of_name) <= MANY_VALUES:
                    of_name.setdefault(str(each), []).append(place)
    return Strata(
        {
            name: {value: np.array(at, dtype=np.int64) for value, at in sorted(values.items())}
            for name, values in sorted(places.items())
            if len(values) <= MANY_VALUES
        }
    )


class QueryCountsShown(Record):
    """How many queries there are of each kind that can be shown."""

    all: int
    better: int
    worse: int
    same: int
    failed: int
    unjudged: int
    never_found: int
    undefined: int


class QueryOrder(Record, eq=False):
    """The queries that are listed, in their order."""

    scores: QueryScores
    base: Ints
    """The queries of the strata and words asked for, as indices of the scores."""
    listed: Ints
    """Those of them that are shown, in their order."""
    counts: QueryCountsShown

    @property
    def query_ids(self) -> list[str]:
        return [self.scores.query_ids[i] for i in self.listed.tolist()]


def order_queries(library: Library, chosen: ChosenRuns, asked: QueryListOptions) -> QueryOrder:
    """Return the queries that are asked for, in the order asked for."""
    filters = (asked.words, asked.stratum, asked.show, asked.sort, asked.descending)
    key = ("query order", *chosen.key, *filters)
    return library.cached(key, lambda: find_order(library, chosen, asked), lasting=True)


def find_order(library: Library, chosen: ChosenRuns, asked: QueryListOptions) -> QueryOrder:
    scores = scores_of_runs(library, chosen)
    keep = np.ones(len(scores.query_ids), dtype=bool)
    sha256 = chosen.runs[-1].queries_sha256
    if asked.stratum:
        keep &= strata_of(library, chosen.runs[-1]).inside(scores.places, asked.stratum)
    if words := asked.words.split()[:MOST_WORDS]:
        keep &= np.isin(scores.places, library.store.texts.places_with(sha256, words))
    signed = chosen.sign * scores.differences
    masks: dict[Shown, Bools] = {
        "all": np.ones(len(keep), dtype=bool),
        "better": signed > 0,
        "worse": signed < 0,
        "same": signed == 0,
        "failed": scores.failed,
        "unjudged": scores.unjudged > 0,
        "never_found": scores.never_found,
        "undefined": np.isnan(signed) | np.logical_or.reduce([np.isnan(each) for each in scores.values]),
    }
    counts = QueryCountsShown(**{name: int((keep & mask).sum()) for name, mask in masks.items()})
    base, shown = np.flatnonzero(keep), np.flatnonzero(keep & masks[asked.show])
    return QueryOrder(scores, base, shown[sorting(library, chosen, asked, scores, shown)], counts)


def sorting(library: Library, chosen: ChosenRuns, asked: QueryListOptions, scores: QueryScores, shown: Ints) -> Ints:
    """Return the order of the queries shown; those without a number stand at the end, equal ones as they were given."""
    if asked.sort == "text":
        by_text = library.store.texts.places_by_text(chosen.runs[-1].queries_sha256)
        rank_of = np.full(len(by_text) + 1, len(by_text))  # the last is that of place -1
        rank_of[by_text] = np.arange(len(by_text))
        keys = rank_of[scores.places[shown]].astype(np.float64)
    elif asked.sort == "difference" and len(scores.values) > 1:
        keys = chosen.sign * scores.differences[shown]
    else:
        keys = scores.values[1 if asked.sort == "b" and len(scores.values) > 1 else 0][shown]
    return np.asarray(np.argsort(-keys if asked.descending else keys, kind="stable"))


def query_texts(library: Library, chosen: ChosenRuns, scores: QueryScores, indices: Iterable[int]) -> dict[str, Any]:
    """Return texts and attributes of some queries, by id."""
    places = [int(scores.places[i]) for i in indices]
    return library.store.texts.queries_at(chosen.runs[-1].queries_sha256, [place for place in places if place >= 0])
