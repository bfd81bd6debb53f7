"""The verdict of a task under each rater: the same comparison, by the grades of one rater at a time.

Each is made by `compare`, as every other verdict. By the rule of the task all queries count, as where it says what is
settled. A rater's comparison knows only what that rater graded, on the queries of which the rater graded a doc, and on
those of which the task holds no doc; labels of other docs that the task began with stay as they are. Beside the raters
stand the highest and the lowest grade that each doc got.

Where the labels of a model are audited there is no verdict here: it is looked at when it was planned to be, and at no
other time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal

from rankscope.comparison.compare import compare_runs
from rankscope.comparison.records import Code, Comparison, PairResult, Verdict
from rankscope.comparison.verdict import MIN_UNITS, WORDS, decimals, lowered_for_raters
from rankscope.data.run import Run
from rankscope.errors import RankscopeError
from rankscope.judging.audits import planned_looks
from rankscope.judging.labels import (
    TaskGrades,
    labels_by_rule,
    qrels_of_pairs,
    rater_key,
    stand_in_words,
    stored_labels,
    with_known,
)
from rankscope.judging.records import LabelRule, Task, TaskItem
from rankscope.judging.task_comparison import compared_runs, why_not_compared
from rankscope.judging.worst_case import ComparedRuns, common_queries, queries_words
from rankscope.printable import listed
from rankscope.records import Record, or_nan, replace
from rankscope.store import Store, StoredQuery, StoredRun
from rankscope.store.labels import Labels, QueryDoc

LineKind = Literal["rule", "rater", "highest", "lowest"]
SIDES: dict[Code, int] = {"better": 1, "probably_better": 1, "worse": -1, "probably_worse": -1}
"""On which side of 0 a verdict claims the difference to be; the others claim none."""
FEW_RATERS = 4
"""Of more, a sentence counts them."""
FEWEST_SYSTEMS = 3
"""The order of two systems is the sign of their difference, which is there already."""


SAME_DECIMALS = 12


class VerdictLine(Record, kw_only=True):
    """What a pair of systems looks like by some grades: all by the rule, one rater's, the highest or the lowest."""

    name: str
    kind: LineKind
    n_queries: int
    delta: float | None
    """B minus A."""
    low: float | None
    high: float | None
    level: float
    code: Code
    words: str
    """The verdict in a word or two."""
    reason: str

    @property
    def counts(self) -> bool:
        """Whether there are enough queries for a verdict."""
        return self.n_queries >= MIN_UNITS and self.code != "not_comparable"


class RaterVerdicts(Record, kw_only=True):
    """Two systems under each rater."""

    a: str
    b: str
    measure: str
    margin: float
    verdict: Verdict
    """By the task's rule, lowered where raters show the opposite."""
    before: Code
    """What the verdict was before."""
    main: VerdictLine
    """By the task's rule, with the verdict as it was lowered."""
    decimals: int
    """With so many, differences are written everywhere."""
    lines: tuple[VerdictLine, ...]
    """Raters, as they were invited, then the highest and the lowest grade of each doc, where any doc has several."""
    against: tuple[str, ...]
    """Raters whose interval lies on the other side of 0."""

    @property
    def raters(self) -> tuple[VerdictLine, ...]:
        """Those with enough queries."""
        return tuple(line for line in self.lines if line.kind == "rater" and line.counts)

    @property
    def headline(self) -> str:
        return headline_of(self)

    @property
    def own_headline(self) -> str:
        """The same beside those of other pairs: it names the pair that it is about."""
        return headline_of(self, subject=f"The verdict on {self.b} against {self.a}")

    @property
    def depends_on_rater(self) -> bool | None:
        """Whether raters with enough queries see it differently; None where there are not two of them."""
        sides = {side_of(line.code) for line in self.raters}
        return None if len(self.raters) < 2 else len(sides) > 1


class RaterOrder(Record, kw_only=True):
    """How a rater's grades order the systems, beside the order by the task's rule."""

    name: str
    order: tuple[str, ...]
    """The best mean first."""
    places: tuple[tuple[str, ...], ...]
    """The same, with systems of the same mean together."""
    tau: float | None
    """Kendall's tau-b of the means; None where all are the same."""


class TaskVerdicts(Record, kw_only=True):
    """All pairs of a task under each rater."""

    pairs: tuple[RaterVerdicts, ...] = ()
    orders: tuple[RaterOrder, ...] = ()
    """Of three systems or more."""
    note: str = ""
    """Why there is no verdict to look at, or what to know of it."""


def verdicts_of(store: Store, graded: TaskGrades, names: Mapping[str, str]) -> TaskVerdicts:
    """Compare the systems of a task by its rule, and by each rater's grades; `names` are what raters are called."""
    plan = graded.task.plan
    if not graded.grades:
        return TaskVerdicts(note=ungraded_note(store, graded))
    if len(plan.runs) < 2 or not plan.measure:
        return TaskVerdicts(note="The task compares no systems, so there is no verdict to look at.")
    if plan.pool == "audit":
        queries = {item.query for item in graded.items if item.purpose == "audit"}
        planned = planned_looks(plan.looks, len(queries))
        looks = listed([str(n) for n in planned], most=len(planned))
        return TaskVerdicts(
            note=f"This task audits the labels of a model, and its verdict is looked at after {looks} queries only: "
            "looking at it under each rater, at any time, would find differences that are none."
        )
    stored = stored_runs(store, graded.task)
    if lacking := [number for number in plan.runs if number not in stored]:
        missing = listed([str(number) for number in lacking])
        return TaskVerdicts(note=f"The store does not have run {missing} any more, so nothing can be compared.")
    what = compared_runs(store, graded.task)
    if what is None:
        why = why_not_compared(store, graded.task)
        return TaskVerdicts(note=why or "The task compares no systems, so there is no verdict to look at.")
    labels, no_labels = labels_by_rule(graded)
    note = stand_in_words(plan.rule, no_labels) if no_labels else ""
    try:
        main = compare_by(graded, what, labels.grades, all_queries=True)
    except RankscopeError as error:
        return TaskVerdicts(note=f"There is no verdict yet: {error.message}.")
    compared = [compared_by(graded, what, *each) for each in grades_to_compare(graded, names)]
    rule = rule_name(labels.rule, names.get(rater_key(graded, plan.trusted), plan.trusted))
    return TaskVerdicts(
        pairs=tuple(under_raters(pair, compared, rule) for pair in main.groups[0].compared),
        orders=tuple(orders_of(main, compared)) if len(what.runs) >= FEWEST_SYSTEMS else (),
        note=f"{queries_note(graded, what, labels)} {note}".strip(),
    )


def raters_own_verdicts(graded: TaskGrades, what: ComparedRuns) -> tuple[RaterVerdicts, ...]:
    """Return the verdicts by the rule of a task, lowered by raters' own, as `verdicts_of` has them.

    The highest and the lowest grades of docs lower nothing, so they are left out.
    """
    if not graded.grades:
        return ()
    labels, _ = labels_by_rule(graded)
    try:
        main = compare_by(graded, what, labels.grades, all_queries=True)
    except RankscopeError:  # `verdicts_of` says why
        return ()
    each_rater = (each for each in grades_to_compare(graded, graded.names()) if each[1] == "rater")
    compared = [compared_by(graded, what, *each) for each in each_rater]
    return tuple(under_raters(pair, compared, labels.rule) for pair in main.groups[0].compared)


def ungraded_note(store: Store, graded: TaskGrades) -> str:
    """Say what the verdict of `judge show` rests on, as long as no rater has graded."""
    plan = graded.task.plan
    known = graded.known if plan.qrels is not None and plan.pool != "audit" and plan.mode == "docs" else None
    if known is None or plan.qrels is None or not known.judged or len(plan.runs) < 2 or not plan.measure:
        return "Nothing is graded yet, so there is no verdict."
    name = stored_labels(store, plan.qrels).name
    return f"No rater has graded yet: the verdict of `judge show` rests on the qrels {name}."


def queries_note(graded: TaskGrades, what: ComparedRuns, labels: Labels) -> str:
    """Say on which queries systems are compared by the rule of the task, where some have no judged doc."""
    judged = {query for query, _ in with_known(graded, labels.grades, all_queries=True)}
    n_unjudged = sum(query not in judged for query in what.query_ids)
    return queries_words(len(what.query_ids), n_unjudged) if n_unjudged else ""


class ComparedBy(Record, eq=False):
    """The systems by some grades."""

    name: str
    kind: LineKind
    n_queries: int
    comparison: Comparison | None
    problem: str = ""
    """Why there is none."""

    def same_pair(self, pair: PairResult) -> PairResult | None:
        found = () if self.comparison is None else self.comparison.groups[0].compared
        return next((each for each in found if (each.a, each.b) == (pair.a, pair.b)), None)


def grades_to_compare(
    graded: TaskGrades, names: Mapping[str, str]
) -> Iterator[tuple[str, LineKind, dict[QueryDoc, float]]]:
    """Yield the grades of each rater, then the highest and the lowest of each doc, where any doc has several."""
    given = {rater for grades in graded.grades.values() for rater in grades}
    for key, name in names.items():
        if key in given:
            yield name, "rater", {pair: grades[key] for pair, grades in graded.grades.items() if key in grades}
    if any(len(set(grades.values())) > 1 for grades in graded.grades.values()):
        highest = {pair: max(grades.values()) for pair, grades in graded.grades.items()}
        lowest = {pair: min(grades.values()) for pair, grades in graded.grades.items()}
        yield "highest grade of each doc", "highest", highest
        yield "lowest grade of each doc", "lowest", lowest


def compared_by(
    graded: TaskGrades, what: ComparedRuns, name: str, kind: LineKind, grades: Mapping[QueryDoc, float]
) -> ComparedBy:
    n_queries = len({query for query, _ in grades})
    try:
        return ComparedBy(name, kind, n_queries, compare_by(graded, what, grades, all_queries=kind != "rater"))
    except RankscopeError as error:
        return ComparedBy(name, kind, n_queries, None, f"{error.message}.")


def compare_by(
    graded: TaskGrades, what: ComparedRuns, grades: Mapping[QueryDoc, float], *, all_queries: bool
) -> Comparison:
    """Compare by the grades of some docs, beside what was known before of their queries, or of all queries.

    With `all_queries` those count that count for what is settled. By one rater's grades it is the queries of which a
    doc has one, and those of which the task holds no doc: nobody is asked about these, as a task of the docs that
    settle a comparison leaves out queries whose difference no grade changes, and one of a sample others.
    """
    settles = graded.task.plan.pool == "settle"
    more = what.query_ids if all_queries else queries_without_items(what.runs, graded.items)
    grades = {pair: max(grade, 0.0) for pair, grade in grades.items()}  # below 0 is judged, too, as where it is settled
    known = with_known(graded, grades, all_queries=all_queries or settles, also=more, own_gold=all_queries)
    qrels = qrels_of_pairs(known)
    request = replace(what.request(), anyway=False)
    return compare_runs(qrels.with_queries(more), dict(what.runs), request, on_note=lambda _: None)


def queries_without_items(runs: Mapping[str, Run], items: Sequence[TaskItem]) -> list[str]:
    """Return the queries that all runs were asked, and of which a task holds no doc."""
    held = {item.query for item in items}
    return [query for query in common_queries(runs) if query not in held]


def under_raters(pair: PairResult, compared: Sequence[ComparedBy], rule: str) -> RaterVerdicts:
    lines, opposite = [], {}
    for each in compared:
        same = each.same_pair(pair)
        line = line_without(each, pair) if same is None else line_of(each.name, each.kind, same)
        lines.append(line)
        if each.kind == "rater" and line.counts and same is not None and lies_opposite(same, pair):
            opposite[each.name] = same
    verdict = lowered_for_raters(pair.final_verdict, pair, opposite)
    main = replace(line_of(rule, "rule", pair), code=verdict.code, words=WORDS[verdict.code])
    return RaterVerdicts(
        a=pair.a,
        b=pair.b,
        measure=pair.measure,
        margin=pair.margin,
        verdict=verdict,
        before=pair.final_verdict.code,
        main=replace(main, reason=f"{verdict.text} {verdict.reason}".strip()),
        decimals=decimals(pair),
        lines=tuple(lines),
        against=tuple(opposite),
    )


def rule_name(rule: LabelRule, trusted: str) -> str:
    """Return what the line of the task's rule is called."""
    names: dict[LabelRule, str] = {
        "only": "all raters",
        "mean": "all raters, mean",
        "max": "all raters, highest grade",
        "latest": "all raters, latest grade",
        "trusted": f"where there are any, the grades of {trusted}",
    }
    return names.get(rule, f"all raters, {rule}")


def line_of(name: str, kind: LineKind, pair: PairResult) -> VerdictLine:
    verdict = pair.final_verdict
    return VerdictLine(
        name=name,
        kind=kind,
        n_queries=pair.n_queries,
        delta=pair.delta,
        low=pair.ci.low,
        high=pair.ci.high,
        level=pair.ci.level,
        code=verdict.code,
        words=WORDS[verdict.code],
        reason=f"{verdict.text} {verdict.reason}".strip(),
    )


def line_without(compared: ComparedBy, pair: PairResult) -> VerdictLine:
    return VerdictLine(
        name=compared.name,
        kind=compared.kind,
        n_queries=compared.n_queries,
        delta=None,
        low=None,
        high=None,
        level=pair.ci.level,
        code="not_comparable",
        words=WORDS["not_comparable"],
        reason=compared.problem,
    )


def lies_opposite(by_rater: PairResult, pair: PairResult) -> bool:
    """Tell whether the interval by a rater lies on the other side of 0 than the difference itself.

    Where every query differs by the same amount there is no interval, and the verdict says it.
    """
    side = (or_nan(pair.delta) > 0) - (or_nan(pair.delta) < 0)
    if by_rater.ci.low is None or by_rater.ci.high is None:
        return side != 0 and SIDES.get(by_rater.final_verdict.code, 0) * pair.sign == -side
    return (side > 0 and by_rater.ci.high < 0) or (side < 0 and by_rater.ci.low > 0)


def side_of(code: Code) -> int | str:
    """Return the side that a verdict claims, or the verdict where it claims none; two that say the same are one."""
    return SIDES.get(code, {"not_safe": "cannot_tell", "identical": "same"}.get(code, code))


def headline_of(found: RaterVerdicts, *, subject: str = "The verdict") -> str:
    """Say in a sentence whether the verdict depends on the rater."""
    raters, main = found.raters, found.main
    everyone = [line for line in found.lines if line.kind == "rater"]
    together = f"{found.b} against {found.a}: {WORDS[found.verdict.code]}"
    if len(raters) < 2:
        why = "there is one rater"
        if len(everyone) > 1:
            who = f"only {raters[0].name} has" if raters else "no rater has"
            why = f"{who} grades of {MIN_UNITS} queries or more to compare by"
        return f"{together}; whether that depends on the rater is not known, as {why}."
    sides = {side_of(line.code) for line in raters}
    n = f"{len(raters)} of {len(raters)}"
    words = listed(list(dict.fromkeys(line.words for line in raters)), last="or")
    if sides == {side_of(main.code)}:
        if main.code in SIDES:
            return f"{subject} does not depend on the rater: {n} find {found.b} {words} than {found.a}."
        return f"{subject} does not depend on the rater: {n} say “{words}” of {found.b} against {found.a}."
    if len(sides) == 1:
        return f"{together} ({main.name}); by the grades of each rater alone, {n} say “{words}”."
    return f"{together} ({main.name}), but that depends on the rater: {words_by_rater(raters)}."


def shared_headline(pairs: Sequence[RaterVerdicts]) -> str:
    """Say of several systems at once that they are better, or worse, by every rater's grades; "" where they differ."""
    found = {(len(pair.raters), side_of(pair.main.code), *(line.words for line in pair.raters)) for pair in pairs}
    if len(found) > 1 or pairs[0].main.code not in SIDES or any(pair.depends_on_rater is not False for pair in pairs):
        return ""
    n = len(pairs[0].raters)
    words = listed(list(dict.fromkeys(line.words for line in pairs[0].raters)), last="or")
    systems = listed([pair.b for pair in pairs])
    return f"No verdict depends on the rater: {n} of {n} find {systems} {words} than {pairs[0].a}."


def words_by_rater(raters: Sequence[VerdictLine]) -> str:
    """Return what each rater's grades say; of many raters, how many say what, with the names of the few."""
    if len(raters) <= FEW_RATERS:
        return ", ".join(f"{line.name} {line.words}" for line in raters)
    named: dict[str, list[str]] = {}
    for line in raters:
        named.setdefault(line.words, []).append(line.name)
    most_first = sorted(named.items(), key=lambda item: -len(item[1]))
    return ", ".join(
        f"{len(names)} {words}" + (f" ({listed(names)})" if len(names) <= FEW_RATERS else "")
        for words, names in most_first
    )


def orders_of(main: Comparison, compared: Sequence[ComparedBy]) -> Iterator[RaterOrder]:
    """Yield the order of the systems by grades of enough queries."""
    reference = means_of(main)
    for each in compared:
        if each.comparison is None or each.n_queries < MIN_UNITS:
            continue
        means = means_of(each.comparison)
        order = tuple(sorted(means, key=lambda system: -means[system]))
        places = tuple(tuple(same) for _, same in groupby(order, key=means.__getitem__))
        both = [system for system in reference if system in means]
        tau = kendall_tau([reference[system] for system in both], [means[system] for system in both])
        yield RaterOrder(name=each.name, order=order, places=places, tau=tau)


def means_of(comparison: Comparison) -> dict[str, float]:
    """Return the mean of each system; two that differ by the last bits only are the same."""
    sign = -1.0 if any(pair.lower_is_better for pair in comparison.groups[0].compared) else 1.0
    return {row.system: round(sign * row.mean, SAME_DECIMALS) for row in comparison.groups[0].leaderboard}


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's tau-b; None where one of them has all values the same."""
    from scipy.stats import kendalltau

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(kendalltau(first, second).statistic)


def stored_runs(store: Store, task: Task) -> dict[int, StoredRun]:
    """Return the runs of a task by number; of a task that names none, all of its collection."""
    found = {run.number: run for run in store.runs.list(collection=task.collection, repetitions=True)}
    return {number: found[number] for number in task.plan.runs if number in found} if task.plan.runs else found


def task_queries(store: Store, task: Task) -> dict[str, StoredQuery]:
    """Return the queries of a task's collection, with texts and attributes, as far as the store knows them."""
    found: dict[str, StoredQuery] = {}
    for sha256 in dict.fromkeys(run.queries_sha256 for run in stored_runs(store, task).values()):
        found |= store.texts.queries(sha256)
    for sha256 in store.tasks.further_queries(task.collection):
        given = store.texts.queries(sha256)
        found |= {name: each for name, each in given.items() if not found.get(name, StoredQuery()).text}
    return found
