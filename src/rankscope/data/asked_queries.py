"""Which queries a run was asked, where that is known: a file beside the run says so.

A run says nothing of queries that it found nothing for, nor of those that it was never asked, and TREC text has no
place for that. Beside `bm25.trec.gz`, `bm25.trec.gz.queries.json` lists the queries that were asked, with the hash of
the run that it was written for. Other tools read the run as they always do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankscope.data.sources import QUERIES_ENDING
from rankscope.errors import InputError, UnfinishedError
from rankscope.io.addresses import STORES, is_remote, shown_url
from rankscope.io.remote import remote_bytes
from rankscope.light import LightRecord

if TYPE_CHECKING:
    from rankscope.data.qrels import Qrels
    from rankscope.data.run import Run

VERSION = 1
_MARK = "rankscope_run_queries"


class AskedQueries(LightRecord):
    """The queries that a run was asked."""

    sha256: str
    """Digest of the run's file."""
    queries: tuple[str, ...]
    failed: tuple[str, ...] = ()
    """Those without an answer."""
    split: str = "all"
    """What the queries are: `all` that are judged, or those of which side of a split."""

    def to_json(self) -> str:
        return json.dumps({_MARK: VERSION, **vars(self)}, indent=1) + "\n"


def read_asked(path: str) -> AskedQueries | None:
    """Return which queries a run's file was asked, None where that is not known.

    A list that was damaged, or that was written for another run, is an error: without it queries might count 0 that
    nobody asked.
    """
    note = f"{path}{QUERIES_ENDING}"
    content = read_remote_note(path) if is_remote(path) else read_note(note)
    if content is None:
        return None
    found = parse_asked(content)
    hint = f"make the run again, or remove {note}: then every judged query counts as asked"
    if found is None:
        raise InputError(f"{note}, which says what the run was asked, is damaged", hint=hint)
    from rankscope.io.source import source_of

    if source_of(path).sha256() != found.sha256:
        raise InputError(f"{path} is not the run that {note} was written for", hint=hint)
    return found


def read_note(path: str) -> bytes | None:
    if not os.path.isfile(path):  # noqa: PTH113 (pathlib takes long to load)
        return None
    with open(path, "rb") as stream:  # noqa: PTH123 (as above)
        return stream.read()


def read_remote_note(url: str) -> bytes | None:
    """Return the file beside one in an object store; an address of the web says nothing of others beside it."""
    if url.partition("://")[0].lower() not in STORES:
        return None
    try:
        return remote_bytes(f"{url}{QUERIES_ENDING}")
    except InputError:  # it does not exist, or nobody may say so
        return None
    except UnfinishedError as error:  # nobody has named this file: what cannot be reached is said of the run
        run = shown_url(url)
        raise UnfinishedError(error.message.replace(f"{run}{QUERIES_ENDING}", run), hint=error.hint) from None


def parse_asked(text: bytes) -> AskedQueries | None:
    try:
        data: Any = json.loads(text)
        is_ours = data.pop(_MARK) == VERSION
        found = AskedQueries(**{**data, "queries": tuple(data["queries"]), "failed": tuple(data["failed"])})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return found if is_ours and all(isinstance(query, str) for query in (*found.queries, *found.failed)) else None


def select_asked(qrels: Qrels, runs: Sequence[Run]) -> tuple[Qrels, list[str]]:
    """Return the judgments of the queries that all runs were asked, as far as that is known, and what to say of it."""
    judged = set(qrels.query_ids)
    asked_of = {run.name or "run": judged.intersection(run.asked.queries) for run in runs if run.asked is not None}
    partial = {name: asked for name, asked in asked_of.items() if asked != judged}
    if not partial:
        return qrels, []
    names, selected = ", ".join(partial), set.intersection(*partial.values())
    if not selected:
        raise InputError(
            f"not one judged query was asked of {names}",
            hint=f"are these the judgments of the same queries? What a run was asked is in its {QUERIES_ENDING} file",
        )
    return qrels.select(selected), [
        f"only {len(selected)} of {len(qrels.query_ids)} judged queries were asked of {names}: scores are about these"
    ]
