"""Comparing runs that are in the store: made once, kept as one look at the queries, and found again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rankscope._version import __version__
from rankscope.align.policies import Policies
from rankscope.comparison.compare import compare_runs, complete_kept
from rankscope.comparison.records import Comparison, PairResult
from rankscope.comparison.request import CompareOptions, CompareRequest, request_of
from rankscope.comparison.words import needed_docs, with_words
from rankscope.data.queries import QueryTable
from rankscope.data.texts import Texts
from rankscope.errors import InputError, OptionError
from rankscope.experiment.history_records import QueryCounts
from rankscope.experiment.keep import one_or_all
from rankscope.experiment.stored_scoring import are_same
from rankscope.measures.spec import Measure
from rankscope.records import Record, replace
from rankscope.store import Store, StoredQuery, StoredRun
from rankscope.store.qrels import StoredQrels

MOST_TO_JUDGE = 1000
"""Of docs whose judgments would settle a verdict, so many are read with their words."""
SIMPLE = (str, int, float, bool)
"""Values of attributes by which queries can be divided; lists and objects are left out."""


class StoredQuestion(Record, kw_only=True, eq=False):
    """What is to be compared: stored runs by the names that they have in the answer, and how."""

    runs: dict[str, StoredRun]
    labels: StoredQrels
    measure: Measure
    policies: Policies
    baseline: str | None = None
    """None for all pairs."""
    margin: float | None = None
    pool: bool = False
    stratum: tuple[str, ...] = ()
    """Only queries with these attributes, each as `name=value`; of two values of a name, either."""
    anyway: bool = False
    """Compare runs that were asked other queries on those that they have in common."""

    @property
    def asked_of(self) -> StoredRun:
        """The run whose queries the others must have been asked, too."""
        return self.runs[self.baseline] if self.baseline else next(iter(self.runs.values()))


def names_of_runs(runs: Sequence[StoredRun]) -> dict[str, StoredRun]:
    """Return runs by their systems; where a system is there twice, with the numbers of the runs."""
    systems = [run.system for run in runs]
    return {run.system if systems.count(run.system) == 1 else f"{run.system} (run {run.number})": run for run in runs}


def query_table_of(queries: Mapping[str, StoredQuery]) -> QueryTable:
    """Return stored queries as comparisons take them: texts, and attributes by which they can be divided."""
    texts = {query: each.text for query, each in queries.items() if each.text is not None}
    columns: dict[str, dict[str, Any]] = {}
    for query, each in queries.items():
        for name, value in each.attributes.items():
            if isinstance(value, SIMPLE):
                columns.setdefault(name, {})[query] = value
    return QueryTable(tuple(queries), texts or None, columns)


def strata_in(table: QueryTable) -> dict[str, dict[str, int]]:
    """Return how many queries there are of each value of each attribute."""
    counts: dict[str, dict[str, int]] = {}
    for name, column in table.attributes.items():
        for value in column.values():
            of_name = counts.setdefault(name, {})
            of_name[str(value)] = of_name.get(str(value), 0) + 1
    return {name: dict(sorted(values.items())) for name, values in counts.items()}


def queries_in(table: QueryTable, stratum: Iterable[str]) -> frozenset[str]:
    """Return the queries of a stratum, given as `name=value`; of two values of a name, either."""
    wanted: dict[str, set[str]] = {}
    for each in stratum:
        name, value = split_stratum(table, each)
        wanted.setdefault(name, set()).add(value)
    found = frozenset(
        query
        for query in table.ids
        if all(str(table.attributes[name].get(query, "")) in values for name, values in wanted.items())
    )
    if not found:
        raise InputError(f"no query has {' and '.join(stratum)}", hint="choose another stratum")
    return found


def split_stratum(table: QueryTable, text: str) -> tuple[str, str]:
    """Return the attribute and the value of `name=value`; a name may have an equals sign itself."""
    for name in table.attributes:
        if text.startswith(f"{name}="):
            return name, text[len(name) + 1 :]
    known = ", ".join(table.attributes)
    raise OptionError(
        f"there is no stratum {text!r}", hint=f"give name=value of one of {known}" if known else "queries have none"
    )


def compare_stored(store: Store, question: StoredQuestion) -> Comparison:
    """Return the comparison of stored runs, as it was kept or made now, with scores and words at hand.

    It is what `compare` says of the same runs and judgments; of a run with several repetitions, their mean counts.
    Each is kept, and counts as one look at its queries, however often it is asked for: another baseline, margin or
    part of the queries is another one, as it may give another verdict. Runs that cannot be compared are
    refused with the reason.
    """
    refuse_other_collections(question.runs)
    asked = {run.queries_sha256: store.texts.queries(run.queries_sha256) for run in question.runs.values()}
    table = query_table_of(asked[question.asked_of.queries_sha256])
    only = common_queries(question, asked)
    if question.stratum:
        only &= queries_in(table, question.stratum)
    request = request_for(question, table)
    repetitions = store.runs.repetitions(question.runs.values())
    rankings = {name: [each.ranking_sha256 for each in repetitions[run.number]] for name, run in question.runs.items()}
    inputs = inputs_of(question, only, rankings)
    judged = store.qrels.judgments(question.labels).select(only)
    if not len(judged):
        raise InputError("none of these queries is judged", hint="judge some of their results, then compare")
    runs = {name: store.runs.ranking(run) for name, run in question.runs.items()}
    further = {
        name: [store.runs.ranking(each) for each in repetitions[run.number][1:]]
        for name, run in question.runs.items()
        if len(repetitions[run.number]) > 1
    }
    kept = store.comparisons.find(inputs)
    if kept is not None:
        comparison = complete_kept(store.comparisons.result(kept), judged, runs, request, further=further)
    else:
        # what must be known is in it
        comparison = compare_runs(judged, runs, request, on_note=lambda _: None, further=further)
        if not store.read_only:
            kept = store.comparisons.add(
                comparison,
                queries_sha256=question.asked_of.queries_sha256,
                rankings=[ranking for each in rankings.values() for ranking in each],
                inputs=inputs,
                part=only if len(only) < len(table) else None,
            )
    named = with_first_words(store, question.asked_of.collection, comparison, table)
    return named.with_look(None if kept is None else kept.look)


def with_first_words(store: Store, collection: str, comparison: Comparison, table: QueryTable) -> Comparison:
    """Return a comparison with the words of queries and docs; of very many docs to judge, with those of the first."""
    short = with_fewer_docs(comparison)
    docs = store.texts.docs(collection, needed_docs(short))
    texts = Texts(
        queries=table.texts or {},
        titles={doc: each.title for doc, each in docs.items()},
        bodies={doc: each.text for doc, each in docs.items()},
    )
    rest = {key_of(pair): pair.settle[MOST_TO_JUDGE:] for pair in every_pair(comparison) if pair.settle}
    worded = with_words(short, texts)
    return with_pairs(worded, lambda pair: replace(pair, settle=(*(pair.settle or ()), *rest.get(key_of(pair), ()))))


def with_fewer_docs(comparison: Comparison) -> Comparison:
    """Return a comparison that lists the first docs to judge of each pair only."""
    return with_pairs(comparison, lambda pair: replace(pair, settle=(pair.settle or ())[:MOST_TO_JUDGE]))


def with_pairs(comparison: Comparison, change: Callable[[PairResult], PairResult]) -> Comparison:
    """Return a comparison with the pairs changed that list docs to judge."""
    groups = tuple(
        replace(group, comparisons=tuple(change(pair) if pair.settle else pair for pair in group.comparisons))
        for group in comparison.groups
    )
    changed = replace(comparison, groups=groups)
    vars(changed).update(vars(comparison))  # what is at hand besides the record stays so
    return changed


def every_pair(comparison: Comparison) -> Iterator[PairResult]:
    return (pair for group in comparison.groups for pair in group.comparisons)


def key_of(pair: PairResult) -> tuple[str | None, str, str, str]:
    return pair.group, pair.a, pair.b, pair.measure


def request_for(question: StoredQuestion, table: QueryTable) -> CompareRequest:
    """Return what is asked of `compare`: the usual measures, and the one that decides."""
    given = {
        "primary": question.measure.name,
        "baseline": question.baseline,
        "all_pairs": question.baseline is None,
        "margin": question.margin,
        "pool": question.pool,
        "queries": table,
        **question.policies.as_dict(),
    }
    return request_of(given, function="compare", known=CompareOptions)


def inputs_of(question: StoredQuestion, only: frozenset[str], rankings: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return all that the answer depends on; `rankings` are the hashes of all repetitions of each run."""
    return {
        "what": "stored runs",
        "runs": {name: one_or_all(each) for name, each in rankings.items()},
        "asked": question.asked_of.queries_sha256,
        "queries": sorted(only),
        "qrels": question.labels.judgments_sha256,
        "measure": [question.measure.name, question.measure.spec.version],
        "baseline": question.baseline,
        "margin": question.margin,
        "pool": question.pool,
        "policies": question.policies.as_dict(),
        "rankscope": __version__,
    }


def refuse_other_collections(runs: Mapping[str, StoredRun]) -> None:
    if len(runs) < 2:
        raise InputError(
            f"only {next(iter(runs))!r} is chosen" if runs else "no run is chosen",
            hint="a comparison needs at least two systems",
        )
    names = {run.collection: name for name, run in runs.items()}
    if len(names) > 1:
        parts = [f"{name} is on {collection}" for collection, name in names.items()]
        raise InputError(
            ", and ".join(parts), hint="runs on two collections cannot be compared: they were asked other queries"
        )


def common_queries(question: StoredQuestion, asked: Mapping[str, Mapping[str, StoredQuery]]) -> frozenset[str]:
    """Return the queries that all runs were asked with the same words; runs that were asked others are refused."""
    reference = asked[question.asked_of.queries_sha256]
    common = set(reference)
    for name, run in question.runs.items():
        queries = asked[run.queries_sha256]
        both = {
            query for query in reference.keys() & queries.keys() if are_same(reference[query].text, queries[query].text)
        }
        counts = QueryCounts(
            n_common=len(both),
            n_added=len(queries.keys() - reference.keys()),
            n_removed=len(reference.keys() - queries.keys()),
            n_changed=len(reference.keys() & queries.keys()) - len(both),
        )
        if not counts.are_same and not question.anyway:
            raise InputError(
                f"{name} was not asked the same queries as {question.asked_of.system}: {counts.in_words}",
                hint=f"they can be compared on the {counts.n_common} queries that both were asked",
            )
        common &= both
    if not common:
        raise InputError("these runs have no query in common", hint="choose runs that were asked the same queries")
    return frozenset(common)
