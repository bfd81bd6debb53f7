"""What is refused before a file is written, so that none is written that could not be read back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rankscope.errors import FormatError, GradeError, IdError, InputError, ScoreError
from rankscope.io.kinds import AnyRows, extra_columns
from rankscope.io.rows import QrelsRows, RunRows


def check_rows(rows: AnyRows) -> None:
    """Refuse rows that no format could give back: none at all, an empty id, a number that is not one."""
    if not len(rows):
        raise InputError("there are no rows to write", hint="a file without rows cannot be read back")
    for what, ids in (("query", rows.query), ("doc", rows.doc)):
        if "" in ids:
            raise IdError(
                f"row {list(ids).index('') + 1} has an empty {what} id", hint="every query and every doc needs an id"
            )
    check_numbers(rows)


def check_numbers(rows: AnyRows) -> None:
    """Refuse scores that are NaN, and grades that are NaN or infinite."""
    is_run = isinstance(rows, RunRows)
    broken = np.flatnonzero(np.isnan(rows.score) if isinstance(rows, RunRows) else ~np.isfinite(rows.grade))
    if len(broken):
        first = int(broken[0])
        where = f"query {rows.query[first]!r}, doc {rows.doc[first]!r}"
        what, error = ("score", ScoreError) if is_run else ("grade", GradeError)
        raise error(f"the {what} of {where} is not a {'' if is_run else 'finite '}number", hint="leave the row out")


def check_encodable(texts: Iterable[str], *, what: str, errors: str = "surrogateescape") -> None:
    """Refuse texts that are not Unicode and cannot be turned back into the bytes they came from."""
    for text in texts:
        try:
            text.encode("utf-8", errors)
        except UnicodeEncodeError:
            raise IdError(
                f"{what} {text!r} is not Unicode text, which this format cannot hold",
                hint="write json or jsonl instead, or rename it",
            ) from None


def refuse_extra_columns(rows: QrelsRows, roles: Sequence[str], *, format_name: str) -> None:
    """Refuse to lose columns that a format has no place for."""
    lost = [role for role in roles if role in extra_columns(rows)]
    if lost:
        raise FormatError(
            f"{format_name} cannot hold the {' and '.join(lost)} of judgments",
            hint="write csv, tsv, jsonl, parquet or arrow instead",
        )
