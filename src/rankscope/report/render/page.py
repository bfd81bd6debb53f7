"""What the parts of a page share: ids that are used once, terms that are explained once, shapes of marks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from itertools import chain, count

from rankscope.report import document as doc
from rankscope.report.render.texts import with_minus
from rankscope.report.terms import meaning, measure_meaning, split_terms
from rankscope.report.tokens import tone

SHAPES: dict[doc.Mark, str] = {
    "better": '<path d="M8 1.5 15 14H1Z"/>',
    "probably_better": '<path class="ring" d="M8 3 13.5 13H2.5Z"/>',
    "worse": '<path d="M1 2H15L8 14.5Z"/>',
    "probably_worse": '<path class="ring" d="M2.5 3H13.5L8 13Z"/>',
    "same": '<path d="M2 4H14V7H2ZM2 9.5H14V12.5H2Z"/>',
    "unsure": '<circle class="ring" cx="8" cy="8" r="5.5"/>',
    "unsafe": '<path class="ring" d="M8 1.5 14.5 8 8 14.5 1.5 8Z"/><path d="M8 1.5V14.5L1.5 8Z"/>',
    "fine": '<path class="ring" d="M2 8.5 6.5 13 14 3.5"/>',
    "look": '<path d="M6.5 1.5H9.5L9 10H7ZM6.8 12H9.2V14.5H6.8Z"/>',
    "fails": '<path class="ring" d="M3 3 13 13M13 3 3 13"/>',
    "note": '<circle cx="8" cy="8" r="2.5"/>',
}


class Page:
    """A page in the making: which ids and terms it has by now, and which columns stay on a phone."""

    def __init__(self) -> None:
        self.ids = {"report", "again", "terms", "term"}
        self.terms: dict[str, tuple[str, str]] = {}
        """The terms that stand on the page, by name: the id of the explanation, and the explanation."""
        self.kept_columns: set[int] = set()
        self.said: set[str] = set()
        self.links: Mapping[str, str] = {}
        """Where names lead: systems of a forest and of the first column of a table, queries that changed."""

    def new_id(self, kind: str, title: str) -> str:
        """Return an id that is used once on the page, and stays the same as long as the title does."""
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60]
        base = f"{kind}-{slug}" if slug else kind
        name = next(name for name in chain([base], (f"{base}-{n}" for n in count(2))) if name not in self.ids)
        self.ids.add(name)
        return name

    def named(self, name: str, shown: str | None = None) -> str:
        """Return a name, or what is shown for it, as a link where it has one."""
        text = escape(name if shown is None else shown)
        return f'<a href="{escape(self.links[name])}">{text}</a>' if name in self.links else text

    def prose(self, text: str) -> str:
        """Return a text whose terms lead to their explanations: each once on a page, so that few take the focus."""
        pieces = []
        for piece, term in split_terms(with_minus(text)):
            is_new = term and term not in self.said
            self.said.add(term)
            pieces.append(self.known_term(term, piece) if is_new else escape(piece))
        return "".join(pieces)

    def label(self, text: str) -> str:
        """Return the label of a number or a column; a term in it leads to its explanation wherever it stands."""
        pieces = list(split_terms(text))
        if not any(term for _, term in pieces):
            explained = measure_meaning(text)
            return self.term(text, explained, escape(text)) if explained else escape(text)
        return "".join(self.known_term(term, piece) if term else escape(piece) for piece, term in pieces)

    def known_term(self, name: str, shown: str) -> str:
        return self.term(name, meaning(name), escape(shown))

    def term(self, name: str, explained: str, shown: str) -> str:
        if name not in self.terms:
            self.terms[name] = self.new_id("term", name), explained
        anchor = self.terms[name][0]
        return f'<a class="term {anchor}" href="#{anchor}" aria-describedby="{anchor}">{shown}</a>'

    def terms_part(self) -> str:
        """Return the footnotes: every term of the page with its meaning."""
        if not self.terms:
            return ""
        entries = "".join(
            f'<div><dt>{escape(name)}<dd id="{anchor}">{escape(explained)}</div>'
            for name, (anchor, explained) in self.terms.items()
        )
        return f'<section class="terms" id="terms"><h2>What the words mean</h2><dl>{entries}</dl></section>'

    def own_css(self) -> str:
        """Return the rules that depend on what stands on the page: meanings to hover over, columns that stay."""
        rules = [f'.{anchor}::after{{content:"{in_css(explained)}"}}' for anchor, explained in self.terms.values()]
        kept = ",".join(f".k{i} tr>:nth-child({i + 1})" for i in sorted(self.kept_columns))
        if kept:
            shown = f".wide:not(:has(.all-columns :checked)) :is({kept}){{display:table-cell}}"
            rules.append(f"@media screen and (max-width:40rem){{{shown}}}")
        return "".join(rules)


def in_css(text: str) -> str:
    """Return a text as it stands between quotation marks of a style sheet within a page."""
    return re.sub(r'["\\<>&\n]', lambda found: f"\\{ord(found[0]):x} ", text)


def shape(mark: doc.Mark) -> str:
    return f'<svg class="shape" viewBox="0 0 16 16" aria-hidden="true">{SHAPES[mark]}</svg>'


def verdict_words(mark: doc.Mark, words: str) -> str:
    """Return a verdict: its shape, then its words, both in its tone."""
    return f'<span class="v {tone(mark)}">{shape(mark)}{escape(words)}</span>'


def heading(title: str, level: int, *, name: str = "") -> str:
    """Return the title of a block, where it has one; by its name it is referred to."""
    anchor = f' id="{name}"' if name else ""
    return f'<h{level} class="title"{anchor}>{escape(title)}</h{level}>' if title else ""


def labelled(title: str, name: str) -> str:
    """Return the attribute that says what something is: its title, where it has one."""
    return f'aria-labelledby="{name}"' if title else 'aria-label="Untitled"'
