"""Addresses in place of paths: what is one, and how it is shown; all that needs no connection, and loads nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

STORES = {"s3": "S3", "gs": "Google Cloud Storage", "az": "Azure Blob Storage"}
"""Object stores by the schemes of their addresses."""
_SIGNS = frozenset("+.-")


def is_remote(path: Any) -> bool:
    """Tell whether a path is an address; one that cannot be opened is refused when it is."""
    return isinstance(path, str) and "://" in path and is_scheme(path.partition("://")[0])


def is_scheme(text: str) -> bool:
    """Tell whether a text may stand before the colon of an address; a letter alone is a disk of Windows."""
    is_name = text.isascii() and len(text) > 1 and text[0].isalpha()
    return is_name and all(letter.isalnum() or letter in _SIGNS for letter in text)


def address_in(path: str | os.PathLike[str]) -> str | None:
    """Return the address that a path was written as, of which pathlib leaves one slash; None for any other path."""
    text = os.fspath(path)
    scheme, _, rest = text.partition(":/")
    return f"{scheme}://{rest.removeprefix('/')}" if rest and is_scheme(scheme) else None


def shown_url(path: str) -> str:
    """Return an address as it may be seen and kept: without user, password, query and fragment; a path as it is.

    Of one in which a user or password may go on behind a sign that ends it, only the scheme is shown.
    """
    if not is_remote(path):
        return path
    scheme, _, rest = path.partition("://")
    if may_be_torn(scheme, rest):
        return f"{scheme.lower()}://…"
    place, mark, query = rest.partition("?")
    if scheme.lower() not in STORES:
        rest = place.partition("#")[0]
    elif mark and "=" in query:  # in a pattern, ? stands for any character
        rest = place
    host, slash, key = rest.partition("/")
    return f"{scheme.lower()}://{host.rpartition('@')[2]}{slash}{key}"


def may_be_torn(scheme: str, rest: str) -> bool:
    """Tell whether what looks like a host and a path may be a password that has a slash in it, or ? or #."""
    place = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    _, at, host = rest[:place].rpartition("@")
    further = rest[place:]
    if at and "@" in further.partition("?")[0].partition("#")[0]:
        return True
    return "@" in further and not is_host(host, is_bucket=scheme.lower() in STORES)


def is_host(text: str, *, is_bucket: bool) -> bool:
    """Tell whether a text is surely a bucket or a host, and no user or password."""
    name, colon, port = text.partition(":")
    is_name = bool(name) and all(letter.isalnum() or letter in ".-_" for letter in name)
    if is_bucket:
        return is_name and not colon
    return is_name and ("." in name or name == "localhost") and (not colon or port.isdecimal())


def shown_words(words: Iterable[str]) -> list[str]:
    """Return the words of a command as they may be seen and kept: addresses among them, also behind --NAME=."""
    return [f"{name}{shown_url(value)}" for name, value in map(option_and_value, words)]


def option_and_value(word: str) -> tuple[str, str]:
    """Return --NAME= and what is behind it; nothing and the word where it is no such option."""
    name, equals, value = word.partition("=")
    return (f"{name}=", value) if equals and word.startswith("-") else ("", word)


def without_secrets_of(words: Iterable[str], text: str) -> str:
    """Return a text in which the addresses among the words of a command stand as they may be seen."""
    for _, address in map(option_and_value, words):
        if is_remote(address) and shown_url(address) != address:
            for written in (address, address.replace("://", ":/", 1)):  # as pathlib has it
                text = text.replace(written, shown_url(address))
    return text
