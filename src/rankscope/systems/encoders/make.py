"""From the options of a dense system to its encoder."""

from __future__ import annotations

from dataclasses import dataclass

from rankscope.errors import OptionError
from rankscope.systems.encoders.base import Encoder
from rankscope.systems.encoders.packaged import PACKAGED

PROVIDERS = ("packaged", "endpoint", "python", "sentence-transformers")


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderOptions:
    """Which model, and where it is."""

    model: str
    provider: str | None = None
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    dimensions: int | None = None
    batch_size: int = 32


def make_encoder(options: EncoderOptions) -> Encoder:
    """Return the encoder; no model is loaded before it is needed."""
    provider = options.provider or provider_of(options)
    if provider == "packaged":
        if options.model not in PACKAGED:
            raise OptionError(f"there is no packaged model {options.model!r}", hint=f"there are {', '.join(PACKAGED)}")
        made: Encoder = PACKAGED[options.model]()
        return made
    if provider == "endpoint":
        return endpoint(options)
    from rankscope.systems.encoders.named import FunctionEncoder, SentenceTransformers

    if provider == "python":
        return FunctionEncoder(options.model)
    return SentenceTransformers(options.model, batch_size=options.batch_size)


def endpoint(options: EncoderOptions) -> Encoder:
    """Return an encoder that asks an endpoint."""
    from rankscope.systems.encoders.endpoint import Endpoint

    return Endpoint(
        options.model,
        base_url=options.base_url or "https://api.openai.com/v1",
        api_key_env=options.api_key_env,
        dimensions=options.dimensions,
        batch_size=options.batch_size,
    )


def provider_of(options: EncoderOptions) -> str:
    """Tell from the options who provides the model."""
    if options.base_url is not None:
        return "endpoint"
    if options.model in PACKAGED:
        return "packaged"
    return "python" if ":" in options.model else "sentence-transformers"
