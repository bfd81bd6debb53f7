"""The names under which tables of the field keep each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rankscope.errors import FormatError

QUERY_ID_NAMES = ("query_id", "qid", "query-id", "queryid", "q_id", "query id", "topic_id")
"""Names that say themselves that they are those of a query's id; beside one of them `query` holds a text."""
_SHARED: dict[str, tuple[str, ...]] = {
    "query": (*QUERY_ID_NAMES, "query", "topic"),
    "doc": (
        "doc", "doc_id", "docid", "docno", "did", "document", "document_id", "corpus-id", "corpus_id", "pid",
        "passage_id", "item_id", "doc id",
    ),
}  # fmt: skip
RUN_COLUMNS: dict[str, tuple[str, ...]] = {
    **_SHARED,
    "score": ("score", "sim", "similarity", "relevance_score", "value"),
    "rank": ("rank", "position"),
    "tag": ("tag", "runid", "run_id", "run", "system"),
}
QRELS_COLUMNS: dict[str, tuple[str, ...]] = {
    **_SHARED,
    "grade": ("grade", "relevance", "rel", "label", "judgment", "judgement", "rating", "score"),
    "subtopic": ("subtopic", "subtopic_id", "iteration", "aspect", "intent"),
    "rater": ("rater", "annotator", "assessor", "judge"),
    "time": ("time", "timestamp", "judged_at", "date"),
}
RUN_REQUIRED = ("query", "doc", "score")
QRELS_REQUIRED = ("query", "doc", "grade")


def find_columns(
    names: Iterable[str],
    aliases: Mapping[str, tuple[str, ...]],
    *,
    required: Iterable[str],
    chosen: Mapping[str, str] | None = None,
    where: str = "the table",
) -> dict[str, str]:
    """Return which of a table's columns holds what: the ones chosen by the caller first, then by known names."""
    by_lower = {str(name).strip().lower(): name for name in names}
    listed = ", ".join(map(str, by_lower.values()))
    found = {}
    for role, known in aliases.items():
        wanted = (chosen or {}).get(role)
        if wanted is not None and wanted.lower() not in by_lower:
            raise FormatError(
                f"{where} has no column {wanted!r}; its columns are {listed}",
                hint=f"map the column with --columns {role}=NAME",
            )
        match = next((by_lower[name] for name in ((wanted or "").lower(), *known) if name in by_lower), None)
        if match is not None:
            found[role] = match
    missing = [role for role in required if role not in found]
    if missing:
        raise FormatError(
            f"{where} has no column for {' and '.join(missing)}; its columns are {listed}",
            hint="name the columns, e.g. --columns " + ",".join(f"{role}=NAME" for role in missing),
        )
    return found
