"""Scores that other tools computed: tables of query by measure, or query by system, and trec_eval's output.

Read so that they can be compared like our own. The columns say what is a system and what a measure: a column
`run` or `system` names the system, `measure` and `value` make a long table, in which `lower_is_better` may say which
way a measure goes. Without them a file on its own is a table
of query by system; several files are one system each, their columns being measures.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rankscope.align.hits import Counts
from rankscope.checks import check_options
from rankscope.errors import FormatError, InputError, OptionError, RankscopeError, give_warning
from rankscope.io.columns import SCORE_COLUMNS, match_columns
from rankscope.io.files import parse_json, read_json
from rankscope.io.formats import FORMATS, compression_in_name, format_in_name, table_endings
from rankscope.io.formulas import restored_rows
from rankscope.io.ids import as_id
from rankscope.io.numbers import number_in
from rankscope.io.source import source_of
from rankscope.io.table import NumberedRow, guess_format, read_rows
from rankscope.light import LightRecord, field, replace
from rankscope.measures.scores import QrelsInfo, RunScores, Scores
from rankscope.measures.scores_record import ScoresRecord
from rankscope.measures.spec import Measure
from rankscope.records import from_builtins, kind_of_json

_SUMMARY_ROWS = {"all", "mean", "amean", "average"}
"""What tools write in place of a query where a row is the mean of all."""

Cells = dict[str, dict[str, dict[str, float]]]
"""{system: {measure: {query: score}}}."""
Unanswered = dict[str, frozenset[str]]
"""{system: queries that have a score, though the system does not answer them}."""
Cell = tuple[str, str, Any, Any, str]
"""The system, measure, query and score of one cell as it is stored, and where it is."""


class ScoreFile(LightRecord, eq=False):
    """What one file of scores holds, or several that are joined."""

    cells: Cells
    notes: tuple[str, ...] = ()
    unanswered: dict[str, Sequence[str]] = field(default_factory=dict)
    """Queries without an answer, by system, where the file says so."""
    lower_is_better: frozenset[str] = frozenset()
    profile: str | None = None
    """The profile that the scores follow, where the file says so; of several, where all say the same."""


def read_scores(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    measure: str | Measure | None = None,
    lower_is_better: str | Measure | Iterable[str | Measure] = (),
) -> Scores:
    r"""Return the scores in one or more files, ours or another tool's.

    Parameters
    ----------
    paths
        Tables (CSV, TSV, JSON, JSONL, Parquet, Arrow), the JSON of `rankscope evaluate`, or the text of trec_eval -q. A
        file on its own is a table of query by system unless its columns say otherwise; several are one system each. A
        system that is in several files is named apart by the names of the files.
    measure
        What a table of query by system holds: any name, or a measure.
    lower_is_better
        Measures of which less is better.

    Returns
    -------
    Scores
        For the measures that all systems have; a warning names others. `Scores.from_json` gives all that our own JSON
        holds.

    Raises
    ------
    FormatError
        A file holds no scores of single queries, or it is not clear whose.

    Examples
    --------
    >>> import rankscope as rs, pathlib
    >>> _ = pathlib.Path("scores.csv").write_text("query,bm25,dense\nq1,0.5,0.7\nq2,0.1,0.2\n")
    >>> rs.read_scores("scores.csv", measure="nDCG@10")
    run    nDCG@10
    bm25    0.3000
    dense   0.4500
    """
    name = None if measure is None else str(measure)
    check_options({"measure": "str | Measure | None"}, {"measure": measure})
    lower = frozenset(map(str, [lower_is_better] if isinstance(lower_is_better, str | Measure) else lower_is_better))
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    if not paths:
        raise OptionError("no score file is given")
    if twice := [path for path, n in Counter(map(Path, paths)).items() if n > 1]:
        raise InputError(f"{twice[0]} is given twice", hint="leave one of them out")
    files = [read_file(path, alone=len(paths) == 1, measure=name) for path in map(Path, paths)]
    names = names_apart(paths, [file.cells for file in files])
    notes = [note for file in files for note in file.notes]
    for system in dict.fromkeys(system for renamed in names for system, new in renamed.items() if new != system):
        called = ", ".join(renamed[system] for renamed in names if system in renamed)
        notes.append(f"{system} is in several of the files; here it is {called}")
    profiles = {file.profile for file in files}
    joined = ScoreFile(
        {},
        lower_is_better=lower.union(*(file.lower_is_better for file in files)),
        profile=profiles.pop() if len(profiles) == 1 else None,
    )
    for file, renamed in zip(files, names, strict=True):
        joined.cells.update({renamed[system]: by_measure for system, by_measure in file.cells.items()})
        joined.unanswered.update({renamed[name]: file.unanswered[name] for name in renamed if name in file.unanswered})
    scores = as_scores(joined, where=", ".join(map(str, paths)))
    notes += scores.lacking_in_words()
    give_warning(*notes)
    return replace(scores, notes=tuple(notes))


def scores_by_file(
    paths: Sequence[str | os.PathLike[str]], *, measure: str | None = None, alone: bool
) -> Iterator[Scores]:
    """Yield the scores of one file after the other; `alone` says what a table without names of systems is."""
    for path in map(Path, paths):
        yield as_scores(read_file(path, alone=alone, measure=measure), where=str(path))


def names_apart(paths: Sequence[str | os.PathLike[str]], files: Sequence[Iterable[str]]) -> list[dict[str, str]]:
    """Return the names of each file's systems; one that is in several files gets the name of the file as well."""
    n_files = Counter(system for systems in files for system in set(systems))
    named: list[dict[str, str]] = []
    for systems, label in zip(files, file_labels(paths), strict=True):
        stem = re.sub(r" \(\d+\)$", "", label).rpartition("/")[2]  # what a system without a name is called
        apart = {system: label if system == stem else f"{system} ({label})" for system in systems}
        named.append({system: system if n_files[system] == 1 else apart[system] for system in systems})
    if twice := [name for name, n in Counter(name for each in named for name in each.values()).items() if n > 1]:
        raise InputError(f"two systems would be called {twice[0]!r}", hint="rename one of them, or one of the files")
    return named


def file_labels(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return a name for each file: its own without the ending, with as many folders as tell them apart."""
    parts = [(*Path(os.path.abspath(path)).parent.parts, stem_of(Path(path))) for path in paths]  # noqa: PTH100
    depth, deepest = 1, max(map(len, parts), default=1)
    while depth < deepest and len({part[-depth:] for part in parts}) < len(set(parts)):
        depth += 1
    labels: list[str] = []
    for part in parts:
        label = "/".join(part[-depth:])
        n_same = sum(other == part for other in parts[: len(labels)])
        labels.append(f"{label} ({n_same + 1})" if n_same else label)
    return labels


def other_qrels(paths: Sequence[str | os.PathLike[str]], *, anyway: bool = False) -> dict[str, str]:
    """Return why systems cannot be compared with those of the first file: their scores are against other qrels.

    Only our own records say which qrels they are against. An error, unless `anyway`.
    """
    if len(paths) == 1:
        return {}
    found: dict[Path, str] = {}
    first: tuple[Path, str] | None = None
    for path in map(Path, paths):
        if format_in_name(path.name) != "json" or not os.path.exists(path):  # noqa: PTH110 (any name at all)
            continue
        data = read_json(path)
        record = own_record(data, path)
        if record is None or record.qrels.sha256 is None:
            continue
        digest = record.qrels.sha256
        first = first or (path, digest)
        if digest != first[1]:
            reason = f"{path} holds scores against other qrels than {first[0]} (sha256 {digest[:12]}, {first[1][:12]})"
            if not anyway:
                raise InputError(reason, hint="score both runs against the same qrels; --anyway shows the numbers")
            found[path] = f"{reason}."
    if not found:
        return {}
    files = [read_file(path, alone=len(paths) == 1, measure=None).cells for path in map(Path, paths)]
    names = zip(map(Path, paths), names_apart(paths, files), strict=True)
    return {name: found[path] for path, renamed in names if path in found for name in renamed.values()}


def own_record(data: Any, path: Path) -> ScoresRecord | None:
    """Return what `rankscope evaluate` writes as JSON, or None; JSON of ours that holds no scores is refused."""
    kind = kind_of_json(data)
    if kind not in ("", "Scores"):
        raise FormatError(
            f"{path} holds no scores of queries: it is the JSON of {kind}",
            hint="give the scores: rankscope evaluate QRELS RUN … -o scores.json",
        )
    is_own = isinstance(data, Mapping) and isinstance(data.get("runs"), list)
    return from_builtins(ScoresRecord, data, where=str(path)) if is_own else None


def read_file(path: Path, *, alone: bool, measure: str | None) -> ScoreFile:
    if not os.path.exists(path):  # noqa: PTH110 (any name at all)
        raise InputError(f"{path} does not exist")
    try:
        source = source_of(path)
        format_name = guess_format(source.name, source.head(4096))
        if format_name == "json":
            data = parse_json(source.read(), where=str(path))
            record = own_record(data, path)
            if record is None:
                lower: set[str] = set()
                cells = collect(in_json(data, path, alone=alone, measure=measure, lower=lower))
                return ScoreFile(cells, lower_is_better=frozenset(lower))
            notes: tuple[str, ...] = ()
            if record.weights is not None:
                weighted = f"{path}: its means are weighted by {record.weights.column}"
                notes = (f"{weighted}; here all queries count the same",)
            return ScoreFile(
                collect(in_mapping({run.name: run.queries for run in record.runs}, path)),
                notes=notes,
                unanswered={run.name: run.unanswered for run in record.runs},
                profile=record.profile,
            )
        is_known = format_name == format_in_name(source.name)
        if format_name is not None and (is_known or not FORMATS[format_name].has_text_cells):
            rows = list(read_rows(source, format=format_name))
            if format_name == "csv":
                rows = restored_rows(rows)
            lower = set()
            cells = collect(in_rows(rows, path, alone=alone, measure=measure, lower=lower))
            return ScoreFile(cells, lower_is_better=frozenset(lower))
        return ScoreFile(collect(in_trec_eval(source.read().decode(), path)))
    except RankscopeError:
        raise
    except Exception as error:  # whatever a reader of tables stumbles over, the file is not a table of scores
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise FormatError(
            f"{path} cannot be read as scores: {reason}", hint="one row per query, a column per system or measure"
        ) from error


def stem_of(path: Path) -> str:
    """Return the name of a file without its format and compression."""
    return Path(path.stem).stem if compression_in_name(path.name) else path.stem


def in_rows(
    rows: Sequence[NumberedRow], path: Path, *, alone: bool, measure: str | None, lower: set[str]
) -> Iterator[Cell]:
    """Yield the scores of a table; measures of a long one that it says are lower for better are added to `lower`."""
    if not rows:
        raise FormatError(f"{path} has no rows")
    columns = list(rows[0][1])
    found = match_columns(columns, SCORE_COLUMNS)
    query, system, name, value = (found.get(role) for role in SCORE_COLUMNS)
    if query is None:
        hint = f"name it one of {', '.join(SCORE_COLUMNS['query'][:5])}"
        raise FormatError(f"{path} has no column for the query among {', '.join(columns[:8])}", hint=hint)
    words = {column for column in columns if column.lower() == "text" and any(is_word(row[column]) for _, row in rows)}
    for number, row in rows:
        owner, where = stem_of(path) if system is None else str(row[system]), f"{path}:{number}"
        if name is not None and value is not None:
            if str(row.get("lower_is_better")).lower() == "true":
                lower.add(str(row[name]))
            yield owner, str(row[name]), row[query], row[value], where
            continue
        for column in columns:
            if column not in (query, system) and column not in words:  # what was asked is no score
                by_system = system is None and alone
                place = (column, measure or "score") if by_system else (owner, column)
                yield *place, row[query], row.get(column), where


def is_word(cell: Any) -> bool:
    """Tell whether a cell holds a text that is no number, such as what was asked."""
    return isinstance(cell, str) and bool(cell.strip()) and number_in(cell) is None


def in_json(data: Any, path: Path, *, alone: bool, measure: str | None, lower: set[str]) -> Iterator[Cell]:
    """Return the scores in JSON: rows, or {system: {query: {measure: score}}} and its parts."""
    if isinstance(data, list):
        return in_rows(list(enumerate(data, 1)), path, alone=alone, measure=measure, lower=lower)
    depth, inner = 0, data
    while isinstance(inner, Mapping) and inner:
        depth, inner = depth + 1, next(iter(inner.values()))
    if depth == 3:
        return in_mapping(data, path)
    if depth == 2 and alone and measure:
        return in_mapping({s: {q: {measure: v} for q, v in scores.items()} for s, scores in data.items()}, path)
    if depth == 2:
        return in_mapping({stem_of(path): data}, path)
    raise FormatError(
        f"{path} holds no scores of named systems and queries", hint="give {system: {query: {measure: score}}}, or rows"
    )


def in_mapping(data: Mapping[str, Mapping[str, Mapping[str, Any]]], path: Path) -> Iterator[Cell]:
    for system, queries in data.items():
        for query, scores in queries.items():
            yield from ((str(system), name, query, value, str(path)) for name, value in scores.items())


def in_trec_eval(text: str, path: Path) -> list[Cell]:
    """Return the scores per query that trec_eval -q, or a tool like it, prints: measure, query, value."""
    cells: list[Cell] = []
    for line_number, line in enumerate(text.splitlines(), 1):
        parts, where = line.split(), f"{path}:{line_number}"
        if len(parts) not in (0, 3):
            hint = f"score files are {table_endings()}, or the text of trec_eval -q"
            raise FormatError(f"{where}: not `measure query value`", hint=hint)
        if parts and parts[0] != "runid":
            cells.append((stem_of(path), parts[0], parts[1], parts[2], where))
    if all(query.lower() in _SUMMARY_ROWS for _, _, query, _, _ in cells):
        raise FormatError(f"{path} has no score of a single query", hint="trec_eval prints them with -q")
    return cells


def collect(found: Iterable[Cell]) -> Cells:
    """Return scores by system, measure and query; a row that holds the mean of all queries is no query."""
    cells: Cells = {}
    for system, measure, query, value, where in found:
        key = as_id(query)
        if key.lower() in _SUMMARY_ROWS:
            continue
        scores = cells.setdefault(system, {}).setdefault(measure, {})
        if key in scores:
            raise FormatError(f"{where}: {measure} of query {key} is given twice for {system}")
        if type(value) is not float:  # most are, and there are many
            is_empty = value is None or str(value).strip().lower() in ("", "nan", "null", "na", "none")
            try:
                scores[key] = math.nan if is_empty else float(value)  # an empty cell is an undefined score
            except (TypeError, ValueError):
                raise FormatError(
                    f"{where}: {value!r} is not a number", hint="every column but the query holds scores"
                ) from None
        else:
            scores[key] = value
        if math.isinf(scores[key]):
            raise FormatError(f"{where}: {value!r} is no score", hint="scores are finite numbers")
    return cells


def as_scores(file: ScoreFile, *, where: str) -> Scores:
    """Return the scores of all systems on the same queries, for the measures that all of them have."""
    cells = file.cells
    if not cells:
        raise FormatError(f"{where} holds no score of a single query", hint="one row per query, a column per system")
    shared = [m for m in next(iter(cells.values())) if all(m in by_measure for by_measure in cells.values())]
    if not shared:
        names = {system: sorted(by_measure)[:4] for system, by_measure in list(cells.items())[:3]}
        raise InputError(f"{where}: the systems have no measure in common", hint=f"they have {names}")
    queries = tuple(dict.fromkeys(chain(*(by_measure[m] for by_measure in cells.values() for m in shared))))
    runs = []
    for name, by_measure in cells.items():
        values = np.array([[by_measure[m].get(q, math.nan) for q in queries] for m in shared]).T.copy()
        known = set(chain(*(by_measure[m] for m in shared))).difference(file.unanswered.get(name, ()))
        answered = np.array([q in known for q in queries])
        run = RunScores(
            name=name,
            query_ids=queries,
            measures=tuple(shared),
            values=values,
            undefined=np.isnan(values),  # also a query that it has no score for
            answered=answered,
            counts=Counts(len(queries), int((~answered).sum()), 0, 0, 0, 0),
            aggregates=("mean",) * len(shared),
            lower_is_better=file.lower_is_better & frozenset(shared),
        )
        runs.append(run)
    some = dict.fromkeys(m for by_measure in cells.values() for m in by_measure if m not in shared)
    lacking = {m: tuple(name for name, by_measure in cells.items() if m not in by_measure) for m in some}
    return Scores(tuple(runs), qrels=QrelsInfo(len(queries)), policies={}, profile=file.profile, lacking=lacking)


def with_measures(scores: Scores, names: Sequence[str]) -> Scores:
    """Return the scores by some of the measures alone, in the order given."""
    places = [scores.measures.index(name) for name in names]
    runs = tuple(
        replace(
            run,
            measures=tuple(names),
            values=run.values[:, places],
            undefined=run.undefined[:, places],
            aggregates=tuple(run.aggregates[i] for i in places),
            left_out=tuple(run.left_out[i] for i in places) if run.left_out else (),
        )
        for run in scores.values()
    )
    return replace(scores, runs=runs)
