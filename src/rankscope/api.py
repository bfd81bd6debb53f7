"""The public functions: they join the readers, the alignment and the measures."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rankscope.core.align import align
from rankscope.core.coerce import qrels_rows
from rankscope.core.ids import as_id
from rankscope.core.kernel import index_qrels_dict, index_qrels_text, n_cores
from rankscope.core.policies import Policies
from rankscope.core.qrels import IndexedQrels, Qrels
from rankscope.core.rows import QrelsRows, RunRows
from rankscope.core.run import Origin, Run
from rankscope.core.scores import QrelsInfo, RunScores, Scores
from rankscope.core.top import top_docs
from rankscope.errors import BadLine, InputError, MeasureError, OptionError, RankscopeWarning
from rankscope.io.text import TrecText as TrecFile
from rankscope.io.text import bad_run_lines, trec_text
from rankscope.measures.evaluate import DEFAULT_MEASURES, check_grades, depth_needed, scores_of
from rankscope.measures.extras import Extras, Need, check_needs
from rankscope.measures.parse import parse_measures
from rankscope.measures.profiles import VERSIONS, Profile, find_profile
from rankscope.measures.spec import Measure

if TYPE_CHECKING:
    from rankscope.measures.diagnose import Diagnosis  # loaded when it is used

if TYPE_CHECKING:
    from rankscope.io import ReadFile
    from rankscope.measures.explain import Explanation
    from rankscope.measures.robustness import Robustness

Progress = Callable[[int, int], None]
SEEN_DOCS = 10
"""How many docs a reader is taken to see, where a diagnosis is not told otherwise."""
POOL_CUTS = (10, 50, 100, 1000)
"""The depths of the candidate pool that a diagnosis looks at."""
_DATA_SUFFIXES = {
    ".gz", ".bz2", ".xz", ".zst", ".run", ".trec", ".txt", ".res", ".json", ".jsonl", ".csv", ".tsv", ".parquet",
    ".arrow", ".feather", ".ipc",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How files are read: their format where it is not to be detected, their columns, and what a bad line does."""

    format: str | None = None
    columns: Mapping[str, str] | None = None
    lenient: bool = False
    progress: Progress | None = None


@dataclass(eq=False)
class FileSource:
    """A run file that is read when it is first needed: as bytes by the kernel, or row by row."""

    path: str
    options: ReadOptions = field(default_factory=ReadOptions)
    _tag: str | None = None

    @cached_property
    def text(self) -> TrecFile | None:
        """The file as TREC text, where that is its format."""
        return trec_text(self.path, "run", format_name=self.options.format, columns=self.options.columns)

    @cached_property
    def file(self) -> ReadFile[RunRows]:
        """What reading the file row by row gave."""
        from rankscope.io import read_run

        options = self.options
        file = read_run(
            self.path,
            format=options.format,
            columns=options.columns,
            lenient=options.lenient,
            progress=options.progress,
        )
        warn_of_skipped(file.path, file.bad_lines)
        return file

    def read(self) -> RunRows:
        """Return all rows."""
        return self.file.rows

    def trec_text(self) -> Any | None:
        """Return TREC text for the kernel, as bytes or bit by bit, or None where the file is in another format."""
        if self.text is None:
            return None
        return self.text.data() if self.text.compression is None else self.text.chunks(self.options.progress)

    def accept(self, bad_lines: Sequence[tuple[int, bytes]], *, n_rows: int, tag: str | None) -> None:
        """Take what the kernel says of the file; raise where it has malformed lines or no rows."""
        bad = bad_run_lines(self.path, bad_lines, n_good=n_rows, lenient=self.options.lenient)
        if not n_rows:
            self.read()  # it has the words for a file without rows
        warn_of_skipped(self.path, bad)
        self._tag = tag

    @property
    def tag(self) -> str | None:
        """The tag of the last row."""
        return self._tag if self.text is not None and self._tag is not None else self.read().tag

    @property
    def integer_ids(self) -> frozenset[str]:
        """Which ids were whole numbers; in text none are."""
        return frozenset() if self.text is not None else self.read().integer_ids

    @property
    def origin(self) -> Origin:
        """The file, its format and its content hash."""
        if self.text is not None:
            return Origin(self.text.name, "trec", self.text.sha256)
        return Origin(self.file.path, self.file.format, lambda: self.file.sha256)


def load_run(data: Any, *, name: str | None = None, options: ReadOptions | None = None) -> Run:
    """Return a run from a path or from any of the shapes `Run` takes; a file is read when first needed."""
    if isinstance(data, Run):
        return data
    if isinstance(data, str | os.PathLike):
        path = os.fspath(data)
        return Run(FileSource(path, options or ReadOptions()), name=name or name_of(path))
    if isinstance(data, Mapping) and data and all(isinstance(docs, Mapping) for docs in data.values()):
        return Run.wrap(data, name=name)
    return Run.wrap(data, name=name) if hasattr(data, "__arrow_c_stream__") else Run(data, name=name)


def load_qrels(data: Any, *, duplicates: str = "error", options: ReadOptions | None = None) -> Qrels:
    """Return qrels from a path or from any of the shapes `Qrels` takes."""
    if isinstance(data, Qrels):
        return data
    if isinstance(data, str | os.PathLike):
        rows, origin = read_qrels_file(data, options or ReadOptions())
        return Qrels(rows, duplicates=duplicates, origin=origin)
    return Qrels(indexed(data), duplicates=duplicates)


def indexed(data: Any) -> Any:
    """Let the kernel read a dict of dicts, where it can."""
    if type(data) is not dict or not all(type(docs) is dict and docs for docs in data.values()):
        return data
    own = {query: dict(docs) for query, docs in data.items()}
    index = index_qrels_dict(own) if own else None
    return data if index is None else IndexedQrels(index, lambda: qrels_rows(own))


def read_qrels_file(path: str | os.PathLike[str], options: ReadOptions) -> tuple[Any, Origin]:
    """Return qrels from a file, read by the kernel where that can be, and where they come from."""
    text = trec_text(path, "qrels", format_name=options.format, columns=options.columns)
    if text is not None:
        index = index_qrels_text(text.data())
        if index is not None:
            origin = Origin(text.name, "trec", text.sha256)
            return IndexedQrels(index, lambda: read_rows(path, ReadOptions(format="trec")).rows), origin
    file = read_rows(path, options)
    warn_of_skipped(file.path, file.bad_lines)
    return file.rows, Origin(file.path, file.format, lambda: file.sha256)


def read_rows(path: str | os.PathLike[str], options: ReadOptions) -> ReadFile[QrelsRows]:
    """Return the rows of a qrels file, whatever its format."""
    from rankscope.io import read_qrels

    return read_qrels(
        path, format=options.format, columns=options.columns, lenient=options.lenient, progress=options.progress
    )


def evaluate(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    profile: str | None = None,
    options: ReadOptions | None = None,
    qrels_options: ReadOptions | None = None,
    threads: int | None = None,
    embeddings: Any = None,
    docs: Any = None,
    ontology: Any = None,
    **policies: Any,
) -> Scores:
    """Score one or more runs against qrels.

    `qrels` and each run may be a path, a dict of dicts, a table, or an iterable of rows; `runs` is one run, a list
    of them, or {name: run}. `policies` are `ties`, `precision`, `duplicates`, `missing`, `depth`, `judged_only`,
    `min_rel`, `no_relevant` and `self_match`; `profile` sets those of another tool. `options` say how run files are
    read, `qrels_options` how the qrels are. `threads` is the number of threads, by default one per core; it changes
    nothing but the time.

    `embeddings` ({doc: vector} or a file), `docs` (fields of docs, by id) and `ontology` are for measures that look at
    the docs themselves.
    """
    chosen = find_profile(profile) if profile else None
    decided = decide_policies(chosen, policies)
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=qrels_options)
    wanted = decide_measures(chosen, measures)
    check_grades(judged, wanted, decided)
    side = load_side_data(embeddings=embeddings, docs=docs, ontology=ontology)
    for measure in wanted:
        check_needs(measure.name, measure.spec.needs, qrels=judged, given=side)
    loaded = load_runs(runs, options=options)
    scored = score_all(judged, loaded, wanted, decided, side=side, threads=threads)
    for run, (scores, lacking) in zip(loaded, scored, strict=True):
        for note in (
            *id_notes(judged, run),
            *missing_notes(scores.name, scores.counts.missing, len(judged), decided),
            *lacking,
        ):
            warnings.warn(note, RankscopeWarning, stacklevel=2)
    return Scores(
        tuple(scores for scores, _ in scored), qrels=info_of(judged), policies=decided.as_dict(), profile=profile
    )


def load_side_data(*, embeddings: Any, docs: Any, ontology: Any) -> dict[Need, Any]:
    """Load what measures may need beyond qrels and runs; each reader only where it has something to read."""
    side: dict[Need, Any] = {}
    if embeddings is not None:
        from rankscope.io.embeddings import load_embeddings

        side[Need.EMBEDDINGS] = load_embeddings(embeddings)
    if docs is not None:
        from rankscope.io.docs import load_docs

        side[Need.DOCS] = load_docs(docs)
    if ontology is not None:
        from rankscope.io.ontology import load_ontology

        side[Need.ONTOLOGY] = load_ontology(ontology)
    return side


def score_all(
    qrels: Qrels,
    runs: Sequence[Run],
    measures: Sequence[Measure],
    policies: Policies,
    *,
    side: Mapping[Need, Any],
    threads: int | None,
) -> tuple[tuple[RunScores, tuple[str, ...]], ...]:
    """Score every run, several at a time; each comes with what must be said of data that its docs lack."""
    n_threads = threads or n_cores()
    looks_at_docs = any(measure.spec.needs for measure in measures)

    def score(run: Run, per_run: int) -> tuple[RunScores, tuple[str, ...]]:
        hits = align(qrels, run, policies, threads=per_run)
        if not looks_at_docs:
            return scores_of(hits, run, measures, policies), ()
        depth = None if policies.judged_only else depth_needed(measures)
        top = top_docs(run, hits.query_ids, policies, depth=depth)
        extras = Extras(qrels, top, **{str(need): data for need, data in side.items()})
        if policies.judged_only:
            extras = extras.judged_only()
        lacking = tuple(lacking_notes(run.name or "run", measures, extras))
        return scores_of(hits, run, measures, policies, extras), lacking

    n_at_once = min(len(runs), n_threads)
    if n_at_once == 1:
        return tuple(score(run, n_threads) for run in runs)
    from concurrent.futures import ThreadPoolExecutor  # not needed for a single run

    with ThreadPoolExecutor(n_at_once) as pool:
        return tuple(pool.map(score, runs, itertools.repeat(max(1, n_threads // n_at_once))))


def info_of(qrels: Qrels) -> QrelsInfo:
    """Return which qrels these are."""
    return QrelsInfo(len(qrels), qrels.origin)


def explain(
    qrels: Any,
    run: Any,
    query: Any,
    measure: str | Measure,
    *,
    profile: str | None = None,
    options: ReadOptions | None = None,
    qrels_options: ReadOptions | None = None,
    embeddings: Any = None,
    docs: Any = None,
    ontology: Any = None,
    **policies: Any,
) -> Explanation:
    """Return the arithmetic of one query's score, rank by rank; the arguments are those of `evaluate`."""
    from rankscope.measures.explain import explain as explain_score

    chosen = find_profile(profile) if profile else None
    decided = decide_policies(chosen, policies)
    wanted = decide_measures(chosen, measure)
    if len(wanted) != 1:
        raise MeasureError(f"one measure can be explained at a time, not {len(wanted)}", hint="for example nDCG@10")
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=qrels_options)
    side = load_side_data(embeddings=embeddings, docs=docs, ontology=ontology)
    check_needs(wanted[0].name, wanted[0].spec.needs, qrels=judged, given=side)
    loaded = load_run(run, options=options)
    return explain_score(judged, loaded, as_id(query), wanted[0], decided, side=side)


def diagnose(
    qrels: Any,
    run: Any,
    *,
    k: int = SEEN_DOCS,
    pool_cuts: Sequence[int] = POOL_CUTS,
    profile: str | None = None,
    options: ReadOptions | None = None,
    qrels_options: ReadOptions | None = None,
    **policies: Any,
) -> Diagnosis:
    """Explain a run in plain words: what it does badly, for which queries, and what usually helps.

    `k` is how many docs a reader sees, `pool_cuts` are depths of the candidate pool; the other arguments are those of
    `evaluate`.
    """
    from rankscope.measures.diagnose import check_cuts  # nothing else needs it
    from rankscope.measures.diagnose import diagnose as diagnose_run

    check_cuts([k, *pool_cuts])
    chosen = find_profile(profile) if profile else None
    decided = decide_policies(chosen, policies)
    measure = decide_measures(chosen, f"nDCG@{k}")[0]
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=qrels_options)
    loaded = load_run(run, options=options)
    diagnosis = diagnose_run(judged, loaded, measure, decided, pool_cuts=pool_cuts)
    for note in id_notes(judged, loaded):
        warnings.warn(note, RankscopeWarning, stacklevel=2)
    return diagnosis


def trec_eval_text(
    qrels: Any,
    run: Any,
    measures: Sequence[str] = ("official",),
    *,
    profile: str = "trec_eval-10",
    per_query: bool = False,
    complete: bool = False,
    options: ReadOptions | None = None,
    **policies: Any,
) -> str:
    """Return exactly the text that trec_eval prints for one run.

    `complete` is its -c: queries that the run does not answer count as 0.
    """
    from rankscope.measures.trec_text import TrecText

    if profile not in VERSIONS:
        raise OptionError(f"profile {profile!r} is not one of {', '.join(VERSIONS)}")
    if complete:
        policies["missing"] = "zero"
    decided = decide_policies(find_profile(profile), policies)
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=options)
    judged.require_whole_grades("trec_eval")
    loaded = load_run(run, options=options)
    text = TrecText(measures, VERSIONS[profile], per_query=per_query, complete=complete, policies=decided)
    hits = align(judged, loaded, decided)
    for note in missing_notes(loaded.name or "run", hits.n_missing, len(judged), decided):
        warnings.warn(note, RankscopeWarning, stacklevel=2)
    tag = loaded.tag or loaded.name or "rankscope"
    return "".join(f"{line}\n" for line in text.lines(hits, tag=tag))


def robustness(
    scores: Scores, measure: str, *, baseline: str | None = None, alpha: float = 1.0
) -> dict[str, Robustness]:
    """Return how evenly each run serves its queries by one measure, and how much it risks against a baseline run.

    `alpha` says how much more a loss against the baseline counts than a gain.
    """
    from rankscope.measures.robustness import robustness as robustness_of

    reference = None if baseline is None else scores[baseline].column(measure)
    return {
        name: robustness_of(run.column(measure), baseline=None if name == baseline else reference, alpha=alpha)
        for name, run in scores.items()
    }


def decide_policies(profile: Profile | None, given: Mapping[str, Any]) -> Policies:
    """Return the policies of the profile, with those given by the caller on top."""
    known = {field.name for field in dataclasses.fields(Policies)}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TypeError(f"evaluate() got an unexpected keyword argument {unknown[0]!r}")
    chosen = {name: value for name, value in given.items() if value is not None}
    return Policies(**{**(profile.policies if profile else {}), **chosen})


def decide_measures(profile: Profile | None, given: Any) -> tuple[Measure, ...]:
    """Return the measures asked for, or the usual ones, as the profile computes them."""
    if given is None or given == []:
        given = profile.measures if profile and profile.measures else DEFAULT_MEASURES
    measures = parse_measures(given)
    return profile.adapt(measures) if profile else measures


def load_runs(runs: Any, *, options: ReadOptions | None = None) -> list[Run]:
    """Return runs with distinct names from one run, several, or several by name."""
    if isinstance(runs, Mapping) and holds_runs(runs):
        return [named(load_run(run, name=str(name), options=options), str(name)) for name, run in runs.items()]
    if isinstance(runs, list | tuple) and runs and all(map(is_whole_run, runs)):
        return with_distinct_names([load_run(run, options=options) for run in runs])
    return [load_run(runs, options=options)]


def is_whole_run(data: Any) -> bool:
    """Tell a run that is an entry of a list from a row."""
    if isinstance(data, Mapping):
        return bool(data) and all(isinstance(docs, Mapping | list) for docs in data.values())
    return isinstance(data, str | os.PathLike | Run) or hasattr(data, "__arrow_c_stream__")


def named(run: Run, name: str) -> Run:
    """Return the run under a name of the caller's choice."""
    if run.name != name:
        run = run.renamed(name)
    return run


def holds_runs(data: Mapping[Any, Any]) -> bool:
    """Tell {name: run} from a single run that is given as {query: docs}."""
    if not data:
        raise InputError("no run is given", hint="give a path, {query: {doc: score}}, or {name: run}")
    sample = next(iter(data.values()))
    if isinstance(sample, Mapping):
        inner = next(iter(sample.values()), 0.0)
        return isinstance(inner, Sized) and not isinstance(inner, str | bytes)
    if isinstance(sample, list | tuple):
        entry = next(iter(sample), "")
        return isinstance(entry, Mapping) or (isinstance(entry, tuple | list) and len(entry) > 2)  # noqa: PLR2004
    return not hasattr(sample, "dtype")  # arrays are the columns of one run


def with_distinct_names(runs: list[Run]) -> list[Run]:
    """Give runs whose file names are the same their whole path as name, then a number."""
    names = [run.name or "run" for run in runs]
    if len(set(names)) < len(names):
        names = [
            run.source.path if isinstance(run.source, FileSource) else name
            for run, name in zip(runs, names, strict=True)
        ]
    taken: dict[str, int] = {}
    distinct = []
    for run, name in zip(runs, names, strict=True):
        taken[name] = taken.get(name, 0) + 1
        distinct.append(named(run, name if taken[name] == 1 else f"{name} ({taken[name]})"))
    return distinct


def name_of(path: str) -> str:
    """Return a run's name from its file's: the last part, without the suffixes of data files."""
    name = os.path.basename(path.rstrip("/"))  # noqa: PTH119 (pathlib takes longer to load than a small evaluation)
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 (as above)
    while suffix.lower() in _DATA_SUFFIXES:
        name = stem
        stem, suffix = os.path.splitext(name)  # noqa: PTH122 (as above)
    return "stdin" if path == "-" else name


def warn_of_skipped(path: str, bad_lines: Sequence[BadLine]) -> None:
    """Say how many lines were skipped, and show the first."""
    if bad_lines:
        message = f"{len(bad_lines)} bad lines of {path} were skipped; the first is {bad_lines[0]}"
        warnings.warn(message, RankscopeWarning, stacklevel=3)


def id_notes(qrels: Qrels, run: Run) -> Iterator[str]:
    """Say so where ids are whole numbers on one side and text on the other."""
    for kind in sorted(qrels.integer_ids ^ run.integer_ids):
        side, other = ("qrels", "run") if kind in qrels.integer_ids else ("run", "qrels")
        yield (
            f"{run.name or 'run'}: {kind} ids are whole numbers in the {side} and text in the {other}; "
            "they are matched as text, so 7 is '7'"
        )


def missing_notes(name: str, n_missing: int, n_queries: int, policies: Policies) -> Iterator[str]:
    """Say how many queries the run does not answer, and what that does to the mean."""
    if n_missing:
        effect = "they score 0 and count" if policies.missing == "zero" else "they are left out of the mean"
        yield f"{name} does not answer {n_missing} of {n_queries} queries: {effect}"


def lacking_notes(name: str, measures: Sequence[Measure], extras: Extras) -> Iterator[str]:
    """Say how many docs that a measure looks at have no vector, no value in a field, or are not among the docs."""
    said: set[str] = set()
    concerned = [measure for measure in measures if measure.spec.needs & {Need.EMBEDDINGS, Need.DOCS}]
    for measure in sorted(concerned, key=lambda measure: -(measure.options.get("k") or math.inf)):
        shown = dict.fromkeys(itertools.chain.from_iterable(extras.top.cut(measure.options.get("k"))))
        for what, known in data_used(measure, extras):
            lacking = [doc for doc in shown if doc not in known]
            if lacking and what not in said:
                few = ", ".join(lacking[:3]) + (", …" if len(lacking) > 3 else "")  # noqa: PLR2004 (as examples)
                yield (
                    f"{name}: {len(lacking)} of the {len(shown)} docs that {measure.name} looks at {what}: {few}; "
                    + (
                        "do the ids match?"
                        if len(lacking) == len(shown)
                        else f"see `rankscope measures {measure.base}`"
                    )
                )
            said.add(what)


def data_used(measure: Measure, extras: Extras) -> Iterator[tuple[str, Container[str]]]:
    """Yield what it means for a doc not to be in the data that a measure uses, and the docs that are."""
    if Need.EMBEDDINGS in measure.spec.needs:
        yield "have no vector", extras.embeddings.row_of
    if Need.DOCS in measure.spec.needs:
        given = measure.arguments(rel=1.0)
        fields = [given[name] for name in ("field", "date") if name in given]
        yield from ((f"have no {field}", extras.docs.field(field)) for field in fields)
        if not fields:
            yield "are not in the docs given", extras.docs.doc_ids


def _open_path(path: str | os.PathLike[str]) -> FileSource:
    return FileSource(os.fspath(path))


def _read_qrels_path(path: str | os.PathLike[str]) -> tuple[Any, Origin]:
    return read_qrels_file(path, ReadOptions())


# The core reads no files itself: this is where it learns how.
Run.open_path = staticmethod(_open_path)
Qrels.read_path = staticmethod(_read_qrels_path)
