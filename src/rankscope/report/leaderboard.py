"""The report of a leaderboard over many collections."""

from __future__ import annotations

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
    if out := [row.system for row in board.rows if row.mean_rank is None]:
        cautions.append(f"Not ranked, as they are not on all collections: {', '.join(out)}.")
    for each in board.collections:
        if each.left_out:
            names = ", ".join(each.left_out)
            cautions.append(f"{each.name}: {names} was asked other queries than the newest run, and is left out.")
    return VerdictBlock(
        f"{lead} ({ranked[0].mean_rank:.2f}).",
        "These are ranks of means, not verdicts: `rankscope compare` tells on each collection whether a difference is "
        "real. Means of different collections are never averaged, as they do not mean the same.",
        "note",
        subject,
        tuple(cautions),
    )


def ranks_table(board: Leaderboard) -> Table:
    best = {
        i: min((cell.rank for row in board.rows if (cell := row.cells[i]) and cell.rank is not None), default=None)
        for i in range(len(board.collections))
    }
    rows = [
        [
            Cell(row.system),
            Cell("" if row.mean_rank is None else f"{row.mean_rank:.2f}", raw=repr(row.mean_rank)),
            Cell("" if row.standardised is None else f"{row.standardised:.3f}", raw=repr(row.standardised)),
            *(cell_of(row, i, best[i]) for i in range(len(board.collections))),
        ]
        for row in board.rows
    ]
    header = ["system", "mean rank", "standardised", *(each.name for each in board.collections)]
    notes = ["mean rank: of the places by mean on each collection, 1 is the best"]
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


def cell_of(row: LeaderboardSystem, i: int, best: float | None) -> Cell:
    cell = row.cells[i]
    if cell is None or cell.mean is None:
        return Cell("-")
    return Cell(show(cell.mean), raw=repr(cell.mean), best=best is not None and cell.rank == best)


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
