"""Secrets: texts that come from environment variables, and how they are kept out of all that leaves the process.

A text of a project file with `${NAME}` in it becomes a `FromEnvironment`: a text that remembers how it was written.
`secrets_in` collects the variables that options hold. Where their values turn up in an error, in the reason of a
failure or in what a system says of itself, the name is put in their place, as it stands in the file: `${NAME}`.
"""

from __future__ import annotations

import base64
import json
import os
import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, Self

import msgspec

SECRET_NAMES = re.compile(
    r"auth(?!or(?!i))|cookie|token(?![is])|secret|passw|api[-_]?key|(^|[-_])key$|credential|signature|(^|[-_])sig$",
    re.IGNORECASE,
)
"""Names of headers, fields and variables that hold secrets; not author, tokenizer or max_tokens."""
HIDDEN = "(hidden)"
_TEMPLATE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_SHORT = 6
"""A value with fewer characters is no secret where its name says nothing, and else hidden as a word of its own only."""
_SHOWN_PREFIX = 3
"""Of a value that was cut off, so many characters may be seen."""


_URL_SAFE = str.maketrans("+/", "-_")


class FromEnvironment(str):  # noqa: SLOT000 (there are few of them)
    """A text with environment variables filled in, which knows how it was written; its repr is that."""

    written: str
    values: Mapping[str, str]
    """The variables in it, by name."""

    def __new__(cls, text: str, written: str, values: Mapping[str, str]) -> Self:
        made = super().__new__(cls, text)
        made.written, made.values = written, dict(values)
        return made

    def __repr__(self) -> str:
        return repr(self.written)

    def __reduce__(self) -> tuple[Any, ...]:
        return FromEnvironment, (str(self), self.written, self.values)


def words_about(text: str, words: str) -> str:
    """Return what a parser says of a text; nothing of one from the environment, as the words may hold a part of it."""
    return "" if isinstance(text, FromEnvironment) else words


class Secrets(msgspec.Struct, frozen=True, dict=True):
    """Environment variables whose values must not be seen."""

    values: Mapping[str, str] = {}
    named: frozenset[str] = frozenset()
    """Those that are secrets by their name, or by that of the option or header they stand in."""

    def hide(self, text: str) -> str:
        """Return a text with the names of variables in place of their values, also where a value was cut off."""
        return _replace(text, self._all)

    def hide_in(self, data: Any) -> Any:
        """Do so in all texts of nested data, those of systems' options among them."""
        return _replace_in(data, self._all)

    def hide_named(self, data: Any) -> Any:
        """Hide only what is a secret by its name, so that another host or index still makes a difference."""
        return _replace_in(data, self._by_name)

    def found_in(self, texts: Sequence[str]) -> str | None:
        """Return the name of a secret that stands in one of some texts; what is hidden by words alone is not sought."""
        if not self._by_name:
            return None
        joined = "\n".join(texts)
        forms_of_long = {name: forms for name, forms in self._by_name.items() if len(self.values[name]) >= _SHORT}
        return next((name for name, forms in forms_of_long.items() if any(form in joined for form in forms)), None)

    @contextmanager
    def kept_out_of_errors(self) -> Iterator[None]:
        """Hide values in whatever error leaves the block, and in the errors that led to it."""
        try:
            yield
        except BaseException as error:
            self._hide_in_error(error)
            raise

    def _hide_in_error(self, error: BaseException | None, seen: tuple[int, ...] = ()) -> None:
        if error is None or id(error) in seen or not self.values:
            return
        error.args = tuple(self.hide(part) if isinstance(part, str) else part for part in error.args)
        for name in ("message", "hint", "filename", "strerror", "object", "msg"):
            with suppress(Exception, SystemExit, GeneratorExit):  # whatever an error of somebody's own does there
                text = getattr(error, name, None)
                if isinstance(text, str) and (hidden := self.hide(text)) != text:
                    setattr(error, name, hidden)
        self._hide_in_error(error.__cause__, (*seen, id(error)))
        self._hide_in_error(error.__context__, (*seen, id(error)))

    @cached_property
    def _all(self) -> dict[str, tuple[str, ...]]:
        shown = {name: value for name, value in self.values.items() if name in self.named or len(value) >= _SHORT}
        return {name: forms_of(value) for name, value in shown.items() if value.strip()}

    @cached_property
    def _by_name(self) -> dict[str, tuple[str, ...]]:
        return {name: forms for name, forms in self._all.items() if name in self.named}


def secrets_in(*options: Any) -> Secrets:
    """Return the environment variables that options hold: filled in, as `${NAME}` in a template, or by api_key_env."""
    values: dict[str, str] = {}
    named: set[str] = set()

    def look(value: Any, key: str) -> None:
        found: dict[str, str] = {}
        if isinstance(value, Mapping):
            for inner_key, inner in value.items():
                look(inner_key, key)
                look(inner, str(inner_key))
        elif isinstance(value, list | tuple):
            for inner in value:
                look(inner, key)
        elif isinstance(value, str):
            found |= getattr(value, "values", {})
            templates = [value] if key == "api_key_env" else _TEMPLATE.findall(value)
            found |= {name: os.environ[name] for name in templates if name in os.environ}
        values.update(found)
        named.update(name for name in found if SECRET_NAMES.search(name) or SECRET_NAMES.search(key))

    look(options, "")
    return Secrets(values, frozenset(named))


def secrets_of_environment() -> Secrets:
    """Return the variables of this process that hold secrets by their names."""
    values = {name: value for name, value in os.environ.items() if value.strip() and SECRET_NAMES.search(name)}
    return Secrets(values, frozenset(values))


def forms_of(value: str) -> tuple[str, ...]:
    """Return a value as it may stand in addresses, JSON, base64 and Python's own messages, the longest first."""
    lines = {value, value.strip(), *(line.strip() for line in value.splitlines())}
    lines |= {" ".join(line.split()) for line in {*lines, *misread(value)}} | misread(value)
    whole = {line for line in lines if len(line) >= _SHORT} or {value.strip()}
    forms = set(whole).union(*(in_base64(line) for line in whole))
    for line in whole:
        forms |= {json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1], repr(line)[1:-1]}
        data = line.encode("utf-8", "surrogatepass")
        forms |= {urllib.parse.quote(data, safe=""), urllib.parse.quote(data), urllib.parse.quote_plus(data)}
        forms |= {repr(data)[2:-1]}
    return tuple(sorted(forms, key=len, reverse=True))


def misread(value: str) -> set[str]:
    """Return a value as those see it who take it for another encoding than it is in."""
    if value.isascii():
        return set()
    data = value.encode("utf-8", "surrogatepass")
    one_byte = value.encode("latin-1", "replace").decode("utf-8", "replace")
    return {one_byte, *(data.decode(encoding, "replace") for encoding in ("latin-1", "cp1252", "ascii"))}


def in_base64(value: str) -> set[str]:
    """Return a value in base64: as a whole, in lines, and what is the same of it behind any text, as in user:key."""
    data = value.encode("utf-8", "surrogatepass")
    whole = base64.b64encode(data).decode()
    parts = {line.rstrip("=") for line in base64.encodebytes(data).decode().split()}
    for n_before in range(3):
        encoded = base64.b64encode(b"\0" * n_before + data).decode()
        parts.add(encoded[-(-n_before * 8 // 6) : (n_before + len(data)) * 8 // 6])
    forms = {whole, whole.rstrip("="), *(part for part in parts if len(part) >= _SHORT)}
    return forms | {form.translate(_URL_SAFE) for form in forms}


def _replace(text: str, forms_by_name: Mapping[str, Sequence[str]]) -> str:
    for name, forms in forms_by_name.items():
        for form in forms:
            if len(form) < _SHORT:
                text = re.sub(rf"(?<![^\W_]){re.escape(form)}(?![^\W_])", f"${{{name}}}", text)
            elif form.lower() in text.lower():  # hosts are lower-cased on the way
                text = re.sub(re.escape(form), f"${{{name}}}", text, flags=re.IGNORECASE)
            if "…" in text:
                text = "…".join(_without_prefix(part, form, name) for part in text.split("…"))
    return text


def _without_prefix(text: str, form: str, name: str) -> str:
    """Return a text without the beginning of a value at its end."""
    for length in range(len(form) - 1, _SHOWN_PREFIX, -1):
        if text.endswith(form[:length]):
            return f"{text[:-length]}${{{name}}}"
    return text


def _replace_in(data: Any, forms_by_name: Mapping[str, Sequence[str]]) -> Any:
    if isinstance(data, str):
        return _replace(str(data), forms_by_name)
    if isinstance(data, Mapping):
        return {_replace_in(key, forms_by_name): _replace_in(value, forms_by_name) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_replace_in(value, forms_by_name) for value in data]
    return data


def without_secrets(value: Any, *, name: str = "") -> Any:
    """Return options as they may be written down: what stands under a name that speaks of a secret is hidden."""
    if isinstance(value, Mapping):
        return {str(key): without_secrets(inner, name=str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(inner, name=name) for inner in value]
    return HIDDEN if SECRET_NAMES.search(name) and value else value


def url_without_secrets(url: str) -> str:
    """Return an address as it may be written down: without a password, and with keys in it hidden."""
    url = re.sub(r"(://)[^/@]*@", rf"\1{HIDDEN}@", url)
    return re.sub(
        r"([?&])([^=&#]+)=([^&#]*)",
        lambda match: f"{match[1]}{match[2]}={HIDDEN if SECRET_NAMES.search(match[2]) else match[3]}",
        url,
    )


def as_recorded(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of a system as it may be recorded: a secret that stands in the file itself is hidden."""

    def recorded(value: Any, name: str) -> Any:
        if isinstance(value, Mapping):
            return {key: recorded(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [recorded(inner, name) for inner in value]
        if not isinstance(value, str) or "${" in value:
            return value
        if "://" in value:
            return url_without_secrets(value)
        return HIDDEN if SECRET_NAMES.search(name) and value else value

    return {
        name: value if isinstance(value, str) and "://" not in value and name != "api_key" else recorded(value, name)
        for name, value in written.items()
    }
