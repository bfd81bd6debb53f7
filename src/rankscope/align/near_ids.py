"""Ids that nearly match: the difference of spelling, or the prefix or suffix, that keeps two sides from matching."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import product, starmap, takewhile

from rankscope.align.finding import N_EXAMPLES, Finding, count_of, first_ids, quote_id
from rankscope.records import Record

HARDLY_ANY_DOCS = 0.01
ENOUGH_IDS = 10
"""Of fewer ids, on either side, it says little that none is among the others: a run may simply miss them."""
SPELLING_HINT = "write the ids of both files the same way"
MIN_AFFIX_MATCHES = 2
MAX_AFFIX_CUTS = 6
N_AFFIX_SAMPLE = 1000
_QUOTES_AND_BLANKS = " \t\r\n\v\f\u00a0\ufeff\"'`´‘’“”«»"  # noqa: RUF001 (quotes of all kinds are meant)
_LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_FLOAT_TAIL = re.compile(r"(?<=\d)\.0+$")


class NearMatch(Record):
    """A difference of spelling that keeps ids from matching."""

    difference: str
    matches: tuple[tuple[str, str], ...]
    """Ids of the run, each with the one of the qrels that it would match."""
    side: str = "qrels"
    """What the other ids belong to, in words."""
    both_have_affixes: bool = False
    """Whether each side has a prefix or suffix of its own, which among few ids, such as d1 and x1, is mere chance."""

    @property
    def n_matched(self) -> int:
        """How many ids of the qrels would be matched."""
        return len({judged for _, judged in self.matches})

    @property
    def examples(self) -> tuple[str, ...]:
        """The first few matches, spelled out where both sides look the same in print."""
        texts = []
        for retrieved, judged in self.matches[:N_EXAMPLES]:
            show = ascii if compose_accents(retrieved) == compose_accents(judged) else quote_id
            texts.append(f"run {show(retrieved)} ~ {self.side} {show(judged)}")
        return tuple(texts)


def without_leading_zeros(name: str) -> str:
    """Return an id whose numbers are not padded."""
    return _LEADING_ZEROS.sub("", name) if "0" in name else name


def without_float_tail(name: str) -> str:
    """Return an id as the whole number it was before somebody's table made it a float."""
    return _FLOAT_TAIL.sub("", name) if name.endswith("0") else name


def compose_accents(name: str) -> str:
    """Return an id with accents composed (NFC)."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def trim(name: str) -> str:
    """Return an id without blanks and quotes around it."""
    return name.strip(_QUOTES_AND_BLANKS)


def normalise_fully(name: str) -> str:
    """Return an id with all these differences of spelling removed."""
    return without_leading_zeros(without_float_tail(compose_accents(trim(name)).casefold()))


SPELLINGS: dict[str, Callable[[str], str]] = {
    "leading zeros": without_leading_zeros,
    "upper and lower case": str.casefold,
    "Unicode normalisation (NFC and NFD)": compose_accents,
    "blanks or quotes around them": trim,
    "a final .0, as of numbers saved as floats": without_float_tail,
    "several differences of spelling (case, zeros, blanks, quotes, .0)": normalise_fully,
}


def find_near_match(judged: Sequence[str], retrieved: Sequence[str], *, side: str = "qrels") -> NearMatch | None:
    """Return the difference of spelling that would match most of the ids that only one side has.

    `side` says in words what the first ids belong to, as they need not be judged.
    """
    if not judged or not retrieved:
        return None
    candidates = []
    for difference, normalise in SPELLINGS.items():
        wanted = {normalise(name): name for name in judged}
        pairs = ((name, wanted.get(normalise(name))) for name in retrieved)
        matches = tuple((name, match) for name, match in pairs if match is not None)
        candidates.append(NearMatch(difference, matches, side))
    candidates += affix_matches(judged, retrieved, side)
    best = max(candidates, key=lambda near: near.n_matched)  # of equals the first, which is the simplest
    return best if best.n_matched else None


class Affixes(Record):
    """What surrounds the ids of each side: it is removed from those of the qrels, and added to those of the run."""

    judged_prefix: str
    judged_suffix: str
    retrieved_prefix: str
    retrieved_suffix: str

    def run_id(self, judged: str) -> str:
        """Return the id that the run has for an id of the qrels."""
        core = judged.removeprefix(self.judged_prefix).removesuffix(self.judged_suffix)
        return f"{self.retrieved_prefix}{core}{self.retrieved_suffix}"

    @property
    def are_on_both_sides(self) -> bool:
        """Whether one prefix or suffix would have to be replaced by another, instead of being added or removed."""
        return bool(self.judged_prefix + self.judged_suffix) and bool(self.retrieved_prefix + self.retrieved_suffix)

    @property
    def n_chars(self) -> int:
        """How many characters are added and removed."""
        return sum(map(len, (self.judged_prefix, self.judged_suffix, self.retrieved_prefix, self.retrieved_suffix)))

    def in_words(self, side: str) -> str:
        """Say what surrounds the ids of either side."""
        texts = []
        for where, prefix, suffix in (
            (side, self.judged_prefix, self.judged_suffix),
            ("run", self.retrieved_prefix, self.retrieved_suffix),
        ):
            affixes = [
                f"the {kind} {quote_id(text)}" for kind, text in (("prefix", prefix), ("suffix", suffix)) if text
            ]
            if affixes:
                texts.append(f"{' and '.join(affixes)} in the {where}")
        return " and ".join(texts)


def affix_matches(judged: Sequence[str], retrieved: Sequence[str], side: str) -> list[NearMatch]:
    """Match ids to which one side, or each side its own, adds a prefix or suffix common to all."""
    known = set(retrieved)
    sample = judged[:: max(1, len(judged) // N_AFFIX_SAMPLE)]
    combinations = product(prefixes(judged), suffixes(judged), prefixes(retrieved), suffixes(retrieved))
    tried = [
        (sum(affixes.run_id(name) in known for name in sample), -affixes.n_chars, affixes)
        for affixes in starmap(Affixes, combinations)
    ]
    n_matched, _, best = max(tried, key=lambda one: one[:2])
    if n_matched < MIN_AFFIX_MATCHES:
        return []
    pairs = ((best.run_id(name), name) for name in judged)
    matches = tuple(pair for pair in pairs if pair[0] in known)
    return [NearMatch(best.in_words(side), matches, side, best.are_on_both_sides)]


def prefixes(names: Sequence[str]) -> list[str]:
    """Return the prefixes that all names have, cut where words end; the empty one is among them."""
    first, last = min(names), max(names)
    common = "".join(a for a, _ in takewhile(lambda both: both[0] == both[1], zip(first, last, strict=False)))
    cuts = [i for i in range(1, len(common) + 1) if ends_word(common, i)]
    return ["", *(common[:i] for i in cuts[-MAX_AFFIX_CUTS:])]


def suffixes(names: Sequence[str]) -> list[str]:
    """Return the suffixes that all names have, cut where words start; the empty one is among them."""
    return [prefix[::-1] for prefix in prefixes([name[::-1] for name in names])]


def ends_word(common: str, i: int) -> bool:
    """Tell whether a prefix may be cut before position i: not within a number or a word that goes on.

    All of 10 to 19 start with 1, which does not make 1 a prefix.
    """
    if i == len(common):
        return not common[-1].isdigit()
    before, after = common[i - 1], common[i]
    return (before.isdigit(), before.isalpha()) != (after.isdigit(), after.isalpha())


def only_on_one_side(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what only the left has, and what only the right has."""
    in_left, in_right = set(left), set(right)
    return [name for name in left if name not in in_right], [name for name in right if name not in in_left]


def examples_of_both(judged: Iterable[str], retrieved: Iterable[str]) -> tuple[str, ...]:
    """Show what the ids of either side look like."""
    return f"qrels: {', '.join(first_ids(judged))}", f"run: {', '.join(first_ids(retrieved))}"


def unmatched_docs(where: str, judged: Sequence[str], retrieved: Sequence[str]) -> Finding | None:
    """Return what is odd about doc ids of which hardly any judged one is retrieved; each id is given once."""
    missed, unjudged = only_on_one_side(judged, retrieved)
    n_found = len(judged) - len(missed)
    if n_found >= HARDLY_ANY_DOCS * len(judged):
        return None
    near = find_near_match(missed, unjudged)
    found = count_of(n_found, len(judged), "judged docs are retrieved")
    are_enough = min(len(judged), len(retrieved)) >= ENOUGH_IDS
    if near and near.n_matched > n_found:
        is_sure = not n_found and (are_enough or not near.both_have_affixes)
        return Finding(
            "error" if is_sure else "warning",
            "doc_ids_nearly_match",
            where,
            f"doc ids differ only by {near.difference}: {found}, {near.n_matched:,} would match",
            near.examples,
            SPELLING_HINT,
        )
    if n_found:
        return None
    return Finding(
        "error" if are_enough else "warning",
        "no_judged_docs",
        where,
        found,
        examples_of_both(missed, unjudged),
        "every score will be 0: do both files belong to the same collection?",
    )
