"""Random judgments of unjudged docs that depend on the seed, the query and the doc, and on nothing else.

Whichever systems are compared, in whatever order and in however many processes, the same doc gets the same judgments for
the same query. One generator for all docs will not do, as its numbers would depend on which docs came before; so each
doc has numbers of its own, which follow from a hash of its id and of the query's.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rankscope.arrays import Floats, Ints, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Keys: TypeAlias = NDArray[np.uint64]

N_DRAWS = 20
"""How many times all unjudged docs are judged at random."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: the step of SplitMix64 (Steele, Lea & Flood 2014), here also the base of hashes."""
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_FRACTION_BITS = 53
_IDS_AT_ONCE = 1 << 16


class RandomJudgments:
    """The random judgments of every doc: from which rate of relevance on it is relevant, and its grade where it is."""

    def __init__(self, *, seed: int, grades: Floats) -> None:
        self.grades = np.sort(grades)
        """The grades that relevant docs have, each as often as they have it."""
        self._start = np.random.SeedSequence([seed, zlib.crc32(b"unjudged docs")]).generate_state(1, np.uint64)

    def keys(self, query_ids: Sequence[str], query: Ints, doc_ids: Sequence[str]) -> Keys:
        """Return a number for each pair of query (by position) and doc, from which all of its draws follow."""
        of_query = scramble(text_hashes(query_ids) + self._start)
        return scramble(text_hashes(doc_ids) + of_query[query])

    def chances(self, keys: Keys) -> Floats:
        """Return, for every doc and draw, the rate above which the doc is relevant: evenly between 0 and 1."""
        return fractions(keys[:, None] + np.arange(1, N_DRAWS + 1, dtype=np.uint64) * _STEP)

    def picks(self, keys: Keys) -> Ints:
        """Return, for every doc and draw, which of `grades` the doc has where it is relevant."""
        further = np.arange(N_DRAWS + 1, 2 * N_DRAWS + 1, dtype=np.uint64) * _STEP
        return (fractions(keys[:, None] + further) * len(self.grades)).astype(np.int64)


def scramble(numbers: Keys) -> Keys:
    """Return numbers in which every bit depends on all bits of the one given (the last part of SplitMix64)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * _FACTORS[0]
    mixed ^= mixed >> np.uint64(27)
    mixed *= _FACTORS[1]
    mixed ^= mixed >> np.uint64(31)
    return mixed


def fractions(numbers: Keys) -> Floats:
    """Return numbers from 0 up to, but not including, 1."""
    mixed = scramble(numbers)
    mixed >>= np.uint64(64 - _FRACTION_BITS)
    return mixed.astype(np.float64) * 2.0**-_FRACTION_BITS


def text_hashes(texts: Sequence[str]) -> Keys:
    """Return a hash of each text: its characters are the digits of a number, of which the last 64 bits are kept."""
    hashes = np.empty(len(texts), dtype=np.uint64)
    in_turn = iter(texts)
    for start in range(0, len(texts), _IDS_AT_ONCE):
        some = list(islice(in_turn, _IDS_AT_ONCE))
        joined = "\0".join(some) + "\0"  # so that no text is without a character
        characters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32) + np.uint64(1)
        lengths = np.fromiter(map(len, some), dtype=np.int64, count=len(some)) + 1
        starts = offsets_of(lengths)[:-1]
        powers = np.cumprod(np.full(int(lengths.max()), _STEP))
        characters *= powers[np.arange(len(characters)) - np.repeat(starts, lengths)]
        hashes[start : start + len(some)] = np.add.reduceat(characters, starts)
    return hashes
