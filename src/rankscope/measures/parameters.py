"""The parameters that measures have: what each means and which values it can take, in one place."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from functools import cache, partial
from types import MappingProxyType
from typing import Any

from rankscope.data.similarities import INFORMATION, SIMILARITIES
from rankscope.errors import MeasureError
from rankscope.light import LightRecord

REQUIRED = inspect.Parameter.empty


Parse = Callable[[Any], Any]
"""Brings a value into its own type; one that is not valid is a TypeError or ValueError."""


class Parameter(LightRecord):
    """One parameter of measures: its meaning and the check of its values."""

    meaning: str
    accepts: str
    """Which values it takes, in words."""
    parse: Parse
    default: Any = None

    def check(self, value: Any, where: str) -> Any:
        """Return the value in its own type, or say what would be accepted."""
        try:
            return self.parse(value)
        except (TypeError, ValueError):
            raise MeasureError(f"{where} = {value!r} is not valid; it takes {self.accepts}") from None


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


DEEPEST_RANK = 2**31 - 1


def number(value: Any) -> int | float:
    """Accept a finite number; whole ones become int, so that 2.0 and 2 are one measure."""
    if isinstance(value, bool):
        raise TypeError
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise ValueError
    return int(result) if result.is_integer() else result


def number_within(low: float, high: float, *, ends: bool = True) -> Parse:
    def parse(value: Any) -> int | float:
        result = number(value)
        if not (low <= result <= high if ends else low < result < high):
            raise ValueError
        return result

    return parse


def rank_number(value: Any) -> int:
    result = number(value)
    if not isinstance(result, int) or not 1 <= result <= DEEPEST_RANK:
        raise ValueError
    return result


def one_of(*choices: Any) -> Parse:
    def parse(value: Any) -> Any:
        if value not in choices:
            raise ValueError
        return value

    return parse


def choice(meaning: str, *words: str) -> Parameter:
    """Return a parameter that takes one of some words."""
    shown = [f"'{word}'" for word in words]
    return Parameter(meaning, f"{', '.join(shown[:-1])} or {shown[-1]}", one_of(*words))


def moment_of(value: Any) -> datetime:
    """Return a date from ISO text (also a year, or year and month) or a date; times with a zone become UTC.

    What is no date, or in UTC before the year 1 or after 9999, is a ValueError.
    """
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime.combine(value, time())
    else:
        text = str(value).strip()
        whole = {4: f"{text}-01-01", len("2024-01"): f"{text}-01"}.get(len(text), text)
        moment = datetime.fromisoformat(whole)
    try:
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except OverflowError as error:
        raise ValueError(f"{moment.isoformat()} is beyond the calendar in UTC") from error


def day(value: Any) -> str:
    """Accept a day as ISO text or as a date; a time of the day is left out."""
    return moment_of(value).date().isoformat()


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
    return one_of("linear", "exp2", "binary")(value)


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


_share = partial(Parameter, accepts="a number from 0 to 1", parse=number_within(0, 1))
_above_0 = partial(Parameter, accepts="a number above 0", parse=number_within(0, 1e9, ends=False))
_any_number = partial(Parameter, accepts="a number", parse=number)
_field_name = partial(Parameter, accepts="the name of a field", parse=some_text)

PARAMETERS = {
    "k": Parameter("how many ranks count", f"a whole number from 1 up, at most {DEEPEST_RANK}", rank_number),
    "recall": _share("the recall level"),
    "rel": Parameter("the lowest grade that counts as relevant", "a grade from 0 up", number_within(0, math.inf)),
    "gain": Parameter(
        "what a grade is worth: linear (the grade), exp2 (2^grade - 1), binary (1 from rel up), or a map",
        "'linear', 'exp2', 'binary' or a map such as {1: 3, 2: 9}",
        gain,
    ),
    "beta": Parameter(
        "how much more recall counts than precision (for Q: how much more gain does; "
        "for NRBP, below 1: how likely the reader goes on to the next rank)",
        "a number from 0 up",
        number_within(0, math.inf),
    ),
    "p": Parameter(
        "how likely the reader goes on to the next rank",
        "a number between 0 and 1",
        number_within(0, 1, ends=False),
    ),
    "norm": choice("what average precision is divided by: all relevant docs, or at most k of them", "all", "min"),
    "max_grade": Parameter(
        "the top of the grading scale; by default the highest grade in the qrels, 'query' for the query's own",
        "a number above 0, or 'query'",
        max_grade,
    ),
    "mult": _above_0("how many times the number of relevant docs"),
    "rounding": choice(
        "how a share of the relevant docs becomes a count: up (trec_eval 9) or nearest (trec_eval 10)", "up", "nearest"
    ),
    "T": _above_0("how many relevant docs the reader hopes for"),
    "over": choice(
        "which docs the mean is over: all retrieved (unjudged count 0) or only the judged ones", "retrieved", "judged"
    ),
    "alpha": _share("how much less a further doc on the same subtopic is worth; 0 does not mind repetition"),
    "scale": choice(
        "what the sum over the subtopics is divided by: none, or best (what docs about every subtopic would get)",
        "none",
        "best",
    ),
    "sim": choice(
        "how similar two terms of an ontology are: by information content (lin, resnik, jc, rel), "
        "or by depth as Phentrieve does",
        *SIMILARITIES,
    ),
    "ic": choice(
        "where information content comes from: the graph of the ontology, or what terms were used for", *INFORMATION
    ),
    "distance": choice(
        "how far two vectors are apart: cosine (1 - cosine, 0 to 2) or angular (their angle, 1 being opposite)",
        "cosine",
        "angular",
    ),
    "threshold": Parameter(
        "the cosine from which a doc repeats another one", "a number from -1 to 1", number_within(-1, 1)
    ),
    "rel_weight": _share("how much of a relevant doc's gain does not depend on its novelty; 1 is plain binary nDCG"),
    "weight": _share("how much relevance counts against diversity"),
    "combine": choice(
        "how relevance and diversity become one number: by their harmonic or their arithmetic mean",
        "harmonic",
        "arithmetic",
    ),
    "field": _field_name("which field of the docs is looked at"),
    "date": _field_name("which field of the docs holds the date"),
    "days": _above_0("the age in days below which a doc is young"),
    "reference": Parameter(
        "the day from which the age of docs counts",
        "a day such as '2024-05-31'",
        day,
    ),
    "group": Parameter("the value that the docs of the group have in the field", "a text", text_or_number),
    "missing": choice(
        "what a doc without a value in the field is: ignore (none at all) or own (all such docs share a value)",
        "ignore",
        "own",
    ),
    "found": _any_number("worth of a relevant doc retrieved"),
    "wrong": _any_number("worth of a non-relevant doc retrieved"),
    "missed": _any_number("worth of a relevant doc not retrieved"),
    "judged_only": Parameter(
        "remove docs without a judgment from the ranking first", "True or False", truth, default=False
    ),
    "agg": Parameter(
        "how the scores of all queries become one number",
        "'mean', 'median', 'gmean' (geometric mean), 'worst' (mean of the worst tenth) or 'sum'",
        one_of("mean", "median", "gmean", "worst", "sum"),
    ),
}
