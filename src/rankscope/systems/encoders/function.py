"""Vectors from a Python function of one's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import msgspec

from rankscope.systems.encoders.base import Role
from rankscope.systems.options import load_function, source_hash


class FunctionEncoder(msgspec.Struct, dict=True):
    """A function `module:function` that takes a list of texts and returns one vector per text.

    Where it has a parameter `role`, it learns whether the texts are queries or docs.
    """

    target: str

    def describe(self) -> dict[str, Any]:
        """Return what the vectors depend on: the function and its module's text, so that a change is noticed."""
        return {"model": self.target, "library": "python", "source": source_hash(self._function)}

    def encode(self, texts: Sequence[str], *, role: Role) -> Any:
        if "role" in inspect.signature(self._function).parameters:
            return self._function(list(texts), role=role)
        return self._function(list(texts))

    @cached_property
    def _function(self) -> Callable[..., Any]:
        return load_function(self.target, what="the encoder")
