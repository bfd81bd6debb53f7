"""Any program that reads queries and prints a run."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any, ClassVar, Literal

from msgspec.structs import replace

from rankscope.errors import OptionError, shorten
from rankscope.io.columns import ANSWER_COLUMNS
from rankscope.systems.answers import Answer, BadAnswerError, RemoteSystem, by_position, check_ranking, reason_of
from rankscope.systems.base import Query, RankedDocs
from rankscope.systems.options import NO_EFFECT, AboveZero, AtLeastOne
from rankscope.systems.working_directory import current_directory

_NOTHING_PRINTED = "the program printed nothing for it"


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
    """How long the program may take, in seconds."""
    attempts: Annotated[AtLeastOne, NO_EFFECT] = 2
    """How often the program is started before queries without an answer count as failed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.arguments(k=1):
            raise OptionError("command is empty", hint='for example command = "./search --top {k}"')

    def arguments(self, *, k: int) -> list[str]:
        parts = shlex.split(self.command) if isinstance(self.command, str) else list(self.command)
        return [part.replace("{k}", str(k)) for part in parts]

    def answers(self, queries: Sequence[Query], *, k: int) -> Iterator[Answer]:
        """Yield answers as they are printed; what has none is asked for again, then counts as failed."""
        left = {query.id: query for query in queries}
        failed: dict[str, Answer] = {}
        attempt = 0
        while left and attempt < self.attempts:
            attempt += 1
            for found in ProgramRun(self, list(left.values()), k=k).answers():
                answer = failed[found.query_id] = replace(found, n_attempts=attempt)
                if not answer.failed:
                    del left[answer.query_id]
                    yield answer
        yield from (failed[query] for query in left)


class ProgramRun:
    """The program, started once for some queries."""

    def __init__(self, system: Command, queries: Sequence[Query], *, k: int) -> None:
        self._system = system
        self._queries = queries
        self._k = k
        self._left = dict.fromkeys(query.id for query in queries)
        self._trec_rows: dict[str, list[tuple[str, float]]] = {}
        self._last_error = ""
        self._timed_out = False

    def answers(self) -> Iterator[Answer]:
        """Yield answers, then the failure of all queries that have none."""
        problem = ""
        with self._started() as process:
            try:
                for line in filter(str.strip, process.stdout):
                    yield from self._read(line)
            except BadAnswerError as error:
                problem = reason_of(error)
                process.kill()
            code = process.wait()
        if self._timed_out:
            problem = f"the program had not ended after {self._system.timeout_s:g} s"
        elif not problem and code:
            problem = f"the program ended with code {code}" + (self._last_error and f": {self._last_error}")
        for query in self._left:
            if problem or not self._trec_rows:
                yield Answer(query, None, problem or _NOTHING_PRINTED)
            else:  # in TREC text, no row means no results
                yield self._answer(query, {"results": self._trec_rows.get(query, [])})

    @contextmanager
    def _started(self) -> Iterator[Any]:
        """Start the program, feed it, and see that it is gone at the end."""
        arguments = self._system.arguments(k=self._k)
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        try:
            process = subprocess.Popen(  # noqa: S603 (the project names the program)
                arguments, encoding="utf-8", errors="surrogateescape", cwd=current_directory(), **pipes
            )
        except OSError as error:
            raise OptionError(
                f"{self._system.name}: {arguments[0]} cannot be started: {error.strerror}",
                hint="is it there, and executable?",
            ) from error
        helpers = [
            threading.Thread(target=work, args=(process,), daemon=True) for work in (self._feed, self._keep_error)
        ]
        timer = threading.Timer(self._system.timeout_s, self._time_out, args=(process,))
        for thread in (*helpers, timer):
            thread.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()
            process.wait()
            for thread in helpers:
                thread.join()
            for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
                with suppress(OSError):
                    stream.close()

    def _feed(self, process: Any) -> None:
        """Write the queries; a program that has ended reads no more of them."""
        with suppress(OSError, ValueError):
            for query in self._queries:
                own = {"id": query.id, "text": query.text}
                line = f"{query.id}\t{' '.join(query.text.split())}"
                if self._system.input == "jsonl":  # attributes do not stand in the way of id and text
                    line = json.dumps({**own, **query.attributes, **own}, default=str)
                process.stdin.write(line + "\n")
            process.stdin.close()

    def _keep_error(self, process: Any) -> None:
        for line in process.stderr:
            if line.strip():
                self._last_error = shorten(line.strip())

    def _time_out(self, process: Any) -> None:
        self._timed_out = True
        process.kill()

    def _read(self, line: str) -> Iterator[Answer]:
        """Yield the answer in a line of JSON; a row of TREC text is kept until the program has ended."""
        record, row = None, []
        if line.lstrip().startswith("{"):
            try:
                record = json.loads(line)
            except ValueError:
                raise BadAnswerError(f"the program printed {shorten(line.strip())}, which is not JSON") from None
            query = str(first_of(record, ANSWER_COLUMNS["query"], line))
        else:
            row = line.split()
            query = row[0]
            if len(row) != 6:
                printed = f"the program printed {shorten(line.strip())!r}"
                raise BadAnswerError(f"{printed}, which is no line of TREC text or JSON")
        if query not in self._left:
            raise BadAnswerError(f"the program printed an answer for {query!r}, which was not asked or answered before")
        if record is not None:
            del self._left[query]
            yield self._answer(query, record, line)
            return
        try:
            score = float(row[4])
        except ValueError:
            score = math.nan
        self._trec_rows.setdefault(query, []).append((row[2], score))

    def _answer(self, query: str, record: Any, line: str = "") -> Answer:
        try:
            return Answer(query, ranking_of(first_of(record, ANSWER_COLUMNS["results"], line), k=self._k))
        except BadAnswerError as error:
            return Answer(query, None, reason_of(error))


def first_of(record: Any, names: Sequence[str], line: str) -> Any:
    found = next((record[name] for name in names if name in record), None) if isinstance(record, Mapping) else None
    if found is None:
        raise BadAnswerError(f"the program printed {shorten(line.strip())}, which has none of {', '.join(names)}")
    return found


def ranking_of(results: Any, *, k: int) -> RankedDocs:
    """Return the ranking in a list of ids, of [id, score] pairs, or of tables with id and score."""
    if not isinstance(results, list):
        raise BadAnswerError(f"its results are {shorten(repr(results), limit=80)}, but should be a list")
    if all(isinstance(entry, Mapping) for entry in results):
        docs = [next((entry[name] for name in ANSWER_COLUMNS["doc"] if name in entry), None) for entry in results]
        if not any("score" in entry for entry in results):
            return by_position(docs, k=k)
        return check_ranking(zip(docs, (entry.get("score") for entry in results), strict=True), k=k)
    if all(isinstance(entry, str | int) for entry in results):
        return by_position(results, k=k)
    return check_ranking(results, k=k)
