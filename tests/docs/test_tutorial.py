"""The tutorial runs from top to bottom, and what it shows is what comes out."""

import importlib.util
import warnings
from pathlib import Path

import pytest

pytest.importorskip("ipykernel")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def tutorial():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that notebooks need
        spec = importlib.util.spec_from_file_location("run_tutorial", DOCS / "run_tutorial.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module, nbformat.read(module.TUTORIAL, as_version=4), module.executed()


def test_what_is_stored_is_what_comes_out(tutorial):
    module, stored, now = tutorial
    assert module.texts(stored) == module.texts(now), "run scripts/tutorial"


def test_it_is_stored_with_its_pictures_and_without_paths(tutorial):
    module, stored, _ = tutorial
    kinds = [kinds for _, kinds in module.texts(stored)]
    assert sum("image/svg+xml" in each for each in kinds) >= 4
    assert sum("text/html" in each for each in kinds) >= 6
    text = module.TUTORIAL.read_text("utf-8")
    assert len(text) < 400_000
    assert "ipykernel_" not in text
    assert "/tmp/" not in text


def test_it_goes_the_whole_way(tutorial):
    source = "\n".join(cell.source for cell in tutorial[1].cells if cell.cell_type == "code")
    calls = ("rs.evaluate(", ".best(", "rs.compare(", "].queries", "rs.explain(", "rs.diagnose(", ".plot(", ".save(")
    assert [call for call in calls if call not in source] == []
    assert [
        source.index(call) for call in ("rs.evaluate(", "rs.compare(", "rs.explain(", "rs.diagnose(", ".save(")
    ] == (
        sorted(source.index(call) for call in ("rs.evaluate(", "rs.compare(", "rs.explain(", "rs.diagnose(", ".save("))
    )


def test_pages_that_it_links_to_are_there(tutorial):
    import re

    text = "\n".join(cell.source for cell in tutorial[1].cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert [link for link in links if not (DOCS / link).exists()] == []
