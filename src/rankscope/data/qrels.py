"""Qrels: which docs are how relevant to which query, as people judged them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.arrays import Floats, Ints, offsets_of
from rankscope.data.run import QueryDocs
from rankscope.data.sources import FileSource, Origin, file_source
from rankscope.errors import DuplicateError, GradeError, InputError, OptionError, UnknownNameError
from rankscope.io.limits import max_line_bytes
from rankscope.io.text import TrecFile
from rankscope.light import LightRecord, replace
from rankscope.native import index_qrels_text, kernel
from rankscope.printable import counted

if TYPE_CHECKING:
    from rankscope.data.shapes import QrelsLike
    from rankscope.io.rows import QrelsRows


HIGHEST_USUAL_GRADE = 10.0
"""Few scales of grades go further."""


class IndexedQrels(LightRecord, eq=False):
    """Qrels that the kernel has read; the rows are read again should they be needed."""

    index: Any
    read: Callable[[], QrelsRows]


class Qrels(QueryDocs):
    """Judgments of docs for queries; they cannot be changed once made.

    Qrels are a mapping: iterating over them gives the query ids, `qrels[query]` the judged docs of a query with their
    grades.

    Parameters
    ----------
    data
        A path or an open file, `{query: {doc: grade}}`, `{query: [relevant doc, …]}`, a table with columns query, doc,
        grade (and subtopic, rater, time where there are), or an iterable of `(query, doc, grade)` rows. A grade below 0
        means pooled but unjudged.
    duplicates
        What is done with a doc that is judged twice for a query: "error", or "first" to keep the first judgment.

    Examples
    --------
    >>> from rankscope import Qrels
    >>> qrels = Qrels({"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}})
    >>> qrels["q1"]
    {'d1': 2.0, 'd2': 0.0}
    >>> list(qrels), len(qrels), "q3" in qrels
    (['q1', 'q2'], 2, False)
    >>> list(qrels.select(["q2"]))
    ['q2']
    """

    def __init__(
        self, data: QrelsLike | QrelsRows | IndexedQrels, *, duplicates: str = "error", origin: Origin | None = None
    ) -> None:
        if duplicates not in ("error", "first"):
            raise OptionError(f"duplicates = {duplicates!r} is not one of error, first")
        self.kernel_index: Any | None = None
        """Internal: the kernel's own index of the judgments, once it has been made."""
        self._duplicates = duplicates
        source = file_source(data, kind="qrels")
        if source is not None:
            data, origin = read_qrels_file(source), source.origin
        self.origin = origin
        if isinstance(data, IndexedQrels):
            self.kernel_index, self._read = data.index, data.read
            return
        from rankscope.data.coerce import qrels_rows  # not needed where the kernel has read a file

        rows = data.rows if isinstance(data, Qrels) else qrels_rows(data)
        self._read = lambda: rows
        self.judged  # noqa: B018 (a doc that is judged twice is found now, not when the first score is asked for)
        if not len(rows):
            raise InputError("the qrels are empty", hint="at least one query needs at least one judged doc")

    @cached_property
    def rows(self) -> QrelsRows:
        """All rows in the order given."""
        return self._read()

    @cached_property
    def judged(self) -> Mapping[str, Mapping[str, float]]:
        """Internal: the judgments as they are looked up."""
        return grades_by_doc(self.rows, duplicates=self._duplicates)

    @cached_property
    def integer_ids(self) -> frozenset[str]:
        """Which of "query" and "doc" were whole numbers in the source."""
        return frozenset() if self._is_text else self.rows.integer_ids

    @property
    def is_file(self) -> bool:
        """Internal: whether these are the judgments of a file of text on this machine, all of them and no others."""
        return self._is_text and self.origin is not None and os.path.isfile(self.origin.path)  # noqa: PTH113 (pathlib takes long to load)

    @property
    def duplicates(self) -> str:
        """Internal: what is done with a doc that is judged twice for a query."""
        return self._duplicates

    @cached_property
    def digest(self) -> str:
        """Internal: what tells these judgments from others: of TREC text that of its file, else that of the rows."""
        import hashlib  # few evaluations need it

        found = hashlib.sha256(f"{self._duplicates}\0".encode())
        add_ids(found, self.query_ids)
        if self.origin is not None and self.origin.format == "trec":  # how it is read leaves nothing to choose
            found.update(self.origin.sha256.encode())
            return found.hexdigest()
        rows = self.rows
        for column in (rows.query, rows.doc, *(() if rows.subtopic is None else (rows.subtopic,))):
            add_ids(found, column)
        found.update(np.ascontiguousarray(rows.grade).tobytes())
        return found.hexdigest()

    @property
    def _is_text(self) -> bool:
        """Whether the kernel has read the qrels from text, and the rows have not been needed."""
        return self.kernel_index is not None and "rows" not in self.__dict__

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """The judged queries, ordered by the bytes of their ids, as trec_eval reports and sums them."""
        if self.kernel_index:
            return tuple(self.kernel_index.query_ids)
        from rankscope.io.ids import byte_order

        return tuple(sorted(self.judged, key=byte_order))

    @cached_property
    def ideal(self) -> tuple[Ints, Floats]:
        """Internal: the grades from 0 up of each query, best first: offsets per query, and all grades in a row."""
        if self.kernel_index:
            n_grades, grades = (np.frombuffer(data) for data in self.kernel_index.ideal)
            return offsets_of(n_grades.view(np.int64)), grades
        per_query = [
            np.sort(np.array([grade for grade in self.judged[query].values() if grade >= 0]))[::-1]
            for query in self.query_ids
        ]
        return offsets_of([len(grades) for grades in per_query]), np.concatenate(per_query).astype(np.float64)

    @cached_property
    def numbered(self) -> tuple[tuple[str, ...], Floats, Qrels]:
        """Internal: all judged docs in a row, their grades, and qrels with a doc's number in place of its grade."""
        judged = [self.judged[query] for query in self.query_ids]
        offsets = offsets_of([len(docs) for docs in judged]).tolist()
        places = zip(self.query_ids, judged, offsets[:-1], offsets[1:], strict=True)
        numbers = {query: dict(zip(docs, range(start, stop), strict=True)) for query, docs, start, stop in places}
        grades = np.array([grade for docs in judged for grade in docs.values()], dtype=np.float64)
        return tuple(doc for docs in judged for doc in docs), grades, Qrels(numbers)

    @cached_property
    def fractional_row(self) -> int | None:
        """Internal: the first row whose grade is not a whole number, or None."""
        if self._is_text:
            row = int(self.kernel_index.fractional_row)  # type: ignore[union-attr]
            return None if row < 0 else row
        fractional = np.flatnonzero(self.rows.grade % 1 != 0)
        return int(fractional[0]) if len(fractional) else None

    def select(self, query_ids: Iterable[str | int]) -> Qrels:
        """Return the judgments of some queries, with all that is known of them; ids without a judgment are ignored."""
        from rankscope.io.ids import as_key

        wanted = set(map(as_key, query_ids))
        if wanted.issuperset(self.query_ids):
            return self
        from rankscope.io.rows import QrelsRows

        rows = self.rows
        kept = [i for i, query in enumerate(rows.query) if query in wanted]
        given = {role: getattr(rows, role) for role in ("query", "doc", "subtopic", "rater", "time")}
        columns: dict[str, Any] = {role: [cells[i] for i in kept] for role, cells in given.items() if cells is not None}
        selected = QrelsRows(
            grade=rows.grade[kept],
            integer_ids=rows.integer_ids,
            empty_queries=tuple(query for query in rows.empty_queries if query in wanted),
            **columns,
        )
        return Qrels(selected, duplicates=self._duplicates, origin=self.origin)

    def with_queries(self, query_ids: Iterable[str]) -> Qrels:
        """Return the same judgments with more queries, for which nothing is judged."""
        known = set(self.query_ids)
        more = tuple(query for query in dict.fromkeys(query_ids) if query not in known)
        if not more:
            return self
        rows = replace(self.rows, empty_queries=(*self.rows.empty_queries, *more))
        return Qrels(rows, duplicates=self._duplicates, origin=self.origin)

    def __getitem__(self, query: str) -> dict[str, float]:
        """Return the judged docs of a query with their grades, in the order given."""
        from rankscope.io.ids import as_key

        key = as_key(query)
        if key not in self.judged:
            raise UnknownNameError(f"the qrels have no query {query!r}")
        return dict(self.judged[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self.query_ids)

    def __contains__(self, query: object) -> bool:
        from rankscope.io.ids import as_key

        return as_key(query) in self.judged

    def __len__(self) -> int:
        return len(self.query_ids)

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel_index": None, "_duplicates": self._duplicates, "origin": self.origin, "rows": self.rows}

    def __repr__(self) -> str:
        n_rows = self.kernel_index.n_rows if self.kernel_index else len(self.rows)
        queries, judgments = counted(len(self), "query"), counted(n_rows, "judgment")
        return f"Qrels({queries}, {judgments})"


def add_ids(digest: Any, ids: Sequence[str]) -> None:
    """Add ids to a digest so that no others in a row look the same."""
    text = "\0".join(ids)
    lengths = [len(each) for each in ids] if text.count("\0") >= len(ids) > 0 else []
    content = text.encode("utf-8", "surrogatepass")
    digest.update(f"{len(ids)} {len(content)} {lengths} ".encode())
    digest.update(content)


def require_whole_grades(qrels: Qrels, measure: str) -> None:
    """Refuse fractional grades for a measure that cannot use them."""
    row = qrels.fractional_row
    if row is None:
        return
    grade, query, doc = float(qrels.rows.grade[row]), qrels.rows.query[row], qrels.rows.doc[row]
    raise GradeError(
        f"{measure} needs grades that are whole numbers, but row {row + 1} of the qrels "
        f"(query {query!r}, doc {doc!r}) has grade {grade!r}",
        hint=f"say which grades are relevant, e.g. min_rel={grade!r} (--min-rel {grade!r}); "
        "or use a measure of graded gain, such as nDCG",
    )


def grades_by_doc(rows: QrelsRows, *, duplicates: str) -> Mapping[str, Mapping[str, float]]:
    """Return {query: {doc: grade}}; over several subtopics a doc's grade is the best one."""
    judged: dict[str, dict[str, float]] = {query: {} for query in rows.empty_queries}
    seen: set[tuple[str, str, str]] = set()
    for i, (query, doc, grade) in enumerate(zip(rows.query, rows.doc, rows.grade.tolist(), strict=True)):
        grades = judged.setdefault(query, {})
        if rows.subtopic is not None:
            key = (query, doc, rows.subtopic[i])
            if key not in seen:
                seen.add(key)
                grades[doc] = max(grade, grades.get(doc, grade))
                continue
        elif doc not in grades:
            grades[doc] = grade
            continue
        if duplicates == "error":
            several_raters = rows.rater is not None and len(set(rows.rater)) > 1
            raise DuplicateError(
                f"row {i + 1} of the qrels judges doc {doc!r} for query {query!r} a second time",
                hint="several raters judged it: combine their grades into one first (rankscope judge import keeps them)"
                if several_raters
                else "remove one of the two, or keep the first with duplicates='first' (--duplicates first)",
            )
    return MappingProxyType({query: MappingProxyType(grades) for query, grades in judged.items()})


def read_qrels_file(source: FileSource, *, threads: int | None = None) -> Any:
    """Return the rows of a file, or what the kernel has made of them where it can read the file."""
    with source.staying_the_same():
        index = None if source.text is None else index_text(source.text, threads=threads)
    if index is None:
        return source.read()

    def read_again() -> QrelsRows:
        from rankscope.io.read import read_qrels

        with source.staying_the_same():
            return read_qrels(source.stored, format="trec").rows

    return IndexedQrels(index, read_again)


def index_text(text: TrecFile, *, threads: int | None) -> Any | None:
    """Let the kernel read TREC text, or return None where the reference has to do it."""
    if kernel() is None:
        return None
    with text.errors_of_kernel():
        if not text.is_plain_file:
            return index_qrels_text(text.data(), max_line=max_line_bytes(), threads=threads)
        with text.opened() as file:
            return index_qrels_text(file, max_line=max_line_bytes(), threads=threads)


def index_dict(data: Any) -> Any:
    """Let the kernel read a dict of dicts, where it can; other data is returned as it is."""
    if type(data) is not dict or not all(type(docs) is dict and docs for docs in data.values()):
        return data
    own = {query: dict(docs) for query, docs in data.items()}
    module = kernel()
    index = module.qrels_of_dict(own) if module and own else None
    if index is None:
        return data
    from rankscope.data.coerce import qrels_rows

    return IndexedQrels(index, lambda: qrels_rows(own))
