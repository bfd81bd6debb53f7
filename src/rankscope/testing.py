"""What every measure must satisfy, for people who write their own: `check_measure("MyMeasure")` in a test."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from rankscope.align.alignment import align
from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.arrays import safe_divide
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.light import LightRecord
from rankscope.measures.parameters import REQUIRED
from rankscope.measures.parse import parse_measure
from rankscope.measures.registry import REGISTRY
from rankscope.measures.spec import Measure, MeasureSpec, example_hits

__all__ = ["check_measure"]

K = 3
N_CASES = 100
SLACK = 1e-12
CELLS = (None, None, -1, 0, 0, 1, 1, 2, 3)
"""What may stand at a rank: a doc that nobody judged, one that was pooled but not judged, or a grade."""
NEEDED = {"k": K, "recall": 0.5}
"""Values for parameters that a measure cannot do without."""


class RankingCase(LightRecord):
    """One query: the grades down its ranking, and those of judged docs that were not retrieved."""

    ranking: Sequence[int | None]
    unfound: Sequence[int] = ()


def check_measure(name: str) -> None:
    """Check a registered measure, and raise an AssertionError that says what it does wrong.

    It must compute its own example, stay within its range, not care how docs are called or in which order queries
    come, ignore what stands below k, not fall when a relevant doc rises, survive an empty ranking, have workings (if it
    has any) that add up to the score, and a name that can be read back. Of a measure that needs more than grades, only
    its words and its example are checked.
    """
    spec = parse_measure(name).spec if name not in REGISTRY else REGISTRY[name]
    measure = Measure.of(spec, {p: NEEDED.get(p, K) for p, value in spec.parameters.items() if value is REQUIRED})
    for check in CHECKS if not spec.needs else (check_words, check_example):
        check(spec, measure)


def require(fine: bool, spec: MeasureSpec, what: str) -> None:
    if not fine:
        raise AssertionError(f"{spec.name}: {what}")


def check_words(spec: MeasureSpec, measure: Measure) -> None:
    require(bool(re.match(r"Answers: .+\?$", spec.summary)), spec, "the docstring does not start with 'Answers: …?'")
    require(bool(spec.title and spec.formula and spec.undefined), spec, "title, formula and undefined need a text")
    require(parse_measure(measure.name) == measure, spec, f"its name {measure.name!r} is not read back as itself")


def check_example(spec: MeasureSpec, _measure: Measure) -> None:
    example = spec.example
    strange = Counter(grade for grade in example.grades if grade is not None) - Counter(example.judged)
    require(not strange, spec, f"its example has grades in the ranking that were not judged: {[*strange.elements()]}")
    score = float(Measure.of(spec, example.params).score(example_hits(example), extras=example.extras)[0])
    wanted = example.score
    require(math.isclose(score, wanted, abs_tol=SLACK), spec, f"its example gives {score!r} instead of {wanted!r}")


def check_range(spec: MeasureSpec, measure: Measure) -> None:
    low, high = spec.range
    for case, score in zip(some_cases(), measure.score(hits_of(some_cases())).tolist(), strict=True):
        if math.isnan(score):
            require(spec.undefined != "never", spec, f"it is undefined for {case}, though it says never to be")
        else:
            require(low - SLACK <= score <= high + SLACK, spec, f"{score} is out of its range for {case}")


def check_names_and_order(spec: MeasureSpec, measure: Measure) -> None:
    cases = some_cases()
    scores = measure.score(hits_of(cases))
    renamed = measure.score(hits_of(cases, doc_name=lambda i: f"x{(i * 7919) % 10007}"))
    require(same(scores, renamed), spec, "it changes when docs are renamed")
    backwards = measure.score(hits_of(cases[::-1]))[::-1]
    require(same(scores, backwards), spec, "a query's score depends on the other queries or their order")


def check_junk(spec: MeasureSpec, _measure: Measure) -> None:
    if "k" not in spec.parameters:
        return
    at_k = Measure.of(spec, {"k": K})
    long = [case for case in some_cases() if len(case.ranking) >= K]
    longer = [RankingCase([*case.ranking, None, None], case.unfound) for case in long]
    require(same(at_k.score(hits_of(long)), at_k.score(hits_of(longer))), spec, f"docs below rank {K} change it at {K}")


def check_promotion(spec: MeasureSpec, measure: Measure) -> None:
    if not spec.monotone:
        return
    sign = -1 if spec.better == "lower" else 1
    for case in some_cases():
        ranked = [RankingCase([*pair, *case.ranking], case.unfound) for pair in ((0, 2), (2, 0))]
        before, after = (sign * float(measure.score(hits_of([one]))[0]) for one in ranked)
        worse = after < before - SLACK or (math.isnan(after) and not math.isnan(before))
        require(not worse, spec, f"a relevant doc at rank 1 instead of 2 makes it worse, above {case}")


def check_nothing(spec: MeasureSpec, measure: Measure) -> None:
    nothing = [RankingCase([], [1, 0]), RankingCase([0, None], [0]), RankingCase([-1, None], [-1]), RankingCase([1])]
    scores = measure.score(hits_of(nothing))
    require(scores.shape == (len(nothing),), spec, "it does not return one score per query")
    require(not np.isinf(scores).any(), spec, "an empty ranking or one without relevant docs makes it infinite")


def check_workings(spec: MeasureSpec, measure: Measure) -> None:
    if spec.workings is None:
        return
    hits = hits_of(some_cases())
    workings = spec.workings(hits, **measure.arguments(rel=1.0))
    sums = hits.per_query(workings.terms)
    shown = sums if workings.divisor is None else safe_divide(sums, workings.divisor)
    pairs = zip(some_cases(), np.nan_to_num(shown).tolist(), np.nan_to_num(measure.score(hits)).tolist(), strict=True)
    for case, added, score in pairs:
        require(math.isclose(added, score, abs_tol=SLACK), spec, f"its workings give {added} for {case}, it {score}")


CHECKS: tuple[Callable[[MeasureSpec, Measure], None], ...] = (
    check_words,
    check_example,
    check_nothing,
    check_range,
    check_names_and_order,
    check_junk,
    check_promotion,
    check_workings,
)


def some_cases() -> list[RankingCase]:
    """Return queries of all sorts, the same ones each time."""
    rng = random.Random(20)  # noqa: S311 (not a secret)
    return [
        RankingCase(rng.choices(CELLS, k=rng.randint(0, 8)), rng.choices((-1, 0, 1, 2, 3), k=rng.randint(0, 3)))
        for _ in range(N_CASES)
    ]


def hits_of(cases: Sequence[RankingCase], *, doc_name: Callable[[int], str] = "d{}".format) -> Hits:
    """Return the hits of the cases, each with its own docs; one more query keeps the grading scale the same."""
    qrels: dict[str, dict[str, int]] = {"~": {"other": 3}}
    run: dict[str, dict[str, float]] = {"~": {"other": 1.0}}
    for q, case in enumerate(cases):
        docs = [doc_name(100 * q + i) for i in range(len(case.ranking) + len(case.unfound))]
        graded = zip(docs, [*case.ranking, *case.unfound], strict=True)
        qrels[f"q{q:04}"] = {doc: grade for doc, grade in graded if grade is not None}
        run[f"q{q:04}"] = {doc: -float(rank) for rank, doc in enumerate(docs[: len(case.ranking)])}
    hits = align(Qrels(qrels), Run(run), Policies())
    return hits.select(np.array([query != "~" for query in hits.query_ids]))


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether two lists of scores are the same, undefined ones included."""
    return np.allclose(one, other, rtol=0, atol=SLACK, equal_nan=True)
