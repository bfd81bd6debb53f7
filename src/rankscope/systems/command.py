"""Any program that reads queries and prints a run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Annotated, Any, BinaryIO, ClassVar, Literal

from msgspec.structs import replace

from rankscope.errors import shorten
from rankscope.io.columns import ANSWER_COLUMNS
from rankscope.systems.answers import (
    LARGEST_ANSWER_BYTES,
    Answer,
    BadAnswerError,
    RemoteSystem,
    by_position,
    check_ranking,
    reason_of,
    shown,
    without_leak,
)
from rankscope.systems.base import Query, RankedDocs
from rankscope.systems.options import NO_EFFECT, AboveZero, AtLeastOne
from rankscope.systems.program import LastLine, Program, split_command
from rankscope.systems.secrets import secrets_in

EXAMPLE = "./search --top {k}"
_NOTHING_PRINTED = "the program printed nothing for it"
_FIRST_KEY = re.compile(
    r"""\s*\{\s*"(?:query_id|id|qid)"\s*:\s*
    (?:"((?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*)"|(-?\d{1,20}))\s*[,}]""",
    re.VERBOSE,
)
"""The query that a line of JSON begins with, whatever follows."""
_MOST_SKIPPED = 1 << 20
"""A program that prints more lines which are blank, or belong to no query, is given up."""


class Command(RemoteSystem, kw_only=True):
    """Starts a program that reads queries on standard input and prints a run.

    It gets one query a line, as JSON with id, text and attributes, or as id and text with a tab between. It prints TREC
    text (query Q0 doc rank score tag), or one line of JSON for each query: {"query_id": "7", "results": [["d1", 2.5]]}.
    Lines of JSON are taken as they come; TREC text counts once the program has ended well.
    """

    kind: ClassVar[str] = "command"
    command: str | Sequence[str]
    """The program with its arguments; {k} is the number of docs wanted for each query."""
    input: Literal["jsonl", "tsv"] = "jsonl"
    """How queries are handed over: jsonl or tsv."""
    timeout_s: Annotated[AboveZero, NO_EFFECT] = 3600.0
    """How long the program may take, in seconds; then it is ended with all processes of its group."""
    attempts: Annotated[AtLeastOne, NO_EFFECT] = 2
    """How often the program is started before queries without an answer count as failed."""

    @classmethod
    def check_given(cls, given: Mapping[str, Any]) -> None:
        command = given.get("command")
        if command is None:
            return
        split_command(command, example=EXAMPLE)

    def arguments(self, *, k: int) -> list[str]:
        parts = split_command(self.command, example=EXAMPLE)
        return [part.replace("{k}", str(k)) for part in parts]

    def answers(self, queries: Sequence[Query], *, k: int) -> Iterator[Answer]:
        """Yield answers as they are printed; what has none is asked for again, then counts as failed."""
        secrets = secrets_in({"command": self.command})
        left = {query.id: query for query in queries}
        failed: dict[str, Answer] = {}
        attempt = 0
        while left and attempt < self.attempts:
            attempt += 1
            run = ProgramRun(self, list(left.values()), k=k)
            with secrets.kept_out_of_errors(), closing(run.answers()) as answers:
                for found in answers:
                    answer = failed[found.query_id] = replace(without_leak(found, secrets), n_attempts=attempt)
                    if not answer.failed:
                        del left[answer.query_id]
                        yield answer
            if any(answer.for_all for answer in failed.values()):
                break
        yield from (failed[query] for query in left)


class StrayLineError(BadAnswerError):
    """A line of which nobody can tell whose answer it is."""


class ProgramRun:
    """The program, started once for some queries."""

    def __init__(self, system: Command, queries: Sequence[Query], *, k: int) -> None:
        self._system = system
        self._queries = queries
        self._k = k
        self._left = dict.fromkeys(query.id for query in queries)
        self._trec_rows: dict[str, list[tuple[str, float]]] = {}
        self._trec_bytes: dict[str, int] = {}
        self._trec_faults: dict[str, str] = {}
        """What is wrong with the rows of a query, where one cannot be read."""
        self._stray = ""
        """What is wrong with the first line of which nobody can tell whose it is."""
        self._n_skipped = 0
        self._said = LastLine()

    def answers(self) -> Generator[Answer, None, None]:
        """Yield answers, then the failure of all queries that have none."""
        problem, code = "", 0
        program = Program(self._system.timeout_s)
        try:  # from here on: Ctrl-C must not leave behind what has just been started
            if why := self._start(program):
                problem = (
                    f"{self._system.arguments(k=self._k)[0]} cannot be started: {why}; is it there, and executable?"
                )
                yield from (Answer(query, None, problem, for_all=True) for query in self._left)
                return
            for line in program.lines():
                yield from self._read(line)
            code = program.wait()
        except BadAnswerError as error:
            problem = reason_of(error)
        except TimeoutError:
            problem = f"the program had not ended after {self._system.timeout_s:g} s"
        finally:
            program.end()
        if not problem and code:
            problem = f"the program ended with code {code}" + (self._said.text and f": {self._said.text}")
        for query in self._left:
            fault = problem or self._trec_faults.get(query) or self._stray
            if fault or not self._trec_rows:
                yield Answer(query, None, fault or _NOTHING_PRINTED)
            else:  # in TREC text, no row means no results
                yield self._answer(query, {"results": self._trec_rows.get(query, [])})

    def _start(self, program: Program) -> str:
        """Start the program; return why that cannot be, nothing where it could."""
        try:
            program.start(self._system.arguments(k=self._k), feed=self._feed, keep_error=self._said.keep)
        except (OSError, ValueError) as error:
            return (isinstance(error, OSError) and error.strerror) or str(error)
        return ""

    def _feed(self, stream: BinaryIO) -> None:
        """Write the queries; a program that has ended reads no more of them."""
        with suppress(OSError), stream:
            for query in self._queries:
                own = {"id": query.id, "text": query.text}
                line = f"{query.id}\t{' '.join(query.text.split())}"
                if self._system.input == "jsonl":  # attributes do not stand in the way of id and text
                    line = json.dumps({**own, **query.attributes, **own}, default=str)
                stream.write(f"{line}\n".encode("utf-8", "surrogatepass"))

    def _read(self, line: str) -> Iterator[Answer]:
        """Yield the answer in a line of JSON; a row of TREC text is kept until the program has ended.

        A line that cannot be read fails the query that it names. One that names none is kept in mind: an answer in JSON
        says itself whose it is, but in TREC text the line may be a row of any query, so that all of them fail.
        """
        try:
            if line.lstrip().startswith("{"):
                yield self._read_json(line)
            elif line.strip():
                self._read_row(line)
            else:
                self._n_skipped += 1
        except StrayLineError as error:
            self._n_skipped += 1
            self._stray = self._stray or reason_of(error)
        if self._stray and self._trec_rows:
            raise BadAnswerError(self._stray)
        if self._n_skipped > _MOST_SKIPPED:
            raise BadAnswerError(
                self._stray or f"the program printed more than {_MOST_SKIPPED:,} lines with nothing in them"
            )

    def _read_json(self, line: str) -> Answer:
        printed = f"the program printed {shorten(line.strip())}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            is_deep = isinstance(error, RecursionError)
            fault = f"{printed}, which is {'nested too deeply to be read' if is_deep else 'not JSON'}"
            named = _FIRST_KEY.match(line)
            query = "" if named is None else named[2] or json.loads(f'"{named[1]}"')
            if query not in self._left:
                raise StrayLineError(fault) from None
            del self._left[query]
            return Answer(query, None, fault)
        query = str(first_of(record, ANSWER_COLUMNS["query"], line))
        self._check_asked(query)
        del self._left[query]
        return self._answer(query, record, line)

    def _read_row(self, line: str) -> None:
        row = line.split()
        query = row[0]
        if len(row) != 6:
            fault = f"the program printed {shorten(line.strip())!r}, which is no line of TREC text or JSON"
            if query not in self._left:
                raise StrayLineError(fault)
            self._trec_faults.setdefault(query, fault)
            return
        self._check_asked(query)
        try:
            score = float(row[4])
        except ValueError:
            score = math.nan
        self._trec_rows.setdefault(query, []).append((row[2], score))
        self._trec_bytes[query] = self._trec_bytes.get(query, 0) + len(line)
        if self._trec_bytes[query] > LARGEST_ANSWER_BYTES:
            raise BadAnswerError(f"the program printed more than {LARGEST_ANSWER_BYTES >> 20} MB for query {query!r}")

    def _check_asked(self, query: str) -> None:
        if query not in self._left:
            raise StrayLineError(f"the program printed an answer for {query!r}, which was not asked or answered before")

    def _answer(self, query: str, record: Any, line: str = "") -> Answer:
        try:
            results = first_of(record, ANSWER_COLUMNS["results"], line)
            return Answer(query, ranking_of(results, k=self._k, repeats=self._system.keeps_repeats))
        except BadAnswerError as error:
            return Answer(query, None, reason_of(error))


def first_of(record: Any, names: Sequence[str], line: str) -> Any:
    found = next((record[name] for name in names if name in record), None) if isinstance(record, Mapping) else None
    if found is None:
        raise StrayLineError(f"the program printed {shorten(line.strip())}, which has none of {', '.join(names)}")
    return found


def ranking_of(results: Any, *, k: int, repeats: bool) -> RankedDocs:
    """Return the ranking in a list of ids, of [id, score] pairs, or of tables with id and score."""
    how: Any = {"k": k, "repeats": repeats}
    if not isinstance(results, list):
        raise BadAnswerError(f"its results are {shown(results, limit=80)}, but should be a list")
    if all(isinstance(entry, Mapping) for entry in results):
        docs = [next((entry[name] for name in ANSWER_COLUMNS["doc"] if name in entry), None) for entry in results]
        if not any("score" in entry for entry in results):
            return by_position(docs, **how)
        return check_ranking(zip(docs, (entry.get("score") for entry in results), strict=True), **how)
    if all(isinstance(entry, str | int) for entry in results):
        return by_position(results, **how)
    return check_ranking(results, **how)
