"""Measures by ontology: docs are terms, and one that is close to an expected term is worth something too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from rankscope.align.hits import Hits, level_of
from rankscope.arrays import Floats, Ints, offsets_of, positions_in_segment, safe_divide, segment_sum
from rankscope.data.ontology import Ontology, id_notes, is_literal
from rankscope.measures.extras import Extras, Need, example_extras
from rankscope.measures.spec import Measure, MeasureExample, MeasureFamily, measure

_UNDEFINED = "no term is expected for the query (the phentrieve similarities then give 0)"
_measure = partial(measure, family=MeasureFamily.ONTOLOGY, needs=[Need.ONTOLOGY], undefined=_UNDEFINED, monotone=False)


def best_matches(extras: Extras, *, k: int | None, sim: str, ic: str, rel: float | None) -> tuple[Ints, Floats]:
    """Return how similar the closest of the top k terms is to each expected term; 0 where nothing was retrieved.

    The terms of all queries stand one after another, each with the query (by position) that it belongs to.
    """
    expected, top = expected_terms(extras, rel), extras.top.cut(k)
    n_expected, n_top = (np.array([len(terms) for terms in side], dtype=np.int64) for side in (expected, top))
    ids = [term for side in (expected, top) for terms in side for term in terms]
    codes = extras.ontology.codes(ids, literal=is_literal(sim))
    expected_codes, top_codes = np.split(codes, [int(n_expected.sum())])
    queries = np.repeat(np.arange(len(top), dtype=np.int64), n_expected)
    pairs = np.repeat(np.arange(len(queries), dtype=np.int64), n_top[queries])
    places = offsets_of(n_top)[queries][pairs] + positions_in_segment(pairs, len(queries))
    values = extras.ontology.code_similarity(expected_codes[pairs], top_codes[places], sim=sim, ic=ic)
    best = np.zeros(len(queries))
    answered = np.flatnonzero(n_top[queries])
    if len(answered):
        best[answered] = np.maximum.reduceat(values, offsets_of(n_top[queries][answered])[:-1])
    return queries, best


def expected_terms(extras: Extras, rel: float | None) -> list[list[str]]:
    """Return the relevant terms of every query."""
    level, judged = level_of(rel), (extras.qrels.judged[query] for query in extras.top.query_ids)
    return [[term for term, grade in grades.items() if grade >= level] for grades in judged]


def ontology_notes(measures: Iterable[Measure], extras: Extras, *, rel: float) -> Iterator[str]:
    """Say which ids the ontology does not know, over the whole depth, so that every k says the same."""
    said: set[str] = set()
    for measure_ in measures:
        if Need.ONTOLOGY in measure_.spec.needs:
            given = measure_.arguments(rel=rel)
            seen = extras.judged_only() if measure_.options.get("judged_only") else extras
            ids = [term for terms in (*expected_terms(seen, given["rel"]), *seen.top.docs) for term in terms]
            report = seen.ontology.report_ids(ids)
            notes = dict.fromkeys(id_notes(seen.ontology, report, literal=is_literal(given["sim"])))
            yield from (note for note in notes if note not in said)
            said.update(notes)


_MAMMALS = {"mammal": ["animal"], "dog": ["mammal"], "cat": ["mammal"], "cow": ["mammal"]}
_BIRDS = {"bird": ["animal"], "sparrow": ["bird"], "owl": ["bird"]}
_EXPECTED = {"example": {"dog": 1, "sparrow": 1}}
_ANIMALS = example_extras(_EXPECTED, ["cat"], ontology=Ontology.from_parents({**_MAMMALS, **_BIRDS}))
"""One query that expects a dog and a sparrow and gets a cat: 8 terms, 4 of them mammals."""


@_measure(
    "MaxOntSim",
    "Highest ontology similarity",
    formula=r"\max_{e \in \text{expected},\; t \in \text{top } k} sim(e, t)",
    cite="Lin, An Information-Theoretic Definition of Similarity, ICML 1998; Seco, Veale & Hayes, ECAI 2004",
    aliases=("max_ont_sim",),
    example=MeasureExample(
        [None],
        [1, 1],
        1 / 3,
        {"k": 1},
        "cat and dog are mammals, as are 4 of 8 terms: 2·(1 - ln 4/ln 8) / (1 + 1); cat and sparrow share nothing",
        _ANIMALS,
    ),
)
def max_similarity(
    _hits: Hits, extras: Extras, *, k: int | None = None, sim: str = "lin", ic: str = "graph", rel: float | None = None
) -> Floats:
    """Answers: how close did the ranking come to any of the expected terms?

    `sim` says how close two terms are, from the information content (IC) of their most informative common ancestor
    (MICA): lin = 2·IC(MICA) / (IC(a) + IC(b)); resnik = IC(MICA) / highest IC; jc = 1 / (1 + IC(a) + IC(b) -
    2·IC(MICA)); rel = lin·(1 - p(MICA)). phentrieve_hybrid and phentrieve_simple are the depth formulas of Phentrieve,
    bit for bit. `ic` comes from the graph, 1 - ln(n) / ln(N) with n the number of terms at or below a term, or from
    annotations, -ln p.

    lin over the graph is the default: it needs nothing but the ontology, and is 1 for the same term and only for it.
    """
    queries, best = best_matches(extras, k=k, sim=sim, ic=ic, rel=rel)
    highest = np.full(len(extras.top.query_ids), 0.0 if is_literal(sim) else math.nan)
    highest[queries] = 0.0
    np.maximum.at(highest, queries, best)
    return highest


@_measure(
    "MeanBestMatch",
    "Mean best match",
    formula=r"\frac{1}{|\text{expected}|} \sum_{e \in \text{expected}} \max_{t \in \text{top } k} sim(e, t)",
    aliases=("average_max_similarity",),
    cite="Pesquita et al., Metrics for GO based protein semantic similarity, BMC Bioinformatics 2008; Lin, ICML 1998",
    example=MeasureExample(
        [None],
        [1, 1],
        1 / 6,
        {"k": 1},
        "cat is 1/3 similar to dog, as both are mammals, and 0 to sparrow: (1/3 + 0) / 2",
        _ANIMALS,
    ),
)
def mean_best_match(
    _hits: Hits, extras: Extras, *, k: int | None = None, sim: str = "lin", ic: str = "graph", rel: float | None = None
) -> Floats:
    """Answers: how close did the ranking come to each of the expected terms, on average?

    One direction of the best-match average: from the expected terms to the ranking. `sim` and `ic` are those of
    MaxOntSim.
    """
    queries, best = best_matches(extras, k=k, sim=sim, ic=ic, rel=rel)
    n_queries = len(extras.top.query_ids)
    means = safe_divide(segment_sum(best, queries, n_queries), np.bincount(queries, minlength=n_queries))
    return np.nan_to_num(means) if is_literal(sim) else means
