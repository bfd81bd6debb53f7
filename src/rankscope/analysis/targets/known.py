"""What there is that targets may name: queries and their strata, docs and their fields, runs and their lists."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Any

from rankscope.align.policies import Policies
from rankscope.align.top import leading_docs, whole_lists
from rankscope.analysis.targets.records import Target
from rankscope.data.docs import DocTable, values_in
from rankscope.data.qrels import Qrels
from rankscope.data.queries import QueryTable
from rankscope.data.run import Run
from rankscope.data.texts import Texts, one_line
from rankscope.errors import InputError, OptionError, did_you_mean
from rankscope.light import LightRecord, names_of
from rankscope.measures.scores import Scores

N_INSTEAD = 3
"""So many lines say what is there instead."""
N_PROBLEMS = 5
MOST_CANDIDATES = 20_000
"""Among more ids, finding similar ones takes long."""


class Known:
    """What there is: queries, docs and their words, and the lists of the runs."""

    def __init__(self, qrels: Qrels, runs: Mapping[str, Run], scores: Scores, queries: QueryTable | None) -> None:
        self.qrels, self.runs, self.scores, self.queries = qrels, runs, scores, queries
        self.docs: DocTable | None = None
        self.policies = Policies(
            **{name: scores.policies[name] for name in names_of(Policies) if name in scores.policies}
        )
        self._lists: dict[str, dict[str, tuple[str, ...]]] = {}
        self._depths: dict[str, int] = {}

    # queries

    @cached_property
    def query_ids(self) -> dict[str, None]:
        listed = [*self.qrels.query_ids, *(() if self.queries is None else self.queries.ids)]
        asked = (query for run in self.runs.values() if run.asked is not None for query in run.asked.queries)
        return dict.fromkeys([*listed, *asked, *(query for run in self.runs.values() for query in run.query_ids)])

    def has_query(self, query: str) -> bool:
        """Tell whether there is a query; runs are gone through only where others do not know it."""
        is_given = self.queries is not None and query in self.queries.ids
        return is_given or query in self.qrels or query in self.query_ids

    def queries_in(self, target: Target) -> list[str]:
        """Return the queries of a stratum, all of them where the target has none."""
        if not target.stratum or self.queries is None:
            return list(self.query_ids)
        columns = [(self.queries.attribute(name), value) for name, value in target.stratum.items()]
        return [
            query
            for query in self.query_ids
            if all(
                query in column and value in map(stratum_text, values_in(column[query])) for column, value in columns
            )
        ]

    def queries_of(self, target: Target, run: str) -> list[str]:
        """Return the queries of a run that a target is about: those that it was asked, else judged or answered."""
        asked = self.runs[run].asked
        about = {*self.qrels.query_ids, *self.runs[run].query_ids} if asked is None else set(asked.queries)
        return [query for query in self.queries_in(target) if query in about]

    def answers(self, query: str, run: str) -> bool:
        """Tell whether a run is known to have answered: it lists docs, or a file beside it says that there were none."""
        asked = self.runs[run].asked
        answered_nothing = asked is not None and query in asked.queries and query not in asked.failed
        return bool(self.docs_of(query, run)) or answered_nothing

    # lists

    def read_lists(self, targets: Sequence[Target]) -> frozenset[str]:
        """Read the lists that targets look at, and return the docs of which more than the id may be needed."""
        about_docs = [target for target in targets if target.kind != "measure"]
        single = {target.query for target in targets if target.query is not None}
        sets = [target for target in about_docs if target.query is None]
        deepest = None if any(target.top is None for target in sets) else max((one.top or 0 for one in sets), default=0)
        looked_at = max([N_INSTEAD, *(target.top or 0 for target in targets)])
        needed = {doc for target in targets for doc in target.docs}
        for name, run in self.runs.items():
            lists: dict[str, tuple[str, ...]] = {}
            if sets:
                wanted = list(dict.fromkeys(query for target in sets for query in self.queries_of(target, name)))
                lists.update(zip(wanted, leading_docs(run, wanted, self.policies, depth=deepest).docs, strict=True))
            if whole := sorted(single):
                lists.update(zip(whole, whole_lists(run, whole, self.policies).docs, strict=True))
            self._lists[name] = lists
            needed.update(doc for listed in lists.values() for doc in listed[:looked_at])
        return frozenset(needed)

    def docs_of(self, query: str, run: str) -> tuple[str, ...]:
        """Return the docs of a query, best first, as deep as a target looks; none where the run does not answer it."""
        return self._lists[run].get(query, ())

    def is_cut(self, listed: Sequence[str], run: str, top: int) -> bool:
        """Tell whether docs below the end of a list might be among the first: it is as long as any list of the run.

        A shorter list ended by itself, and so did one that holds all docs there are.
        """
        if len(listed) >= top or (self.docs is not None and len(listed) >= len(self.docs.doc_ids)):
            return False
        return len(listed) >= self.depth_of(run)

    def depth_of(self, run: str) -> int:
        """Return how many docs the longest list of a run holds."""
        if run not in self._depths:
            given = self.runs[run]
            longest = max((len(given.rankings.listed(query).docs) for query in given.query_ids), default=0)
            self._depths[run] = min(longest, self.policies.depth or longest)
        return self._depths[run]

    # words

    @cached_property
    def texts(self) -> Texts:
        return Texts.of(queries=self.queries, docs=self.docs)

    def called(self, doc: str) -> str:
        title = self.texts.title(doc)
        return f"{title} ({doc})" if title else doc

    # what a target names must exist

    def check(self, targets: Sequence[Target]) -> None:
        """Refuse targets on queries, strata or runs that do not exist; all that are wrong are named."""
        problems: list[UnknownName] = []
        for target in targets:
            problems += (
                UnknownName(target.name, f"there is no run {name!r}", name, self.runs)
                for name in target.only
                if name not in self.runs
            )
            if target.query is not None and not self.has_query(target.query):
                what = f"query {target.query!r} is neither judged nor asked nor answered"
                problems.append(UnknownName(target.name, what, target.query, self.query_ids))
            problems += self.stratum_problems(target)
        raise_problems(
            problems, "check the ids, or give the queries (--queries)" if self.queries is None else "check the ids"
        )

    def stratum_problems(self, target: Target) -> Iterator[UnknownName]:
        if not target.stratum:
            return
        if self.queries is None:
            raise OptionError(
                f"target {target.name!r} is about queries with {target.where}, but no queries are given",
                hint="give the file of the queries, which has their attributes: --queries FILE (queries=…)",
            )
        for name, value in target.stratum.items():
            try:
                column = self.queries.attribute(name)
            except InputError as error:
                raise InputError(f"target {target.name!r}: {error.message}", hint=error.hint) from error
            values = dict.fromkeys(stratum_text(one) for cell in column.values() for one in values_in(cell))
            if value not in values:
                yield UnknownName(target.name, f"no query has {name} = {value}", value, values)
                return
        if not self.queries_in(target):
            yield UnknownName(target.name, f"no query has {target.where}")

    def check_docs(self, targets: Sequence[Target]) -> None:
        """Refuse targets on docs that do not exist, or by a field that the docs do not have."""
        for target in targets:
            if target.kind == "distinct":
                if self.docs is None:
                    raise OptionError(
                        f"target {target.name!r} looks at the field {target.field} of docs, but no docs are given",
                        hint="give the file of the docs: --docs FILE (docs=…)",
                    )
                try:
                    self.docs.field(target.field)
                except InputError as error:
                    raise InputError(f"target {target.name!r}: {error.message}", hint=error.hint) from error
        named = {doc for target in targets for doc in target.docs}
        if not named:
            return
        if self.docs is not None:
            ids: AbstractSet[str] = self.docs.doc_ids
            what, hint = "is not among the docs", "check the id; where the doc was removed, remove the target, too"
        else:
            ids = self.known_docs(named)
            what = "is neither judged nor in any run"
            hint = "check the id; where it is right, give the docs (--docs FILE), which say that there is such a doc"
        problems = [
            UnknownName(target.name, f"doc {doc!r} {what}", doc, ids)
            for target in targets
            for doc in target.docs
            if doc not in ids
        ]
        raise_problems(problems, hint)

    def known_docs(self, named: AbstractSet[str]) -> AbstractSet[str]:
        """Return the judged docs and those in runs; runs are gone through only where a doc is not judged."""
        judged = {doc for query in self.qrels.query_ids for doc in self.qrels.judged[query]}
        if named <= judged:
            return judged
        return judged.union(*(run.rows.doc for run in self.runs.values()))


class UnknownName(LightRecord, eq=False):
    """Something that a target names and that does not exist."""

    target: str
    what: str
    name: str = ""
    candidates: Collection[str] = ()


def raise_problems(problems: Sequence[UnknownName], hint: str) -> None:
    if not problems:
        return
    lines = [f"target {one.target!r}: {one.what}" for one in problems[:N_PROBLEMS]]
    if len(problems) > N_PROBLEMS:
        lines.append(f"… and {len(problems) - N_PROBLEMS} more")
    first = problems[0]
    close = did_you_mean(first.name, first.candidates) if 0 < len(first.candidates) <= MOST_CANDIDATES else ""
    raise InputError("\n".join(lines), hint=f"{close} Otherwise {hint}" if close else hint)


def stratum_text(value: Any) -> str:
    """Return a value of an attribute as a target file has it: true is `true`, 7.0 is `7`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return one_line(str(value))
