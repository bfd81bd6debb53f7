"""Queries that repeat a doc, its whole text or its title: a search by words finds such a doc easily."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rankscope.align.finding import count_and_share, quote_id
from rankscope.data.qrels import Qrels
from rankscope.records import Record
from rankscope.systems.base import Doc

_GAPS = re.compile(r"[\W_]+")


class RepeatedTexts(Record):
    """Which queries are the whole text of a doc, or its title alone, of how many."""

    docs_of: dict[str, list[str]]
    """The docs of which a query is the whole text, by query."""
    titles_of: dict[str, list[str]]
    """The docs of which a query is the title, by query, where their text says more."""
    n_queries: int

    def in_words(self, qrels: Qrels) -> str:
        """Return a sentence with the share, or nothing where there is no such query."""
        docs_of = {
            query: [*self.docs_of.get(query, ()), *self.titles_of.get(query, ())]
            for query in (*self.docs_of, *self.titles_of)
        }
        if not docs_of:
            return ""
        n_relevant = sum(
            any(qrels.judged.get(query, {}).get(doc, 0) > 0 for doc in docs) for query, docs in docs_of.items()
        )
        what, finds = "the whole text of a doc", "any search by words finds these at once"
        if self.titles_of:
            counts = f" ({len(self.titles_of):,} the title of one that says more, {len(self.docs_of):,} the whole text)"
            what = f"the title or the whole text of a doc{counts}" if self.docs_of else "the title of a doc"
            finds = "a search by words finds these easily"
        first, (doc, *_) = next(iter(docs_of.items()))
        share = count_and_share(len(docs_of), self.n_queries, "queries")
        return (
            f"{share} {'is' if len(docs_of) == 1 else 'are'} {what}, {n_relevant:,} of them of a relevant one: "
            f"{finds}, so that scores look better than they are (e.g. query {quote_id(first)}, doc {quote_id(doc)})"
        )


def plain(text: str) -> str:
    """Return a text in lower case, with single blanks for everything but letters and digits."""
    return _GAPS.sub(" ", text.casefold()).strip()


def find_repeated_texts(queries: Mapping[str, str], docs: Iterable[Doc]) -> RepeatedTexts:
    """Find the queries whose text is all that a doc says, or its title, whatever the case and the punctuation."""
    asked: dict[str, list[str]] = {}
    for query, text in queries.items():
        if words := plain(text):
            asked.setdefault(words, []).append(query)
    longest = max(map(len, asked), default=0)
    most = 4 * longest + 100  # most docs are far longer than any query
    found: dict[str, list[str]] = {}
    titled: dict[str, list[str]] = {}
    for doc in docs:
        title = plain(doc.title) if len(doc.title) <= most else ""
        if len(doc.title) + len(doc.text) <= most:
            whole = " ".join(dict.fromkeys(filter(None, (title, plain(doc.text)))))
            for query in asked.get(whole, ()):
                found.setdefault(query, []).append(doc.id)
            if whole == title:
                continue
        for query in asked.get(title, ()):
            titled.setdefault(query, []).append(doc.id)
    whole_of, title_of = ({query: docs[query] for query in queries if query in docs} for docs in (found, titled))
    return RepeatedTexts(whole_of, title_of, len(queries))
