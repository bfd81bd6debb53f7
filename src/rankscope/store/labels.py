"""How several grades of a doc become one label, by a rule that is kept with the labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias, get_args

import numpy as np

from rankscope.arrays import Floats
from rankscope.data.judgments import SingleJudgment, moment_of
from rankscope.data.tasks import LabelRule
from rankscope.errors import InputError, OptionError
from rankscope.io.ids import byte_order
from rankscope.printable import counted
from rankscope.records import Record
from rankscope.stats.dawid_skene import DawidSkene, dawid_skene

RULES: tuple[LabelRule, ...] = get_args(LabelRule)
MODEL_RATERS = 5
"""Fewer raters say too little of one another for the model of Dawid and Skene."""
MODEL_GRADES = 20
"""So many grades of each rater it needs at least."""

QueryDoc: TypeAlias = tuple[str, str]
Grades: TypeAlias = Mapping[QueryDoc, Mapping[str, float]]
"""By query and doc, the grade of each rater, the latest one last."""


class Labels(Record, eq=False):
    """One grade for each doc, and how they came about."""

    grades: dict[QueryDoc, float]
    """In the order of queries and docs by their bytes."""
    rule: LabelRule
    n_single: int
    """Docs that one rater graded."""
    n_disagreed: int
    """Docs that got several different grades."""
    n_raters: int
    n_untrusted: int = 0
    """Docs that the trusted rater did not grade; they have the lower median of the others."""
    model: DawidSkene | None = None
    raters: tuple[str, ...] = ()
    """Of the model, in its order."""
    scale: tuple[float, ...] = ()
    """Of the model, in its order."""

    @property
    def facts(self) -> dict[str, Any]:
        """What is kept with the qrels."""
        known: dict[str, Any] = {
            "rule": self.rule,
            "n_single": self.n_single,
            "n_disagreed": self.n_disagreed,
            "n_raters": self.n_raters,
        }
        if self.rule == "trusted":
            known["n_untrusted"] = self.n_untrusted
        if self.model is not None:
            known["raters"] = list(self.raters)
            known["scale"] = list(self.scale)
            known["errors"] = np.round(self.model.errors, 4).tolist()
        return known


def grades_by_rater(judgments: Sequence[SingleJudgment]) -> dict[QueryDoc, dict[str, float]]:
    """Return the grades of docs; judgments come in the order of their numbers, and of a rater's the last holds.

    Grades of a doc stand in the order of their times, and where one of them has none in that in which they came.
    """
    held: dict[QueryDoc, dict[str, SingleJudgment]] = defaultdict(dict)
    for each in judgments:
        if each.grade is not None:
            of_doc = held[each.query, each.doc]
            of_doc.pop(each.rater, None)
            of_doc[each.rater] = each
    return {
        pair: {each.rater: each.grade for each in by_time([*held[pair].values()]) if each.grade is not None}
        for pair in sorted(held, key=lambda pair: tuple(map(byte_order, pair)))
    }


def by_time(judgments: Sequence[SingleJudgment]) -> Sequence[SingleJudgment]:
    """Return judgments in the order of their times; as they came where these are the same, or one is not known."""
    if len(judgments) < 2 or any(each.at is None for each in judgments):
        return judgments
    return sorted(judgments, key=lambda each: moment_of(each.at or ""))


def label_docs(
    grades: Grades,
    rule: LabelRule,
    *,
    scale: Sequence[float] = (),
    trusted: str = "",
    names: Mapping[str, str] = MappingProxyType({}),
) -> Labels:
    """Return one grade for each doc.

    Parameters
    ----------
    grades
        As `grades_by_rater` returns them.
    rule
        `only` refuses docs with different grades. `lower median`: the middle one, of two the lower. `majority`: the one
        that most raters gave, of several that as many gave the lowest. `mean`: the grade of the scale that is nearest,
        of two the lower; without a scale the mean itself. `max`: the highest. `latest`: the last one, as
        `grades_by_rater` orders them by their times. `trusted`: that of one rater, and the lower median where there is
        none. `dawid-skene`: the most probable by a model of how each rater errs.
    scale
        All grades that could be given.
    trusted
        The key of that rater, as in `grades`.
    names
        What raters are called, by their keys, where an error names one.
    """
    disagreed = [pair for pair, given in grades.items() if len(set(given.values())) > 1]
    if rule == "only" and disagreed:
        query, doc = disagreed[0]
        raise InputError(
            f"raters disagree on {counted(len(disagreed), 'doc')}, the first is {doc} for query {query}",
            hint="say how their grades are put together: the rule lower median, majority, mean or max",
        )
    raters = tuple(sorted({rater for given in grades.values() for rater in given}))
    if rule == "trusted" and trusted not in raters:
        raise InputError(
            f"the trusted rater has no grade here: {trusted!r}" if trusted else "it is not said which rater is trusted",
            hint=f"there are {', '.join(raters)}" if raters else "there are no grades at all",
        )
    model, steps = None, tuple(sorted({*scale, *(grade for given in grades.values() for grade in given.values())}))
    if rule == "dawid-skene":
        model = model_of(grades, raters, steps, names)
        chosen = {pair: steps[int(place)] for pair, place in zip(grades, model.posterior.argmax(axis=1), strict=True)}
    elif rule == "trusted":
        chosen = {pair: given.get(trusted, lower_median(list(given.values()))) for pair, given in grades.items()}
    elif rule == "mean":
        chosen = {pair: nearest_mean(list(given.values()), scale) for pair, given in grades.items()}
    elif rule in SIMPLE:
        chosen = {pair: SIMPLE[rule](list(given.values())) for pair, given in grades.items()}
    else:
        raise OptionError(f"the rule {rule!r} is not one of {', '.join(RULES)}")
    return Labels(
        chosen,
        rule,
        n_single=sum(len(given) == 1 for given in grades.values()),
        n_disagreed=len(disagreed),
        n_raters=len(raters),
        n_untrusted=sum(trusted not in given for given in grades.values()) if rule == "trusted" else 0,
        model=model,
        raters=raters if model else (),
        scale=steps if model else (),
    )


def lower_median(grades: Sequence[float]) -> float:
    return sorted(grades)[(len(grades) - 1) // 2]


def majority(grades: Sequence[float]) -> float:
    counts = Counter(grades)
    return min(grade for grade, n in counts.items() if n == max(counts.values()))


ROUNDED = 1e-9
"""Grades are written in decimals, which binary numbers come this near to at least."""


def nearest_mean(grades: Sequence[float], scale: Sequence[float]) -> float:
    """Return the grade of the scale that is nearest to the mean; the lower one of two that are as near."""
    mean = sum(grades) / len(grades)
    if not scale:
        return mean
    nearest = min(abs(grade - mean) for grade in scale)
    return min(grade for grade in scale if abs(grade - mean) <= nearest + ROUNDED)  # 0.1 and 0.2 have a mean above 0.15


def the_last(grades: Sequence[float]) -> float:
    return grades[-1]


SIMPLE: dict[str, Callable[[Sequence[float]], float]] = {
    "only": the_last,
    "lower median": lower_median,
    "majority": majority,
    "max": max,
    "latest": the_last,
}


def model_of(grades: Grades, raters: Sequence[str], scale: Sequence[float], names: Mapping[str, str]) -> DawidSkene:
    """Return the model of Dawid and Skene; it is refused where too few grades are known to tell how raters err."""
    given = Counter(rater for of_doc in grades.values() for rater in of_doc)
    few = [rater for rater in raters if given[rater] < MODEL_GRADES]
    if len(raters) < MODEL_RATERS or few:
        have = f"{names.get(few[0], few[0])} has {given[few[0]]}" if few else f"there are {len(raters)}"
        raise InputError(
            f"the rule dawid-skene needs {MODEL_RATERS} raters with {MODEL_GRADES} grades each, but {have}",
            hint="with fewer, take the lower median",
        )
    counts: Floats = np.zeros((len(grades), len(raters), len(scale)))
    place, step = {rater: i for i, rater in enumerate(raters)}, {grade: i for i, grade in enumerate(scale)}
    for i, of_doc in enumerate(grades.values()):
        for rater, grade in of_doc.items():
            counts[i, place[rater], step[grade]] = 1
    return dawid_skene(counts)
