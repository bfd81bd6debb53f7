"""Ids that nearly match: the difference of spelling, or the prefix or suffix, that keeps two sides from matching."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import product, takewhile

from rankscope.align.finding import N_EXAMPLES, Finding, Level, count_of, first_ids, quote_id
from rankscope.records import Record

HARDLY_ANY_DOCS = 0.01
ENOUGH_IDS = 10
"""Of fewer ids, on either side, it says little that none is among the others: a run may simply miss them."""
SPELLING_HINT = "write the ids of both files the same way"
MIN_AFFIX_MATCHES = 2
MAX_AFFIX_CUTS = 6
N_AFFIX_SAMPLE = 1000
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
    return _LEADING_ZEROS.sub("", name) if "0" in name else name


def without_float_tail(name: str) -> str:
    """Return an id as the whole number it was before somebody's table made it a float."""
    return _FLOAT_TAIL.sub("", name) if name.endswith("0") else name


def compose_accents(name: str) -> str:
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def trim(name: str) -> str:
    return name.strip(" \t\r\n\v\f\u00a0\ufeff\"'`´‘’“”«»")  # noqa: RUF001 (quotes of all kinds are meant)


SPELLINGS: dict[str, Callable[[str], str]] = {
    "leading zeros": without_leading_zeros,
    "upper and lower case": str.casefold,
    "Unicode normalisation (NFC and NFD)": compose_accents,
    "blanks or quotes around them": trim,
    "a final .0, as of numbers saved as floats": without_float_tail,
    "several differences of spelling (case, zeros, blanks, quotes, .0)": lambda name: without_leading_zeros(
        without_float_tail(compose_accents(trim(name)).casefold())
    ),
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


def affix_matches(judged: Sequence[str], retrieved: Sequence[str], side: str) -> list[NearMatch]:
    """Match ids to which one side, or each side its own, adds a prefix or suffix common to all."""
    known = set(retrieved)
    sample = judged[:: max(1, len(judged) // N_AFFIX_SAMPLE)]
    tried = []
    for affixes in product(prefixes(judged), suffixes(judged), prefixes(retrieved), suffixes(retrieved)):
        n_matched = sum(run_id(name, *affixes) in known for name in sample)
        tried.append((n_matched, -sum(map(len, affixes)), affixes))
    n_matched, _, best = max(tried, key=lambda one: one[:2])
    if n_matched < MIN_AFFIX_MATCHES:
        return []
    pairs = ((run_id(name, *best), name) for name in judged)
    matches = tuple(pair for pair in pairs if pair[0] in known)
    words = []
    for where, prefix, suffix in ((side, *best[:2]), ("run", *best[2:])):
        texts = [f"the {kind} {quote_id(text)}" for kind, text in (("prefix", prefix), ("suffix", suffix)) if text]
        if texts:
            words.append(f"{' and '.join(texts)} in the {where}")
    return [NearMatch(" and ".join(words), matches, side, both_have_affixes=len(words) == 2)]


def run_id(judged: str, prefix: str, suffix: str, run_prefix: str, run_suffix: str) -> str:
    """Return the id that the run has for an id of the qrels, whose own prefix and suffix are replaced."""
    return f"{run_prefix}{judged.removeprefix(prefix).removesuffix(suffix)}{run_suffix}"


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
    in_left, in_right = set(left), set(right)
    return [name for name in left if name not in in_right], [name for name in right if name not in in_left]


def examples_of_both(judged: Iterable[str], retrieved: Iterable[str]) -> tuple[str, ...]:
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
    level: Level
    if near and near.n_matched > n_found:
        is_sure = not n_found and (are_enough or not near.both_have_affixes)
        level = "error" if is_sure else "warning"
        message = f"doc ids differ only by {near.difference}: {found}, {near.n_matched:,} would match"
        return Finding(level, "doc_ids_nearly_match", where, message, near.examples, SPELLING_HINT)
    if n_found:
        return None
    hint = "every score will be 0: do both files belong to the same collection?"
    level = "error" if are_enough else "warning"
    return Finding(level, "no_judged_docs", where, found, examples_of_both(missed, unjudged), hint)
