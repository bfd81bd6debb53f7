"""Translations of an ontology's terms: TSV files with a term, what is translated, and its translation.

Read are the Babelon profiles that the Human Phenotype Ontology publishes (subject_id, predicate_id, translation_value
…), their tables of synonyms, and plain tables with the columns hpo_id and label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import field

from rankscope.data.queries import words_of
from rankscope.errors import FormatError, InputError
from rankscope.hpo.terms import Synonym, TermText
from rankscope.io.columns import TRANSLATION_COLUMNS, match_columns
from rankscope.io.source import is_tsv, source_of
from rankscope.io.table import guess_format, rows_in

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
    files = [
        file
        for path in given
        for file in (sorted(path.iterdir()) if path.is_dir() else [path])
        if not path.is_dir() or (is_tsv(file.name) and language in words_of(file.name))
    ]
    several = [file for file in files if language in words_of(file.name)]
    for file in several or files:
        take_file(found, file)
    if not found.labels:
        raise InputError(
            f"no label in {language!r} was found in {', '.join(map(str, given)) or 'no file'}",
            hint="give the file of labels, such as hp-de.babelon.tsv, or the folder it lies in",
        )
    return found


def take_file(found: Translations, path: Path) -> None:
    """Read one file; rows without a term, such as a second header, or without a translation are passed over."""
    source = source_of(path)
    usual = SYNONYM if {"synonym", "synonyms"} & words_of(Path(source.name).name) else LABEL
    columns: list[str] = []
    with source.reading(ragged=True) as reading:
        for _, row in rows_in(reading, guess_format(source.name, source.head(4096)) or "tsv"):
            columns = columns or term_and_text(list(row), source.name)
            cells = {name.strip().lower(): str(cell or "").strip() for name, cell in row.items()}
            term, text = (cells.get(column, "") for column in columns)
            stated = {cells.get(name) for name in ("status", "translation_status", "comment")}
            is_ours = cells.get("translation_language", "") in ("", found.language)
            if ":" not in term or not text or "NOT_TRANSLATED" in stated or not is_ours:
                continue
            predicate = cells.get("predicate_id", "").lower()
            what = SYNONYM if "synonym" in predicate else DEFINITION if "iao:0000115" in predicate else LABEL
            kind = cells.get("synonym_type", "")  # its name or its web address
            known = next((name for name in ("layperson", "abbreviation") if kind.endswith(name)), "")
            found.take(term, what if predicate else usual, text, known)
    found.files.append(source.name)


def term_and_text(names: Sequence[str], file: str) -> list[str]:
    """Return the columns of a term and of its translation."""
    roles = match_columns(names, TRANSLATION_COLUMNS)
    if len(roles) < len(TRANSLATION_COLUMNS):
        raise FormatError(
            f"{file} has no columns for a term and its translation; its columns are {', '.join(names)}",
            hint="call them subject_id and translation_value, or hpo_id and label",
        )
    return [roles[role].strip().lower() for role in TRANSLATION_COLUMNS]
