"""Dense retrieval: the docs whose vectors lie nearest to the query's, found exactly."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from rankscope.errors import shorten
from rankscope.io.write import replaced
from rankscope.progress import Progress
from rankscope.systems.answers import BadAnswerError
from rankscope.systems.base import DocStore, OptionSystem, Query, RankedDocs, content_hash, text_of
from rankscope.systems.encoders import (
    OPENAI_URL,
    PACKAGED,
    Encoder,
    Endpoint,
    FunctionEncoder,
    Role,
    SentenceTransformers,
    check_endpoint,
)
from rankscope.systems.options import NO_EFFECT, AtLeastOne, DocFields, options_in
from rankscope.systems.secrets import secrets_in, url_without_secrets
from rankscope.systems.vector_index import BLOCK_DOCS, VectorIndex, Vectors


class Dense(OptionSystem, kw_only=True):
    """Ranks docs by how near their embeddings are to the query's.

    `model` is one of the packaged models (wordllama, multilingual, minilm), the name of a sentence-transformers model,
    the name of a model of an endpoint (with base_url), or `module:function`.
    """

    kind: ClassVar[str] = "dense"
    model: str = "wordllama"
    """Which embeddings: wordllama (English), multilingual, minilm, a sentence-transformers model, module:function."""
    provider: Literal["packaged", "endpoint", "python", "sentence-transformers"] | None = None
    """Who has the model, where its name does not tell: packaged, endpoint, python or sentence-transformers."""
    base_url: str | None = None
    """The address of an endpoint that speaks OpenAI's embeddings API, such as http://localhost:11434/v1."""
    api_key: Annotated[str | None, NO_EFFECT] = None
    """The endpoint's key, as "${NAME}" from an environment variable; none is sent where none is given."""
    api_key_env: Annotated[str | None, NO_EFFECT] = None
    """The environment variable that holds the endpoint's key, instead of api_key."""
    allow_plain_http: Annotated[bool, NO_EFFECT] = False
    """Whether the key may be sent without encryption to another machine."""
    dimensions: int | None = None
    """How many dimensions to ask the endpoint for."""
    batch_size: Annotated[AtLeastOne, NO_EFFECT] = 32
    """How many texts the model or the endpoint gets at once."""
    similarity: Literal["cosine", "dot"] = "cosine"
    """What is compared: cosine, or dot for the product of vectors as they are."""
    query_prefix: str = ""
    """What the model wants before every query, such as "query: "."""
    doc_prefix: str = ""
    """What the model wants before every doc, such as "passage: "."""
    lowercase: bool | None = None
    """Whether texts are lower-cased first; by default where the model needs it: wordllama knows few capital letters."""
    fields: DocFields = ("title", "text")
    """The fields of a doc that are encoded, as one text."""
    device: Annotated[Literal["auto", "cpu"], NO_EFFECT] = "auto"
    """Where products are computed: auto (a GPU where torch sees one) or cpu."""
    cache: Annotated[str | os.PathLike[str] | None, NO_EFFECT] = None
    """The folder that keeps embeddings; without one they are computed each time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._encoder = make_encoder(self)
        if self.lowercase is None:  # settled here, so that answers and embeddings that are kept depend on it
            self.lowercase = bool(getattr(self._encoder, "needs_lowercase", False))

    @classmethod
    def check_given(cls, given: Mapping[str, Any]) -> None:
        if given.get("base_url") is not None or given.get("provider") == "endpoint":
            check_endpoint(given)

    @property
    def languages(self) -> tuple[str, ...] | None:
        """The languages that the model knows; None where nobody says so."""
        return getattr(self._encoder, "languages", None)

    def index(self, docs: DocStore, *, progress: Progress | None) -> None:
        folder = None
        if self.cache is not None:  # embeddings are in a folder that is named after all that they depend on
            names = ("similarity", "doc_prefix", "lowercase")
            identity = {**self._encoder.describe(), **{name: getattr(self, name) for name in names}}
            secrets = secrets_in({option.name: getattr(self, option.field) for option in options_in(Dense).values()})
            depends = json.dumps(secrets.hide_named(identity), sort_keys=True)
            folder = Path(self.cache) / content_hash([depends])[:16]
            folder.mkdir(parents=True, exist_ok=True)
            with replaced(folder / "model.json") as stream:
                stream.write(json.dumps(secrets.hide_in(identity), sort_keys=True).encode())
        ids: list[str] = []
        blocks = []
        reading = iter(docs)
        while block := list(itertools.islice(reading, BLOCK_DOCS)):
            texts = [text_of(doc, self.fields) for doc in block]
            ids.extend(doc.id for doc in block)
            blocks.append(self.encode(texts, role="doc") if folder is None else self._cached(texts, folder))
            if progress is not None:
                progress(len(ids), len(docs))
        self._index = VectorIndex(ids, blocks, device=self.device)

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        return self.vectors.search(self.encode([query.text for query in queries], role="query"), k=k)

    @property
    def vectors(self) -> VectorIndex:
        index: VectorIndex = self.require_index()
        return index

    def encode(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """Return what the encoder gave as a matrix of single precision, or say what is wrong with it."""
        prefix = self.query_prefix if role == "query" else self.doc_prefix
        texts = [f"{prefix}{text}".lower() if self.lowercase else f"{prefix}{text}" for text in texts]
        vectors = self._encoder.encode(texts, role=role)
        try:
            matrix = np.ascontiguousarray(vectors, dtype=np.float32)
        except (ValueError, TypeError, OverflowError) as error:
            raise BadAnswerError(
                f"{self.model} returned what is no vectors of numbers: {shorten(str(error))}",
                hint="an encoder returns one vector per text, all of the same length",
            ) from error
        if matrix.ndim != 2 or len(matrix) != len(texts) or not matrix.shape[1]:
            shape = " x ".join(map(str, matrix.shape)) or "a single number"
            raise BadAnswerError(
                f"{self.model} returned {shape} for {len(texts)} texts", hint="an encoder returns one vector per text"
            )
        odd = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
        if len(odd):
            raise BadAnswerError(f"{self.model} returned NaN or infinity for the text {shorten(texts[odd[0]])!r}")
        return unit_length(matrix) if self.similarity == "cosine" else matrix

    def _cached(self, texts: Sequence[str], folder: Path) -> Vectors:
        """Return the vectors of docs from the file that is named after their texts, or encode them and make that file.

        It is written beside and then renamed, so what is there is complete; what a crash cut off is encoded again.
        """
        path = folder / f"{content_hash(texts)}.npy"
        for is_encoded in (False, True):
            if is_encoded:
                with replaced(path) as stream:
                    np.save(stream, self.encode(texts, role="doc"))
            with contextlib.suppress(OSError, ValueError, EOFError):
                vectors = np.load(path, mmap_mode="r", allow_pickle=False)  # nothing is read yet
                if vectors.dtype == np.float32 and vectors.ndim == 2 and len(vectors) == len(texts):
                    return np.asarray(vectors)
        return self.encode(texts, role="doc")

    def describe(self) -> dict[str, Any]:
        described = {**super().describe(), "encoder": self._encoder.describe()}
        if self.base_url is not None:
            described["base_url"] = url_without_secrets(self.base_url)
        return described


def make_encoder(options: Dense) -> Encoder:
    """Return the encoder; no model is loaded before it is needed."""
    provider = options.provider
    is_open = provider is None  # so that the other options tell
    if provider == "endpoint" or (is_open and options.base_url is not None):
        return Endpoint(
            options.model,
            base_url=options.base_url or OPENAI_URL,
            api_key=options.api_key,
            api_key_env=options.api_key_env,
            allow_plain_http=options.allow_plain_http,
            dimensions=options.dimensions,
            batch_size=options.batch_size,
        )
    if provider == "packaged" or (is_open and options.model in PACKAGED):
        return PACKAGED[options.model]()
    if provider == "python" or (is_open and ":" in options.model):
        return FunctionEncoder(options.model)
    return SentenceTransformers(options.model, batch_size=options.batch_size)


def unit_length(vectors: Vectors) -> Vectors:
    """Return vectors of length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(
        np.divide(vectors, lengths, out=np.zeros_like(vectors, dtype=np.float64), where=lengths > 0), dtype=np.float32
    )
