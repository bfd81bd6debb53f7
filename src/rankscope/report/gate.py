"""What the gate says, as a report: the verdict, a row for every check, and the queries that got worse, in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from rankscope.comparison.gate import GateCheck, GateResult, Outcome
from rankscope.comparison.records import PairResult
from rankscope.comparison.verdict import decimals, with_sign
from rankscope.printable import counted
from rankscope.report.changed_queries import changed_query
from rankscope.report.comparison import look_words
from rankscope.report.comparison_pair import VERDICT_MARKS
from rankscope.report.document import (
    Block,
    Bullets,
    ChangedQueries,
    Mark,
    Report,
    Section,
    TableBlock,
    VerdictBlock,
)
from rankscope.report.render.markdown import COMMENT_LIMIT, to_markdown
from rankscope.report.render.terminal import to_text
from rankscope.report.repetitions import RUN_TO_RUN, pair_cells, pair_notes, varies
from rankscope.report.side_by_side import side_by_side_report
from rankscope.report.table import Cell, Table
from rankscope.report.words import without_empty
from rankscope.stats.interval import percent

MARKER = "<!-- rankscope gate -->"
"""The first line of a comment, by which a program that posts it finds the one to update."""
OUTCOME_MARKS: dict[Outcome, Mark] = {"passed": "fine", "inconclusive": "look", "failed": "fails", "error": "fails"}
HEADLINES: dict[Outcome, str] = {
    "passed": "The gate passed",
    "inconclusive": "The gate is inconclusive, which does not fail the build",
    "failed": "The gate failed",
    "error": "The gate could not be decided",
}
_LIVE = re.compile(
    r"(?<!\w)[@#](?=\w)|#(?=\d)|!(?=\d)|@(?=[\w-]+\.[A-Za-z])|\bGH-(?=\d)|\b(?:https?|ftp):(?=//)|\bwww(?=\.)",
    re.IGNORECASE,
)
"""What GitHub or GitLab would take for a person to notify, for another issue (`owner/repo#1`), or for a link."""
QUIET = "\\g<0>\u200b"
SHOWN_LISTS = 3
UNDEFINED = "-"


def gate_report(result: GateResult, *, command: str = "", on_page: bool = False) -> Report:
    """Return the report; on a page, which shows both rankings of a query, it does not say that a page does."""
    first: list[Block] = [verdict_of(result)]
    if any(check.compared for check in result.checks):
        first.append(TableBlock("", checks_table(result)))
    others = [check for check in result.checks if check.compared is None and len(result.checks) > 1]
    if others:
        first.append(
            Bullets("Other checks", tuple(f"{check.name}: {check.outcome}. {check.words}" for check in others))
        )
    sections: list[Section] = []
    for check in result.checks:
        for block in worse_queries(check, several=len(result.checks) > 1):
            if check.outcome == "passed":
                sections.append(Section(block.title, (ChangedQueries("", block.queries),), folded=True))
            else:
                first.append(block)
    if notes := (*result.notes, *looks_of(result)):
        first.append(Bullets("To know", notes))
    if steps := tuple(what_to_do(result, on_page=on_page)):
        first.append(Bullets("What to do", steps))
    return Report("Rankscope gate", tuple(first), tuple(sections), tuple(footer_of(result, command)))


def looks_of(result: GateResult) -> Iterator[str]:
    """Yield how often the queries of each collection were compared on, where there is a store that counts."""
    newest: dict[str, int] = {}
    for check in result.checks:
        if check.look is not None:
            newest[check.collection] = max(check.look, newest.get(check.collection, 0))
    for collection, look in newest.items():
        yield f"{collection}: {look_words(look)}" if collection else look_words(look)


def verdict_of(result: GateResult) -> VerdictBlock:
    """Return the answer: of all checks the worst, in its own words."""
    worst = worst_of(result)
    head = HEADLINES[result.outcome]
    if result.outcome == "inconclusive" and result.exit_code:
        head = "The gate is inconclusive, and fails, as was asked for"
    subject = f"{counts_words(result)} · exit code {result.exit_code}"
    if worst is None:
        return VerdictBlock(f"{head}.", "There is nothing to compare.", OUTCOME_MARKS[result.outcome], subject)
    if result.outcome == "passed" and len(result.checks) > 1:
        return VerdictBlock(f"{head}.", "Nothing is worse than in the baseline.", "fine", subject)
    pair = worst.compared
    if pair is None:
        name = "" if worst.kind == "run" else f" ({worst.name})"
        what, *others = worst.words.splitlines()
        begins_with_word = what.partition(" ")[0].isalpha()  # a path or the name of a file stays as it is
        reason = (f"{what[:1].upper()}{what[1:]}" if begins_with_word else what) + ("" if what.endswith(".") else ".")
        reason = " ".join([reason, *(line.replace("Hint:", "What to do:", 1) for line in others)])
        return VerdictBlock(f"{head}{name}.", reason, OUTCOME_MARKS[result.outcome], subject)
    verdict = pair.final_verdict
    reason = worst.words.removeprefix(verdict.text).strip()
    where = f" ({worst.name})" if len(result.checks) > 1 else ""
    more = tuple(caution for caution in verdict.cautions if result.outcome != "passed")
    mark = VERDICT_MARKS[verdict.code] if result.outcome != "error" else "fails"
    return VerdictBlock(f"{head}{where}. {verdict.text}", reason, mark, subject, more)


def counts_words(result: GateResult) -> str:
    """Return how many checks passed, and how many of the others are inconclusive: `1 of 2 checks inconclusive`."""
    counts = Counter(check.outcome for check in result.checks)
    of_all = f"of {counted(len(result.checks), 'check')}"
    if not counts["inconclusive"]:
        return f"{counts['passed']} {of_all} passed"
    others = {"passed": counts["passed"], "failed": counts["failed"] + counts["error"]}
    words = ", ".join(f"{n} {outcome}" for outcome, n in others.items() if n)
    return f"{counts['inconclusive']} {of_all} inconclusive{f', {words}' if words else ''}"


def worst_of(result: GateResult) -> GateCheck | None:
    """Return the check that decides; of several that are as bad, the one that loses most."""
    deciding = [check for check in result.checks if check.outcome == result.outcome]
    return min(deciding, key=lambda check: check.compared.gain if check.compared else 0.0, default=None)


def checks_table(result: GateResult) -> Table:
    rows = []
    compared = [check.compared for check in result.checks if check.compared]
    spreads = iter(pair_cells(compared))
    for check in result.checks:
        if pair := check.compared:
            both = (
                Cell(UNDEFINED if one is None else f"{one:.{decimals(pair)}f}") for one in (pair.mean.a, pair.mean.b)
            )
            rows.append(
                [
                    Cell(check.system or pair.b),
                    Cell(", ".join(filter(None, (check.collection, pair.group)))),
                    Cell(check.outcome),
                    Cell(pair.final_verdict.code.replace("_", " ")),
                    *both,
                    Cell(difference_words(pair)),
                    *next(spreads),
                    Cell(f"{pair.losses} / {pair.wins} of {pair.n_queries}"),
                ]
            )
    pair = compared[0]
    apart = [RUN_TO_RUN] if any(map(varies, compared)) else []
    means = (f"{pair.measure}, baseline", "now")
    header = ["system", "where", "gate", "verdict", *means, "change", *apart, "worse / better"]
    interval = f"change: with its {percent(pair.ci.level)} interval; worse / better: how many queries are"
    notes = (f"both are scored now, by today's judgments; {interval}", *pair_notes(compared))
    return without_empty(Table(header, rows, n_name_columns=4, notes=notes, keep=("gate", "verdict")), "where")


def difference_words(pair: PairResult) -> str:
    """Return the difference with the interval that decides, where there is one."""
    if pair.delta is None:
        return UNDEFINED
    if pair.ci.low is None or pair.ci.high is None:
        return with_sign(pair.delta, pair)
    return f"{with_sign(pair.delta, pair)} [{with_sign(pair.ci.low, pair)}, {with_sign(pair.ci.high, pair)}]"


def worse_queries(check: GateCheck, *, several: bool) -> Iterator[ChangedQueries]:
    """Yield the queries that got worse, where there are any: what was asked, both scores, and what happened."""
    pair = check.compared
    if pair is None or not check.losses:
        return
    sides = {each.query: each for each in check.sides}
    place = ", ".join(filter(None, (check.system, check.collection, pair.group))) if several else ""
    count = counted(pair.losses, "query")
    left = f"; the {len(check.losses)} that lost most" if pair.losses > len(check.losses) else ""
    title = f"{place + ': ' if place else ''}{count} got worse{left}"
    yield ChangedQueries(title, tuple(changed_query(pair, one, sides.get(one.query)) for one in check.losses))


def what_to_do(result: GateResult, *, on_page: bool) -> Iterator[str]:
    if result.outcome in ("failed", "inconclusive") and any(check.losses for check in result.checks):
        where = "open one to see both rankings" if on_page else "a page (-o gate.html) shows both rankings of each"
        yield f"Look at the queries above: {where}, side by side."
    if result.outcome == "failed" and result.baseline is not None:
        where = result.baseline.where
        how = {
            "folder": f"save today's runs as the new baseline and commit it: rankscope baseline save -o {where}",
            "run": f"put today's run in the place of {where}",
            "store": "let a tag name the run to compare with from now on: rankscope history tag NAME RUN",
        }
        yield f"Where the change is worth it all the same, {how[result.baseline.kind]}"


def footer_of(result: GateResult, command: str) -> Iterator[tuple[str, str]]:
    if result.baseline is not None:
        saved = f"saved {result.baseline.created}" if result.baseline.created else ""
        yield "baseline", ", ".join(filter(None, (result.baseline.where, result.baseline.words or saved)))
    if command:
        yield "command", command
    yield "rankscope", result.rankscope


def gate_comment(result: GateResult, *, command: str = "") -> str:
    """Return the comment on a pull request: GitHub's Markdown, with a marker by which it is found again.

    Nobody is notified, and nothing becomes a link, by what a query or a title says.
    """
    text = to_markdown(gate_report(result, command=command), limit=COMMENT_LIMIT - len(MARKER) - 1)
    return f"{MARKER}\n{_LIVE.sub(QUIET, text)}"


def failure_text(check: GateCheck) -> str:
    """Return why a check did not pass, with both rankings of the queries that lost most, for a test's failure."""
    lines = [f"{check.name}: {check.outcome}: {check.words}"]
    for sides in check.sides[:SHOWN_LISTS]:
        lines += ["", to_text(side_by_side_report(sides)).rstrip()]
    if check.compared is not None and check.compared.losses > len(check.sides[:SHOWN_LISTS]) and check.sides:
        lines += ["", f"{check.compared.losses} queries got worse in all."]
    return "\n".join(lines)
