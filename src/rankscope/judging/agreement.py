"""Do raters agree, who differs from the rest, and does the verdict hold under each rater's grades?

Agreement is Krippendorff's alpha for ordered grades, with an interval from drawing whole queries again. It decides
nothing: alpha of relevance is often low where verdicts agree. So the systems of the task are compared again by the
grades of each rater alone, and by the highest and the lowest grade of each doc. Where the interval of a rater lies on
the other side of 0, the verdict is lowered.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from rankscope._version import __version__
from rankscope.arrays import Floats
from rankscope.comparison.verdict import MIN_UNITS
from rankscope.data.judgments import SingleJudgment
from rankscope.data.tasks import names_of_raters
from rankscope.errors import InputError
from rankscope.io.ids import byte_order
from rankscope.judging.guidelines import parse_guideline
from rankscope.judging.labels import RELEVANT, TaskGrades, grades_of_task, knows_relevance_only, labels_of
from rankscope.judging.rater_verdicts import (
    RaterVerdicts,
    TaskVerdicts,
    shared_headline,
    side_of,
    task_queries,
    verdicts_of,
)
from rankscope.judging.records import GradeLabel, LabelRule, Preference, Task, TaskMode, TaskRater, again_name
from rankscope.printable import counted, listed
from rankscope.records import Record, StoredRecord, or_none, replace
from rankscope.stats.agreement import (
    alpha_interval,
    confusion_matrix,
    gwet_agreement,
    krippendorff_alpha,
    weighted_kappa,
)
from rankscope.stats.interval import Interval, mean_interval
from rankscope.store import Store
from rankscope.store.labels import QueryDoc, lower_median

RELIABLE, TENTATIVE = 0.80, 0.667
"""From which alpha on agreement is called so; below the second, raters do not agree."""
APART = 2
"""Grades that are so many steps of the scale apart are counted as such."""
SHOWN_HARD = 50
SHOWN_QUERIES = 10
SHOWN_PAIRS = 2
"""Of more pairs of systems, the headline only says for which the verdict depends on the rater."""
ENOUGH_DOCS = 10
"""With fewer docs in common nothing is remarked on a rater."""
ENOUGH_CHECKS = 5
"""With fewer docs shown twice, or gold docs, nothing is remarked on a rater."""
IN_A_SENTENCE = {
    "kind": "grades higher than the others",
    "strict": "grades lower than the others",
    "very fast": "judges very fast",
    "fast": "judges fast",
}
"""What remarks on a rater say after the name; the others are sentences already."""
WELL_CHECKED = 0.8
"""Of these, the share that is expected to be alike."""
KIND_STEPS = 0.25
"""Grades that are higher or lower than the others' by less, in steps of the scale, are not remarked on."""
FAST = 0.5
"""Who takes less than this share of the time of the others is called fast."""
FAST_S = 3.0
"""Who takes less for a doc can hardly have read it."""


class CountOf(Record):
    """How many of how many."""

    n: int
    of: int

    @property
    def value(self) -> float | None:
        return self.n / self.of if self.of else None


class AlphaResult(Record, kw_only=True):
    """Krippendorff's alpha for ordered grades."""

    value: float | None
    """None where it is undefined; `words` says why."""
    interval: Interval | None
    """From drawing whole queries again; None where there are too few."""
    n_docs: int
    """Docs that two raters graded, or more."""
    n_queries: int
    words: str
    """For example `tentative`."""


class RaterPair(Record, kw_only=True):
    """Two raters, doc by doc."""

    first: str
    second: str
    n_docs: int
    """That both graded."""
    same: CountOf
    quadratic_kappa: float | None
    linear_kappa: float | None
    plain_kappa: float | None
    confusion: tuple[tuple[int, ...], ...]
    """Rows: the first rater's grades, columns: the second's, both over the whole scale."""


class RaterSummary(Record, kw_only=True):
    """One rater beside the rest."""

    id: str
    name: str
    n_docs: int
    n_queries: int
    n_flags: int
    n_cannot_tell: int
    median_seconds: float | None
    n_common: int
    """Docs that others graded, too."""
    alpha_with_rest: float | None
    """Alpha of the rater's grades and the lower medians of the others'."""
    kinder_by: float | None
    """The mean difference of the grades from the means of the others'."""
    kinder_interval: Interval | None
    own: CountOf
    """Docs shown a second time that got the same grade."""
    gold: CountOf
    """Gold docs that got the grade that is known."""
    remarks: tuple[str, ...] = ()
    """Empty where the rater is like the rest, or too little is known."""


class HardDoc(Record, kw_only=True):
    """A doc to which raters gave different grades."""

    query: str
    query_text: str
    doc: str
    title: str
    grades: dict[str, float]
    """By the names of raters."""
    steps: int
    """How many steps of the scale lie between the lowest and the highest."""
    notes: tuple[str, ...] = ()


class HardQuery(Record, kw_only=True):
    """A query whose docs raters grade differently."""

    query: str
    query_text: str
    n_docs: int
    """That two raters graded, or more."""
    n_differ: int
    mean_steps: float
    """The mean of the steps between the lowest and the highest grade of each doc."""


class GradeShare(Record, kw_only=True):
    """How often a grade of the scale was given."""

    grade: float
    label: str
    share: CountOf


class RaterErrors(Record, kw_only=True):
    """How a rater errs by the model of Dawid and Skene."""

    name: str
    grades: tuple[float, ...]
    """Of rows and columns."""
    matrix: tuple[tuple[float | None, ...], ...]
    """Rows: the grade that is probably right, columns: the one given."""


class PreferencePair(Record, kw_only=True):
    """Two raters, comparison by comparison of two lists."""

    first: str
    second: str
    same: CountOf
    """Of the comparisons that both made, those with the same answer."""


class PreferenceAgreement(Record, kw_only=True):
    """How often raters of lists give the same answer: the same list is better, slightly or clearly, or neither is.

    It is raw agreement: what chance alone would give is not taken off. Who cannot tell gives no answer.
    """

    n: int
    """All preferences, with those of who cannot tell."""
    n_raters: int
    n_queries: int
    twice: CountOf
    """Comparisons of two lists of a query that two raters made or more, of all with an answer."""
    same: CountOf
    """Of these, those with the same answer from all."""
    pairs: tuple[PreferencePair, ...]


class AgreementReport(StoredRecord, kw_only=True):
    """All that is known of how the raters of a task agree."""

    rankscope: str
    task: int
    task_name: str
    collection: str
    scale: tuple[GradeLabel, ...]
    rule: LabelRule
    n_grades: int
    n_raters: int
    """Who gave a grade."""
    n_docs: int
    """Docs with a grade, of a query."""
    n_queries: int
    n_guidelines: int
    """How many versions of the guideline judgments of the task followed, with the one that holds now."""
    n_followed: int
    """How many of these judgments that hold do follow."""
    twice: CountOf
    """Docs that two raters graded or more, of all with a grade."""
    same: CountOf
    """Of these, those with the same grade from all."""
    apart: CountOf
    """Of these, those with grades two steps of the scale apart or more."""
    alpha: AlphaResult
    nominal_alpha: float | None
    """Alpha that knows only same and different."""
    ac2: float | None
    """Gwet's AC2, quadratic: high wherever one grade is given to almost everything. It decides nothing."""
    given: tuple[GradeShare, ...]
    pairs: tuple[RaterPair, ...]
    raters: tuple[RaterSummary, ...]
    hardest: tuple[HardDoc, ...]
    """The first of the docs on which raters differ: those furthest apart first, of these those with the most raters."""
    hardest_queries: tuple[HardQuery, ...]
    """The first of those on which raters differ, the furthest apart first."""
    n_differ_queries: int = 0
    """On how many queries two raters gave a doc different grades."""
    errors: tuple[RaterErrors, ...] = ()
    """Where the rule is dawid-skene."""
    verdicts: TaskVerdicts
    """The systems of the task under each rater."""
    mode: TaskMode = "docs"
    """In `lists` nothing is graded."""
    preferences: PreferenceAgreement | None = None
    """In `lists`, how often raters find the same list better."""

    @property
    def headline(self) -> str:
        """The answer: whether the verdict depends on the rater, and whether raters agree."""
        return f"{pairs_sentence(self.verdicts.pairs)} {agreement_sentence(self)}".strip()

    @property
    def details(self) -> tuple[str, ...]:
        """What else to know, a sentence each."""
        return tuple(detail_sentences(self))


def agreement_of(
    store: Store, task: Task, *, scale: Sequence[GradeLabel] | None = None, seed: int = 0
) -> AgreementReport:
    """Return how the raters of a task agree, and what each rater's grades make of the verdict.

    Parameters
    ----------
    store, task
        Where the grades are.
    scale
        The grades with their words; by default those of the task's guideline.
    seed
        Of the resampling for intervals.
    """
    graded = grades_of_task(store, task)
    held = [each.judgment for each in store.judgments.current(task.collection, task=str(task.number))]
    preferred = [each.preference for each in store.preferences.current(task=str(task.number))]
    # what came from a file may follow no text that is known
    followed = {*(each.guideline for each in held), *(each.guideline for each in preferred)} - {None}
    if scale is None:
        scale = parse_guideline(store.judgments.guidelines()[task.guideline]).scale
    names = graded.names()
    table = GradeTable.of(graded, scale=[each.grade for each in scale])
    steps = table.steps_between()
    texts = {query: each.text or "" for query, each in task_queries(store, task).items()}
    words = {each.grade: each for each in scale}
    counts = {grade: int(np.count_nonzero(table.ratings == grade)) for grade in table.scale.tolist()}
    n_grades = sum(counts.values())
    hard = hard_queries(table, texts)
    return AgreementReport(
        rankscope=__version__,
        task=task.number,
        task_name=task.name,
        collection=task.collection,
        scale=tuple(words.get(grade, GradeLabel(grade, "")) for grade in table.scale.tolist()),
        rule=task.plan.rule,
        n_grades=n_grades,
        n_raters=len(table.raters),
        n_docs=len(table.docs),
        n_queries=len(graded.queries),
        n_guidelines=len(followed | {task.guideline}),
        n_followed=len(followed),
        twice=CountOf(int(table.twice.sum()), len(table.docs)),
        same=CountOf(int((steps[table.twice] == 0).sum()), int(table.twice.sum())),
        apart=CountOf(int((steps[table.twice] >= APART).sum()), int(table.twice.sum())),
        alpha=alpha_of(table, seed),
        nominal_alpha=or_none(krippendorff_alpha(table.ratings, metric="nominal")),
        ac2=or_none(gwet_agreement(table.ratings, table.scale, weights="quadratic")),
        given=tuple(
            GradeShare(grade=grade, label=words[grade].label if grade in words else "", share=CountOf(n, n_grades))
            for grade, n in counts.items()
        ),
        pairs=tuple(rater_pairs(table, names)),
        raters=tuple(rater_summaries(store, graded, table, names, held=held, seed=seed)),
        hardest=tuple(hard_docs(store, graded, table, names, texts)),
        hardest_queries=tuple(hard[:SHOWN_QUERIES]),
        n_differ_queries=len(hard),
        errors=rater_errors(graded, names),
        verdicts=verdicts_of(store, graded, names),
        mode=task.plan.mode,
        preferences=preference_agreement(preferred, graded.raters) if task.plan.mode == "lists" else None,
    )


def preference_agreement(preferred: Sequence[Preference], raters: Sequence[TaskRater]) -> PreferenceAgreement:
    """Return how often raters gave the same answer on the same two lists of a query."""
    answers: dict[tuple[str, ...], dict[str, str]] = {}
    for each in preferred:
        if each.value is not None:
            better = each.left if each.value < 0 else each.right if each.value else ""
            lists = (each.query, *sorted((each.left, each.right)))
            answers.setdefault(lists, {})[each.rater] = better
    names = names_of_raters(raters)
    invited = {rater.id: place for place, rater in enumerate(raters)}
    given = {rater for of in answers.values() for rater in of}
    in_order = sorted(given, key=lambda rater: (invited.get(rater, len(invited)), rater))
    twice = [of for of in answers.values() if len(of) > 1]
    pairs = []
    for first, second in combinations(in_order, 2):
        both = [of for of in twice if first in of and second in of]
        same = CountOf(sum(of[first] == of[second] for of in both), len(both))
        pairs.append(PreferencePair(first=names.get(first, first), second=names.get(second, second), same=same))
    return PreferenceAgreement(
        n=len(preferred),
        n_raters=len({each.rater for each in preferred}),
        n_queries=len({each.query for each in preferred}),
        twice=CountOf(len(twice), len(answers)),
        same=CountOf(sum(len(set(of.values())) == 1 for of in twice), len(twice)),
        pairs=tuple(pairs),
    )


class GradeTable(Record, eq=False):
    """The grades of a task as a matrix."""

    docs: tuple[QueryDoc, ...]
    raters: tuple[str, ...]
    """Keys, in the order in which they were invited."""
    ratings: Floats
    """Docs x raters; NaN where there is no grade."""
    scale: Floats

    @classmethod
    def of(cls, graded: TaskGrades, *, scale: Sequence[float] = ()) -> GradeTable:
        given = {rater for grades in graded.grades.values() for rater in grades}
        invited = [rater.key for rater in graded.raters if rater.key in given]
        raters = (*invited, *sorted(given.difference(invited), key=byte_order))
        place = {rater: i for i, rater in enumerate(raters)}
        ratings = np.full((len(graded.grades), len(raters)), np.nan)
        for i, grades in enumerate(graded.grades.values()):
            for rater, grade in grades.items():
                ratings[i, place[rater]] = grade
        return cls(tuple(graded.grades), raters, ratings, np.array(sorted({*scale, *graded.scale}), dtype=np.float64))

    @property
    def twice(self) -> np.ndarray:
        """Which docs have two grades or more."""
        return np.asarray(np.count_nonzero(~np.isnan(self.ratings), axis=1) >= 2)

    @property
    def queries(self) -> np.ndarray:
        """The number of the query of each doc."""
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(query, len(numbers)) for query, _ in self.docs], dtype=np.int64)

    def steps_between(self) -> np.ndarray:
        """Return how many steps of the scale lie between the lowest and the highest grade of each doc."""
        if not self.ratings.size:
            return np.zeros(len(self.docs), dtype=np.int64)
        low, high = np.nanmin(self.ratings, axis=1), np.nanmax(self.ratings, axis=1)
        return np.asarray(np.searchsorted(self.scale, high) - np.searchsorted(self.scale, low))


def alpha_of(table: GradeTable, seed: int) -> AlphaResult:
    value = or_none(krippendorff_alpha(table.ratings))
    n_docs = int(table.twice.sum())
    return AlphaResult(
        value=value,
        interval=None if value is None else alpha_interval(table.ratings, table.queries, seed=seed),
        n_docs=n_docs,
        n_queries=len(np.unique(table.queries[table.twice])),
        words=alpha_words(value) if value is not None else why_no_alpha(table, n_docs),
    )


def alpha_words(value: float) -> str:
    return "reliable" if value >= RELIABLE else "tentative" if value >= TENTATIVE else "raters do not agree"


def why_no_alpha(table: GradeTable, n_docs: int) -> str:
    if not len(table.docs):
        return "nothing is graded yet"
    if len(table.raters) == 1:
        return "only one rater has graded"
    if not n_docs:
        return "no doc was graded by two raters"
    return "all docs that were graded twice have the same grade, so nothing is known of how raters tell grades apart"


def alpha_number(value: float) -> str:
    """Return alpha as it is shown: with two decimals, or as many as it takes to lie on its side of a limit."""
    digits = 2
    while alpha_words(round(value, digits)) != alpha_words(value) and digits < 9:
        digits += 1
    return f"{value:.{digits}f}"


def rater_pairs(table: GradeTable, names: Mapping[str, str]) -> Iterator[RaterPair]:
    for i, j in combinations(range(len(table.raters)), 2):
        counts = confusion_matrix(table.ratings[:, i], table.ratings[:, j], table.scale)
        n = int(counts.sum())
        yield RaterPair(
            first=names[table.raters[i]],
            second=names[table.raters[j]],
            n_docs=n,
            same=CountOf(int(np.trace(counts)), n),
            quadratic_kappa=or_none(weighted_kappa(counts)),
            linear_kappa=or_none(weighted_kappa(counts, weights="linear")),
            plain_kappa=or_none(weighted_kappa(counts, weights="none")),
            confusion=tuple(map(tuple, counts.tolist())),
        )


def rater_summaries(
    store: Store,
    graded: TaskGrades,
    table: GradeTable,
    names: Mapping[str, str],
    *,
    held: Sequence[SingleJudgment],
    seed: int,
) -> Iterator[RaterSummary]:
    task = graded.task
    again = store.judgments.current(task.collection, task=again_name(str(task.number)))
    second = {
        (each.judgment.rater, each.judgment.query, each.judgment.doc): each.judgment.grade
        for each in again
        if each.judgment.grade is not None
    }
    ids = {rater.key: rater.id for rater in graded.raters}
    by_rater: dict[str, list[SingleJudgment]] = {key: [] for key in table.raters}
    for each in held:
        by_rater.setdefault(each.rater, []).append(each)
    shown = [*held, *(each.judgment for each in again)]
    medians = {key: median_seconds([each for each in shown if each.rater == key]) for key in table.raters}
    by_relevance = knows_relevance_only(graded.known, graded.scale)
    for i, key in enumerate(table.raters):
        own_grades, others = table.ratings[:, i], np.delete(table.ratings, i, axis=1)
        mine = ~np.isnan(own_grades)
        common = mine & (~np.isnan(others)).any(axis=1)
        kinder = own_grades[common] - np.nanmean(others[common], axis=1) if common.any() else np.array([])
        rest = np.array([lower_median(row[~np.isnan(row)].tolist()) for row in others[common]])
        both = np.column_stack([own_grades[common], rest]) if common.any() else np.zeros((0, 2))
        own = [
            second[key, query, doc] == own_grades[place]
            for place, (query, doc) in enumerate(table.docs)
            if mine[place] and (key, query, doc) in second
        ]
        gold = [
            gold_is_met(own_grades[place], graded.gold[pair], by_relevance=by_relevance)
            for place, pair in enumerate(table.docs)
            if mine[place] and pair in graded.gold
        ]
        summary = RaterSummary(
            id=ids.get(key, key),
            name=names[key],
            n_docs=int(mine.sum()),
            n_queries=len({table.docs[place][0] for place in np.flatnonzero(mine)}),
            n_flags=sum(each.flag for each in by_rater[key]),
            n_cannot_tell=sum(each.status == "cannot_tell" for each in by_rater[key]),
            median_seconds=medians[key],
            n_common=int(common.sum()),
            alpha_with_rest=or_none(krippendorff_alpha(both)),
            kinder_by=float(kinder.mean()) if len(kinder) else None,
            kinder_interval=mean_interval(kinder, clusters=table.queries[common]) if len(kinder) else None,
            own=CountOf(sum(own), len(own)),
            gold=CountOf(sum(gold), len(gold)),
        )
        differs = len(table.raters) > 2 and differs_from_rest(table, i, both, table.queries[common], seed)
        pace = [seconds for other, seconds in medians.items() if other != key and seconds is not None]
        yield with_remarks(summary, table, pace, differs=differs)


def median_seconds(judgments: Sequence[SingleJudgment]) -> float | None:
    """Return how long a doc takes, those without a grade and those shown a second time included, as raters see it."""
    known = [each.seconds for each in judgments if each.seconds is not None and not each.choice]
    return statistics.median(known) if known else None


def differs_from_rest(table: GradeTable, i: int, both: Floats, queries: np.ndarray, seed: int) -> bool:
    """Tell whether a rater agrees less with the others than these do among themselves, beyond what chance may do."""
    if len(both) < ENOUGH_DOCS:
        return False
    interval = alpha_interval(both, queries, seed=seed)
    among = krippendorff_alpha(np.delete(table.ratings, i, axis=1))
    return interval is not None and interval.high < among


def gold_is_met(grade: float, gold: float, *, by_relevance: bool) -> bool:
    return (grade >= RELEVANT) == (gold >= RELEVANT) if by_relevance else grade == gold


def with_remarks(summary: RaterSummary, table: GradeTable, pace: Sequence[float], *, differs: bool) -> RaterSummary:
    """Return a rater with what is unusual."""
    step = float(np.diff(table.scale).min()) if len(table.scale) > 1 else 1.0
    remarks = []
    if differs:
        remarks.append("differs from the rest")
    kinder, interval = summary.kinder_by, summary.kinder_interval
    is_clear = interval is not None and 0 not in interval and summary.n_common >= ENOUGH_DOCS
    if kinder is not None and is_clear and abs(kinder) >= KIND_STEPS * step:
        remarks.append("kind" if kinder > 0 else "strict")
    seconds = summary.median_seconds
    if seconds is not None and summary.n_docs >= ENOUGH_DOCS:
        if seconds < FAST_S:
            remarks.append("very fast")
        elif pace and seconds < FAST * statistics.median(pace):
            remarks.append("fast")
    if is_badly_checked(summary.own):
        remarks.append("differs from earlier answers of their own")
    if is_badly_checked(summary.gold):
        remarks.append("misses gold docs")
    return replace(summary, remarks=tuple(remarks))


def is_badly_checked(checks: CountOf) -> bool:
    return checks.of >= ENOUGH_CHECKS and checks.n < WELL_CHECKED * checks.of


def hard_docs(
    store: Store, graded: TaskGrades, table: GradeTable, names: Mapping[str, str], texts: Mapping[str, str]
) -> Iterator[HardDoc]:
    steps = table.steps_between()
    hard: list[int] = np.flatnonzero(table.twice & (steps > 0)).tolist()
    hard.sort(key=lambda i: (-int(steps[i]), -int(np.count_nonzero(~np.isnan(table.ratings[i]))), i))
    shown = hard[:SHOWN_HARD]
    docs = store.texts.docs(graded.task.collection, [table.docs[i][1] for i in shown])
    notes: dict[QueryDoc, list[str]] = {}
    for each in graded.graded:
        if each.judgment.note:
            notes.setdefault((each.judgment.query, each.judgment.doc), []).append(each.judgment.note)
    for i in shown:
        query, doc = table.docs[i]
        given = graded.grades[query, doc]
        yield HardDoc(
            query=query,
            query_text=texts.get(query, ""),
            doc=doc,
            title=docs[doc].title if doc in docs else "",
            grades={names[key]: given[key] for key in table.raters if key in given},
            steps=int(steps[i]),
            notes=tuple(dict.fromkeys(notes.get((query, doc), []))),
        )


def hard_queries(table: GradeTable, texts: Mapping[str, str]) -> list[HardQuery]:
    steps, twice = table.steps_between(), table.twice
    by_query: dict[str, list[int]] = {}
    for i in np.flatnonzero(twice).tolist():
        by_query.setdefault(table.docs[i][0], []).append(int(steps[i]))
    found = [
        HardQuery(
            query=query,
            query_text=texts.get(query, ""),
            n_docs=len(each),
            n_differ=sum(n > 0 for n in each),
            mean_steps=sum(each) / len(each),
        )
        for query, each in by_query.items()
        if any(each)
    ]
    return sorted(found, key=lambda each: (-each.mean_steps, byte_order(each.query)))


def rater_errors(graded: TaskGrades, names: Mapping[str, str]) -> tuple[RaterErrors, ...]:
    """Return how each rater errs, where the task's rule knows."""
    if graded.task.plan.rule != "dawid-skene" or not graded.grades:
        return ()
    try:
        labels = labels_of(graded)
    except InputError:  # too few raters or grades; the verdicts say so
        return ()
    if labels.model is None:
        return ()
    return tuple(
        RaterErrors(name=names[key], grades=labels.scale, matrix=tuple(tuple(map(or_none, row)) for row in matrix))
        for key, matrix in zip(labels.raters, labels.model.errors.tolist(), strict=True)
    )


def pairs_sentence(pairs: Sequence[RaterVerdicts]) -> str:
    """Say whether verdicts depend on the rater: of one pair in full, of more which of them do."""
    if len(pairs) < 2:
        return "".join(pair.headline for pair in pairs)
    if together := shared_headline(pairs):
        return together
    if len(pairs) <= SHOWN_PAIRS and any(each.depends_on_rater is None for each in pairs):
        return " ".join(each.own_headline for each in pairs)
    parts = []
    for depends, words in ((True, "depends"), (False, "does not depend"), (None, "may depend")):
        named = [each.b for each in pairs if each.depends_on_rater is depends]
        if named:
            parts.append(f"{words} on the rater for {listed(named)}")
    return f"Against {pairs[0].a}, the verdict {', and '.join(parts)}."


def agreement_sentence(found: AgreementReport) -> str:
    alpha = found.alpha
    if found.preferences is not None and not found.n_grades:
        return (
            f"Lists are compared in this task, not graded. {preferences_sentence(found.preferences)} Which list is "
            f"preferred is told by `rankscope judge flags {found.task}`, or the page Flags, choices and preferences."
        )
    if alpha.value is None:
        return f"Nothing can be said of agreement: {alpha.words}."
    number = alpha_number(alpha.value)
    if alpha.value < TENTATIVE:
        hardest = (
            "the hardest docs and " if found.hardest else "the hardest queries and " if found.hardest_queries else ""
        )
        return f"Raters do not agree (alpha {number}): see {hardest}the guideline."
    only = "only " if alpha.value < RELIABLE else ""
    return f"Agreement is {only}{alpha.words} (alpha {number})."


def preferences_sentence(found: PreferenceAgreement) -> str:
    """Say how often raters gave the same answer, or why that is not known."""
    if not found.n:
        return "Nobody has compared lists yet."
    if not found.same.of:
        return "No two lists were compared by two raters."
    made = counted(found.same.of, "comparison")
    return f"Raters gave the same answer in {found.same.n:,} of {made} that two of them made or more."


def detail_sentences(found: AgreementReport) -> Iterator[str]:
    """Yield what else to know."""
    for each in found.verdicts.pairs:
        yield from each.verdict.cautions[-len(each.against) :] if each.against else ()
        yield from extreme_words(each)
        few = [line.name for line in each.lines if line.kind == "rater" and line.n_queries < MIN_UNITS]
        if few and len(each.raters) > 1:
            yield f"Not counted, as they graded docs of fewer than {MIN_UNITS} queries: {listed(few)}."
        for line in each.lines:
            if line.kind == "rater" and line.code == "not_comparable" and line.n_queries >= MIN_UNITS:
                yield f"By the grades of {line.name} alone, {each.b} and {each.a} cannot be compared: {line.reason}"
    if found.verdicts.note and (found.n_grades or found.mode != "lists"):
        yield found.verdicts.note
    if found.n_raters > 1 and found.twice.n and 10 * found.twice.n < found.twice.of:
        yield (
            f"Only {counted(found.twice.n, 'doc')} of {found.twice.of:,} were graded by two raters or more: less than "
            "a tenth says little of agreement."
        )
    for rater in found.raters:
        if rater.remarks:
            said = [IN_A_SENTENCE.get(each, each) for each in rater.remarks]
            yield f"{rater.name} {listed(said, most=len(said))}."
    if found.n_followed > 1:
        yield (
            f"Judgments follow {found.n_followed} versions of the guideline: what was judged before a change follows "
            "other words."
        )


def extreme_words(found: RaterVerdicts) -> Iterator[str]:
    """Say where the highest or the lowest grades lead to another verdict."""
    for line in found.lines:
        if line.kind not in ("highest", "lowest") or side_of(line.code) == side_of(found.main.code):
            continue
        by = f"With the {line.kind} grade of each doc"
        if line.code == "not_comparable":
            yield f"{by}, {found.b} and {found.a} cannot be compared: {line.reason}"
        else:
            yield f"{by}, {found.b} against {found.a} would be: {line.words}."
