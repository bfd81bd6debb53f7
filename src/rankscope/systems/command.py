"""Any program that reads queries and prints a run."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from rankscope.errors import OptionError, shorten
from rankscope.io.columns import ANSWER_COLUMNS
from rankscope.systems.answers import (
    Answer,
    BadAnswerError,
    RemoteSystem,
    checked_ranking,
    ranking_by_position,
    reason_of,
)
from rankscope.systems.base import Query, Ranking
from rankscope.systems.options import NO_EFFECT, check_choice, check_range, options_of

INPUTS = ("jsonl", "tsv")
_TREC_FIELDS = 6
_KEPT_STDERR_LINES = 20


@dataclass(kw_only=True)
class Command(RemoteSystem):
    """Starts a program that reads queries on standard input and prints a run.

    It gets one query a line, as JSON with id, text and attributes, or as id and text with a tab between. It prints TREC
    text (query Q0 doc rank score tag), or one line of JSON for each query: {"query_id": "7", "results": [["d1", 2.5]]}.
    Lines of JSON are taken as they come; TREC text counts once the program has ended well.
    """

    name: str = "command"
    command: str | Sequence[str]
    """The program with its arguments; {k} is the number of docs wanted for each query."""
    input: str = "jsonl"
    """How queries are handed over: jsonl or tsv."""
    timeout_s: float = field(default=3600.0, metadata=NO_EFFECT)
    """How long the program may take, in seconds."""
    attempts: int = field(default=2, metadata=NO_EFFECT)
    """How often the program is started before queries without an answer count as failed."""

    def __post_init__(self) -> None:
        check_choice(self.input, INPUTS, what="input")
        check_range(self.attempts, what="attempts", low=1)
        if self.timeout_s <= 0:
            raise OptionError(f"timeout_s is {self.timeout_s:g}, but it must be above 0")
        if not self.arguments(k=1):
            raise OptionError("command is empty", hint='for example command = "./search --top {k}"')

    def describe(self) -> dict[str, Any]:
        """Return the command; what the program does inside is its own affair."""
        return {"type": "command", **options_of(self)}

    def arguments(self, *, k: int) -> list[str]:
        """Return the program and its arguments."""
        parts = shlex.split(self.command) if isinstance(self.command, str) else list(self.command)
        return [part.replace("{k}", str(k)) for part in parts]

    def answers(self, queries: Sequence[Query], *, k: int) -> Iterator[Answer]:
        """Yield answers as they are printed; what has none is asked for again, then counts as failed."""
        left = {query.id: query for query in queries}
        reasons: dict[str, str] = {}
        attempt = 0
        while left and attempt < self.attempts:
            attempt += 1
            for answer in Started(self, list(left.values()), k=k).answers():
                if answer.ranking is None:
                    reasons[answer.query_id] = answer.reason
                else:
                    del left[answer.query_id]
                    yield Answer(answer.query_id, answer.ranking, n_attempts=attempt)
        for query in left:
            yield Answer(query, None, reasons.get(query, "the program printed nothing for it"), n_attempts=attempt)


class Started:
    """The program, started once for some queries."""

    def __init__(self, system: Command, queries: Sequence[Query], *, k: int) -> None:
        self._system = system
        self._queries = queries
        self._k = k
        self._left = {query.id for query in queries}
        self._rows: dict[str, list[tuple[str, float]]] = {}
        self._is_trec = False
        self._said: deque[str] = deque(maxlen=_KEPT_STDERR_LINES)
        self._timed_out = False

    def answers(self) -> Iterator[Answer]:
        """Yield answers, then the failure of all queries that have none."""
        trouble = ""
        with self.process() as process:
            try:
                for line in process.stdout:
                    yield from self.taken(line)
            except BadAnswerError as error:
                trouble = reason_of(error)
                process.kill()
            code = process.wait()
        if self._timed_out:
            trouble = f"the program had not ended after {self._system.timeout_s:g} s"
        elif not trouble and code:
            trouble = f"the program ended with code {code}" + (f": {self._said[-1]}" if self._said else "")
        yield from self.rest(trouble)

    @contextmanager
    def process(self) -> Iterator[Any]:
        """Start the program, feed it, and see that it is gone at the end."""
        arguments = self._system.arguments(k=self._k)
        try:
            process = subprocess.Popen(  # noqa: S603 (the project names the program)
                arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                encoding="utf-8", errors="surrogateescape",
            )  # fmt: skip
        except OSError as error:
            raise OptionError(
                f"{self._system.name}: {arguments[0]} cannot be started: {error.strerror}",
                hint="is it there, and executable?",
            ) from error
        helpers = [threading.Thread(target=work, args=(process,), daemon=True) for work in (self.feed, self.listen)]
        timer = threading.Timer(self._system.timeout_s, self.time_out, args=(process,))
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
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()

    def feed(self, process: Any) -> None:
        """Write the queries; a program that has ended reads no more of them."""
        with suppress(OSError, ValueError):
            for query in self._queries:
                process.stdin.write(line_for(query, self._system.input))
            process.stdin.close()

    def listen(self, process: Any) -> None:
        """Keep the last of what the program says on standard error."""
        for line in process.stderr:
            if line.strip():
                self._said.append(shorten(line.strip()))

    def time_out(self, process: Any) -> None:
        """End a program that takes too long."""
        self._timed_out = True
        process.kill()

    def taken(self, line: str) -> Iterator[Answer]:
        """Take in one line that the program printed; yield the answer that it completes."""
        if not line.strip():
            return
        if line.lstrip().startswith("{"):
            yield self.json_answer(line)
        else:
            self._is_trec = True
            query, doc, score = trec_row(line)
            self.check_query(query)
            self._rows.setdefault(query, []).append((doc, score))

    def json_answer(self, line: str) -> Answer:
        """Return the answer in a line of JSON."""
        try:
            record = json.loads(line)
        except ValueError:
            raise BadAnswerError(f"the program printed {shorten(line.strip())}, which is not JSON") from None
        query = str(first_of(record, ANSWER_COLUMNS["query"], line))
        self.check_query(query)
        self._left.discard(query)
        try:
            return Answer(query, json_ranking(first_of(record, ANSWER_COLUMNS["results"], line), k=self._k))
        except BadAnswerError as error:
            return Answer(query, None, reason_of(error))

    def check_query(self, query: str) -> None:
        """Refuse rows for a query that was not asked, or was answered already."""
        if query not in self._left:
            raise BadAnswerError(f"the program printed an answer for {query!r}, which was not asked or answered before")

    def rest(self, trouble: str) -> Iterator[Answer]:
        """Yield what TREC text said, and the failure of what is left; a query without a row has no results there."""
        for query in self._queries:
            if query.id in self._left:
                yield self.last_answer(query.id, trouble)

    def last_answer(self, query: str, trouble: str) -> Answer:
        """Return the answer to a query once nothing more will come."""
        if trouble or not self._is_trec:
            return Answer(query, None, trouble or "the program printed nothing for it")
        try:
            return Answer(query, checked_ranking(self._rows.get(query, ()), k=self._k))
        except BadAnswerError as error:
            return Answer(query, None, reason_of(error))


def line_for(query: Query, form: str) -> str:
    """Return one query as a line."""
    if form == "tsv":
        return f"{query.id}\t{' '.join(query.text.split())}\n"
    return json.dumps({"id": query.id, "text": query.text, **plain_attributes(query)}, default=str) + "\n"


def plain_attributes(query: Query) -> dict[str, Any]:
    """Return the attributes that do not stand in the way of id and text."""
    return {name: value for name, value in query.attributes.items() if name not in ("id", "text")}


def trec_row(line: str) -> tuple[str, str, float]:
    """Return query, doc and score of a line of TREC text."""
    parts = line.split()
    if len(parts) != _TREC_FIELDS:
        raise BadAnswerError(f"the program printed {shorten(line.strip())!r}, which is no line of TREC text or JSON")
    try:
        score = float(parts[4])
    except ValueError:
        score = math.nan
    return parts[0], parts[2], score


def first_of(record: Any, names: Sequence[str], line: str) -> Any:
    """Return the first of some keys that a record has."""
    found = next((record[name] for name in names if name in record), None) if isinstance(record, Mapping) else None
    if found is None:
        raise BadAnswerError(f"the program printed {shorten(line.strip())}, which has none of {', '.join(names)}")
    return found


def json_ranking(results: Any, *, k: int) -> Ranking:
    """Return the ranking in a list of ids, of [id, score] pairs, or of tables with id and score."""
    if not isinstance(results, list):
        raise BadAnswerError(f"its results are {shorten(repr(results), limit=80)}, but should be a list")
    if all(isinstance(entry, Mapping) for entry in results):
        docs = [next((entry[name] for name in ANSWER_COLUMNS["doc"] if name in entry), None) for entry in results]
        if not any("score" in entry for entry in results):
            return ranking_by_position(docs, k=k)
        return checked_ranking(zip(docs, (entry.get("score") for entry in results), strict=True), k=k)
    if all(isinstance(entry, str | int) for entry in results):
        return ranking_by_position(results, k=k)
    return checked_ranking(results, k=k)
