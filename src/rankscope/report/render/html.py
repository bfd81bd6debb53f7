"""A report as one HTML file: it needs no network, no other file, and no script to be read.

The answer comes first, then what it rests on, then the detail, folded in `<details>` where it is long. All of the data
can be opened, searched and copied without a script, which only adds sorting and filtering.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TypeAlias

from rankscope.printable import counted
from rankscope.report import document as doc
from rankscope.report.charts.palette import PAGE_CSS
from rankscope.report.render.html_table import table_block
from rankscope.report.render.page import Page, heading, labelled, shape
from rankscope.report.render.texts import CHECK_WORDS, cleaned, with_minus
from rankscope.report.tokens import tone

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
TitledBlock: TypeAlias = (
    doc.SideBySideBlock
    | doc.ChangedQueries
    | doc.CheckedTargets
    | doc.Facts
    | doc.VerdictCounts
    | doc.Shares
    | doc.Estimates
    | doc.Bullets
    | doc.Signals
)
LONG_FOOTER = 12
SHADES = 5
"""As many parts of a whole have a shade of their own."""


def to_html(report: doc.Report) -> str:
    """Return the report as a page; nothing may be loaded, and no other script may run."""
    report, page = cleaned(report), Page()
    style, script = (
        files("rankscope.report.render").joinpath(f"page.{end}").read_text("utf-8") for end in ("css", "js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    sections = [(page.new_id("section", section.title), section) for section in report.sections]
    first = list(blocks_part(report.first_screen, page, level=2))
    details = [part for name, section in sections for part in section_parts(name, section, page)]
    terms = page.terms_part()
    links = contents_part(sections, has_terms=bool(terms))
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}; script-src \'sha256-{digest}\'">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(report.title)}</title>",
        f"<style>{PAGE_CSS}\n{style}\n{page.own_css()}</style>",
        "</head>\n<body>",
        '<a class="skip" href="#report">Skip to the report</a>',
        f"<header><h1>{escape(report.title)}</h1></header>",
        '<div class="columns">',
        f'<nav aria-label="Contents"><ol>{links}</ol></nav>',
        '<main id="report" tabindex="-1">',
        '<section class="first" aria-label="In short">',
        *first,
        "</section>",
        *details,
        terms,
        '<p class="paper cap">Not printed: long tables, and what is closed on the page.</p>',
        "</main>",
        "</div>",
        footer_part(report.footer),
        f"<script>{script}</script>",
        "</body>\n</html>",
    ]
    return "\n".join(parts) + "\n"


def footer_part(entries: Sequence[tuple[str, str]]) -> str:
    """Return how to obtain the report again, folded where it is long."""
    rows = "".join(f"<div><dt>{escape(name)}<dd><code>{escape(value)}</code></div>" for name, value in entries)
    title = "<h2>How to reproduce it</h2>"
    if len(entries) <= LONG_FOOTER:
        return f'<footer id="again">{title}<dl>{rows}</dl></footer>'
    return f'<footer><details><summary>{title}</summary><dl id="again">{rows}</dl></details></footer>'


def contents_part(sections: Sequence[tuple[str, doc.Section]], *, has_terms: bool) -> str:
    """Return the entries of the contents; sections that belong together are folded, below their own where it is."""

    def link(name: str, title: str) -> str:
        return f'<a href="#{name}" title="{escape(title)}">{escape(title)}</a>'

    titles = {section.title for _, section in sections}
    entries = [link("report", "In short")]
    for within, group in groupby(sections, lambda item: item[1].within):
        if not within:
            entries += (link(name, section.title) for name, section in group)
            continue
        parts = "".join(f"<li>{link(name, part.title.removeprefix(f'{within} · '))}" for name, part in group)
        if within in titles:
            entries[-1] += f"<details><summary>Parts of {escape(within)}</summary><ol>{parts}</ol></details>"
        else:
            entries.append(f"<details><summary>{escape(within)}</summary><ol>{parts}</ol></details>")
    entries += [link("terms", "What the words mean")] if has_terms else []
    entries.append(link("again", "How to reproduce it"))
    return "".join(f"<li>{entry}" for entry in entries)


def section_parts(name: str, section: doc.Section, page: Page) -> Iterator[str]:
    """Yield a section; where it is folded, what a link leads to stands inside, so that the link opens it."""
    title = f'<h2 id="{name}-title">{escape(section.title)}</h2>'
    if section.folded:
        yield f'<section aria-labelledby="{name}-title"><details class="more"><summary>{title}</summary>'
        yield f'<div id="{name}">'
    else:
        yield f'<section id="{name}" aria-labelledby="{name}-title">{title}'
    if section.intro:
        yield f'<p class="intro">{page.prose(section.intro)}</p>'
    yield from blocks_part(section.blocks, page, level=3)
    yield "</div></details></section>" if section.folded else "</section>"


def blocks_part(blocks: Iterable[doc.Block], page: Page, *, level: int) -> Iterator[str]:
    """Yield blocks one after the other; lists of changed queries stand beside one another."""
    for kind, group in groupby(blocks, type):
        parts = [block_part(block, page, level=level) for block in group]
        if kind is doc.ChangedQueries:
            parts = [f'<div class="cols">{"".join(parts)}</div>']
        yield from parts


def block_part(block: doc.Block, page: Page, *, level: int) -> str:
    match block:
        case doc.VerdictBlock():
            return answer_part(block, page, level)
        case doc.Paragraph():
            return f"<p>{page.prose(block.text)}</p>"
        case doc.TableBlock():
            return table_block(block, page, level)
        case doc.Figure():
            return figure_part(block, page, level)
        case doc.ChangedQueries(folded=True):
            n = counted(len(block.queries), "query")
            summary = f"<summary>{escape(block.title)} <small>{n}</small></summary>"
            return f"<details>{summary}{changed_part(block, page)}</details>"
        case _:
            return f'<div class="block">{heading(block.title, level)}{inside_part(block, page)}</div>'


def inside_part(block: TitledBlock, page: Page) -> str:
    """Return what stands below the title of a block."""
    match block:
        case doc.SideBySideBlock():
            from rankscope.report.render.lists import LEGEND, side_by_side_part

            return side_by_side_part(block.sides, page) + LEGEND
        case doc.ChangedQueries():
            return changed_part(block, page)
        case doc.CheckedTargets():
            return targets_part(block, page)
        case doc.Facts():
            return facts_part(block, page)
        case doc.VerdictCounts():
            return f'<div class="groups">{"".join(map(group_part, block.groups))}</div>'
        case doc.Shares():
            return shares_part(block)
        case doc.Estimates():
            from rankscope.report.render.forest import forest_part

            return forest_part(block, page)
        case doc.Bullets():
            items = "".join(f"<li>{page.prose(item)}" for item in block.items)
            return f'<ol class="steps">{items}</ol>' if block.numbered else f'<ul class="bullets">{items}</ul>'
        case doc.Signals():
            return f'<ul class="checks">{"".join(check_part(signal, page) for signal in block.signals)}</ul>'


def answer_part(verdict: doc.VerdictBlock, page: Page, level: int) -> str:
    subject = f'<p class="subject">{escape(verdict.subject)}</p>' if verdict.subject else ""
    cautions = "".join(
        f'<p class="note">{shape("look")}<span><b>Caution</b> {page.prose(text)}</span></p>'
        for text in verdict.cautions
    )
    headline = f'{shape(verdict.mark)}<span><span class="sr">Verdict</span> {escape(verdict.headline)}</span>'
    return (
        f'<div class="answer {tone(verdict.mark)}">{subject}<h{level} class="say">{headline}</h{level}>'
        f'<p class="because">{page.prose(verdict.reason)}</p>{cautions}</div>'
    )


def facts_part(block: doc.Facts, page: Page) -> str:
    facts = (
        f"<div><dt>{page.label(fact.label)}<dd>{escape(with_minus(fact.value))} "
        f"{f'<small>{page.prose(fact.context)}</small>' if fact.context else ''}</div>"
        for fact in block.facts
    )
    return f'<dl class="facts">{"".join(facts)}</dl>'


def group_part(group: doc.VerdictCount) -> str:
    """Return how many systems have a verdict; which they are is shown by pointing at it, and stands on paper."""
    number = f"<b>{len(group.names):,}</b> {escape(group.words)}"
    count = f'<span class="v {tone(group.mark)}">{shape(group.mark)}{number}</span>'
    if not group.names:
        return f"<div>{count}</div>"
    return f'<details name="groups"><summary>{count}</summary><p>{escape(", ".join(group.names))}</p></details>'


def check_part(signal: doc.Signal, page: Page) -> str:
    words = CHECK_WORDS[signal.mark]
    name = f'{shape(signal.mark)}<span class="sr">{words}</span> {escape(signal.name)}'
    return f'<li><b class="v {tone(signal.mark)}">{name}</b><span>{page.prose(signal.words)}</span>'


def changed_part(block: doc.ChangedQueries, page: Page) -> str:
    from rankscope.report.render.lists import LEGEND, side_by_side_part

    items = []
    for i, one in enumerate(block.queries, block.first):
        small = f" <small>{escape(one.query)}</small>" if one.text else ""
        why = f'<p class="why">{escape(with_minus(one.why))}</p>' if one.why else ""
        change = f'<b class="{tone(one.mark)}">{with_minus(f"{one.after - one.before:+.4f}")}</b>'
        lists = (
            f"<details><summary>Both lists</summary>{side_by_side_part(one.sides, page)}{LEGEND}</details>"
            if one.sides
            else ""
        )
        asked = page.named(one.query, one.text or one.query)
        items.append(
            f'<li><span class="k">{i}</span><div class="tq"><b>{asked}</b>{small}{why}</div>'
            f'<span class="num">{one.before:.4f} → {one.after:.4f} {change}</span>{lists}'
        )
    note = f'<p class="cap">{page.prose(block.note)}</p>' if block.note else ""
    return f'<ol class="ql">{"".join(items)}</ol>{note}'


def targets_part(block: doc.CheckedTargets, page: Page) -> str:
    items = []
    for one in block.targets:
        lines = "".join(f"<li>{escape(line)}" for line in one.instead)
        instead = f"<ul>{lines}</ul>" if lines else ""
        small = f'<p class="cap">{escape(one.small)}</p>' if one.small else ""
        about = f'<p class="why">{escape(one.about)}</p>' if one.about else ""
        word = f'<span class="sr">{escape(one.outcome)}</span>'
        items.append(
            f'<li><b class="v {tone(one.mark)}">{shape(one.mark)}{word}</b>'
            f"<div><b>{escape(one.name)}</b>{about}<p>{escape(one.words)}</p>{instead}{small}</div>"
        )
    note = f'<p class="cap">{page.prose(block.note)}</p>' if block.note else ""
    return f'<ul class="targets">{"".join(items)}</ul>{note}'


def shares_part(block: doc.Shares) -> str:
    """Return the parts as one bar, and below it what each is."""
    whole = sum(share.value for share in block.shares) or 1.0
    start, bars, entries = 0.0, [], []
    for i, share in enumerate(block.shares):
        shade, width = f"l{min(i, SHADES - 1)}", 100 * share.value / whole
        bars.append(
            f'<rect class="{shade}" x="{start:.2f}%" width="{max(width - 0.3, 0.1):.2f}%" height="100%" rx="2"/>'
        )
        start += width
        words = f"<p>{escape(with_minus(share.words))}</p>" if share.words else ""
        swatch = f'<svg class="sw" aria-hidden="true"><rect class="{shade}" width="100%" height="100%" rx="2"/></svg>'
        entries.append(f"<li>{swatch}<div><b>{escape(share.name)}, {share.value:.4f}</b>{words}</div>")
    return f'<svg class="shares" aria-hidden="true">{"".join(bars)}</svg><ul class="legend">{"".join(entries)}</ul>'


def figure_part(block: doc.Figure, page: Page, level: int) -> str:
    """Return a chart; it draws its title itself, and its description is for those who do not see it."""
    name = page.new_id("figure", block.title)
    title = f'<h{level} class="sr" id="{name}">{escape(block.title)}</h{level}>' if block.title else ""
    svg = re.sub(r"^\s*(<\?xml[^>]*\?>|<!DOCTYPE[^>]*>|\s)*", "", block.svg)
    caption = f'<figcaption class="sr">{escape(block.alt)}</figcaption>'
    return f'<figure {labelled(block.title, name)}>{title}<div class="chart">{svg}</div>{caption}</figure>'
