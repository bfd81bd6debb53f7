"""Evaluate: decide measures and policies once, load, align, score."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.align.alignment import align
from rankscope.align.hits import Hits
from rankscope.align.matching import find_mismatch, find_swap, notes_or_raise, raise_or_warn
from rankscope.align.policies import CHOICES, Policies
from rankscope.arrays import read_only
from rankscope.checks import check_at_least, check_keywords, check_options, is_number, is_truth, is_whole
from rankscope.data.loading import ReadOptions, load_qrels, load_run, load_runs
from rankscope.data.qrels import Qrels, require_whole_grades
from rankscope.data.run import Run
from rankscope.errors import OptionError, did_you_mean, give_warning, with_caller
from rankscope.light import LightRecord, asdict, names_of, replace, types_of
from rankscope.measures.parse import parse_measures
from rankscope.measures.score_notes import id_notes, missing_notes, undefined_if_missing, undefined_notes
from rankscope.measures.scores import AGGREGATES, WEIGHTED, QrelsInfo, RunScores, Scores
from rankscope.measures.scoring import DEFAULT_MEASURES, check_grades, count, extras_for, scores_of
from rankscope.measures.spec import Measure
from rankscope.native import n_cores
from rankscope.printable import counted
from rankscope.progress import WatchJob

if TYPE_CHECKING:  # loaded when they are used
    from typing import Unpack

    from rankscope.measures.extras import Need
    from rankscope.measures.profiles import Profile
    from rankscope.typing import EvaluateOptions, MeasuresLike, PolicyOptions, QrelsLike, RunLike, RunsLike

_TEXT, _WHOLE, _NUMBER, _TRUTH = "a text", "a whole number", "a number", "true or false"
_TEXTS, _TABLE, _FILE = "a text or a list of texts", "a table", "the path of a file, or a table"
REQUEST_KEYS = {
    "measures": _TEXTS,
    "profile": _TEXT,
    **dict.fromkeys(CHOICES, _TEXT),
    "depth": _WHOLE,
    "judged_only": _TRUTH,
    "min_rel": _NUMBER,
    "options": _TABLE,
    "qrels_options": _TABLE,
    "threads": _WHOLE,
    "embeddings": _FILE,
    "docs": _FILE,
    "ontology": _FILE,
    "queries": _FILE,
    "weights": _TEXT,
    "unjudged_queries": _TEXT,
    "anyway": _TRUTH,
}
"""What a request may say where it is written as JSON or TOML, and what each value is."""
HOW_KEYS = ("memory", "on", "workers", "keep", "progress")
"""How it is worked on, which changes nothing of the scores."""
UNJUDGED_QUERIES = {
    "skip": "queries without any judgment are left out",
    "zero": "those that a run answers, or that are among the queries given, score 0 and count",
}
READ_AT_ONCE = 64 << 20
"""Files up to this size are read at once, without a look at the memory that is free."""
READ_TABLE_AT_ONCE = 1 << 20
"""The same of Parquet files, which may hold a row in half a byte."""
SCORE_BYTES = 9
"""What each score takes: a number, and whether it is defined."""
SMALL_SHARE = 8
"""Scores that take less than the memory divided by this are not what it is lacking for."""
READ_KEYS = {"format": _TEXT, "columns": _TABLE, "lenient": _TRUTH}


class EvaluateRequest(LightRecord, kw_only=True):
    """What is to be scored, and how: measures and policies are decided when it is made, and nowhere else."""

    measures: tuple[Measure, ...]
    policies: Policies = Policies()
    profile: str | None = None
    """The tool whose conventions measures and policies follow."""
    options: ReadOptions | None = None
    """How run files are read."""
    qrels_options: ReadOptions | None = None
    threads: int | None = None
    """None: one per core."""
    embeddings: Any = None
    docs: Any = None
    ontology: Any = None
    queries: Any = None
    weights: str | None = None
    """The column of the queries that says how much each counts in the means."""
    optional: tuple[Measure, ...] = ()
    """Measures of the profile that are added where the data that they need is given."""
    unjudged_queries: str = "skip"
    """What becomes of queries without any judgment, one of UNJUDGED_QUERIES."""
    anyway: bool = False
    """Whether ids that match nothing, and qrels and a run that look swapped, are only noted."""
    memory: str | int | None = None
    """How much memory may be taken: then run files are read in parts."""
    on: Any = None
    """Where the parts of runs are scored: an executor, a client or an address; None: in this process."""
    workers: int | None = None
    """How many processes of this machine score the parts of runs."""
    keep: Any = None
    """A folder for what has been scored, so that it need not be scored again after a crash."""
    progress: WatchJob | None = None

    def __post_init__(self) -> None:
        values = asdict(self)
        measures, progress = values.pop("measures"), values.pop("progress")
        del values["optional"]
        if not isinstance(measures, tuple) or not measures or not all(isinstance(each, Measure) for each in measures):
            raise OptionError(
                f"measures is {measures!r}, but it must be a tuple of measures",
                hint=f"EvaluateRequest.decide({measures!r}) takes names, too",
            )
        check_options(types_of(self), values)
        check_at_least(1, threads=self.threads, workers=self.workers)
        if self.keep is not None and not isinstance(self.keep, str | os.PathLike):
            raise OptionError(f"keep is {self.keep!r}, but it must be the path of a folder")
        if progress is not None and not callable(progress):
            hint = "for example progress=print, which is given a state"
            raise OptionError(f"progress is {progress!r}, but it must be a function", hint=hint)
        if self.unjudged_queries not in UNJUDGED_QUERIES:
            message = f"unjudged_queries = {self.unjudged_queries!r} is not one of {', '.join(UNJUDGED_QUERIES)}"
            raise OptionError(message, hint=did_you_mean(self.unjudged_queries, UNJUDGED_QUERIES))

    @classmethod
    def decide(
        cls, measures: MeasuresLike = None, *, caller: str = "evaluate", **options: Unpack[EvaluateOptions]
    ) -> EvaluateRequest:
        """Decide measures and policies from what the caller says and what the profile implies."""
        given: dict[str, Any] = {**options}
        policies = {name: given.pop(name) for name in names_of(Policies) if name in given}
        check_keywords(caller, given, (*REQUEST_KEYS, *HOW_KEYS))
        profile = chosen_profile(given.get("profile"))
        if profile is not None:
            given["unjudged_queries"] = given.get("unjudged_queries") or profile.unjudged_queries
            if measures is None and profile.measures_of_docs:
                given["optional"] = profile.adapt(parse_measures(profile.measures_of_docs))
        if given.get("unjudged_queries", "skip") is None:
            del given["unjudged_queries"]
        return cls(measures=decide_measures(profile, measures), policies=decide_policies(profile, policies), **given)

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any], *, where: str = "") -> EvaluateRequest:
        """Return the request that a table of JSON or TOML holds; what does not fit is an error that says where."""
        given = checked_keys(data, REQUEST_KEYS, where)
        for name in ("options", "qrels_options"):
            if given.get(name) is not None:
                given[name] = ReadOptions(**checked_keys(given[name], READ_KEYS, f"{where}: {name}" if where else name))
        return cls.decide(given.pop("measures", None), **given)

    def to_builtins(self) -> dict[str, Any]:
        """Return the request as `from_builtins` takes it; what is at its default is left out."""
        # where more measures may join them, the measures are the profile's own
        data: dict[str, Any] = {} if self.optional else {"measures": [measure.name for measure in self.measures]}
        for name, value in {**asdict(self), **asdict(self.policies)}.items():
            if name in ("options", "qrels_options") and value is not None:
                data[name] = {key: getattr(value, key) for key in READ_KEYS}
            elif name not in ("measures", "policies", "optional", *HOW_KEYS) and value not in (None, False):
                data[name] = value
        return data


def checked_keys(data: Mapping[str, Any], known: Mapping[str, str], where: str) -> dict[str, Any]:
    """Return the values that are known by these keys; an unknown key or a value of another type is an error."""
    before = f"{where}: " if where else ""
    if not isinstance(data, Mapping):
        raise OptionError(f"{before}{data!r} is not a table of options")
    for name, value in data.items():
        if name not in known:
            raise OptionError(f"{before}unknown key {name!r}", hint=did_you_mean(str(name), known))
        if value is not None and not has_type(value, known[name]):
            raise OptionError(f"{before}{name} is {value!r}, but it must be {known[name]}")
    return dict(data)


def has_type(value: Any, wanted: str) -> bool:
    """Tell whether a value from JSON or TOML is of the type that REQUEST_KEYS says in words."""
    if wanted == _TRUTH:
        return is_truth(value)
    if wanted in (_WHOLE, _NUMBER):
        return is_whole(value) if wanted == _WHOLE else is_number(value)
    if isinstance(value, str):
        return wanted in (_TEXT, _TEXTS, _FILE)
    if isinstance(value, Mapping):
        return wanted in (_TABLE, _FILE)
    return wanted == _TEXTS and isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def evaluate(
    qrels: QrelsLike, runs: RunsLike, measures: MeasuresLike = None, **options: Unpack[EvaluateOptions]
) -> Scores:
    """Score one or more runs against qrels.

    Parameters
    ----------
    qrels
        The judgments: a path, ``{query: {doc: grade}}``, a table (Polars, pandas, Arrow …) or rows.
    runs
        One run, a list of runs, or ``{name: run}``. A run is a path, ``{query: {doc: score}}``, ``{query: [doc, …]}``
        best first, a table or rows.
    measures
        Names such as ``"nDCG@10"``, values such as ``rs.nDCG @ 10``, or several of them. By default those of the
        profile, else nDCG@10, RR@10, AP, R@100, P@10 and Judged@10.
    profile : str, optional
        Follow the conventions of another tool, such as ``"trec_eval-9"`` or ``"beir"`` (`list_profiles` has them all).
    ties, precision, duplicates, self_match, missing, no_relevant, undefined, depth, judged_only, min_rel
        Policies, each of which overrides the profile; see `Policies`.
    options, qrels_options : ReadOptions, optional
        How run files, and the file of the qrels, are read.
    threads : int, optional
        The number of threads, by default one per core; it changes nothing but the time.
    embeddings, docs, ontology
        For measures that look at the docs themselves: ``{doc: vector}``, fields of docs by id, an ontology; or files.
    queries, weights
        `queries` (a file, a table, ``{query: text}`` or ``{query: {column: value}}``) says what was asked, which
        `scores.texts` keeps for tables and reports. `weights` names its column that says how much each query counts in
        the means, such as how often it is asked.
    unjudged_queries : {"skip", "zero"}, optional
        Whether queries without any judgment are left out (the default), or, where a run answers them or `queries` has
        them, score 0 and count.
    anyway : bool
        Only warn where not one doc of a run is judged for any query, or where qrels and run look swapped.
    memory : str or int, optional
        How much memory may be taken, such as ``"512MB"``: runs are then read in parts, and rows that are not grouped by
        query are regrouped on disk. Without it that is done where a file does not fit into half of the free memory.
    on, workers
        Where the parts of runs are scored: on a cluster (a Dask client, ``"dask://host:8786"``, an executor), or by so
        many processes of this machine. The scores are the same, to the last bit.
    keep : path, optional
        A folder in which what has been scored is kept: called again after a crash, only the rest is scored.
    progress : callable, optional
        Called with a `JobState` after each part: how many are scored, rows per second, seconds left. While a long file
        is decompressed or rows are regrouped, it is called in between, too.

    Returns
    -------
    Scores
        A score for every run, query and measure. Its `notes` are given as warnings, too.

    Raises
    ------
    InputError
        The data cannot be read, ids match nothing, or qrels and run look swapped.
    MeasureError
        A measure does not exist, or needs data that is not given.
    OptionError
        An option has a value that it cannot have.

    Examples
    --------
    >>> import rankscope as rs
    >>> qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
    >>> runs = {"bm25": {"q1": ["d2", "d1"], "q2": ["d3", "d1"]}, "dense": {"q1": ["d1"], "q2": ["d1", "d3"]}}
    >>> scores = rs.evaluate(qrels, runs, [rs.RR @ 10, "AP"])
    >>> scores
    run     RR@10      AP
    bm25   0.7500  0.7500
    dense  0.7500  0.7500
    >>> scores["bm25"]["q1", "AP"]
    0.5
    """
    scores = evaluate_request(EvaluateRequest.decide(measures, **options), qrels, runs)
    give_warning(*scores.notes)
    return scores


def evaluate_request(
    request: EvaluateRequest, qrels: QrelsLike, runs: RunsLike, *, align_run: Callable[..., Hits] = align
) -> Scores:
    """Return the scores that a request asks for; qrels and runs that are loaded already are taken as they are.

    Nothing is warned of: what must be said of the data is in the notes of the scores. `align_run` aligns one run; a
    caller that needs the hits, too, gives one that keeps them.
    """
    policies = request.policies
    judged = load_qrels(qrels, duplicates=policies.duplicates, options=request.qrels_options, threads=request.threads)
    loaded = [planned(run, request) for run in load_runs(runs, options=request.options)]
    judged, notes = queries_asked(judged, loaded)
    for run in loaded:
        notes += notes_or_raise(find_swap(judged, run, policies), anyway=request.anyway)
    if request.unjudged_queries == "zero":
        judged, unjudged_notes = add_unjudged_queries(judged, loaded, request.queries)
        notes += unjudged_notes
    side = load_side_data(embeddings=request.embeddings, docs=request.docs, ontology=request.ontology)
    measures = request.measures
    if request.optional:
        from rankscope.measures.extras import measures_with_data

        more, lacking_data = measures_with_data(request.optional, side)
        measures = tuple(dict.fromkeys((*measures, *more)))
        notes += (f"profile {request.profile}: {words}" for words in lacking_data)
    check_grades(judged, measures, policies)
    weight_of = load_weights(request, judged, measures)
    check_side_data(measures, judged, side)
    if any(getattr(run.source, "is_sharded", False) for run in loaded):
        warn_of_scores(request, n_runs=len(loaded), n_queries=len(judged), n_measures=len(measures))
        align_together(align_run, judged, loaded, policies, request.threads)
    scored = score_all(judged, loaded, measures, policies, side=side, threads=request.threads, align_run=align_run)
    by_id = any(measure.spec.finds_judged_docs for measure in measures)
    # where somebody else than the user says that they are dropped, or asks how many there are
    counts_repeats = any("lists" in measure.spec.needs for measure in measures)
    says_repeats = policies.duplicates == "first" and (request.profile is not None or counts_repeats)
    for run, (scores, lacking) in zip(loaded, scored, strict=True):
        if by_id:
            notes += notes_or_raise(find_mismatch(judged, run, scores.counts), anyway=request.anyway)
        notes += id_notes(run.name or "run", judged.integer_ids, run.integer_ids)
        notes += missing_notes(scores.name, scores.counts.missing, len(judged), policies, undefined_if_missing(scores))
        notes += lacking
        if says_repeats:
            notes += repeat_notes(run, scores, policies)
        notes += undefined_notes(scores, measures)
        notes += getattr(run.source, "notes", ())
    texts: dict[str, str] = {}
    if request.queries is not None:
        from rankscope.data.queries import load_queries
        from rankscope.data.texts import files_among, lacking_notes

        table = load_queries(request.queries)
        texts = query_texts(table, judged.query_ids)
        notes += lacking_notes("queries", judged.query_ids, table.ids, files_among(queries=request.queries))
    return Scores(
        tuple(
            scores
            if weight_of is None
            else replace(scores, weights=read_only(np.array([weight_of[query] for query in scores.query_ids])))
            for scores, _ in scored
        ),
        qrels=QrelsInfo(len(judged), judged.origin),
        policies={
            **policies.as_dict(),
            **({} if request.unjudged_queries == "skip" else {"unjudged_queries": request.unjudged_queries}),
        },
        profile=request.profile,
        weighted_by=request.weights,
        versions={measure.name: measure.spec.version for measure in measures},
        notes=tuple(dict.fromkeys(notes)),
        texts=texts,
    )


def warn_of_scores(request: EvaluateRequest, *, n_runs: int, n_queries: int, n_measures: int) -> None:
    """Warn, before the work begins, where the scores themselves do not fit into the memory given."""
    if request.memory is None:
        return
    from rankscope.io.limits import in_words
    from rankscope.io.memory import memory_of, resident_bytes

    memory, n_bytes, taken = memory_of(request.memory), SCORE_BYTES * n_runs * n_queries * n_measures, resident_bytes()
    if n_bytes <= memory // SMALL_SHARE or taken + n_bytes <= memory:
        return
    give_warning(
        f"{counted(n_queries, 'query')} x {counted(n_measures, 'measure')} x {counted(n_runs, 'run')} are "
        f"{in_words(n_bytes)} of scores, and {in_words(taken)} are taken already: that is more than "
        f"the {in_words(memory)} of memory; fewer measures at a time take less, and so do shards that are scored "
        "one after the other (shards_of, score_shard)"
    )


def align_together(
    align_run: Callable[..., Hits], qrels: Qrels, runs: Sequence[Run], policies: Policies, threads: int | None
) -> None:
    """Align the parts of all runs that are read in parts as one job, before they are scored one after the other.

    A caller that aligns runs in a way of its own says by which judgments and policies (`aligned_by`).
    """
    from rankscope.align.sharded import align_ahead

    aligned_by = getattr(getattr(align_run, "__self__", None), "aligned_by", None)
    by = (qrels, policies) if aligned_by is None else aligned_by(qrels, policies)
    align_ahead(by[0], runs, by[1], threads=threads)


def planned(run: Run, request: EvaluateRequest) -> Run:
    """Return a run as it is to be read: at once, as nearly all are, or in parts where that is asked for or needed."""
    is_asked = any(getattr(request, name) is not None for name in ("memory", "on", "workers", "keep"))
    is_table = str(getattr(run.source, "path", "")).endswith(".parquet")
    is_small = getattr(run.source, "n_stored", 0) < (READ_TABLE_AT_ONCE if is_table else READ_AT_ONCE)
    if not is_asked and is_small and not is_read_once(run.source):
        return run
    from rankscope.data.sharded import ShardPlan, planned_run
    from rankscope.io.memory import memory_of

    if not is_asked:
        return planned_run(run, None, progress=request.progress)
    plan = ShardPlan(
        memory=None if request.memory is None else memory_of(request.memory),
        on=request.on,
        workers=request.workers,
        keep=None if request.keep is None else os.fspath(request.keep),
        progress=request.progress,
    )
    return planned_run(run, plan)


def is_read_once(source: Any) -> bool:
    """Tell whether a source is standard input or a pipe, of which nobody knows how long it is; most are files."""
    path = getattr(source, "address", "")
    return path == "-" or (bool(path) and not source.is_given and is_pipe(path))


def is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)  # noqa: PTH116 (pathlib takes long to load)
    except (OSError, ValueError):
        return False


def evaluate_further(
    request: EvaluateRequest, qrels: QrelsLike, scores: Scores, further: Mapping[str, Sequence[Run]]
) -> Scores:
    """Return scores of systems as their means over further runs of them, which are scored as the first ones were.

    What must be said of a further run is said once, where it is what the first one's notes say.
    """
    from rankscope.measures.repetitions import repetition_name, with_repetitions

    names = {name: [repetition_name(name, i) for i in range(2, len(runs) + 2)] for name, runs in further.items()}
    named = {each: run for name, runs in further.items() for each, run in zip(names[name], runs, strict=True)}
    if not named:
        return scores
    found = evaluate_request(request, qrels, named)
    notes = dict.fromkeys(scores.notes)
    for note in found.notes:
        system = next((name for name, each in names.items() if any(note.startswith(one) for one in each)), "")
        of_first = next((note.replace(each, system, 1) for each in names.get(system, ()) if note.startswith(each)), "")
        if of_first not in notes:
            notes[note] = None
    by_system = {name: [found[each] for each in of_system] for name, of_system in names.items()}
    return replace(with_repetitions(scores, by_system), notes=tuple(notes))


def query_texts(queries: Any, query_ids: Iterable[str]) -> dict[str, str]:
    """Return what was asked, of those of these queries whose text is known."""
    from rankscope.data.queries import load_queries

    texts = load_queries(queries).texts or {}
    return {query: texts[query] for query in query_ids if query in texts}


def queries_asked(qrels: Qrels, runs: Sequence[Run]) -> tuple[Qrels, list[str]]:
    """Return the judgments of the queries that the runs were asked, and what to say of it; hardly any run says so."""
    if all(run.asked is None for run in runs):
        return qrels, []
    from rankscope.data.asked_queries import select_asked

    return select_asked(qrels, runs)


def add_unjudged_queries(qrels: Qrels, runs: Sequence[Run], queries: Any) -> tuple[Qrels, list[str]]:
    """Return the judgments with all queries that are answered, asked or given but not judged, and what to say of it."""
    known = [query for run in runs for query in (*run.query_ids, *(run.asked.queries if run.asked else ()))]
    if queries is not None:
        from rankscope.data.queries import load_queries

        known += load_queries(queries).ids
    added = qrels.with_queries(known)
    more = [query for query in dict.fromkeys(known) if query not in qrels]
    if not more:
        return added, []
    few = ", ".join(more[:3]) + (", …" if len(more) > 3 else "")
    have, count = ("has", "it counts") if len(more) == 1 else ("have", "they count")
    return added, [f"{len(more)} of {len(added)} queries {have} no judgments ({few}): relevance is 0, and {count}"]


def load_side_data(*, embeddings: Any, docs: Any, ontology: Any) -> dict[Need, Any]:
    """Load what measures may need beyond qrels and runs; each reader only where it has something to read."""
    if embeddings is None and docs is None and ontology is None:
        return {}
    from rankscope.measures.extras import Need

    side: dict[Need, Any] = {}
    if embeddings is not None:
        from rankscope.data.embedding_files import load_embeddings

        side[Need.EMBEDDINGS] = load_embeddings(embeddings)
    if docs is not None:
        from rankscope.data.docs import load_docs

        side[Need.DOCS] = load_docs(docs)
    if ontology is not None:
        from rankscope.data.ontology_files import load_ontology

        side[Need.ONTOLOGY] = load_ontology(ontology)
    return side


def load_weights(request: EvaluateRequest, qrels: Qrels, measures: Sequence[Measure]) -> dict[str, float] | None:
    """Return how much each judged query counts, None where all count the same."""
    queries, column = request.queries, request.weights
    if column is None:
        return None
    if queries is None:
        raise OptionError("weights needs queries", hint="queries=FILE, weights='COLUMN' (--queries, --weights)")
    for measure in measures:
        how = measure.options.get("agg") or measure.spec.aggregate
        if how not in WEIGHTED:
            raise OptionError(
                f"weights do not go with {measure.name}, which is {AGGREGATES[how]}",
                hint=f"leave it out; weights go with {' and '.join(WEIGHTED)}",
            )
    from rankscope.data.queries import load_queries, query_weights

    weights = query_weights(load_queries(queries), column, qrels.query_ids)
    return dict(zip(qrels.query_ids, weights.tolist(), strict=True))


def check_side_data(measures: Iterable[Measure], qrels: Qrels, side: Mapping[Need, Any]) -> None:
    """Refuse measures whose data is not there; most need none."""
    for measure in measures:
        if measure.spec.needs:
            from rankscope.measures.extras import check_needs

            check_needs(measure.name, measure.spec.needs, qrels=qrels, given=side)


def score_all(
    qrels: Qrels,
    runs: Sequence[Run],
    measures: Sequence[Measure],
    policies: Policies,
    *,
    side: Mapping[Need, Any],
    threads: int | None,
    align_run: Callable[..., Hits],
) -> tuple[tuple[RunScores, tuple[str, ...]], ...]:
    """Score every run, several at a time; each comes with what must be said of data that its docs lack."""
    n_threads = threads or n_cores()
    looks_at_docs = any(measure.spec.needs for measure in measures)

    def score(run: Run, per_run: int | None) -> tuple[RunScores, tuple[str, ...]]:
        hits = align_run(qrels, run, policies, threads=per_run)
        if not looks_at_docs:
            return scores_of(hits, run, measures, policies), ()
        from rankscope.measures.extras import lacking_notes

        extras = extras_for(qrels, run, hits.query_ids, measures, policies, side=side)
        lacking = tuple(lacking_notes(run.name or "run", measures, extras, rel=policies.relevance_level))
        return scores_of(hits, run, measures, policies, extras), lacking

    n_at_once = min(len(runs), n_threads)
    if n_at_once == 1:
        return tuple(score(run, threads) for run in runs)
    from concurrent.futures import ThreadPoolExecutor  # not needed for a single run

    with ThreadPoolExecutor(n_at_once) as pool:
        return tuple(pool.map(with_caller(score), runs, itertools.repeat(max(1, n_threads // n_at_once))))


def trec_eval_text(
    qrels: QrelsLike,
    run: RunLike,
    measures: MeasuresLike = "official",
    *,
    profile: str = "trec_eval-10",
    per_query: bool = False,
    complete: bool = False,
    options: ReadOptions | None = None,
    **policies: Unpack[PolicyOptions],
) -> str:
    r"""Return exactly the text that trec_eval prints for one run.

    Parameters
    ----------
    qrels, run
        Judgments and a run, as `evaluate` takes them. Ids that match nothing are only warned of.
    measures
        Names of trec_eval's measures, or of groups: ``"official"``, ``"all_trec"``, ``"set"``; also measures that
        trec_eval has, such as ``"nDCG@10"`` or ``rs.nDCG @ 10``, which it calls ndcg_cut_10.
    profile
        The version: ``"trec_eval-9"`` or ``"trec_eval-10"``.
    per_query
        Print every query, as -q does.
    complete
        Queries that the run does not answer count as 0, as with -c.
    options
        How files are read.
    **policies
        Those of `evaluate`, such as ``min_rel`` (-l), ``depth`` (-M) and ``judged_only`` (-J).

    Returns
    -------
    str
        The lines.

    Raises
    ------
    OptionError
        There is no such version.
    MeasureError
        trec_eval has no such measure.

    Examples
    --------
    >>> import rankscope as rs
    >>> rs.trec_eval_text({"q": {"d": 1}}, {"q": {"d": 1.0}}, ["map"])
    'map                   \tall\t1.0000\n'
    """
    from rankscope.measures.profiles import VERSIONS
    from rankscope.measures.trec_text import trec_lines

    if not isinstance(profile, str) or profile not in VERSIONS:
        raise OptionError(f"profile {profile!r} is not one of {', '.join(VERSIONS)}")
    given = {"per_query": per_query, "complete": complete, "options": options}
    check_options(trec_eval_text.__annotations__, given)
    if complete:
        policies["missing"] = "zero"
    decided = decide_policies(chosen_profile(profile), policies, caller="trec_eval_text")
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=options)
    require_whole_grades(judged, "trec_eval")
    loaded = load_run(run, options=options)
    hits = align(judged, loaded, decided)
    raise_or_warn(find_mismatch(judged, loaded, count(hits, decided)), anyway=True)
    give_warning(*missing_notes(loaded.name or "run", hits.n_missing, len(judged), decided))
    tag = loaded.tag or loaded.name or "rankscope"
    rel = decided.relevance_level
    wanted = "official" if measures is None else measures
    lines = trec_lines(hits, wanted, VERSIONS[profile], rel=rel, tag=tag, per_query=per_query, complete=complete)
    return "".join(f"{line}\n" for line in lines)


def chosen_profile(name: str | None) -> Profile | None:
    check_options({"profile": "str | None"}, {"profile": name})
    if not name:
        return None
    from rankscope.measures.profiles import find_profile

    return find_profile(name)


def decide_policies(profile: Profile | None, given: Mapping[str, Any], *, caller: str = "evaluate") -> Policies:
    """Return the policies of the profile, with those given by the caller on top."""
    check_keywords(caller, given, names_of(Policies))
    chosen = {name: value for name, value in given.items() if value is not None}
    return Policies(**{**(profile.policies if profile else {}), **chosen})


def decide_measures(profile: Profile | None, given: Any) -> tuple[Measure, ...]:
    """Return the measures asked for, or the usual ones, as the profile computes them."""
    if given is None:
        given = profile.measures if profile and profile.measures else DEFAULT_MEASURES
    measures = parse_measures(given)
    return profile.adapt(measures) if profile else measures


def deciding_measure(profile: str | None, measures: Sequence[str]) -> str:
    """Return the measure that decides where none is named: of a profile's own measures nDCG@10, else the first."""
    from rankscope.measures.profiles import PROFILES

    chosen = PROFILES[profile] if profile and profile in PROFILES else None
    if chosen is None or not chosen.measures:
        return measures[0]
    own = [measure.name for measure in decide_measures(chosen, None)]
    usual = decide_measures(chosen, "nDCG@10")[0].name
    return usual if usual in own and list(measures[: len(own)]) == own else measures[0]


def repeat_notes(run: Run, scores: RunScores, policies: Policies) -> Iterator[str]:
    """Say how many rows repeat a doc of the same query, which are dropped."""
    from rankscope.align.top import listed_docs

    in_shards = getattr(run.source, "is_sharded", False) and run.source.is_grouped
    parts = (Run(part, name=run.name) for part in run.source.parts()) if in_shards else iter((run,))
    lists = (docs for part in parts for docs in listed_docs(part, scores.query_ids, policies, depth=None).docs)
    repeats = [len(docs) - len(set(docs)) for docs in lists]
    if n := sum(repeats):
        rows, of = counted(n, "row"), counted(sum(map(bool, repeats)), "query")
        repeat = "repeats" if n == 1 else "repeat"
        yield f"{scores.name}: {rows} of {of} {repeat} a doc: only Uniqueness counts that, other measures the first row"
