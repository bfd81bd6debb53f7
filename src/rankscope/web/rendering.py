"""Records to HTML: templates with everything escaped, and the few functions that templates call."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from typing import Any

import jinja2
from litestar import Request
from markupsafe import Markup, escape

from rankscope._version import __version__
from rankscope.measures.registry import REGISTRY
from rankscope.native import kernel
from rankscope.printable import UNSAFE, amount, counted, listed, printable
from rankscope.records import Options, Record
from rankscope.report import document as doc
from rankscope.report.charts.palette import PAGE_CSS
from rankscope.report.render import page as report_page
from rankscope.report.render.html import blocks_part
from rankscope.report.render.texts import clean, cleaned, with_minus
from rankscope.report.tokens import tone
from rankscope.web.address import address, state_without
from rankscope.web.forms import FilledForm
from rankscope.web.markdown import markdown_blocks, without_scale
from rankscope.web.security import Identity, Role

STATIC = files("rankscope.web").joinpath("static")
STYLE = "rankscope.css"
UNDEFINED = "\u2013"
FIRST_NEEDED = (
    "rankscope.report.charts.lines",
    "rankscope.report.charts.maps",
    "rankscope.report.charts.trend",
    "rankscope.report.charts.waterfall",
    "rankscope.report.over_time",
    "rankscope.report.render.forest",
    "rankscope.report.render.lists",
)
"""Modules that are loaded when something is drawn."""
UNDER = {"/query": "/queries", "/job": "/jobs", "/run": "/history", "/agreement": "/judge", "/flags": "/judge"}
"""Where pages belong that are not in the menu."""
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@cache
def static_file(name: str) -> bytes | None:
    """Return a file that pages load; the style sheet is that of the reports, and what frames a page."""
    if name == STYLE:
        report_css = files("rankscope.report.render").joinpath("page.css").read_text("utf-8")
        return f"{PAGE_CSS}\n{report_css}\n{STATIC.joinpath('app.css').read_text('utf-8')}".encode()
    found = STATIC.joinpath(name)
    if "/" in name or name.startswith(".") or name.rpartition(".")[2] not in TYPES or not found.is_file():
        return None
    return found.read_bytes()


@cache
def static_address(name: str) -> str:
    """Return where a file is, with its hash, so that a browser may keep it for ever."""
    content = static_file(name)
    if content is None:
        raise FileNotFoundError(name)
    return f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"


class MenuEntry(Record):
    """A page in the menu."""

    path: str
    title: str
    role: Role = "viewer"
    """The least role that can do something there."""
    sends: bool = False
    """Whether it is of no use to who only reads."""
    takes: Callable[[str], bool] | None = None
    """Tells whether it can be about a collection; None where it cannot be about any."""

    def address(self, collection: str) -> str:
        return address(
            self.path, collection=collection if collection and self.takes and self.takes(collection) else None
        )


class Renderer:
    """Turns the record of a page into HTML."""

    def __init__(self, menu: Iterable[MenuEntry], *, only_read: bool = False) -> None:
        self.menu = tuple(menu)
        self.only_read = only_read
        """Whether the store cannot be written, which every page says."""
        self.environment = jinja2.Environment(
            loader=jinja2.PackageLoader("rankscope.web", "templates"),
            autoescape=True,
            finalize=visible,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.environment.globals |= {
            "static": static_address,
            "filled": FilledForm(),
            "shape": shape,
            "verdict": verdict,
            "counted": counted,
            "text_of": markdown_blocks,
            "without_scale": without_scale,
            "listed": listed,
            "to": address,
            "state": state_without,
            "version": __version__,
        }
        self.environment.filters |= {
            "number": number,
            "minus": with_minus,
            "signed": signed,
            "percent": percent,
            "bytes": size,
            "amount": amount_or_dash,
            "when": when,
            "day": day,
            "printable": printable,
            "tone": tone,
            "code": code,
        }

    def load(self) -> None:
        """Load what the first page of each kind would have to: templates, and what they are made of."""
        for name in FIRST_NEEDED:
            import_module(name)
        kernel()
        list(REGISTRY)  # every measure of every package
        for name in self.environment.list_templates():
            self.environment.get_template(name)

    def render(
        self,
        template: str,
        *,
        request: Request[Any, Any, Any] | None,
        in_site: bool = False,
        scope: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> str:
        """Return a page; `blocks` in a template shows blocks of a report, whose terms are explained once a page.

        `scope` stands for a request that came to nothing, whose sender is known nevertheless.
        """
        state: dict[str, Any] = request.scope["state"] if request is not None else (scope or {}).get("state", {})
        identity = state.get("identity")
        parts = report_page.Page()
        asked, route = values.get("asked"), values.get("route")
        return self.environment.get_template(template).render(
            menu=self.menu_for(identity, collection_of(values), in_site=in_site),
            identity=identity,
            form_secret=state.get("form_secret", ""),
            can_log_out=state.get("can_log_out", False),
            only_read=self.only_read,
            path=request.scope["path"] if request is not None else route.path if route is not None else "",
            under=UNDER,
            here=address_of(request) if request is not None else "",
            in_site=in_site,
            url=partial(address, route.path, asked) if route is not None and isinstance(asked, Options) else None,
            blocks=partial(show_blocks, parts),
            explained=lambda: Markup(parts.terms_part()),  # noqa: S704 (the renderer of reports escapes)
            own_css=lambda: Markup(parts.own_css()),  # noqa: S704 (as above)
            **values,
        )

    def menu_for(self, identity: Identity | None, collection: str, *, in_site: bool) -> list[tuple[str, str, str]]:
        """Return path, address and title of the pages that are of use to somebody; they stay with a collection."""
        return [
            (one.path, one.address(collection), one.title)
            for one in self.menu
            if in_site or (identity is not None and identity.may(one.role) and not (identity.only_reads and one.sends))
        ]


def collection_of(values: Mapping[str, Any]) -> str:
    """Return the collection that a page is about; empty where it is the one that pages show by themselves."""
    page, asked = values.get("page"), values.get("asked")
    name = getattr(page, "collection", None) or ""
    is_chosen = bool(getattr(asked, "collection", None)) or getattr(asked, "run", None) is not None
    return name if isinstance(name, str) and (is_chosen or len(getattr(page, "collections", ())) > 1) else ""


def visible(value: Any) -> Any:
    """Return what a template prints; in texts of others, controls and marks that turn the writing can be seen.

    Every expression of every template passes here, so that no template can forget it; `printable` also joins lines.
    """
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return re.sub(UNSAFE, lambda found: found[0] if found[0] in "\n\t" else ascii(found[0])[1:-1], value)


def address_of(request: Request[Any, Any, Any]) -> str:
    """Return what is on screen, from the first slash; what a form has sent is no page that could be opened again."""
    if request.scope["method"] != "GET":
        return ""
    asked = request.scope["query_string"].decode("latin-1")
    return request.scope["path"] + (f"?{asked}" if asked else "")


def show_blocks(
    parts: report_page.Page, blocks: Iterable[doc.Block], level: int = 2, links: Mapping[str, str] | None = None
) -> Markup:
    """Return blocks of a report as HTML; `links` says where names of systems, or ids of queries, lead."""
    parts.links = {clean(name): where for name, where in (links or {}).items()}
    return Markup("".join(blocks_part([cleaned(block) for block in blocks], parts, level=level)))  # noqa: S704 (escaped)


def shape(mark: doc.Mark) -> Markup:
    return Markup(report_page.shape(mark))  # noqa: S704 (a constant)


def verdict(mark: doc.Mark, words: str) -> Markup:
    """Return a verdict: shape, word, colour."""
    return Markup(report_page.verdict_words(mark, words))  # noqa: S704 (the words are escaped)


def code(text: str) -> Markup:
    """Return a text in which what stands between backticks is code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 and i < len(parts) - 1 else escape(part)
        for i, part in enumerate(parts)
    )


def number(value: float | None, digits: int = 3) -> str:
    return UNDEFINED if value is None else with_minus(f"{value:.{digits}f}")


def signed(value: float | None, digits: int = 3) -> str:
    return UNDEFINED if value is None else with_minus(f"{value:+.{digits}f}")


def percent(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.0%}"


def amount_or_dash(value: float | None) -> str:
    """Return milliseconds and the like as the terminal has them; a dash where nobody measured them."""
    return UNDEFINED if value is None else amount(value)


def size(n_bytes: float | None) -> str:
    """Return a size as people write it: `1.2 MB`."""
    if n_bytes is None:
        return UNDEFINED
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.{0 if unit == 'B' else 1}f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"


def when(time: str) -> str:
    """Return a time of the store as people write it: `14 Nov, 09:12`, with the year where it is another one."""
    at = datetime.fromisoformat(time)
    return f"{day(time)}, {at:%H:%M}"


def day(time: str) -> str:
    at = datetime.fromisoformat(time)
    year = "" if at.year == datetime.now(UTC).year else f" {at.year}"
    return f"{at.day} {at:%b}{year}"
