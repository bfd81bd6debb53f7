"""Elasticsearch and OpenSearch: a query template, sent to the search of an index."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rankscope.systems.answers import BadAnswerError, checked_ranking, ranking_by_position
from rankscope.systems.base import Ranking
from rankscope.systems.http import Http
from rankscope.systems.jsonpath import parse_path
from rankscope.systems.options import check_fields
from rankscope.systems.templates import filled_data, without_secrets

HITS = "$.hits.hits[*]"


@dataclass(kw_only=True)
class Elasticsearch(Http):
    """Searches an index of Elasticsearch; `query` is what stands under "query" there, with places for the query's text.

    Without a template the words of the query are looked for in `fields`. The other options are those of http. An answer
    that lacks part of the index, because a shard failed or time ran out, counts as failed and is asked for again.
    """

    kind: ClassVar[str] = "elasticsearch"

    name: str = "elasticsearch"
    url: str = "http://localhost:9200"
    """The address of the cluster."""
    index_name: str
    """The index, or several with commas between them."""
    query: Mapping[str, Any] | None = None
    """The query as the cluster takes it, e.g. {match = {text = "{query}"}}."""
    fields: Sequence[str] = ("*",)
    """The fields to look in where no query is given; title^2 counts twice."""
    id_field: str = "_id"
    """Where the id of a doc is: _id, or a field such as _source.doc_id."""
    body: Mapping[str, Any] | None = None
    """More of the request, beside query and size, such as knn, rank or rescore."""
    ids: str = field(default=f"{HITS}._id", init=False)
    scores: str | None = field(default=f"{HITS}._score", init=False)
    method: str | None = field(default="POST", init=False)

    def __post_init__(self) -> None:
        self.fields = check_fields(self.fields)
        super().__post_init__()
        self._ids = parse_path(f"{HITS}.{self.id_field}", what="id_field")

    def describe(self) -> dict[str, Any]:
        """Return what is asked and where, without secrets."""
        return {**super().describe(), "query": without_secrets(self.query)}

    @property
    def address(self) -> str:
        """The address of the search of the index."""
        return f"{self.url.rstrip('/')}/{urllib.parse.quote(self.index_name, safe=',*')}/_search"

    def body_of(self, values: Mapping[str, Any]) -> tuple[bytes | None, str]:
        """Return the request for one query."""
        words = {"multi_match": {"query": "{query}", "fields": list(self.fields)}}
        source = [self.id_field.removeprefix("_source.")] if self.id_field.startswith("_source.") else False
        usual = {} if self.query is None and self.body else {"query": words}
        given = {} if self.query is None else {"query": self.query}
        template = {"size": "{k}", "_source": source, **usual, **given, **(self.body or {})}
        return json.dumps(filled_data(template, values)).encode(), "application/json"

    def ranking_of(self, content: Any, *, k: int) -> Ranking:
        """Return the ranking that an answer holds; where the cluster sorts by something else, its order counts."""
        refuse_partial(content)
        docs = self._ids.values(content)
        scores = parse_path(f"{HITS}._score").values(content)
        if docs and all(score is None for score in scores):
            return ranking_by_position(docs, k=k)
        return checked_ranking(zip(docs, scores, strict=True), k=k)


@dataclass(kw_only=True)
class OpenSearch(Elasticsearch):
    """Searches an index of OpenSearch, which takes the same requests as Elasticsearch; see there."""

    kind: ClassVar[str] = "opensearch"

    name: str = "opensearch"


def refuse_partial(content: Any) -> None:
    """Refuse an answer that does not cover the whole index."""
    if not isinstance(content, Mapping):
        raise BadAnswerError("the answer is no table, as the search of an index gives it")
    shards = content.get("_shards")
    n_failed = shards.get("failed", 0) if isinstance(shards, Mapping) else 0
    if content.get("timed_out") or n_failed:
        why = "time ran out" if content.get("timed_out") else f"{n_failed} of {shards.get('total')} shards failed"  # type: ignore[union-attr]
        raise BadAnswerError(f"the answer lacks part of the index: {why}")
