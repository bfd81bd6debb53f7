"""Checks of the qrels: docs judged twice, odd grades, and queries or files without relevant docs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rankscope.align.finding import Finding, Level, count_of, first_ids
from rankscope.analysis.validate.tables import (
    DUPLICATES_HINT,
    QrelsTable,
    code_ids,
    doc_examples,
    odd_rows,
    repeated_rows,
)
from rankscope.arrays import Bools, segment_sum
from rankscope.data.qrels import HIGHEST_USUAL_GRADE
from rankscope.io.rows import QrelsRows

RELEVANT = 1.0


def docs_judged_twice(qrels: QrelsTable) -> Iterator[Finding]:
    """Find docs that have two grades for one query (and subtopic)."""
    rows = qrels.rows
    columns = [qrels.queries.codes, qrels.docs.codes]
    if rows.subtopic is not None:
        columns.append(code_ids(rows.subtopic).codes)
    repeated = repeated_rows(*columns)
    if len(repeated):
        n_contradicting = len(repeated) - len(repeated_rows(*columns, rows.grade))
        yield Finding(
            "error",
            "duplicate_docs",
            qrels.name,
            f"docs judged again for the same query{' and subtopic' if rows.subtopic is not None else ''}: "
            f"{count_of(len(repeated), len(rows), 'rows')}, {n_contradicting:,} of them with another grade",
            doc_examples(rows, repeated),
            "several raters judged them: combine their grades into one first"
            if rows.rater is not None
            else DUPLICATES_HINT,
        )


def odd_grades(qrels: QrelsTable) -> Iterator[Finding]:
    """Find grades that are no numbers, not whole, or far above the usual scales."""
    grade, is_finite = qrels.rows.grade, np.isfinite(qrels.rows.grade)
    kinds: tuple[tuple[Level, str, Bools, str, str], ...] = (
        ("error", "grade_not_a_number", ~is_finite, "grades that are not finite numbers", "leave these rows out"),
        (
            "remark",
            "fractional_grades",
            is_finite & (np.floor(grade) != grade),
            "grades that are not whole numbers",
            "measures that count relevant docs need --min-rel GRADE; measures of graded gain take them as they are",
        ),
        (
            "warning",
            "high_grades",
            is_finite & (grade > HIGHEST_USUAL_GRADE),
            f"grades above {HIGHEST_USUAL_GRADE:g}",
            "is the right column read as the grade? Gains that grow as 2^grade become huge",
        ),
    )
    for level, code, odd, what, hint in kinds:
        rows = np.flatnonzero(odd)
        yield from odd_rows(level, code, qrels, rows, what, hint=hint, note=lambda i: f": {grade[i]:g}")


def nothing_relevant(qrels: QrelsTable) -> Iterator[Finding]:
    grade = qrels.rows.grade
    if (grade >= RELEVANT).any():
        return
    if (grade > 0).any():
        message = f"no grade reaches {RELEVANT:g}, so no doc counts as relevant"
        hint = "say which grades are relevant with --min-rel GRADE"
        yield Finding("warning", "no_relevant_docs", qrels.name, message, hint=hint)
    elif len(grade):
        hint = "every measure will be 0 or undefined: is the right column read as the grade?"
        yield Finding("error", "no_relevant_docs", qrels.name, "no relevant docs at all", hint=hint)


def queries_without_relevant(qrels: QrelsTable) -> Iterator[Finding]:
    relevant = qrels.rows.grade >= RELEVANT
    n_relevant = segment_sum(relevant, qrels.queries.codes, len(qrels.queries.ids))
    without = np.flatnonzero(n_relevant == 0).tolist()
    if without and relevant.any():
        message = f"queries without any relevant doc: {count_of(len(without), len(n_relevant), 'queries')}"
        examples = first_ids(qrels.queries.ids[i] for i in without)
        hint = "they score 0 and count, as in trec_eval; --no-relevant exclude leaves them out of the mean"
        yield Finding("remark", "queries_without_relevant_docs", qrels.name, message, examples, hint)


def only_relevant_judged(qrels: QrelsTable) -> Iterator[Finding]:
    if judges_only_relevant(qrels.rows):
        message = "only relevant docs judged: no grade is 0, so bpref and Judged tell little"
        yield Finding("remark", "only_relevant_judged", qrels.name, message)


def judges_only_relevant(rows: QrelsRows) -> bool:
    """Tell whether there are relevant docs but none judged non-relevant."""
    judged = rows.grade[rows.grade >= 0]
    return len(judged) > 0 and bool((judged >= RELEVANT).all())


QRELS_CHECKS: tuple[Callable[[QrelsTable], Iterator[Finding]], ...] = (
    docs_judged_twice,
    odd_grades,
    nothing_relevant,
    queries_without_relevant,
    only_relevant_judged,
)
