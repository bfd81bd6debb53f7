"""Encoders turn texts into vectors: packaged models, sentence-transformers, an endpoint, or a function of one's own."""
