"""The names under which files and tables of the field keep each column: the one place where they are written.

Every table is {role: names}, the names in lower case and the best first. Those of runs and qrels begin with query, doc
and the number, which every row needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rankscope.errors import FormatError, RankscopeError, did_you_mean

Aliases = Mapping[str, tuple[str, ...]]

QUERY_ID_NAMES = ("query_id", "qid", "query-id", "queryid", "q_id", "query id", "topic_id")
"""Names that can only be those of a query's id; beside one of them `query` holds a text."""
_IDS: dict[str, tuple[str, ...]] = {
    "query": (*QUERY_ID_NAMES, "query", "topic"),
    "doc": (
        *("doc", "doc_id", "docid", "docno", "did", "document", "document_id", "corpus-id", "corpus_id", "pid"),
        *("passage_id", "item_id", "doc id"),
    ),
}
RUN_COLUMNS: dict[str, tuple[str, ...]] = {
    **_IDS,
    "score": ("score", "sim", "similarity", "relevance_score", "value"),
    "rank": ("rank", "position"),
    "tag": ("tag", "runid", "run_id", "run", "system"),
}
QRELS_COLUMNS: dict[str, tuple[str, ...]] = {
    **_IDS,
    "grade": ("grade", "relevance", "rel", "label", "judgment", "judgement", "rating", "score"),
    "subtopic": ("subtopic", "subtopic_id", "iteration", "aspect", "intent"),
    "rater": ("rater", "annotator", "assessor", "judge"),
    "time": ("time", "timestamp", "judged_at", "date"),
}

QUERY_COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("_id", "id", *QUERY_ID_NAMES, "number", "num", "case_id", "query", "topic"),
    "text": ("text", "query", "query_text", "question", "title", "userquery", "user_query", "utterance"),
}
"""Of queries: `query` is the id unless another column says id, and then the text."""
DOC_COLUMNS: dict[str, tuple[str, ...]] = {
    "id": (
        *("id", "_id", "doc_id", "docid", "docno", "doc", "did", "document_id", "document", "doc-id", "doc id"),
        *("corpus-id", "corpus_id", "episode_id", "passage_id", "pid", "item_id", "chunk_id"),
    ),
    "text": ("text", "contents", "content", "body", "passage", "abstract", "document", "definition", "description"),
    "title": ("title", "label", "name", "headline", "heading"),
}
EMBEDDING_COLUMNS: dict[str, tuple[str, ...]] = {
    "id": (*DOC_COLUMNS["id"], "ids", "_ids", "doc_ids", "docids", "docs", "docnos", "keys", "names", "index"),
    "vector": ("vectors", "vector", "embeddings", "embedding", "embs", "emb", "matrix", "dense", "data"),
}
SCORE_COLUMNS: dict[str, tuple[str, ...]] = {
    "query": ("query", "query_id", "query-id", "qid", "topic", "topic_id", "_id", "id"),
    "system": ("run", "system", "model", "variant", "name", "tag"),
    "measure": ("measure", "metric"),
    "value": ("value", "score"),
}
"""Of tables of scores that other tools computed."""
ANSWER_COLUMNS: dict[str, tuple[str, ...]] = {
    "query": ("query_id", "id", "qid", "query"),
    "doc": ("doc_id", "id", "docid", "doc", "_id"),
    "results": ("results", "docs", "ranking", "hits"),
}
"""Of what programs answer to a query, in JSON."""
TRANSLATION_COLUMNS: dict[str, tuple[str, ...]] = {
    "term": ("hpo_id", "subject_id", "term", "id"),
    "text": ("label", "translation_value", "translation", "synonym", "synonyms"),
}


_SHOWN = 30
_COMPARED = 1000  # to find the closest of many more names would take minutes


def first_names(names: Sequence[Any]) -> str:
    """List the names of columns in a message: all, unless there are too many to be read."""
    more = f", … ({len(names)} in all)" if len(names) > _SHOWN else ""
    return ", ".join(str(name)[:100] for name in names[:_SHOWN]) + more


def match_columns(
    names: Iterable[Any],
    aliases: Aliases,
    *,
    chosen: Mapping[str, str] | None = None,
    where: str = "the table",
    hint: Callable[[str], str] | None = None,
    error: type[RankscopeError] = FormatError,
) -> dict[str, str]:
    """Return which column holds what: those that the caller chose first, then by known names, each column once.

    A chosen column that is not there is an error; `hint` says what to do about it, given the role.
    """
    listed = list(names)
    by_lower = {str(name).strip().lower(): name for name in reversed(listed)}
    found: dict[str, str] = {}
    for role, wanted in (chosen or {}).items():
        if wanted.lower() not in by_lower:
            raise error(
                f"{where} has no column {wanted!r}; its columns are {first_names(listed)}",
                hint=hint(role)
                if hint
                else did_you_mean(wanted, map(str, listed[:_COMPARED])) or f"map the {role} to one of them",
            )
        found[role] = by_lower[wanted.lower()]
    for role, known in aliases.items():
        if role not in found:
            free = (by_lower[name] for name in known if name in by_lower and by_lower[name] not in found.values())
            match = next(free, None)
            if match is not None:
                found[role] = match
    return found


def find_columns(
    names: Iterable[str], aliases: Aliases, *, chosen: Mapping[str, str] | None = None, where: str = "the table"
) -> dict[str, str]:
    """Return which column holds what in a table of runs or qrels, of which the first three must be there."""
    listed = list(names)
    found = match_columns(listed, aliases, chosen=chosen, where=where, hint=lambda role: naming_hint([role], aliases))
    missing = [role for role in list(aliases)[:3] if role not in found]
    if missing:
        raise FormatError(
            f"{where} has no column for {' and '.join(missing)}; its columns are {first_names(listed)}",
            hint=naming_hint(missing, aliases),
        )
    return found


def naming_hint(roles: Iterable[str], aliases: Aliases) -> str:
    """Return how one says which columns hold what."""
    option = "--run-columns" if "score" in aliases else "--qrels-columns"
    named = ",".join(f"{role}=NAME" for role in roles)
    return f"say which columns they are: {option} {named} (with convert --columns), or rename them"
