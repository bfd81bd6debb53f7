"""Baselines: runs in a folder that is committed, with all that tells whether they are whole and still comparable.

`manifest.json` names the other files with their hashes; these have a part of the hash in their names. So a new baseline
is written beside the old one, the manifest that takes the place of the old one makes it count, and whatever happens in
between, the folder holds one of the two, complete.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import field

from rankscope._version import __version__
from rankscope.comparison.gate import BaselineReference
from rankscope.data.run import Run
from rankscope.data.texts import one_line
from rankscope.errors import InputError, RankscopeError
from rankscope.experiment.collection import CollectionPart
from rankscope.experiment.fingerprint import digest_of
from rankscope.experiment.run_files import LIBRARIES, ProjectRunSource, file_name, fits_trec
from rankscope.io.compression import compressed
from rankscope.io.files import read_text, write_text
from rankscope.io.formats import FORMATS
from rankscope.io.limits import cannot_write
from rankscope.io.rows import RunRows
from rankscope.io.write import check_rows, open_target
from rankscope.measures.parse import parse_measure
from rankscope.printable import counted
from rankscope.records import Record, StoredRecord, from_json
from rankscope.systems.options import versions_of

MANIFEST = "manifest.json"
VERSION = 1
_MARK = b'"rankscope_baseline"'
_HASH_DIGITS = 12
_OURS = re.compile(rf"[\w+-]+\.[0-9a-f]{{{_HASH_DIGITS}}}\.(trec\.gz|jsonl\.gz|queries\.jsonl|latency\.json)")
_LFS = b"version https://git-lfs.github.com/spec/"
SHOWN_QUERIES = 3


class MeasureDefinition(Record):
    """What decides: the measure with the version of its definition, and how rankings are scored."""

    name: str
    version: int
    policies: dict[str, Any]
    profile: str | None = None

    @classmethod
    def of(cls, name: str, policies: Mapping[str, Any], profile: str | None) -> MeasureDefinition:
        return cls(name, parse_measure(name).spec.version, dict(policies), profile)


class RankingFile(Record):
    """The file of a run."""

    file: str
    bytes: int
    sha256: str
    """Digest of the file."""


class ContentFile(Record):
    """A file of rows: how many there are, and the hash of what they say, however lines end."""

    file: str
    n: int
    sha256: str


class BaselineRun(Record):
    """One run of a baseline."""

    system: str
    ranking: RankingFile
    mean: float | None
    """The mean of the measure that decides, under the judgments of that time."""
    latency: ContentFile | None = None
    """How long single queries took, in milliseconds; null where that is not known."""
    fingerprint: str = ""
    """Stands for the system, its options, the docs and queries; empty where that is not known."""
    further: tuple[RankingFile, ...] = ()
    """The runs of further repetitions, where the system was asked several times."""


class BaselineCollection(Record):
    """The runs of one collection, and what they were asked and judged by."""

    name: str
    queries: ContentFile
    qrels: CollectionPart
    runs: tuple[BaselineRun, ...]
    docs: CollectionPart | None = None


class BaselineManifest(StoredRecord):
    """What a baseline holds, as manifest.json says it."""

    rankscope_baseline: int
    """The version of the format."""
    rankscope: str
    """The version that saved it."""
    created: str
    measure: MeasureDefinition
    margin: float | None
    """The smallest difference that matters, where it was given."""
    collections: tuple[BaselineCollection, ...]
    versions: dict[str, str] = field(default_factory=dict)
    """Of Python and the libraries that rank and score."""
    machine: str = ""
    """The kind of machine: latencies of another one say little."""


# What is to be saved, and what is read back


class KeptRun(Record, eq=False):
    """A run to compare with, and what is known of it; None where nobody wrote it down."""

    system: str
    run: Run
    queries: Mapping[str, str] | None = None
    """What was asked, by query; a text that is not known is empty."""
    qrels: CollectionPart | None = None
    docs: CollectionPart | None = None
    mean: float | None = None
    latencies: Mapping[str, float] | None = None
    """Milliseconds by query."""
    fingerprint: str = ""
    further: tuple[Run, ...] = ()
    """The runs of further repetitions: scores are means over all of them."""


class KeptBaseline(Record, eq=False):
    """Runs to compare with, by collection and system; a single run belongs to any collection, called nothing."""

    reference: BaselineReference
    runs: Mapping[str, Mapping[str, KeptRun]]
    measure: MeasureDefinition | None = None
    margin: float | None = None
    machine: str = ""
    has_margin: bool = True
    """Whether the margin is known that it was saved with."""

    def of_collection(self, name: str) -> Mapping[str, KeptRun]:
        return self.runs.get(name) or self.runs.get("") or {}


def machine_words() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def save_baseline(
    folder: Path, runs: Mapping[str, Iterable[KeptRun]], measure: MeasureDefinition, *, margin: float | None
) -> BaselineManifest:
    """Write the runs of each collection into a folder, which may hold an earlier baseline but nothing else of others.

    The runs of a collection were asked the same queries and judged by the same qrels.
    """
    check_target(folder)
    collections = tuple(write_collection(folder, name, list(kept)) for name, kept in runs.items())
    libraries = {name: version for name, version in versions_of(*LIBRARIES).items() if version[0].isdigit()}
    manifest = BaselineManifest(
        VERSION,
        __version__,
        datetime.now(UTC).isoformat(timespec="seconds"),
        measure,
        margin,
        collections,
        {"python": platform.python_version(), **libraries},
        machine_words(),
    )
    write_text(folder / MANIFEST, manifest.to_json())
    for path in set(folder.iterdir()) - {folder / name for name in files_of(manifest)}:
        if _OURS.fullmatch(path.name):
            path.unlink(missing_ok=True)
    return manifest


def check_target(folder: Path) -> None:
    """Make the folder, or refuse one that holds something else than a baseline."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in folder.iterdir()}
        is_ours = (folder / MANIFEST).is_file() and _MARK in regular_file(folder / MANIFEST).read_bytes()
    except FileExistsError:
        raise InputError(f"{folder} is a file", hint="name a folder") from None
    except OSError as error:
        raise cannot_write(str(folder), error) from error
    if MANIFEST in names and not is_ours:
        raise InputError(f"{folder / MANIFEST} is not that of a baseline", hint="name a new or empty folder")
    strangers = sorted(name for name in names if name != MANIFEST and not _OURS.fullmatch(name))
    if strangers and not is_ours:
        raise InputError(f"{folder} holds {strangers[0]}, but no baseline", hint="name a new or empty folder")


def files_of(manifest: BaselineManifest) -> Iterable[str]:
    yield MANIFEST
    for collection in manifest.collections:
        yield collection.queries.file
        for run in collection.runs:
            yield from (each.file for each in (run.ranking, *run.further))
            if run.latency is not None:
                yield run.latency.file


def write_collection(folder: Path, name: str, kept: list[KeptRun]) -> BaselineCollection:
    first = kept[0]
    for one in kept:
        if (one.queries or {}).keys() != (first.queries or {}).keys():
            raise InputError(
                f"{first.system} and {one.system} were not asked the same queries",
                hint="run both again, or save one of them: --system NAME",
            )
    queries = [[query, text] for query, text in sorted((first.queries or {}).items())]
    digest = digest_of(queries)
    queries_file = f"{file_name(name)}.{digest[:_HASH_DIGITS]}.queries.jsonl"
    lines = (json.dumps({"_id": query, "text": text}) + "\n" for query, text in queries)
    write_text(folder / queries_file, "".join(lines))
    return BaselineCollection(
        name,
        ContentFile(queries_file, len(queries), digest),
        first.qrels or CollectionPart(0, ""),
        tuple(write_kept(folder, one) for one in kept),
        first.docs,
    )


def write_kept(folder: Path, kept: KeptRun) -> BaselineRun:
    stem = file_name(kept.system)
    first, *further = (write_ranking(folder, stem, run) for run in (kept.run, *kept.further))
    latency = None
    if kept.latencies:
        times = dict(sorted(kept.latencies.items()))
        digest = digest_of([query, ms] for query, ms in times.items())
        latency = ContentFile(f"{stem}.{digest[:_HASH_DIGITS]}.latency.json", len(times), digest)
        write_text(folder / latency.file, json.dumps({"unit": "ms", "queries": times}, indent=0) + "\n")
    return BaselineRun(kept.system, first, kept.mean, latency, kept.fingerprint, tuple(further))


def write_ranking(folder: Path, stem: str, run: Run) -> RankingFile:
    content, ending = stored_rows(run.rows)
    sha256 = hashlib.sha256(content).hexdigest()
    name = f"{stem}.{sha256[:_HASH_DIGITS]}.{ending}"
    with open_target(str(folder / name)) as stream:
        stream.write(content)
    return RankingFile(name, len(content), sha256)


def stored_rows(rows: RunRows) -> tuple[bytes, str]:
    """Return a run as the bytes of a compressed file, and how such a file ends: TREC text where its ids fit there."""
    check_rows(rows)
    form, ending = ("trec", "trec.gz") if fits_trec(rows) else ("jsonl", "jsonl.gz")
    buffer, write = io.BytesIO(), FORMATS[form].write
    if write is None:
        raise InputError(f"{form} cannot be written")
    with compressed(buffer, "gz") as stream:
        write(rows, stream)
    return buffer.getvalue(), ending


# Reading


def load_baseline(folder: str | Path) -> KeptBaseline:
    """Return a baseline that was saved; one that is damaged, or not what was saved, is refused with the reason."""
    folder = Path(folder)
    manifest = read_manifest(folder)
    runs = {
        collection.name: {
            run.system: KeptRun(
                run.system,
                ranking_of(folder, run.system, run.ranking),
                read_queries(folder, collection.queries),
                collection.qrels,
                collection.docs,
                run.mean,
                None if run.latency is None else read_latencies(folder, run.latency),
                run.fingerprint,
                tuple(ranking_of(folder, run.system, each) for each in run.further),
            )
            for run in collection.runs
        }
        for collection in manifest.collections
    }
    reference = BaselineReference(str(folder), manifest.created)
    return KeptBaseline(reference, runs, manifest.measure, manifest.margin, manifest.machine)


def restore_hint(folder: Path) -> str:
    return f"restore it as it was committed (git checkout -- {folder}), or save it again: rankscope baseline save"


def read_manifest(folder: Path) -> BaselineManifest:
    path = folder / MANIFEST
    if not path.is_file():
        what = f"{folder} holds no {MANIFEST}" if folder.is_dir() else f"there is no folder {folder}"
        raise InputError(f"{what}, so there is no baseline", hint=f"rankscope baseline save -o {folder} makes one")
    text = read_text(regular_file(path))
    try:
        manifest = from_json(BaselineManifest, text, where=str(path))
    except RankscopeError as error:
        raise InputError(f"the baseline is damaged: {error.message}", hint=restore_hint(folder)) from None
    if manifest.rankscope_baseline > VERSION:
        raise InputError(
            f"{path} was saved by Rankscope {manifest.rankscope}, in a format that {__version__} does not know",
            hint="install that version or a later one, or save the baseline again",
        )
    for name in files_of(manifest):
        if Path(name).name != name or name in ("", ".", ".."):
            raise InputError(f"the baseline is damaged: {path} names {name!r}, which is no file of the folder")
    listed = [(collection.name, run.system) for collection in manifest.collections for run in collection.runs]
    twice = next((each for each in listed if listed.count(each) > 1), None)
    if twice is not None:
        message = f"the baseline is damaged: {path} lists {twice[1]} on {twice[0]} twice"
        raise InputError(message, hint=restore_hint(folder))
    if not any(collection.runs for collection in manifest.collections):
        raise InputError(f"the baseline is damaged: {path} names no run", hint=restore_hint(folder))
    return manifest


def ranking_of(folder: Path, system: str, stored: RankingFile) -> Run:
    """Return a run of a baseline, once its file is known to be the one that was saved."""
    path = folder / stored.file
    content = read_bytes(path)
    if hashlib.sha256(content).hexdigest() != stored.sha256:
        if content.startswith(_LFS):
            raise InputError(f"{path} is only a pointer of Git LFS to the run", hint="git lfs pull brings the file")
        how = f"it has {len(content):,} bytes, not the {stored.bytes:,} that were saved"
        if len(content) == stored.bytes:
            how = "it has as many bytes as were saved, but others"
        elif len(content) < stored.bytes:
            how = f"it is truncated: {len(content):,} of {stored.bytes:,} bytes are left"
        raise InputError(f"{path} is not the run that was saved: {how}", hint=restore_hint(folder))
    return Run(ProjectRunSource(path, shown=path.as_posix()), name=system)


def regular_file(path: Path) -> Path:
    """Return the path of a file of a baseline; a link that leads out of the folder, or a device, is refused."""
    if path.exists() and not path.resolve().is_relative_to(path.parent.resolve()):
        what = f"{path} is a link that leads out of its folder"
    elif path.exists() and not path.is_file():
        what = f"{path} is no regular file"
    else:
        return path
    raise InputError(f"the baseline is damaged: {what}", hint=restore_hint(path.parent))


def read_bytes(path: Path) -> bytes:
    try:
        return regular_file(path).read_bytes()
    except FileNotFoundError:
        message = f"the baseline is damaged: {path} is missing"
        raise InputError(message, hint=f"{restore_hint(path.parent)}; is the file ignored by git?") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint=restore_hint(path.parent)) from error


def read_queries(folder: Path, stored: ContentFile) -> dict[str, str]:
    path = folder / stored.file
    content = read_bytes(path)
    try:
        rows = [json.loads(line) for line in content.decode("utf-8").splitlines() if line.strip()]
        found = [[row["_id"], row["text"]] for row in rows]
    except (ValueError, TypeError, KeyError):
        found = []
    check_content(path, found, stored)
    return dict(found)


def read_latencies(folder: Path, stored: ContentFile) -> dict[str, float]:
    path = folder / stored.file
    content = read_bytes(path)
    try:
        found = [[query, ms] for query, ms in json.loads(content)["queries"].items()]
    except (ValueError, TypeError, KeyError, AttributeError):
        found = []
    check_content(path, found, stored)
    return dict(found)


def check_content(path: Path, rows: list[list[Any]], stored: ContentFile) -> None:
    if digest_of(rows) != stored.sha256:
        how = (
            f"{counted(len(rows), 'query')} can be read, {stored.n:,} were saved"
            if len(rows) != stored.n
            else "changed"
        )
        raise InputError(f"{path} is not the file that was saved: {how}", hint=restore_hint(path.parent))


# What has changed since


class QueryDifferences(Record):
    """How the queries of today differ from those of a baseline."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    reworded: tuple[str, ...]
    shared: tuple[str, ...]
    """Those that are the same in both."""
    example: str = ""

    @property
    def any(self) -> bool:
        return bool(self.added or self.removed or self.reworded)

    @property
    def words(self) -> str:
        parts = []
        for names, what in ((self.added, "new"), (self.removed, "gone"), (self.reworded, "worded otherwise")):
            if names:
                listed = ", ".join(names[:SHOWN_QUERIES]) + (", …" if len(names) > SHOWN_QUERIES else "")
                verb = "is" if len(names) == 1 else "are"
                parts.append(f"{counted(len(names), 'query')} {verb} {what} ({listed})")
        return ", ".join(parts) + (f"; {self.example}" if self.example else "")


def query_differences(saved: Mapping[str, str], now: Mapping[str, str]) -> QueryDifferences:
    """Compare what was asked then with what is asked now; a text that is known on one side only says nothing."""
    both = [query for query in now if query in saved]
    reworded = [
        query for query in both if saved[query] and now[query] and one_line(saved[query]) != one_line(now[query])
    ]
    example = ""
    if reworded:
        first = reworded[0]
        example = f"{first} was “{one_line(saved[first])}”, and is “{one_line(now[first])}”"
    return QueryDifferences(
        tuple(query for query in now if query not in saved),
        tuple(query for query in saved if query not in now),
        tuple(reworded),
        tuple(query for query in both if query not in set(reworded)),
        example,
    )
