"""The parameters that measures have: what each means and which values it can take, in one place."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from rankscope.data.similarities import INFORMATION, SIMILARITIES
from rankscope.errors import MeasureError
from rankscope.light import LightRecord

REQUIRED = inspect.Parameter.empty

GAINS = ("linear", "exp2", "binary")


class Parameter(LightRecord):
    """One parameter of measures: its meaning and the check of its values."""

    name: str
    meaning: str
    accepts: str
    parse: Callable[[Any], Any]
    default: Any = None

    def check(self, value: Any, where: str) -> Any:
        """Return the value in its own type, or say what would be accepted."""
        try:
            return self.parse(value)
        except (TypeError, ValueError):
            raise MeasureError(f"{where} = {value!r} will not do; it takes {self.accepts}") from None


@cache
def parameters_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the keyword parameters of a measure's function with their defaults."""
    signature = inspect.signature(function)  # slow enough to be looked up only once
    keywords = [parameter for parameter in signature.parameters.values() if parameter.kind is parameter.KEYWORD_ONLY]
    return MappingProxyType({parameter.name: parameter.default for parameter in keywords})


def show_value(value: Any) -> str:
    """Print a parameter as it is written in a measure's name."""
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{grade}: {gain}" for grade, gain in value) + "}"
    return repr(value)


def number(value: Any) -> int | float:
    """Accept a finite number; whole ones become int, so that 2.0 and 2 are one measure."""
    if isinstance(value, bool):
        raise TypeError
    result = float(value)
    if not math.isfinite(result):
        raise ValueError
    return int(result) if result.is_integer() else result


def number_within(low: float, high: float, *, ends: bool = True) -> Callable[[Any], int | float]:
    """Accept a number in a range, with or without its ends."""

    def parse(value: Any) -> int | float:
        result = number(value)
        inside = low <= result <= high if ends else low < result < high
        if not inside:
            raise ValueError
        return result

    return parse


def rank_number(value: Any) -> int:
    """Accept a whole number from 1 up."""
    result = number(value)
    if not isinstance(result, int) or result < 1:
        raise ValueError
    return result


def one_of(*choices: Any) -> Callable[[Any], Any]:
    """Accept one of some words or values."""

    def parse(value: Any) -> Any:
        if value not in choices:
            raise ValueError
        return value

    return parse


def truth(value: Any) -> bool:
    """Accept True or False."""
    if not isinstance(value, bool):
        raise TypeError
    return value


def gain(value: Any) -> Any:
    """Accept the name of a gain, or a map from grade to gain."""
    if isinstance(value, Mapping):
        return tuple(sorted((number(grade), number(gain)) for grade, gain in value.items()))
    if isinstance(value, tuple):
        return gain(dict(value))
    return one_of(*GAINS)(value)


def max_grade(value: Any) -> Any:
    """Accept a grade above 0, or the word for the query's own highest grade."""
    return value if value in (None, "query") else number_within(0, math.inf, ends=False)(value)


def some_text(value: Any) -> str:
    """Accept a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def text_or_number(value: Any) -> str:
    """Accept a text, or a number or truth value by its text."""
    if isinstance(value, bool | int | float):
        return str(value)
    return some_text(value)


PARAMETERS: dict[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        Parameter("k", "how many ranks count", "a whole number from 1 up", rank_number),
        Parameter("recall", "the recall level", "a number from 0 to 1", number_within(0, 1)),
        Parameter("rel", "the lowest grade that counts as relevant", "a grade from 0 up", number_within(0, math.inf)),
        Parameter(
            "gain",
            "what a grade is worth: linear (the grade), exp2 (2^grade - 1), binary (1 from rel up), or a map",
            "'linear', 'exp2', 'binary' or a map such as {1: 3, 2: 9}",
            gain,
        ),
        Parameter(
            "beta",
            "how much more recall counts than precision (for Q: how much more gain does; "
            "for NRBP, below 1: how likely the reader goes on to the next rank)",
            "a number from 0 up",
            number_within(0, math.inf),
        ),
        Parameter(
            "p",
            "how likely the reader goes on to the next rank",
            "a number between 0 and 1",
            number_within(0, 1, ends=False),
        ),
        Parameter(
            "norm",
            "what average precision is divided by: all relevant docs, or at most k of them",
            "'all' or 'min'",
            one_of("all", "min"),
        ),
        Parameter(
            "max_grade",
            "the top of the grading scale; by default the highest grade in the qrels, 'query' for the query's own",
            "a number above 0, or 'query'",
            max_grade,
        ),
        Parameter(
            "mult", "how many times the number of relevant docs", "a number above 0", number_within(0, 1e9, ends=False)
        ),
        Parameter(
            "rounding",
            "how a share of the relevant docs becomes a count: up (trec_eval 9) or nearest (trec_eval 10)",
            "'up' or 'nearest'",
            one_of("up", "nearest"),
        ),
        Parameter(
            "T", "how many relevant docs the reader hopes for", "a number above 0", number_within(0, 1e9, ends=False)
        ),
        Parameter(
            "over",
            "which docs the mean is over: all retrieved (unjudged count 0) or only the judged ones",
            "'retrieved' or 'judged'",
            one_of("retrieved", "judged"),
        ),
        Parameter(
            "alpha",
            "how much less a further doc on the same subtopic is worth; 0 does not mind repetition",
            "a number from 0 to 1",
            number_within(0, 1),
        ),
        Parameter(
            "scale",
            "what the sum over the subtopics is divided by: none, or best (what docs about every subtopic would get)",
            "'none' or 'best'",
            one_of("none", "best"),
        ),
        Parameter(
            "sim",
            "how similar two terms of an ontology are: by information content (lin, resnik, jc, rel), "
            "or by depth as Phentrieve does",
            "'lin', 'resnik', 'jc', 'rel', 'phentrieve_hybrid' or 'phentrieve_simple'",
            one_of(*SIMILARITIES),
        ),
        Parameter(
            "ic",
            "where information content comes from: the graph of the ontology, or what terms were used for",
            "'graph' or 'annotations'",
            one_of(*INFORMATION),
        ),
        Parameter(
            "distance",
            "how far two vectors are apart: cosine (1 - cosine, 0 to 2) or angular (their angle, 1 being opposite)",
            "'cosine' or 'angular'",
            one_of("cosine", "angular"),
        ),
        Parameter(
            "threshold",
            "the cosine from which a doc repeats another one",
            "a number from -1 to 1",
            number_within(-1, 1),
        ),
        Parameter(
            "rel_weight",
            "how much of a relevant doc's gain does not depend on its novelty; 1 is plain binary nDCG",
            "a number from 0 to 1",
            number_within(0, 1),
        ),
        Parameter("weight", "how much relevance counts against diversity", "a number from 0 to 1", number_within(0, 1)),
        Parameter(
            "combine",
            "how relevance and diversity become one number: by their harmonic or their arithmetic mean",
            "'harmonic' or 'arithmetic'",
            one_of("harmonic", "arithmetic"),
        ),
        Parameter("field", "which field of the docs is looked at", "the name of a field", some_text),
        Parameter("date", "which field of the docs holds the date", "the name of a field", some_text),
        Parameter("group", "the value that the docs of the group have in the field", "a text", text_or_number),
        Parameter(
            "missing",
            "what a doc without a value in the field is: ignore (none at all) or own (all such docs share a value)",
            "'ignore' or 'own'",
            one_of("ignore", "own"),
        ),
        Parameter("found", "worth of a relevant doc retrieved", "a number", number),
        Parameter("wrong", "worth of a non-relevant doc retrieved", "a number", number),
        Parameter("missed", "worth of a relevant doc not retrieved", "a number", number),
        Parameter(
            "judged_only",
            "remove docs without a judgment from the ranking first",
            "True or False",
            truth,
            default=False,
        ),
        Parameter(
            "agg",
            "how the scores of all queries become one number",
            "'mean', 'median', 'gmean' (geometric mean), 'worst' (mean of the worst tenth) or 'sum'",
            one_of("mean", "median", "gmean", "worst", "sum"),
        ),
    )
}
