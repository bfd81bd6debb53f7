"""The graph of the Human Phenotype Ontology: branches as domains, and relatives as grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from rankscope.data.ontology import Ontology

TERM, NEAR, FAR = 3, 2, 1
"""Grades: the term itself; its parents and children; its grandparents and siblings."""


class HpoGraph:
    """Parents and children of terms by id, and the branch that each belongs to."""

    def __init__(self, ontology: Ontology) -> None:
        self.ontology = ontology

    @cached_property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        ids = self.ontology.term_ids
        return {term: tuple(ids[i] for i in above) for term, above in zip(ids, self.ontology.parents, strict=True)}

    @cached_property
    def children(self) -> Mapping[str, list[str]]:
        below: dict[str, list[str]] = {term: [] for term in self.ontology.term_ids}
        for term, above in self.parents.items():
            for parent in above:
                below[parent].append(term)
        return below

    @cached_property
    def domains(self) -> Mapping[str, str]:
        """The branch right below Phenotypic abnormality of each term below it, by label.

        Of several branches it is the one with the shortest way up, of equally near ones the first by label.
        """
        ways: dict[str, dict[str, int]] = {}
        for i in self.ontology.parents_first:
            term = self.ontology.term_ids[i]
            own = {term: 0} if "HP:0000118" in self.parents[term] else {}
            for parent in self.parents[term]:
                for branch, steps in ways[parent].items():
                    own[branch] = min(steps + 1, own.get(branch, steps + 1))
            ways[term] = own
        labels = self.ontology.labels
        return {
            term: min((n, labels[branch]) for branch, n in found.items())[1] for term, found in ways.items() if found
        }

    def grades(self, terms: Iterable[str]) -> dict[str, int]:
        """Return the grade of every term for a query that asks for some; relatives of several have the best grade."""
        found: dict[str, int] = {}
        for term in terms:
            above = self.parents.get(term, ())
            grandparents = [further for parent in above for further in self.parents[parent]]
            siblings = [sibling for parent in above for sibling in self.children[parent]]
            near = (*above, *self.children.get(term, ()))
            for grade, relatives in ((FAR, (*grandparents, *siblings)), (NEAR, near), (TERM, (term,))):
                for relative in relatives:
                    found[relative] = max(grade, found.get(relative, grade))
        return found
