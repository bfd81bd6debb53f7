"""What a measure is: a formula with everything that must be known about it, registered under a name.

A measure without docstring, example or citation cannot be registered.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.align.hits import Hits
from rankscope.arrays import Floats, safe_divide
from rankscope.errors import MeasureError, did_you_mean
from rankscope.light import LightRecord, SignatureOnDemand, field
from rankscope.measures.parameters import PARAMETERS, REQUIRED, Parameter, parameters_of, show_value
from rankscope.measures.registry import ALIASES, REGISTRY

if TYPE_CHECKING:
    from rankscope.measures.extras import Extras, Need


class MeasureFamily(StrEnum):
    """Groups of measures that answer the same kind of question."""

    SET = "set & cut-off"
    RANK = "rank"
    GAIN = "gain"
    POSITION = "position"
    TREC = "trec_eval extras"
    DIVERSITY = "diversity by subtopic"
    EMBEDDING = "diversity by embedding"
    VARIETY = "coverage & variety"
    FAIRNESS = "fairness of attention"
    ONTOLOGY = "ontology"


class MeasureExample(LightRecord):
    """A score worked out by hand: the grades down the ranking, and all grades the qrels have."""

    grades: Sequence[float | None]
    """The grade at each rank; None is a doc that nobody judged."""
    judged: Sequence[float]
    """The grades of all judged docs, retrieved or not."""
    score: float
    params: Mapping[str, Any] = field(default_factory=dict)
    working: str = ""
    """The arithmetic in words, so that a reader can follow it."""
    extras: Extras | None = None
    """What the measure needs beyond grades, for the one query of the example."""


class Workings(LightRecord, eq=False):
    """The arithmetic of a score: a term for every hit, and what their sum is divided by."""

    terms: Floats
    columns: Mapping[str, Floats] = field(default_factory=dict)
    """What each term is made of, such as gain and discount."""
    sum_name: str = "sum"
    divisor_name: str = ""
    divisor: Floats | None = None
    ideal_terms: Floats | None = None
    """The terms of the ideal ranking, where the divisor is their sum."""
    ideal_columns: Mapping[str, Floats] = field(default_factory=dict)

    def scores(self, hits: Hits) -> Floats:
        """Return the sum of each query's terms, divided; NaN where the divisor is 0."""
        sums = hits.per_query(self.terms)
        return sums if self.divisor is None else safe_divide(sums, self.divisor)


class MeasureSpec(LightRecord, eq=False):
    """A measure as registered: its function, and what the parser, the docs and the tests need to know of it."""

    name: str
    title: str
    family: MeasureFamily
    function: Callable[..., Floats]
    formula: str
    range: tuple[float, float]
    better: str
    undefined: str
    cite: str
    example: MeasureExample
    aliases: tuple[str, ...]
    names_elsewhere: Mapping[str, str]
    aggregate: str
    about_relevance: bool
    if_undefined: str
    graded: bool
    whole_grades: bool
    monotone: bool
    over_all_queries: bool
    workings: Callable[..., Workings] | None
    version: int
    """Raised when its definition changes, so that stored scores tell which one they were computed by."""
    needs: frozenset[Need]
    """What its function gets as `extras`, as a second argument; where it needs nothing, it gets the hits alone."""

    @property
    def summary(self) -> str:
        """What the measure answers, in one sentence."""
        return self.description.split("\n")[0]

    @property
    def description(self) -> str:
        return str(inspect.getdoc(self.function))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters with their defaults, the cut-off among them."""
        return parameters_of(self.function)

    @property
    def finds_judged_docs(self) -> bool:
        """Whether it looks for judged docs by their ids; other measures look at the docs themselves."""
        return self.needs <= {"subtopics"}

    @property
    def cutoff(self) -> str | None:
        """The parameter that is written behind @, if there is one."""
        return next((name for name in ("k", "recall") if name in self.parameters), None)

    def parameter(self, name: str) -> Parameter:
        """Return what is known of a parameter, or say which ones there are."""
        if name in self.parameters or name in COMMON:
            return PARAMETERS[name]
        known = [*self.parameters, *COMMON]
        raise MeasureError(
            f"{self.name} has no parameter {name!r}; it has {', '.join(known)}", hint=did_you_mean(name, known)
        )


IF_UNDEFINED = {
    "zero": "it counts as 0, as in trec_eval; no_relevant='exclude' leaves queries without relevant docs out",
    "policy": "it is left out of the mean, and counted; undefined='zero' counts it as 0, undefined='error' refuses it",
    "skip": (
        "it is left out of the mean, and counted, as 0 would look like the best score; undefined='error' refuses it"
    ),
}
"""What becomes of an undefined score."""

COMMON = ("judged_only", "agg")
"""Parameters that every measure has, handled outside of its function."""


class DocOfMeasure:
    """What a measure answers and which parameters it takes; of the class itself, its docstring."""

    def __init__(self, of_class: str) -> None:
        self.of_class = of_class

    def __get__(self, measure: Measure | None, owner: type[Measure]) -> str:
        if measure is None or measure.base not in REGISTRY:
            return self.of_class
        spec = measure.spec
        lines = [f"{measure.name}: {spec.title}.", "", *spec.description.splitlines(), "", "Parameters", "----------"]
        for name, default in parameters_with_common(spec).items():
            known = PARAMETERS[name]
            lines += [name if default is REQUIRED else f"{name} = {show_value(default)}"]
            lines += [f"    {known.meaning[:1].upper()}{known.meaning[1:]}: {known.accepts}."]
        cutoff = {"k": " @ 10", "recall": " @ 0.1"}.get(spec.cutoff or "", "")
        return "\n".join([*lines, "", f"Written rs.{spec.name}{cutoff}; `rankscope measures {spec.name}` says more."])


class SignatureOfMeasure(SignatureOnDemand):
    """Which parameters a measure can be given: `P(rel=2)`; of the class itself, how a record is made."""

    def __get__(self, measure: Measure | None, owner: type[LightRecord]) -> inspect.Signature:
        if measure is None:
            return super().__get__(measure, owner)
        kind = inspect.Parameter.KEYWORD_ONLY
        defaults = {**parameters_with_common(measure.spec), **measure.options}
        parameters = [inspect.Parameter(name, kind, default=default) for name, default in defaults.items()]
        return inspect.Signature(parameters, return_annotation="Measure")


def parameters_with_common(spec: MeasureSpec) -> dict[str, Any]:
    """Return the parameters of a measure with their defaults, those that every measure has among them."""
    return {**spec.parameters, **{name: PARAMETERS[name].default for name in COMMON}}


class Measure(LightRecord):  # noqa: D101 (it has one, and so has each measure)
    __doc__ = DocOfMeasure(
        "A measure with its parameters: a value that can be compared, printed and used wherever a name is expected.\n\n"
        "It is equal to its canonical name, so that it is found wherever that is: `(rs.nDCG @ 10) in scores.measures`."
    )
    if not TYPE_CHECKING:
        __signature__ = SignatureOfMeasure()

    base: str
    params: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, spec: MeasureSpec, params: Mapping[str, Any], *, complete: bool = True) -> Measure:
        """Make a measure, checking its parameters; those at their default are left out.

        One that is not `complete` may lack its cut-off, as `P(rel=2)` does before `@ 5` is added.
        """
        checked = {name: spec.parameter(name).check(value, f"{spec.name}: {name}") for name, value in params.items()}
        missing = [name for name, default in spec.parameters.items() if default is REQUIRED and name not in checked]
        if missing and complete:
            raise MeasureError(f"{spec.name} needs a cut-off", hint=f"write {spec.name}@10, for example")
        ordered = [name for name in (*spec.parameters, *COMMON) if name in checked]
        defaults = parameters_with_common(spec)
        return cls(spec.name, tuple((name, checked[name]) for name in ordered if checked[name] != defaults[name]))

    @property
    def spec(self) -> MeasureSpec:
        """What is registered under the measure's name."""
        return REGISTRY[self.base]

    @property
    def options(self) -> dict[str, Any]:
        """The parameters that are not at their default."""
        return dict(self.params)

    @property
    def name(self) -> str:
        """The canonical name, such as nDCG(gain='exp2')@10."""
        cutoff = self.spec.cutoff
        inside = ", ".join(f"{name}={show_value(value)}" for name, value in self.params if name != cutoff)
        at = f"@{self.options[cutoff]}" if cutoff in self.options else ""
        return f"{self.base}{f'({inside})' if inside else ''}{at}"

    def with_params(self, params: Mapping[str, Any]) -> Measure:
        """Return the measure with some more parameters set, where it has them and they are not set already."""
        known = {name: value for name, value in params.items() if name in self.spec.parameters or name in COMMON}
        return Measure.of(self.spec, {**known, **self.options})

    def arguments(self, *, rel: float) -> dict[str, Any]:
        """Return the arguments of the measure's function; `rel` is the threshold where it names none itself."""
        given = {**self.spec.parameters, **{k: v for k, v in self.params if k not in COMMON}}
        return {**given, "rel": rel} if self.uses_threshold else given

    @property
    def uses_threshold(self) -> bool:
        """Whether the measure asks which grades are relevant without saying so itself."""
        given = {**self.spec.parameters, **self.options}
        return given.get("rel", 0) is None and (not self.spec.graded or given["gain"] == "binary")

    def score(self, hits: Hits, *, rel: float = 1.0, extras: Extras | None = None) -> Floats:
        """Return the score of every query; NaN where it is undefined."""
        if self.options.get("judged_only"):
            hits, extras = hits.judged_only(), extras and extras.judged_only()
        data = (hits, extras) if self.spec.needs else (hits,)
        return np.asarray(self.spec.function(*data, **self.arguments(rel=rel)), dtype=np.float64)

    def __call__(self, **params: Any) -> Measure:
        """Return the measure with parameters: `P(rel=2)`."""
        return Measure.of(self.spec, {**self.options, **params}, complete=False)

    def __matmul__(self, cutoff: float) -> Measure:
        """Return the measure at a cut-off: `nDCG @ 10`."""
        name = self.spec.cutoff
        if name is None:
            raise MeasureError(f"{self.base} has no cut-off", hint=f"write {self}")
        return Measure.of(self.spec, {**self.options, name: cutoff})

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return self.name == str(other) if isinstance(other, Measure | str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)


def measure(
    name: str,
    title: str,
    *,
    family: MeasureFamily,
    formula: str,
    cite: str,
    example: MeasureExample,
    range: tuple[float, float] = (0, 1),  # noqa: A002 (the word users know)
    undefined: str = "no relevant doc is judged for the query",
    better: str = "higher",
    aliases: Mapping[str, Mapping[str, Any]] | Sequence[str] = (),
    elsewhere: Mapping[str, str] | None = None,
    aggregate: str = "mean",
    about_relevance: bool = True,
    if_undefined: str | None = None,
    graded: bool = False,
    whole_grades: bool = False,
    monotone: bool = True,
    over_all_queries: bool = False,
    workings: Callable[..., Workings] | None = None,
    needs: Iterable[Need] = (),
    version: int = 1,
) -> Callable[[Callable[..., Floats]], Callable[..., Floats]]:
    r"""Register a function of hits as a measure.

    Parameters
    ----------
    name, title
        What it is called in short, as it is written in texts, and in full.
    family
        The kind of question that it answers.
    formula
        In LaTeX.
    range
        The lowest and the highest score, by default 0 and 1; infinite where there is none.
    cite
        Where it comes from.
    example
        A score that was worked out by hand.
    undefined
        When it has no score.
    better
        ``"higher"`` or ``"lower"``.
    aliases
        Other names, alone or with the parameters that they imply.
    elsewhere
        By tool, what it is called there.
    aggregate
        How the scores of all queries become one number.
    about_relevance
        Whether the score depends on which docs are relevant, so that a query without any can be excluded.
    if_undefined
        What becomes of an undefined score, one of IF_UNDEFINED; unless said, "skip" where lower is better, else "zero"
        for measures of relevance and "policy" for all others.
    graded
        Whether gains are graded, so that the threshold of the evaluation only matters where the gain is binary.
    whole_grades
        Whether grades must be whole numbers.
    monotone
        Whether moving a relevant doc up never makes the score worse.
    over_all_queries
        Whether it is one number for the whole run, repeated for every query.
    workings
        The terms of which the score is the sum, for `explain` and for what a doc contributes to a difference.
    needs
        Data beyond ranks and grades; the function then takes it as a second argument, `extras`.
    version
        Raised when the definition changes; it is kept with stored scores.

    Returns
    -------
    callable
        The decorator of a function of hits (and `extras`) and keyword parameters, which returns a score per query. Its
        docstring begins with ``Answers: …?``.

    Raises
    ------
    MeasureError
        The name is taken, or docstring, citation or example are missing.

    Examples
    --------
    >>> import rankscope as rs
    >>> @rs.measure(
    ...     "FirstIsBest",
    ...     "The best doc first",
    ...     family=rs.MeasureFamily.RANK,
    ...     formula=r"[g_1 = g_{max}]",
    ...     range=(0, 1),
    ...     undefined="never",
    ...     cite="by hand",
    ...     example=rs.MeasureExample([2, 1], [2, 1], 1.0, {}, "2 is the best grade"),
    ... )
    ... def first_is_best(hits):
    ...     '''Answers: is the first doc one of the best grade that the qrels have?'''
    ...     return hits.per_query((hits.ranks == 1) & (hits.grades == hits.max_grade))
    >>> rs.evaluate({"q": {"a": 2, "b": 1}}, {"q": ["b", "a"]}, "FirstIsBest")["run"]["q", "FirstIsBest"]
    0.0

    `rankscope.testing.check_measure("FirstIsBest")` checks that it keeps what every measure promises.
    """
    by_alias = dict(aliases) if isinstance(aliases, Mapping) else {alias: {} for alias in aliases}
    if if_undefined is None:
        if_undefined = "skip" if better == "lower" else "zero" if about_relevance else "policy"
    elif if_undefined not in IF_UNDEFINED:
        raise MeasureError(f"{name}: if_undefined = {if_undefined!r} is not one of {', '.join(IF_UNDEFINED)}")

    def register(function: Callable[..., Floats]) -> Callable[..., Floats]:
        if not (function.__doc__ and cite and example):
            raise MeasureError(f"{name} cannot be registered: it needs a docstring, an example and a citation")
        if name in REGISTRY.entries:
            raise MeasureError(f"{name} is already registered")
        spec = MeasureSpec(
            name=name,
            title=title,
            family=family,
            function=function,
            formula=formula,
            range=range,
            better=better,
            undefined=undefined,
            cite=cite,
            example=example,
            aliases=tuple(by_alias),
            names_elsewhere=dict(elsewhere or {}),
            aggregate=aggregate,
            about_relevance=about_relevance,
            if_undefined=if_undefined,
            graded=graded,
            whole_grades=whole_grades,
            monotone=monotone,
            over_all_queries=over_all_queries,
            workings=workings,
            needs=frozenset(needs),
            version=version,
        )
        for alias, params in {name: {}, **by_alias}.items():
            key = alias.lower()
            if key not in ALIASES.entries:
                ALIASES.add(key, (name, dict(params)))
            elif (taken := ALIASES[key][0]) != name:
                raise MeasureError(f"{name} cannot be called {alias} as well: {taken} is")
        REGISTRY.add(name, spec)
        return function

    return register


def example_hits(example: MeasureExample) -> Hits:
    graded = [(rank, grade) for rank, grade in enumerate(example.grades, 1) if grade is not None]
    ideal = sorted((grade for grade in example.judged if grade >= 0), reverse=True)
    return Hits(
        query_ids=("example",),
        answered=np.array([True]),
        n_retrieved=np.array([len(example.grades)]),
        offsets=np.array([0, len(graded)]),
        ranks=np.array([rank for rank, _ in graded], dtype=np.int64),
        grades=np.array([grade for _, grade in graded], dtype=np.float64),
        ideal_offsets=np.array([0, len(ideal)]),
        ideal_grades=np.array(ideal, dtype=np.float64),
        max_grade=max([0.0, *map(float, example.judged)]),
    )
