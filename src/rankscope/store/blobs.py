"""Blobs: bytes under the hash of what they are, compressed, in chunks; never changed, and checked whenever read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
import zstandard

from rankscope.errors import InputError
from rankscope.store.schema import blob, blob_chunk

CHUNK_BYTES = 4 << 20
LEVEL = 9


def put_blob(connection: sa.Connection, data: bytes, *, kind: str, now: str) -> str:
    """Keep bytes, unless they are there already; return their hash."""
    sha256 = hashlib.sha256(data).hexdigest()
    if connection.execute(sa.select(blob.c.sha256).where(blob.c.sha256 == sha256)).first() is not None:
        return sha256
    pieces = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
    row = {"sha256": sha256, "kind": kind, "n_bytes": len(data), "n_chunks": len(pieces), "stored": now}
    if not insert_if_new(connection, blob, row):
        return sha256  # another process was faster
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    for place, piece in enumerate(pieces):
        connection.execute(
            sa.insert(blob_chunk), {"sha256": sha256, "place": place, "data": compressor.compress(piece)}
        )
    return sha256


AT_A_TIME = 500


def get_blobs(connection: sa.Connection, hashes: Iterable[str]) -> dict[str, bytes]:
    """Return the bytes of many small blobs by their hashes, read some hundreds at a time."""
    wanted, found = list(dict.fromkeys(hashes)), dict[str, bytes]()
    for at in range(0, len(wanted), AT_A_TIME):
        some = blob_chunk.c.sha256.in_(wanted[at : at + AT_A_TIME])
        chunks = sa.select(blob_chunk.c.sha256, blob_chunk.c.place, blob_chunk.c.data).where(some)
        for sha256, place, data in connection.execute(chunks.order_by(blob_chunk.c.sha256, blob_chunk.c.place)):
            found[sha256] = found.get(sha256, b"") + unpacked(data, sha256, place)
    return {
        sha256: data
        if sha256 in found and hashlib.sha256(data := found[sha256]).hexdigest() == sha256
        else get_blob(connection, sha256)  # which says what is wrong with it
        for sha256 in wanted
    }


def get_blob(connection: sa.Connection, sha256: str) -> bytes:
    """Return the bytes of a hash; those that are not what the hash says are an error."""
    found = connection.execute(sa.select(blob.c.kind, blob.c.n_bytes).where(blob.c.sha256 == sha256)).first()
    if found is None:
        raise InputError(
            f"the store lacks the blob {sha256[:12]}", hint="`rankscope store check` lists what is missing"
        )
    data = b"".join(chunks_of(connection, sha256))
    if hashlib.sha256(data).hexdigest() != sha256:
        raise damaged_blob(sha256, found.kind, f"it has {len(data):,} of {found.n_bytes:,} bytes, or other ones")
    return data


def chunks_of(connection: sa.Connection, sha256: str) -> Iterator[bytes]:
    rows = connection.execute(
        sa.select(blob_chunk.c.place, blob_chunk.c.data)
        .where(blob_chunk.c.sha256 == sha256)
        .order_by(blob_chunk.c.place)
    )
    for place, data in rows:
        yield unpacked(data, sha256, place)


def unpacked(data: bytes, sha256: str, place: int) -> bytes:
    try:
        if zstandard.frame_content_size(data) > CHUNK_BYTES:
            raise zstandard.ZstdError("it says that it is too long")  # noqa: TRY301 (as all that is wrong with it)
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=CHUNK_BYTES)
    except zstandard.ZstdError as error:
        raise damaged_blob(sha256, "blob", f"its chunk {place} cannot be read ({error})") from None


def damaged_blob(sha256: str, kind: str, why: str) -> InputError:
    return InputError(
        f"the {kind} {sha256[:12]} in the store is damaged: {why}",
        hint="`rankscope store restore BACKUP` puts a backup of the store in its place",
    )


def insert_or_ignore(connection: sa.Connection, table: sa.Table) -> Any:
    from sqlalchemy.dialects import postgresql, sqlite

    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    # inline: it returns no key, which SQLite learned late, and so the rows can be counted
    return dialect.insert(table).inline().on_conflict_do_nothing().execution_options(preserve_rowcount=True)


def insert_if_new(connection: sa.Connection, table: sa.Table, row: Mapping[str, Any]) -> bool:
    """Insert a row unless its key is there; return whether it was inserted."""
    return connection.execute(insert_or_ignore(connection, table).values(dict(row))).rowcount == 1


def insert_all_new(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert those of many rows whose keys are not there."""
    if rows:
        connection.execute(insert_or_ignore(connection, table), rows)


def row_dict(row: sa.Row[Any]) -> dict[str, Any]:
    """Return a row by the names of its columns, which SQLAlchemy gives as texts of a type of its own."""
    return {f"{name}": value for name, value in row._mapping.items()}  # noqa: SLF001 (the documented way)
