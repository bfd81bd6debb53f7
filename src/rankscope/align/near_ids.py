"""Ids that nearly match: the difference of spelling, or the prefix or suffix, that keeps two sides from matching."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product, takewhile

from rankscope.align.finding import N_EXAMPLES, Finding, listed, part, shown
from rankscope.light import LightRecord

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


class NearMatch(LightRecord):
    """A difference of spelling that keeps ids from matching."""

    difference: str
    matches: tuple[tuple[str, str], ...]
    """Ids of the run, each with the one of the qrels that it would match."""
    side: str = "qrels"
    """What the other ids are those of, in words."""
    both_have_affixes: bool = False
    """Whether each side has a prefix or suffix of its own, which among few ids, such as d1 and x1, is mere chance."""

    @property
    def n_matched(self) -> int:
        """How many ids of the qrels would be matched."""
        return len({judged for _, judged in self.matches})

    @property
    def examples(self) -> tuple[str, ...]:
        """The first few matches, spelled out where both sides look the same in print."""
        return tuple(side_by_side_text(*match, self.side) for match in self.matches[:N_EXAMPLES])


def side_by_side_text(retrieved: str, judged: str, side: str) -> str:
    """Show two ids, with escapes where they would look the same in print."""
    show = ascii if composed(retrieved) == composed(judged) else shown
    return f"run {show(retrieved)} ~ {side} {show(judged)}"


def without_leading_zeros(name: str) -> str:
    """Return an id whose numbers are not padded."""
    return _LEADING_ZEROS.sub("", name) if "0" in name else name


def without_float_tail(name: str) -> str:
    """Return an id as the whole number it was before somebody's table made it a float."""
    return _FLOAT_TAIL.sub("", name) if name.endswith("0") else name


def composed(name: str) -> str:
    """Return an id with accents composed (NFC)."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def trimmed(name: str) -> str:
    """Return an id without blanks and quotes around it."""
    return name.strip(_QUOTES_AND_BLANKS)


def in_every_way(name: str) -> str:
    """Return an id with all differences of spelling removed."""
    return without_leading_zeros(without_float_tail(composed(trimmed(name)).casefold()))


SPELLINGS: dict[str, Callable[[str], str]] = {
    "leading zeros": without_leading_zeros,
    "upper and lower case": str.casefold,
    "Unicode normalisation (NFC and NFD)": composed,
    "blanks or quotes around them": trimmed,
    "a final .0, as of numbers saved as floats": without_float_tail,
    "several differences of spelling (case, zeros, blanks, quotes, .0)": in_every_way,
}


def nearest(judged: Sequence[str], retrieved: Sequence[str], *, side: str = "qrels") -> NearMatch | None:
    """Return the difference of spelling that would match most of the ids that only one side has.

    `side` says in words what the first ids are those of, as they need not be judged.
    """
    if not judged or not retrieved:
        return None
    candidates = [same_but_for(difference, judged, retrieved, side) for difference in SPELLINGS]
    candidates += affix_match(judged, retrieved, side)
    best = max(candidates, key=lambda near: near.n_matched)  # of equals the first, which is the simplest
    return best if best.n_matched else None


def same_but_for(difference: str, judged: Sequence[str], retrieved: Sequence[str], side: str) -> NearMatch:
    """Match ids after removing one kind of difference from both sides."""
    normalise = SPELLINGS[difference]
    wanted = {normalise(name): name for name in judged}
    matches = ((name, wanted.get(normalise(name))) for name in retrieved)
    return NearMatch(difference, tuple((name, match) for name, match in matches if match is not None), side)


class Affixes(LightRecord):
    """What surrounds the ids of each side: taken off those of the qrels, put around those of the run."""

    judged_prefix: str
    judged_suffix: str
    retrieved_prefix: str
    retrieved_suffix: str

    def retrieved(self, judged: str) -> str:
        """Return the id that the run has for an id of the qrels."""
        core = judged.removeprefix(self.judged_prefix).removesuffix(self.judged_suffix)
        return f"{self.retrieved_prefix}{core}{self.retrieved_suffix}"

    @property
    def are_on_both_sides(self) -> bool:
        """Whether one prefix or suffix would have to be replaced by another, instead of being put on or taken off."""
        judged, retrieved = self.judged_prefix + self.judged_suffix, self.retrieved_prefix + self.retrieved_suffix
        return bool(judged and retrieved)

    @property
    def n_chars(self) -> int:
        """How much is put on and taken off."""
        return sum(map(len, vars(self).values()))

    def in_words(self, side: str) -> str:
        """Say what surrounds the ids of either side."""
        sides = {
            side: around(self.judged_prefix, self.judged_suffix),
            "run": around(self.retrieved_prefix, self.retrieved_suffix),
        }
        return " and ".join(f"{what} in the {where}" for where, what in sides.items() if what)


def around(prefix: str, suffix: str) -> str:
    """Describe what surrounds an id."""
    parts = ((f"the prefix {shown(prefix)}", prefix), (f"the suffix {shown(suffix)}", suffix))
    return " and ".join(described for described, text in parts if text)


def affix_match(judged: Sequence[str], retrieved: Sequence[str], side: str) -> list[NearMatch]:
    """Match ids to which one side, or each side its own, adds a prefix or suffix common to all."""
    known = set(retrieved)
    sample = judged[:: max(1, len(judged) // N_AFFIX_SAMPLE)]
    tried = [
        (sum(affixes.retrieved(name) in known for name in sample), -affixes.n_chars, affixes)
        for affixes in possible_affixes(judged, retrieved)
    ]
    n_matched, _, best = max(tried, key=lambda one: one[:2])
    if n_matched < MIN_AFFIX_MATCHES:
        return []
    pairs = ((best.retrieved(name), name) for name in judged)
    matches = tuple(pair for pair in pairs if pair[0] in known)
    return [NearMatch(best.in_words(side), matches, side, best.are_on_both_sides)]


def possible_affixes(judged: Sequence[str], retrieved: Sequence[str]) -> Iterator[Affixes]:
    """Return the prefixes and suffixes that all ids of a side have, in every combination, cut where words end."""
    return (
        Affixes(*combination)
        for combination in product(prefixes(judged), suffixes(judged), prefixes(retrieved), suffixes(retrieved))
    )


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
    return kind_of(common[i - 1]) != kind_of(common[i])


def kind_of(character: str) -> str:
    """Return whether a character belongs to a number, a word or neither."""
    return "digit" if character.isdigit() else "letter" if character.isalpha() else "other"


def one_sided(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what only the left has, and what only the right has."""
    in_left, in_right = set(left), set(right)
    return [name for name in left if name not in in_right], [name for name in right if name not in in_left]


def both_sides(judged: Iterable[str], retrieved: Iterable[str]) -> tuple[str, ...]:
    """Show what the ids of either side look like."""
    return f"qrels: {', '.join(listed(judged))}", f"run: {', '.join(listed(retrieved))}"


def unmatched_docs(where: str, judged: Sequence[str], retrieved: Sequence[str]) -> Finding | None:
    """Return what is odd about doc ids of which hardly any judged one is retrieved; each id is given once."""
    missed, unjudged = one_sided(judged, retrieved)
    n_found = len(judged) - len(missed)
    if n_found >= HARDLY_ANY_DOCS * len(judged):
        return None
    near = nearest(missed, unjudged)
    found = part(n_found, len(judged), "judged docs are retrieved")
    are_enough = min(len(judged), len(retrieved)) >= ENOUGH_IDS
    if near and near.n_matched > n_found:
        is_sure = not n_found and (are_enough or not near.both_have_affixes)
        return Finding(
            "error" if is_sure else "warning", "doc_ids_nearly_match", where,
            f"doc ids differ only by {near.difference}: {found}, {near.n_matched:,} would match",
            near.examples, SPELLING_HINT,
        )  # fmt: skip
    if n_found:
        return None
    return Finding(
        "error" if are_enough else "warning", "no_judged_docs", where, found, both_sides(missed, unjudged),
        "every score will be 0: do both files belong to the same collection?",
    )  # fmt: skip
