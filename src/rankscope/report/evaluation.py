"""The scores of an evaluation, made ready to be read: tables, JSON and lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from rankscope.light import replace
from rankscope.measures.scores import RunScores, Scores, show
from rankscope.report.table import Cell, Table, transposed

if TYPE_CHECKING:
    from rankscope.analysis.bands import BandProfile  # loaded where words are asked for

Value = TypeVar("Value")

MANY = 4
"""From more than this many files on, they are counted instead of named."""
MANY_MEASURES = 8
"""More measures than this do not fit side by side into a terminal."""
MANY_WITH_WORDS = 3
"""As above, where scores have words beside them."""


def summary_table(scores: Scores, *, bands: BandProfile | None = None) -> Table:
    """Return one row per run with the mean of every measure; the best of several is marked."""
    summary = scores.mean()
    best, counted = best_values(scores), counts_among(scores)
    rows = [
        [
            Cell(name),
            *(number_cell(summary[name][m].value, best.get(m), whole=m in counted) for m in scores.measures),
        ]
        for name in scores
    ]
    return in_words(Table(["run", *scores.measures], rows, notes=tuple(notes(scores))), bands)


def readable_table(scores: Scores, *, bands: BandProfile | None = None) -> Table:
    """Return the summary with the runs side by side, one row per measure, where these are many."""
    table = summary_table(scores, bands=bands)
    room = MANY_MEASURES if bands is None else MANY_WITH_WORDS
    many = len(scores.measures) > room and len(scores) < len(scores.measures)
    return transposed(table, corner="measure") if many else table


def query_table(scores: Scores, *, bands: BandProfile | None = None) -> Table:
    """Return one row per query and run."""
    single, counted = len(scores) == 1, counts_among(scores)
    header = ["query", *([] if single else ["run"]), *scores.measures]
    by_query: dict[str, list[list[Cell]]] = {}
    for name, run in scores.items():
        for query, values in zip(run.query_ids, run.values.tolist(), strict=True):
            names = [Cell(query)] if single else [Cell(query), Cell(name)]
            cells = (number_cell(v, None, whole=m in counted) for m, v in zip(run.measures, values, strict=True))
            by_query.setdefault(query, []).append([*names, *cells])
    rows = [row for rows in by_query.values() for row in rows]
    return in_words(Table(header, rows, n_name_columns=1 if single else 2, notes=tuple(notes(scores))), bands)


def in_words(table: Table, bands: BandProfile | None) -> Table:
    """Return the table with the word of its band beside each score: 0.7123 very good, 0.7-0.9."""
    if bands is None:
        return table
    from rankscope.report.bands import bands_note

    rows = [[worded(cell, name, bands) for name, cell in zip(table.header, row, strict=True)] for row in table.rows]
    return replace(table, rows=rows, notes=(*table.notes, bands_note(bands)))


def worded(cell: Cell, measure: str, bands: BandProfile) -> Cell:
    """Return a cell with the word for its score; one without a score as it is."""
    words = word_cell(cell, measure, bands).text
    return replace(cell, text=f"{cell.text} {words}") if words else cell


def with_word_columns(table: Table, bands: BandProfile) -> Table:
    """Return the table with the words in columns of their own, for programs that read the scores as numbers."""
    from rankscope.report.bands import has_words

    names = table.header[table.n_name_columns :]
    worded = [i for i, name in enumerate(table.header) if name in names and has_words(name, bands)]

    header = beside(table.header, {i: f"{table.header[i]} band" for i in worded})
    rows = [beside(row, {i: word_cell(row[i], table.header[i], bands) for i in worded}) for row in table.rows]
    return replace(table, header=header, rows=rows)


def beside(row: Sequence[Value], added: Mapping[int, Value]) -> list[Value]:
    """Return a row with some values added right behind those at the positions given."""
    return [value for i, old in enumerate(row) for value in ([old, added[i]] if i in added else [old])]


def word_cell(cell: Cell, measure: str, bands: BandProfile) -> Cell:
    """Return the word for the score in another cell."""
    from rankscope.report.bands import band_words

    return Cell(band_words(float(cell.raw), measure, bands) if cell.raw else "")


def best_values(scores: Scores) -> dict[str, float]:
    """Return the best value of each measure where there are several runs to choose from."""
    if len(scores) == 1:
        return {}
    lower = next(iter(scores.values())).lower_is_better
    summary = scores.mean()
    best = {}
    for measure in scores.measures:
        values = [v for v in (summary[name][measure].value for name in scores) if not math.isnan(v)]
        if len(set(values)) > 1:
            best[measure] = min(values) if measure in lower else max(values)
    return best


def counts_among(scores: Scores) -> set[str]:
    """Return the measures that count something, such as NumRel: they are summed, and printed without decimals."""
    run = next(iter(scores.values()))
    return {measure for measure, how in zip(run.measures, run.aggregates, strict=True) if how == "sum"}


def number_cell(value: float, best: float | None, *, whole: bool = False) -> Cell:
    """Return a score as a cell; as it prints, so that two equal looking values are both best or not."""
    text = show_number(value, whole=whole)
    is_best = best is not None and text == show_number(best, whole=whole)
    return Cell(text, raw="" if math.isnan(value) else repr(value), best=is_best)


def show_number(value: float, *, whole: bool) -> str:
    """Print a score with four decimals, a count as the whole number that it is."""
    return f"{value:.0f}" if whole and value.is_integer() else show(value)


def notes(scores: Scores) -> Iterator[str]:
    """Say over how many queries the means are, how much was judged, and which runs are special."""
    runs = list(scores.values())
    n_queries = sorted({run.counts.queries for run in runs})
    unjudged = sorted(run.counts.unjudged / max(run.counts.retrieved, 1) for run in runs)
    profile = f"; profile {scores.profile}" if scores.profile else ""
    yield (
        f"{queries(n_queries[0]) if len(n_queries) == 1 else span(map(str, n_queries)) + ' queries'}; "
        f"{span(f'{share:.0%}' for share in unjudged)} of the retrieved docs are unjudged{profile}"
    )
    if scores.weighted_by is not None:
        effective = span(f"{n:.1f}" for n in sorted(run.effective_n for run in runs))
        yield f"weighted by {scores.weighted_by}; effective n {effective}, as of so many queries of the same weight"
    origins = [("qrels", scores.qrels.origin), *((name, run.origin) for name, run in scores.items())]
    formats = [(name, origin.format) for name, origin in origins if origin is not None]
    if formats:
        yield f"read as {', '.join(f'{form} ({names})' for form, names in grouped(formats))}"
    for run in runs:
        special = "; ".join(special_queries(run, scores.policies))
        if special:
            yield f"{run.name}: {special}"


def span(ordered: Iterable[str]) -> str:
    """Return the first and the last of ordered values, or the only one there is."""
    first, *_, last = [*ordered] * 2
    return first if first == last else f"{first} to {last}"


def grouped(formats: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield each format with the names of what was read as it, or their number where they are many."""
    names_of: dict[str, list[str]] = {}
    for name, form in formats:
        names_of.setdefault(form, []).append(name)
    for form, names in names_of.items():
        yield form, ", ".join(names) if len(names) <= MANY else f"{len(names)} files"


def special_queries(run: RunScores, policies: Mapping[str, Any]) -> Iterator[str]:
    """Say which queries of a run are treated specially."""
    effect = {"zero": "counted as 0", "skip": "left out", "exclude": "left out"}
    counts = run.counts
    if counts.missing:
        yield f"{queries(counts.missing)} not answered ({effect[policies['missing']]})"
    if counts.no_relevant:
        yield f"{queries(counts.no_relevant)} without relevant docs ({effect[policies['no_relevant']]})"
    if counts.not_in_qrels:
        yield f"{queries(counts.not_in_qrels)} not in the qrels (left out)"
    for measure, n_left_out in zip(run.measures, run.left_out, strict=False):  # scores from files count none
        if n_left_out:
            yield f"{measure} undefined for {queries(n_left_out)} (left out)"


def queries(n: int) -> str:
    return "1 query" if n == 1 else f"{n} queries"


def json_record(scores: Scores) -> dict[str, Any]:
    """Return the evaluation as the JSON record whose schema is published."""
    from rankscope.measures.scores_record import scores_builtins

    return scores_builtins(scores)


def json_text(scores: Scores) -> str:
    """Return the JSON record as text."""
    return scores.to_json()


def json_lines(scores: Scores, *, per_query: bool) -> str:
    """Return one JSON object per run, or per run and query."""
    records = scores.records() if per_query else ({"run": name, **row} for name, row in scores.mean().to_dict().items())
    import json

    return "".join(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of the record."""
    from rankscope.measures.scores_record import scores_schema

    return scores_schema()


def closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
