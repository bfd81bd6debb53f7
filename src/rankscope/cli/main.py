"""The entry point: finds the command, runs it, and turns errors into messages and exit codes.

Exit codes: 0 fine, 1 a finding, 2 could not run. Data goes to stdout, everything else to stderr.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from rankscope._version import __version__
from rankscope.cli.style import Parser
from rankscope.errors import RankscopeError, RankscopeWarning, did_you_mean
from rankscope.registry import Entry, Registry

COULD_NOT_RUN = 2
INTERRUPTED = 130

_SUMMARIES = {
    "evaluate": "score runs against qrels",
    "compare": "tell which run is better, how sure that is, and where the difference sits",
    "explain": "show the arithmetic of one score, rank by rank",
    "diagnose": "explain in plain words what a run does badly, and what usually helps",
    "validate": "report what is odd about qrels and runs, without scoring",
    "convert": "turn a run or qrels into another format",
    "fuse": "combine runs into one",
    "import": "take over the files of the evaluation frameworks that Rankscope replaces",
    "init": "write a project file",
    "run": "run the systems of a project: retrieve, time, evaluate, compare, report",
    "collection": "show a collection, or build the HPO benchmark",
    "split": "divide queries into train and held out",
    "plan": "say how many queries a difference takes, or which differences your queries can find",
    "report": "make a report or a chart from scores that were saved before",
    "measures": "list the measures, or explain one",
    "profiles": "list the conventions of other tools that can be followed",
    "doctor": "show what this installation has: versions, kernel, optional packages",
    "demo": "show all of this on a small example that comes with Rankscope",
}
_MODULES = {"import": "import_"}
"""Modules whose name differs from that of their command, which is a keyword of Python."""

COMMANDS: Registry[ModuleType] = Registry(
    "command",
    {name: Entry(f"rankscope.cli.{_MODULES.get(name, name)}", summary) for name, summary in _SUMMARIES.items()},
    entry_points="rankscope.commands",
)
"""Each is a module with a docstring, EPILOG, add_arguments(parser) and run(args) -> exit code."""

EPILOG = """\
examples:
  rankscope evaluate qrels.txt bm25.run dense.run.gz
  rankscope evaluate qrels.txt bm25.run -m "nDCG@10 AP R@100" --format json
  rankscope compare qrels.txt bm25.run dense.run -o report.html
  rankscope explain qrels.txt bm25.run --query 42 -m nDCG@10
  rankscope measures nDCG
  rankscope demo

`rankscope COMMAND --help` explains a command.
exit codes: 0 fine, 1 a finding, 2 could not run"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:
        print("error: standard output is closed", file=sys.stderr)
        return COULD_NOT_RUN
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # idle BLAS threads would spin on the cores the kernel needs
    try:
        with warnings.catch_warnings():
            warnings.showwarning = printer_of_warnings()
            warnings.simplefilter("always", RankscopeWarning)
            if arguments is None:
                load_for_good(given)
            code = dispatch(given, owns_process=arguments is None)
            sys.stdout.flush()
    except RankscopeError as error:
        print(f"error: {error.message}", *([f"hint: {error.hint}"] if error.hint else []), sep="\n", file=sys.stderr)
        return COULD_NOT_RUN
    except BrokenPipeError:
        discard_output()  # the reader left; so does what is buffered
        return COULD_NOT_RUN if GATES.intersection(given) else 0
    except OSError as error:
        print(f"error: {error.strerror or error}{f': {error.filename}' if error.filename else ''}", file=sys.stderr)
        discard_output()
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception:  # noqa: BLE001 (1 says that something was found, so a fault of ours must not exit with it)
        import traceback  # hardly ever needed

        traceback.print_exc()
        return COULD_NOT_RUN
    return code


GATES = {"--fail-if-worse", "--fail-under", "--require"}
"""With these a build waits for the exit code: an answer that could not be printed must not count as passed."""


def discard_output() -> None:
    """Let what is buffered go nowhere, so that Python does not stumble over it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


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
        return 0
    name = given[0]
    if name not in COMMANDS:
        hint = did_you_mean(name, COMMANDS) or "`rankscope --help` lists the commands"
        print(f"error: there is no command {name!r}\nhint: {hint}", file=sys.stderr)
        return COULD_NOT_RUN
    args = parser_of(name).parse_args(given[1:])
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
        if str(message) not in said:
            said.add(str(message))
            print(f"warning: {message}", file=sys.stderr)

    return print_warning


if __name__ == "__main__":
    sys.exit(main())
