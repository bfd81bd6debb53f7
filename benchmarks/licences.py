"""List the packages that an installation of Rankscope brings along, with their versions and licences.

    scripts/licences                what a plain installation needs
    scripts/licences --all          with all extras that are installed here

Exit code 1 where the licence of a package is not among those known to be permissive, so that somebody looks at it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PERMISSIVE = re.compile(
    r"\b(MIT|MIT-0|BSD|[023]-Clause|Apache|PSF|Python Software Foundation|ISC|Zlib|Unlicense|CC0|0BSD"
    r"|MPL|Mozilla Public License|HPND|CNRI|BSL)\b",
    re.IGNORECASE,
)
"""MPL binds changes to its own files only. A licence that joins several with OR or AND has each of them."""
MIT_TEXT = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"
LOOKED_AT = {
    "psycopg": "an extra: used as it is published, and installed by those who have a PostgreSQL server",
    "psycopg-binary": "as psycopg",
}
"""Packages whose licence somebody has read, and why they may be used."""
COPYLEFT = re.compile(r"\b(A?GPL|LGPL|GNU|EUPL|SSPL|CC[- ]BY[- ](NC|SA))", re.IGNORECASE)


def packages_needed(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> Iterator[Distribution]:
    """Yield a package and all it needs, as far as they are installed."""
    if (canonicalize_name(name), extras) in seen:
        return
    seen.add((canonicalize_name(name), extras))
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return  # an extra that is not installed here
    yield package
    for line in package.requires or ():
        needed = Requirement(line)
        environments = [{"extra": extra} for extra in extras] or [{"extra": ""}]
        if needed.marker is None or any(needed.marker.evaluate(environment) for environment in environments):
            yield from packages_needed(needed.name, frozenset(needed.extras), seen)


def licence_of(package: Distribution) -> str:
    """Return the licence as the package states it: an expression, a classifier, or how its text begins."""
    metadata = package.metadata
    classifiers = [
        each.rpartition(" :: ")[2] for each in metadata.get_all("Classifier") or () if each.startswith("License :: OSI")
    ]
    stated = metadata.get("License-Expression") or ", ".join(classifiers) or (metadata.get("License") or "").strip()
    if stated:
        return stated.splitlines()[0][:60]
    for file in package.files or ():
        if re.match("licen[cs]e|copying", file.name, re.IGNORECASE):
            text = " ".join(file.read_text().split())
            return "MIT, by its text" if MIT_TEXT in text else text[:60]
    return "not stated"


def is_permissive(licence: str) -> bool:
    return bool(PERMISSIVE.search(licence)) and not COPYLEFT.search(licence)


def main() -> int:
    """Print the packages by name; those to look at are marked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="with all extras that are installed here")
    chosen = parser.parse_args()
    provided = distribution("rankscope").metadata.get_all("Provides-Extra") or []
    extras = frozenset(provided if chosen.all else ())
    packages = {canonicalize_name(each.name): each for each in packages_needed("rankscope", extras, set())}
    doubtful = 0
    for name in sorted(packages):
        licence = licence_of(packages[name])
        why = LOOKED_AT.get(name)
        is_fine = is_permissive(licence) or why is not None
        mark = f"  ({why})" if why else "" if is_fine else "  <- look at this one"
        doubtful += not is_fine
        print(f"{name:32} {packages[name].version:14} {licence}{mark}", flush=True)
    print(f"{len(packages)} packages, {doubtful} to look at", file=sys.stderr)
    return 1 if doubtful else 0


if __name__ == "__main__":
    sys.exit(main())
