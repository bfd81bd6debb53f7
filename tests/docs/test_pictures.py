"""Pictures of the docs: each is shown by a page, which says in words what is to be seen, and is quickly loaded."""

import re
from pathlib import Path

import pytest

Image = pytest.importorskip("PIL.Image")
DOCS = Path(__file__).parents[2] / "docs"
SHOWN = {
    file: words
    for page in sorted(DOCS.glob("*.md"))
    for words, file in re.findall(r"!\[([^\]]*)\]\(([^)]*\.webp)\)", page.read_text("utf-8"))
}


def test_every_picture_is_shown_and_is_there():
    assert set(SHOWN) == {file.name for file in DOCS.glob("*.webp")}
    assert {"judging-doc.webp", "judging-lists.webp", "judging-flags.webp"} <= set(SHOWN)


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_picture_is_small_and_said_in_words(name):
    file = DOCS / name
    assert file.stat().st_size < 120_000
    with Image.open(file) as picture:
        assert picture.size[0] == 1440
    assert len(SHOWN[name].split()) > 15
