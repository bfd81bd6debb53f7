"""Coverage, variety and fairness: what fields of the docs (topics, source, date, group) say of the results.

A doc without a value, or that the table of docs does not have, is reported by `evaluate`; each measure says what it
does with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np

from rankscope.align.hits import Hits, level_of
from rankscope.arrays import Floats
from rankscope.data.docs import DocTable, values_in, whole_value
from rankscope.errors import InputError, MeasureError, shorten
from rankscope.light import LightRecord
from rankscope.measures.extras import Extras, Need, example_extras
from rankscope.measures.parameters import moment_of
from rankscope.measures.spec import Measure, MeasureExample, MeasureFamily, measure

_NOTHING = "nothing was retrieved"
_NO_ATTENTION = f"{_NOTHING}, or with missing='ignore' none of it has a value"

Docs = Sequence[str]
_measure = partial(measure, family=MeasureFamily.VARIETY, needs=[Need.DOCS], about_relevance=False, monotone=False)


def _example(
    score: float,
    params: dict[str, Any],
    working: str,
    docs: Mapping[str, Mapping[str, Any]],
    *,
    shown: str = "",
    relevant: str = "",
) -> MeasureExample:
    """Return an example from a table of docs, which have names of one letter; unless said, all of them are shown."""
    names = dict.fromkeys(name for values in docs.values() for name in values)
    fields = {name: {doc: values[name] for doc, values in docs.items() if name in values} for name in names}
    ranking = list(shown or docs)
    judged = {**dict.fromkeys(ranking, 0), **dict.fromkeys(relevant, 1)}
    extras = example_extras({"example": judged}, ranking, docs=DocTable(fields, frozenset(docs)))
    grades = [judged[doc] if relevant else None for doc in ranking]
    all_grades = sorted(judged.values(), reverse=True) if relevant else [1]
    return MeasureExample(grades, all_grades, score, params, working, extras)


def per_ranking(extras: Extras, k: int | None, score: Callable[[Docs], float]) -> Floats:
    rankings = extras.top.cut(k)
    return np.fromiter(map(score, rankings), dtype=np.float64, count=len(rankings))


def share(part: float, whole: float) -> float:
    """Divide, giving NaN (undefined) where the whole is 0."""
    return part / whole if whole else math.nan


def values_of(field: Mapping[str, Any], docs: Iterable[str]) -> Iterator[Hashable]:
    """Yield every value that the docs have, as often as they have it."""
    return chain.from_iterable(values_in(field[doc]) for doc in docs if doc in field)


_TOPICS = {"a": {"topics": ["soup", "beans"]}, "b": {"topics": ["soup"]}, "c": {"topics": ["bread", "cake"]}}


@_measure(
    "TopicCoverage",
    "Topic coverage of the collection",
    formula=r"|\text{topics of the top } k| / |\text{topics of the table}|",
    undefined="no doc of the table has a topic",
    aliases=("topic_coverage", "subtopic_coverage"),
    cite="the podcast search parakeet; after Zhai, Cohen & Lafferty, Beyond Independent Relevance, SIGIR 2003",
    example=_example(2 / 4, {"k": 2}, "soup and beans, of soup, beans, bread and cake", _TOPICS, shown="ab"),
)
def topic_coverage(_hits: Hits, extras: Extras, *, k: int | None = None, field: str = "topics") -> Floats:
    """Answers: what share of all topics of the collection do the first k docs touch?

    Collection-wide, so a focused query cannot reach 1; TopicRecall asks for the query's own topics. The field may hold
    one value or a list. A doc without a topic adds none.
    """
    topics = extras.docs.field(field)
    n_topics = len(set(values_of(topics, topics)))
    return per_ranking(extras, k, lambda docs: share(len(set(values_of(topics, docs))), n_topics))


@_measure(
    "TopicRecall",
    "Topic recall of the query",
    about_relevance=True,
    formula=r"|\text{topics of relevant docs that the top } k \text{ have}| / |\text{topics of relevant docs}|",
    undefined="no relevant doc of the query has a topic",
    if_undefined="policy",
    aliases=("topic_recall",),
    cite="Zhai, Cohen & Lafferty, Beyond Independent Relevance, SIGIR 2003 (subtopic recall)",
    example=_example(
        2 / 4,
        {"k": 2},
        "relevant docs a and c have soup, beans, bread, cake; a and b show soup, beans",
        _TOPICS,
        shown="ab",
        relevant="ac",
    ),
)
def topic_recall(
    hits: Hits, extras: Extras, *, k: int | None = None, field: str = "topics", rel: float | None = None
) -> Floats:
    """Answers: what share of the topics of the query's relevant docs do the first k docs touch?

    Topics come from a field of the docs; where judgments name subtopics, StRecall goes by those. A doc without a topic
    adds none, on either side.
    """
    topics, level = extras.docs.field(field), level_of(rel)
    scores = []
    for query, docs in zip(hits.query_ids, extras.top.cut(k), strict=True):
        judged = extras.qrels.judged[query]
        wanted = set(values_of(topics, (doc for doc, grade in judged.items() if grade >= level)))
        scores.append(share(len(wanted.intersection(values_of(topics, docs))), len(wanted)))
    return np.array(scores, dtype=np.float64)


def n_distinct(field: Mapping[str, Any], docs: Docs, missing: str) -> int:
    """Count the values that the docs have; those without any may share one."""
    values = {whole_value(field[doc]) for doc in docs if doc in field}
    return len(values) + (missing == "own" and any(doc not in field for doc in docs))


@_measure(
    "Distinct",
    "Distinct values",
    formula=r"|\{f(d_r) : r \le k\}| / n",
    undefined=_NOTHING,
    cite="the podcast search parakeet (podcast coverage); Clarke et al., SIGIR 2008",
    aliases={
        "source_coverage": {},
        "podcast_coverage": {"field": "podcast_id"},
    },
    example=_example(
        2 / 4,
        {"k": 4, "field": "source"},
        "sources x, x, y and one missing: x and y, of 4 docs",
        {"a": {"source": "x"}, "b": {"source": "x"}, "c": {"source": "y"}, "d": {}},
    ),
)
def distinct_values(
    _hits: Hits, extras: Extras, *, k: int | None = None, field: str = "source", missing: str = "ignore"
) -> Floats:
    """Answers: how many different values (sources, authors, categories …) do the first k docs have, per doc?

    The divisor is the number of docs shown, k at most, those without a value included. With `missing='ignore'` such a
    doc adds no value; with `missing='own'` all of them together add one. A list is one value as a whole, whatever its
    order. A doc that is listed twice counts once here; Uniqueness counts those.
    """
    values = extras.docs.field(field)
    return per_ranking(extras, k, lambda docs: share(n_distinct(values, docs, missing), len(docs)))


@_measure(
    "Uniqueness",
    "Docs that are not listed a second time",
    needs=[Need.LISTS],
    formula=r"|\{d_r : r \le k\}| / n",
    undefined=_NOTHING,
    cite="the podcast search parakeet (result uniqueness)",
    aliases=("ResultUniqueness", "result_uniqueness"),
    example=MeasureExample(
        [None, None, None, None, None],
        [1],
        4 / 5,
        {"k": 5},
        "a, b, a, c, d: four different docs in five rows",
        example_extras({"example": {"x": 1}}, "abacd"),
    ),
)
def uniqueness(_hits: Hits, extras: Extras, *, k: int | None = None) -> Floats:
    """Answers: how many of the first k rows of the list, as the system gave it, are different docs?

    0.8 where every fifth row repeats a doc. Such a list is refused (duplicates='error', the default) or its later rows
    are dropped (duplicates='first') for all other measures; this one counts the rows before they are dropped.
    """
    return np.array([share(len(set(docs)), len(docs)) for docs in extras.listed.cut(k)], dtype=np.float64)


def as_date(value: Any, doc: str) -> datetime:
    try:
        return moment_of(value)
    except ValueError as error:
        beyond = " of the years 1 to 9999 in UTC" if isinstance(error.__cause__, OverflowError) else ""
        raise InputError(
            f"{shorten(str(value).strip())!r}, the date of doc {shorten(doc)!r}, is not an ISO date{beyond}",
            hint="write dates as 2024-05-31",
        ) from None


def dates_of(field: Mapping[str, Any], docs: Iterable[str]) -> list[datetime]:
    """Return the dates of the docs that have one, oldest first."""
    return sorted(as_date(field[doc], doc) for doc in docs if doc in field)


def per_dates(extras: Extras, k: int | None, field: str, score: Callable[[Sequence[datetime]], float]) -> Floats:
    dates = extras.docs.field(field)
    return per_ranking(extras, k, lambda docs: score(dates_of(dates, docs)))


class TemporalStatistics(LightRecord):
    """How dates are spread."""

    n_dates: int
    unique_dates: int
    min_date: str | None
    """ISO text; None where there is no date."""
    max_date: str | None
    span_days: float
    """From the oldest to the newest; NaN where there is no date."""
    uniformity: float
    """The share of neighbouring dates that differ, as DateDistinct; NaN for fewer than two."""
    gap_entropy: float
    """How even the gaps are, as GapEntropy; NaN for fewer than three."""


def temporal_statistics(dates: Iterable[Any]) -> TemporalStatistics:
    """Return how dates, as ISO texts or dates, are spread; None and empty texts are left out."""
    moments = sorted(as_date(value, "?") for value in dates if value not in (None, ""))
    shown = [(m.date() if m.time() == time() else m).isoformat() for m in moments]
    return TemporalStatistics(
        n_dates=len(moments),
        unique_dates=len(set(moments)),
        min_date=shown[0] if shown else None,
        max_date=shown[-1] if shown else None,
        span_days=span_days(moments),
        uniformity=changes_share(moments),
        gap_entropy=gap_entropy_of(moments),
    )


def changes_share(moments: Sequence[datetime]) -> float:
    return share(len(set(moments)) - 1, len(moments) - 1) if moments else math.nan


def span_days(moments: Sequence[datetime]) -> float:
    return (moments[-1] - moments[0]).total_seconds() / 86_400 if moments else math.nan


def evenness(amounts: Iterable[float], n: int) -> float:
    """Return the entropy of amounts as a share of the most that n outcomes can have; NaN where there is no choice."""
    positive = [amount for amount in amounts if amount > 0]
    total = sum(positive)
    entropy = -sum(amount / total * math.log(amount / total) for amount in positive)
    return min(1.0, max(0.0, entropy / math.log(n))) if n > 1 else math.nan


def gap_entropy_of(moments: Sequence[datetime]) -> float:
    """Return how evenly the gaps between dates share the time from the oldest to the newest."""
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]
    return evenness(gaps, len(gaps))


_DATES = {"a": {"date": "2024-01-01"}, "b": {"date": "2024-01-04"}, "c": {"date": "2024-01-01"}, "d": {}}


@_measure(
    "DateDistinct",
    "Temporal coverage",
    formula=r"(u - 1) / (n - 1)",
    undefined="fewer than two of the first k docs have a date",
    cite="the podcast search parakeet (temporal coverage)",
    aliases=("temporal_coverage", "temporal_uniformity", "DateDistinctAdjacent"),
    example=_example(1 / 2, {"k": 4}, "three docs have a date, two dates differ: (2 - 1)/(3 - 1)", _DATES),
)
def date_distinct(_hits: Hits, extras: Extras, *, k: int | None = None, field: str = "date") -> Floats:
    """Answers: of the first k docs put in the order of their dates, what share of neighbours differ in date?

    It equals (different dates - 1) / (dated docs - 1), and says nothing of how far apart they are: see DateSpan and
    GapEntropy. Docs without a date are left out.
    """
    return per_dates(extras, k, field, changes_share)


@_measure(
    "DateSpan",
    "Date span in days",
    formula=r"\max_{r \le k} t_r - \min_{r \le k} t_r",
    range=(0, math.inf),
    undefined="none of the first k docs has a date",
    cite="Campos, Dias, Jorge & Jatowt, Survey of Temporal Information Retrieval, CSUR 2014",
    aliases=("date_span",),
    example=_example(3, {"k": 4}, "from 1 to 4 January", _DATES),
)
def date_span(_hits: Hits, extras: Extras, *, k: int | None = None, field: str = "date") -> Floats:
    """Answers: how many days lie between the oldest and the newest of the first k docs?

    Docs without a date are left out; a single date spans 0 days.
    """
    return per_dates(extras, k, field, span_days)


@_measure(
    "GapEntropy",
    "Evenness of dates",
    formula=r"-\frac{1}{\ln(n-1)} \sum_i g_i \ln g_i, \quad g_i = (t_{i+1} - t_i) / (t_n - t_1)",
    undefined="fewer than three of the first k docs have a date",
    cite="Shannon, A Mathematical Theory of Communication, 1948 (entropy of the gaps, divided by the most it can be)",
    aliases=("gap_entropy",),
    example=_example(
        -(0.25 * math.log(0.25) + 0.75 * math.log(0.75)) / math.log(2),
        {"k": 3},
        "gaps of 1 and 3 days of 4: -(0.25 ln 0.25 + 0.75 ln 0.75)/ln 2 = 0.8113",
        {"a": {"date": "2024-01-05"}, "b": {"date": "2024-01-01"}, "c": {"date": "2024-01-02"}},
    ),
)
def gap_entropy(_hits: Hits, extras: Extras, *, k: int | None = None, field: str = "date") -> Floats:
    """Answers: how evenly are the first k docs spread between the oldest and the newest of them?

    1 where all gaps between neighbouring dates are equal, 0 where all but one gap are none (or all dates are one).
    Docs without a date are left out.
    """
    return per_dates(extras, k, field, gap_entropy_of)


def reference_day(field: Mapping[str, Any], reference: str | None) -> date:
    """Return the day from which ages are counted: the one given, else the newest that a doc of the table has."""
    if reference is not None:
        return moment_of(reference).date()
    return max((as_date(value, doc).date() for doc, value in field.items()), default=date.max)


def per_ages(
    extras: Extras, k: int | None, field: str, reference: str | None, score: Callable[[Sequence[int]], float]
) -> Floats:
    """Score the ages in days of the first k docs that have a date; none may be of a later day than the reference."""
    dates = extras.docs.field(field)
    today = reference_day(dates, reference)

    def age(doc: str) -> int:
        day = as_date(dates[doc], doc).date()
        if day > today:
            raise InputError(
                f"doc {doc!r} is of {day}, which is after the reference {today}: it has no age",
                hint="give a later reference='…', or none: then ages count from the newest date of the docs",
            )
        return (today - day).days

    return per_ranking(extras, k, lambda docs: score([age(doc) for doc in docs if doc in dates]))


_AGES = {"a": {"date": "2024-01-31"}, "b": {"date": "2024-01-21"}, "c": {"date": "2023-12-02"}, "d": {}}


@_measure(
    "DocAge",
    "Mean age in days",
    better="lower",
    formula=r"\frac{1}{n} \sum_{r \le k} (t_\text{reference} - t_r)",
    range=(0, math.inf),
    undefined="none of the first k docs has a date",
    cite="Campos, Dias, Jorge & Jatowt, Survey of Temporal Information Retrieval, CSUR 2014",
    aliases=("doc_age", "MeanAge", "mean_age"),
    example=_example(
        (0 + 10 + 60) / 3, {"k": 4}, "of 31 January, the newest, 21 January and 2 December: 0, 10, 60 days", _AGES
    ),
)
def doc_age(
    _hits: Hits, extras: Extras, *, k: int | None = None, field: str = "date", reference: str | None = None
) -> Floats:
    """Answers: how many days old are the first k docs on average?

    Ages are whole days of the calendar, counted from `reference`, a day such as '2024-05-31'. Without it they count
    from the newest day that any doc of the table has, so that the score is the same tomorrow; which day that is, is
    said. A doc of a later day than the reference is an error. Docs without a date are left out.
    """
    return per_ages(extras, k, field, reference, lambda ages: share(sum(ages), len(ages)))


@_measure(
    "Freshness",
    "Share of young docs",
    formula=r"|\{r \le k : t_\text{reference} - t_r < \text{days}\}| / n",
    undefined="none of the first k docs has a date",
    cite="Campos, Dias, Jorge & Jatowt, Survey of Temporal Information Retrieval, CSUR 2014",
    aliases=("recency",),
    example=_example(
        2 / 3, {"k": 4}, "0, 10 and 60 days old, counted from the newest: two are younger than 30 days", _AGES
    ),
)
def freshness(
    _hits: Hits,
    extras: Extras,
    *,
    k: int | None = None,
    field: str = "date",
    days: float = 30,
    reference: str | None = None,
) -> Floats:
    """Answers: what share of the first k docs is younger than so many days?

    Ages are counted as for DocAge: in whole days from `reference`, or from the newest day of the table. A doc that is
    exactly `days` old is not younger. Docs without a date are left out.
    """
    return per_ages(extras, k, field, reference, lambda ages: share(sum(age < days for age in ages), len(ages)))


def reference_notes(measures: Iterable[Measure], extras: Extras) -> Iterator[str]:
    """Say from which day ages count where nobody has named one."""
    named: dict[str, list[str]] = {}
    for one in measures:
        given = one.arguments(rel=1.0)
        if "reference" in given and given["reference"] is None and extras.docs.field(given["field"]):
            named.setdefault(given["field"], []).append(one.name)
    for field, names in named.items():
        day = reference_day(extras.docs.field(field), None)
        yield f"{', '.join(names)}: ages count from {day}, the newest {field} of the docs; reference='…' takes another"


@_measure(
    "ContentDiversity",
    "Diversity of sources and dates",
    formula=r"(|\text{sources}| + |\text{dates}|) / (2n)",
    undefined="fewer than two docs were retrieved",
    cite="the podcast search parakeet (content diversity)",
    aliases=("content_diversity",),
    example=_example(
        (3 / 4 + 2 / 4) / 2,
        {"k": 4},
        "sources x, x, y and none make 3 of 4, two dates make 2 of 4",
        {
            "a": {"source": "x", "date": "2024-01-01"},
            "b": {"source": "x", "date": "2024-01-01"},
            "c": {"source": "y", "date": "2024-01-04"},
            "d": {},
        },
    ),
)
def content_diversity(
    _hits: Hits, extras: Extras, *, k: int | None = None, field: str = "source", date: str = "date"
) -> Floats:
    """Answers: do the first k docs come from many sources and many dates?

    The mean of distinct sources per doc and distinct dates per doc. Docs without a source together count as one more
    source, docs without a date add none, and the divisor is all docs shown: that is how parakeet computes it. Distinct
    and DateDistinct say the two apart.
    """
    sources, dates = extras.docs.field(field), extras.docs.field(date)

    def score(docs: Docs) -> float:
        if len(docs) <= 1:
            return math.nan
        return (n_distinct(sources, docs, "own") + len(set(dates_of(dates, docs)))) / (2 * len(docs))

    return per_ranking(extras, k, score)


@_measure(
    "CategoryEntropy",
    "Evenness of categories",
    formula=r"-\frac{1}{\ln \min(n, C)} \sum_c p_c \ln p_c",
    undefined="the first k docs have fewer than two values, or the table has a single one",
    cite="Shannon, A Mathematical Theory of Communication, 1948",
    aliases=("category_entropy",),
    example=_example(
        -(1 / 3 * math.log(1 / 3) + 2 / 3 * math.log(2 / 3)) / math.log(2),
        {"k": 3},
        "x, x, y: -(2/3 ln 2/3 + 1/3 ln 1/3), divided by ln 2 for the two categories there are = 0.9183",
        {"a": {"category": "x"}, "b": {"category": "x"}, "c": {"category": "y"}},
    ),
)
def category_entropy(_hits: Hits, extras: Extras, *, k: int | None = None, field: str = "category") -> Floats:
    """Answers: how evenly do the first k docs share the categories?

    Shannon's entropy of the values among the results, divided by the most it could be: with n values shown and C
    different ones in the table, ln min(n, C). Every value of a list counts. Docs without a value are left out.
    """
    categories = extras.docs.field(field)
    n_categories = len(set(values_of(categories, categories)))

    def score(docs: Docs) -> float:
        counts = Counter(values_of(categories, docs))
        return evenness(counts.values(), min(counts.total(), n_categories))

    return per_ranking(extras, k, score)


def times_shown(extras: Extras, k: int | None) -> Counter[str]:
    """Count in how many queries' first k docs each doc of the table is."""
    shown = chain.from_iterable(set(docs) for docs in extras.top.cut(k))
    return Counter(doc for doc in shown if doc in extras.docs.doc_ids)


_SHOP: dict[str, dict[str, Any]] = {"a": {}, "b": {}, "c": {}, "d": {}}


@_measure(
    "CatalogCoverage",
    "Catalogue coverage over all queries",
    over_all_queries=True,
    formula=r"|\text{docs in the top } k \text{ of any query}| / |\text{docs of the table}|",
    undefined="the table has no docs",
    cite="Ge, Delgado-Battenfeld & Jannach, Beyond Accuracy: Coverage and Serendipity, RecSys 2010",
    aliases=("catalog_coverage", "catalogue_coverage"),
    example=_example(2 / 4, {"k": 2}, "two of the four docs of the table", _SHOP, shown="ab"),
)
def catalog_coverage(hits: Hits, extras: Extras, *, k: int | None = None) -> Floats:
    """Answers: what share of all docs is shown to anybody, over all queries together?

    One number for the whole run, repeated for every query, so that its mean is that number; intervals and tests over
    queries mean nothing here. Docs that the table does not have are not counted (but reported).
    """
    return np.full(len(hits), share(len(times_shown(extras, k)), len(extras.docs.doc_ids)))


@_measure(
    "Gini",
    "Concentration of attention over all queries",
    over_all_queries=True,
    better="lower",
    formula=r"\frac{2 \sum_i i\, c_i}{N \sum_i c_i} - \frac{N + 1}{N} \quad (c_1 \le c_2 \le …)",
    undefined="no doc of the table is shown",
    cite="Fleder & Hosanagar, Blockbuster Culture's Next Rise or Fall, Management Science 2009",
    aliases=("gini_index",),
    example=_example(1 / 2, {"k": 2}, "shown 0, 0, 1 and 1 times: 2·(3·1 + 4·1)/(4·2) - 5/4", _SHOP, shown="ab"),
)
def gini(hits: Hits, extras: Extras, *, k: int | None = None) -> Floats:
    """Answers: how unequally is being shown shared among all docs, over all queries together?

    0 where every doc of the table is shown equally often, close to 1 where one doc is shown always. One number for the
    whole run, repeated for every query; intervals and tests over queries mean nothing here. Docs that the table does
    not have are not counted (but reported).
    """
    n, counts = len(extras.docs.doc_ids), sorted(times_shown(extras, k).values())
    places = range(n - len(counts) + 1, n + 1)  # docs that are never shown come first
    weighted = sum(place * count for place, count in zip(places, counts, strict=True))
    return np.full(len(hits), share(2 * weighted - (n + 1) * sum(counts), n * sum(counts)))


def attention_share(
    name: str,
    extras: Extras,
    k: int | None,
    weights: Callable[[int], float],
    *,
    field: str,
    group: str | None,
    missing: str,
) -> Floats:
    """Return the share of attention, given by rank, that goes to the docs of a group."""
    if group is None:
        raise MeasureError(f"{name} needs a group", hint=f"write {name}(field='{field}', group='…')@10")
    members = extras.docs.field(field)

    def score(docs: Docs) -> float:
        seen = [(doc, weights(rank)) for rank, doc in enumerate(docs, 1) if missing == "own" or doc in members]
        mine = sum(weight for doc, weight in seen if doc in members and group in map(str, values_in(members[doc])))
        return share(mine, sum(weight for _, weight in seen))

    return per_ranking(extras, k, score)


_GROUPS = {"a": {"group": "new"}, "b": {"group": "old"}, "c": {"group": "new"}}


@_measure(
    "Exposure",
    "Exposure of a group",
    family=MeasureFamily.FAIRNESS,
    formula=r"\frac{\sum_{r \le k, d_r \in G} 1 / \log_2(r+1)}{\sum_{r \le k} 1 / \log_2(r+1)}",
    undefined=_NO_ATTENTION,
    cite="Singh & Joachims, Fairness of Exposure in Rankings, KDD 2018",
    aliases=("group_exposure",),
    example=_example(
        1.5 / (1.5 + 1 / math.log2(3)),
        {"k": 3, "group": "new"},
        "ranks 1 and 3: (1 + 0.5) / (1 + 0.6309 + 0.5) = 0.7039",
        _GROUPS,
    ),
)
def exposure(
    _hits: Hits,
    extras: Extras,
    *,
    k: int | None = None,
    field: str = "group",
    group: str | None = None,
    missing: str = "own",
) -> Floats:
    """Answers: what share of the reader's attention, which falls as 1/log2(rank + 1), goes to the docs of a group?

    Name the group: Exposure(field='publisher', group='small')@10. Neither high nor low is good in itself: compare with
    the group's share of the relevant docs. A doc whose field is a list belongs to every group in it. Docs without a
    value take attention as a group of their own; `missing='ignore'` leaves them out of the total.
    """
    return attention_share(
        "Exposure", extras, k, lambda rank: 1 / math.log2(rank + 1), field=field, group=group, missing=missing
    )


@_measure(
    "GroupShare",
    "Rank-biased share of a group",
    family=MeasureFamily.FAIRNESS,
    formula=r"\frac{\sum_{r \le k, d_r \in G} p^{r-1}}{\sum_{r \le k} p^{r-1}}",
    undefined=_NO_ATTENTION,
    cite=(
        "Sapiezynski, Zeng, Robertson, Mislove & Wilson, Quantifying the Impact of User Attention on Fair "
        "Group Representation, WWW 2019"
    ),
    aliases=("group_share",),
    example=_example(
        (1 + 0.25) / (1 + 0.5 + 0.25),
        {"k": 3, "group": "new", "p": 0.5},
        "ranks 1 and 3: (1 + 0.25) / (1 + 0.5 + 0.25)",
        _GROUPS,
    ),
)
def group_share(
    _hits: Hits,
    extras: Extras,
    *,
    k: int | None = None,
    field: str = "group",
    group: str | None = None,
    p: float = 0.8,
    missing: str = "own",
) -> Floats:
    """Answers: a reader goes on to the next rank with chance p; what share of the docs seen is of a group?

    As Exposure, with the attention of rank-biased precision: p to the power of rank - 1.
    """
    return attention_share(
        "GroupShare", extras, k, lambda rank: p ** (rank - 1), field=field, group=group, missing=missing
    )
