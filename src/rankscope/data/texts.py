"""Words for ids: what was asked, and what a doc is called and says, for everything that people read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from rankscope.data.docs import DocTable
from rankscope.io.addresses import shown_url
from rankscope.io.columns import DOC_COLUMNS, match_columns
from rankscope.light import LightRecord, field

TITLE_LENGTH = 80
"""A doc without a title is called by about so many characters of its text."""
FEW_KNOWN = 0.1
"""Where a file knows fewer of the ids than this share of them, it may be another one."""
SNIPPET_LENGTH = 200
_WORD = re.compile(r"\w+")
_SHORT = 2
COMMON_WORDS = frozenset(
    {
        "about", "after", "all", "also", "and", "any", "are", "because", "been", "but", "can", "could", "did", "does",
        "for", "from", "had", "has", "have", "how", "into", "its", "may", "more", "most", "not", "now", "one", "only",
        "other", "our", "out", "over", "should", "some", "such", "than", "that", "the", "their", "them", "then",
        "there", "these", "they", "this", "those", "through", "was", "were", "what", "when", "where", "which", "while",
        "who", "why", "will", "with", "would", "you", "your",
    }
)  # fmt: skip
"""Words of up to so many letters, and those of any English text, are marked only where a query has no others."""


Snippet = tuple[tuple[str, bool], ...]
"""A part of a doc's text, in pieces: each with whether it is a word of the query."""


class Texts(LightRecord, eq=False):
    """The words behind ids, as far as they are known; a text that is not known is empty."""

    queries: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    bodies: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Where they were read from: the paths of `queries` and `docs`, where these are files."""
    notes: tuple[str, ...] = ()
    """What must be known of them: that hardly any id is in the file."""
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What else is known of docs: by doc, the value of each field."""
    attributes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What else is known of queries, objects such as a conversation included: by attribute, the value of each query."""

    @classmethod
    def of(
        cls, *, queries: Any = None, docs: Any = None, only: Iterable[str] | None = None, query_ids: Iterable[str] = ()
    ) -> Texts:
        """Return the texts of queries and docs, both in any form that is read; of docs `only` those that are needed.

        `query_ids` are those that should be among the queries.
        """
        asked: Mapping[str, str] = {}
        attributes: Mapping[str, Mapping[str, Any]] = {}
        table = DocTable({}, frozenset())
        files, notes = files_among(queries=queries, docs=docs), []
        if queries is not None:
            from rankscope.data.queries import load_queries

            given = load_queries(queries)
            asked, attributes = given.texts or {}, {**given.nested, **given.attributes}
            notes += lacking_notes("queries", query_ids, given.ids, files)
        if docs is not None:
            from rankscope.data.docs import load_docs

            only = None if only is None else frozenset(only)
            table = load_docs(docs, only=only)
            notes += lacking_notes("docs", only or (), table.doc_ids, files)
        roles = match_columns(list(table.fields), {role: DOC_COLUMNS[role] for role in ("title", "text")})
        titles, bodies = (texts_in(table.fields.get(roles.get(role, ""), {})) for role in ("title", "text"))
        return cls(asked, titles, bodies, files, tuple(notes), other_fields(table, {*roles.values()}), attributes)

    def query(self, query: str) -> str:
        """Return what was asked, on one line."""
        return one_line(self.queries.get(query, ""))

    def attributes_of(self, query: str) -> dict[str, Any]:
        """Return all that is known of a query beside its text."""
        return {name: of_query[query] for name, of_query in self.attributes.items() if query in of_query}

    def title(self, doc: str) -> str:
        """Return what a doc is called, on one line: its title, or how its text begins."""
        return one_line(self.titles.get(doc, "")) or beginning(one_line(self.bodies.get(doc, "")), TITLE_LENGTH)

    def snippet(self, query: str, doc: str, length: int = SNIPPET_LENGTH) -> Snippet:
        """Return the part of a doc's text that holds the most words of the query, with these marked."""
        text = one_line(self.bodies.get(doc, ""))
        wanted = query_words(self.queries.get(query, ""))
        found = [(match.start(), match.end()) for match in _WORD.finditer(text) if match[0].casefold() in wanted]
        start, stop = window(text, found, length)
        pieces, last = [("…" if start else "", False)], start
        for first, end in found:
            if start <= first and end <= stop:
                pieces += [(text[last:first], False), (text[first:end], True)]
                last = end
        pieces += [(text[last:stop], False), ("…" if stop < len(text) else "", False)]
        return tuple(piece for piece in pieces if piece[0])


def other_fields(table: DocTable, words: AbstractSet[str]) -> dict[str, dict[str, Any]]:
    """Return what a table knows of docs beside their titles and texts: by doc, the value of each field."""
    found: dict[str, dict[str, Any]] = {}
    for name, values in table.fields.items():
        for doc, value in values.items() if name not in words else ():
            if value is not None:
                found.setdefault(doc, {})[name] = value
    return found


def files_among(**given: Any) -> dict[str, str]:
    """Return what is given as a file, by its name."""
    return {name: shown_url(str(path)) for name, path in given.items() if isinstance(path, str | Path)}


def lacking_notes(what: str, wanted: Iterable[str], known: Collection[str], files: Mapping[str, str]) -> list[str]:
    """Say so where none, or hardly any, of the ids that are shown is known: words would be missing without a word."""
    ids, inside = sorted(set(wanted)), frozenset(known)
    lacking = [one for one in ids if one not in inside]
    n_known = len(ids) - len(lacking)
    if not ids or n_known >= FEW_KNOWN * len(ids):
        return []
    where = Path(files[what]).name if what in files else f"the {what} given"
    among = f"only {n_known:,} of the {len(ids):,} {what} {'is' if n_known == 1 else 'are'}"
    if not n_known:
        among = f"none of the {len(ids):,} {what} is" if len(ids) > 1 else f"{ids[0]!r} is not"
    example = f"e.g. {lacking[0]!r} here and {min(known)!r} there" if known else "which has none"
    return [f"{among} in {where}, so {'others' if n_known else 'ids'} are shown without words: {example}"]


def texts_in(cells: Mapping[str, Any]) -> dict[str, str]:
    return {
        doc: " ".join(map(str, cell)) if isinstance(cell, list | tuple) else str(cell) for doc, cell in cells.items()
    }


def one_line(text: str) -> str:
    return " ".join(text.split())


def query_words(text: str) -> frozenset[str]:
    words = [word.casefold() for word in _WORD.findall(text)]
    return frozenset([word for word in words if len(word) > _SHORT and word not in COMMON_WORDS] or words)


def beginning(text: str, length: int) -> str:
    """Return how a text begins, up to the end of a word where one ends near."""
    if len(text) <= length:
        return text
    end = text.rfind(" ", length * 3 // 4, length)
    return f"{text[: length - 1 if end < 0 else end]}…"


def window(text: str, found: list[tuple[int, int]], length: int) -> tuple[int, int]:
    """Return the start and the end of the part with the most different words that were found; the first of equals."""
    if len(text) <= length:
        return 0, len(text)
    best, most = 0, 0
    for first, _ in found:
        inside = {text[a:b].casefold() for a, b in found if first <= a and b <= first + length}
        if len(inside) > most:
            best, most = first, len(inside)
    start = max(0, min(best - length // 5, len(text) - length))
    if start:  # begin with a whole word
        start = text.find(" ", start) + 1 or start
    stop = min(start + length, len(text))
    if stop < len(text):
        stop = max(text.rfind(" ", start, stop + 1), start + length // 2)
    return start, stop
