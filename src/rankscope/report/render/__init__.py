"""Renderings of a report: text, Markdown, HTML and LaTeX, and test cases as JUnit XML (`junit.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from rankscope.errors import OptionError, did_you_mean
from rankscope.registry import Entry, Registry

if TYPE_CHECKING:
    from rankscope.report.document import Report
    from rankscope.report.table import Table

Form = Literal["text", "markdown", "html", "latex"]
FORMS: tuple[Form, ...] = get_args(Form)
MODULES: dict[Form, str] = {"text": "terminal", "markdown": "markdown", "html": "html", "latex": "latex"}
RENDERERS: Registry[Callable[[Report], str]] = Registry(
    "form of a report", {form: Entry(f"rankscope.report.render.{module}:to_{form}") for form, module in MODULES.items()}
)
TABLE_RENDERERS: Registry[Callable[..., str]] = Registry(
    "form of a table",
    {
        "markdown": Entry("rankscope.report.render.markdown_text:markdown_table"),
        "latex": Entry("rankscope.report.render.latex_table:latex_table"),
        "csv": Entry("rankscope.report.table:to_csv"),
    },
)


def render(report: Report, form: Form) -> str:
    """Return the report as one text in that form; the content is the same in each, only the layout differs.

    Parameters
    ----------
    report
        Such as a `Comparison` gives: `comparison.report()`.
    form
        text, markdown, html or latex.

    Returns
    -------
    str
        The whole text; of html, a page that needs nothing else.

    Raises
    ------
    OptionError
        There is no such form.

    Examples
    --------
    >>> import rankscope as rs
    >>> qrels = {f"q{i}": {"d": 1} for i in range(20)}
    >>> runs = {"old": {q: ["x", "d"] for q in qrels}, "new": {q: ["d"] for q in qrels}}
    >>> rs.render(rs.compare(qrels, runs, "RR").report(), "markdown").splitlines()[0]
    '## RR · new vs old (baseline)'
    """
    if form not in FORMS:
        hint = did_you_mean(form, FORMS) or f"the forms are {', '.join(FORMS)}"
        raise OptionError(f"a report cannot be written as {form!r}", hint=hint)
    return RENDERERS[form](report)


def render_table(table: Table, form: str, *, answer: Sequence[str] = ()) -> str:
    """Return a table by itself; its answer, where there is one, is for people: only Markdown has it."""
    return TABLE_RENDERERS[form](table, answer) if answer and form == "markdown" else TABLE_RENDERERS[form](table)
