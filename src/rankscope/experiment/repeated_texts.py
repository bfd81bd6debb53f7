"""Queries that repeat a doc: where a query is the whole text of a doc, any search by words finds it at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rankscope.align.finding import count_and_share, quote_id
from rankscope.data.qrels import Qrels
from rankscope.records import Record
from rankscope.systems.base import Doc

_GAPS = re.compile(r"[\W_]+")


class RepeatedTexts(Record):
    """Which queries are the whole text of a doc, of how many."""

    docs_of: dict[str, list[str]]
    """The docs that each such query repeats."""
    n_queries: int

    def in_words(self, qrels: Qrels) -> str:
        """Return a sentence with the share, or nothing where there is no such query."""
        n = len(self.docs_of)
        if not n:
            return ""
        n_relevant = sum(
            any(qrels.judged.get(query, {}).get(doc, 0) > 0 for doc in docs) for query, docs in self.docs_of.items()
        )
        first, (doc, *_) = next(iter(self.docs_of.items()))
        share = count_and_share(n, self.n_queries, "queries")
        return (
            f"{share} {'is' if n == 1 else 'are'} the whole text of a doc, {n_relevant:,} of them of "
            "a relevant one: any search by words finds these at once, so that scores look better than they are "
            f"(e.g. query {quote_id(first)}, doc {quote_id(doc)})"
        )


def plain(text: str) -> str:
    """Return a text in lower case, with single blanks for everything but letters and digits."""
    return _GAPS.sub(" ", text.casefold()).strip()


def find_repeated_texts(queries: Mapping[str, str], docs: Iterable[Doc]) -> RepeatedTexts:
    """Find the queries whose text is all that a doc says, whatever the case and the punctuation."""
    asked: dict[str, list[str]] = {}
    for query, text in queries.items():
        if words := plain(text):
            asked.setdefault(words, []).append(query)
    longest = max(map(len, asked), default=0)
    found: dict[str, list[str]] = {}
    for doc in docs:
        if len(doc.title) + len(doc.text) > 4 * longest + 100:  # most docs are far longer than any query
            continue
        parts = dict.fromkeys(filter(None, (plain(doc.title), plain(doc.text))))
        for query in asked.get(" ".join(parts), ()):
            found.setdefault(query, []).append(doc.id)
    return RepeatedTexts({query: found[query] for query in queries if query in found}, len(queries))
