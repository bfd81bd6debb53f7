"""What the toolbars of pages offer: collections, measures."""

from __future__ import annotations

import sqlalchemy as sa

from rankscope.analysis.side_by_side import has_shares
from rankscope.experiment.stored_scoring import project_of_store
from rankscope.measures.parse import parse_measure
from rankscope.store.schema import collection, collection_version, run, scores
from rankscope.store.scores import data_of_docs
from rankscope.web.library import Library

USUAL = ("nDCG@10", "RR@10", "AP", "R@100", "P@10")


def newest_collection(library: Library) -> str | None:
    """Return the collection of the newest run; None where there is no run."""
    runs = library.store.runs.list(last=1)
    return runs[-1].collection if runs else None


def known_measures(library: Library, name: str, shown: str, *, from_rankings: bool = False) -> tuple[str, ...]:
    """Return what every page offers, in the same order: the measures of the project, of the runs, and usual ones.

    Those of the runs are the ones that decided. A page that scores rankings anew (`from_rankings`) leaves out what
    looks at more than grades, as at embeddings, which the store does not keep. Where it is none of them, the measure
    that is shown comes first.
    """
    known = library.cached(("offered measures", name), lambda: offered_measures(library, name))
    offered = [each for each in known if not from_rankings or has_shares(parse_measure(each))]
    return tuple(offered if shown in offered else [shown, *offered])


def offered_measures(library: Library, name: str) -> tuple[str, ...]:
    project = library.project or project_of_store(library.store, name)
    decided = [run.details.primary for run in reversed(library.store.runs.list(collection=name)) if run.details.primary]
    of_project = [] if project is None else [project.primary, *project.measures]
    names = [parse_measure(each).name for each in (*of_project, *decided, *USUAL)]
    scored = scored_measures(library, name)
    return tuple(each for each in dict.fromkeys(names) if each in scored or not data_of_docs(parse_measure(each)))


def scored_measures(library: Library, name: str) -> frozenset[str]:
    """Return all measures that there are scores of; pages add some for themselves, so not all are offered."""
    wanted = (
        sa.select(scores.c.measure)
        .join(run, run.c.id == scores.c.run_id)
        .join(collection_version)
        .join(collection)
        .where(collection.c.name == name)
        .distinct()
    )
    with library.store.reading() as connection:
        return frozenset(row.measure for row in connection.execute(wanted))
