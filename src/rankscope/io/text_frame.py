"""Plain TREC text as a frame, by columns: what a reader of lines would take a text object of Python for each id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankscope.io.limits import max_line_bytes
from rankscope.io.source import BYTE_ORDER_MARK

if TYPE_CHECKING:
    import polars as pl

_FIELDS = (b"query", b"Q0", b"doc", b"rank", b"score", b"tag")
_OTHER_BLANKS = (b"\v", b"\f")
_SCORE = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_RANK = "^[0-9]{1,18}$"


def frame_of_plain(text: bytes) -> pl.DataFrame | None:
    """Return lines of a run as a frame of query, doc, score and rank; None where one of them is not quite plain.

    Plain is a line of six fields with one blank between them, an ordinary rank and an ordinary number as its score:
    every reader of such text understands it in the same way. Of others the reader of TREC text knows what to do.
    """
    import polars as pl

    separator = b" " if b" " in text else b"\t"
    if is_unusual(text) or (separator == b" " and b"\t" in text):
        return None
    # with a line of names in front no text begins as a compressed file does, which Polars would unpack
    named = separator.join(_FIELDS) + b"\n" + text
    try:
        frame = pl.read_csv(named, separator=separator.decode(), infer_schema=False, quote_char=None)
        is_plain = frame.select(
            (pl.all_horizontal(pl.all().is_not_null()) & ~pl.col("query").str.starts_with("#")).all()
            & pl.col("score").str.contains(_SCORE).all()
            & pl.col("rank").str.contains(_RANK).all()
        ).item()
        columns = ("query", "doc", pl.col("score").cast(pl.Float64), pl.col("rank").cast(pl.Int64))
        return frame.select(columns) if is_plain else None
    except (pl.exceptions.PolarsError, ValueError):
        return None


def is_unusual(text: bytes) -> bool:
    """Tell whether a text has what a reader of tables takes in another way than one of TREC text."""
    has_other_blanks = any(blank in text for blank in _OTHER_BLANKS) or text.count(b"\r") != text.count(b"\r\n")
    may_have_long_line = len(text) > max_line_bytes()
    return not text or has_other_blanks or may_have_long_line or text.startswith(BYTE_ORDER_MARK)
