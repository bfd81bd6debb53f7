"""Runs and qrels from and to files: TREC text, BEIR, JSON, JSONL, CSV, TSV, Parquet and Arrow, compressed or not."""

from rankscope.io.convert import convert
from rankscope.io.detect import detect
from rankscope.io.formats import FORMATS
from rankscope.io.read import read_qrels, read_run, sha256_of
from rankscope.io.records import Conversion, Detected, ReadFile
from rankscope.io.write import write_qrels, write_run

__all__ = [
    "FORMATS",
    "Conversion",
    "Detected",
    "ReadFile",
    "convert",
    "detect",
    "read_qrels",
    "read_run",
    "sha256_of",
    "write_qrels",
    "write_run",
]
