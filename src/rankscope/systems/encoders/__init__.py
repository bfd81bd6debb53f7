"""Encoders turn texts into vectors: packaged models, sentence-transformers, an endpoint, or a function of one's own."""

from __future__ import annotations

from rankscope.systems.encoders.base import Encoder, Role, checked_vectors
from rankscope.systems.encoders.make import EncoderOptions, make_encoder

__all__ = ["Encoder", "EncoderOptions", "Role", "checked_vectors", "make_encoder"]
