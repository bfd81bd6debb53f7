"""Encoders turn texts into vectors: packaged models, sentence-transformers, an endpoint, or a function of one's own."""

from __future__ import annotations

from rankscope.systems.encoders.base import Encoder, Role, check_vectors
from rankscope.systems.encoders.registry import ProviderName, make_encoder

__all__ = ["Encoder", "ProviderName", "Role", "check_vectors", "make_encoder"]
