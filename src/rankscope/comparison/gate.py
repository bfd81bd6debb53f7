"""The gate: whether a comparison lets a change pass. Exit code, JUnit and text read the result made here.

| outcome | when | exit code |
| --- | --- | --- |
| passed | better, probably better, the same, identical | 0 |
| failed | worse, probably worse; not safe or too few queries while lower by more than the margin | 1 |
| inconclusive | cannot tell; not safe or too few otherwise | 0 (warn, pass) or 1 (fail), as `on_inconclusive` says |
| error | not comparable; too many queries not answered; a baseline that is not what it was | 2 |

Where latency is looked at, its check fails only if the whole interval of the ratio lies above what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import msgspec

from rankscope._version import __version__
from rankscope.analysis.side_by_side import SideBySide
from rankscope.comparison.records import Comparison, PairResult, QueryChange
from rankscope.comparison.words import SHOWN_SIDES, changes_of
from rankscope.errors import OptionError
from rankscope.measures.scores import reaches
from rankscope.printable import counted
from rankscope.records import Both, Options, Record, StoredRecord
from rankscope.stats.latency import LatencyRatio

Outcome = Literal["passed", "inconclusive", "failed", "error"]
"""The worst last."""
CheckKind = Literal["ranking", "latency", "target", "run"]
"""What a check looks at: scores, times, a target of a query, or whether there is a run at all."""
ON_INCONCLUSIVE = ("warn", "fail", "pass")
MAX_LATENCY_RATIO = 1.2
LEAST_TIMED = 10
"""With fewer timed queries nothing is said of latency."""


class GatePolicy(Options):
    """What a gate lets pass."""

    on_inconclusive: str = "warn"
    allow_missing: float = 0.10
    """The share of queries that a system may leave unanswered."""
    require: str | None = None
    """non-inferior: pass only where the whole interval lies above minus the margin."""
    max_latency_ratio: float | None = None
    """The 95th percentile of latency, new by old, above which the gate fails; None where latency is not looked at."""

    def __post_init__(self) -> None:
        if self.on_inconclusive not in ON_INCONCLUSIVE:
            raise OptionError(f"on_inconclusive {self.on_inconclusive!r} is not one of {', '.join(ON_INCONCLUSIVE)}")
        if not 0 <= self.allow_missing <= 1:
            raise OptionError(f"allow_missing = {self.allow_missing} is not a share from 0 to 1")
        if self.require not in (None, "non-inferior"):
            raise OptionError(f"require {self.require!r} is not known", hint="there is non-inferior")
        if self.max_latency_ratio is not None and not 0 < self.max_latency_ratio < float("inf"):
            raise OptionError(
                f"max_latency_ratio = {self.max_latency_ratio} is not a ratio above 0", hint="1.2 allows a fifth more"
            )


class GateCheck(Record):
    """What the gate says of one system, or of one target."""

    name: str
    outcome: Outcome
    words: str
    compared: PairResult | None = None
    kind: CheckKind = "ranking"
    system: str = ""
    collection: str = ""
    losses: tuple[QueryChange, ...] = ()
    """The queries that got worse, the largest loss first; of many the first."""
    sides: tuple[SideBySide, ...] = ()
    """Both rankings of these queries, where they are at hand."""
    latency: LatencyRatio | None = None
    look: int | None = None
    """Which comparison on its queries it belongs to, as the store counts them; None where there is no store."""


class BaselineReference(Record):
    """What the gate compares with: where it is, and when it was saved."""

    where: str
    """A folder, a file, or the name of a run in the store."""
    created: str = ""
    """Empty where that is not known, as of a single run."""
    kind: Literal["folder", "run", "store"] = "folder"
    words: str = ""
    """Of the store: which run it is."""


class GateResult(StoredRecord):
    """What the gate says of all: the worst outcome decides.

    `rankscope gate --format json` prints it, and `GateResult.from_json` reads it.
    """

    checks: tuple[GateCheck, ...]
    policy: GatePolicy
    baseline: BaselineReference | None = None
    """Null where systems of one call are compared with one another."""
    notes: tuple[str, ...] = ()
    """What has to be known to read it."""
    unfinished: bool = False
    """Whether it could not be finished for want of room or memory: exit code 3."""
    rankscope: str = __version__
    """The version that made the record."""
    outcome: Outcome = "passed"
    exit_code: int = 0
    """0 passed, 1 failed, 2 nothing can be said because something is wrong, 3 it could not be finished."""

    def __post_init__(self) -> None:
        """Let outcome and exit code follow from the checks, whatever is given for them."""
        outcome = max((check.outcome for check in self.checks), key=get_args(Outcome).index, default="error")
        codes = {"passed": 0, "inconclusive": int(self.policy.on_inconclusive == "fail"), "failed": 1, "error": 2}
        msgspec.structs.force_setattr(self, "outcome", outcome)
        msgspec.structs.force_setattr(self, "exit_code", 3 if self.unfinished else codes[outcome])

    def fails(self, check: GateCheck) -> bool:
        """Tell whether a check fails the build: inconclusive ones do so where that is asked for."""
        return check.outcome == "failed" or (check.outcome == "inconclusive" and self.policy.on_inconclusive == "fail")

    def lines(self) -> Iterator[str]:
        """Yield what the gate says: a line for everything that did not pass, then one for all."""
        for check in self.checks:
            if check.outcome != "passed":
                how = " (fails, as --on-inconclusive says)" if check.outcome != "failed" and self.fails(check) else ""
                yield f"gate: {check.name}: {check.outcome}{how}: {check.words}"
        n_passed = sum(check.outcome == "passed" for check in self.checks)
        n_open = sum(check.outcome == "inconclusive" for check in self.checks)
        also = f", {n_open} inconclusive" if n_open else ""
        yield f"gate: {self.outcome} ({n_passed} of {len(self.checks)} passed{also}), exit code {self.exit_code}"


def gate_of(comparison: Comparison, policy: GatePolicy, *, collection: str = "") -> GateResult:
    if comparison.baseline is None:
        raise OptionError("a gate needs a baseline, but all pairs are compared", hint="compare with a baseline instead")
    checks = []
    for pair in comparison:
        where = ", ".join(filter(None, (collection, pair.group)))
        name = f"{pair.b} vs {pair.a}" + (f" ({where})" if where else "")
        losses: list[QueryChange] = []
        if comparison.has_scores:
            group = next(group for group in comparison.groups if group.name == pair.group)
            losses = changes_of(comparison, group, pair)[0][:SHOWN_SIDES]
        sides_of = {sides.query: sides for sides in comparison.lists.get((pair.group, pair.a, pair.b), ())}
        sides = tuple(sides_of[change.query] for change in losses if change.query in sides_of)
        outcome, words = outcome_of(pair, policy)
        checks.append(GateCheck(name, outcome, words, pair, "ranking", pair.b, collection, tuple(losses), sides))
    return GateResult(tuple(checks), policy)


def outcome_of(pair: PairResult, policy: GatePolicy) -> tuple[Outcome, str]:
    verdict = pair.final_verdict
    words = f"{verdict.text} {verdict.reason}"
    if verdict.code == "not_comparable":
        return "error", words
    if lacking := what_is_lacking(pair, policy):
        return "error", lacking
    unsettled = verdict.code in ("not_safe", "too_few")
    if unsettled and pair.differs and not reaches(pair.gain, -pair.margin):
        side = "higher" if pair.lower_is_better else "lower"
        beyond = f"by more than the margin of {pair.margin:g}" if pair.margin else "and there is no margin"
        return "failed", f"{words} It is {side}, {beyond}."
    if policy.require == "non-inferior" and pair.differs:
        if unsettled or not pair.lowest_gain > -pair.margin:
            needed = f"Being non-inferior needs a verdict whose whole interval is above {-pair.margin:g}."
            return "failed", f"{words} {needed}"
        return "passed", words
    if unsettled or verdict.code == "cannot_tell":
        return "inconclusive", words
    return ("failed" if verdict.code in ("worse", "probably_worse") else "passed"), words


def what_is_lacking(pair: PairResult, policy: GatePolicy) -> str:
    """Say which system leaves too many queries without an answer or a score; nothing where none does."""
    n, most = max(pair.n_members, 1), f"at most {policy.allow_missing:.0%} are allowed"
    missing = pair.n_missing or Both(0, 0)
    for system, n_missing in ((pair.b, missing.b), (pair.a, missing.a)):
        if n_missing / n > policy.allow_missing:
            return f"{system} does not answer {n_missing} of {pair.n_members} queries ({n_missing / n:.0%}; {most})"
    share = pair.n_one_sided / n
    if share > policy.allow_missing:
        return (
            f"{pair.measure} is undefined for one of the two on {pair.n_one_sided} of {pair.n_members} queries "
            f"({share:.0%}; {most})"
        )
    return ""


def latency_check(name: str, found: LatencyRatio, policy: GatePolicy, *, system: str, collection: str) -> GateCheck:
    """Return what the gate says of the times of one system: only what is sure to be slower fails."""
    limit = policy.max_latency_ratio or MAX_LATENCY_RATIO
    words = f"The 95th percentile of latency was {found.old_ms:.3g} ms and is {found.new_ms:.3g} ms"
    outcome: Outcome = "inconclusive"
    if found.n < LEAST_TIMED or found.interval is None:
        words += f"; only {counted(found.n, 'query')} timed in both, too few to say more."
    else:
        low, high = found.interval.low, found.interval.high
        outcome = "failed" if low > limit else "passed"
        surely = "surely more than" if outcome == "failed" else "not surely more than"
        words += f", {found.ratio:.2f} times as long (95% CI {low:.2f} to {high:.2f}): {surely} {limit:g} times."
    return GateCheck(f"latency of {name}", outcome, words, None, "latency", system, collection, latency=found)
