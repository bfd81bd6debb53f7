"""Qrels that several threads read, each a part: expected is what plain Python finds in the same lines."""

import random

import numpy as np
import pytest

from rankscope.data.loading import load_qrels, load_run
from rankscope.io.limits import max_line_bytes
from rankscope.native import index_qrels_text, kernel

pytestmark = pytest.mark.skipif(kernel() is None, reason="there is no kernel here")


def judgments(rng, *, grouped, n_grades=4):
    """Return (query, doc, grade) rows of many queries, of which the last ones have no relevant doc."""
    rows = [
        (f"q{query}", f"d{doc}", -1 if rng.random() < 0.01 else rng.randrange(n_grades) if query < 190 else 0)
        for query in range(200)
        for doc in rng.sample(range(10_000), rng.choice([1, 3, 200, 400]))
    ]
    if not grouped:
        rng.shuffle(rows)
    return rows


def text_of(rows, *, odd=False, mark=b""):
    """Return rows as text; where it is to be odd, with comments, blank lines, tabs and carriage returns in it."""
    lines = []
    for i, (query, doc, grade) in enumerate(rows):
        if odd and i % 97 == 0:
            lines += [b"# a comment", b"", b"  \t "]
        line = f"{query} 0 {doc} {grade}" if not odd or i % 31 else f" {query}\t0  {doc} {grade} \r"
        lines.append(line.encode())
    return mark + b"\n".join(lines)


def index_of(text, threads):
    return index_qrels_text(np.frombuffer(text, dtype=np.uint8), max_line=max_line_bytes(), threads=threads)


def expected_of(rows):
    """Return queries and ideal grades by plain means."""
    by_query = {}
    for query, _, grade in rows:
        by_query.setdefault(query, []).append(grade)
    queries = sorted(by_query)
    ideal = [sorted((grade for grade in by_query[query] if grade >= 0), reverse=True) for query in queries]
    return queries, [len(grades) for grades in ideal], [float(grade) for grades in ideal for grade in grades]


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("odd", [True, False])
def test_threads_find_what_is_there(threads, grouped, odd):
    rows = judgments(random.Random(5), grouped=grouped)
    index = index_of(text_of(rows, odd=odd, mark=b"\xef\xbb\xbf" if odd else b""), threads)
    queries, n_grades, grades = expected_of(rows)
    assert index.query_ids == queries
    assert np.frombuffer(index.ideal[0], dtype=np.int64).tolist() == n_grades
    assert np.frombuffer(index.ideal[1]).tolist() == grades
    assert (index.n_rows, index.max_grade, index.fractional_row) == (len(rows), 3.0, -1)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_many_different_grades_are_in_order(threads):
    rows = judgments(random.Random(6), grouped=True, n_grades=500)
    index = index_of(text_of(rows), threads)
    assert np.frombuffer(index.ideal[1]).tolist() == expected_of(rows)[2]


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("grouped", [True, False])
def test_a_run_is_scored_alike_however_the_qrels_are_read(threads, grouped, tmp_path):
    from rankscope import evaluate

    rng = random.Random(7)
    rows = judgments(rng, grouped=grouped)
    path = tmp_path / "qrels.txt"
    path.write_bytes(text_of(rows))
    as_dict = {}
    for query, doc, grade in rows:
        as_dict.setdefault(query, {})[doc] = grade
    run = load_run({query: {f"d{rng.randrange(10_000)}": rng.random() for _ in range(300)} for query in as_dict})
    measures = ["nDCG@10", "AP", "R@100", "Judged@100"]
    found = evaluate(load_qrels(path, threads=threads), run, measures).to_dict()
    assert found == evaluate(as_dict, run, measures).to_dict()


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("where", [0, 0.4, 0.8, 1])
def test_a_fault_anywhere_is_left_to_the_reader_of_lines(threads, where):
    rows = judgments(random.Random(8), grouped=True)
    at = int(where * (len(rows) - 1))
    for wrong in (("q1", "d 1", 1), ("q1", "d99999", "x"), ("q1", "d99999", "inf"), rows[len(rows) // 2]):
        assert index_of(text_of([*rows[:at], wrong, *rows[at:]]), threads) is None


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("where", [0, 0.4, 0.8, 1])
def test_the_first_grade_that_is_no_whole_number_is_named(threads, where):
    rows = judgments(random.Random(9), grouped=False)
    at = int(where * (len(rows) - 1))
    for i in (at, len(rows) - 1):
        rows[i] = (*rows[i][:2], 0.5)
    assert index_of(text_of(rows), threads).fractional_row == at
