"""Bands: words for scores ("very good, 0.7-0.9"), as named tables that a report may use on request.

No standard says which score is good; it depends on the collection and the task. So a table of words is never applied
by itself, always has a name, and covers every score: bands are half-open (a limit belongs to the band above it), follow
one another without gaps, and the last one includes its upper end. The lowest and the highest score there is may have a
word of their own: 1 is perfect.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.errors import MeasureError, OptionError, did_you_mean
from rankscope.measures.parse import is_known, parse_measure
from rankscope.measures.registry import ALIASES, REGISTRY
from rankscope.measures.scores import RunScores, Scores, reaches, summarise
from rankscope.measures.spec import Measure
from rankscope.records import Record, replace

if TYPE_CHECKING:
    from rankscope.measures.scores_record import ScoresRecord

SCHEMA_HINT = 'write `[bands]`, then `"nDCG@10" = [[0, 0.5, "poor"], [0.5, 0.8, "good"], [0.8, 1, "very good"]]`'


class Band(Record):
    """A word for scores from `low` up to, but not including, `high`; the last band includes `high`."""

    low: float
    high: float
    word: str

    @property
    def span(self) -> str:
        """The limits as they are printed, such as 0.7-0.9, 60+ where there is no upper one, or the one score it is."""
        if self.low == self.high:
            return f"{self.low:g}"
        return f"{self.low:g}+" if math.isinf(self.high) else f"{self.low:g}-{self.high:g}"

    def __str__(self) -> str:
        return f"{self.word}, {self.span}"


class BandProfile(Record):
    """The bands of some measures, by the measure's name with its cut-off (`P@10`) or for all cut-offs (`nDCG`)."""

    name: str
    description: str
    bands: Mapping[str, tuple[Band, ...]]
    notes: tuple[str, ...] = ()
    """Where a table that others published was repaired, and how."""
    nouns: Mapping[str, str] = {}
    """What its words are said of, where that is not what NOUNS has: diverse content, not diverse ILD."""

    def of(self, measure: Measure) -> tuple[Band, ...]:
        """Return the bands of a measure, those of its own cut-off first; none where the profile has no words for it."""
        cutoff = measure.options.get(measure.spec.cutoff or "")
        return self.bands.get(f"{measure.base}@{cutoff}") or self.bands.get(measure.base, ())


def band_of(score: float, measure: str | Measure, profile: str | BandProfile) -> Band | None:
    """Return the band that a score of a measure falls into, or None where the profile has no word for it."""
    chosen = find_bands(profile) if isinstance(profile, str) else profile
    bands = chosen.of(parse_measure(measure) if isinstance(measure, str) else measure)
    if not bands or not (reaches(score, bands[0].low) and reaches(bands[-1].high, score)):
        return None  # a score that is not a number is not between any limits
    return next(
        (band for band in bands if not reaches(score, band.high) or reaches(band.low, score)),
        bands[-1],
    )


NOUNS = {
    "P": "precision",
    "R": "recall",
    "RR": "reciprocal rank",
    "AP": "average precision",
    "MeanGain": "relevance",
    "ILD": "diversity",
    "Distinct": "source diversity",
    "TopicCoverage": "topic coverage",
    "Uniqueness": "uniqueness",
}
"""What measures are called in a sentence; others by their name."""


def mean_bands(run: RunScores, bands: BandProfile) -> dict[str, Band]:
    """Return the band of every mean of a run for which the profile has a word."""
    found = {measure: band_in(run, measure, bands) for measure in run.measures}
    return {measure: band for measure, band in found.items() if band is not None}


def band_in(run: RunScores, measure: str, bands: BandProfile, *, query: str | None = None) -> Band | None:
    """Return the band of a run's mean, or of its score for a query; None where the profile has no word for it.

    Words for measures that are not about relevance, such as Uniqueness, are about the docs that are shown. A query
    without an answer has none, so where the 0 that it counts as decides the word, there is no word.
    """
    if not is_known(measure.partition("@")[0].partition("(")[0]):
        return None
    parsed = parse_measure(measure)
    band = band_of(run.aggregate_of(measure).value if query is None else run[query, measure], parsed, bands)
    i = run.measures.index(measure)
    shown = run.answered & ~run.undefined[:, i] & ~np.isnan(run.values[:, i])
    if parsed.spec.about_relevance or shown.all():
        return band
    if query is not None:
        return band if shown[run.query_ids.index(query)] else None
    weights = None if run.weights is None else run.weights[shown]
    of_docs = summarise(run.values[shown, i], run.aggregates[i], weights=weights)
    return band if band == band_of(of_docs, parsed, bands) else None


def in_one_line(run: RunScores, bands: BandProfile) -> str:
    """Say how good a run is in the words of a profile: good precision@3, moderate recall@5."""
    parts = []
    for name, band in mean_bands(run, bands).items():
        measure = parse_measure(name)
        noun = bands.nouns.get(measure.base) or NOUNS.get(measure.base, measure.base)
        cutoff = measure.options.get(measure.spec.cutoff or "")
        what = noun if cutoff is None else f"{noun}@{cutoff}"
        is_adjective = len(band.word.split()) == 1 or band.word.startswith(("very ", "somewhat "))
        parts.append(f"{band.word} {what}" if is_adjective else f"{what} {band.word}")
    return "; ".join(filter(None, (", ".join(parts), why_no_word(run, bands))))


def why_no_word(run: RunScores, bands: BandProfile) -> str:
    """Say which words are missing, as they would be about queries without an answer; nothing where none is."""
    known = [measure for measure in run.measures if is_known(measure.partition("@")[0].partition("(")[0])]
    with_word = mean_bands(run, bands)
    lacking = [
        measure
        for measure in known
        if measure not in with_word and band_of(run.aggregate_of(measure).value, measure, bands)
    ]
    why = "queries without an answer, or with too few docs for it, count as 0, which says nothing of their docs"
    return f"no word for {', '.join(lacking)}: {why}" if lacking else ""


def scores_in_words(scores: Scores, bands: BandProfile) -> ScoresRecord:
    """Return the stored form of scores with the words of a profile for all means."""
    from rankscope.measures.scores_record import scores_record

    record = scores_record(scores)
    runs = [
        replace(
            stored,
            words={measure: band.word for measure, band in mean_bands(scores[stored.name], bands).items()},
            in_words=in_one_line(scores[stored.name], bands),
        )
        for stored in record.runs
    ]
    return replace(record, bands=bands.name, runs=runs)


def steps(*limits_and_words: float | str, top: float = 1.0) -> tuple[Band, ...]:
    """Return bands from limits and words in turn, lowest first; the last band ends at `top`, or is `top` alone."""
    lows = [float(limit) for limit in limits_and_words[::2]]
    words = [str(word) for word in limits_and_words[1::2]]
    return tuple(itertools.starmap(Band, zip(lows, [*lows[1:], top], words, strict=True)))


_SHARES = steps(0, "zero", 0, "poor", 0.5, "moderate", 0.65, "good", 1, "perfect")
"""0 and 1 have words of their own."""
_LIMITS = "a limit belongs to the band above it: the document says '> 0.6' in one place and '0.6-0.8' in another"

BANDS: dict[str, BandProfile] = {
    profile.name: profile
    for profile in (
        BandProfile(
            "doctor-search",
            "the doctor finder's words",
            {
                "nDCG": steps(0, "poor", 0.5, "good", 0.8, "very good", 1, "perfect"),
                **dict.fromkeys(("P", "R", "RR"), _SHARES),
            },
            (
                (
                    "precision, recall and RR have words for 1, 0.5 and 0 in the document, and in its example: .67 is good "
                    "precision, .60 moderate recall, .5 moderate MRR; that 'good' starts at 0.65, between these, is ours"
                ),
                (
                    "RR: the document says that 0.5 is 'position 2 on average' and 0.33 'position 3': the mean of 1/rank is "
                    "not 1 over the mean rank (ranks 1 and never found give 0.5, too), so words are about the number alone"
                ),
            ),
        ),
        BandProfile(
            "podcast",
            "the podcast search's words, as its documents explain each measure",
            {
                "nDCG": steps(0, "needs improvement", 0.6, "good", 0.8, "excellent"),
                "P@10": steps(0, "below target", 0.6, "good"),
                "RR": steps(0, "below target", 0.7, "good"),
                "ILD": steps(0, "very similar", 0.3, "somewhat similar", 0.6, "diverse", 0.9, "very different", top=2),
                "R@10": steps(0, "low", 0.5, "medium", 1, "full"),
                "Distinct": steps(0, "low", 0.5, "medium", 1, "maximum"),
                "Uniqueness": steps(0, "reduced by duplicates", 1, "full"),
            },
            (
                (
                    "recall: 1.0 is 'all relevant items', 0.5 'half of them'; source diversity (podcast coverage): 1.0 is "
                    "'one result per podcast (maximum)', 0.5 'two results per podcast', 0.1 'many from the same (low)'; "
                    "'medium' from 0.5 up is ours"
                ),
                "diversity had no word from 0.8 to 0.9: 'diverse' now goes up to 0.9, since 'very different' starts there",
                "its other table has stricter words for nDCG and P@10: that is podcast-release",
                _LIMITS,
                "a reciprocal rank of 0.7 is not 'in the top 2 or 3': rank 2 alone gives 0.5",
            ),
            {"ILD": "content"},
        ),
        BandProfile(
            "podcast-release",
            "the podcast search's words for deciding on a release: stricter than podcast",
            {
                "nDCG": steps(0, "poor", 0.7, "fair", 0.8, "good", 0.9, "excellent"),
                "P@10": steps(0, "poor", 0.5, "fair", 0.6, "good", 0.8, "excellent"),
                "ILD": steps(0, "below target", 0.6, "good", top=2),
                "TopicCoverage": steps(0, "below target", 0.7, "good"),
                "Distinct": steps(0, "below target", 0.5, "good"),
                "Uniqueness": steps(0, "below target", 1, "excellent"),
            },
            (
                "nDCG and P@10 each get their own word; the document has one word for both and none where they differ",
                _LIMITS,
            ),
        ),
        BandProfile(
            "rag",
            "the diversity-aware RAG benchmark's words",
            {
                "nDCG@10": steps(0, "poor", 0.3, "fair", 0.5, "good", 0.7, "very good", 0.9, "excellent"),
                "R@10": steps(0, "poor", 0.4, "fair", 0.6, "good", 0.8, "excellent"),
                "AP@100": steps(0, "poor", 0.5, "good", 0.8, "excellent"),
                "ILD": steps(0, "very low", 0.4, "low", 0.6, "medium", 0.8, "high", top=2),
            },
            (
                "its text calls an nDCG@10 of 0.7 good and 0.3 poor, its table very good and fair: the table is followed",
                "for MAP@100 it names points (0.8 excellent, 0.5 good, 0.2 poor): words start there, 'poor' goes up to 'good'",
                "the same distance is 'diverse' from 0.6 in podcast and 'high' from 0.8 here: words, not measurements",
                "a limit belongs to the band above it, also where the document says '> 0.8'",
            ),
        ),
    )
}


def find_bands(name: str) -> BandProfile:
    if name not in BANDS:
        raise OptionError(
            f"there are no bands {name!r}; there are {', '.join(BANDS)}",
            hint=did_you_mean(name, BANDS) or "or give a TOML file of your own, such as ours.toml",
        )
    return BANDS[name]


def parse_bands(record: Mapping[str, Any], *, name: str) -> BandProfile:
    """Return a band profile from a record as a TOML file holds it; `name` is for where the record has none.

    The record has `bands`, which maps a measure to a list of `[low, high, word]`, and may have `name` and
    `description`.
    """
    unknown = [key for key in record if key not in ("name", "description", "bands")]
    if unknown:
        raise OptionError(
            f"{name}: there is no setting {unknown[0]!r}; there are name, description and bands", hint=SCHEMA_HINT
        )
    tables = record.get("bands")
    if not isinstance(tables, Mapping) or not tables:
        raise OptionError(f"{name}: there are no bands", hint=SCHEMA_HINT)
    bands: dict[str, tuple[Band, ...]] = {}
    for written, rows in tables.items():
        alias, at, cutoff = (part.strip() for part in written.partition("@"))
        if not is_known(alias):
            hint = did_you_mean(alias, [*REGISTRY, *ALIASES]) or "`rankscope measures` lists them all"
            raise MeasureError(f"{name}: there is no measure {written!r}", hint=hint)
        base, implied = ALIASES[alias.lower()]
        if implied:
            message = f"{name}: {alias} is a form of {base}, and bands are for all of them"
            raise MeasureError(message, hint=f"write {base}")
        spec = REGISTRY[base]
        if at and not spec.cutoff:
            raise MeasureError(f"{written!r} gives a cut-off, but the measure has none", hint="leave it out")
        key = Measure.of(spec, {str(spec.cutoff): cutoff}).name if at else base
        if key in bands:
            raise OptionError(f"{name}: {key} has bands twice, here as {written!r}", hint="keep one of the two")
        bands[key] = check_bands(rows, spec.range, where=f"{name}: {written}")
    return BandProfile(str(record.get("name", name)), str(record.get("description", "")), bands)


def check_bands(rows: Any, measure_range: tuple[float, float], *, where: str) -> tuple[Band, ...]:
    """Return bands that follow one another over the whole range of a measure, or say where they do not."""
    if not isinstance(rows, list) or not rows:
        raise OptionError(f"{where}: bands are a list of [low, high, word]", hint=SCHEMA_HINT)
    bands = []
    for row in rows:
        if not isinstance(row, Sequence) or len(row) != 3 or not isinstance(row[2], str) or not row[2].strip():
            raise OptionError(f"{where}: {row!r} is not [low, high, word]", hint=SCHEMA_HINT)
        low, high = row[0], row[1]
        is_end = low == high and low in measure_range
        numbers = all(isinstance(limit, Real) and not isinstance(limit, bool) for limit in (low, high))
        if not numbers or not (low < high or is_end):
            raise OptionError(f"{where}: {row!r} does not go from a number up to a larger one", hint=SCHEMA_HINT)
        bands.append(Band(float(low), float(high), row[2].strip()))
    bands.sort(key=lambda band: (band.low, band.high))
    for one, other in itertools.pairwise(bands):
        if one.high < other.low:
            raise OptionError(
                f"{where}: there is no word from {one.high:g} to {other.low:g}, between {one.word!r} and {other.word!r}",
                hint=f"end {one.word!r} at {other.low:g}, or start {other.word!r} at {one.high:g}",
            )
        if one.high > other.low:
            raise OptionError(
                f"{where}: {one.word!r} ({one.span}) and {other.word!r} ({other.span}) overlap",
                hint=f"end {one.word!r} at {other.low:g}: a limit belongs to the band above it",
            )
    first, last = bands[0], bands[-1]
    lowest, highest = measure_range
    if first.low > lowest:
        message = f"{where}: there is no word below {first.low:g}, but scores start at {lowest:g}"
        raise OptionError(message, hint=f"start {first.word!r} at {lowest:g}")
    if last.high < highest:
        message = f"{where}: there is no word above {last.high:g}, but scores go up to {highest:g}"
        raise OptionError(message, hint=f"end {last.word!r} at {highest:g}")
    return tuple(bands)
