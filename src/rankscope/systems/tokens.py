"""Words of a text: lower-cased, split, without stop words, stemmed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rankscope.errors import OptionError, did_you_mean
from rankscope.systems.options import need

PIP = '"rankscope[systems]"'
NONE = "none"
_LANGUAGES = (
    "ar arabic, ca catalan, da danish, de german, el greek, en english, es spanish, eu basque, fi finnish, fr french, "
    "ga irish, hi hindi, hu hungarian, hy armenian, id indonesian, it italian, ko korean, lt lithuanian, ne nepali, "
    "nl dutch, no norwegian, pt portuguese, ro romanian, ru russian, sr serbian, sv swedish, ta tamil, tr turkish, "
    "yi yiddish, zh chinese"
)
LANGUAGE_CODES: Mapping[str, str] = dict(language.split() for language in _LANGUAGES.split(", "))
"""Two-letter codes of languages, and their names."""
_WITH_STOP_WORDS = (
    "chinese danish dutch english english_plus french german italian korean norwegian portuguese russian spanish "
    "swedish turkish"
)
_STOP_LISTS = _WITH_STOP_WORDS.split()
_STOP_LIST_NAMES = {"english": "EN", "english_plus": "EN_PLUS"}


class Tokenizer(msgspec.Struct, frozen=True):
    """Splits texts into the words that are compared; a word's stem is looked up once."""

    stop_words: frozenset[str]
    stem: Callable[[str], str] | None
    pattern: re.Pattern[str]
    _stem_of: dict[str, str] = {}

    def words(self, text: str) -> list[str]:
        kept = [word for word in self.pattern.findall(text.lower()) if word not in self.stop_words]
        if self.stem is None:
            return kept
        for word in kept:
            if word not in self._stem_of:
                self._stem_of[word] = self.stem(word)
        return [self._stem_of[word] for word in kept]


def make_tokenizer(*, stemmer: str, stop_words: str | Sequence[str], pattern: str) -> Tokenizer:
    """Return a tokenizer from names of languages, "none", or one's own list of stop words."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise OptionError(f"token_pattern {pattern!r} is not a regular expression: {error}") from error
    return Tokenizer(frozenset(stop_words_of(stop_words)), stemmer_of(stemmer), compiled)


def language_among(known: Sequence[str], name: str, *, problem: str, more: str = "") -> str:
    """Return a language that is one of those known, from its name or two-letter code."""
    language = LANGUAGE_CODES.get(name.lower(), name.lower())
    if language not in known:
        names = [*known, NONE]
        hint = did_you_mean(language, names) or f"there are {', '.join(names)}{more}"
        raise OptionError(f"{problem} {name!r}", hint=hint)
    return language


def stemmer_of(name: str) -> Callable[[str], str] | None:
    if name == NONE:
        return None
    snowball = need("Stemmer", pip=PIP, why=f"the stemmer of {name}")
    stemmer: Any = snowball.Stemmer(language_among(snowball.algorithms(), name, problem="there is no stemmer"))
    return stemmer.stemWord  # type: ignore[no-any-return]


def stop_words_of(given: str | Sequence[str]) -> Iterable[str]:
    """Return stop words: those of a language, none, or the list given."""
    if not isinstance(given, str):
        return [word.lower() for word in given]
    if given == NONE:
        return ()
    problem, more = "there are no stop words for", "; or give a list of words"
    language = language_among(_STOP_LISTS, given, problem=problem, more=more)
    lists = need("bm25s.stopwords", pip=PIP, why="a list of stop words")
    listed: Iterable[str] = getattr(lists, f"STOPWORDS_{_STOP_LIST_NAMES.get(language, language.upper())}")
    return listed
