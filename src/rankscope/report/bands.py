"""Bands from the command line: chosen by name or read from a file, and the words that go beside scores."""

from __future__ import annotations

from pathlib import Path

from rankscope.analysis.bands import BandProfile, band_of, find_bands, parse_bands
from rankscope.errors import OptionError
from rankscope.measures.parse import parse_measure


def load_bands(name_or_path: str) -> BandProfile:
    """Return the bands of that name, or from that TOML file."""
    path = Path(name_or_path)
    return read_bands(path) if path.suffix.lower() == ".toml" else find_bands(name_or_path)


def read_bands(path: Path) -> BandProfile:
    """Return bands from a TOML file."""
    import tomllib  # not needed for bands that come with Rankscope

    try:
        record = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise OptionError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"{path} is not TOML: {error}", hint='names with @ need quotes: "nDCG@10" = …') from None
    return parse_bands(record, name=path.stem)


def band_words(score: float, measure: str, bands: BandProfile) -> str:
    """Return the band of a score in words, or nothing where there is none."""
    return str(band_of(score, measure, bands) or "")


def has_words(measure: str, bands: BandProfile) -> bool:
    """Tell whether there are words for a measure's scores."""
    return bool(bands.of(parse_measure(measure)))


def bands_note(bands: BandProfile) -> str:
    """Say whose words these are."""
    return f"words: bands {bands.name}" + (f" ({bands.description})" if bands.description else "")
