"""Queries from the names of terms: which names can stand as queries, how hard they are, and a fair draw from them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from rankscope.errors import InputError
from rankscope.experiment.repeated_texts import plain
from rankscope.experiment.splits import draw
from rankscope.hpo.terms import TermText
from rankscope.records import Record

EXACT_MATCH, SYNONYM, ABBREVIATION, LAYPERSON = "exact_match", "synonym", "abbreviation", "layperson"
COMPLEX = "complex"
CATEGORIES = (EXACT_MATCH, SYNONYM, ABBREVIATION, LAYPERSON, COMPLEX)
OTHER_NAMES = CATEGORIES[1:]
"""The categories whose queries are not the doc's own text."""
_CATEGORY_OF_TYPE = {"": SYNONYM, "abbreviation": ABBREVIATION, "layperson": LAYPERSON}
"""Spelling variants (British, plural), discarded names and codes are types too, but no queries."""
EASY, MEDIUM = 2 / 3, 1 / 5
"""The share of a query's trigrams in the label from which on it is easy, or of medium difficulty."""

COMPLEX_WORDS = 3
"""A hard query of so many words describes its term without naming it, and is complex."""

_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of scripts that set no blanks between words: Thai, Lao, Japanese, Chinese."""


class Candidate(Record):
    """A name of a term that could stand as a query."""

    term: str
    text: str
    category: str
    domain: str
    difficulty: str


def stands_in(query: str, text: str) -> bool:
    """Tell whether a query stands in a text, as whole words where the script has any."""
    return plain_stands_in(plain(query), plain(text))


def plain_stands_in(query: str, text: str) -> bool:
    return query in text if _UNSPACED.search(query) else f" {query} " in f" {text} "


def difficulty_of(query: str, label: str) -> str:
    """Return how hard a query is, by how much of its spelling stands in the label: easy, medium or hard."""
    asked = trigrams(query)
    share = len(asked & trigrams(label)) / len(asked)
    return "easy" if share >= EASY else "medium" if share >= MEDIUM else "hard"


def trigrams(text: str) -> frozenset[str]:
    """Return the three-letter pieces of a text's words, with a blank before and behind each word."""
    words = (f" {word} " for word in plain(text).split())
    return frozenset(word[i : i + 3] for word in words for i in range(max(len(word) - 2, 1)))


def plain_names(terms: Iterable[TermText]) -> set[str]:
    """Return all labels and synonyms, as they are compared."""
    return {plain(name) for term in terms for name in (term.label, *(synonym.text for synonym in term.synonyms))}


def find_candidates(
    terms: Mapping[str, TermText], domains: Mapping[str, str], *, english: AbstractSet[str] = frozenset()
) -> Iterator[Candidate]:
    """Yield every name that can stand as a query: one term's alone, and not in that term's label or definition.

    The label itself is a query of the category exact_match. Since names that stand in the definition are left out
    whether or not docs show it, all kinds of docs are searched with the same queries. In another language, names
    that `english` has as well are left out: they were hardly translated.
    """
    owners = Counter(
        name
        for term in terms.values()
        for name in {plain(term.label), *(plain(synonym.text) for synonym in term.synonyms)}
    )
    for term in terms.values():
        domain = domains.get(term.id)
        if domain is None:
            continue
        if term.label and owners[plain(term.label)] == 1:
            yield Candidate(term.id, term.label, EXACT_MATCH, domain, "easy")
        shown = plain(f"{term.label} {term.definition}")
        for synonym in term.synonyms:
            name = plain(synonym.text)
            kind = _CATEGORY_OF_TYPE.get(synonym.type) if synonym.scope == "EXACT" else None
            if kind and name and owners[name] == 1 and name not in english and not plain_stands_in(name, shown):
                difficulty = difficulty_of(synonym.text, term.label)
                is_complex = kind != ABBREVIATION and difficulty == "hard" and len(name.split()) >= COMPLEX_WORDS
                yield Candidate(term.id, synonym.text, COMPLEX if is_complex else kind, domain, difficulty)


def names_of_terms(drawn: Iterable[Candidate], found: Iterable[Candidate], *, seed: int) -> list[Candidate]:
    """Return a name for each term that was drawn in another language, of the same category where there is one.

    It is the same whatever the order of the names found.
    """
    of_term: dict[str, list[Candidate]] = {}
    for candidate in found:
        of_term.setdefault(candidate.term, []).append(candidate)
    return [
        min(
            of_term[asked.term],
            key=lambda one: (one.category != asked.category, draw(f"{one.term} {one.text}", seed), one.text),
        )
        for asked in drawn
    ]


def draw_queries(
    found: Iterable[Candidate], n: int, *, seed: int, languages: Sequence[str] = ("en",)
) -> list[Candidate]:
    """Draw n candidates, each of another term, as evenly over categories and domains as there are any.

    Categories take turns, the one with the fewest candidates first; each takes from the domain that it, and then all
    categories together, have taken least from. Within a domain the draw depends on the seed and the term alone.
    """
    # A term keeps its lot whatever the language, so that languages share terms where they can.
    ordered = sorted(
        found, key=lambda one: (draw(f"{one.term} {one.category}", seed), one.category, one.text), reverse=True
    )
    cells: dict[str, dict[str, list[Candidate]]] = {}
    terms: dict[str, set[str]] = {}
    for candidate in ordered:
        cells.setdefault(candidate.category, {}).setdefault(candidate.domain, []).append(candidate)
        terms.setdefault(candidate.category, set()).add(candidate.term)
    categories = sorted(cells, key=lambda category: (len(terms[category]), category))
    n_taken: Counter[tuple[str, str]] = Counter()
    n_in_domain: Counter[str] = Counter()
    used: set[str] = set()

    def take(category: str) -> Candidate | None:
        def turn(domain: str) -> tuple[int, int, bytes]:
            return n_taken[category, domain], n_in_domain[domain], draw(domain, seed)

        for domain in sorted(cells[category], key=turn):
            left = cells[category][domain]
            while left:
                candidate = left.pop()
                if candidate.term not in used:
                    used.add(candidate.term)
                    n_taken[category, domain] += 1
                    n_in_domain[domain] += 1
                    return candidate
        return None

    chosen: list[Candidate] = []
    while len(chosen) < n:
        taken = [candidate for candidate in map(take, categories) if candidate]
        if not taken:
            where = ", ".join(map(repr, languages))
            raise InputError(
                f"{n} queries were asked for, but there are only {len(chosen)}: so many terms have a name that "
                f"can stand as a query in {where}",
                hint=f"ask for fewer: --size {len(chosen)}" if chosen else "leave out a language, or --parallel",
            )
        chosen += taken
    return sorted(chosen[:n], key=lambda candidate: (candidate.term, candidate.category))
