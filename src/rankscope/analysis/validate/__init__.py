"""What is odd about qrels and runs, found without scoring: one small function per check.

Rows are looked at as they were read, since what is wrong with them may be what `Qrels` and `Run` refuse. There are
checks of one file (`checks`), and of runs against the qrels (`pair`, with `align.near_ids`); `validate_rows` makes them
all. `tables` holds what they look at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Literal, TypeVar

import msgspec

from rankscope._version import __version__
from rankscope.align.finding import LEVELS, N_EXAMPLES, Finding, quote_id
from rankscope.analysis.validate.checks import QRELS_CHECKS, RUN_CHECKS
from rankscope.analysis.validate.pair import PAIR_CHECKS, inverted_order
from rankscope.analysis.validate.tables import CheckedQrels, CheckedRun, JudgedRun
from rankscope.checks import check_options
from rankscope.data.coerce import qrels_rows
from rankscope.data.loading import ReadOptions, load_runs
from rankscope.data.qrels import Qrels
from rankscope.data.shapes import QrelsLike, RunsLike
from rankscope.errors import BadLine, shorten
from rankscope.io.read import ReadFile, read_qrels, read_run
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.records import Record, StoredRecord

__all__ = ["LEVELS", "FileInfo", "Finding", "ValidationReport", "validate", "validate_rows"]

MEMORY = "memory"
Rows = TypeVar("Rows", QrelsRows, RunRows)


class FileInfo(Record):
    """A file that was looked at."""

    path: str
    """As given; - is standard input."""
    kind: Literal["qrels", "run"]
    format: str
    """The format it was read as; "memory" where it is no file."""
    n_rows: int
    """Rows read, without those of malformed lines."""
    n_queries: int
    """Queries among them, and those listed without any row."""


class ValidationReport(StoredRecord):
    """What is odd about qrels and runs, as printed by rankscope validate --format json."""

    rankscope: str
    """The version that made the record."""
    findings: tuple[Finding, ...]
    """In the order of the files, the worst of each first; `where` is the path of the file."""
    files: Annotated[tuple[FileInfo, ...], msgspec.Meta(min_length=2)]
    """The qrels, then the runs."""

    @property
    def is_fine(self) -> bool:
        """Whether there is nothing but remarks."""
        return all(finding.level == "remark" for finding in self.findings)


def validate(
    qrels: QrelsLike, runs: RunsLike, *, options: ReadOptions | None = None, qrels_options: ReadOptions | None = None
) -> ValidationReport:
    r"""Return what is odd about qrels and runs, without scoring them.

    Parameters
    ----------
    qrels
        The judgments as `evaluate` takes them; of paths, - is standard input.
    runs
        One run, several, or ``{name: run}``; a path that is named twice is looked at once.
    options, qrels_options
        How run files and the qrels file are read. By default malformed lines are left out, and are a finding.

    Returns
    -------
    ValidationReport
        The findings, and what is known of each file before anything is checked.

    Raises
    ------
    FormatError
        If a file cannot be read, or has malformed lines and its options are not lenient.

    Examples
    --------
    >>> import pathlib, rankscope as rs
    >>> _ = pathlib.Path("qrels.txt").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    >>> _ = pathlib.Path("bm25.run").write_text("q1 Q0 d1 1 0.9 bm25\nq1 Q0 d1 2 0.8 bm25\n")
    >>> [finding.message for finding in rs.validate("qrels.txt", "bm25.run").findings if finding.level == "error"]
    ['docs listed again for the same query: 1 of 2 rows']

    """
    check_options(validate.__annotations__, {"options": options, "qrels_options": qrels_options})
    lenient = ReadOptions(lenient=True)
    if isinstance(qrels, str | os.PathLike):
        judged = read_file(read_qrels, os.fspath(qrels), qrels_options or lenient)
    else:
        judged = ReadFile(qrels.rows if isinstance(qrels, Qrels) else qrels_rows(qrels), "qrels", MEMORY, None, "")
    paths = [runs] if isinstance(runs, str | os.PathLike) else runs
    if isinstance(paths, list | tuple) and all(isinstance(path, str | os.PathLike) for path in paths):
        names = dict.fromkeys(os.fspath(path) for path in paths)
        files = [read_file(read_run, name, options or lenient) for name in names]
    else:
        loaded = load_runs(runs, options=options)
        files = [ReadFile(run.rows, run.name or "run", MEMORY, None, "") for run in loaded]
    run_rows = {file.path: file.rows for file in files}
    findings = [
        *malformed_lines(judged.path, judged.bad_lines),
        *(finding for file in files for finding in malformed_lines(file.path, file.bad_lines)),
        *validate_rows(judged.rows, run_rows, qrels_name=judged.path),
    ]
    return ValidationReport(
        rankscope=__version__,
        findings=worst_first(findings, [judged.path, *run_rows]),
        files=(file_info(judged, "qrels"), *(file_info(file, "run") for file in files)),
    )


def read_file(reader: Callable[..., ReadFile[Rows]], path: str, options: ReadOptions) -> ReadFile[Rows]:
    return reader(
        path, format=options.format, columns=options.columns, lenient=options.lenient, progress=options.progress
    )


def file_info(file: ReadFile[Rows], kind: Literal["qrels", "run"]) -> FileInfo:
    n_queries = len({*file.rows.query, *file.rows.empty_queries})
    return FileInfo(file.path, kind, file.format, len(file.rows), n_queries)


def validate_rows(
    judged_rows: QrelsRows, run_rows: Mapping[str, RunRows], *, qrels_name: str = "qrels"
) -> tuple[Finding, ...]:
    """Return what is odd about the qrels, about each run by its name, and about how they fit: worst first for each."""
    qrels = CheckedQrels(qrels_name, judged_rows)
    runs = [CheckedRun(name, rows) for name, rows in run_rows.items()]
    judged_runs = [JudgedRun(qrels, run) for run in runs if len(qrels.rows) and len(run.rows)]
    findings = chain(
        (finding for check in QRELS_CHECKS for finding in check(qrels)),
        (finding for run in runs for check in RUN_CHECKS for finding in check(run)),
        (finding for judged_run in judged_runs for check in PAIR_CHECKS for finding in check(judged_run)),
        inverted_order(judged_runs),
    )
    return worst_first(findings, [qrels_name, *run_rows])


def worst_first(findings: Iterable[Finding], places: Sequence[str]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda found: (places.index(found.where), LEVELS.index(found.level))))


def malformed_lines(where: str, bad_lines: Sequence[BadLine]) -> Iterator[Finding]:
    if bad_lines:
        message = f"malformed lines, left out here: {len(bad_lines):,}"
        some = bad_lines[:N_EXAMPLES]
        examples = tuple(f"{where}:{bad.line}: {bad.problem}: {quote_id(shorten(bad.text))}" for bad in some)
        hint = "repair them; `rankscope evaluate` stops at them unless --lenient is given"
        yield Finding("error", "malformed_lines", where, message, examples, hint)
