"""Random judgments of unjudged docs that depend on the seed, the query and the doc, and on nothing else.

Whichever systems are compared, in whatever order and in however many processes, the same doc gets the same judgments for
the same query. One generator for all docs will not do, as its numbers would depend on which docs came before; so each
doc has numbers of its own, which follow from a hash of its id and of the query's.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

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
        return self.keys_of(query_ids, query, text_hashes(doc_ids))

    def keys_of(self, query_ids: Sequence[str], query: Ints, doc_hashes: Keys) -> Keys:
        """Return the same for docs of which the hashes are known."""
        of_query = scramble(text_hashes(query_ids) + self._start)
        return scramble(doc_hashes + of_query[query])

    def numbers(self, keys: Keys, draw: int) -> Keys:
        """Return the random number, from 0 up to 2^64, that decides for every doc in one draw whether it is relevant."""
        return scramble(keys + np.arange(draw + 1, draw + 2, dtype=np.uint64) * _STEP)

    def chances(self, keys: Keys) -> Floats:
        """Return, for every doc and draw, the rate above which the doc is relevant: evenly between 0 and 1."""
        return fractions(keys[:, None] + np.arange(1, N_DRAWS + 1, dtype=np.uint64) * _STEP)

    def picks(self, keys: Keys) -> Ints:
        """Return, for every doc and draw, which of `grades` the doc has where it is relevant."""
        further = np.arange(N_DRAWS + 1, 2 * N_DRAWS + 1, dtype=np.uint64) * _STEP
        return (fractions(keys[:, None] + further) * len(self.grades)).astype(np.int64)


def number_at(rate: float) -> tuple[np.uint64, bool]:
    """Return below which of `RandomJudgments.numbers` a doc is relevant at a rate, and whether all docs are.

    That is where the first 53 bits of the number, as a fraction, are below the rate.
    """
    first_bits = math.ceil(rate * 2.0**_FRACTION_BITS)
    if first_bits >= 1 << _FRACTION_BITS:
        return np.uint64(0), True
    return np.uint64(max(first_bits, 0) << (64 - _FRACTION_BITS)), False


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
        lengths = np.fromiter(map(len, some), dtype=np.int64, count=len(some))
        characters = np.frombuffer("".join(some).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        hashes[start : start + len(some)] = hashes_of(characters, lengths)
    return hashes


def packed_hashes(text: bytes, lengths: Ints) -> Keys:
    """Return the same of texts that lie one after the other in UTF-8 and have so many bytes each."""
    hashes, at = np.empty(len(lengths), dtype=np.uint64), 0
    for start in range(0, len(lengths), _IDS_AT_ONCE):
        own = lengths[start : start + _IDS_AT_ONCE]
        some = text[at : at + int(own.sum())]
        at += len(some)
        if some.isascii():  # each byte is a character
            found = hashes_of(np.frombuffer(some, dtype=np.uint8), own)
        else:
            ends = np.cumsum(own).tolist()
            bounds = zip([0, *ends[:-1]], ends, strict=True)
            found = text_hashes([some[first:end].decode("utf-8", "surrogatepass") for first, end in bounds])
        hashes[start : start + len(own)] = found
    return hashes


def hashes_of(characters: NDArray[Any], lengths: Ints) -> Keys:
    """Return a hash of each text; the characters of all of them lie one after the other."""
    powers: Keys = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, _STEP), dtype=np.uint64)
    digits = characters + np.uint64(1)
    starts = offsets_of(lengths)
    digits *= powers[np.arange(len(digits)) - np.repeat(starts[:-1], lengths)]
    hashes: Keys = powers[lengths]  # every text has an end, so that none is without a character
    filled = np.flatnonzero(lengths)
    hashes[filled] += np.add.reduceat(digits, starts[filled]) if len(filled) else np.uint64(0)
    return hashes
