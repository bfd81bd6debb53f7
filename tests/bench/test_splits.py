"""Splits: exact proportions in every stratum, draws that do not depend on order, and a log of what was revealed."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.bench.splits import divided, fraction_of, load_split, log_of, make_split, reveal, reveals, train_counts
from rankscope.errors import FormatError, InputError, OptionError
from rankscope.io.queries import load_queries


def table(levels):
    return load_queries([{"_id": f"q{i}", "text": "x", "level": level} for i, level in enumerate(levels)])


shares = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100), max_denominator=100)


@given(st.dictionaries(st.text("abcdef", min_size=1), st.integers(1, 50), min_size=1), shares, st.integers(0, 5))
def test_every_stratum_has_its_share_to_less_than_one_query(sizes, share, seed):
    counts = train_counts(sizes, share, seed=seed)
    assert all(abs(counts[name] - share * size) < 1 for name, size in sizes.items())
    assert all(0 <= counts[name] <= size for name, size in sizes.items())
    exact = share * sum(sizes.values())
    assert abs(sum(counts.values()) - exact) <= Fraction(1, 2)


@given(st.lists(st.sampled_from(["easy", "hard", None]), min_size=2, max_size=40), st.integers(0, 3), st.randoms())
def test_both_sides_make_up_the_whole_and_the_order_is_no_matter(levels, seed, random):
    queries = table(levels)
    try:
        sides = divided(queries, share=Fraction(1, 2), by=("level",) if any(levels) else (), seed=seed)
    except InputError:
        assert len(levels) < 3
        return
    assert sorted((*sides.split.train, *sides.holdout)) == sorted(queries.ids)
    assert sum(sum(counts) for counts in sides.split.strata.values()) == len(levels)
    rows = [{"_id": query, "text": "x", **queries.attributes_of(query)} for query in queries.ids]
    random.shuffle(rows)
    again = divided(load_queries(rows), share=Fraction(1, 2), by=sides.split.by, seed=seed)
    assert set(again.split.train) == set(sides.split.train)
    assert again.split.queries_sha256 == sides.split.queries_sha256


def test_by_hand():
    # 5 easy, 3 hard, half of them: 2.5 and 1.5, which together is 4; one of the two equal remainders goes up.
    counts = train_counts({"easy": 5, "hard": 3}, Fraction(1, 2), seed=0)
    assert sum(counts.values()) == 4
    assert counts in ({"easy": 3, "hard": 1}, {"easy": 2, "hard": 2})
    # A tenth of 15 and of 8: 1.5 and 0.8, in all 2.3, rounded 2: the remainder .8 goes before .5.
    assert train_counts({"a": 15, "b": 8}, Fraction(1, 10), seed=0) == {"a": 1, "b": 1}
    assert fraction_of(0.1) == Fraction(1, 10)


def test_a_query_more_does_not_move_the_others_draw():
    before = divided(table(["easy"] * 20), share=Fraction(1, 2), by=(), seed=0)
    after = divided(table(["easy"] * 21), share=Fraction(10, 21), by=(), seed=0)
    assert len(set(before.split.train) - set(after.split.train)) <= 1
    other = divided(table(["easy"] * 20), share=Fraction(1, 2), by=(), seed=1)
    assert set(other.split.train) != set(before.split.train)


def test_file(tmp_path):
    path = tmp_path / "split.json"
    queries = table(["easy", "hard"] * 5)
    made = make_split(queries, path, train=0.4, by=["level"], seed=7)
    assert len(made.train) == 4
    assert made.n_holdout == 6
    assert made.strata == {"easy": (2, 3), "hard": (2, 3)}
    assert load_split(path, queries=queries) == made
    content = json.loads(path.read_text())
    assert (content["seed"], content["by"], content["share"]) == (7, ["level"], 0.4)
    assert not hasattr(made, "holdout")
    with pytest.raises(InputError, match="is there already"):
        make_split(queries, path)
    assert make_split(queries, path, seed=8, replace=True).seed == 8


def test_revealing_is_recorded(tmp_path):
    path = tmp_path / "split.json"
    queries = table(["easy"] * 6)
    made = make_split(queries, path)
    assert reveals(path) == []
    first = reveal(path, command="rankscope run", who="anna", queries=queries)
    assert set(first.query_ids) == set(queries.ids) - set(made.train)
    assert first.n_reveals == 1
    assert reveal(path, command="again").n_reveals == 2
    log = reveals(path)
    assert (log[0].who, log[0].command, log[0].n_queries) == ("anna", "rankscope run", 3)
    assert log[0].date.endswith("+00:00")
    assert len(log_of(path).read_text().splitlines()) == 2
    load_split(path)
    assert len(reveals(path)) == 2
    log_of(path).write_text("{")
    with pytest.raises(FormatError, match=r"reveals.jsonl:1 is damaged"):
        reveals(path)


def test_other_queries_are_refused(tmp_path):
    path = tmp_path / "split.json"
    make_split(table(["easy"] * 6), path)
    with pytest.raises(InputError, match="the queries have changed"):
        load_split(path, queries=table(["hard"] * 6))
    with pytest.raises(InputError, match="splits other queries"):
        reveal(path, command="x", queries=load_queries({"a": "x", "b": "y"}))
    assert reveals(path) == []


def test_a_split_of_the_doctor_search(tmp_path):
    path = tmp_path / "split.json"
    path.write_text(json.dumps({"createdAt": "x", "rule": "r", "trainIds": ["a"], "holdoutIds": ["b", "c"]}))
    assert load_split(path).train == ("a",)
    assert reveal(path, command="x").query_ids == ("b", "c")


@pytest.mark.parametrize("content", [[], {}, {"train": [], "rankscope_split": 1, "holdout": []}, {"rankscope_split": 1, "train": ["a"], "holdout": ["b"]}, {"rankscope_split": 1, "train": ["a"], "holdout": ["a"]}])  # fmt: skip
def test_what_is_no_split_is_refused(tmp_path, content):
    path = tmp_path / "split.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError):
        load_split(path)


@pytest.mark.parametrize("share", ["0", "1", "-0.1", "2", "x", "nan"])
def test_shares_out_of_range(tmp_path, share):
    with pytest.raises(OptionError):
        make_split(table(["a"] * 4), tmp_path / "s.json", train=share)


def test_too_few_queries(tmp_path):
    with pytest.raises(InputError, match="1 queries cannot be divided"):
        make_split(table(["a"]), tmp_path / "s.json")
    assert not (tmp_path / "s.json").exists()
