"""The report of a leaderboard over many collections."""

from __future__ import annotations

from collections.abc import Iterator

from rankscope.experiment.leaderboard import N_REFERENCE, Leaderboard, LeaderboardSystem
from rankscope.measures.scores import show
from rankscope.printable import counted
from rankscope.report.document import Block, Report, Section, TableBlock, VerdictBlock
from rankscope.report.history import interval_ends, number
from rankscope.report.table import Cell, Table


def report_of(board: Leaderboard, *, command: str = "") -> Report:
    first: list[Block] = [answer_of(board), TableBlock(f"Systems by mean rank ({board.measure})", ranks_table(board))]
    intervals = TableBlock("", intervals_table(board), folded=True)
    return Report(
        title=f"Leaderboard: {board.measure} over {counted(len(board.collections), 'collection')}",
        first_screen=tuple(first),
        sections=(Section("Every mean with its interval", (intervals,)),),
        footer=(("rankscope", board.rankscope), *((("command", command),) if command else ())),
    )


def answer_of(board: Leaderboard) -> VerdictBlock:
    ranked = [row for row in board.rows if row.mean_rank is not None]
    subject = (
        f"{board.measure} · {counted(len(board.rows), 'system')} · {counted(len(board.collections), 'collection')}"
    )
    if not ranked:
        return VerdictBlock(
            "No system is on all collections, so there is no leader.",
            "A mean of ranks needs every system on every collection; --collection NAME chooses the ones to rank by.",
            "note",
            subject,
        )
    leaders = [row.system for row in ranked if row.mean_rank == ranked[0].mean_rank]
    lead = f"{' and '.join(leaders)} {'share' if len(leaders) > 1 else 'has'} the best mean rank"
    cautions = []
    best = [row for row in ranked if row.standardised is not None]
    if best:
        top = max(best, key=lambda row: row.standardised or 0.0)
        if top.system not in leaders:
            cautions.append(f"By standardised scores {top.system} leads: the two ways of averaging do not agree.")
    if len(board.collections) < 5:
        cautions.append("Few collections: another one could turn the order.")
    cautions += not_ranked(board)
    for each in board.collections:
        if each.left_out:
            names = ", ".join(each.left_out)
            cautions.append(f"{each.name}: {names} was asked other queries than the newest run, and is left out.")
    among = f" of the {len(ranked)} on all collections" if len(ranked) < len(board.rows) else ""
    return VerdictBlock(
        f"{lead}{among} ({ranked[0].mean_rank:.2f}).",
        "These are ranks of means, not verdicts: rankscope compare tells on each collection whether a difference is "
        "real. Means of different collections are never averaged, as they do not mean the same.",
        "note",
        subject,
        tuple(cautions),
    )


def not_ranked(board: Leaderboard) -> Iterator[str]:
    """Yield which systems have no place, and where one of them has the best value all the same."""
    out = [row.system for row in board.rows if row.mean_rank is None]
    if out:
        yield f"Not ranked, as they are not on all collections: {', '.join(out)}."
    for i, collection in enumerate(board.collections):
        best = [row.system for row in board.rows if has_best_value(board, row, i)]
        if best and all(system in out for system in best):
            yield f"On {collection.name}, {' and '.join(best)} {'have' if len(best) > 1 else 'has'} the best value."


def has_best_value(board: Leaderboard, row: LeaderboardSystem, i: int) -> bool:
    """Whether no system has a better mean on a collection, ranked or not."""
    means = [cell.mean for each in board.rows if (cell := each.cells[i]) and cell.mean is not None]
    cell = row.cells[i]
    return cell is not None and cell.mean is not None and cell.mean == (min if board.better == "lower" else max)(means)


def ranks_table(board: Leaderboard) -> Table:
    rows = [
        [
            Cell(row.system),
            Cell("" if row.mean_rank is None else f"{row.mean_rank:.2f}", raw=repr(row.mean_rank)),
            Cell("" if row.standardised is None else f"{row.standardised:.3f}", raw=repr(row.standardised)),
            *(cell_of(board, row, i) for i in range(len(board.collections))),
        ]
        for row in board.rows
    ]
    header = ["system", "mean rank", "standardised", *(each.name for each in board.collections)]
    notes = ["mean rank: of the places by mean on each collection, 1 is the best"]
    if any(row.mean_rank is None for row in board.rows):
        notes[0] += "; counted among the systems that are on all collections"
    lacking = [each for each in board.collections if each.n_reference < N_REFERENCE]
    if lacking:
        counts = ", ".join(f"{each.name} has {each.n_reference}" for each in lacking)
        notes.append(f"standardised scores need {N_REFERENCE} different stored runs of a collection; {counts}")
    else:
        notes.append(
            "standardised: the mean share of ten reference runs of a collection that score lower on a query, equal "
            "ones counting half"
        )
    return Table(header, rows, notes=notes, keep=("mean rank",))


def cell_of(board: Leaderboard, row: LeaderboardSystem, i: int) -> Cell:
    cell = row.cells[i]
    if cell is None or cell.mean is None:
        return Cell("-")
    return Cell(show(cell.mean), raw=repr(cell.mean), best=has_best_value(board, row, i))


def intervals_table(board: Leaderboard) -> Table:
    rows = [
        [
            Cell(collection.name),
            Cell(row.system),
            Cell(f"{cell.run}"),
            number(cell.mean),
            Cell(interval_ends(cell.low, cell.high)),
            Cell("" if cell.rank is None else f"{cell.rank:g}"),
            Cell("" if cell.standardised is None else f"{cell.standardised:.3f}"),
            Cell(f"{collection.n_queries}"),
        ]
        for i, collection in enumerate(board.collections)
        for row in board.rows
        if (cell := row.cells[i]) is not None
    ]
    header = ["collection", "system", "run", board.measure, "95% interval", "rank", "standardised", "queries"]
    return Table(header, rows, n_name_columns=3, keep=(board.measure,))
