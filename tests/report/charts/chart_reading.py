"""Reads an SVG back: where its texts and shapes stand, and what its axes say about places."""

import math
import re
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from rankscope.report.charts.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"
INHERITED = ("font-size", "font-weight", "text-anchor", "fill", "stroke")
UP, DOWN = 0.8, 0.22  # what letters take above and below their line


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other):
        across = min(self.right, other.right) - max(self.left, other.left)
        return min(across, min(self.bottom, other.bottom) - max(self.top, other.top))

    def inside(self, other, slack=0.51):
        return (
            self.left >= other.left - slack
            and self.top >= other.top - slack
            and self.right <= other.right + slack
            and self.bottom <= other.bottom + slack
        )


@dataclass(frozen=True)
class Text:
    words: str
    x: float
    y: float
    anchor: str
    size: float
    box: Box


@dataclass(frozen=True)
class Shape:
    name: str
    attributes: dict
    box: Box
    tip: str


class Picture:
    """A parsed SVG."""

    def __init__(self, svg):
        self.root = ET.fromstring(svg)
        _, _, width, height = map(float, self.root.get("viewBox").split())
        self.frame = Box(0, 0, width, height)
        self.texts, self.shapes = [], []
        self._walk(self.root, {}, 0, 0, inside_defs=False)

    def _walk(self, node, look, dx, dy, *, inside_defs):
        name = node.tag.removeprefix(SVG)
        look = look | {key: node.get(key) for key in INHERITED if node.get(key)}
        if move := re.fullmatch(r"translate\((\S+) (\S+)\)", node.get("transform", "")):
            dx, dy = dx + float(move[1]), dy + float(move[2])
        if name == "text":
            self.texts.append(read_text(node, look, dx, dy))
        elif name in BOXES and not inside_defs:
            self.shapes.append(Shape(name, look | node.attrib, BOXES[name](node, dx, dy), tip_of(node)))
        for child in node:
            self._walk(child, look, dx, dy, inside_defs=inside_defs or name == "defs")

    def circles(self, fill=None):
        return [shape for shape in self.shapes if shape.name == "circle" and fill in {None, shape.attributes["fill"]}]

    def axis(self, anchor):
        """Return place -> value by the numbers written beside an axis: "middle" below it, "end" left of it."""
        rows = {}
        for text in self.texts:
            value = as_number(text.words)
            if text.anchor == anchor and value is not None:
                rows.setdefault(round(text.y if anchor == "middle" else text.x, 1), []).append((text, value))
        marks = max(rows.values(), key=len)
        return [(text.x if anchor == "middle" else text.y - 0.35 * text.size, value) for text, value in marks]

    def value_at(self, place, anchor, *, log=False):
        """Return what a reader would read off an axis at a place."""
        marks = sorted(self.axis(anchor))
        (p1, v1), (p2, v2) = marks[0], marks[-1]
        v1, v2 = (math.log10(v1), math.log10(v2)) if log else (v1, v2)
        value = v1 + (place - p1) / (p2 - p1) * (v2 - v1)
        return 10**value if log else value


def read_text(node, look, dx, dy):
    words = "".join([node.text or "", *(child.tail or "" for child in node)])
    size, bold = float(look["font-size"]), look.get("font-weight") == "600"
    x, y, anchor = float(node.get("x")) + dx, float(node.get("y")) + dy, look.get("text-anchor", "start")
    width = text_width(words, size, bold=bold)
    left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
    return Text(words, x, y, anchor, size, Box(left, y - UP * size, left + width, y + DOWN * size))


def tip_of(node):
    title = node.find(f"{SVG}title")
    return "" if title is None else title.text or ""


def numbers_of(node, *names):
    return [float(node.get(name, 0)) for name in names]


def rect_box(node, dx, dy):
    x, y, width, height = numbers_of(node, "x", "y", "width", "height")
    assert width >= 0
    assert height >= 0
    return Box(x + dx, y + dy, x + width + dx, y + height + dy)


def circle_box(node, dx, dy):
    x, y, r = numbers_of(node, "cx", "cy", "r")
    return Box(x - r + dx, y - r + dy, x + r + dx, y + r + dy)


def line_box(node, dx, dy):
    x1, y1, x2, y2 = numbers_of(node, "x1", "y1", "x2", "y2")
    return Box(min(x1, x2) + dx, min(y1, y2) + dy, max(x1, x2) + dx, max(y1, y2) + dy)


def path_points(data):
    """Yield the corners of a path of straight lines."""
    x = y = 0.0
    for command, rest in re.findall(r"([MLHVhvlZz])([^MLHVhvlZz]*)", data):
        values = [float(v) for v in re.findall(r"-?\d+(?:\.\d+)?", rest)]
        match command:
            case "M" | "L":
                x, y = values
            case "H":
                (x,) = values
            case "V":
                (y,) = values
            case "h":
                x += values[0]
            case "v":
                y += values[0]
            case "l":
                x, y = x + values[0], y + values[1]
        yield x, y


def path_box(node, dx, dy):
    assert re.fullmatch(r"[MLHVhvlZz0-9. -]*", node.get("d")), node.get("d")
    xs, ys = zip(*path_points(node.get("d")), strict=True)
    return Box(min(xs) + dx, min(ys) + dy, max(xs) + dx, max(ys) + dy)


BOXES = {"rect": rect_box, "circle": circle_box, "line": line_box, "path": path_box}


def as_number(words):
    try:
        return float(words.replace(",", "").replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        return None


def overlapping(texts):
    """Return pairs of texts that cover one another."""
    ordered = sorted((text for text in texts if text.words.strip()), key=lambda text: text.box.top)
    found = []
    for i, one in enumerate(ordered):
        for other in ordered[i + 1 :]:
            if other.box.top >= one.box.bottom:
                break
            if one.box.overlap(other.box) > 0.6:
                found.append((one.words, other.words))
    return found


def check_picture(svg):
    """Check that nothing overlaps or lies outside, and return the parsed picture."""
    picture = Picture(svg)
    assert overlapping(picture.texts) == []
    assert [text.words for text in picture.texts if not text.box.inside(picture.frame)] == []
    assert [shape for shape in picture.shapes if not shape.box.inside(picture.frame)] == []
    return picture


def check_chart(chart):
    """Check both pictures of a chart."""
    return check_picture(chart.svg), check_picture(chart.narrow)
