"""TREC topics, which hold queries: the old SGML, whose tags need not be closed, and XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankscope.errors import FormatError
from rankscope.io.source import FileReading

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_TOP = re.compile(r"<top>(.*?)</top>", re.IGNORECASE | re.DOTALL)
_FIELD = re.compile(r"<([a-z][\w-]*)>(.*?)(?=</?[a-z][\w-]*>|\Z)", re.IGNORECASE | re.DOTALL)
_SAID_AGAIN = re.compile(r"(number|topic|domain|description|narrative|summary|concept\(s\)):\s*", re.IGNORECASE)
"""What the first years wrote behind a tag: <num> Number: 051."""
_NAMES = {"num": "number", "desc": "description", "narr": "narrative", "dom": "domain", "con": "concepts"}
_START = re.compile(rb"\s*(<\?xml|<!doctype|<!--|<top(ics|ic)?\b|<[a-z][\w-]*>\s*<top)", re.IGNORECASE)


def is_topics(head: bytes) -> bool:
    return bool(_START.match(head.removeprefix(b"\xef\xbb\xbf")))


def topic_rows(reading: FileReading) -> Iterator[tuple[int, dict[str, Any]]]:
    text = reading.whole().decode("utf-8-sig", "surrogateescape")
    if re.search(r"<top>", text, re.IGNORECASE):
        return sgml_rows(text, reading.name)
    return xml_rows(text, reading.name)


def sgml_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield topics whose tags need not be closed, such as <num> Number: 301 <title> Organized Crime."""
    found = list(_TOP.finditer(text))
    n_begun = len(re.findall(r"<top>", text, re.IGNORECASE))
    if len(found) < n_begun:
        raise FormatError(f"{name} begins {n_begun} topics and ends {len(found)}", hint="each ends with </top>")
    for match in found:
        line = text.count("\n", 0, match.start()) + 1
        row: dict[str, Any] = {}
        for tag, body in _FIELD.findall(match[1]):
            value = _SAID_AGAIN.sub("", " ".join(body.split()), count=1)
            row.setdefault(_NAMES.get(tag.lower(), tag.lower()), value)
        yield line, as_row(row)


def as_row(row: dict[str, Any]) -> dict[str, Any]:
    tag = next((tag for tag in ("number", "num", "id", "identifier", "qid", "query_id") if tag in row), None)
    return {"_id": row.get(tag) if tag else None, **{name: value for name, value in row.items() if name != tag}}


def xml_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the topics of an XML file: the children of its root that share the most usual tag."""
    root = parsed(text, name)
    tags = [child.tag for child in root]
    usual = max(tags, key=tags.count, default="")
    elements = [child for child in root if child.tag == usual]
    if not elements:
        raise FormatError(f"{name} is XML without topics", hint='a topic is <topic number="1"><title>…</title></topic>')
    starts = [match.start() for match in re.finditer(rf"<{re.escape(usual)}[\s>]", text)]
    for i, element in enumerate(elements):
        row: dict[str, Any] = dict(element.attrib)
        for child in element:
            if not len(child) and (child.text or "").strip():
                row.setdefault(child.tag.lower(), " ".join(str(child.text).split()))
        own = " ".join((element.text or "").split())
        # where a comment repeats the tag, its place among the topics instead of its line
        line = text.count("\n", 0, starts[i]) + 1 if len(starts) == len(elements) else i + 1
        yield line, as_row({**row, **({"text": own} if own else {})})


def parsed(text: str, name: str) -> Element:
    """Return the root of an XML file; files that define entities are refused, since these can grow without bound."""
    from xml.etree import ElementTree as ET

    if "<!ENTITY" in text:
        raise FormatError(f"{name} defines entities, which is not read", hint="write their text out")
    try:
        return ET.fromstring(text.encode("utf-8", "surrogateescape"))  # noqa: S314 (entities are refused above)
    except ET.ParseError as error:
        raise FormatError(f"{name} is not valid XML: {error}", hint="topics are XML, or <top> … </top>") from error
