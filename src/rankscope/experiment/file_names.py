"""Names of files for collections and systems, whose own names may hold anything."""

from __future__ import annotations

import hashlib
import re


def file_name(name: str) -> str:
    """Return a name that a file can have on any system, and that no other name has."""
    plain = re.sub(r"[^A-Za-z0-9_+-]+", "-", name).strip("-")
    if plain == name:
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain}-{mark}" if plain else mark


def tag_of(name: str, fingerprint: str) -> str:
    """Return the tag of a run: the system, and the beginning of its fingerprint."""
    return f"{file_name(name)}-{fingerprint[:12]}"
