"""Bands from the command line: chosen by name, or read from a file."""

from __future__ import annotations

from pathlib import Path

from rankscope.analysis.bands import BandProfile, find_bands, parse_bands
from rankscope.errors import OptionError


def load_bands(name_or_path: str) -> BandProfile:
    """Return the bands of that name, or from that TOML file."""
    path = Path(name_or_path)
    if path.suffix.lower() != ".toml":
        return find_bands(name_or_path)
    import tomllib  # not needed for bands that come with Rankscope

    try:
        record = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise OptionError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"{path} is not TOML: {error}", hint='names with @ need quotes: "nDCG@10" = …') from None
    return parse_bands(record, name=path.stem)
