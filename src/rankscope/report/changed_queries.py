"""The queries that changed most between two systems: what was asked, what happened, and both rankings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rankscope.analysis.side_by_side import DocChange, SideBySide
from rankscope.comparison.records import Comparison, PairResult, QueryChange, QueryGroup
from rankscope.comparison.words import SHOWN_SIDES, changes_of
from rankscope.data.texts import beginning, one_line
from rankscope.measures.parse import parse_measure
from rankscope.printable import counted
from rankscope.records import or_nan
from rankscope.report.document import ChangedQueries, ChangedQuery
from rankscope.report.repetitions import first_repetition_of, varies
from rankscope.report.words import LONGEST_TEXT

FURTHER = 15
"""Losses, and gains, that follow the first ones, folded."""
WORDS_FOR = {"loss": ("losses", "worse"), "gain": ("gains", "better")}


def changed_queries(comparison: Comparison, pair: PairResult) -> Iterator[ChangedQueries]:
    """Yield the largest losses and gains of a pair, the first ones in full and further ones folded.

    They have the numbers that `rankscope show --loss N` and `--gain N` take.
    """
    group = next(group for group in comparison.groups if group.name == pair.group)
    sides = {each.query: each for each in comparison.lists.get((pair.group, pair.a, pair.b), ())}
    both = dict(zip(WORDS_FOR, changes_of(comparison, group, pair), strict=True))
    n_first = max(len(pair.worst or ()), len(pair.best or ()), SHOWN_SIDES)
    further = []
    note = " ".join(filter(None, (first_repetition_of(comparison, pair), how_to_see(comparison, group, pair))))
    for name, changes in both.items():
        if not changes:
            continue
        n_listed = max(sum(one.query in sides for one in changes), n_first + FURTHER)
        listed = [changed_query(pair, one, sides.get(one.query)) for one in changes[:n_listed]]
        plural, became = WORDS_FOR[name]
        share = f"{min(n_first, len(changes))} of {counted(len(changes), 'query')} that got {became}"
        title = f"Largest {plural}: {share}" if len(changes) > n_first else f"All {plural}"
        yield ChangedQueries(title, tuple(listed[:n_first]), note=note)
        note = ""  # said once
        if listed[n_first:]:
            left = len(changes) - len(listed)
            smaller = f"{left:,} more {plural} are smaller." if left else ""
            title = f"Further {plural}: {n_first + 1} to {len(listed)} of {len(changes)}"
            further.append(ChangedQueries(title, tuple(listed[n_first:]), n_first + 1, note=smaller, folded=True))
    yield from further


def changed_query(pair: PairResult, change: QueryChange, sides: SideBySide | None) -> ChangedQuery:
    return ChangedQuery(
        query=change.query,
        text=beginning(one_line(change.text or ""), LONGEST_TEXT),
        before=change.a,
        after=change.b,
        mark="better" if pair.sign * change.delta > 0 else "worse",
        why=why_of(pair, change, sides),
        sides=sides,
    )


def why_of(pair: PairResult, change: QueryChange, sides: SideBySide | None) -> str:
    """Say what happened to a query; nothing where the rankings are of one repetition and do not show the change."""
    if sides is None:
        return what_moved(change, pair)
    return what_happened(sides, pair.sign) if (sides.difference or 0.0) * change.delta > 0 else ""


def how_to_see(comparison: Comparison, group: QueryGroup, pair: PairResult) -> str:
    """Say which command shows the rankings of these queries, or of any other; nothing where there are no runs."""
    if not comparison.scores.policies:
        return ""
    path_of = {run.name: run.path for run in comparison.runs}
    files = (comparison.qrels.path or "QRELS", path_of[pair.a] or pair.a, path_of[pair.b] or pair.b)
    measure = "" if pair.measure == "nDCG@10" else f" -m {shlex.quote(pair.measure)}"
    profile = f" --profile {comparison.profile}" if comparison.profile else ""
    words = "".join(f" --{name} {shlex.quote(path)}" for name, path in comparison.texts.files.items())
    command = f"rankscope show {shlex.join(files)}{measure}{profile}{words}"
    value = language_of(comparison, group)
    if value and "queries" in comparison.texts.files:
        command += f" --language {shlex.quote(value)}"
    elif group.name is not None and not group.pooled:
        return f"Both rankings of any query: {command} --query ID"
    if not group.uncounted and not varies(pair):
        return f"Both rankings of any query: {command} --loss 1 for the first loss, --gain 1 or --query ID for others."
    return f"Both rankings of any query: {command} --query ID"


def language_of(comparison: Comparison, group: QueryGroup) -> str:
    """Return the language whose queries a group holds; empty for those of several, or of none that is named."""
    named = group.name is not None and not group.pooled and group.name != f"without {comparison.isolated_by}"
    return group.name or "" if named else ""


def what_happened(sides: SideBySide, sign: float) -> str:
    """Say in a few words what became of the docs that made the difference: only what goes the same way as the score.

    `sign` is 1 where more is better, -1 where less is.
    """
    difference = sides.difference
    if not difference:
        return ""
    is_loss = sign * difference < 0
    if is_loss and not sides.b.n_retrieved:
        return f"{sides.b.run} returns nothing"
    if not is_loss and not sides.a.n_retrieved:
        return f"{sides.a.run} returns nothing"
    depth = parse_measure(sides.measure).options.get("k")
    made = [one for one in sides.changes if one.is_relevant and one.change * difference > 0]
    inside = [(is_within(one.rank_a, depth), is_within(one.rank_b, depth)) for one in made]
    among = f"the first {depth}" if depth else "the list"
    if is_loss:
        crossed = [one for one, (before, after) in zip(made, inside, strict=True) if before and not after]
        moved = [one for one, both in zip(made, inside, strict=True) if all(both) and rank_change(one) > 0]
        verbs = (f"left {among}", "fell")
    else:
        crossed = [one for one, (before, after) in zip(made, inside, strict=True) if after and not before]
        moved = [one for one, both in zip(made, inside, strict=True) if all(both) and rank_change(one) < 0]
        verbs = (f"came into {among}", "rose")
    against = [one for one in sides.changes if one.is_relevant and one.change * difference < 0]
    ways = [(is_within(one.rank_a, depth), is_within(one.rank_b, depth)) for one in against]
    n_back = sum(after and not before if is_loss else before and not after for before, after in ways)
    words = [words_for(docs, verb, sides) for docs, verb in zip((crossed, moved), verbs, strict=True) if docs]
    if words and n_back:
        words.append(f"while {n_back} {'came in' if is_loss else 'left'}")
    return ", ".join(words)


def rank_change(one: DocChange) -> int:
    """Return by how many ranks a doc fell; below 0 it rose."""
    return (one.rank_b or 0) - (one.rank_a or 0)


def what_moved(change: QueryChange, pair: PairResult) -> str:
    """Say what became of the doc that made most of the change, where no lists are at hand; empty if it is not known."""
    moved = () if pair.movement is None else pair.movement.queries
    docs = next((query.docs for query in moved if query.query == change.query), ())
    same_way = [doc for doc in docs if or_nan(doc.change) * change.delta > 0]
    if not same_way:
        return ""
    words = {
        "lost": "a doc of grade {0.grade:g} at rank {0.rank_a} is lost",
        "new": "a doc of grade {0.grade:g} is new at rank {0.rank_b}",
        "demoted": "a doc of grade {0.grade:g} fell from {0.rank_a} to {0.rank_b}",
        "promoted": "a doc of grade {0.grade:g} rose from {0.rank_a} to {0.rank_b}",
    }
    return words.get(same_way[0].kind, "").format(same_way[0])


def is_within(rank: int | None, depth: int | None) -> bool:
    return rank is not None and (depth is None or rank <= depth)


def words_for(docs: Sequence[DocChange], verb: str, sides: SideBySide) -> str:
    """Say what became of some relevant docs: of a single one, from which rank to which."""
    if len(docs) > 1:
        return f"{counted(len(docs), 'relevant doc')} {verb}"
    which, before, after = "the" if sides.n_relevant == 1 else "a", docs[0].rank_a, docs[0].rank_b
    if before is None:
        return f"{which} relevant doc is new at rank {after}"
    if after is None:
        return f"{which} relevant doc at rank {before} is lost"
    return f"{which} relevant doc {'rose' if after < before else 'fell'} from {before} to {after}"
