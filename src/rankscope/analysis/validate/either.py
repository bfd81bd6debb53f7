"""Checks of either file, qrels or run: that it has rows, and that no encoding damaged its ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain

from rankscope.align.finding import N_EXAMPLES, Finding
from rankscope.analysis.validate.tables import QrelsTable, RunTable

_CONTINUATION = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"  # noqa: RUF001 (bytes 80 to BF, read as Latin-1 or cp1252)
ENCODING_TROUBLE: dict[str, tuple[str, re.Pattern[str], str]] = {
    "not_utf8": ("bytes that are not UTF-8", re.compile("[\ud800-\udfff]"), "convert the file to UTF-8"),
    "replacement_character": (
        "U+FFFD, which stands where a character was lost",
        re.compile("\ufffd"),
        "make the file again from its source; what was lost cannot be told from this one",
    ),
    "mojibake": (
        "UTF-8 that was read as another encoding",
        re.compile(f"[ÂÃÐÑ][{_CONTINUATION}]|â[€\u0080]|ï»¿"),
        "read the source as UTF-8 and write the file again",
    ),
    "byte_order_mark": ("a byte order mark", re.compile("\ufeff"), "it is left from joining files: remove it"),
    "control_character": (
        "control characters",
        re.compile("[\u0000-\u001f\u007f-\u009f]"),
        "an invisible character keeps an id from matching what looks the same: remove it",
    ),
}
"""By code: what such an id holds, how to recognise it, and what to do; an id is reported for the first that it has."""


def nothing_there(table: QrelsTable | RunTable) -> Iterator[Finding]:
    if not len(table.rows):
        yield Finding("error", "no_rows", table.name, "there are no rows", hint="check that something was written")


def encoding_trouble(table: QrelsTable | RunTable) -> Iterator[Finding]:
    columns = (ids for ids in (table.queries.ids, table.docs.ids) if not is_plain(" ".join(ids)))
    suspects = [name for name in chain.from_iterable(columns) if not is_plain(name)]
    for code, (what, pattern, hint) in ENCODING_TROUBLE.items():
        found = [name for name in suspects if pattern.search(name)]
        if found:
            examples = tuple(map(ascii, found[:N_EXAMPLES]))
            yield Finding("warning", code, table.name, f"ids that hold {what}: {len(found):,}", examples, hint)
        suspects = [name for name in suspects if not pattern.search(name)]


def is_plain(text: str) -> bool:
    """Tell whether a text is printable ASCII; all ids of most files are, so they are looked at in one go first."""
    return text.isascii() and text.isprintable()


EITHER_CHECKS: tuple[Callable[[QrelsTable | RunTable], Iterator[Finding]], ...] = (nothing_there, encoding_trouble)
