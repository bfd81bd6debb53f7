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


class Values(LightRecord):
    """Which values a parameter can take, in words, and how one is checked and brought into its own type."""

    accepts: str
    parse: Callable[[Any], Any]


class Parameter(LightRecord):
    """One parameter of measures: its meaning and the check of its values."""

    meaning: str
    values: Values
    default: Any = None

    @property
    def accepts(self) -> str:
        """What it takes, in words."""
        return self.values.accepts

    def check(self, value: Any, where: str) -> Any:
        """Return the value in its own type, or say what would be accepted."""
        try:
            return self.values.parse(value)
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
    def parse(value: Any) -> int | float:
        result = number(value)
        if not (low <= result <= high if ends else low < result < high):
            raise ValueError
        return result

    return parse


def rank_number(value: Any) -> int:
    result = number(value)
    if not isinstance(result, int) or result < 1:
        raise ValueError
    return result


def one_of(*choices: str) -> Values:
    """Accept one of some words."""

    def parse(value: Any) -> Any:
        if value not in choices:
            raise ValueError
        return value

    words = [f"'{choice}'" for choice in choices]
    return Values(f"{', '.join(words[:-1])} or {words[-1]}", parse)


def truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def gain(value: Any) -> Any:
    """Accept the name of a gain, or a map from grade to gain."""
    if isinstance(value, Mapping):
        return tuple(sorted((number(grade), number(gain)) for grade, gain in value.items()))
    if isinstance(value, tuple):
        return gain(dict(value))
    return one_of("linear", "exp2", "binary").parse(value)


def max_grade(value: Any) -> Any:
    """Accept a grade above 0, or the word for the query's own highest grade."""
    return value if value in (None, "query") else number_within(0, math.inf, ends=False)(value)


def some_text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def text_or_number(value: Any) -> str:
    """Accept a text, or a number or truth value by its text."""
    if isinstance(value, bool | int | float):
        return str(value)
    return some_text(value)


_SHARE = Values("a number from 0 to 1", number_within(0, 1))
_FROM_0 = Values("a number from 0 up", number_within(0, math.inf))
_ABOVE_0 = Values("a number above 0", number_within(0, 1e9, ends=False))
_ANY = Values("a number", number)
_FIELD = Values("the name of a field", some_text)

PARAMETERS = {
    "k": Parameter("how many ranks count", Values("a whole number from 1 up", rank_number)),
    "recall": Parameter("the recall level", _SHARE),
    "rel": Parameter(
        "the lowest grade that counts as relevant", Values("a grade from 0 up", number_within(0, math.inf))
    ),
    "gain": Parameter(
        "what a grade is worth: linear (the grade), exp2 (2^grade - 1), binary (1 from rel up), or a map",
        Values("'linear', 'exp2', 'binary' or a map such as {1: 3, 2: 9}", gain),
    ),
    "beta": Parameter(
        "how much more recall counts than precision (for Q: how much more gain does; "
        "for NRBP, below 1: how likely the reader goes on to the next rank)",
        _FROM_0,
    ),
    "p": Parameter(
        "how likely the reader goes on to the next rank",
        Values("a number between 0 and 1", number_within(0, 1, ends=False)),
    ),
    "norm": Parameter(
        "what average precision is divided by: all relevant docs, or at most k of them", one_of("all", "min")
    ),
    "max_grade": Parameter(
        "the top of the grading scale; by default the highest grade in the qrels, 'query' for the query's own",
        Values("a number above 0, or 'query'", max_grade),
    ),
    "mult": Parameter("how many times the number of relevant docs", _ABOVE_0),
    "rounding": Parameter(
        "how a share of the relevant docs becomes a count: up (trec_eval 9) or nearest (trec_eval 10)",
        one_of("up", "nearest"),
    ),
    "T": Parameter("how many relevant docs the reader hopes for", _ABOVE_0),
    "over": Parameter(
        "which docs the mean is over: all retrieved (unjudged count 0) or only the judged ones",
        one_of("retrieved", "judged"),
    ),
    "alpha": Parameter("how much less a further doc on the same subtopic is worth; 0 does not mind repetition", _SHARE),
    "scale": Parameter(
        "what the sum over the subtopics is divided by: none, or best (what docs about every subtopic would get)",
        one_of("none", "best"),
    ),
    "sim": Parameter(
        "how similar two terms of an ontology are: by information content (lin, resnik, jc, rel), "
        "or by depth as Phentrieve does",
        one_of(*SIMILARITIES),
    ),
    "ic": Parameter(
        "where information content comes from: the graph of the ontology, or what terms were used for",
        one_of(*INFORMATION),
    ),
    "distance": Parameter(
        "how far two vectors are apart: cosine (1 - cosine, 0 to 2) or angular (their angle, 1 being opposite)",
        one_of("cosine", "angular"),
    ),
    "threshold": Parameter(
        "the cosine from which a doc repeats another one", Values("a number from -1 to 1", number_within(-1, 1))
    ),
    "rel_weight": Parameter(
        "how much of a relevant doc's gain does not depend on its novelty; 1 is plain binary nDCG", _SHARE
    ),
    "weight": Parameter("how much relevance counts against diversity", _SHARE),
    "combine": Parameter(
        "how relevance and diversity become one number: by their harmonic or their arithmetic mean",
        one_of("harmonic", "arithmetic"),
    ),
    "field": Parameter("which field of the docs is looked at", _FIELD),
    "date": Parameter("which field of the docs holds the date", _FIELD),
    "group": Parameter("the value that the docs of the group have in the field", Values("a text", text_or_number)),
    "missing": Parameter(
        "what a doc without a value in the field is: ignore (none at all) or own (all such docs share a value)",
        one_of("ignore", "own"),
    ),
    "found": Parameter("worth of a relevant doc retrieved", _ANY),
    "wrong": Parameter("worth of a non-relevant doc retrieved", _ANY),
    "missed": Parameter("worth of a relevant doc not retrieved", _ANY),
    "judged_only": Parameter(
        "remove docs without a judgment from the ranking first", Values("True or False", truth), default=False
    ),
    "agg": Parameter(
        "how the scores of all queries become one number",
        Values(
            "'mean', 'median', 'gmean' (geometric mean), 'worst' (mean of the worst tenth) or 'sum'",
            one_of("mean", "median", "gmean", "worst", "sum").parse,
        ),
    ),
}
