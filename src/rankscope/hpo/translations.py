"""Translations of an ontology's terms: TSV files with a term, what is translated, and its translation.

Read are the Babelon profiles that the Human Phenotype Ontology publishes (subject_id, predicate_id, translation_value
…), their tables of synonyms, and plain tables with the columns hpo_id and label.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import field

from rankscope.data.queries import words_of
from rankscope.errors import FormatError, InputError
from rankscope.hpo.terms import Synonym, TermText
from rankscope.io.compression import MAGIC_BYTES, compression_of, decompressed
from rankscope.io.csv_file import records_of
from rankscope.io.source import Reading, is_tsv, source_of

_ID_NAMES = ("hpo_id", "subject_id", "term", "id")
_VALUE_NAMES = ("label", "translation_value", "translation")
_STATUS_NAMES = ("status", "translation_status", "comment")
_UNTRANSLATED = "NOT_TRANSLATED"
_TYPES = ("layperson", "abbreviation")
LABEL, DEFINITION, SYNONYM = "label", "definition", "synonym"


class Translations(msgspec.Struct):
    """What the terms are called in one language."""

    language: str
    files: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    synonyms: dict[str, list[Synonym]] = field(default_factory=dict)

    def term(self, term: str) -> TermText | None:
        """Return the words of a term, or None where its label is not translated."""
        if term not in self.labels:
            return None
        return TermText(term, self.labels[term], self.definitions.get(term, ""), tuple(self.synonyms.get(term, ())))

    def take(self, term: str, what: str, text: str, kind: str) -> None:
        """Take in one translation; of several labels the first counts."""
        if what == SYNONYM:
            known = self.synonyms.setdefault(term, [])
            known.extend(Synonym(part.strip(), "EXACT", kind) for part in text.split("|") if part.strip())
        else:
            (self.labels if what == LABEL else self.definitions).setdefault(term, text)


def read_translations(paths: Iterable[str | Path], language: str) -> Translations:
    """Return the translations into a language from files, or from those files of a folder that its code names."""
    found = Translations(language)
    given = list(map(Path, paths))
    files = [file for path in given for file in (files_for(path, language) if path.is_dir() else [path])]
    several = [file for file in files if language in words_of(file.name)]
    for file in several or files:
        take_file(found, file)
    if not found.labels:
        raise InputError(
            f"no label in {language!r} was found in {', '.join(map(str, given)) or 'no file'}",
            hint="give the file of labels, such as hp-de.babelon.tsv, or the folder it lies in",
        )
    return found


def files_for(folder: Path, language: str) -> list[Path]:
    """Return the tables of a folder whose names hold the code of a language."""
    return sorted(file for file in folder.iterdir() if is_tsv(file.name) and language in words_of(file.name))


def take_file(found: Translations, path: Path) -> None:
    """Read one file of translations."""
    source = source_of(path)
    with source.open() as raw:
        compression = compression_of(raw.read(MAGIC_BYTES))
    with source.open() as raw, decompressed(raw, compression, name=source.name) as stream:
        records = records_of(Reading(source.name, stream), "\t")
        _, header = next(records, (0, []))
        columns = TranslationColumns(header, source.name)
        for _, cells in records:
            columns.take(found, cells)
    found.files.append(source.name)


class TranslationColumns:
    """Which column of a file of translations holds what."""

    def __init__(self, header: Sequence[str], name: str) -> None:
        places = {cell.strip().lower(): place for place, cell in reversed(list(enumerate(header)))}
        self._places = places
        id_place, value_place = (place_of(names, places) for names in (_ID_NAMES, _VALUE_NAMES))
        if id_place is None or value_place is None:
            raise FormatError(
                f"{name} has no columns for a term and its translation; its columns are {', '.join(header)}",
                hint="call them subject_id and translation_value, or hpo_id and label",
            )
        self._needed = (id_place, value_place)
        self._usual = SYNONYM if {"synonym", "synonyms"} & words_of(Path(name).name) else LABEL

    def _cell(self, cells: Sequence[str], name: str) -> str:
        place = self._places.get(name)
        return cells[place].strip() if place is not None and place < len(cells) else ""

    def take(self, found: Translations, cells: Sequence[str]) -> None:
        """Take in one row; those without a term, such as a second header, or without a translation are passed over."""
        if max(self._needed) >= len(cells):
            return
        term, text = (cells[place].strip() for place in self._needed)
        language = self._cell(cells, "translation_language")
        if ":" not in term or not text or any(self._cell(cells, name) == _UNTRANSLATED for name in _STATUS_NAMES):
            return
        if language in ("", found.language):
            found.take(term, self._what(cells), text, type_of(self._cell(cells, "synonym_type")))

    def _what(self, cells: Sequence[str]) -> str:
        predicate = self._cell(cells, "predicate_id").lower()
        if not predicate:
            return self._usual
        return SYNONYM if "synonym" in predicate else DEFINITION if "iao:0000115" in predicate else LABEL


def type_of(text: str) -> str:
    """Return the type of a synonym, from its name or its web address."""
    return next((name for name in _TYPES if text.endswith(name)), "")


def place_of(names: Iterable[str], places: Mapping[str, int]) -> int | None:
    """Return where the first of some columns stands, or None where there is none of them."""
    return next((places[name] for name in names if name in places), None)
