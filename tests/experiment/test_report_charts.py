"""The report of a run has the maps of diversity and overlap where these were measured; numbers by hand."""

import re

import numpy as np
import pytest

import rankscope as rs
from rankscope.report.benchmark import report_of
from rankscope.report.render import render

RUNS = {
    "first": {"q1": ["a", "b"], "q2": ["c", "d"]},
    "second": {"q1": ["b", "a"], "q2": ["d", "e"]},
}
VECTORS = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 0.0], "d": [1.0, 0.0], "e": [0.6, 0.8]}
PROJECT = """
primary = "RR"
measures = {measures}

[collections.small]
docs = "docs.jsonl"
queries = "queries.tsv"
qrels = "qrels.txt"
embeddings = "vectors.npz"
"""


@pytest.fixture
def benchmark(tmp_path):
    """Return a function that runs a project of run files by some measures, with some of the systems."""

    def run(*measures, systems=tuple(RUNS)):
        (tmp_path / "docs.jsonl").write_text("".join(f'{{"id": "{doc}", "text": "text"}}\n' for doc in VECTORS))
        (tmp_path / "queries.tsv").write_text("q1\tone\nq2\ttwo\n")
        (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 d 1\n")
        np.savez(tmp_path / "vectors.npz", ids=np.array(list(VECTORS)), vectors=np.array(list(VECTORS.values())))
        text = PROJECT.format(measures=list(measures))
        for name in systems:
            text += f'\n[systems.{name}]\ntype = "run"\npath = "{name}.run"\n'
            rows = (
                f"{query} Q0 {doc} {rank} {-rank} {name}\n"
                for query, docs in RUNS[name].items()
                for rank, doc in enumerate(docs, 1)
            )
            (tmp_path / f"{name}.run").write_text("".join(rows))
        (tmp_path / "rankscope.toml").write_text(text)
        return rs.run_project(tmp_path)

    return run


def figure_texts(benchmark):
    """Return what stands below each figure of the page, by its title."""
    report = report_of(benchmark)
    blocks = [*report.first_screen, *(block for section in report.sections for block in section.blocks)]
    return {block.title: block.alt for block in blocks if hasattr(block, "svg")}


def test_relevance_and_diversity(benchmark):
    # RR: first 1 and 1/2, second 1/2 and 1. ILD@2: first 1 and 0, second 1 and 1 - 0.6
    found = benchmark("RR", "ILD@2")
    text = figure_texts(found)["Relevance and diversity"]
    assert text == "Of 2 systems by RR and ILD@2, no other one is better in both than second."
    assert re.search(r"<title>second: 0\.750 \[[^]]*\]; 0\.700 \[", render(report_of(found), "html"))


def test_the_primary_measure_stands_for_relevance(benchmark):
    text = figure_texts(benchmark("ILD@2", "P@2", "RR"))["Relevance and diversity"]
    assert text.startswith("Of 2 systems by RR and ILD@2,")


def test_distances_of_docs_go_before_their_fields(benchmark):
    text = figure_texts(benchmark("RR", "Distinct(field='text')@2", "ILD@2"))["Relevance and diversity"]
    assert text.startswith("Of 2 systems by RR and ILD@2,")
    text = figure_texts(benchmark("RR", "Distinct(field='text')@2"))["Relevance and diversity"]
    assert text.startswith("Of 2 systems by RR and Distinct(field='text')@2,")


def test_less_redundancy_is_no_axis(benchmark):
    assert "Relevance and diversity" not in figure_texts(benchmark("RR", "Redundancy@2"))


def test_no_map_without_a_measure_of_diversity_or_a_second_system(benchmark):
    assert "Relevance and diversity" not in figure_texts(benchmark("RR"))
    assert "Relevance and diversity" not in figure_texts(benchmark("RR", "ILD@2", systems=["first"]))


def test_overlap(benchmark):
    # in both, of all in either: q1 2 of 2, q2 1 of 3
    found = benchmark("RR")
    overlap = found.collections[0].overlap
    assert overlap.names == ("first", "second")
    assert overlap.shared[0, 1] == pytest.approx((1 + 1 / 3) / 2)
    assert "first and second share 0.667" in figure_texts(found)["What the systems have in common"]
    assert "Overlap of the systems" in render(report_of(found), "html")


def test_no_overlap_of_one_system(benchmark):
    found = benchmark("RR", systems=["first"])
    assert found.collections[0].overlap is None
    assert "What the systems have in common" not in figure_texts(found)


def test_text_has_no_figures(benchmark):
    report = report_of(benchmark("RR", "ILD@2"), with_figures=False)
    assert "Overlap of the systems" not in [section.title for section in report.sections]
