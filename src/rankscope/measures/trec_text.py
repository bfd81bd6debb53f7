"""trec_eval's text output, reproduced to the byte for versions 9 and 10: names, order, formats, summary lines.

Measures are printed in trec_eval's own order, whatever the order they are asked for in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from rankscope.align.hits import Hits
from rankscope.arrays import Floats
from rankscope.errors import MeasureError, did_you_mean
from rankscope.light import LightRecord
from rankscope.measures.gain import scale_top
from rankscope.measures.parse import CUTS, GROUPS, TENTHS, gain_map, parse_measures, split_outside
from rankscope.measures.profiles import VERSIONS
from rankscope.measures.registry import REGISTRY
from rankscope.measures.scores import summarise
from rankscope.measures.sets import counts_at, n_found
from rankscope.measures.spec import Measure

Scoring = Callable[[Hits, float], Floats]
"""Scores by query, from hits and the lowest relevant grade."""


class TrecLine(LightRecord):
    """One line of output per query: its name, and where its values come from."""

    name: str
    scores: Scoring
    aggregate: str = "mean"
    whole: bool = False
    in_queries: bool = True
    text: bool = False


Lines = Callable[[str, str, int], list[TrecLine]]
"""From the name of a measure, its parameters (empty where none are given) and the version to the lines it prints."""


def measure_of(base: str, **params: Any) -> Scoring:
    """Return a function of hits; an undefined score prints as 0."""
    measure = Measure.of(REGISTRY[base], params)
    return lambda hits, rel: np.nan_to_num(measure.score(hits, rel=rel))


def plain(base: str, **how: Any) -> Lines:
    """Return the line of a measure without parameters; `how` are other facts of it."""
    return lambda name, _params, _version: [TrecLine(name, measure_of(base), **how)]


def cut(base: str, default: str = CUTS) -> Lines:
    """Return the lines of a measure at several cut-offs, which are printed in rising order."""
    return lambda name, params, _version: [
        TrecLine(f"{name}_{k}", measure_of(base, k=k)) for k in whole_cutoffs(name, params or default)
    ]


def whole_cutoffs(name: str, params: str) -> list[int]:
    """Return cut-offs in rising order, refusing what trec_eval refuses."""
    try:
        cutoffs = sorted(int(cutoff) for cutoff in params.split(","))
    except ValueError:
        raise MeasureError(f"{name}.{params}: cut-offs are whole numbers, such as {name}.5,10") from None
    if cutoffs[0] < 1 or len(set(cutoffs)) < len(cutoffs):
        raise MeasureError(f"{name}.{params}: cut-offs are from 1 up, each once")
    return cutoffs


def shares(make: Callable[[float, int], Scoring], default: str) -> Lines:
    """Return the lines of a measure at several shares, printed with two decimals."""
    return lambda name, params, version: [
        TrecLine(f"{name}_{share:.2f}", make(share, version)) for share in sorted(numbers(name, params or default))
    ]


def numbers(name: str, params: str) -> list[float]:
    try:
        return [float(number) for number in params.split(",")]
    except ValueError:
        raise MeasureError(f"{name}.{params}: the parameters are numbers") from None


def iprec(share: float, version: int) -> Scoring:
    """Return interpolated precision at one level of recall.

    Where -J leaves nothing of a ranking, trec_eval divides 0 by 0, and prints that.
    """
    is_9 = version == VERSIONS["trec_eval-9"]
    rounding = "up" if is_9 else "nearest"
    measure = measure_of("IPrec", recall=share, rounding=rounding)

    def scores(hits: Hits, rel: float) -> Floats:
        needs_none = counts_at(share, hits.n_relevant(rel), rounding) == 0
        emptied = (hits.n_retrieved == 0) & (hits.answered if is_9 else True)
        return np.where(emptied & needs_none & hits.only_judged, math.nan, measure(hits, rel))

    return scores


def one_line(name: str, params: str, scores: Scoring, *, text: bool = False) -> list[TrecLine]:
    """Return the one line of a measure, whose name carries the parameters where there are any."""
    return [TrecLine(f"{name}_{params}" if params else name, scores, text=text)]


def eleven_points(name: str, params: str, version: int) -> list[TrecLine]:
    """Return the mean of interpolated precision over levels of recall."""
    levels = [iprec(share, version) for share in numbers(name, params or TENTHS)]
    return one_line(name, params, lambda hits, rel: np.asarray(sum(level(hits, rel) for level in levels) / len(levels)))


def with_gains(base: str) -> Lines:
    """Return the line of a measure that takes gains, such as ndcg.1=3,2=9."""

    def lines(name: str, params: str, _version: int) -> list[TrecLine]:
        given = {"gain": gain_map(params, f"{name}.{params}")} if params else {}
        return one_line(name, params, measure_of(base, **given))

    return lines


def utility(name: str, params: str, _version: int) -> list[TrecLine]:
    """Return linear utility; its last parameter needs the size of the collection, which is not known here."""
    worth = [*numbers(name, params), 0.0, 0.0, 0.0, 0.0] if params else [1.0, -1.0, 0.0, 0.0]
    found, wrong, missed, unseen = worth[:4]
    if unseen:
        raise MeasureError(f"{name}.{params}: a worth for unseen non-relevant docs needs the size of the collection")
    return one_line(name, params, measure_of("Utility", found=found, wrong=wrong, missed=missed))


def set_f(name: str, params: str, _version: int) -> list[TrecLine]:
    """Return the F-measure; trec_eval's parameter is the square of beta."""
    return one_line(name, params, measure_of("SetF", beta=numbers(name, params)[0] ** 0.5 if params else 1.0))


def rbp(name: str, params: str, _version: int) -> list[TrecLine]:
    """Return rank-biased precision as trec_eval 10 prints it.

    The program scales grades by a maximum that it does not initialise; as built and recorded, the number of relevant
    docs retrieved is left there from the measure before. `RBP` itself scales by the highest grade.
    """
    p = numbers(name, params.removeprefix("p="))[0] if params else 0.9
    unscaled = measure_of("RBP", p=p, gain="linear", max_grade="query")

    def scores(hits: Hits, rel: float) -> Floats:
        top = np.maximum(scale_top(hits, "query"), 1.0)
        return unscaled(hits, rel) * top / np.maximum(top, n_found(hits, None, rel))

    return one_line(name, params, scores)


def rbp_residual(name: str, _params: str, _version: int) -> list[TrecLine]:
    """Return the residual; trec_eval prints 0 where no doc is unjudged, though unseen docs remain."""
    residual, judged = measure_of("RBP_resid", p=0.9), measure_of("Judged")

    def scores(hits: Hits, rel: float) -> Floats:
        return np.where((hits.n_retrieved > 0) & (judged(hits, rel) < 1), residual(hits, rel), 0.0)

    return one_line(name, "", scores)


def relstring(name: str, params: str, _version: int) -> list[TrecLine]:
    return one_line(name, params, lambda hits, _rel: np.zeros(len(hits)), text=True)


_COUNT = {"aggregate": "sum", "whole": True}
_GEOMETRIC = {"aggregate": "gmean", "in_queries": False}
TABLE: dict[str, Lines] = {
    "num_ret": plain("NumRet", **_COUNT),
    "num_rel": plain("NumRel", **_COUNT),
    "num_rel_ret": plain("NumRelRet", **_COUNT),
    "map": plain("AP"),
    "gm_map": plain("AP", **_GEOMETRIC),
    "Rprec": plain("Rprec"),
    "bpref": plain("Bpref"),
    "recip_rank": plain("RR"),
    "iprec_at_recall": shares(iprec, TENTHS),
    "P": cut("P"),
    "relstring": relstring,
    "recall": cut("R"),
    "infAP": plain("infAP"),
    "gm_bpref": plain("Bpref", **_GEOMETRIC),
    "Rprec_mult": shares(lambda mult, _version: measure_of("Rprec", mult=mult), ".2,.4,.6,.8,1,1.2,1.4,1.6,1.8,2"),
    "utility": utility,
    "11pt_avg": eleven_points,
    "binG": plain("BinG"),
    "G": with_gains("G"),
    "ndcg": with_gains("nDCG"),
    "ndcg_rel": with_gains("nDCG_rel"),
    "Rndcg": with_gains("Rndcg"),
    "ndcg_cut": cut("nDCG"),
    "map_cut": cut("AP"),
    "relative_P": cut("R_cap"),
    "success": cut("Success", "1,5,10"),
    "set_P": plain("SetP"),
    "set_relative_P": plain("SetRelP"),
    "set_recall": plain("SetR"),
    "set_map": plain("SetAP"),
    "set_F": set_f,
    "num_nonrel_judged_ret": plain("NumNonrelRet", **_COUNT),
    "rbp": rbp,
    "rbp_resid": rbp_residual,
    "unj": cut("Unjudged", "5,10,20"),
}
HEADERS = ("runid", "num_q")
NICKNAMES = {
    "official": [*HEADERS, *list(TABLE)[: list(TABLE).index("P") + 1]],
    "all_trec": [*HEADERS, *TABLE],
    "set": [*HEADERS, *GROUPS["set"].split()],
}


def requested(given: str | Measure | Iterable[str | Measure], version: int) -> dict[str, str]:
    """Return the measures asked for with their parameters; the first parameters given for a measure stay.

    That is trec_eval's rule. Several cut-offs that are given by names of ours, nDCG@5 and nDCG@10, are all printed.
    """
    lacking = () if version >= VERSIONS["trec_eval-10"] else ("rbp", "rbp_resid", "unj")
    chosen: dict[str, str] = {}
    by_our_names: dict[str, list[str]] = {}
    for name in names_in(given):
        if name in NICKNAMES:
            chosen.update({base: "" for base in NICKNAMES[name] if base not in chosen and base not in lacking})
            continue
        base, _, params = name.partition(".")
        if base in HEADERS or (base in TABLE and base not in lacking):
            chosen.setdefault(base, params)
            continue
        for base, params in names_at_trec_eval(name, version, lacking):
            if base not in chosen or base in by_our_names:
                by_our_names.setdefault(base, []).append(params)
                chosen[base] = ",".join(dict.fromkeys(by_our_names[base]))
            elif not lines_of(base, params, version) <= lines_of(base, chosen[base], version):
                raise MeasureError(
                    f"{name} is asked for, but trec_eval prints {base} once, as it is named first",
                    hint=f"name all that you want at once: {base}.{params},…",
                )
    return chosen


def lines_of(base: str, params: str, version: int) -> set[str]:
    return {line.name for line in TABLE[base](base, params, version)}


def names_in(given: str | Measure | Iterable[str | Measure]) -> list[str]:
    """Return the names of measures that are given in any way in which measures can be given."""
    each = [given] if isinstance(given, str | Measure) or not isinstance(given, Iterable) else given
    names = [part for name in each for part in ([str(name)] if isinstance(name, Measure) else texts_in(name))]
    if not names:
        raise MeasureError("no measure is named", hint="for example map, or official for the usual ones")
    return names


def texts_in(name: object) -> list[str]:
    if not isinstance(name, str):
        raise MeasureError(f"{name!r} is not the name of a measure", hint="write 'ndcg_cut.10' or rs.nDCG @ 10")
    return split_outside(name, " ,\t\n")


def names_at_trec_eval(name: str, version: int, lacking: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what trec_eval calls the measures that we call by this name, and their parameters."""
    known = [*NICKNAMES, *HEADERS, *(base for base in TABLE if base not in lacking)]
    try:
        measures = parse_measures(name)
    except MeasureError:
        measures = ()
    found = [(measure, base) for measure in measures for base in TABLE if base in known and prints(base, measure)]
    if not found or {measure for measure, _ in found} != set(measures):
        raise MeasureError(
            f"trec_eval {version} has no measure {name!r}",
            hint=did_you_mean(name.partition(".")[0], known) or f"it has {', '.join(known)}",
        )
    for measure in measures:
        base = next(base for each, base in found if each == measure)
        yield base, str(measure.options.get(measure.spec.cutoff or "", ""))


def prints(base: str, measure: Measure) -> bool:
    """Tell whether one of trec_eval's measures, at the cut-off if there is one, is this measure of ours."""
    cutoff = measure.options.get(measure.spec.cutoff or "")
    try:
        (line,) = TABLE[base](base, "" if cutoff is None else str(cutoff), VERSIONS["trec_eval-10"])
        is_same = parse_measures(base if cutoff is None else f"{base}.{cutoff}") == (measure,)
    except (MeasureError, ValueError):  # it has no cut-off, or several lines
        return False
    return is_same and (line.name == base) == (cutoff is None)


def trec_lines(
    hits: Hits,
    measures: str | Measure | Iterable[str | Measure],
    version: int,
    *,
    rel: float,
    tag: str,
    per_query: bool,
    complete: bool,
) -> Iterator[str]:
    """Yield the lines of the output for one run, whose lowest relevant grade is `rel`."""
    chosen = requested(measures, version)
    columns = [
        (line, line.scores(hits, rel))
        for name, lines in TABLE.items()
        if name in chosen
        for line in lines(name, chosen[name], version)
    ]
    if per_query:
        n_digits = whole_cutoffs("relstring", chosen.get("relstring") or "10")[0]
        shown = np.ones(len(hits), dtype=bool) if version > VERSIONS["trec_eval-9"] else hits.answered
        for i in np.flatnonzero(shown).tolist():
            for line, scores in columns:
                if line.text:
                    yield show(line.name, hits.query_ids[i], relevance_string(hits, i, n_digits))
                elif line.in_queries:
                    yield show(line.name, hits.query_ids[i], number(scores[i], whole=line.whole))
    if "runid" in chosen:
        yield show("runid", "all", tag)
    if "num_q" in chosen:
        yield show("num_q", "all", str(len(hits)))
    for line, scores in columns:
        if not line.text:
            # whatever the lowest relevant grade is, as trec_eval does
            counted = hits.n_relevant(1.0) if line.name == "num_rel" and complete else scores
            yield show(line.name, "all", number(summarise(counted, line.aggregate), whole=line.whole))


def show(name: str, query: str, value: str) -> str:
    return f"{name:<22}\t{query}\t{value}"


def number(value: float, *, whole: bool) -> str:
    """Print a count as it is, a score with four decimals."""
    if math.isnan(value):
        return "  -nan"  # as C prints 0/0
    return str(round(value)) if whole else f"{value:6.4f}"


def relevance_string(hits: Hits, i: int, n_digits: int) -> str:
    """Print the grades of the first ranks of one query, one character each."""
    chars = ["-"] * min(n_digits, int(hits.n_retrieved[i]))
    mine = slice(int(hits.offsets[i]), int(hits.offsets[i + 1]))
    for rank, grade in zip(hits.ranks[mine].tolist(), hits.grades[mine].tolist(), strict=True):
        if rank <= len(chars):
            chars[rank - 1] = "." if grade < 0 else ">" if grade > 9 else str(int(grade))
    return f"'{''.join(chars)}'"
