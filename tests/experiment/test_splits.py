"""Splits: exact proportions in every stratum, whole groups, draws free of order, and a log of what was revealed."""

import itertools
import json
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.data.queries import load_queries
from rankscope.errors import FormatError, InputError, OptionError
from rankscope.experiment.splits import (
    closest_subset,
    divide,
    load_split,
    log_of,
    make_split,
    reveal,
    reveals,
    train_counts,
)


def table(levels):
    return load_queries([{"_id": f"q{i}", "text": "x", "level": level} for i, level in enumerate(levels)])


shares = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100), max_denominator=100)


@given(st.dictionaries(st.text("abcdef", min_size=1), st.integers(1, 50), min_size=1), shares, st.integers(0, 5))
def test_every_stratum_has_its_share_to_less_than_one_query(sizes, share, seed):
    counts = train_counts({name: [1] * size for name, size in sizes.items()}, share, seed=seed)
    assert all(abs(counts[name] - share * size) < 1 for name, size in sizes.items())
    assert all(0 <= counts[name] <= size for name, size in sizes.items())
    exact = share * sum(sizes.values())
    assert abs(sum(counts.values()) - exact) <= Fraction(1, 2)


@given(st.lists(st.sampled_from(["easy", "hard", None]), min_size=2, max_size=40), st.integers(0, 3), st.randoms())
def test_both_sides_make_up_the_whole_and_the_order_is_no_matter(levels, seed, random):
    queries = table(levels)
    try:
        sides = divide(queries, share=Fraction(1, 2), by=("level",) if any(levels) else (), seed=seed)
    except InputError:
        assert len(levels) < 3
        return
    assert sorted((*sides[0].train, *sides[1])) == sorted(queries.ids)
    assert sum(sum(counts) for counts in sides[0].strata.values()) == len(levels)
    rows = [{"_id": query, "text": "x", **queries.attributes_of(query)} for query in queries.ids]
    random.shuffle(rows)
    again = divide(load_queries(rows), share=Fraction(1, 2), by=sides[0].by, seed=seed)
    assert set(again[0].train) == set(sides[0].train)
    assert again[0].queries_sha256 == sides[0].queries_sha256


def test_by_hand():
    # 5 easy, 3 hard, half of them: 2.5 and 1.5, which together is 4; one of the two equal remainders goes up.
    counts = train_counts({"easy": [1] * 5, "hard": [1] * 3}, Fraction(1, 2), seed=0)
    assert sum(counts.values()) == 4
    assert counts in ({"easy": 3, "hard": 1}, {"easy": 2, "hard": 2})
    # A tenth of 15 and of 8: 1.5 and 0.8, in all 2.3, rounded 2: the remainder .8 goes before .5.
    assert train_counts({"a": [1] * 15, "b": [1] * 8}, Fraction(1, 10), seed=0) == {"a": 1, "b": 1}


# Groups: queries that share the value of an attribute stay on one side.


def sessions(rows):
    """Return queries of (session, level); None is a query without."""
    return load_queries(
        [{"_id": f"q{i}", "text": "x", "session": session, "level": level} for i, (session, level) in enumerate(rows)]
    )


rows_of_sessions = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "d", "e", None]), st.sampled_from(["easy", "hard", None])),
    min_size=2,
    max_size=12,
)


def sums_of_subsets(sizes):
    return {sum(chosen) for n in range(len(sizes) + 1) for chosen in itertools.combinations(sizes, n)}


@given(st.lists(st.integers(1, 9), max_size=9), shares)
def test_a_subset_comes_as_close_to_the_target_as_any(sizes, share):
    target = share * sum(sizes)
    named = {f"n{i}": size for i, size in enumerate(sizes)}
    total = sum(named[name] for name in closest_subset(named, target))
    best = min(abs(reached - target) for reached in sums_of_subsets(sizes))
    assert abs(total - target) == best
    assert total == max(reached for reached in sums_of_subsets(sizes) if abs(reached - target) == best)


@given(rows_of_sessions, shares, st.integers(0, 3))
def test_groups_stay_whole_and_sizes_are_as_close_as_they_allow(rows, share, seed):
    queries = sessions(rows)
    sizes = [n for session, n in Counter(session for session, _ in rows).items() if session is not None]
    sizes += [1] * sum(session is None for session, _ in rows)
    closest = min(abs(total - share * len(rows)) for total in sums_of_subsets(sizes))
    try:
        sides = divide(queries, share=share, by=(), group="session", seed=seed)
    except InputError as error:
        assert "cannot be divide" in str(error)  # noqa: PT017
        return
    session_of = dict(zip(queries.ids, (session for session, _ in rows), strict=True))
    on_train = {session_of[query] for query in sides[0].train} - {None}
    assert on_train.isdisjoint(session_of[query] for query in sides[1])
    assert sorted((*sides[0].train, *sides[1])) == sorted(queries.ids)
    assert abs(len(sides[0].train) - share * len(rows)) == closest
    assert sum(sides[0].n_groups) == len(sizes)
    n_alone = sum(session_of[query] is None for query in sides[0].train)
    assert sides[0].n_groups[0] == len(on_train) + n_alone


@given(rows_of_sessions, st.integers(0, 3), st.randoms())
def test_groups_of_one_stratum_each_are_divided_as_close_as_any_and_the_order_is_no_matter(rows, seed, random):
    # every session is of one level: the queries' own level is that of the first query of their session
    level_of = {}
    rows = [(session, level_of.setdefault(session, level) if session else level) for session, level in rows]
    if not any(session for session, _ in rows) or not any(level for _, level in rows):
        return
    queries = sessions(rows)
    try:
        sides = divide(queries, share=Fraction(1, 2), by=("level",), group="session", seed=seed)
    except InputError as error:
        assert "cannot be divide" in str(error)  # noqa: PT017
        return
    possible = []
    for level, counts in sides[0].strata.items():
        own = [session for session, value in rows if (value or "(none)") == level]
        sizes = [n for session, n in Counter(own).items() if session] + [1] * own.count(None)
        half, totals = Fraction(len(own), 2), sums_of_subsets(sizes)
        possible.append({max(n for n in totals if n <= half), min(n for n in totals if n >= half)})
        assert sum(counts) == len(own)
        assert counts[0] in possible[-1]
    half = Fraction(len(rows), 2)
    best = min(abs(sum(totals) - half) for totals in itertools.product(*possible))
    assert abs(len(sides[0].train) - half) == best
    shuffled = [{"_id": query, "text": "x", **queries.attributes_of(query)} for query in queries.ids]
    random.shuffle(shuffled)
    again = divide(load_queries(shuffled), share=Fraction(1, 2), by=("level",), group="session", seed=seed)
    assert set(again[0].train) == set(sides[0].train)


def test_groups_by_hand():
    # 6 + 3 + 1 of 10 queries. Of the totals 0, 1, 3, 4, 6, 7, 9 and 10, 0.3 is 3 exactly and 0.5 is between 4 and 6:
    # the larger, as a half is rounded up.
    queries = sessions([("a", None)] * 6 + [("b", None)] * 3 + [(None, None)])
    for seed in range(5):
        assert divide(queries, share=Fraction(3, 10), by=(), group="session", seed=seed)[0].train == (
            "q6",
            "q7",
            "q8",
        )
        assert len(divide(queries, share=Fraction(1, 2), by=(), group="session", seed=seed)[0].train) == 6


def test_a_group_belongs_to_the_stratum_of_most_of_its_queries():
    # Session a is easy by two of three, b hard; c is as easy as hard, so it counts as easy, the first by name. Half of
    # the easy ones is a or c alone, which are 3 and 2 of 5.
    rows = [("a", "easy"), ("a", "easy"), ("a", "hard"), ("c", "hard"), ("c", "easy"), ("b", "hard"), ("d", "hard")]
    for seed in range(8):
        sides = divide(sessions(rows), share=Fraction(1, 2), by=("level",), group="session", seed=seed)
        train = set(sides[0].train)
        assert ({"q0", "q1", "q2"} <= train) != ({"q3", "q4"} <= train)
        assert ("q5" in train) != ("q6" in train)
        # what is counted is the level of every query, not that of its group
        easy = sum(rows[int(query[1:])][1] == "easy" for query in train)
        assert sides[0].strata["easy"] == (easy, 3 - easy)


def test_every_group_is_drawn_about_as_often_as_its_share_says():
    rows = [(f"s{i}", None) for i in range(40) for _ in range(1 + i % 5)]
    n_draws = 300
    drawn = Counter()
    for seed in range(n_draws):
        train = divide(sessions(rows), share=Fraction(3, 10), by=(), group="session", seed=seed)[0].train
        drawn.update({rows[int(query[1:])][0] for query in train})
    # by chance a group is drawn 90 times, with a standard deviation of 8
    assert all(50 <= drawn[f"s{i}"] <= 130 for i in range(40))


def test_numbers_and_texts_are_one_group_as_ids_are():
    queries = load_queries([{"_id": "a", "session": 7}, {"_id": "b", "session": "7"}, {"_id": "c", "session": 8}])
    sides = divide(queries, share=Fraction(1, 2), by=(), group="session", seed=0)
    assert {*sides[0].train} in ({"a", "b"}, {"c"})


def test_without_groups_nothing_else_is_drawn_where_each_query_is_its_own_group():
    queries = load_queries([{"_id": f"q{i}", "own": f"v{i}", "same": "x"} for i in range(30)])
    plain = divide(queries, share=Fraction(3, 10), by=(), seed=4)
    grouped = divide(queries, share=Fraction(3, 10), by=(), group="own", seed=4)
    assert grouped[0].train == plain[0].train
    with pytest.raises(InputError, match="30 queries in 1 group by same cannot be divided"):
        divide(queries, share=Fraction(3, 10), by=(), group="same", seed=4)
    with pytest.raises(InputError, match=r"no attribute 'onw'(.|\n)*did you mean own"):
        divide(queries, share=Fraction(3, 10), by=(), group="onw", seed=4)


def test_a_file_of_groups_and_one_that_tears_them_apart(tmp_path):
    queries = sessions([("a", None)] * 3 + [("b", None)] * 2 + [(None, None)] * 3)
    made = make_split(queries, tmp_path / "whole.json", group="session")
    assert (made.group, sum(made.n_groups), len(made.train)) == ("session", 5, 4)
    assert load_split(tmp_path / "whole.json", queries=queries, group="session") == made
    content = json.loads((tmp_path / "whole.json").read_text())
    torn = {**content, "train": ["q0", "q3", "q5", "q6"], "holdout": ["q1", "q2", "q4", "q7"]}
    (tmp_path / "torn.json").write_text(json.dumps(torn))
    load_split(tmp_path / "torn.json", queries=queries)
    for look in (load_split, lambda path, **options: reveal(path, command="x", **options)):
        with pytest.raises(InputError, match=r"same session on both sides, in 2 groups(.|\n)*--group session"):
            look(tmp_path / "torn.json", queries=queries, group="session")
    assert reveals(tmp_path / "torn.json") == []
    # files of before there were groups
    del content["group"], content["n_groups"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    old = load_split(tmp_path / "old.json", queries=queries, group="session")
    assert (old.train, old.group, old.n_groups) == (made.train, None, None)
    (tmp_path / "bad.json").write_text(json.dumps({**content, "group": "session"}))
    with pytest.raises(FormatError, match="is damaged"):
        load_split(tmp_path / "bad.json")


def test_a_query_more_does_not_move_the_others_draw():
    before = divide(table(["easy"] * 20), share=Fraction(1, 2), by=(), seed=0)
    after = divide(table(["easy"] * 21), share=Fraction(10, 21), by=(), seed=0)
    assert len(set(before[0].train) - set(after[0].train)) <= 1
    other = divide(table(["easy"] * 20), share=Fraction(1, 2), by=(), seed=1)
    assert set(other[0].train) != set(before[0].train)


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
    path.write_text(json.dumps({"trainIds": ["a", "b"], "holdoutIds": ["b", "c"]}))
    with pytest.raises(FormatError, match="a query is there twice"):
        load_split(path)


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


def test_a_share_is_meant_as_it_is_written(tmp_path):
    # 0.3 of 15 is 4.5, which is rounded up; the float itself is a bit below
    assert len(make_split(table(["a"] * 15), tmp_path / "s.json", train=0.3).train) == 5


def test_too_few_queries(tmp_path):
    with pytest.raises(InputError, match=r"1 query cannot be divided 0\.3 to 0\.7") as error:
        make_split(table(["a"]), tmp_path / "s.json", train=0.3)
    assert error.value.hint == "both sides need at least one query"
    together = sessions([("a", None)] * 3)
    with pytest.raises(InputError, match=r"3 queries in 1 group by session cannot be divided 0\.5 to 0\.5") as error:
        make_split(together, tmp_path / "s.json", group="session")
    assert error.value.hint == "both sides need at least one group"
    assert not (tmp_path / "s.json").exists()
