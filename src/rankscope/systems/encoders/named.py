"""Encoders that are named by the user: a sentence-transformers model, or a function of one's own."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rankscope.systems.encoders.base import Role
from rankscope.systems.options import load_function, need, source_hash, versions_of
from rankscope.systems.working_directory import resolve_path


@dataclass
class SentenceTransformers:
    """Any model that the library sentence-transformers can load, by name or path; on a GPU where there is one."""

    model: str
    batch_size: int = 32

    def describe(self) -> dict[str, Any]:
        """Return what the vectors depend on."""
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


@dataclass
class FunctionEncoder:
    """A function `module:function` that takes a list of texts and returns one vector per text.

    Where it has a parameter `role`, it is told whether the texts are queries or docs.
    """

    target: str

    def describe(self) -> dict[str, Any]:
        """Return what the vectors depend on: the function and its module's text, so that a change is noticed."""
        return {"model": self.target, "library": "python", "source": source_hash(self._function)}

    def encode(self, texts: Sequence[str], *, role: Role) -> Any:
        """Return one vector per text."""
        if "role" in inspect.signature(self._function).parameters:
            return self._function(list(texts), role=role)
        return self._function(list(texts))

    @cached_property
    def _function(self) -> Any:
        return load_function(self.target, what="the encoder")
