"""However a run is cut, stored and spread, its scores are the same to the last bit, and so is what is said of them."""

import gzip
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.align import sharded
from rankscope.measures.registry import REGISTRY

NEED_CUTOFF = {"P", "P_ret", "R_cap", "F", "Unjudged", "IPrec"}
MEASURES = sorted(
    f"{name}@{5 if name in NEED_CUTOFF else ''}".rstrip("@") for name in REGISTRY if not REGISTRY[name].needs
)
AS_TEXT = ("text", "gz", "folder", "pattern")
IDS = ("q1", "q10", "q2", "7", "é", "\udcff\udc80", "Q0", "a:b", "x" * 40, "q-without", "\ufeffq")
DOCS = (*(f"d{i}" for i in range(12)), "é", "q1")


@st.composite
def lines_of_a_run(draw, how):
    """Rows of a run, grouped by query or not, in which scores tie, docs may repeat, and ranks need not be numbers."""
    queries = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=8, unique=True))
    lacking = {"parquet": "\udcff\udc80", "tables": "\udcff\udc80", "folder": "\ufeffq", "pattern": "\ufeffq"}.get(how)
    queries = [query for query in queries if query != lacking] or ["q1"]  # not UTF-8; at the beginning of a file a mark
    repeats = draw(st.booleans())
    rows = []
    for query in queries:
        docs = draw(st.lists(st.sampled_from(DOCS), min_size=1, max_size=10, unique=not repeats))
        scores = draw(
            st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0000000001, -3.0]), min_size=len(docs), max_size=len(docs))
        )
        rows += [(query, doc, rank, score) for rank, (doc, score) in enumerate(zip(docs, scores, strict=True), 1)]
    if draw(st.booleans()):
        rows = draw(st.permutations(rows))
    return rows


def as_lines(rows, draw) -> list[bytes]:
    between = draw(st.sampled_from([" ", "\t", "  "]))
    odd = draw(st.integers(-1, len(rows) - 1))  # a rank that is no number: then no rank counts
    made = [
        between.join((query, "Q0", doc, "first" if i == odd else str(rank), repr(score), "tag"))
        for i, (query, doc, rank, score) in enumerate(rows)
    ]
    for i in sorted(draw(st.lists(st.integers(0, len(made)), max_size=2)), reverse=True):
        made.insert(i, draw(st.sampled_from(["", "# a comment", "   "])))
    return [line.encode("utf-8", "surrogateescape") for line in made]


def store(rows, how, folder: Path, draw) -> tuple[Path, str]:
    """Write a run at once, and in the way that is asked for; return both paths."""
    if how in ("parquet", "tables"):
        odd = draw(st.integers(-1, len(rows) - 1))  # a rank that is missing: then no rank counts
        frame = pl.DataFrame(
            {
                "query": [row[0] for row in rows],
                "doc": [row[1] for row in rows],
                "rank": [None if i == odd else row[2] for i, row in enumerate(rows)],
                "score": [row[3] for row in rows],
            },
            schema_overrides={"rank": pl.Int64},
        )
        frame.write_parquet(folder / "r.parquet", row_group_size=draw(st.integers(1, 9)))
        if how == "parquet":
            return folder / "r.parquet", str(folder / "r.parquet")
        (folder / "tables").mkdir()
        at = draw(st.integers(0, len(rows)))
        frame[:at].write_parquet(folder / "tables" / "1.parquet")
        rest = frame[at:]
        is_without = odd >= at  # none of these ranks counts, so the column may as well not be there
        (rest.drop("rank") if is_without else rest).write_parquet(folder / "tables" / "2.parquet")
        return folder / "r.parquet", str(folder / "tables")
    lines, end = as_lines(rows, draw), draw(st.sampled_from([b"\n", b"\r\n"]))
    content = end.join(lines) + draw(st.sampled_from([b"", end]))
    whole = folder / "r.run"
    whole.write_bytes(content)
    if how == "text":
        return whole, str(whole)
    if how == "gz":
        (folder / "z").mkdir()
        (folder / "z" / "r.run.gz").write_bytes(gzip.compress(content))
        return whole, str(folder / "z" / "r.run.gz")
    parts = folder / "r"
    parts.mkdir()
    cuts = sorted(draw(st.lists(st.integers(0, len(lines)), max_size=4)))
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(lines)], strict=True)):
        rest = b"".join(line + end for line in lines[start:stop])
        (parts / f"part-{i:03d}.run").write_bytes(rest if any(map(bytes.strip, lines[start:stop])) else b"")
    return whole, str(parts if how == "folder" else parts / "part-*.run")


@st.composite
def policies_of(draw):
    choices = {
        "ties": ["trec", "given", "ascending"],
        "precision": ["double", "single"],
        "duplicates": ["error", "first"],
        "self_match": ["keep", "drop"],
        "missing": ["zero", "skip", "error"],
        "no_relevant": ["zero", "exclude"],
        "undefined": ["skip", "zero"],
        "depth": [None, 3],
        "judged_only": [False, True],
        "unjudged_queries": ["skip", "zero"],
    }
    return {name: draw(st.sampled_from(words)) for name, words in choices.items()}


def outcome(qrels, run, measures, policies, **how):
    """Return scores and notes, or the error in words."""
    try:
        scores = rs.evaluate(qrels, {"r": run}, measures, anyway=True, **policies, **how)
    except rs.RankscopeError as error:
        return type(error), str(error).replace(str(run), "")
    return scores


@pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")
@settings(max_examples=60)
@given(data=st.data())
def test_any_cut_of_any_run_gives_the_same_bits(engine, data):
    how = data.draw(st.sampled_from([*AS_TEXT, "parquet", "tables"]), label="how")
    rows = data.draw(lines_of_a_run(how), label="rows")
    judged = data.draw(
        st.dictionaries(
            st.sampled_from(IDS),
            st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 3), min_size=1, max_size=6),
            min_size=1,
        ),
        label="judged",
    )
    measures = data.draw(st.lists(st.sampled_from(MEASURES), min_size=1, max_size=6, unique=True), label="measures")
    policies = data.draw(policies_of(), label="policies")
    size = data.draw(st.integers(1, 400), label="bytes of a part")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        whole, parts = store(rows, how, Path(folder), data.draw)
        patched.setattr(sharded, "room_in", lambda *_: size)
        patched.setattr(sharded, "SMALLEST_PIECE", 1)
        patched.setattr(sharded, "TABLE_SHARE", 1.0)
        patched.setattr(sharded, "SMALLEST_TABLE", 9)
        expected = outcome(judged, whole, measures, policies)
        found = outcome(judged, parts, measures, policies, memory="256MB")
        if isinstance(expected, tuple):
            assert found == expected
            return
        assert isinstance(found, rs.Scores), found
        one, other = expected["r"], found["r"]
        assert one.query_ids == other.query_ids
        assert one.values.tobytes() == other.values.tobytes()
        assert np.array_equal(one.undefined, other.undefined)
        assert np.array_equal(one.answered, other.answered)
        assert (one.counts, one.left_out) == (other.counts, other.left_out)
        assert [note for note in found.notes if "regrouped" not in note and "cannot be cut" not in note] == list(
            expected.notes
        )
        assert {m: a.value for m, a in one.mean().items()} == pytest.approx(
            {m: a.value for m, a in other.mean().items()}, rel=0, abs=0, nan_ok=True
        )
