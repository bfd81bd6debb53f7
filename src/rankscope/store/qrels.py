"""Stored judgments as they were at one moment: a snapshot that is never changed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa
from msgspec import field

from rankscope.data.qrels import Qrels
from rankscope.data.sources import Origin
from rankscope.errors import UnknownNameError, did_you_mean
from rankscope.records import Record, from_builtins
from rankscope.store.blobs import get_blob, insert_if_new, put_blob, row_dict
from rankscope.store.columns import QrelsColumns, qrels_bytes
from rankscope.store.schema import canonical_json
from rankscope.store.schema import qrels as qrels_table

if TYPE_CHECKING:
    from rankscope.store.store import Store

LabelKind = Literal["people", "judge", "clicks"]
"""Who the labels come from; labels of two kinds are never merged."""


class StoredQrels(Record, kw_only=True):
    """Judgments as the store has them; `store.qrels.judgments` reads them."""

    number: int
    digest: str
    judgments_sha256: str
    name: str
    kind: LabelKind
    facts: dict[str, Any] = field(default_factory=dict)
    """The rule and the task that they came from, and counts."""
    stored: str

    @property
    def short(self) -> str:
        return self.digest[:8]


_COLUMNS: sa.Select[Any] = sa.select(
    qrels_table.c.id.label("number"),
    *(qrels_table.c[name] for name in ("digest", "judgments_sha256", "name", "kind", "facts", "stored")),
)


class QrelsTable:
    """The snapshots of judgments of a store, as `store.qrels`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._unkept: dict[str, tuple[StoredQrels, Qrels]] = {}
        """By name, judgments that were added while the store may only be read."""

    def add(
        self, qrels: Qrels, *, name: str, kind: LabelKind = "people", facts: dict[str, Any] | None = None
    ) -> StoredQrels:
        """Keep judgments as the newest of their name; where the newest are these, they are returned as they are.

        A store that may only be read has them as long as it is open.
        """
        data, now = qrels_bytes(qrels.rows), self.store.clock()
        known = {"n_queries": len(qrels), "n_judgments": len(qrels.rows), **(facts or {})}
        known = json.loads(canonical_json(known))
        if self.store.read_only:
            return self._hold(qrels, hashlib.sha256(data).hexdigest(), name=name, kind=kind, facts=known)
        with self.store.writing() as connection:
            sha256 = put_blob(connection, data, kind="qrels", now=now)
            newest = connection.execute(newest_of(name)).first()
            if newest is not None and (newest.judgments_sha256, newest.kind, newest.facts) == (sha256, kind, known):
                return stored_qrels(newest)
            digest = qrels_digest(sha256, name, kind, None if newest is None else newest.digest)
            row = {"digest": digest, "judgments_sha256": sha256, "name": name, "kind": kind, "stored": now}
            insert_if_new(connection, qrels_table, {**row, "facts": known})
            return stored_qrels(connection.execute(_COLUMNS.where(qrels_table.c.digest == digest)).one())

    def _hold(self, qrels: Qrels, sha256: str, *, name: str, kind: LabelKind, facts: dict[str, Any]) -> StoredQrels:
        with self.store.reading() as connection:
            newest = connection.execute(newest_of(name)).first()
        if newest is not None and (newest.judgments_sha256, newest.kind, newest.facts) == (sha256, kind, facts):
            return stored_qrels(newest)
        digest = qrels_digest(sha256, name, kind, None if newest is None else newest.digest)
        held = StoredQrels(
            number=-1 - len(self._unkept),  # no row has such a number
            digest=digest,
            judgments_sha256=sha256,
            name=name,
            kind=kind,
            facts=facts,
            stored=self.store.clock(),
        )
        self._unkept[name] = held, qrels
        return held

    def list(self, *, name: str | None = None) -> tuple[StoredQrels, ...]:
        """Return all snapshots, or those of a name, in the order in which they were stored."""
        wanted = _COLUMNS if name is None else _COLUMNS.where(qrels_table.c.name == name)
        with self.store.reading() as connection:
            kept = tuple(stored_qrels(row) for row in connection.execute(wanted.order_by(qrels_table.c.id)))
        return kept + tuple(held for held, _ in self._unkept.values() if name in (None, held.name))

    def find(self, reference: str) -> StoredQrels:
        """Return the newest snapshot of a name, or the one with a number or the beginning of a hash."""
        if reference in self._unkept:
            return self._unkept[reference][0]
        with self.store.reading() as connection:
            rows = connection.execute(newest_of(reference)).all()
            if not rows and re.fullmatch("[0-9]{1,7}", reference):
                rows = connection.execute(_COLUMNS.where(qrels_table.c.id == int(reference))).all()
            if not rows and re.fullmatch("[0-9a-f]{4,64}", reference):
                rows = connection.execute(_COLUMNS.where(qrels_table.c.digest.startswith(reference)).limit(2)).all()
        if len(rows) > 1:
            raise UnknownNameError(f"several qrels begin with {reference}", hint="give more of the hash")
        if rows:
            return stored_qrels(rows[0])
        known = sorted({each.name for each in self.list()})
        hint = did_you_mean(reference, known) or (f"there are {', '.join(known)}" if known else "")
        raise UnknownNameError(f"the store has no qrels {reference!r}", hint=hint)

    def columns(self, stored: StoredQrels) -> QrelsColumns:
        """Return judgments as they are stored, to read those of a few queries, again and again."""
        with self.store.reading() as connection:
            return QrelsColumns(get_blob(connection, stored.judgments_sha256))

    def judgments(
        self, stored: StoredQrels, *, only: Collection[str] | None = None, columns: QrelsColumns | None = None
    ) -> Qrels:
        """Return the judgments, or `only` those of some queries; `columns` are what the method `columns` returned."""
        held, qrels = self._unkept.get(stored.name, (None, None))
        if held == stored and qrels is not None:
            return qrels if only is None else qrels.select(only)
        rows = (columns or self.columns(stored)).rows(only)
        origin = Origin(f"the judgments of {stored.name} in the store", "store", lambda: stored.judgments_sha256)
        return Qrels(rows, origin=origin)


def qrels_digest(judgments_sha256: str, name: str, kind: LabelKind, before: str | None) -> str:
    """Return what stands for a snapshot; with the one before in it, judgments that go back are the newest again."""
    return hashlib.sha256(canonical_json([judgments_sha256, name, kind, before]).encode()).hexdigest()


def newest_of(name: str) -> sa.Select[Any]:
    return _COLUMNS.where(qrels_table.c.name == name).order_by(qrels_table.c.id.desc()).limit(1)


def stored_qrels(row: sa.Row[Any]) -> StoredQrels:
    return from_builtins(StoredQrels, row_dict(row))
