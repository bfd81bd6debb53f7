"""trec_eval's text output, reproduced to the byte for versions 9 and 10: names, order, formats, summary lines.

Measures are printed in trec_eval's own order, whatever the order they are asked for in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.arrays import Floats
from rankscope.errors import MeasureError, did_you_mean
from rankscope.light import LightRecord
from rankscope.measures.gain import scale_top
from rankscope.measures.parse import gain_map
from rankscope.measures.profiles import VERSIONS
from rankscope.measures.registry import REGISTRY
from rankscope.measures.scores import summarise
from rankscope.measures.sets import counts_at, n_found
from rankscope.measures.spec import Measure

_CUTS = "5,10,15,20,30,100,200,500,1000"
_TENTHS = "0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1"
_MAX_DIGIT = 9


class TrecLine(LightRecord):
    """One line of output per query: its name, and where its values come from."""

    name: str
    scores: Callable[[Hits, float], Floats]
    """Scores by query, from hits and the lowest relevant grade."""
    aggregate: str = "mean"
    whole: bool = False
    in_queries: bool = True
    text: bool = False


class TrecEntry(LightRecord):
    """One measure of trec_eval's table: its default parameters and the lines it prints."""

    default: str
    lines: Callable[[str, int], list[TrecLine]]
    """From parameters and version to lines."""


def measure_of(base: str, **params: Any) -> Callable[[Hits, float], Floats]:
    """Return a function of hits; an undefined score prints as 0."""
    measure = Measure.of(REGISTRY[base], params)
    return lambda hits, rel: np.nan_to_num(measure.score(hits, rel=rel))


def plain(name: str, base: str, *, aggregate: str = "mean", whole: bool = False, in_queries: bool = True) -> TrecEntry:
    """Return the entry of a measure without parameters."""

    def lines(_params: str, _version: int) -> list[TrecLine]:
        return [TrecLine(name, measure_of(base), aggregate=aggregate, whole=whole, in_queries=in_queries)]

    return TrecEntry("", lines)


def cut(name: str, base: str, default: str = _CUTS) -> TrecEntry:
    """Return the entry of a measure at several cut-offs, which are printed in rising order."""

    def lines(params: str, _version: int) -> list[TrecLine]:
        cutoffs = whole_cutoffs(name, params)
        return [TrecLine(f"{name}_{k}", measure_of(base, k=k)) for k in cutoffs]

    return TrecEntry(default, lines)


def whole_cutoffs(name: str, params: str) -> list[int]:
    """Return cut-offs in rising order, refusing what trec_eval refuses."""
    try:
        cutoffs = sorted(int(cutoff) for cutoff in params.split(","))
    except ValueError:
        raise MeasureError(f"{name}.{params}: cut-offs are whole numbers, such as {name}.5,10") from None
    if cutoffs[0] < 1 or len(set(cutoffs)) < len(cutoffs):
        raise MeasureError(f"{name}.{params}: cut-offs are from 1 up, each once")
    return cutoffs


def shares(name: str, make: Callable[[float, int], Callable[[Hits, float], Floats]], default: str) -> TrecEntry:
    """Return the entry of a measure at several shares, printed with two decimals."""

    def lines(params: str, version: int) -> list[TrecLine]:
        return [TrecLine(f"{name}_{share:.2f}", make(share, version)) for share in sorted(numbers(name, params))]

    return TrecEntry(default, lines)


def numbers(name: str, params: str) -> list[float]:
    """Return the parameters as numbers."""
    try:
        return [float(number) for number in params.split(",")]
    except ValueError:
        raise MeasureError(f"{name}.{params}: the parameters are numbers") from None


def rounding_of(version: int) -> str:
    """Return how a version turns a share of the relevant docs into a count."""
    return "up" if version == VERSIONS["trec_eval-9"] else "nearest"


def iprec(share: float, version: int) -> Callable[[Hits, float], Floats]:
    """Return interpolated precision at one level of recall.

    Where -J leaves nothing of a ranking, trec_eval divides 0 by 0, and prints that.
    """
    measure = measure_of("IPrec", recall=share, rounding=rounding_of(version))

    def scores(hits: Hits, rel: float) -> Floats:
        needs_none = counts_at(share, hits.n_relevant(rel), rounding_of(version)) == 0
        emptied = (hits.n_retrieved == 0) & (hits.answered if version == VERSIONS["trec_eval-9"] else True)
        return np.where(emptied & needs_none & hits.only_judged, math.nan, measure(hits, rel))

    return scores


def eleven_points(params: str, version: int) -> list[TrecLine]:
    """Return the mean of interpolated precision over levels of recall."""
    levels = [iprec(share, version) for share in numbers("11pt_avg", params or _TENTHS)]

    def mean(hits: Hits, rel: float) -> Floats:
        return np.asarray(sum(level(hits, rel) for level in levels) / len(levels))

    return [TrecLine(f"11pt_avg_{params}" if params else "11pt_avg", mean)]


def with_gains(name: str, base: str) -> TrecEntry:
    """Return the entry of a measure that takes gains, such as ndcg.1=3,2=9."""

    def lines(params: str, _version: int) -> list[TrecLine]:
        if not params:
            return [TrecLine(name, measure_of(base))]
        return [TrecLine(f"{name}_{params}", measure_of(base, gain=gain_map(params, f"{name}.{params}")))]

    return TrecEntry("", lines)


def utility(params: str, _version: int) -> list[TrecLine]:
    """Return linear utility; its last parameter needs the size of the collection, which is not known here."""
    if not params:
        return [TrecLine("utility", measure_of("Utility"))]
    found, wrong, missed, unseen = [*numbers("utility", params), 0.0, 0.0, 0.0, 0.0][:4]
    if unseen:
        raise MeasureError(f"utility.{params}: a worth for unseen non-relevant docs needs the size of the collection")
    return [TrecLine(f"utility_{params}", measure_of("Utility", found=found, wrong=wrong, missed=missed))]


def set_f(params: str, _version: int) -> list[TrecLine]:
    """Return the F-measure; trec_eval's parameter is the square of beta."""
    if not params:
        return [TrecLine("set_F", measure_of("SetF"))]
    return [TrecLine(f"set_F_{params}", measure_of("SetF", beta=numbers("set_F", params)[0] ** 0.5))]


def rbp(params: str, _version: int) -> list[TrecLine]:
    """Return rank-biased precision as trec_eval 10 prints it.

    The program scales grades by a maximum that it does not initialise; as built and recorded, the number of relevant
    docs retrieved is left there from the measure before. `RBP` itself scales by the highest grade.
    """
    p = numbers("rbp", params.removeprefix("p="))[0] if params else 0.9
    unscaled = measure_of("RBP", p=p, gain="linear", max_grade="query")

    def scores(hits: Hits, rel: float) -> Floats:
        top = np.maximum(scale_top(hits, "query"), 1.0)
        return unscaled(hits, rel) * top / np.maximum(top, n_found(hits, None, rel))

    return [TrecLine(f"rbp_{params}" if params else "rbp", scores)]


def rbp_residual(_params: str, _version: int) -> list[TrecLine]:
    """Return the residual; trec_eval prints 0 where no doc is unjudged, though unseen docs remain."""
    residual, judged = measure_of("RBP_resid", p=0.9), measure_of("Judged")

    def scores(hits: Hits, rel: float) -> Floats:
        return np.where((hits.n_retrieved > 0) & (judged(hits, rel) < 1), residual(hits, rel), 0.0)

    return [TrecLine("rbp_resid", scores)]


def relstring(params: str, _version: int) -> list[TrecLine]:
    """Return the place of the relevance string; it is text, so it has no scores."""
    name = f"relstring_{params}" if params else "relstring"
    return [TrecLine(name, lambda hits, _rel: np.zeros(len(hits)), text=True)]


TABLE: dict[str, TrecEntry] = {
    "num_ret": plain("num_ret", "NumRet", aggregate="sum", whole=True),
    "num_rel": plain("num_rel", "NumRel", aggregate="sum", whole=True),
    "num_rel_ret": plain("num_rel_ret", "NumRelRet", aggregate="sum", whole=True),
    "map": plain("map", "AP"),
    "gm_map": plain("gm_map", "AP", aggregate="gmean", in_queries=False),
    "Rprec": plain("Rprec", "Rprec"),
    "bpref": plain("bpref", "Bpref"),
    "recip_rank": plain("recip_rank", "RR"),
    "iprec_at_recall": shares("iprec_at_recall", iprec, _TENTHS),
    "P": cut("P", "P"),
    "relstring": TrecEntry("", relstring),
    "recall": cut("recall", "R"),
    "infAP": plain("infAP", "infAP"),
    "gm_bpref": plain("gm_bpref", "Bpref", aggregate="gmean", in_queries=False),
    "Rprec_mult": shares(
        "Rprec_mult", lambda mult, _version: measure_of("Rprec", mult=mult), ".2,.4,.6,.8,1,1.2,1.4,1.6,1.8,2"
    ),
    "utility": TrecEntry("", utility),
    "11pt_avg": TrecEntry("", eleven_points),
    "binG": plain("binG", "BinG"),
    "G": with_gains("G", "G"),
    "ndcg": with_gains("ndcg", "nDCG"),
    "ndcg_rel": with_gains("ndcg_rel", "nDCG_rel"),
    "Rndcg": with_gains("Rndcg", "Rndcg"),
    "ndcg_cut": cut("ndcg_cut", "nDCG"),
    "map_cut": cut("map_cut", "AP"),
    "relative_P": cut("relative_P", "R_cap"),
    "success": cut("success", "Success", "1,5,10"),
    "set_P": plain("set_P", "SetP"),
    "set_relative_P": plain("set_relative_P", "SetRelP"),
    "set_recall": plain("set_recall", "SetR"),
    "set_map": plain("set_map", "SetAP"),
    "set_F": TrecEntry("", set_f),
    "num_nonrel_judged_ret": plain("num_nonrel_judged_ret", "NumNonrelRet", aggregate="sum", whole=True),
    "rbp": TrecEntry("", rbp),
    "rbp_resid": TrecEntry("", rbp_residual),
    "unj": cut("unj", "Unjudged", "5,10,20"),
}
HEADERS = ("runid", "num_q")
ONLY_IN_10 = ("rbp", "rbp_resid", "unj")
NICKNAMES: dict[str, list[str]] = {
    "official": [*HEADERS, *list(TABLE)[: list(TABLE).index("P") + 1]],
    "all_trec": [*HEADERS, *TABLE],
    "set": [
        *HEADERS,
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "utility",
        "set_P",
        "set_recall",
        "set_relative_P",
        "set_map",
        "set_F",
    ],
}


def requested(names: Iterable[str], version: int) -> dict[str, str]:
    """Return the measures asked for with their parameters; the first parameters given for a measure stay."""
    chosen: dict[str, str] = {}
    for name in names:
        if name in NICKNAMES:
            chosen.update({base: "" for base in NICKNAMES[name] if base not in chosen and available(base, version)})
            continue
        base, _, params = name.partition(".")
        if base not in HEADERS and (base not in TABLE or not available(base, version)):
            known = [*NICKNAMES, *HEADERS, *TABLE]
            raise MeasureError(
                f"trec_eval {version} has no measure {base!r}",
                hint=did_you_mean(base, known) or f"it has {', '.join(known)}",
            )
        chosen.setdefault(base, params)
    return chosen


def available(base: str, version: int) -> bool:
    """Tell whether a version of trec_eval has the measure."""
    return version >= VERSIONS["trec_eval-10"] or base not in ONLY_IN_10


class TrecEvalText(LightRecord):
    """What is to be printed: the measures, the version, and whether every query is shown."""

    names: Sequence[str]
    version: int
    per_query: bool
    complete: bool
    policies: Policies

    def lines(self, hits: Hits, *, tag: str) -> Iterator[str]:
        """Yield the lines of the output for one run."""
        chosen = requested(self.names, self.version)
        table = [
            line
            for base, entry in TABLE.items()
            if base in chosen
            for line in entry.lines(chosen[base] or entry.default, self.version)
        ]
        rel = self.policies.relevance_level
        columns = [(line, line.scores(hits, rel)) for line in table]
        if self.per_query:
            n_digits = whole_cutoffs("relstring", chosen.get("relstring") or "10")[0]
            yield from self._query_lines(hits, columns, n_digits=n_digits)
        if "runid" in chosen:
            yield show("runid", "all", tag)
        if "num_q" in chosen:
            yield show("num_q", "all", str(len(hits)))
        for line, scores in columns:
            if not line.text:
                yield show(line.name, "all", self._summary(line, scores, hits))

    def _query_lines(self, hits: Hits, columns: list[tuple[TrecLine, Floats]], *, n_digits: int) -> Iterator[str]:
        shown = np.ones(len(hits), dtype=bool) if self.version > VERSIONS["trec_eval-9"] else hits.answered
        for i in np.flatnonzero(shown).tolist():
            query = hits.query_ids[i]
            for line, scores in columns:
                if line.text:
                    yield show(line.name, query, relevance_string(hits, i, n_digits))
                elif line.in_queries:
                    yield show(line.name, query, number(scores[i], whole=line.whole))

    def _summary(self, line: TrecLine, scores: Floats, hits: Hits) -> str:
        if line.name == "num_rel" and self.complete:
            scores = hits.n_relevant(1.0)  # whatever the lowest relevant grade is, as trec_eval does
        return number(summarise(scores, line.aggregate), whole=line.whole)


def show(name: str, query: str, value: str) -> str:
    """Print a line in trec_eval's format."""
    return f"{name:<22}\t{query}\t{value}"


def number(value: float, *, whole: bool) -> str:
    """Print a count as it is, a score with four decimals."""
    if math.isnan(value):
        return "  -nan"  # as C prints 0/0
    return str(round(value)) if whole else f"{value:6.4f}"


def relevance_string(hits: Hits, i: int, n_digits: int) -> str:
    """Print the grades of the first ranks of one query, one character each."""
    n_shown = min(n_digits, int(hits.n_retrieved[i]))
    chars = ["-"] * n_shown
    mine = slice(int(hits.offsets[i]), int(hits.offsets[i + 1]))
    for rank, grade in zip(hits.ranks[mine].tolist(), hits.grades[mine].tolist(), strict=True):
        if rank <= n_shown:
            chars[rank - 1] = "." if grade < 0 else ">" if grade > _MAX_DIGIT else str(int(grade))
    return f"'{''.join(chars)}'"
