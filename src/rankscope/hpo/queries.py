"""Queries from the names of terms: which names can stand as queries, how hard they are, and a fair draw from them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from rankscope.errors import InputError
from rankscope.experiment.splits import draw
from rankscope.hpo.terms import TermText
from rankscope.records import Record

EXACT_MATCH, SYNONYM, ABBREVIATION, LAYPERSON = "exact_match", "synonym", "abbreviation", "layperson"
_CATEGORY_OF_TYPE = {"": SYNONYM, "abbreviation": ABBREVIATION, "layperson": LAYPERSON}
"""Spelling variants (British, plural), discarded names and codes are types too, but no queries."""
EASY, MEDIUM = 2 / 3, 1 / 5
"""The share of a query's trigrams in the label from which on it is easy, or of medium difficulty."""

_GAPS = re.compile(r"[\W_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of scripts that set no blanks between words: Thai, Lao, Japanese, Chinese."""


class Candidate(Record):
    """A name of a term that could stand as a query."""

    term: str
    text: str
    category: str
    domain: str
    difficulty: str


def plain(text: str) -> str:
    """Return a text for comparison: lower case, with single blanks for everything but letters and digits."""
    return _GAPS.sub(" ", text.casefold()).strip()


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


def find_candidates(terms: Mapping[str, TermText], domains: Mapping[str, str]) -> Iterator[Candidate]:
    """Yield every name that can stand as a query: one term's alone, and not in that term's label or definition.

    The label itself is a query of the category exact_match. Since names that stand in the definition are left out
    whether or not docs show it, all kinds of docs are searched with the same queries.
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
            category = _CATEGORY_OF_TYPE.get(synonym.type) if synonym.scope == "EXACT" else None
            if category and name and owners[name] == 1 and not plain_stands_in(name, shown):
                yield Candidate(term.id, synonym.text, category, domain, difficulty_of(synonym.text, term.label))


def draw_queries(found: Iterable[Candidate], n: int, *, seed: int) -> list[Candidate]:
    """Draw n candidates, each of another term, as evenly over categories and domains as there are any.

    Categories take turns, the one with the fewest candidates first; each takes from the domain that it, and then all
    categories together, have taken least from. Within a domain the draw depends on the seed and the term alone.
    """
    pool = CandidatePool(found, seed)
    chosen = list(islice(pool.rounds(), n))
    if len(chosen) < n:
        raise InputError(
            f"{n} queries were asked for, but there are only {len(chosen)}", hint=f"ask for {len(chosen)} or fewer"
        )
    return sorted(chosen, key=lambda candidate: (candidate.term, candidate.category))


class CandidatePool:
    """Candidates by category and domain, in the order of their lots."""

    def __init__(self, found: Iterable[Candidate], seed: int) -> None:
        self._seed = seed
        self._cells: dict[str, dict[str, list[Candidate]]] = {}
        # A term keeps its lot whatever the language, so that languages share terms where they can.
        ordered = sorted(
            found, key=lambda one: (draw(f"{one.term} {one.category}", seed), one.category, one.text), reverse=True
        )
        for candidate in ordered:
            self._cells.setdefault(candidate.category, {}).setdefault(candidate.domain, []).append(candidate)
        self._n_taken: Counter[tuple[str, str]] = Counter()
        self._n_in_domain: Counter[str] = Counter()
        self._used: set[str] = set()
        sizes = {
            category: len({candidate.term for cell in cells.values() for candidate in cell})
            for category, cells in self._cells.items()
        }
        self.categories = sorted(self._cells, key=lambda category: (sizes[category], category))

    def rounds(self) -> Iterator[Candidate]:
        """Yield candidates, one of each category in turn, until there are none left."""
        while taken := [candidate for candidate in map(self.take, self.categories) if candidate]:
            yield from taken

    def take(self, category: str) -> Candidate | None:
        cells = self._cells[category]

        def turn(domain: str) -> tuple[int, int, bytes]:
            return self._n_taken[category, domain], self._n_in_domain[domain], draw(domain, self._seed)

        for domain in sorted(cells, key=turn):
            while cells[domain]:
                candidate = cells[domain].pop()
                if candidate.term not in self._used:
                    self._used.add(candidate.term)
                    self._n_taken[category, domain] += 1
                    self._n_in_domain[domain] += 1
                    return candidate
        return None
