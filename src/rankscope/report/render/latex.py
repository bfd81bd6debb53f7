"""A report as LaTeX: a document that compiles by itself, with a part marked that can be taken into a paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rankscope.report import document as doc
from rankscope.report.render.latex_table import FOREIGN, LONGEST_WORD, breakable, floating_tables, latex_text
from rankscope.report.render.texts import CHECK_WORDS, cleaned

PREAMBLE = r"""\documentclass[a4paper]{article}
\usepackage[margin=2.2cm]{geometry}
\usepackage{array,booktabs,iftex,longtable,textcomp}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\else
  \usepackage{fontspec}
\fi
\setlength{\LTcapwidth}{\textwidth}
\setlength{\emergencystretch}{3em}
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.5em}"""
BEGIN = """% ---- the report begins: what follows, down to its end, can be taken into a paper ----
% needs \\usepackage{array,booktabs,longtable,textcomp} and \\usepackage[T1]{fontenc}
% a table that runs over pages (longtable) needs a page of one column"""
END = "% ---- the report ends ----"


def to_latex(report: doc.Report) -> str:
    """Return the report as a document; charts are given in words, since LaTeX cannot take in SVG."""
    report = cleaned(report)
    parts = [PREAMBLE, r"\begin{document}", BEGIN, FOREIGN, rf"\section*{{{latex_text(report.title)}}}"]
    parts += (part for block in report.first_screen for part in block_parts(doc.simple(block)))
    for section in report.sections:
        parts.append(rf"\subsection*{{{latex_text(section.title)}}}")
        if section.intro:
            parts.append(latex_text(section.intro))
        parts += (part for block in section.blocks for part in block_parts(doc.simple(block)))
    if report.footer:
        footer = (f"{latex_text(name)}: {breakable(value, LONGEST_WORD)}" for name, value in report.footer)
        parts += [r"\subsection*{How to reproduce this report}", list_part("", footer)]
    return "\n\n".join([*parts, END, r"\end{document}"]) + "\n"


def block_parts(block: doc.SimpleBlock) -> Iterator[str]:
    match block:
        case doc.VerdictBlock():
            if block.subject:
                yield rf"\noindent\textit{{{latex_text(block.subject)}}}"
            yield rf"\paragraph{{Verdict.}} \textbf{{{latex_text(block.headline)}}} {latex_text(block.reason)}"
            for caution in block.cautions:
                yield rf"\paragraph{{Caution.}} {latex_text(caution)}"
        case doc.Paragraph():
            yield latex_text(block.text)
        case doc.Figure():
            where = "(A chart; it stands in the HTML report.)"
            yield rf"\paragraph{{{latex_text(block.title)}}} {where} {latex_text(block.alt)}"
        case doc.TableBlock():
            yield from floating_tables(block.table, block.title)
        case doc.Bullets():
            yield list_part(
                block.title, map(latex_text, block.items), kind="enumerate" if block.numbered else "itemize"
            )
        case doc.Signals():
            rows = (
                rf"\textbf{{{latex_text(row.name)}}} ({CHECK_WORDS[row.mark]}): {latex_text(row.words)}"
                for row in block.signals
            )
            yield list_part(block.title, rows)
        case doc.Estimates():
            rows = (rf"\textbf{{{latex_text(row.name)}}}: {latex_text(row.words)}" for row in block.estimates)
            yield list_part(block.title, rows)


def list_part(title: str, items: Iterable[str], *, kind: str = "itemize") -> str:
    heading = [rf"\paragraph{{{latex_text(title)}}}"] if title else []
    lines = [rf"  \item {item}" for item in items]
    return "\n".join([*heading, *([rf"\begin{{{kind}}}", *lines, rf"\end{{{kind}}}"] if lines else [])])
