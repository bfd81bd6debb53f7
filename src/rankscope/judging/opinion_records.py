"""Flags, choices and preferences of a task as records, and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from rankscope.comparison.records import Code
from rankscope.judging.agreement import CountOf
from rankscope.printable import counted
from rankscope.records import Record, StoredRecord
from rankscope.stats.interval import Interval, wilson_interval

ALPHA = 0.05
LEVEL = 1 - ALPHA
ROUNDING = 1e-6
"""Shares that differ by less are the same up to rounding."""
SHOWN_DIGITS = 3
"""Of shares; in per cent one digit behind the point."""

ENOUGH_CHECKS = 5
"""With fewer preferences, nothing is said of sides."""
STEADY = 0.75
"""The share of lists shown again that is expected to get the same answer."""
SMALL_RATE = 0.0005
"""Flag rates below this would be 0.0%."""

OpinionKind = Literal["choices", "preferences", "flags"]


class OpinionPair(Record, kw_only=True):
    """Two systems by what raters said; `rate` is B's win rate, or for flags B's flag rate minus A's."""

    kind: OpinionKind
    a: str
    b: str
    n_queries: int
    n_opinions: int
    won: int
    """Opinions that B won."""
    tied: int
    lost: int
    rate: float | None
    low: float | None
    high: float | None
    level: float
    """Of the intervals of all pairs together."""
    n_pairs: int = 1
    """How many pairs hold at this level together; each alone has the level 1 - (1 - level) / n_pairs."""
    code: Code
    words: str
    """The verdict on B in a word or two."""
    flag_rates: tuple[float, float] | None = None
    """For flags: the rate of A and that of B, whose difference `rate` is."""
    caution: str = ""
    """What the interval does not show: so few queries differ that there can be no verdict."""

    @property
    def text(self) -> str:
        """The verdict with what it rests on."""
        return f"By {self.kind}, {verdict_clause(self)}. {self.evidence}"

    @property
    def evidence(self) -> str:
        """The numbers, in a sentence, and what they do not show."""
        return f"{evidence_sentence(self)} {self.caution}".rstrip()


class RankFlags(Record):
    """How often docs at a rank were flagged."""

    rank: int
    share: CountOf


class SystemFlags(Record, kw_only=True):
    """How often the docs of a system were flagged."""

    system: str
    share: CountOf
    """Of what raters looked at among its first docs; a doc counts once for each rater."""
    rate: float | None
    """The mean over queries of the share that is flagged, on the queries of the report; None where there are none."""
    interval: Interval | None
    """Of the rate, from queries as units; None where there are fewer than two."""
    by_rank: tuple[RankFlags, ...]


class NoteCount(Record):
    """A note or a word, and in how many flags it stands."""

    text: str
    n: int


class ValueFlags(Record, kw_only=True):
    """Flags of the queries, or docs, that have a value of an attribute."""

    of: Literal["query", "doc"]
    name: str
    """The attribute of queries, or the field of docs."""
    value: str
    share: CountOf
    words: tuple[NoteCount, ...]
    """The most frequent in their notes."""


class FlaggedDoc(Record, kw_only=True):
    """A doc that was flagged."""

    query: str
    query_text: str
    doc: str
    title: str
    share: CountOf
    """Raters who flagged it, of those who looked at it."""
    ranks: dict[str, int]
    notes: tuple[str, ...]


class FlagReport(Record, kw_only=True):
    """What was flagged as wrong."""

    share: CountOf
    """Of what raters looked at: a doc counts once for each rater."""
    by_rank: tuple[RankFlags, ...]
    """Over all systems: a doc counts at the rank that each has it at."""
    depth: int | None = None
    """Down to this rank flags count for a system; None where they count at any rank."""
    n_below: int = 0
    """Flags of docs that no system has so far up: they count for none."""
    n_queries: int
    """Queries of which raters looked at docs of every system that has any: flag rates are over these."""
    systems: tuple[SystemFlags, ...]
    pairs: tuple[OpinionPair, ...]
    n_without_note: int
    notes: tuple[NoteCount, ...]
    """The most frequent, as they are written."""
    words: tuple[NoteCount, ...]
    """The most frequent words in notes, each counted once in a note."""
    by_value: tuple[ValueFlags, ...]
    values_left_out: tuple[str, ...] = ()
    """Attributes and fields that are not among these, as they have very many values, or values of one or two docs."""
    docs: tuple[FlaggedDoc, ...]
    """Those that most raters flagged first."""
    n_docs: int
    """How many docs are flagged."""


class RankCount(Record):
    """How many chosen docs a system has at a rank."""

    rank: int
    n: int


class ChoiceRanks(Record, kw_only=True):
    """Where a system has the docs that raters would choose."""

    system: str
    first: CountOf
    """At rank 1."""
    found: CountOf
    """In its list at all."""
    median_rank: float | None
    """Of those that are in its list."""
    by_rank: tuple[RankCount, ...]


class ChoiceReport(Record, kw_only=True):
    """Which docs raters would choose."""

    n: int
    n_queries: int
    n_raters: int
    systems: tuple[ChoiceRanks, ...]
    pairs: tuple[OpinionPair, ...]
    n_first_left_out: int = 0
    """Queries with a choice of which the task does not hold the first doc of a system: nobody could choose it."""


class SwapCheck(Record, kw_only=True):
    """Whether preferences depend on the side: where lists were shown again with sides swapped, and in all."""

    alike: CountOf
    """Of those shown twice, how many named the same list, or none, both times."""
    left: CountOf
    """Of all that named a list, how many named the one on the left."""


class PreferenceCounts(Record, kw_only=True):
    """What was said of two lists, as often as it was shown."""

    a: str
    b: str
    a_clearly: int
    a_slightly: int
    none: int
    b_slightly: int
    b_clearly: int
    cannot_tell: int

    @property
    def n(self) -> int:
        return self.a_clearly + self.a_slightly + self.none + self.b_slightly + self.b_clearly + self.cannot_tell


class PreferenceReport(Record, kw_only=True):
    """Which list raters find better."""

    n: int
    n_queries: int
    n_raters: int
    counts: tuple[PreferenceCounts, ...]
    pairs: tuple[OpinionPair, ...]
    """A list that won with one side and lost with the other has a tie."""
    swapped: SwapCheck


class OpinionReport(StoredRecord, kw_only=True):
    """Flags, choices and preferences of a task."""

    rankscope: str
    task: int
    task_name: str
    collection: str
    systems: tuple[str, ...]
    flags: FlagReport
    choices: ChoiceReport
    preferences: PreferenceReport

    @property
    def headline(self) -> str:
        """The answer in a sentence or two."""
        return headline_of(self)

    @property
    def details(self) -> tuple[str, ...]:
        """What limits it."""
        return tuple(detail_sentences(self))


# words


def verdict_clause(pair: OpinionPair) -> str:
    match pair.code:
        case "better" | "worse" | "probably_better" | "probably_worse":
            return f"{pair.b} is {pair.words} than {pair.a}"
        case "same" | "identical":
            return f"{pair.b} and {pair.a} are even"
        case "too_few":
            return f"there are too few queries to tell {pair.b} from {pair.a}"
        case "cannot_tell":
            return f"one cannot tell whether {pair.b} or {pair.a} is better"
        case _:
            return f"{pair.b} and {pair.a} cannot be compared"


def clauses_of(pairs: Sequence[OpinionPair]) -> Iterator[str]:
    """Yield what is said of pairs; those of which nothing can be said come last, and together."""
    clear = [pair for pair in pairs if pair.code not in ("cannot_tell", "too_few")]
    yield from map(verdict_clause, clear)
    if open_pairs := [pair for pair in pairs if pair.code == "cannot_tell"]:
        either = ", nor whether ".join(f"{pair.b} or {pair.a} is better" for pair in open_pairs)
        yield f"one cannot tell whether {either}"
    if few := [pair for pair in pairs if pair.code == "too_few"]:
        yield f"there are too few queries to tell {', or '.join(f'{pair.b} from {pair.a}' for pair in few)}"


def evidence_sentence(pair: OpinionPair) -> str:
    if pair.rate is None:
        return "No query says something of both."
    on, ends = f"on {counted(pair.n_queries, 'query')}", interval_text(pair)
    if pair.kind == "flags":
        if pair.rate == 0:
            return f"The same share of docs is flagged of {pair.b} and of {pair.a}, {on}."
        way = "more" if pair.rate > 0 else "less"
        both = f"{rate_text(pair.flag_rates[1])} against {rate_text(pair.flag_rates[0])}" if pair.flag_rates else ""
        points = f"{points_text(abs(shown_difference(pair)))} percentage points {way}{ends}"
        return f"Docs of {pair.b} are flagged {way} often than those of {pair.a}: {both}, {points}, {on}."
    if pair.kind == "choices":
        said = (
            f"{counted(pair.n_opinions, 'choice')}, {pair.b} has {pair.won:,} at a better rank, {pair.a} {pair.lost:,}"
        )
    else:
        are = "is" if pair.won == 1 else "are"
        said = f"{counted(pair.n_opinions, 'preference')}, {pair.won:,} {are} for {pair.b}, {pair.lost:,} for {pair.a}"
    tied = f", and {pair.tied:,} {'is' if pair.tied == 1 else 'are'} tied" if pair.tied else ""
    rate = f"The win rate of {pair.b} against {pair.a} is {rate_text(pair.rate)}{ends}"
    return f"{rate}, {on}: of {said}{tied}."


def interval_text(pair: OpinionPair) -> str:
    if pair.low is None or pair.high is None:
        return ""
    if pair.kind == "flags":
        ends = f"{signed_points(pair.low)} to {signed_points(pair.high)}"
    else:
        ends = f"{rate_text(pair.low)} to {rate_text(pair.high)}"
    return f" ({interval_name(pair)} {ends})"


def interval_name(pair: OpinionPair) -> str:
    return f"{'simultaneous ' if pair.n_pairs > 1 else ''}{100 * pair.level:.4g}% CI"


def shown_difference(pair: OpinionPair) -> float:
    """Return the difference of two flag rates as they are shown, so that who subtracts them finds it."""
    exact = pair.rate or 0.0
    if pair.flag_rates is None or any(0 < rate < SMALL_RATE for rate in pair.flag_rates):
        return exact
    a, b = (round(rate, SHOWN_DIGITS) for rate in pair.flag_rates)
    return round(b - a, SHOWN_DIGITS) or exact


def rate_text(share: float) -> str:
    """Return a rate in per cent, with as many digits as differences have."""
    return f"{points_text(share)}%"


def rate_end_text(share: float) -> str:
    """Return an end of the interval of a rate: where it is as good as nothing, or all, it is that."""
    nearest = round(share)
    return f"{100 * nearest:.1f}%" if abs(share - nearest) < SMALL_RATE else rate_text(share)


def points_text(share: float) -> str:
    """Return percentage points, one digit behind the point; what is not 0, a half or all is not rounded to it."""
    digits = SHOWN_DIGITS
    while any(round(share, digits) == end and abs(share - end) > ROUNDING for end in (0.0, 0.5, 1.0)):
        digits += 1
    return f"{100 * share:.{digits - 2}f}"


def signed_points(share: float) -> str:
    return f"{'+' if share > ROUNDING else '-' if share < -ROUNDING else ''}{points_text(abs(share))}"


def headline_of(found: OpinionReport) -> str:
    parts = [
        f"By {pairs[0].kind}, {'; '.join(clauses_of(pairs))}."
        for pairs in (found.preferences.pairs, found.choices.pairs)
        if pairs
    ]
    flags = found.flags.share
    if flags.n:
        parts.append(f"{counted(flags.n, 'flag')} on {counted(found.flags.n_docs, 'doc')}.")
    elif flags.of:
        parts.append(f"Nothing is flagged, of {counted(flags.of, 'look')} at a doc.")
    return " ".join(parts) or "Nobody has flagged, chosen or preferred anything yet."


def detail_sentences(found: OpinionReport) -> Iterator[str]:
    """Yield what limits the answer."""
    alike, left = found.preferences.swapped.alike, found.preferences.swapped.left
    if alike.of >= ENOUGH_CHECKS and alike.n < STEADY * alike.of:
        yield (
            f"Preferences are not steady: shown again with sides swapped, {alike.of - alike.n:,} of {alike.of:,} got "
            "another answer. They count as ties."
        )
    if left.of >= ENOUGH_CHECKS and 0.5 not in wilson_interval(left.n, left.of):
        side, n = ("left", left.n) if 2 * left.n > left.of else ("right", left.of - left.n)
        yield f"The side may matter: {n:,} of {left.of:,} preferences are for the list on the {side}."
    if n := found.choices.n_first_left_out:
        yield (
            f"Raters chose among the docs of the task: in {n:,} of {counted(found.choices.n_queries, 'query')} with a "
            "choice it does not hold the first doc of a system, which could not be chosen. So fewer choices are at "
            "rank 1, and more are ties, than among all docs."
        )
    if found.choices.n and found.choices.n_queries == 1:
        yield "All choices are of one query: they say nothing of others."
