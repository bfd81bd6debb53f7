"""The vectors that a dense system gives to the docs or queries of a collection, so that they can be kept in a file."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterable, Sequence
from typing import cast

from rankscope.errors import InputError, OptionError, did_you_mean
from rankscope.experiment.collection import Collection
from rankscope.experiment.project import Project, SystemEntry
from rankscope.progress import Progress
from rankscope.systems.dense import Dense
from rankscope.systems.registry import make_system
from rankscope.systems.vector_index import BLOCK_DOCS, Vectors


def dense_system(project: Project, name: str | None = None, *, cache: str | None = None) -> Dense:
    """Return a dense system of a project; without a name the one whose vectors `run` measures diversity by.

    It keeps vectors in the project's cache, or in another folder.
    """
    of_docs = [entry for entry in project.systems.values() if entry.type == Dense.kind]
    if name is None:
        if not of_docs:
            raise OptionError(
                f"{project.file.name} has no system of type dense", hint="add one, or name a model: --model wordllama"
            )
        entry = min(of_docs, key=lambda entry: bool(entry.sweep))
    else:
        entry = named_entry(project, name, [entry.name for entry in of_docs])
    if entry.sweep:
        raise OptionError(
            f"{entry.name} has several values for {', '.join(entry.sweep)}, so it is not one system",
            hint="add a system with the values that `rankscope run` has chosen, and name that one",
        )
    made = make_system(entry.type, entry.options, name=entry.name, cache=cache or project.cache / "embeddings")
    return cast("Dense", made)  # as its type says


def named_entry(project: Project, name: str, dense: Sequence[str]) -> SystemEntry:
    entry = project.systems.get(name)
    if entry is None:
        hint = did_you_mean(name, dense) or f"there are {', '.join(dense) or 'no systems of type dense'}"
        raise OptionError(f"{project.file.name} has no system {name!r}", hint=hint)
    if entry.type != Dense.kind:
        hint = f"name one of {', '.join(dense)}" if dense else "name a model instead: --model wordllama"
        raise OptionError(f"{name} is of type {entry.type}, which has no vectors of its own", hint=hint)
    return entry


def doc_vectors(
    dense: Dense, collection: Collection, *, only: Container[str] | None = None, progress: Progress | None = None
) -> tuple[list[str], Iterable[Vectors]]:
    """Return the ids of docs, and their vectors block by block, in their order: of all, or of those among some ids.

    Where the system keeps vectors in files, these are mapped, and no more than a block is in memory.
    """
    dense.fit(collection.docs, progress=progress)
    ids = [doc for doc in dense.vectors.docs.ids if only is None or doc in only]
    if not ids:
        raise InputError(
            f"{collection.name} has none of the docs that were asked for",
            hint="do the runs belong to this collection? `rankscope validate` compares ids",
        )
    return ids, dense.vectors.parts_of(ids)


def query_vectors(dense: Dense, collection: Collection) -> tuple[list[str], Iterable[Vectors]]:
    """Return the ids of all queries, and their vectors block by block, in their order."""
    queries = list(collection.query_of.values())
    texts = [query.text for query in queries]
    blocks = (
        dense.encode(texts[start : start + BLOCK_DOCS], role="query") for start in range(0, len(texts), BLOCK_DOCS)
    )
    return [query.id for query in queries], blocks
