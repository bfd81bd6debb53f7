"""What results have in common: they show themselves in notebooks, become tables and texts, are drawn and saved.

A result takes what makes sense for it: `Shown` (a notebook shows it), `Tabular` (tables of pandas and polars),
`Rendered` (Markdown, LaTeX, files by their ending), `Plotted` (charts). What is shown is made in `report`, which lies
above the results: `VIEWS` names it, and it is loaded when somebody asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rankscope.errors import OptionError
from rankscope.registry import Entry, Registry

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

VIEWS: Registry[Any] = Registry(
    "view",
    {
        "Scores": Entry("rankscope.report.views:SCORES"),
        "Summary": Entry("rankscope.report.views:SUMMARY"),
        "RunScores": Entry("rankscope.report.views:RUN_SCORES"),
        "Comparison": Entry("rankscope.report.views:COMPARISON"),
        "PairQueries": Entry("rankscope.report.views:PAIR_QUERIES"),
        "Diagnosis": Entry("rankscope.report.views:DIAGNOSIS"),
        "Explanation": Entry("rankscope.report.views:EXPLANATION"),
        "TargetsReport": Entry("rankscope.report.views:TARGETS"),
        "Report": Entry("rankscope.report.views:REPORT"),
        "Run": Entry("rankscope.report.views:RUN"),
        "Qrels": Entry("rankscope.report.views:QRELS"),
    },
)
"""How each kind of result is shown."""
ANSWERS: Registry[Callable[[Any], str]] = Registry(
    "answer", {"Scores": Entry("rankscope.report.best_mean:best_sentence")}
)
"""What a result says in one sentence, where its JSON holds that as well."""


class Shown:
    """A result that a notebook shows as more than text."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = VIEWS[type(self).__name__].html(self)
        return html


class Tabular(Shown):
    """A result that is a table, too: one row each of what it consists of."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return a polars DataFrame; what is undefined is null."""
        import polars as pl

        kinds = {str: pl.String, int: pl.Int64, float: pl.Float64}
        columns = VIEWS[type(self).__name__].columns_of(self)
        return pl.DataFrame([pl.Series(each.name, each.values, dtype=kinds[each.kind]) for each in columns])

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame with the same columns; what is undefined is NaN, a text that is not known None."""
        pandas = import_pandas()
        columns = VIEWS[type(self).__name__].columns_of(self)
        kinds = {str: "object", int: "Int64", float: "float64"}
        return pandas.DataFrame({each.name: pandas.Series(each.values, dtype=kinds[each.kind]) for each in columns})


class Rendered(Shown):
    """A result that can be read outside of Python: as Markdown, as LaTeX, as a file."""

    __slots__ = ()

    def to_markdown(self) -> str:
        """Return it as Markdown."""
        text: str = VIEWS[type(self).__name__].written(self, ".md")
        return text

    def to_latex(self) -> str:
        """Return it as LaTeX."""
        text: str = VIEWS[type(self).__name__].written(self, ".tex")
        return text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all, in the form that the ending of its name says.

        Endings are .html, .md, .tex, .json, .csv and .txt, as far as they make sense for it; another one is an error
        that names those.
        """
        view, name = VIEWS[type(self).__name__], os.fspath(path)
        text = view.written(self, os.path.splitext(name)[1].lower())  # noqa: PTH122 (pathlib takes long to load)
        from rankscope.io.write import open_target

        with open_target(name) as stream:
            stream.write(text.encode("utf-8", "surrogateescape"))


class Plotted(Shown):
    """A result from which charts are drawn."""

    __slots__ = ()

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Return a chart, which a notebook shows as SVG and `save("x.svg")` or `save("x.png")` writes.

        Without a `kind` it is the first that there is; an unknown one is an error that names all. Some kinds take
        options: `measure`, or `pair` for two of several systems.
        """
        return VIEWS[type(self).__name__].plotted(self, kind, options)


def import_pandas() -> Any:
    """Return pandas, which is not installed with Rankscope."""
    try:
        import pandas as pd
    except ImportError:
        raise OptionError("pandas is not installed", hint="pip install pandas; or use to_polars()") from None
    return pd
