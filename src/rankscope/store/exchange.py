"""A store as a folder of plain files that other tools read, and back.

Runs are TREC text or JSON lines with the queries they were asked beside them, qrels and texts are JSON lines, judgments
and all else that is only added to one line each (exchange_rows.py), and a manifest says what belongs together. Whatever
is taken in is compared with its hash.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
import zstandard

from rankscope._version import __version__
from rankscope.comparison.records import Comparison
from rankscope.data.asked_queries import AskedQueries
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.data.sources import QUERIES_ENDING, Origin
from rankscope.errors import FormatError, InputError, RankscopeError
from rankscope.io.files import make_folder, read_json, read_text, write_text
from rankscope.io.read import read_qrels, read_run
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.write import open_target, write_rows
from rankscope.progress import Progress
from rankscope.records import Record, from_builtins, replace, to_builtins, to_json
from rankscope.store.blobs import get_blob, insert_if_new, put_blob
from rankscope.store.columns import (
    ScoreVector,
    qrels_bytes,
    qrels_rows_of,
    run_bytes,
    run_rows_of,
    texts_bytes,
    texts_of,
    vector_bytes,
    vector_of,
)
from rankscope.store.comparisons import StoredComparison, looks_at
from rankscope.store.exchange_rows import (
    JUDGMENTS,
    export_rows,
    import_judgments,
    import_rows,
    read_lines,
    write_lines,
)
from rankscope.store.exchange_tasks import check_numbers, export_tasks, import_tasks
from rankscope.store.qrels import StoredQrels
from rankscope.store.runs import CollectionFacts, RunDetails, RunFacts, StoredRun, StoredSource
from rankscope.store.schema import collection, comparison, doc, guideline, metadata, tag
from rankscope.store.schema import scores as scores_table
from rankscope.store.store import Store
from rankscope.store.texts import StoredDoc, StoredQuery

VERSION = 1
MARK = "rankscope_store"
MANIFEST = "manifest.json"
SCORES = "scores.jsonl"
SCORE_COLUMNS = ("measure", "version", "policies_sha256", "data_sha256", "mean", "facts")
COLUMNS_ENDING = ".columns.zst"
"""Of what no plain file gives back bit by bit: the bytes of the store themselves, compressed."""


_NO_TREC_ID = re.compile(r"\s|^#|[\x00\ud800-\udfff]")
"""Blanks, the sign of a comment, and what is no character."""


class ExchangeCounts(Record):
    """How much was written to a folder, or how much of what was in one is new in a store."""

    runs: int
    qrels: int
    judgments: int
    comparisons: int
    tags: int
    """Moves of tags."""
    target_results: int
    alerts: int
    notifications: int
    tasks: int
    """Of judging."""
    preferences: int


def file_stem(*words: str) -> str:
    plain = "-".join(re.sub(r"[^A-Za-z0-9_+]+", "-", word).strip("-")[:60] for word in words)
    return plain.strip("-") or "unnamed"


def export_store(store: Store, folder: Path, *, progress: Progress | None = None) -> ExchangeCounts:
    """Write all but scores, which follow from the rest, to a new folder."""
    make_folder(folder)
    runs = sorted(store.runs.list(repetitions=True), key=lambda run: run.number)
    qrels, compared = store.qrels.list(), store.comparisons.list()
    for name in ("runs", "qrels", "queries", "docs", "comparisons", "guidelines"):
        (folder / name).mkdir()
    listed = []
    for done, run in enumerate(runs, start=1):
        listed.append(export_run(store, run, folder))
        if progress is not None:
            progress(done, len(runs))
    further = {name: store.tasks.further_queries(name) for name in store.runs.collections()}
    manifest = {
        MARK: VERSION,
        "rankscope": __version__,
        "runs": listed,
        "qrels": [export_qrels(store, each, folder) for each in qrels],
        "comparisons": [export_comparison(store, each, folder) for each in compared],
        "tags": [
            {"name": move.name, "run": digest_of(runs, move.run), "who": move.who, "at": move.at}
            for move in store.tags.moves()
        ],
        "docs": {name: export_docs(store, name, folder) for name in store.runs.collections()},
        "further_queries": further,
    }
    for sha256 in sorted({*(run.queries_sha256 for run in runs), *chain.from_iterable(further.values())}):
        lines = (
            {"query": query, "text": each.text, "attributes": each.attributes}
            for query, each in store.texts.queries(sha256).items()
        )
        write_lines(lines, folder / "queries" / f"{sha256}.jsonl")
    with store.reading() as connection:
        guidelines = connection.execute(sa.select(guideline)).all()
    for row in guidelines:
        content = to_json({"text": row.text, "stored": row.stored}, ascii_only=True)
        write_text(folder / "guidelines" / f"{row.sha256}.json", content)
    store.judgments.save(folder / JUDGMENTS)
    write_lines(kept_scores(store, runs, qrels), folder / SCORES)
    export_rows(store, folder)
    export_tasks(store, folder, runs)
    write_text(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")  # last: without it, the folder is no export
    return counts_of(store)


def digest_of(runs: Iterable[StoredRun], number: int | None) -> str | None:
    return next((run.digest for run in runs if run.number == number), None)


def export_run(store: Store, run: StoredRun, folder: Path) -> dict[str, Any]:
    ranking = store.runs.ranking(run)
    stem = folder / "runs" / file_stem(run.collection, run.system, run.short)
    about = {
        "digest": run.digest,
        "sha256": run.ranking_sha256,
        "system": run.system,
        "type": run.type,
        "config": run.config,
        "collection": run.collection,
        "queries": run.queries_sha256,
        "docs_sha256": run.docs_sha256,
        "qrels_sha256": run.qrels_sha256,
        "counts": run.counts,
        "asked": ranking.asked.queries if ranking.asked is not None else (),
        "started": run.started,
        "stored": run.stored,
        "latencies_ms": store.runs.latencies_ms(run),
        "details": to_builtins(run.details),
    }
    file, rows = write_exactly(store, ranking.rows, stem, run.ranking_sha256)
    if file.name.endswith(COLUMNS_ENDING):
        return {**about, "file": f"runs/{file.name}"}
    with file.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    queries = tuple(dict.fromkeys([*about["asked"], *ranking.rows.query]))  # who answers was asked
    asked = AskedQueries(sha256, queries, run.details.failed, run.details.split)
    write_text(file.with_name(file.name + QUERIES_ENDING), asked.to_json())
    return {**about, "file": f"runs/{file.name}", "rows": rows}


def export_qrels(store: Store, stored: StoredQrels, folder: Path) -> dict[str, Any]:
    stem = folder / "qrels" / file_stem(stored.name, stored.short)
    file, rows = write_exactly(store, store.qrels.judgments(stored).rows, stem, stored.judgments_sha256)
    about = {"sha256": stored.judgments_sha256, "name": stored.name, "kind": stored.kind, "facts": stored.facts}
    about |= {"stored": stored.stored}
    return {**about, "file": f"qrels/{file.name}", "rows": rows}


def write_exactly(store: Store, rows: RunRows | QrelsRows, stem: Path, sha256: str) -> tuple[Path, dict[str, Any]]:
    """Write rows as the plainest file from which they can be read back bit by bit; return it, and what to add then."""
    is_run = isinstance(rows, RunRows)
    about: dict[str, Any] = {"integer_ids": sorted(rows.integer_ids), "empty": rows.empty_queries}
    if isinstance(rows, RunRows):
        about |= {"tag": rows.tag, "has_rank": rows.rank is not None}
    has_place = not any(_NO_TREC_ID.search(each) for each in {*rows.query, *rows.doc})
    for ending in ("trec.gz", "jsonl.gz") if is_run and has_place else ("jsonl.gz",):
        path = stem.with_name(f"{stem.name}.{ending}")
        try:
            write_rows(rows, path)
        except InputError:  # an id, or a number, that this format has no place for
            continue
        if content_sha256(read_exactly(path, about, is_run=is_run)) == sha256:
            return path, about
        path.unlink()
    path = stem.with_name(stem.name + COLUMNS_ENDING)
    with store.reading() as connection:
        data = get_blob(connection, sha256)
    with open_target(str(path)) as stream:
        stream.write(zstandard.ZstdCompressor().compress(data))
    return path, {}


def read_exactly(path: Path, about: dict[str, Any], *, is_run: bool) -> RunRows | QrelsRows:
    """Return the rows of an exported file as they were in the store."""
    if path.name.endswith(COLUMNS_ENDING):
        try:
            data = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
            return run_rows_of(data) if is_run else qrels_rows_of(data)
        except (zstandard.ZstdError, ValueError, KeyError, IndexError) as error:
            raise FormatError(f"{path} is damaged: {error}") from None
    ids, empty = frozenset(about["integer_ids"]), tuple(about["empty"])
    if not is_run:
        judged = read_qrels(path).rows
        return QrelsRows(judged.query, judged.doc, judged.grade, judged.subtopic, judged.rater, judged.time, ids, empty)
    rows = read_run(path).rows
    return RunRows(rows.query, rows.doc, rows.score, rows.rank if about["has_rank"] else None, about["tag"], ids, empty)


def content_sha256(rows: RunRows | QrelsRows) -> str:
    data = run_bytes(rows) if isinstance(rows, RunRows) else qrels_bytes(rows)
    return hashlib.sha256(data).hexdigest()


def export_docs(store: Store, name: str, folder: Path) -> str:
    """Write what is known of the docs of a collection, in the order in which it came."""
    path = (
        folder
        / "docs"
        / f"{file_stem(name)}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}.jsonl"
    )
    wanted = sa.select(doc).join(collection).where(collection.c.name == name).order_by(doc.c.id)
    with store.reading() as connection:
        lines = [
            {"doc": row.doc, "title": row.title, "text": row.text, "fields": row.fields}
            for row in connection.execute(wanted)
        ]
    write_lines(lines, path)
    return f"docs/{path.name}"


def export_comparison(store: Store, stored: StoredComparison, folder: Path) -> dict[str, Any]:
    with store.reading() as connection:
        row = connection.execute(sa.select(comparison).where(comparison.c.id == stored.number)).one()
        data = get_blob(connection, row.result_sha256)
    path = folder / "comparisons" / f"{row.request_sha256[:16]}.json"
    write_text(path, data.decode())
    kept = {name: value for name, value in row._mapping.items() if name not in ("id", "look")}  # noqa: SLF001 (the documented way)
    return {"file": f"comparisons/{path.name}", "row": kept, "is_look": row.look > 0}


def kept_scores(store: Store, runs: Iterable[StoredRun], qrels: Iterable[StoredQrels]) -> Iterator[dict[str, Any]]:
    """Yield the scores that cannot be computed again, as the embeddings or ontology behind them are not stored."""
    digest_by_number = {run.number: run.digest for run in runs}
    labels = {each.number: (each.judgments_sha256, each.name, each.kind) for each in qrels}
    with store.reading() as connection:
        wanted = sa.select(scores_table).where(scores_table.c.data_sha256 != "").order_by(scores_table.c.id)
        for row in connection.execute(wanted).all():
            vector = vector_of(get_blob(connection, row.vector_sha256))
            yield {
                **{name: getattr(row, name) for name in SCORE_COLUMNS},
                "run": digest_by_number[row.run_id],
                "qrels": labels[row.qrels_id],
                "queries": texts_of(get_blob(connection, row.queries_sha256)),
                "values": [None if math.isnan(value) else value for value in vector.values.tolist()],
                "undefined": vector.undefined.tolist(),
                "answered": vector.answered.tolist(),
            }


def import_scores(store: Store, path: Path, runs: Mapping[str, StoredRun]) -> None:
    """Keep scores that cannot be computed again; exports of earlier versions have none."""
    labels = {(each.judgments_sha256, each.name, each.kind): each.number for each in store.qrels.list()}
    for line in read_lines(path) if path.is_file() else ():
        values = np.array([math.nan if value is None else value for value in line["values"]])
        vector = ScoreVector(values, np.array(line["undefined"], bool), np.array(line["answered"], bool))
        now = store.clock()
        with store.writing() as connection:
            row = {
                **{name: line[name] for name in SCORE_COLUMNS},
                "run_id": runs[line["run"]].number,
                "qrels_id": labels[tuple(line["qrels"])],
                "queries_sha256": put_blob(connection, texts_bytes(line["queries"]), kind="queries", now=now),
                "vector_sha256": put_blob(connection, vector_bytes(vector), kind="scores", now=now),
            }
            insert_if_new(connection, scores_table, row)


def is_export(folder: Path) -> bool:
    return (folder / MANIFEST).is_file() and MARK in read_manifest(folder)


def read_manifest(folder: Path) -> dict[str, Any]:
    manifest = read_json(folder / MANIFEST)
    if not isinstance(manifest, dict):
        raise FormatError(f"{folder / MANIFEST} is not the manifest of an export or of results")
    return manifest


@contextmanager
def readable_manifest(folder: Path) -> Iterator[dict[str, Any]]:
    """Give a manifest; one that lacks what should be in it is an error of the file."""
    try:
        yield read_manifest(folder)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        if isinstance(error, RankscopeError):
            raise
        raise FormatError(
            f"{folder / MANIFEST} is damaged: {type(error).__name__} {error}", hint="was the folder copied whole?"
        ) from error


def import_export(store: Store, folder: Path, *, progress: Progress | None = None) -> ExchangeCounts:
    """Take in what `export_store` wrote; what is there already stays as it is. Return how much was new."""
    with readable_manifest(folder) as manifest:
        if manifest[MARK] > VERSION:
            raise InputError(
                f"{folder} was written by Rankscope {manifest['rankscope']}", hint="pip install --upgrade rankscope"
            )
        before = counts_of(store)
        check_numbers(store, folder)
        import_guidelines(store, folder)
        import_judgments(store, folder)
        import_qrels(store, folder, manifest["qrels"])
        runs, is_new = {}, not store.runs.collections()
        for done, each in enumerate(manifest["runs"], start=1):
            runs[each["digest"]] = import_run(at_its_time(store, each), folder, each, is_new=is_new)
            if progress is not None:
                progress(done, len(manifest["runs"]))
        for name, file in manifest["docs"].items():
            import_docs(store, name, folder / file)
        for name, sets in manifest.get("further_queries", {}).items():
            import_queries(store, name, [folder / "queries" / f"{sha256}.jsonl" for sha256 in sets])
        import_scores(store, folder / SCORES, runs)
        for each in manifest["comparisons"]:
            import_comparison(store, folder, each)
        import_tags(store, manifest["tags"], runs)
        import_rows(store, folder)
        import_tasks(store, folder, runs)
        return difference(counts_of(store), before)


def at_its_time(store: Store, each: dict[str, Any]) -> Store:
    """Return the store as it was when something was stored; an export of an earlier version does not say when."""
    return store.at(repeat(each.get("stored") or store.clock()))


def import_guidelines(store: Store, folder: Path) -> None:
    for path in sorted((folder / "guidelines").glob("*.json")):
        content = read_json(path)
        each = content if isinstance(content, dict) else {"text": content}
        at_its_time(store, each).judgments.add_guideline(each["text"])


def import_qrels(store: Store, folder: Path, snapshots: Iterable[dict[str, Any]]) -> None:
    """Take in snapshots in their order, in which one may come again; of a name that the store has, what is new."""
    known = {(each.judgments_sha256, each.name, each.kind) for each in store.qrels.list()}
    for each in snapshots:
        if (each["sha256"], each["name"], each["kind"]) not in known:
            judgments = Qrels(checked_rows(folder, each, is_run=False))
            at_its_time(store, each).qrels.add(judgments, name=each["name"], kind=each["kind"], facts=each["facts"])


def import_tags(store: Store, moves: Iterable[dict[str, Any]], runs: Mapping[str, StoredRun]) -> None:
    """Take in where tags have been; one that the store has, or had, stays where it is."""
    with store.writing() as connection:
        known = set(connection.execute(sa.select(tag.c.name)).scalars())
        for move in moves:
            if move["name"] not in known:
                run = None if move["run"] is None else runs[move["run"]].number
                row = {"name": move["name"], "run_id": run, "who": move["who"], "stored": move["at"]}
                connection.execute(sa.insert(tag), row)


def import_docs(store: Store, name: str, path: Path) -> None:
    """Take in what is known of docs; of one that was changed, what comes last in the file."""
    docs: dict[str, StoredDoc] = {}
    for line in read_lines(path):
        if line["doc"] in docs:
            store.texts.add_docs(name, docs)
            docs = {}
        docs[line["doc"]] = StoredDoc(line["title"], line["text"], line["fields"])
    if docs:
        store.texts.add_docs(name, docs)


def import_queries(store: Store, name: str, paths: Iterable[Path]) -> None:
    """Take in what is known of queries that belong to no run."""
    for path in paths:
        lines = read_lines(path)
        store.tasks.add_queries(name, {line["query"]: StoredQuery(line["text"], line["attributes"]) for line in lines})


def counts_of(store: Store) -> ExchangeCounts:
    names = ["run", "qrels", "judgment", "comparison", "tag", "target_result", "alert", "notification"]
    names += ["task", "preference"]
    with store.reading() as connection:
        counts = (sa.select(sa.func.count()).select_from(metadata.tables[name]) for name in names)
        return ExchangeCounts(*(int(connection.execute(count).scalar_one()) for count in counts))


def difference(new: ExchangeCounts, old: ExchangeCounts) -> ExchangeCounts:
    before = to_builtins(old)
    return ExchangeCounts(**{name: n - before[name] for name, n in to_builtins(new).items()})


def checked_rows(folder: Path, each: dict[str, Any], *, is_run: bool) -> Any:
    rows = read_exactly(folder / each["file"], each.get("rows", {}), is_run=is_run)
    if content_sha256(rows) != each["sha256"]:
        raise InputError(
            f"{folder / each['file']} is not what was exported: its hash is another one",
            hint="export again; to score a file that was changed, give it to `rankscope evaluate`",
        )
    return rows


def import_run(store: Store, folder: Path, each: dict[str, Any], *, is_new: bool) -> StoredRun:
    """Keep an exported run: in the order of the export in a new store, by its time among runs that are there."""
    details = from_builtins(RunDetails, each["details"])
    rows = checked_rows(folder, each, is_run=True)
    texts = {line["query"]: line for line in read_lines(folder / "queries" / f"{each['queries']}.jsonl")}
    queries = {
        query: StoredQuery(texts[query]["text"], texts[query]["attributes"]) if query in texts else StoredQuery()
        for query in each["asked"]
    }
    facts = RunFacts(
        system=each["system"],
        type=each["type"],
        config=each["config"],
        started=each["started"],
        latencies_ms=each["latencies_ms"],
        details=details if is_new else replace(details, backdated=True),
        collection=CollectionFacts(
            name=each["collection"],
            queries=queries,
            docs_sha256=each["docs_sha256"],
            qrels_sha256=each["qrels_sha256"],
            counts=each["counts"],
        ),
    )
    asked = AskedQueries(each["sha256"], tuple(queries))
    return store.runs.add(Run(StoredSource(rows, Origin(each["file"], "store", lambda: each["sha256"]), asked)), facts)


def import_comparison(store: Store, folder: Path, each: dict[str, Any]) -> None:
    row, data = each["row"], read_text(folder / each["file"])
    Comparison.from_json(data)
    with store.writing() as connection:
        same = sa.select(comparison.c.id).where(comparison.c.request_sha256 == row["request_sha256"])
        if connection.execute(same).first() is None:
            sha256 = put_blob(connection, data.encode(), kind="comparison", now=store.clock())
            if sha256 != row["result_sha256"]:
                raise InputError(f"{folder / each['file']} is not what was exported: its hash is another one")
            looks = connection.execute(looks_at(row["queries_sha256"])).all()
            before = {found.subject_sha256: found.look for found in looks}
            look = before.get(row["subject_sha256"], len(before) + 1) if each.get("is_look", True) else 0
            insert_if_new(connection, comparison, {**row, "look": look})
