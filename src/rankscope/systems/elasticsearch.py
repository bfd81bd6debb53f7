"""Elasticsearch and OpenSearch: a query template, sent to the search of an index."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping
from typing import Any, ClassVar

from rankscope.systems.answers import BadAnswerError, by_position, check_ranking
from rankscope.systems.base import Query, RankedDocs
from rankscope.systems.http import HttpSystem
from rankscope.systems.options import DocFields
from rankscope.systems.secrets import FromEnvironment
from rankscope.systems.templates import fill_data, parse_path, values_of
from rankscope.systems.transport import HttpRequest

_HITS = "$.hits.hits[*]"
_SCORES = parse_path(f"{_HITS}._score")


class Elasticsearch(HttpSystem, kw_only=True):
    """Searches an index of Elasticsearch; `query` is what stands under "query" there, with places for the query's text.

    Without a template the words of the query are looked for in `fields`. The other options are those of http. An answer
    that lacks part of the index, because a shard failed or time ran out, counts as failed and is asked for again.
    """

    kind: ClassVar[str] = "elasticsearch"
    url: str = "http://localhost:9200"
    """The address of the cluster."""
    index_name: str
    """The index, or several with commas between them."""
    query: Mapping[str, Any] | None = None
    """The query as the cluster takes it, e.g. {match = {text = "{query}"}}."""
    fields: DocFields = ("*",)
    """The fields to look in where no query is given; title^2 counts twice."""
    id_field: str = "_id"
    """Where the id of a doc is: _id, or a field such as _source.doc_id."""
    body: Mapping[str, Any] | None = None
    """More of the request, beside query and size, such as knn, rank or rescore."""

    def __post_init__(self) -> None:
        super().__post_init__()
        path = f"{_HITS}.{self.id_field}"
        if isinstance(self.id_field, FromEnvironment):
            path = FromEnvironment(path, f"{_HITS}.{self.id_field.written}", self.id_field.values)
        self._ids = parse_path(path, what="id_field")

    def request_of(self, query: Query, *, k: int) -> HttpRequest:
        values = values_of(query, k=k)
        words = {"multi_match": {"query": "{query}", "fields": list(self.fields)}}
        source = [self.id_field.removeprefix("_source.")] if self.id_field.startswith("_source.") else False
        asked = {} if self.query is None and self.body else {"query": words if self.query is None else self.query}
        template = {"size": "{k}", "_source": source, **asked, **(self.body or {})}
        address = f"{self.url.rstrip('/')}/{urllib.parse.quote(self.index_name, safe=',*')}/_search"
        body = json.dumps(fill_data(template, values)).encode()
        return self._request("POST", address, values, body, "application/json")

    def ranking_of(self, content: Any, *, k: int) -> RankedDocs:
        """Return the ranking that an answer holds; where the cluster sorts by something else, its order counts."""
        if not isinstance(content, Mapping):
            raise BadAnswerError("the answer is no table, as the search of an index gives it")
        shards: Any = content.get("_shards")
        n_failed = shards.get("failed", 0) if isinstance(shards, Mapping) else 0
        if content.get("timed_out") or n_failed:
            why = "time ran out" if content.get("timed_out") else f"{n_failed} of {shards.get('total')} shards failed"
            raise BadAnswerError(f"the answer lacks part of the index: {why}")
        docs = self._ids.values(content)
        scores = _SCORES.values(content)
        if docs and all(score is None for score in scores):
            return by_position(docs, k=k, repeats=self.keeps_repeats)
        return check_ranking(zip(docs, scores, strict=True), k=k, repeats=self.keeps_repeats)


class OpenSearch(Elasticsearch, kw_only=True):
    """Searches an index of OpenSearch, which takes the same requests as Elasticsearch; see there."""

    kind: ClassVar[str] = "opensearch"
