"""The words behind ids: texts and attributes of queries, titles and texts of docs that a stored run or qrels name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankscope.records import Record
from rankscope.store.blobs import insert_all_new, insert_if_new
from rankscope.store.schema import canonical_json, collection, doc, query, text_sha256

if TYPE_CHECKING:
    from rankscope.store.store import Store

MAX_TEXT = 20_000
"""Of a doc's text, so many characters are kept."""
AT_A_TIME = 500


class StoredQuery(Record):
    """What was asked."""

    text: str | None = None
    attributes: dict[str, Any] = {}  # noqa: RUF012 (msgspec copies it)


class StoredDoc(Record):
    """What is known of a doc."""

    title: str = ""
    text: str = ""
    fields: dict[str, Any] = {}  # noqa: RUF012 (as above)


def queries_sha256(queries: Mapping[str, StoredQuery]) -> str:
    """Return what stands for a set of queries: their ids and texts; the attributes may be added to."""
    return hashlib.sha256(canonical_json({name: query.text for name, query in queries.items()}).encode()).hexdigest()


def put_queries(connection: sa.Connection, queries: Mapping[str, StoredQuery]) -> str:
    """Keep a set of queries; where it is known without attributes, those that are given are added."""
    sha256 = queries_sha256(queries)
    if connection.execute(sa.select(query.c.id).where(query.c.queries_sha256 == sha256).limit(1)).first() is None:
        insert_all_new(
            connection,
            query,
            [
                {
                    "queries_sha256": sha256,
                    "place": place,
                    "query": name,
                    "text": each.text,
                    "attributes": each.attributes,
                }
                for place, (name, each) in enumerate(queries.items())
            ],
        )
    else:
        add_attributes(connection, sha256, queries)
    return sha256


def add_attributes(connection: sa.Connection, sha256: str, queries: Mapping[str, StoredQuery]) -> None:
    """Add attributes to a set of queries none of which has any."""
    given = {name: each.attributes for name, each in queries.items() if each.attributes}
    own = query.c.queries_sha256 == sha256
    if not given or any(map(bool, connection.execute(sa.select(query.c.attributes).where(own)).scalars())):
        return
    attributes = sa.bindparam("new", type_=query.c.attributes.type)
    change = sa.update(query).where(own & (query.c.query == sa.bindparam("name"))).values(attributes=attributes)
    connection.execute(change, [{"name": name, "new": each} for name, each in given.items()])


def put_docs(connection: sa.Connection, collection_id: int, docs: Mapping[str, StoredDoc]) -> None:
    rows = []
    for name, each in docs.items():
        row = {"title": each.title, "text": each.text[:MAX_TEXT], "fields": each.fields}
        sha256 = hashlib.sha256(canonical_json(row).encode()).hexdigest()
        key = {"collection_id": collection_id, "doc_sha256": text_sha256(name), "sha256": sha256}
        rows.append({**key, "doc": name, **row})
    insert_all_new(connection, doc, rows)


class TextTable:
    """Texts of queries and docs, as `store.texts`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def queries(self, sha256: str) -> dict[str, StoredQuery]:
        """Return the queries of a version of a collection, in the order given."""
        wanted = sa.select(query).where(query.c.queries_sha256 == sha256).order_by(query.c.place)
        with self.store.reading() as connection:
            return {row.query: StoredQuery(row.text, row.attributes) for row in connection.execute(wanted)}

    def add_attributes(self, sha256: str, queries: Mapping[str, StoredQuery]) -> None:
        """Add the attributes of queries to a set of them that is known without any."""
        if any(each.attributes for each in queries.values()):
            with self.store.writing() as connection:
                add_attributes(connection, sha256, queries)

    def query_ids(self, sha256: str) -> tuple[str, ...]:
        """Return the ids of these queries, in the order given; the place of one is its index."""
        wanted = sa.select(query.c.query).where(query.c.queries_sha256 == sha256).order_by(query.c.place)
        with self.store.reading() as connection:
            return tuple(connection.execute(wanted).scalars())

    def queries_at(self, sha256: str, places: Iterable[int]) -> dict[str, StoredQuery]:
        """Return some of these queries, by the places that they have among all."""
        wanted, found = list(places), dict[str, StoredQuery]()
        chosen = sa.select(query).where(query.c.queries_sha256 == sha256)
        with self.store.reading() as connection:
            for at in range(0, len(wanted), AT_A_TIME):
                some = chosen.where(query.c.place.in_(wanted[at : at + AT_A_TIME]))
                rows = connection.execute(some)
                found |= {row.query: StoredQuery(row.text, row.attributes) for row in rows}
        return found

    def attributes(self, sha256: str) -> tuple[dict[str, Any], ...]:
        """Return the attributes of these queries, in the order given, without their texts."""
        wanted = sa.select(query.c.attributes).where(query.c.queries_sha256 == sha256).order_by(query.c.place)
        with self.store.reading() as connection:
            return tuple(connection.execute(wanted).scalars())

    def places_with(self, sha256: str, words: Iterable[str]) -> list[int]:
        """Return the places of the queries that have all of these words, in the text or in the id, in either case."""
        wanted = sa.select(query.c.place).where(query.c.queries_sha256 == sha256)
        for word in words:
            # SQLite ignores the case of ASCII letters only
            spellings = dict.fromkeys([word, word.lower(), word.upper(), word.capitalize()])
            columns = (query.c.text, query.c.query)
            wanted = wanted.where(
                sa.or_(*(column.icontains(each, autoescape=True) for column in columns for each in spellings))
            )
        with self.store.reading() as connection:
            return list(connection.execute(wanted.order_by(query.c.place)).scalars())

    def places_by_text(self, sha256: str) -> list[int]:
        """Return the places of these queries by the alphabet, those without a text last."""
        wanted = sa.select(query.c.place).where(query.c.queries_sha256 == sha256)
        order = (query.c.text.is_(None), sa.func.lower(query.c.text), query.c.place)
        with self.store.reading() as connection:
            return list(connection.execute(wanted.order_by(*order)).scalars())

    def add_docs(self, collection_name: str, docs: Mapping[str, StoredDoc]) -> None:
        with self.store.writing() as connection:
            put_docs(connection, collection_id_of(connection, collection_name, self.store.clock()), docs)

    def known_docs(self, collection_name: str) -> frozenset[str]:
        """Return the ids of the docs of a collection of which something is known."""
        wanted = sa.select(doc.c.doc).join(collection).where(collection.c.name == collection_name)
        with self.store.reading() as connection:
            return frozenset(connection.execute(wanted).scalars())

    def docs(self, collection_name: str, names: Iterable[str]) -> dict[str, StoredDoc]:
        """Return what is known of docs, by id; of one that was changed, what came last."""
        wanted = [text_sha256(name) for name in dict.fromkeys(names)]
        found: dict[str, StoredDoc] = {}
        with self.store.reading() as connection:
            for at in range(0, len(wanted), AT_A_TIME):
                rows = connection.execute(
                    sa.select(doc)
                    .join(collection)
                    .where(collection.c.name == collection_name, doc.c.doc_sha256.in_(wanted[at : at + AT_A_TIME]))
                    .order_by(doc.c.id)
                )
                found |= {row.doc: StoredDoc(row.title, row.text, row.fields) for row in rows}
        return found


def collection_id_of(connection: sa.Connection, name: str, now: str) -> int:
    insert_if_new(connection, collection, {"name": name, "stored": now})
    return int(connection.execute(sa.select(collection.c.id).where(collection.c.name == name)).scalar_one())
