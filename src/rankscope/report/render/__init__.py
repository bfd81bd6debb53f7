"""Renderings of a report: text, Markdown, HTML and LaTeX, and test cases as JUnit XML."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from rankscope.errors import OptionError, did_you_mean
from rankscope.report.document import Report
from rankscope.report.render.interval import text_interval
from rankscope.report.render.junit import Case, to_junit
from rankscope.report.render.terminal import print_report

__all__ = ["FORMS", "Case", "Form", "form_of", "print_report", "render", "text_interval", "to_junit"]

Form = Literal["text", "markdown", "html", "latex"]
FORMS: tuple[Form, ...] = get_args(Form)
ENDINGS: dict[str, Form] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".tex": "latex",
    ".txt": "text",
}


def render(report: Report, form: Form) -> str:
    """Return the report as one text in that form; the same content in each, laid out as the medium likes it."""
    if form not in FORMS:
        hint = did_you_mean(form, FORMS) or f"the forms are {', '.join(FORMS)}"
        raise OptionError(f"a report cannot be written as {form!r}", hint=hint)
    if form == "html":
        from rankscope.report.render.html import to_html as rendering
    elif form == "markdown":
        from rankscope.report.render.markdown import to_markdown as rendering
    elif form == "latex":
        from rankscope.report.render.latex import to_latex as rendering
    else:
        from rankscope.report.render.terminal import to_text as rendering
    return rendering(report)


def form_of(path: str | Path) -> Form:
    """Return the form that the ending of a file's name asks for."""
    try:
        return ENDINGS[Path(path).suffix.lower()]
    except KeyError:
        endings = ", ".join(ENDINGS)
        raise OptionError(f"{path}: the ending does not say what to write", hint=f"use one of {endings}") from None
