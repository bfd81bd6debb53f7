"""The entry point: finds the command, runs it, and turns errors into messages and exit codes.

Data goes to stdout, everything else to stderr.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

from rankscope._version import __version__
from rankscope.cli.exit_codes import (
    BUG,
    FINE,
    IN_HELP,
    INTERRUPTED,
    TERMINATED,
    UNFINISHED,
    WRONG_INPUT,
    code_of_error,
)
from rankscope.cli.memory_limit import refuse_libraries_beyond_the_limit
from rankscope.cli.style import Parser, ParserExit
from rankscope.errors import RankscopeError, RankscopeWarning, did_you_mean, shorten
from rankscope.io.limits import NO_ROOM, NOT_ALLOWED, WRONG_PATHS
from rankscope.printable import printable_lines
from rankscope.registry import Entry, Registry

_SUMMARIES = {
    "evaluate": "score runs against qrels",
    "compare": "tell which run is better, how sure that is, and where the difference sits",
    "check": "check what you expect of rankings, query by query: targets",
    "explain": "show the arithmetic of one score, rank by rank",
    "show": "show what two runs answer to a query, side by side",
    "diagnose": "explain in plain words what a run does badly, and what usually helps",
    "validate": "report what is odd about qrels and runs, without scoring",
    "convert": "turn a run or qrels into another format",
    "embed": "write the vectors of a collection's docs or queries to a file",
    "fuse": "combine runs into one",
    "import": "take over the files of the evaluation frameworks that Rankscope replaces",
    "init": "write a project file",
    "run": "run the systems of a project: retrieve, time, evaluate, compare, report",
    "store": "look after what is kept: check, backup, restore, export, import, copy",
    "history": "show what became of systems over time, and what changed between two runs",
    "judge": "let people judge docs: tasks, invitations, agreement, qrels, and what is settled",
    "serve": "open the page: results, comparisons, queries, history",
    "user": "say who may use the page of a team, and what each may do",
    "leaderboard": "rank systems over many collections",
    "rescore": "score all stored runs under the judgments of today, and tell labels from systems",
    "baseline": "save runs as a baseline, a folder to commit",
    "gate": "compare today's runs with a baseline, and pass or fail a build",
    "watch": "run a project, compare it with its history, and send a message where quality fell",
    "collection": "show a collection, or build the HPO benchmark",
    "split": "divide queries into train and held out",
    "plan": "say how many queries a difference takes, or which differences your queries can find",
    "report": "make a report or a chart from scores that were saved before",
    "measures": "list the measures, or explain one",
    "profiles": "list the conventions of other tools that can be followed",
    "doctor": "show what this installation has: versions, kernel, optional packages",
    "demo": "show all of this on a small example that comes with Rankscope",
}
DEBUG = "--debug"
CLEAN_UP_S = 5
"""How long a command that is terminated may take to clean up."""
LONGEST_WORD = 1000
"""A longer word of a warning or error is cut."""
_MODULES = {"import": "import_"}
"""Modules whose name differs from that of their command, which is a keyword of Python."""

COMMANDS: Registry[ModuleType] = Registry(
    "command",
    {name: Entry(f"rankscope.cli.{_MODULES.get(name, name)}", summary) for name, summary in _SUMMARIES.items()},
    entry_points="rankscope.commands",
)
"""Each is a module with a docstring, EPILOG, add_arguments(parser) and run(args) -> exit code."""

EPILOG = f"""\
examples:
  rankscope evaluate qrels.txt bm25.run dense.run.gz
  rankscope evaluate qrels.txt bm25.run -m "nDCG@10 AP R@100" --format json
  rankscope compare qrels.txt bm25.run dense.run -o report.html
  rankscope explain qrels.txt bm25.run --query 42 -m nDCG@10
  rankscope measures nDCG
  rankscope demo

{IN_HELP}

`rankscope COMMAND --help` explains a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    given, debug = without_debug(list(sys.argv[1:] if arguments is None else arguments))
    if sys.stdout is None:
        say("error: standard output is closed")
        return WRONG_INPUT
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # idle BLAS threads would spin on the cores the kernel needs
    with ended_by_sigterm(owns_process=arguments is None) as signals:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = printer_of_warnings()
                warnings.simplefilter("always", RankscopeWarning)
                if arguments is None:
                    refuse_libraries_beyond_the_limit()
                    load_for_good(given)
                code = dispatch(given, owns_process=arguments is None)
                sys.stdout.flush()
        except ParserExit:
            raise
        except BaseException as error:  # noqa: BLE001 (whatever it is, it must not end as a finding, which 1 says)
            try:
                return ended_by(error, given, debug=debug, is_terminated=bool(signals))
            except MemoryError:
                error.__traceback__ = error.__context__ = None  # gives back what the command held
                with suppress(OSError):
                    os.write(2, NO_MEMORY_LEFT)
                return UNFINISHED
    return code


NO_MEMORY_LEFT = b"error: there is not enough memory to finish\n"
"""What is said where there is not even memory to say what happened."""


def ended_by(error: BaseException, given: Sequence[str], *, debug: bool, is_terminated: bool) -> int:
    """Say what ended a command, and return the exit code."""
    if has_reader_left(error):
        discard_output()  # and so does what is buffered
        is_gate = given[:1] == ["gate"] or GATES.intersection(word.partition("=")[0] for word in given)
        return WRONG_INPUT if is_gate else FINE
    if isinstance(error, MemoryError) and not debug:
        error.__traceback__ = error.__context__ = None  # gives back what the command held
    code, lines = outcome_of(error, given, is_terminated=is_terminated)
    if debug:
        from rankscope.cli.bug_report import traceback_text

        lines = [traceback_text(error).rstrip(), *lines]
    if any("://" in word for word in given):
        from rankscope.io.addresses import without_secrets_of

        lines = [without_secrets_of(given, line) for line in lines]
    say(*lines)
    discard_unwritable_output()
    return code


def without_debug(given: list[str]) -> tuple[list[str], bool]:
    """Return the arguments without --debug, which may stand anywhere before a --, and whether it was there."""
    end = given.index("--") if "--" in given else len(given)
    kept = [argument for argument in given[:end] if argument != DEBUG]
    return kept + given[end:], len(kept) < end


OUT_OF_MEMORY = (
    "std::bad_alloc",
    "not enough memory",
    "cannot allocate memory",
    "can't start new thread",
    "failed to map segment",
)
"""What other packages say, each in an error of its own, where a thread, a library or a buffer did not fit."""


def outcome_of(error: BaseException, given: Sequence[str], *, is_terminated: bool) -> tuple[int, Sequence[str]]:
    """Return the exit code for an error, and the lines that say what happened."""
    if isinstance(error, KeyboardInterrupt):
        return (TERMINATED, ["terminated"]) if is_terminated else (INTERRUPTED, ["interrupted"])
    if isinstance(error, RankscopeError):
        return code_of_error(error), [f"error: {error.message}", *([f"hint: {error.hint}"] if error.hint else [])]
    if isinstance(error, MemoryError) or any(words in str(error).lower() for words in OUT_OF_MEMORY):
        hint = "hint: end other programs, raise the limit of this one (ulimit -v), or give less at a time"
        return UNFINISHED, ["error: there is not enough memory to finish", hint]
    if isinstance(error, OSError):
        is_stdout = error.errno in NO_ROOM or is_stdout_broken()  # files that we write are named
        where = error.filename if error.filename is not None else "standard output" if is_stdout else ""
        line = f"error: {error.strerror or error}" + (f": {os.fsdecode(where)}" if where else "")
        return WRONG_INPUT if error.errno in WRONG_PATHS | NOT_ALLOWED else UNFINISHED, [line]
    from rankscope.cli.bug_report import bug_lines

    return BUG, bug_lines(error, given)


@contextmanager
def ended_by_sigterm(*, owns_process: bool) -> Iterator[list[int]]:
    """Let SIGTERM end a command as Ctrl-C does, with its clean-up; yield the signals that came.

    Only where the process was started for the command. A second signal ends it at once, and so does time: a thread may
    be stuck in reading a pipe.
    """
    came: list[int] = []

    def stop(number: int, _frame: object) -> None:
        came.append(number)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        from threading import Timer  # not needed by any other end

        limit = Timer(CLEAN_UP_S, os._exit, (TERMINATED,))
        limit.daemon = True
        limit.start()
        raise KeyboardInterrupt

    if not owns_process or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield came
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


GATES = {"check", "--fail-if-worse", "--fail-under", "--require"}
"""With these words a build waits for the exit code: an answer that could not be printed must not count as passed."""


def has_reader_left(error: BaseException) -> bool:
    """Tell whether nobody reads standard output any more, at which rich ends the process instead of saying so."""
    is_end_by_rich = isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)
    return is_end_by_rich or isinstance(error, BrokenPipeError)


def discard_output() -> None:
    """Let what is buffered go nowhere, so that Python does not stumble over it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def is_stdout_broken() -> bool:
    """Tell whether standard output cannot be written: what is buffered there stays, and fails again."""
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def discard_unwritable_output() -> None:
    if is_stdout_broken():
        discard_output()


def say(*lines: str) -> None:
    """Print lines to stderr, as far as there is one."""
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(*(printable_lines(cut_words(line)) for line in lines), sep="\n", file=sys.stderr, flush=True)


def cut_words(text: str) -> str:
    """Cut words that nobody reads to their end, such as an id of megabytes."""
    if len(text) <= LONGEST_WORD:
        return text
    return re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda match: shorten(match[0]), text)


def load_for_good(given: Sequence[str]) -> None:
    """Load the command, where the process was started for it alone.

    What is loaded stays to the end: Python need not look for garbage in it, neither meanwhile nor when it ends, which
    would take a tenth of the time of a small evaluation. NumPy, which every command needs, is loaded from here: at the
    end of a long chain of imports Python's stack of frames can sit at the edge of a block, and then takes and gives
    back memory with every call, which was seen to cost 15 ms.
    """
    gc.disable()
    if given and given[0] in COMMANDS.entries:
        import numpy  # noqa: F401, ICN001 (for what it does to the start)

        COMMANDS[given[0]]
    gc.freeze()
    gc.enable()


def dispatch(given: list[str], *, owns_process: bool = False) -> int:
    if not given or given[0].startswith("-"):
        parser = top_level_parser()
        parser.parse_args(given)
        parser.print_help()
        return FINE
    name = given[0]
    if name not in COMMANDS:
        hint = did_you_mean(name, COMMANDS) or "`rankscope --help` lists the commands"
        say(f"error: there is no command {name!r}", f"hint: {hint}")
        return WRONG_INPUT
    parser = parser_of(name)
    # after an action, options may stand among the names: `history diff --anyway A B`
    parse = parser.parse_intermixed_args if hasattr(COMMANDS[name], "ACTIONS") else parser.parse_args
    args = parse(given[1:])
    args.given = given  # reports say how they were made
    args.owns_process = owns_process
    return int(COMMANDS[name].run(args))


def parser_of(name: str) -> Parser:
    command = COMMANDS[name]
    parser = Parser(f"rankscope {name}", description=str(command.__doc__), epilog=command.EPILOG)
    command.add_arguments(parser)
    return parser


def top_level_parser() -> Parser:
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:<{width}}  {COMMANDS.summary(name)}" for name in COMMANDS)
    question = "Is this ranking good, which variant is better, where does it fail, and can that answer be trusted?"
    described = f"{question}\n\ncommands:\n{listed}"
    parser = Parser("rankscope", usage="rankscope COMMAND ...", description=described, epilog=EPILOG)
    version = f"rankscope {__version__}"
    parser.add_argument("--version", action="version", version=version, help="show the version of Rankscope")
    return parser


def printer_of_warnings() -> Callable[..., None]:
    """Return what prints a warning as a line, each text once however often it is given."""
    said: set[str] = set()

    def print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
        for note in message.notes if isinstance(message, RankscopeWarning) else [str(message)]:
            if note not in said:
                said.add(note)
                say(f"warning: {note}")

    return print_warning


if __name__ == "__main__":
    sys.exit(main())
