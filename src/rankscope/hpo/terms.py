"""The words of an ontology's terms: label, definition and typed synonyms, from its OBO file or from translations.

Translations are TSV files: the Babelon profiles that the Human Phenotype Ontology publishes (subject_id, predicate_id,
translation_value …), their tables of synonyms, and plain tables with the columns hpo_id and label (or synonym).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import field

from rankscope.data.ontology_files import OboFile
from rankscope.data.queries import words_of
from rankscope.errors import FormatError, InputError
from rankscope.io.columns import TRANSLATION_COLUMNS, match_columns
from rankscope.io.source import is_tsv, source_of
from rankscope.io.table import guess_format, rows_in
from rankscope.records import Record

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(.*)')
_ESCAPED = re.compile(r"\\(.)")


class Synonym(Record):
    """Another name of a term: how close it is (EXACT, BROAD …) and of what type (layperson, abbreviation …)."""

    text: str
    scope: str = "EXACT"
    type: str = ""


class TermText(Record):
    """What an ontology says of a term in words."""

    id: str
    label: str
    definition: str = ""
    synonyms: tuple[Synonym, ...] = ()


def read_term_texts(path: Path) -> dict[str, TermText]:
    """Return the words of every term in use, by id, in the order of the file."""
    found: dict[str, TermText] = {}
    for stanza in OboFile(path).stanzas:
        if stanza.id and not stanza.is_obsolete:
            synonyms = []
            for value in stanza.synonyms:  # "text" SCOPE type [references]
                text, rest = unquoted(value)
                words = rest.partition("[")[0].split()
                synonyms.append(Synonym(text, words[0] if words else "RELATED", words[1] if len(words) > 1 else ""))
            found[stanza.id] = TermText(stanza.id, stanza.name, unquoted(stanza.definition)[0], tuple(synonyms))
    return found


def unquoted(value: str) -> tuple[str, str]:
    """Return the text in quotes at the start of a value, and what stands behind it."""
    match = _QUOTED.match(value)
    return (value, "") if match is None else (_ESCAPED.sub(r"\1", match[1]).strip(), match[2])


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

    def take_file(self, path: Path) -> None:
        """Take in the translations of a file, the first label of each term; rows without any are passed over."""
        source = source_of(path)
        holds_synonyms = bool({"synonym", "synonyms"} & words_of(Path(source.name).name))
        columns: list[str] = []
        with source.reading(ragged=True) as reading:
            for _, row in rows_in(reading, guess_format(source.name, source.head(4096)) or "tsv"):
                if not columns:
                    roles = match_columns(row, TRANSLATION_COLUMNS)
                    if len(roles) < len(TRANSLATION_COLUMNS):
                        raise FormatError(
                            f"{source.name} has no columns for a term and its translation; "
                            f"its columns are {', '.join(row)}",
                            hint="call them subject_id and translation_value, or hpo_id and label (or synonym)",
                        )
                    columns = [roles[role].strip().lower() for role in TRANSLATION_COLUMNS]
                    holds_synonyms |= columns[1].startswith("synonym")
                cells = {name.strip().lower(): str(cell or "").strip() for name, cell in row.items()}
                term, text = (cells.get(column, "") for column in columns)
                stated = {cells.get(name) for name in ("status", "translation_status", "comment")}
                is_ours = cells.get("translation_language", "") in ("", self.language)
                if ":" not in term or not text or "NOT_TRANSLATED" in stated or not is_ours:
                    continue  # such as a second header
                predicate = cells.get("predicate_id", "").lower()
                if "synonym" in predicate or (holds_synonyms and not predicate):
                    kind = cells.get("synonym_type", "")  # its name or its web address
                    known = next((name for name in ("layperson", "abbreviation") if kind.endswith(name)), "")
                    parts = (part.replace("quot;", "").strip() for part in text.split("|"))  # quotes, badly escaped
                    names = (Synonym(part, "EXACT", known) for part in parts if part)
                    self.synonyms.setdefault(term, []).extend(names)
                else:
                    words = self.definitions if "iao:0000115" in predicate else self.labels
                    words.setdefault(term, text)
        self.files.append(source.name)


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
    for file in [file for file in files if language in words_of(file.name)] or files:
        found.take_file(file)
    if not found.labels:
        raise InputError(
            f"no label in {language!r} was found in {', '.join(map(str, given)) or 'no file'}",
            hint="give the file of labels, such as hp-de.babelon.tsv, or the folder it lies in",
        )
    return found
