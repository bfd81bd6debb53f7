"""The scores of an evaluation, made ready to be read: tables, JSON and lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope._version import __version__
from rankscope.errors import MeasureError, OptionError
from rankscope.light import replace
from rankscope.measures.scores import RunScores, Scores, is_over_same_queries, show
from rankscope.printable import counted, digest_words
from rankscope.report.table import Cell, Table, transposed

if TYPE_CHECKING:
    from rankscope.analysis.bands import BandProfile  # loaded where words are asked for

USUAL_FORMAT = "trec"
"""Ways of reading files that need no mention."""
NAMED_FILES = 4
"""More files than this are counted instead of named."""
FEW_RUNS, FEW_MEASURES = 5, 6
"""So many are still shown where everything goes to a file."""
N_IN_WORDS = "n: how many queries the mean is over, where that is not all of them"


def primary_of(scores: Scores) -> str:
    """Return the measure that decides: of a profile's own measures nDCG@10, else the first."""
    if scores.profile is None:
        return scores.measures[0]
    from rankscope.evaluation import deciding_measure

    return deciding_measure(scores.profile, scores.measures)


def decided_by(scores: Scores, primary: str) -> Scores:
    """Return the scores with the measure that a project says decides as their primary one: the first."""
    if primary_of(scores) == primary:
        return scores
    ordered = scores.only(measures=[primary, *(name for name in scores.measures if name != primary)])
    return ordered if primary_of(ordered) == primary else replace(ordered, profile=None)


def best_first(scores: Scores) -> Scores:
    """Return the scores with the runs in the order of the primary measure; those without a score are last.

    Where the means are not over the same queries there is no such order, and the runs stay as they were given.
    """
    primary = primary_of(scores)
    return scores.sorted(primary) if is_over_same_queries(scores, primary) else scores


def summary_table(scores: Scores, *, bands: BandProfile | None = None) -> Table:
    """Return one row per run with the mean of every measure; the best of several is marked."""
    rows = [[Cell(name), *cells] for name, cells in mean_cells(scores).items()]
    known = (*notes(scores), *mean_notes(scores))
    table = in_words(Table(["run", *scores.measures], rows, notes=known), scores, bands)
    return table if bands is None else replace(table, notes=(*table.notes, *lines_in_words(scores, bands)))


def lines_in_words(scores: Scores, bands: BandProfile) -> Iterator[str]:
    """Say how good each run is, in the words of the bands; nothing of a run for which they have none."""
    from rankscope.analysis.bands import in_one_line

    for name, run in scores.items():
        if line := in_one_line(run, bands):
            yield f"{name}: {line}"


def whose_words(bands: BandProfile) -> str:
    return f"words: bands {bands.name}" + (f" ({bands.description})" if bands.description else "")


def mean_cells(scores: Scores) -> dict[str, list[Cell]]:
    """Return the mean of every measure by run; with its n where that is not the same for all, the best marked."""
    best, counted, summary = best_values(scores), counts_among(scores), scores.mean()
    with_n = summary.over_fewer_queries
    return {
        name: [
            number_cell(means[m].value, best.get(m), whole=m in counted, n=means[m].n if m in with_n else None)
            for m in scores.measures
        ]
        for name, means in summary.items()
    }


def mean_notes(scores: Scores) -> Iterator[str]:
    """Say what n is, and why the best of some measures is not marked."""
    if scores.mean().over_fewer_queries:
        yield N_IN_WORDS
    unmarked = [measure for measure in scores.measures if not is_over_same_queries(scores, measure)]
    if unmarked:
        yield no_best_words(unmarked)


def no_best_words(measures: Iterable[str]) -> str:
    return f"no best {', '.join(measures)}: not over the same queries, so that a run could win by finding less"


def with_n_columns(table: Table, scores: Scores) -> Table:
    """Return the table with n in a column of its own behind each mean that is not over all queries."""
    summary, header, columns = scores.mean(), list(table.header), list(zip(*table.rows, strict=True))
    for measure in scores.measures:
        if measure in summary.over_fewer_queries:
            place = header.index(measure) + 1
            header.insert(place, f"{measure} n")
            columns.insert(place, tuple(Cell(str(means[measure].n)) for means in summary.values()))
    return replace(table, header=header, rows=list(zip(*columns, strict=True)))


def readable_table(scores: Scores, *, bands: BandProfile | None = None) -> Table:
    """Return the summary with the runs side by side, one row per measure, where these are many."""
    table = summary_table(scores, bands=bands)
    room = 8 if bands is None else 3  # more do not fit side by side into a terminal
    many = len(scores.measures) > room and len(scores) < len(scores.measures)
    return transposed(table, corner="measure") if many else table


def short_table(scores: Scores, *, keep: Iterable[str] = ()) -> Table:
    """Return the first few runs by the first few measures, without notes; `keep` are runs that are never left out."""
    kept = [run for i, run in enumerate(scores.runs) if i < FEW_RUNS or run.name in keep]
    table = summary_table(scores)
    rows = [row[: FEW_MEASURES + 1] for row, run in zip(table.rows, scores.runs, strict=True) if run in kept]
    left_out = {"run": len(scores) - len(kept), "measure": len(scores.measures) - FEW_MEASURES}
    more = ", ".join(f"{n} more {name}{'s' if n > 1 else ''}" for name, n in left_out.items() if n > 0)
    return Table(table.header[: FEW_MEASURES + 1], rows, notes=(more,) if more else ())


def query_table(scores: Scores, *, bands: BandProfile | None = None) -> Table:
    """Return every query's scores; what was asked stands beside its id, where that is known."""
    single, counted, asked = len(scores) == 1, counts_among(scores), {}
    if scores.texts:
        from rankscope.report.words import text_cell  # not needed where nothing is known but ids

        asked = {query: [text_cell(scores.texts.get(query, ""))] for run in scores.runs for query in run.query_ids}
    names = ["query", *(["text"] if asked else []), *([] if single else ["run"])]
    by_query: dict[str, list[list[Cell]]] = {}
    for name, run in scores.items():
        for query, values in zip(run.query_ids, run.values.tolist(), strict=True):
            cells = (number_cell(v, None, whole=m in counted) for m, v in zip(run.measures, values, strict=True))
            row = [Cell(query), *asked.get(query, ()), *([] if single else [Cell(name)]), *cells]
            by_query.setdefault(query, []).append(row)
    rows = [row for rows in by_query.values() for row in rows]
    table = Table([*names, *scores.measures], rows, n_name_columns=len(names), notes=tuple(notes(scores)))
    return in_words(table, scores, bands)


def in_words(table: Table, scores: Scores, bands: BandProfile | None) -> Table:
    """Return the table with the word of its band beside each score: 0.7123 very good, 0.7-0.9."""
    if bands is None:
        return table
    rows = [
        [
            replace(cell, text=f"{cell.text} {word}") if (word := words.get(name)) else cell
            for name, cell in zip(table.header, row, strict=True)
        ]
        for row, words in words_by_row(table, scores, bands)
    ]
    return replace(table, rows=rows, notes=(*table.notes, whose_words(bands)))


def with_word_columns(table: Table, scores: Scores, bands: BandProfile) -> Table:
    """Return the table with the words in columns of their own, for programs that read the scores as numbers."""
    from rankscope.measures.parse import parse_measure

    header: list[str] = []
    columns: list[list[Cell]] = []
    words = [found for _, found in words_by_row(table, scores, bands)]
    for i, name in enumerate(table.header):
        header.append(name)
        columns.append([row[i] for row in table.rows])
        if i >= table.n_name_columns and bands.of(parse_measure(name)):
            header.append(f"{name} band")
            columns.append([Cell(found.get(name, "")) for found in words])
    return replace(table, header=header, rows=list(zip(*columns, strict=True)))


def words_by_row(table: Table, scores: Scores, bands: BandProfile) -> Iterator[tuple[Sequence[Cell], dict[str, str]]]:
    """Yield each row of a table of means, or of every query's scores, with the words for its scores by measure."""
    from rankscope.analysis.bands import band_in

    for row in table.rows:
        names = {heading: cell.text for heading, cell in zip(table.header[: table.n_name_columns], row, strict=False)}
        run = scores[names["run"]] if "run" in names else next(iter(scores.values()))
        found = {name: band_in(run, name, bands, query=names.get("query")) for name in scores.measures}
        yield row, {name: str(band) for name, band in found.items() if band is not None}


def load_bands(name_or_path: str) -> BandProfile:
    """Return the bands of that name, or from that TOML file."""
    from pathlib import Path

    from rankscope.analysis.bands import find_bands, parse_bands

    path = Path(name_or_path)
    if path.suffix.lower() != ".toml":
        return find_bands(name_or_path)
    import tomllib  # not needed for bands that come with Rankscope

    try:
        record = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise OptionError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise OptionError(f"{path} is not TOML: {error}", hint='names with @ need quotes: "nDCG@10" = …') from None
    return parse_bands(record, name=path.stem)


def best_values(scores: Scores) -> dict[str, float]:
    """Return the best mean of each measure, where there is one and the means of all runs are over the same queries."""
    if len(scores) == 1:
        return {}
    lower = next(iter(scores.values())).lower_is_better
    means = list(scores.mean().values())
    best = {}
    for measure in scores.measures:
        values = [value for each in means if not math.isnan(value := each[measure].value)]
        if len(set(values)) > 1 and is_quality(measure) and is_over_same_queries(scores, measure):
            best[measure] = min(values) if measure in lower else max(values)
    return best


def is_quality(measure: str) -> bool:
    """Tell whether a measure says how good a run is; the share of judged docs does not."""
    return not measure.startswith("Judged")


def counts_among(scores: Scores) -> set[str]:
    """Return the measures that count something, such as NumRel: they are summed, and printed without decimals."""
    run = next(iter(scores.values()))
    return {measure for measure, how in zip(run.measures, run.aggregates, strict=True) if how == "sum"}


def number_cell(value: float, best: float | None, *, whole: bool = False, n: int | None = None) -> Cell:
    """Return a score as a cell, a count as a whole number; two values that look equal are both best or not.

    `n`, where it is given, stands behind a mean and says how many queries it is over.
    """

    def printed(number: float) -> str:
        return f"{number:.0f}" if whole and number.is_integer() else show(number)

    text, raw = printed(value), "" if math.isnan(value) else repr(value)
    over = "" if n is None else f" (n={n})"
    return Cell(f"{text}{over}", raw=raw, best=best is not None and text == printed(best))


def notes(scores: Scores) -> Iterator[str]:
    """Say over how many queries the means are, how much was judged, and which runs are special."""
    runs = list(scores.values())
    if not scores.policies:
        yield from notes_as_given(scores)
        return
    n_queries = sorted({run.counts.queries for run in runs})
    unjudged = sorted(run.counts.unjudged / run.counts.retrieved for run in runs if run.counts.retrieved)
    docs = "no docs were retrieved"
    if unjudged:
        docs = f"{span(map(percent, unjudged))} of the retrieved docs are unjudged"
    profile = f"; profile {scores.profile}" if scores.profile else ""
    yield (
        f"{queries(n_queries[0]) if len(n_queries) == 1 else span(map(str, n_queries)) + ' queries'}; {docs}{profile}"
    )
    if scores.weighted_by is not None:
        effective = span(f"{n:.1f}" for n in sorted(run.effective_n for run in runs))
        yield f"weighted by {scores.weighted_by}; effective n {effective}, as of so many queries of the same weight"
    formats = read_as(scores)
    if formats and not formats.startswith(USUAL_FORMAT):
        yield f"read as {formats}"
    for run in runs:
        special = "; ".join(special_queries(run, scores.policies))
        if special:
            yield f"{run.name}: {special}"


def percent(share: float) -> str:
    """Return a share in percent; what is not all is never said to be 100%, and what is not nothing never 0%."""
    for digits in (0, 1):
        words = f"{share:.{digits}%}"
        if share in (0, 1) or float(words[:-1]) not in (0, 100):
            return words
    return "over 99.9%" if share > 0.5 else "under 0.1%"


def read_as(scores: Scores) -> str:
    """Say which formats the files were taken for, the less usual ones first; nothing where there are no files."""
    names_of: dict[str, list[str]] = {}
    for name, origin in [("qrels", scores.qrels.origin), *((name, run.origin) for name, run in scores.items())]:
        if origin is not None:
            names_of.setdefault(origin.format, []).append(name)
    return ", ".join(
        f"{form} ({', '.join(names) if len(names) <= NAMED_FILES else f'{len(names)} files'})"
        for form, names in sorted(names_of.items(), key=lambda item: item[0] == USUAL_FORMAT)
    )


def notes_as_given(scores: Scores) -> Iterator[str]:
    """Say of scores that were read from files what they know: nothing of docs."""
    yield f"{queries(scores.qrels.n_queries)}; scores as given"
    for run in scores.values():
        n_without = int((~run.answered & run.undefined.all(axis=1)).sum())
        counts = {"not answered": run.counts.missing - n_without, "without a score (left out)": n_without}
        if words := "; ".join(f"{queries(n)} {what}" for what, n in counts.items() if n):
            yield f"{run.name}: {words}"


def span(ordered: Iterable[str]) -> str:
    """Return the first and the last of ordered values, or the only one there is."""
    first, *_, last = [*ordered] * 2
    return first if first == last else f"{first} to {last}"


def special_queries(run: RunScores, policies: Mapping[str, Any]) -> Iterator[str]:
    from rankscope.measures.parse import parse_measure

    counts, has_scores = run.counts, not np.isnan(run.values[~run.answered]).all()
    for n, what, becomes_zero in (
        (counts.missing, "not answered", policies.get("missing") == "zero" and has_scores),
        (counts.no_relevant, "without relevant docs", policies.get("no_relevant") == "zero" and not needs_found(run)),
        (counts.not_in_qrels, "not in the qrels", False),
    ):
        if n:
            yield f"{queries(n)} {what} ({'counted as 0' if becomes_zero else 'left out'})"
    for i, (measure, n_left_out) in enumerate(zip(run.measures, run.left_out, strict=False)):  # older records lack it
        n_undefined = int(run.undefined[:, i].sum())
        if n_left_out:
            yield f"{measure} undefined for {queries(n_left_out)} (left out)"
        elif n_undefined and policies.get("undefined") == "zero" and not parse_measure(measure).spec.about_relevance:
            yield f"{measure} undefined for {queries(n_undefined)} (counted as 0)"


def needs_found(run: RunScores) -> bool:
    """Tell whether every measure leaves out queries without relevant docs, since 0 would look like its best score."""
    from rankscope.measures.parse import parse_measure

    try:
        specs = [parse_measure(measure).spec for measure in run.measures]
    except MeasureError:  # one of somebody else's, which is not at hand
        return False
    return all(spec.about_relevance and spec.if_undefined == "skip" for spec in specs)


def queries(n: int) -> str:
    return counted(n, "query")


def footer(scores: Scores, command: str) -> Iterator[tuple[str, str]]:
    """Yield what is needed to obtain a report again."""
    for name, origin in [("qrels", scores.qrels.origin), *((run.name, run.origin) for run in scores.values())]:
        if origin is not None:
            yield name, f"{origin.path} {digest_words(origin.sha256)}"
    if formats := read_as(scores):
        yield "read as", formats
    if scores.policies:
        yield "policies", ", ".join(f"{name}={value}" for name, value in scores.policies.items() if value is not None)
    yield "rankscope", __version__
    if command:
        yield "command", command


def queries_in_words(scores: Scores) -> Iterator[dict[str, Any]]:
    """Yield one record per run and query, with what was asked where that is known."""
    for record in scores.records():
        run, query = record.pop("run"), record.pop("query")
        text = scores.texts.get(query)
        yield {"run": run, "query": query, **({} if text is None else {"text": text}), **record}


def json_lines(scores: Scores, *, per_query: bool) -> str:
    """Return one JSON object per run, or per run and query."""
    import json

    summary = scores.mean()
    counted = [measure for measure in scores.measures if measure in summary.over_fewer_queries]
    ns = {name: {f"{measure} n": row[measure].n for measure in counted} for name, row in summary.items()}
    means = ({"run": name, **row, **ns[name]} for name, row in summary.to_dict().items())
    records = queries_in_words(scores) if per_query else means
    return "".join(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records)
