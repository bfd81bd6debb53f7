"""The exit codes: one table, which help, docs and every command follow."""

from __future__ import annotations

from typing import NamedTuple

from rankscope.errors import RankscopeError, UnfinishedError

FINE = 0
FINDING = 1
WRONG_INPUT = 2
UNFINISHED = 3
BUG = 70
INTERRUPTED = 130
TERMINATED = 143


class ExitCode(NamedTuple):
    """A code that a command ends with."""

    code: int
    name: str
    meaning: str
    examples: str


EXIT_CODES = (
    ExitCode(FINE, "FINE", "fine", "all was done, and a gate, if there is one, passed; `--help`"),
    ExitCode(
        FINDING, "FINDING", "a finding", "a gate failed, `validate` found something, queries of `run` were not answered"
    ),
    ExitCode(
        WRONG_INPUT,
        "WRONG_INPUT",
        "wrong use or input",
        "an unknown option, a file that is missing or malformed, ids that match nothing, a system that is left out",
    ),
    ExitCode(
        UNFINISHED,
        "UNFINISHED",
        "could not finish",
        "the disk is full or read-only, memory ran out, a file could not be read to its end, "
        "a query failed with `run --on-failure stop`",
    ),
    ExitCode(BUG, "BUG", "a bug of Rankscope", "please report what is printed; `--debug` adds the traceback"),
    ExitCode(INTERRUPTED, "INTERRUPTED", "interrupted", "Ctrl-C (SIGINT)"),
    ExitCode(TERMINATED, "TERMINATED", "terminated", "`kill`, `timeout`, a job that is cancelled (SIGTERM)"),
)

IN_HELP = "\n".join(["exit codes:", *(f"  {each.code:<3}  {each.meaning}" for each in EXIT_CODES)])


def code_of_error(error: RankscopeError) -> int:
    return UNFINISHED if isinstance(error, UnfinishedError) else WRONG_INPUT


def markdown_table() -> str:
    rows = (f"| {each.code} | `{each.name}` | {each.meaning} | {each.examples} |\n" for each in EXIT_CODES)
    return "".join(["| code | name | meaning | for example |\n", "| --- | --- | --- | --- |\n", *rows])
