"""Models of the library sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from rankscope.systems.encoders.base import Role
from rankscope.systems.options import need, versions_of
from rankscope.systems.working_directory import resolve_path


class SentenceTransformers(msgspec.Struct, dict=True):
    """Any model that the library sentence-transformers can load, by name or path; on a GPU where there is one."""

    model: str
    batch_size: int = 32

    def describe(self) -> dict[str, Any]:
        versions = versions_of("sentence-transformers", "torch")
        return {"model": self.model, "library": "sentence-transformers", "versions": versions}

    def encode(self, texts: Sequence[str], *, role: Role) -> Any:
        """Return one vector per text, by way of the model's own treatment of queries and docs where it has one."""
        encode = self._model.encode
        if role == "query":
            encode = getattr(self._model, "encode_query", encode)
        else:
            encode = getattr(self._model, "encode_document", encode)
        return encode(list(texts), batch_size=self.batch_size, show_progress_bar=False, convert_to_numpy=True)

    @cached_property
    def _model(self) -> Any:
        package = need("sentence_transformers", pip='"rankscope[models]"', why=f"the model {self.model}")
        return package.SentenceTransformer(resolve_path(self.model))
