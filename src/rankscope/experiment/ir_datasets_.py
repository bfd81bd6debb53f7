"""Collections of ir_datasets, by their id: https://ir-datasets.com; the package is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankscope.data.qrels import Qrels
from rankscope.data.queries import load_queries
from rankscope.errors import InputError
from rankscope.experiment.collection import PARTS, Collection, CollectionSpec
from rankscope.experiment.doc_files import CollectionDocs
from rankscope.experiment.fingerprint import ScanCache
from rankscope.io.rows import QrelsRows
from rankscope.systems.base import Doc
from rankscope.systems.options import need


def load_ir_dataset(spec: CollectionSpec, cache: ScanCache) -> Collection:
    """Return a collection of ir_datasets, which downloads it where it is not there yet."""
    dataset = dataset_of(str(spec.ir_datasets))
    where = f"ir_datasets:{spec.ir_datasets}"
    rows = [fields_of(query, "query_id") for query in dataset.queries_iter()]
    queries = load_queries(rows, columns=spec.columns.get("queries"), need_text=True)
    judgments = list(dataset.qrels_iter())
    qrels = QrelsRows(
        query=[str(row.query_id) for row in judgments],
        doc=[str(row.doc_id) for row in judgments],
        grade=np.array([row.relevance for row in judgments], dtype=np.float64),
        subtopic=[str(row.subtopic_id) for row in judgments] if hasattr(judgments[0], "subtopic_id") else None,
    )
    docs = IrDatasetsDocs(where, dataset)
    return Collection(spec, docs, queries, Qrels(qrels), where=dict.fromkeys(PARTS, where), cache=cache)


def dataset_of(name: str) -> Any:
    ir_datasets = need("ir_datasets", pip="'rankscope[ir_datasets]'", why=f"the collection {name!r}")
    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        raise InputError(
            f"ir_datasets has no {name!r}", hint="its ids are listed on https://ir-datasets.com"
        ) from error
    lacking = [part for part in PARTS if not getattr(dataset, f"has_{part}")()]
    if lacking:
        raise InputError(
            f"ir_datasets:{name} has no {' and no '.join(lacking)}", hint="take one of its parts, such as …/test"
        )
    return dataset


def fields_of(record: Any, id_name: str) -> dict[str, Any]:
    """Return a record of ir_datasets as a row, its id under the name that tables use."""
    row = record._asdict()
    return {"_id": row.pop(id_name), **row}


class IrDatasetsDocs(CollectionDocs):
    """The docs of a dataset of ir_datasets, streamed by it."""

    def __init__(self, name: str, dataset: Any) -> None:
        self.name = name
        self._dataset = dataset

    def numbered(self) -> Iterator[tuple[int, Doc]]:
        for number, record in enumerate(self._dataset.docs_iter(), 1):
            row = fields_of(record, "doc_id")
            title = str(row.pop("title", "") or "")
            text = str(row.pop("text") if "text" in row else record.default_text())
            yield number, Doc(str(row.pop("_id")), text, title, {key: value for key, value in row.items() if value})
