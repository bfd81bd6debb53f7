"""The formats by name, apart from their readers and writers, which take long to load."""

from collections.abc import Mapping
from types import MappingProxyType

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "trec": "TREC text: `query Q0 doc rank score tag` for runs, `query iteration doc grade` for qrels.",
        "beir": "BEIR qrels: a folder with qrels/test.tsv, or a TSV with the header `query-id corpus-id score`.",
        "json": 'JSON: {"query": {"doc": number}} as ranx and pytrec_eval have it, lists of docs, or a list of rows.',
        "jsonl": "JSONL: one JSON object a row, its keys the columns.",
        "csv": "CSV with a header, separated by commas or semicolons.",
        "tsv": "TSV with a header.",
        "parquet": "Apache Parquet.",
        "arrow": "Apache Arrow IPC, also called Feather.",
    }
)
"""Every format by name, with a sentence that describes it."""
