"""The kernel and the reference return the same arrays, or raise the same error, whatever they are given."""

import gzip
import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from both import assert_aligned_alike, counting_kernel_answers, policy_grid
from hypothesis import example, given
from hypothesis import strategies as st

from rankscope.data.loading import ReadOptions

GOLDEN = Path(__file__).parents[1] / "golden" / "trec_eval"
DATA = Path(__file__).parents[2].parent / "shared" / "data"
REAL_RUNS = sorted((DATA / "runs").glob("*/runs/*"))
LENIENT = ReadOptions(lenient=True)

POLICIES = st.fixed_dictionaries(
    {
        "ties": st.sampled_from(["trec", "given", "ascending"]),
        "precision": st.sampled_from(["double", "single"]),
        "duplicates": st.sampled_from(["error", "first"]),
        "self_match": st.sampled_from(["keep", "drop"]),
        "missing": st.sampled_from(["zero", "zero", "skip", "error"]),
        "depth": st.sampled_from([None, 1, 2, 5, 10**30]),
        "judged_only": st.booleans(),
        "threads": st.sampled_from([1, 2, 3, 7]),
    }
)


# Files there are


@pytest.mark.parametrize("case", sorted(path.name for path in GOLDEN.iterdir()))
def test_golden_cases(case):
    with counting_kernel_answers() as by_kernel:
        for policies in policy_grid(12):
            assert_aligned_alike(GOLDEN / case / "qrels.txt", GOLDEN / case / "run.txt", **policies)
    assert all(by_kernel)


def qrels_beside(run: Path) -> Path | None:
    """Return the qrels that belong to a real run."""
    folder = run.parent.parent
    candidates = [*sorted(folder.glob("qrels*")), DATA / "collections" / folder.name.split("-")[0] / "qrels.trec"]
    return next((path for path in candidates if path.is_file()), None)


@pytest.mark.skipif(not REAL_RUNS, reason="the folder of real files, shared/data beside the repository, is not here")
@pytest.mark.parametrize("run", REAL_RUNS, ids=lambda path: f"{path.parent.parent.name}/{path.name}")
def test_real_runs(run, request):
    qrels = qrels_beside(run)
    if qrels is None:
        pytest.skip("there are no qrels for this run")
    policies = policy_grid(len(REAL_RUNS))[REAL_RUNS.index(run)]
    usual = {"duplicates": "first", "threads": 2}
    for chosen in (usual, {**policies, "duplicates": "first"}):
        assert not assert_aligned_alike(qrels, run, **chosen).is_error


@pytest.mark.skipif(
    not DATA.is_dir(), reason="the folder of real files, shared/data beside the repository, is not here"
)
def test_every_other_real_file_of_runs_and_qrels():
    folder = DATA / "runs" / "trec_eval-10-tests"
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in {".md", ".json"}]
    runs, qrels = ([path for path in files if word in path.name] for word in ("results", "qrels"))
    assert runs
    assert qrels
    for judged, run in itertools.product(qrels, runs):
        assert_aligned_alike(judged, run, options=LENIENT, duplicates="first", threads=3)


# Text


QUERIES = ["q1", "q2", "q3", "10", "9", "d1", "naïve", "q" * 300]
DOCS = [*(f"d{i}" for i in range(1, 9)), "D1", "d01", "é", "q1", "d" * 5000, "\x00", "#d"]
SCORES = [
    "1",
    "1",
    "2",
    "0",
    "0.5",
    "-0.0",
    "+5",
    ".5",
    "5.",
    "5.e2",
    "1e3",
    "1E-3",
    "inf",
    "-INF",
    "Infinity",
    "infinity",
    "1e999",
    "-1e999",
    "1e-999",
    "4.9e-324",
    "2.5e-324",
    "16777217",
    "16777216",
    "0.1234567890123456789012345",
    "9007199254740993",
    "3.4028236e38",
    "1.7976931348623159e308",
]
BAD_SCORES = [
    "nan",
    "NaN",
    "0x10",
    "1_0",
    "x",
    "-",
    "+",
    ".",
    "e5",
    "1e",
    "1e+",
    "--1",
    "1..2",
    "infin",
    "\u0661",
    "1,5",
]
RANKS = ["1", "2", "3", "4", "0", "-1", "+2", "007", "9223372036854775807"]
BAD_RANKS = ["x", "1.0", "9223372036854775808", "-"]
QRELS_TEXT = "".join(
    f"{query} 0 {doc} {i % 4}\n" for i, (query, doc) in enumerate(itertools.product(QUERIES[:7], DOCS[:12]))
)


@st.composite
def lines_of_runs(draw, *, odd: bool):
    fields = [
        draw(st.sampled_from(QUERIES)),
        "Q0",
        draw(st.sampled_from(DOCS)),
        draw(st.sampled_from(RANKS + BAD_RANKS * odd)),
        draw(st.sampled_from(SCORES + BAD_SCORES * odd)),
        draw(st.sampled_from(["tag", "other"])),
    ]
    if not odd:
        return " ".join(fields).encode() + b"\n"
    n_fields = draw(st.sampled_from([6, 6, 6, 6, 7, 9, 5, 1, 0]))
    blank = draw(st.sampled_from([" ", "\t", "  ", " \t", "\v"]))
    line = draw(st.sampled_from(["", "", " ", "#", "\t#"])) + blank.join([*fields, "more", "1", "2"][:n_fields])
    end = draw(st.sampled_from(["\n", "\n", "\r\n", " \n", "\n\n", "\n \t\n", "\n# a comment\n"]))
    return (line + end).encode().replace(b"tag", draw(st.sampled_from([b"tag", b"\xff\xfe", b"t\x00g"])))


@st.composite
def runs_as_text(draw):
    lines = draw(st.lists(lines_of_runs(odd=draw(st.booleans())), max_size=30))
    if draw(st.booleans()):
        lines.sort()
    text = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + b"".join(lines)
    return text.rstrip(b"\n") if draw(st.booleans()) else text


@given(text=runs_as_text(), policies=POLICIES, lenient=st.booleans())
def test_text(text, policies, lenient, tmp_path):
    (tmp_path / "run").write_bytes(text)
    (tmp_path / "qrels").write_text(QRELS_TEXT)
    options = ReadOptions(format="trec", lenient=lenient)
    assert_aligned_alike(tmp_path / "qrels", tmp_path / "run", options=options, **policies)


@given(text=runs_as_text(), policies=POLICIES)
def test_compressed_text(text, policies, tmp_path):
    (tmp_path / "run").write_bytes(gzip.compress(text, compresslevel=1))
    options = ReadOptions(format="trec", lenient=True)
    assert_aligned_alike({"q1": {"d1": 1, "d2": 0}, "9": {"d1": 2}}, tmp_path / "run", options=options, **policies)


GRADES = ["0", "1", "1", "2", "3", "-1", "0.5", "1.0", "+1", "1e1", "-0", "inf", "nan", "x", "1e999", "007"]


@st.composite
def qrels_as_text(draw):
    n_grades = draw(st.sampled_from([5, 5, 8, len(GRADES)]))
    subtopics = draw(st.sampled_from([["0"], ["0", "1", "2"]]))
    keys = st.tuples(st.sampled_from(QUERIES[:6]), st.sampled_from(DOCS[:9]))
    pairs = draw(st.lists(keys, max_size=25, unique=draw(st.booleans())))
    lines = []
    for query, doc in pairs:
        fields = [query, draw(st.sampled_from(subtopics)), doc, draw(st.sampled_from(GRADES[:n_grades]))]
        fields += draw(st.sampled_from([[]] * 30 + [["5th"]]))
        lines.append(draw(st.sampled_from([" ", " ", "\t", "  "])).join(fields))
    end = draw(st.sampled_from(["\n", "\r\n", "\n# comment\n", "\n\n"]))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + end.join(lines).encode()


@given(text=qrels_as_text(), policies=POLICIES)
def test_qrels_as_text(text, policies, tmp_path):
    (tmp_path / "qrels").write_bytes(text)
    run = {query: {doc: float(i % 3) for i, doc in enumerate(DOCS)} for query in QUERIES}
    assert_aligned_alike(tmp_path / "qrels", run, **policies)


def scores_as_read(texts, tmp_path) -> None:
    """Check numbers between two rows with the number that Python reads: one bit more or less changes the order."""
    rows = [
        f"q Q0 {letter}{i} 1 {written} t\n"
        for i, text in enumerate(texts)
        for letter, written in (("c", repr(float(text))), ("d", text), ("e", repr(float(text))))
    ]
    (tmp_path / "run").write_text("".join(rows))
    qrels = {"q": {f"{letter}{i}": 1 for i in range(len(texts)) for letter in "cde"}}
    outcome = assert_aligned_alike(qrels, tmp_path / "run", ties="given", options=ReadOptions(format="trec"))
    assert len(outcome.found["ranks"][1]) == 3 * len(texts)


@given(texts=st.lists(st.floats(allow_nan=False).map(repr), min_size=1, max_size=40))
@example(texts=["5e-324", "2.2250738585072014e-308", "1.7976931348623157e+308", "-0.0", "inf"])
def test_floats_are_read_exactly(texts, tmp_path):
    scores_as_read(texts, tmp_path)


@given(
    texts=st.lists(
        st.from_regex(r"[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,4})?", fullmatch=True),
        min_size=1,
        max_size=40,
    )
)
@example(
    texts=[
        "9007199254740992",
        "9007199254740993",
        "9007199254740993.0",
        "9007199254740994",
        "0.1",
        "1e22",
        "1e23",
        "1e-22",
    ]
)
@example(
    texts=[
        "1" + "0" * 308,
        "1" + "0" * 309,
        "0." + "0" * 323 + "3",
        "0." + "0" * 323 + "2",
        "0e9999999999999999999",
        "1e-9999999999999999999",
    ]
)
def test_digits_are_read_exactly(texts, tmp_path):
    scores_as_read(texts, tmp_path)


def test_numbers_are_read_alike_in_every_locale(tmp_path):
    """A program may have set a locale in which numbers have a comma; ours do not."""
    import locale

    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        locale.setlocale(locale.LC_NUMERIC, "de_DE.UTF-8")
    except locale.Error:
        pytest.skip("this system has no German locale")
    try:
        scores_as_read(["1.5", "1.5e400", "-2.5e-400", "0.12345678901234567890123"], tmp_path)
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


# Files that are large, or of an unusual shape


def write_rows(path: Path, rows) -> Path:
    path.write_text("".join(f"{query} Q0 {doc} {rank} {score} t\n" for query, doc, rank, score in rows))
    return path


def scattered_rows(n_queries: int, n_docs: int, *, n_scores: int, seed: int) -> list:
    rng = random.Random(seed)
    rows = [(f"q{i}", f"d{j}", j, rng.randrange(n_scores) / 8) for i in range(n_queries) for j in range(n_docs)]
    rng.shuffle(rows)
    return rows


def judged_by_chance(n_queries: int, n_docs: int, share: float, seed: int = 0) -> dict:
    rng = random.Random(seed)
    qrels = {
        f"q{i}": {f"d{j}": rng.randrange(3) for j in range(n_docs) if rng.random() < share} for i in range(n_queries)
    }
    return {query: docs for query, docs in qrels.items() if docs}


@pytest.mark.parametrize("policies", policy_grid(6), ids=lambda policies: "-".join(map(str, policies.values())))
@pytest.mark.parametrize("n_scores", [1, 5, 10_000])
def test_shuffled_rows(policies, n_scores, tmp_path):
    run = write_rows(tmp_path / "run", scattered_rows(40, 60, n_scores=n_scores, seed=n_scores))
    with counting_kernel_answers() as by_kernel:
        assert_aligned_alike(judged_by_chance(45, 60, 0.4), run, **policies)
    assert all(by_kernel)


def test_shuffled_rows_with_bad_lines_duplicates_and_bad_ranks(tmp_path):
    rows = scattered_rows(30, 60, n_scores=4, seed=1)
    rows += [("q1", "d1", "no rank", 1), ("q2", "d2", 1, "no score"), *rows[:50]]
    run = write_rows(tmp_path / "run", rows)
    for ties, threads in itertools.product(["trec", "given"], [1, 2, 7]):
        choices = {"ties": ties, "threads": threads, "options": LENIENT}
        assert_aligned_alike(judged_by_chance(30, 60, 0.4), run, duplicates="first", **choices)
        assert assert_aligned_alike(judged_by_chance(30, 60, 0.4), run, **choices).is_error


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("per_segment", [2, 9, 40])
def test_queries_in_several_segments(per_segment, threads, tmp_path):
    rows = [
        (f"q{query}", f"d{turn * per_segment + i}", i, (i * 7 + turn) % 5)
        for turn in range(25)
        for query in range(20)
        for i in range(per_segment)
    ]
    run = write_rows(tmp_path / "run", rows)
    assert_aligned_alike(judged_by_chance(20, 25 * per_segment, 0.1), run, threads=threads)


@pytest.mark.parametrize("n_judged", [1, 16, 17, 3000])
@pytest.mark.parametrize("n_scores", [1, 100, 10**9])
def test_one_query_with_many_rows(n_judged, n_scores, tmp_path):
    rng = random.Random(n_judged)
    rows = [("q", f"d{i}", i, rng.randrange(n_scores)) for i in range(20_000)]
    run = write_rows(tmp_path / "run", rows)
    qrels = {"q": {f"d{i * 5}": i % 3 for i in range(n_judged)}}
    for ties in ("trec", "given", "ascending"):
        assert_aligned_alike(qrels, run, ties=ties, threads=2)


@pytest.mark.slow
def test_one_query_with_200_000_rows_all_tied(tmp_path):
    run = write_rows(tmp_path / "run", [("q", f"d{i}", i, 1) for i in range(200_000)])
    qrels = {"q": {f"d{i * 7}": i % 3 for i in range(25_000)}}
    assert_aligned_alike(qrels, run, threads=3)


@pytest.mark.slow
def test_50_000_queries_with_one_row(tmp_path):
    run = write_rows(tmp_path / "run", [(f"q{i}", "d", 1, 1) for i in range(50_000)])
    for n_judged, threads in ((1, 2), (40_000, 3)):
        assert_aligned_alike({f"q{i + 5000}": {"d": 1} for i in range(n_judged)}, run, threads=threads)


@pytest.mark.slow
def test_compressed_text_of_several_blocks(tmp_path):
    rows = [(f"q{i // 3000}", f"d{i % 3000}", i, (i * 37 % 1000) / 4) for i in range(90_000)]
    tag = "a-long-tag" * 10  # so that few rows make a block
    text = "".join(f"{query} Q0 {doc} {rank} {score} {tag}\n" for query, doc, rank, score in rows)
    bad = text.replace("q20 Q0 d5 ", "q20 d5 ", 1) + "q1 Q0"
    qrels = judged_by_chance(30, 3000, 0.01)
    for content in (text, bad):
        (tmp_path / "run.gz").write_bytes(gzip.compress(content.encode(), compresslevel=1))
        for threads, options in ((1, None), (3, LENIENT)):
            assert_aligned_alike(qrels, tmp_path / "run.gz", threads=threads, options=options)


def test_very_long_lines(tmp_path):
    long = "x" * 3_000_000
    rows = [("q", "d1", 1, 2), ("q", long, 2, 3), (long, "d1", 1, 1), ("q", "d2", 3, 2)]
    run = write_rows(tmp_path / "run", rows)
    assert not assert_aligned_alike({"q": {"d1": 1, long: 2}, long: {"d1": 1}}, run, threads=2).is_error
    run.write_text(run.read_text() + long)
    assert assert_aligned_alike({"q": {"d1": 1}}, run).is_error


@pytest.mark.parametrize("threads", [1, 2, 7, 64, 100_000, 10**30])
def test_many_threads_on_a_tiny_file(threads, tmp_path):
    run = write_rows(tmp_path / "run", [("q", "d1", 1, 1), ("q", "d2", 2, 1)])
    assert not assert_aligned_alike({"q": {"d2": 1}}, run, threads=threads).is_error


# Dicts


IDS = st.one_of(
    st.sampled_from(["q1", "q2", "7", "d1", "d2", "d3", "é", "naïve", "\udcff", "\ud800", "", "d" * 100]),
    st.integers(5, 9),
    st.sampled_from([7, np.int64(7), np.int32(8), np.str_("d1"), b"d1", b"\xff", True, 7.0, None, 10**30]),
)
PLAIN_IDS = st.sampled_from(["q1", "q2", "q3", "d1", "d2", "d3", "d4", "d5", "é", "\udcff"])
PLAIN_SCORES = st.one_of(
    st.integers(-3, 3), st.sampled_from([0.5, -0.0, float("inf"), 1e308, 16777217, 16777216.0, 2**70])
)
VALUES = st.one_of(
    PLAIN_SCORES,
    st.sampled_from(
        [float("nan"), True, None, "1", b"1", 10**400, np.float32(0.1), np.float64(0.1), np.int64(3), 2**53 + 1]
    ),
)


def dicts_of(ids, values):
    return st.dictionaries(ids, st.dictionaries(ids, values, max_size=12), max_size=6)


@given(qrels=dicts_of(PLAIN_IDS, st.integers(-1, 3)), run=dicts_of(PLAIN_IDS, PLAIN_SCORES), policies=POLICIES)
def test_plain_dicts(qrels, run, policies):
    assert_aligned_alike(qrels, run, **policies)


@given(qrels=dicts_of(IDS, VALUES), run=dicts_of(IDS, VALUES), policies=POLICIES)
def test_dicts_of_anything(qrels, run, policies):
    assert_aligned_alike(qrels, run, **policies)


@given(qrels=dicts_of(PLAIN_IDS, st.integers(-1, 3)), run=dicts_of(IDS, VALUES), policies=POLICIES)
def test_runs_of_anything(qrels, run, policies):
    assert_aligned_alike(qrels, run, **policies)


@pytest.mark.parametrize("policies", policy_grid(8), ids=lambda policies: "-".join(map(str, policies.values())))
def test_large_dicts(policies):
    rng = random.Random(7)
    run = {f"q{i}": {f"d{j}": rng.randrange(50) / 4 for j in range(300)} for i in range(10)}
    assert_aligned_alike(judged_by_chance(12, 310, 0.3), run, **policies)


def test_the_kernel_walks_plain_dicts():
    with counting_kernel_answers() as by_kernel:
        assert_aligned_alike({"q": {"d": 1, "e": 0}}, {"q": {"d": 1.0, "e": 1, "f": 2}})
    assert by_kernel == [True]
