"""What the toolbars of pages offer: collections, measures."""

from __future__ import annotations

import sqlalchemy as sa

from rankscope.store.schema import collection, collection_version, run, scores
from rankscope.web.library import Library

USUAL = ("nDCG@10", "RR@10", "AP", "R@100", "P@10")


def newest_collection(library: Library) -> str | None:
    """Return the collection of the newest run; None where there is no run."""
    runs = library.store.runs.list(last=1)
    return runs[-1].collection if runs else None


def known_measures(library: Library, name: str, shown: str) -> tuple[str, ...]:
    """Return the measure that is shown, those that runs on a collection were scored by, and usual ones."""

    def build() -> tuple[str, ...]:
        wanted = (
            sa.select(scores.c.measure)
            .join(run, run.c.id == scores.c.run_id)
            .join(collection_version)
            .join(collection)
            .where(collection.c.name == name)
            .distinct()
        )
        with library.store.reading() as connection:
            return tuple(sorted(row.measure for row in connection.execute(wanted)))

    scored = library.cached(("measures", name), build)
    return tuple(dict.fromkeys((shown, *scored, *USUAL)))
