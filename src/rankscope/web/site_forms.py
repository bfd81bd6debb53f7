"""Pages without a server: choices of forms become links to files, and what would lead nowhere is plain text or gone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape, unescape
from urllib.parse import quote

from rankscope.records import Options, Record
from rankscope.web.address import encode, state_without

_FORM = re.compile(r"<form\b[^>]*>.*?</form>", re.DOTALL)
_METHOD = re.compile(r'\bmethod="get"')
_CHOICE = re.compile(r'<label\b[^>]*>((?:(?!</label>).)*?)<select name="([^"]*)">(.*?)</select>', re.DOTALL)
_OPTION = re.compile(r'<option value="([^"]*)"( selected)?>([^<]*)')
_SEGMENTS = re.compile(r'<span class="seg">.*?</span>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_ANCHOR = re.compile(r'<a\b([^>]*?)\shref="(/[^"]*)"([^>]*)>(.*?)</a>', re.DOTALL)
_EXPORT = re.compile(r'<details class="export">.*?</details>', re.DOTALL)
VERB = "data-verb"
"""Marks links whose words only make sense as a link, such as "See them"."""
FileOf = Callable[[str], str | None]
"""Gives the file of an address; None where it has none."""


class SiteChoice(Record):
    """A value that a form offers."""

    words: str
    file: str | None
    is_chosen: bool


def without_forms(html: str, path: str, asked: Options | None, file_of: FileOf) -> str:
    """Return a page in which forms are lists of links to files; what they offer and has no file is gone."""

    def links(found: re.Match[str]) -> str:
        if asked is None or not _METHOD.search(found[0]):
            return ""
        parts = []
        for label, name, options in _CHOICE.findall(found[0]):
            choices = [
                SiteChoice(text, file_of(changed(path, asked, unescape(name), unescape(value))), bool(chosen))
                for value, chosen, text in _OPTION.findall(options)
            ]
            parts.append(choice_part(words_of(label), choices))
        segments = _SEGMENTS.findall(found[0])
        parts += [one for one in segments if all(file_of(unescape(link[1])) for link in _ANCHOR.findall(one))]
        return f'<div class="toolbar set-here">{"".join(parts)}</div>' if any(parts) else ""

    return _FORM.sub(links, html)


def words_of(html: str) -> str:
    return " ".join(_TAG.sub("", html).split())


def choice_part(words: str, choices: Sequence[SiteChoice]) -> str:
    """Return what stands for a choice: what is shown here, and links to what else there is."""
    if not choices:
        return ""
    here = next((one for one in choices if one.is_chosen), choices[0])
    others = [one for one in choices if one.file and one is not here]
    if not others:
        return f'<span class="set">{words} <b>{here.words}</b></span>'
    listed = "".join(f'<li><a href="{escape(one.file or "")}">{one.words}</a></li>' for one in others)
    return (
        f'<details class="export pick"><summary class="btn">{words}: <b>{here.words}</b></summary>'
        f"<ul>{listed}</ul></details>"
    )


def changed(path: str, asked: Options, name: str, value: str) -> str:
    """Return the address of a page with one option changed; an empty value is that it has by default."""
    state = [*state_without(asked, name), *([(name, value)] if value else [])]
    pairs = [f"{quote(key)}={encode(text)}" for key, text in state]
    return path + (f"?{'&'.join(pairs)}" if pairs else "")


def without_dead_links(html: str, file_of: FileOf) -> str:
    """Return a page whose links lead to files; buttons and verbs without a file are gone, other words stay as text."""

    def link(found: re.Match[str]) -> str:
        before, where, after, words = found.groups()
        attributes = f"{before} {after}"
        if file := file_of(unescape(where)):
            return f'<a{before} href="{escape(file)}"{after}>{words}</a>'
        is_button = re.search(r'class="[^"]*\bbtn\b', attributes) is not None
        kept = re.search(r'\bdir="auto"', attributes)
        return "" if is_button or VERB in attributes else f"<span{' ' + kept[0] if kept else ''}>{words}</span>"

    return _ANCHOR.sub(link, html)


def without_exports(html: str, data: str) -> str:
    """Return a page whose menu of exports is a link to its data."""
    return _EXPORT.sub(f'<a class="btn" href="{escape(data)}" download>Data as JSON</a>' if data else "", html)
