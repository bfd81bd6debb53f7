"""The same pages as files: a folder that any web server, or no server at all, can show.

The pages are followed from the overview on, link by link, as a reader would; each state of a page becomes a file. What
needs a server is left out: live queries, jobs. Choices of forms are links to the files that there are; a link to a
state that has no file is a plain text. Queries are found by their words in an index of their own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape, unescape
from pathlib import Path
from typing import Any

import msgspec

from rankscope.errors import OptionError, RankscopeError
from rankscope.io.files import make_folder, write_text
from rankscope.progress import Progress
from rankscope.records import Options, Record, replace, to_json
from rankscope.web.address import address, default_of, options_in
from rankscope.web.choices import newest_collection
from rankscope.web.library import Library
from rankscope.web.rendering import Renderer, static_file
from rankscope.web.routing import PageRoute, menu_of, style_hashes, template_values
from rankscope.web.site_forms import without_dead_links, without_exports, without_forms

_LINK = re.compile(r'\b(href|src)="(/static/[^"]*)"')
_STATIC = "/static/"
INDEX = "queries-index.js"
"""The queries that have a page, with their words; a script, as browsers read no other files from a folder."""
ALL_OF_THEM = ("/targets", "/collections")
"""Pages that are about all collections where none is chosen."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{styles}; img-src 'self' data:; "
    "form-action 'none'; base-uri 'none'"
)


class SiteSummary(Record):
    """What a site consists of."""

    folder: str
    n_pages: int
    n_bytes: int
    left_out: tuple[tuple[str, int], ...]
    """Pages that would have been too many, by their path: how many of them were met and not written."""


def write_site(
    library: Library,
    routes: Sequence[PageRoute[Any]],
    folder: Path,
    *,
    limits: Mapping[str, int] | None = None,
    progress: Progress | None = None,
) -> SiteSummary:
    """Write the pages to a new folder; `limits` says how many files of a path there are at most."""
    make_folder(folder)
    site = Site(library, routes, limits or {})
    n_bytes = 0
    while site.waiting:
        route, asked = site.waiting.popleft()
        for name, text in site.files_of(route, asked).items():
            write_text(folder / name, text)
            n_bytes += len(text)
        if progress is not None:
            progress(site.n_written, site.n_written + len(site.waiting))
    for name in sorted(site.static):
        content = static_file(name) or b""
        write_text(folder / name, content.decode("utf-8"))
        n_bytes += len(content)
    index = site.index()
    write_text(folder / INDEX, index)
    n_bytes += len(index)
    left_out = tuple(sorted(site.left_out.items()))
    return SiteSummary(str(folder), site.n_written, n_bytes, left_out)


class Site:
    """A site in the making: which states of pages have a file, and which still wait to be written."""

    def __init__(self, library: Library, routes: Sequence[PageRoute[Any]], limits: Mapping[str, int]) -> None:
        self.library = library
        self.routes = {route.path: route for route in routes if route.site_limit}
        self.limits = {path: limits.get(path, route.site_limit) for path, route in self.routes.items()}
        in_menu = [route for route in self.routes.values() if route.in_menu]
        self.renderer = Renderer(menu_of(in_menu, library))
        self.made = datetime.now(UTC).isoformat()
        self.newest = newest_collection(library)
        self.queries: list[tuple[str, str]] = []
        """What a query asks, with its id, and its file."""
        self.names: dict[str, str] = {}
        """The file of each state, by its address."""
        self.n_of: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self._refused: set[str] = set()
        self.waiting: deque[tuple[PageRoute[Any], Options]] = deque()
        self.static: set[str] = set()
        """Style sheets, scripts and pictures that pages load."""
        self.n_written = 0
        for route in in_menu:
            self.file_of(route.path)

    def file_of(self, link: str) -> str | None:
        """Return the file of a link, which is written later where it is new; None where there is none."""
        path, _, rest = link.partition("?")
        rest, _, anchor = rest.partition("#") if rest else (rest, "", "")
        path, _, anchor = path.partition("#") if "#" in path else (path, "", anchor)
        route = self.routes.get(path)
        if route is None:
            return None
        try:
            asked = options_in(route.options, rest)
        except OptionError:
            return None
        asked = self.without_what_is_usual(route, asked)
        if not changed_options(asked) <= route.site_options:
            return None
        state = address(path, asked)
        if state not in self.names:
            if self.n_of[path] >= self.limits[path]:
                if state not in self._refused:
                    self._refused.add(state)
                    self.left_out[path] += 1
                return None
            self.n_of[path] += 1
            self.names[state] = name_of(path, state)
            self.waiting.append((route, asked))
        return self.names[state] + (f"#{anchor}" if anchor else "")

    def without_what_is_usual(self, route: PageRoute[Any], asked: Options) -> Options:
        """Return the same state with fewer options, so that it has one file: only how it was reached is left out."""
        usual = {field.name: default_of(field) for field in msgspec.structs.fields(asked)}
        dropped = {name: usual[name] for name in route.site_ignored}
        if route.path not in ALL_OF_THEM and getattr(asked, "collection", None) == self.newest is not None:
            dropped["collection"] = usual["collection"]
        return replace(asked, **dropped)

    def files_of(self, route: PageRoute[Any], asked: Options) -> dict[str, str]:
        """Return a page and its data, as files by their names."""
        name = self.names[address(route.path, asked)]
        about: dict[str, Any] = {"request": None, "in_site": True, "made": self.made, "index": INDEX}
        try:
            known = template_values(route, self.library, asked)
        except RankscopeError as error:  # the link that led here was to something that cannot be shown
            what: dict[str, Any] = {"status": 404, "what": error.message, "hint": error.hint}
            html = self.renderer.render("error.html", **about, **what)
            return {name: self.relinked(html, "", route.path, None)}
        self.n_written += 1
        if route.path == "/query":
            page = known["page"]
            self.queries.append((f"{page.text} {page.query}".strip(), name))
        html = self.renderer.render(route.template, **about, **known)
        data = f"{name.removesuffix('.html')}.json"
        return {name: self.relinked(html, data, route.path, asked), data: to_json(known["page"], indent=None)}

    def relinked(self, html: str, data: str, path: str, asked: Options | None) -> str:
        """Return a page whose links lead to files, with the policy that a server would send as a header."""
        digests = style_hashes(html).get("x-style-hashes", "").split()
        policy = POLICY.format(styles="".join(f" 'sha256-{digest}'" for digest in digests))
        html = html.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)

        def file_of(link: str) -> str | None:
            return (data or None) if link.partition("?")[0].endswith(".json") else self.file_of(link)

        def static(found: re.Match[str]) -> str:
            name = unescape(found[2]).removeprefix(_STATIC).partition("?")[0]
            self.static.add(name)
            return f'{found[1]}="{escape(name)}"'

        html = without_exports(without_forms(html, path, asked, file_of), data)
        # browsers load no modules from files, and ours import nothing
        return _LINK.sub(static, without_dead_links(html, file_of)).replace('<script type="module"', "<script defer")

    def index(self) -> str:
        """Return the index of the queries, as a script that can be read from a folder."""
        return f"window.rankscopeQueries = {json.dumps(self.queries)};\n"


def changed_options(asked: Options) -> set[str]:
    """Return the names of the options that are not as they are by default."""
    return {field.name for field in msgspec.structs.fields(asked) if getattr(asked, field.name) != default_of(field)}


def name_of(path: str, state: str) -> str:
    """Return the name of a file: that of the page, and what stands for its state where that is not the default."""
    stem = path.strip("/").replace("/", "-") or "index"
    if state == path:
        return f"{stem}.html"
    return f"{stem}-{hashlib.sha256(state.encode()).hexdigest()[:12]}.html"
