"""The gate: whether a comparison lets a change pass. Exit code, JUnit and text read the result made here.

| outcome | when | exit code |
| --- | --- | --- |
| passed | better, probably better, the same, identical | 0 |
| failed | worse, probably worse; not safe or too few queries while lower by more than the margin | 1 |
| inconclusive | cannot tell; not safe or too few otherwise | 0 (warn, pass) or 1 (fail), as `on_inconclusive` says |
| error | not comparable; too many queries not answered | 2 |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from rankscope.comparison.records import Comparison, PairResult
from rankscope.errors import OptionError
from rankscope.measures.scores import reaches
from rankscope.records import Both, Options, Record

Outcome = Literal["passed", "inconclusive", "failed", "error"]
"""The worst last."""
ON_INCONCLUSIVE = ("warn", "fail", "pass")


class GatePolicy(Options):
    """What a gate lets pass."""

    on_inconclusive: str = "warn"
    allow_missing: float = 0.10
    """The share of queries that a system may leave unanswered."""
    require: str | None = None
    """non-inferior: pass only where the whole interval lies above minus the margin."""

    def __post_init__(self) -> None:
        if self.on_inconclusive not in ON_INCONCLUSIVE:
            raise OptionError(f"on_inconclusive {self.on_inconclusive!r} is not one of {', '.join(ON_INCONCLUSIVE)}")
        if not 0 <= self.allow_missing <= 1:
            raise OptionError(f"allow_missing = {self.allow_missing} is not a share from 0 to 1")
        if self.require not in (None, "non-inferior"):
            raise OptionError(f"require {self.require!r} is not known", hint="there is non-inferior")


class GateCheck(Record):
    """What the gate says of one system, or of one target."""

    name: str
    outcome: Outcome
    words: str
    compared: PairResult | None = None


class GateResult(Record):
    """What the gate says of all: the worst outcome decides."""

    checks: tuple[GateCheck, ...]
    policy: GatePolicy

    @property
    def outcome(self) -> Outcome:
        return max((check.outcome for check in self.checks), key=get_args(Outcome).index, default="passed")

    @property
    def exit_code(self) -> int:
        """0 passed, 1 failed, 2 nothing can be said because something is wrong."""
        inconclusive = 1 if self.policy.on_inconclusive == "fail" else 0
        return {"passed": 0, "inconclusive": inconclusive, "failed": 1, "error": 2}[self.outcome]

    def lines(self) -> Iterator[str]:
        """Yield what the gate says: a line for everything that did not pass, then one for all."""
        fails = self.policy.on_inconclusive == "fail"
        for check in self.checks:
            if check.outcome != "passed":
                how = " (fails, as --on-inconclusive says)" if fails and check.outcome == "inconclusive" else ""
                yield f"gate: {check.name}: {check.outcome}{how}: {check.words}"
        n_passed = sum(check.outcome == "passed" for check in self.checks)
        yield f"gate: {self.outcome} ({n_passed} of {len(self.checks)} passed), exit code {self.exit_code}"


def gate_of(comparison: Comparison, policy: GatePolicy, *, collection: str = "") -> GateResult:
    if comparison.baseline is None:
        raise OptionError("a gate needs a baseline, but all pairs are compared", hint="compare with a baseline instead")
    checks = []
    for pair in comparison:
        where = ", ".join(filter(None, (collection, pair.group)))
        name = f"{pair.b} vs {pair.a}" + (f" ({where})" if where else "")
        checks.append(GateCheck(name, *outcome_of(pair, policy), pair))
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
