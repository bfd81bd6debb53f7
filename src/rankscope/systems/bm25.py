"""BM25 over words, by the library bm25s: the baseline that every other system has to beat.

Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; the variants are compared in
Kamphuis et al., Which BM25 Do You Mean?, ECIR 2020.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from rankscope.errors import OptionError, did_you_mean
from rankscope.progress import Progress
from rankscope.systems.base import DocIds, DocStore, OptionSystem, Query, RankedDocs, text_of, with_progress
from rankscope.systems.options import AtLeastZero, DocFields, ZeroToOne, need, versions_of

_PIP = '"rankscope[systems]"'
_NONE = "none"
_LANGUAGES = (
    "ar arabic, ca catalan, da danish, de german, el greek, en english, es spanish, eu basque, fi finnish, fr french, "
    "ga irish, hi hindi, hu hungarian, hy armenian, id indonesian, it italian, ko korean, lt lithuanian, ne nepali, "
    "nl dutch, no norwegian, pt portuguese, ro romanian, ru russian, sr serbian, sv swedish, ta tamil, tr turkish, "
    "yi yiddish, zh chinese"
)
_LANGUAGE_CODES = dict(language.split() for language in _LANGUAGES.split(", "))
_WITH_STOP_WORDS = (
    "chinese, danish, dutch, english, english_plus, french, german, italian, korean, norwegian, portuguese, russian, "
    "spanish, swedish, turkish"
)
_STOP_LIST_NAMES = {"english": "EN", "english_plus": "EN_PLUS"}


class BM25(OptionSystem, kw_only=True):
    """Ranks docs by the words they share with the query; rare words and short docs count more.

    A doc that shares no word with the query is not returned. A word that is twice in the query counts twice.
    """

    kind: ClassVar[str] = "bm25"
    k1: AtLeastZero = 1.2
    """How soon more occurrences of a word stop counting."""
    b: ZeroToOne = 0.75
    """How much long docs are held back: 0 not at all, 1 fully."""
    method: Literal["lucene", "robertson", "atire", "bm25l", "bm25+"] = "lucene"
    """Which BM25: lucene, robertson, atire, bm25l or bm25+."""
    delta: AtLeastZero = 0.5
    """The least that an occurrence adds, in bm25l and bm25+ only."""
    stemmer: str = "english"
    """The language whose Snowball stemmer is used, or none."""
    stop_words: str | Sequence[str] = "english"
    """The language whose stop words are left out, none, or a list of words."""
    fields: DocFields = ("title", "text")
    """The fields of a doc that are searched, as one text."""
    token_pattern: str = r"\b\w\w+\b"  # noqa: S105 (a token of text, not a secret)
    """What a word is, as a regular expression."""

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer(stemmer=self.stemmer, stop_words=self.stop_words, pattern=self.token_pattern)

    def index(self, docs: DocStore, *, progress: Progress | None) -> None:
        bm25s = need("bm25s", pip=_PIP, why="bm25")
        words = WordNumbers()
        ids = []
        for doc in with_progress(docs, progress):
            words.add(self.tokenizer.words(text_of(doc, self.fields)))
            ids.append(doc.id)
        model = bm25s.BM25(k1=self.k1, b=self.b, delta=self.delta, method=self.method)
        if words.number_of:
            model.scores = model.build_index_from_ids(
                unique_token_ids=list(words.number_of.values()), corpus_token_ids=words, show_progress=False
            )
        self._index = WordIndex(DocIds(ids), words.number_of, model)

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        index = self.require_index()
        return [index.search(self.tokenizer.words(query.text), k=k) for query in queries]

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "versions": versions_of("bm25s", "PyStemmer")}


class WordIndex(msgspec.Struct, frozen=True):
    """The weight of every word in every doc that has it."""

    docs: DocIds
    number_of: dict[str, int]
    model: Any

    def search(self, words: Sequence[str], *, k: int) -> RankedDocs:
        numbers = [self.number_of[word] for word in words if word in self.number_of]
        if not numbers:
            return []
        scores = self.model.get_scores_from_ids(numbers)
        starts, docs = self.model.scores["indptr"], self.model.scores["indices"]
        has_any = np.zeros(len(self.docs.ids), dtype=bool)
        for number in numbers:
            has_any[docs[starts[number] : starts[number + 1]]] = True
        rows = np.flatnonzero(has_any)
        if len(rows) > k:  # all that score at least as much as the k-th
            place = len(rows) - k
            rows = rows[scores[rows] >= np.partition(scores[rows], place)[place]]
        return self.docs.ranking(rows, scores[rows], k)

    @property
    def n_bytes(self) -> int:
        arrays = (getattr(self.model, "scores", None) or {}).values()
        return sum(int(part.nbytes) for part in arrays if isinstance(part, np.ndarray))


class WordNumbers:
    """The words of all docs as numbers, four bytes each; what bm25s reads, doc by doc, as often as it wants."""

    def __init__(self) -> None:
        self.number_of: dict[str, int] = {}
        self._numbers = array("i")
        self._ends = array("q", [0])

    def add(self, words: Sequence[str]) -> None:
        number_of = self.number_of
        self._numbers.extend([number_of.setdefault(word, len(number_of)) for word in words])
        self._ends.append(len(self._numbers))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[list[int]]:
        for start, end in zip(self._ends, self._ends[1:], strict=False):
            yield self._numbers[start:end].tolist()


class Tokenizer:
    """Splits texts into the words that are compared: lower-cased, without stop words, stemmed."""

    def __init__(self, *, stemmer: str, stop_words: str | Sequence[str], pattern: str) -> None:
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise OptionError(f"token_pattern {pattern!r} is not a regular expression: {error}") from error
        self._stop_words = frozenset[str]()
        if not isinstance(stop_words, str):
            self._stop_words = frozenset(word.lower() for word in stop_words)
        elif stop_words != _NONE:
            problem, more = "there are no stop words for", "; or give a list of words"
            language = language_among(_WITH_STOP_WORDS.split(", "), stop_words, problem=problem, more=more)
            lists = need("bm25s.stopwords", pip=_PIP, why="a list of stop words")
            name = _STOP_LIST_NAMES.get(language, language.upper())
            self._stop_words = frozenset(getattr(lists, f"STOPWORDS_{name}"))
        self._stem: Callable[[str], str] = str
        if stemmer != _NONE:
            snowball = need("Stemmer", pip=_PIP, why=f"the stemmer of {stemmer}")
            language = language_among(snowball.algorithms(), stemmer, problem="there is no stemmer")
            self._stem = cache(snowball.Stemmer(language).stemWord)

    def words(self, text: str) -> list[str]:
        return [self._stem(word) for word in self._pattern.findall(text.lower()) if word not in self._stop_words]


def language_among(known: Sequence[str], name: str, *, problem: str, more: str = "") -> str:
    """Return a language that is one of those known, from its name or two-letter code."""
    language = _LANGUAGE_CODES.get(name.lower(), name.lower())
    if language not in known:
        names = [*known, _NONE]
        hint = did_you_mean(language, names) or f"there are {', '.join(names)}{more}"
        raise OptionError(f"{problem} {name!r}", hint=hint)
    return language
