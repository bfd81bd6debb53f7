"""Measures by fields of docs; expected numbers are worked out by hand, or by plain loops."""

import math
import warnings
from datetime import UTC, date, datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankscope as rs
from rankscope.cli.main import main
from rankscope.errors import InputError, MeasureError, RankscopeWarning
from rankscope.measures.extras import Need
from rankscope.measures.parse import parse_measure
from rankscope.measures.registry import REGISTRY
from rankscope.measures.variety import temporal_statistics

SPECS = [spec for spec in REGISTRY.values() if Need.DOCS in spec.needs]


def score(measure, docs, ranking=None, relevant=(), **policies):
    """Return the score of one query whose results are the docs in this order."""
    ranking = list(docs) if ranking is None else ranking
    qrels = {"q": dict.fromkeys(relevant, 1) or {"unrelated": 1}}
    (value,) = rs.evaluate(qrels, {"q": ranking}, measure, docs=docs, **policies)["run"].values[0]
    return value


def having(field, *values):
    """Return docs a, b, c … with these values; None is left out."""
    pairs = zip("abcdefghij", values, strict=False)
    return {doc: {} if value is None else {field: value} for doc, value in pairs}


def test_the_families_are_complete():
    assert {spec.name for spec in SPECS} == {
        "TopicCoverage", "TopicRecall", "Distinct", "DateDistinct", "DateSpan", "GapEntropy", "ContentDiversity",
        "CategoryEntropy", "CatalogCoverage", "Gini", "Exposure", "GroupShare", "DocAge", "Freshness",
    }  # fmt: skip


def test_topic_coverage_is_over_the_whole_collection():
    docs = {"a": {"topics": ["x", "y"]}, "b": {"topics": {"y"}}, "c": {"topics": "z"}, "d": {"topics": ("w", "x")}}
    assert score("TopicCoverage", docs, ["a", "b"]) == 2 / 4
    assert score("TopicCoverage@1", docs, ["c", "a"]) == 1 / 4
    assert score("topic_coverage", docs) == 1
    assert score("TopicCoverage(field='topics')", docs, ["a", "b", "c"]) == 3 / 4


def test_topic_recall_is_over_the_topics_of_the_relevant_docs():
    docs = {"a": {"topics": ["x", "y"]}, "b": {"topics": ["y"]}, "c": {"topics": ["z"]}, "d": {"topics": ["w"]}}
    assert score("TopicRecall", docs, ["b", "d"], relevant="ac") == 1 / 3  # y, of x, y and z
    assert score("TopicRecall@1", docs, ["d", "a"], relevant="ac") == 0
    assert score("topic_recall", docs, ["a", "c"], relevant="ac") == 1


def test_topic_recall_honours_the_threshold_and_is_undefined_without_topics():
    docs = {"a": {"topics": ["x"]}, "b": {"topics": ["y"]}}
    qrels, run = {"q": {"a": 1, "b": 2}, "r": {"a": 0}}, {"q": ["b"], "r": ["a"]}
    scores = rs.evaluate(qrels, run, ["TopicRecall", "TopicRecall(rel=2)"], docs=docs)["run"]
    assert scores["q", "TopicRecall"] == 1 / 2
    assert scores["q", "TopicRecall(rel=2)"] == 1
    assert scores.undefined.tolist() == [[False, False], [True, True]]


def test_distinct_podcasts_of_the_predecessors_document():
    docs = having("podcast_id", "p1", "p2", "p1", "p3")
    assert score("Distinct(field='podcast_id')@4", docs) == 0.75  # B: 3 of 4
    assert score("podcast_coverage", docs) == 0.75


def test_distinct_with_missing_values():
    docs = having("source", "x", None, "x", None)
    with pytest.warns(RankscopeWarning, match="2 of the 4 docs that Distinct looks at have no source: b, d; see"):
        assert score("Distinct", docs) == 1 / 4
    with pytest.warns(RankscopeWarning, match="no source"):
        assert score("Distinct(missing='own')", docs) == 2 / 4


def test_distinct_takes_a_list_as_one_value_whatever_its_order():
    assert score("Distinct(field=tags)", having("tags", ["x", "y"], {"y", "x"}, ("x",))) == 2 / 3


def uniqueness(run, measure="Uniqueness", **policies):
    return rs.evaluate({"q": {"a": 1}}, run, measure, **policies)["run"].values[0, 0]


def test_uniqueness_is_of_the_list_as_it_was_given(tmp_path):
    assert rs.parse_measure("result_uniqueness@5").name == "Uniqueness@5"
    assert uniqueness({"q": list("abc")}) == 1
    assert uniqueness({"q": {"a": 2.0, "b": 1.0}}) == 1
    file = tmp_path / "system.run"
    rows = zip("abacd", (5, 4, 3, 2, 1), strict=True)
    file.write_text("".join(f"q Q0 {doc} 1 {s} x\n" for doc, s in rows))
    with pytest.warns(RankscopeWarning, match="1 row of 1 query repeats a doc: only Uniqueness counts that"):
        found = rs.evaluate({"q": {"a": 1}}, {"run": file}, ["Uniqueness", "Uniqueness@2", "P@4"], duplicates="first")
    # the document: 0.8 = 20% duplicates; P@4 is that of a, b, c, d
    assert found["run"].values.tolist() == [[4 / 5, 1, 1 / 4]]
    with pytest.warns(RankscopeWarning, match="repeats? a doc"):
        assert uniqueness({"q": list("aabb")}, "Uniqueness@3", duplicates="first") == 2 / 3
    assert rs.explain({"q": {"a": 1}}, {"q": list("aabb")}, "q", "Uniqueness", duplicates="first").score == 2 / 4


def test_a_list_with_repeats_is_refused_unless_said_otherwise():
    with pytest.raises(InputError, match=r"lists doc 'a' more than once.*\n.*--duplicates first"):
        uniqueness({"q": list("aba")})


def test_uniqueness_sees_the_list_after_the_query_itself_and_unjudged_docs_are_removed():
    assert uniqueness({"q": list("qqab")}, self_match="drop", duplicates="first") == 1
    with pytest.warns(RankscopeWarning, match="repeats? a doc"):
        assert uniqueness({"q": list("axxa")}, judged_only=True, duplicates="first") == 1 / 2


AGES = having("date", "2024-03-01", "2024-02-28", date(2023, 3, 2))
"""2024 is a leap year: 2 and 365 days before the first of March."""


def test_age_counts_in_days_from_the_newest_doc_and_says_so():
    with pytest.warns(RankscopeWarning, match="ages count from 2024-03-01, the newest date of the docs"):
        assert score("DocAge", AGES) == (0 + 2 + 365) / 3
    with pytest.warns(RankscopeWarning, match="ages count from 2024-03-01"):
        assert score("DocAge@1", AGES, ["c", "a"]) == 365


def test_age_counts_from_a_day_that_is_named():
    assert score("DocAge(reference='2024-03-11')", AGES) == (10 + 12 + 375) / 3
    assert score("mean_age(reference='2025')@1", AGES) == 306  # from 1 March to 1 January 2025
    assert rs.parse_measure("DocAge(reference='2024-05')").name == "DocAge(reference='2024-05-01')"
    with pytest.raises(MeasureError, match="a day such as"):
        rs.parse_measure("DocAge(reference='yesterday')")


def test_the_time_of_the_day_makes_nothing_older():
    docs = having("date", "2024-03-01T23:30:00", "2024-03-01", datetime(2024, 2, 29, 1, tzinfo=UTC))
    assert score("DocAge(reference='2024-03-01')", docs) == 1 / 3
    assert score("DocAge(reference='2024-03-01T08:00')", docs) == 1 / 3


def test_a_doc_of_a_later_day_than_the_reference_is_an_error():
    with pytest.raises(InputError, match="doc 'a' is of 2024-03-01, which is after the reference 2024-02-29"):
        score("DocAge(reference='2024-02-29')", AGES)


def test_freshness_is_the_share_younger_than_so_many_days():
    assert score("Freshness(reference='2024-03-01')", AGES) == 2 / 3
    assert score("Freshness(reference='2024-03-01', days=2)", AGES) == 1 / 3  # the second is exactly two days old
    assert score("Freshness(reference='2024-03-01', days=366)@3", AGES) == 1
    with pytest.warns(RankscopeWarning, match="have no date"):
        assert score("Freshness(reference='2024-03-01')", {**AGES, "d": {}}, list("adc")) == 1 / 2


DAYS = having("date", "2024-03-01", "2024-03-01", "2024-03-05", "2024-03-02", None)


def test_temporal_measures():
    with pytest.warns(RankscopeWarning, match="1 of the 5 docs .* have no date: e"):
        assert score("DateDistinct", DAYS) == 2 / 3  # three dates, of four dated docs
    shown = "abcd"
    assert score("temporal_coverage", DAYS, list(shown)) == 2 / 3
    assert score("DateSpan", DAYS, list(shown)) == 4
    shares = [1 / 4, 3 / 4]  # gaps of 0, 1 and 3 days
    wanted = -sum(share * math.log(share) for share in shares) / math.log(3)
    assert score("GapEntropy", DAYS, list(shown)) == pytest.approx(wanted)


def test_even_gaps_have_entropy_1_and_a_single_date_has_0():
    assert score("GapEntropy", having("date", "2024-01-01", "2024-01-03", "2024-01-05")) == pytest.approx(1)
    assert score("GapEntropy", having("date", "2024-01-01", "2024-01-01", "2024-01-01")) == 0
    assert score("GapEntropy", having("date", "2024-01-01", "2024-01-01", "2024-02-01")) == 0


@pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")
def test_too_few_dates_are_undefined():
    names = ["DateDistinct", "DateSpan", "GapEntropy", "ContentDiversity"]
    docs = {"a": {"date": "2024-01-01", "source": "x"}}
    scores = rs.evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"], "r": ["b"]}, names, docs={**docs, "b": {}}, missing="skip")  # fmt: skip
    assert scores["run"].undefined.tolist() == [[True, False, True, True], [True, True, True, True]]
    assert math.isnan(scores["run"]["r", "DateSpan"])
    assert math.isnan(scores["run"]["r", "DateDistinct"])
    assert [aggregate.n for aggregate in scores["run"].mean().values()] == [0, 1, 0, 0]
    assert scores["run"].left_out == (2, 1, 2, 2)


@pytest.mark.parametrize(
    "values",
    [
        ("2024-01-01", "2024-01-03"),
        (date(2024, 1, 1), datetime(2024, 1, 3)),  # noqa: DTZ001
        ("2024", "2024-01-03"),
        ("2024-01", "20240103"),
        (2024, 20240103),
        ("2024-01-01T02:00:00+02:00", datetime(2024, 1, 3, tzinfo=UTC)),
        ("2023-12-31T23:00:00Z", "2024-01-02T23:00:00"),
    ],
)
def test_dates_in_many_spellings(values):
    assert score("DateSpan", having("date", *values)) == 2


EDGES = [
    f"{day}T{time}"
    for day in ("0001-01-01", "0001-01-02", "9999-12-30", "9999-12-31")
    for time in ("00:00:00", "11:59:59.999999", "12:00:00", "23:59:59.999999")
]
DATED = ("DocAge", "Freshness", "DateSpan", "DateDistinct", "GapEntropy", "ContentDiversity(field='date')")
MICROSECONDS = 3_652_059 * 86_400_000_000
"""From the year 1 to the end of 9999: 3,652,059 days."""


def is_in_utc(moment, minutes):
    """Tell by whole numbers alone whether a time of an offset is within the years 1 to 9999 in UTC."""
    parsed = datetime.fromisoformat(moment)
    seconds = (parsed.toordinal() - 1) * 86_400 + parsed.hour * 3600 + parsed.minute * 60 + parsed.second
    return 0 <= (seconds - minutes * 60) * 1_000_000 + parsed.microsecond < MICROSECONDS


@given(st.sampled_from(EDGES), st.integers(-24 * 60 + 1, 24 * 60 - 1), st.sampled_from(DATED), st.booleans())
def test_dates_at_the_ends_of_the_calendar(moment, minutes, measure, is_text):
    sign, (hours, rest) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    text = f"{moment}{sign}{hours:02}:{rest:02}"
    docs = having("date", text if is_text else datetime.fromisoformat(text), "5000-06-01", "5000-06-02")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankscopeWarning)
        if is_in_utc(moment, minutes):
            assert math.isfinite(score(measure, docs))
            parse_measure(f"DocAge(reference='{text}')")
        else:
            with pytest.raises(
                InputError, match="the date of doc 'a', is not an ISO date of the years 1 to 9999 in UTC"
            ):
                score(measure, docs)
            with pytest.raises(MeasureError, match="is not valid; it takes a day"):
                parse_measure(f"DocAge(reference='{text}')")


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00"])
@pytest.mark.parametrize("command", [["validate"], ["collection", "show"]])
def test_a_collection_with_a_date_beyond_the_calendar(tmp_path, capsys, text, command):
    dates = ["2024-01-01", "2024-01-02", text]
    (tmp_path / "docs.jsonl").write_text(
        "".join(f'{{"id": "d{i}", "text": "words {i}", "date": "{day}"}}\n' for i, day in enumerate(dates))
    )
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "something"}\n')
    (tmp_path / "qrels.txt").write_text("q 0 d0 1\n")
    main([*command, str(tmp_path)])
    said = capsys.readouterr()
    assert f"1 doc where the field date holds no date as 2024-05-31: '{text}'" in said.out + said.err


@pytest.mark.parametrize(("zone", "second"), [("Pacific/Kiritimati", 253_402_300_799), ("Etc/GMT+12", -62_135_596_800)])
def test_a_parquet_table_with_a_time_beyond_the_calendar(tmp_path, zone, second):
    pl = pytest.importorskip("polars")
    times = pl.Series([second * 1_000_000]).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    path = tmp_path / "docs.parquet"
    pl.DataFrame({"id": ["a"], "date": times.dt.convert_time_zone(zone)}).write_parquet(path)
    with pytest.raises(InputError, match=r"docs.parquet cannot be read as Parquet: .* out of range"):
        rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "DocAge", docs=path)


def test_a_date_that_is_none_is_an_error_with_its_doc():
    with pytest.raises(InputError, match="'last week', the date of doc 'b', is not an ISO date"):
        score("DateSpan", having("date", "2024-01-01", "last week"))


def test_temporal_statistics():
    found = temporal_statistics(["2024-03-05", None, "2024-03-01", "2024-03-01", ""])
    assert (found.n_dates, found.unique_dates) == (3, 2)
    assert (found.min_date, found.max_date, found.span_days) == ("2024-03-01", "2024-03-05", 4)
    assert found.uniformity == 1 / 2
    assert found.gap_entropy == 0
    nothing = temporal_statistics([])
    assert (nothing.min_date, nothing.unique_dates) == (None, 0)
    assert math.isnan(nothing.uniformity)
    assert temporal_statistics([datetime(2024, 1, 1, 5)]).max_date == "2024-01-01T05:00:00"  # noqa: DTZ001


def test_content_diversity_counts_no_source_as_a_source_but_no_date_as_none():
    docs = {
        "a": {"podcast_id": "p", "published_at": "2024-01-01"}, "b": {"podcast_id": "p", "published_at": "2024-01-02"},
        "c": {}, "d": {},
    }  # fmt: skip
    with pytest.warns(RankscopeWarning):
        got = score("ContentDiversity(field='podcast_id', date='published_at')", docs)
    assert got == (2 / 4 + 2 / 4) / 2
    # B's own test: its comment says 0.25, its code gives 0.5 (MEASURES.md section 5), as for one source and one date of two
    same = {doc: {"source": "p", "date": "2024-01-01"} for doc in "ab"}
    assert score("content_diversity", same) == 0.5


def test_category_entropy():
    assert score("CategoryEntropy", having("category", "x", "y", "z")) == pytest.approx(1)
    assert score("CategoryEntropy", having("category", "x", "x", "y"), ["a", "b"]) == 0
    docs = having("category", "x", "y", "z", "w")
    assert score("CategoryEntropy@2", docs) == pytest.approx(1)  # two docs can have two categories at most
    assert score("CategoryEntropy(field=kind)", having("kind", ["x", "y"], ["x", "z"])) == pytest.approx(
        -(0.5 * math.log(0.5) + 2 * 0.25 * math.log(0.25)) / math.log(3)
    )


def test_catalogue_measures_are_one_number_for_the_run():
    docs = having("x", 1, 2, 3, 4)
    qrels = {"q": {"a": 1}, "r": {"b": 1}, "s": {"c": 1}}
    run = {"q": ["a", "b"], "r": ["a", "c"], "s": ["a", "b"]}
    scores = rs.evaluate(qrels, run, ["CatalogCoverage@2", "Gini@2", "CatalogCoverage@1", "Gini@1"], docs=docs)["run"]
    # shown 3, 2, 1 and 0 times: 2·(1·0 + 2·1 + 3·2 + 4·3)/(4·6) - 5/4 = 5/12; at 1 only a is shown: 2·4/4 - 5/4
    assert np.allclose(scores.values, [[3 / 4, 5 / 12, 1 / 4, 3 / 4]] * 3)


def test_docs_that_are_not_in_the_table_are_not_counted_but_reported():
    with pytest.warns(
        RankscopeWarning, match="1 of the 2 docs that CatalogCoverage looks at are not in the docs given: z"
    ):
        assert score("CatalogCoverage", having("x", 1, 2), ["a", "z"]) == 1 / 2


def test_gini_of_equal_attention_is_0_and_of_none_undefined():
    assert score("Gini", having("x", 1, 2, 3)) == pytest.approx(0)
    with pytest.warns(RankscopeWarning, match="do the ids match|Gini is undefined for 1 of 1 queries"):
        assert math.isnan(score("Gini", having("x", 1, 2, 3), ["z"]))


def test_exposure_and_group_share():
    docs = having("group", "f", "m", ["f", "x"], None)
    discounts = [1, 1 / math.log2(3), 1 / 2, 1 / math.log2(5)]
    with pytest.warns(RankscopeWarning, match="no group"):
        assert score("Exposure(group='f')", docs) == pytest.approx(1.5 / sum(discounts))
    with pytest.warns(RankscopeWarning, match="no group"):
        got = score("Exposure(group='f', missing='ignore')", docs)
    assert got == pytest.approx(1.5 / sum(discounts[:3]))
    assert score("GroupShare(group='f', p=0.5)@2", docs, list("abc")) == pytest.approx(1 / 1.5)
    assert score("Exposure(group='nobody')@2", docs, list("abc")) == 0


def test_groups_that_are_numbers_are_matched_as_text():
    assert score("Exposure(field='cluster', group=2)@1", having("cluster", 2, 3)) == 1
    assert rs.parse_measure("Exposure(group=2)@1").name == "Exposure(group='2')@1"


@pytest.mark.parametrize("name", ["Exposure", "GroupShare"])
def test_a_group_must_be_named(name):
    with pytest.raises(MeasureError, match=rf"{name} needs a group\nHint: write {name}\(field='group'"):
        score(f"{name}@5", having("group", "x"))


def test_an_unknown_field_is_an_error_with_those_there_are():
    with pytest.raises(InputError, match=r"no field 'sources'; they have source\nHint: did you mean source"):
        score("Distinct(field=sources)", having("source", "x"))


def test_without_docs_it_says_how_to_give_them():
    with pytest.raises(MeasureError, match="TopicCoverage needs docs") as error:
        rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "TopicCoverage")
    assert "--docs FILE" in error.value.hint


@pytest.mark.parametrize("text", ["Distinct(field='')", "Distinct(field=3)", "Distinct(missing=some)", "Exposure(group='')"])  # fmt: skip
def test_bad_parameters_are_refused(text):
    with pytest.raises(MeasureError, match="is not valid"):
        rs.parse_measure(text)


@pytest.mark.parametrize("name", ["Distinct(field='a, b (c)')@5", "Exposure(field=\"it's\", group='x y')@3"])
def test_odd_field_names_are_read_back(name):
    measure = rs.parse_measure(name)
    assert rs.parse_measures(measure.name) == (measure,)


def test_nothing_retrieved():
    docs = {"a": {"topics": "x", "source": "y", "group": "g"}}
    names = ["TopicCoverage", "Distinct", "Exposure(group=g)", "CatalogCoverage"]
    with pytest.warns(RankscopeWarning, match="but Distinct, .* are undefined for them"):
        scores = rs.evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"]}, names, docs=docs)["run"]
    assert scores.undefined.tolist() == [[False] * 4, [False, True, True, False]]
    np.testing.assert_array_equal(scores.values[1], [0, math.nan, math.nan, 1])


def test_from_files_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q 0 a 1\n")
    (tmp_path / "x.run").write_text("q Q0 a 1 3 x\nq Q0 b 2 2 x\n")
    (tmp_path / "docs.csv").write_text("docno,source,date\na,x,2024-01-01\nb,,2024-01-03\n")
    asked = ["evaluate", "qrels.txt", "x.run", "-m", "Distinct@2 DateSpan@2", "--docs", "docs.csv", "--format", "csv"]
    assert main(asked) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].split(",")[1:3] == ["0.5", "2.0"]
    assert "1 of the 2 docs that Distinct@2 looks at have no source: b" in shown.err
    assert main(["explain", "qrels.txt", "x.run", "--query", "q", "-m", "DateSpan@2", "--docs", "docs.csv"]) == 0
    assert "DateSpan@2 = 2" in capsys.readouterr().out


# Against plain loops.
VALUES = st.lists(st.sampled_from([None, "x", "y", "z"]), min_size=1, max_size=10)


@pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")
@given(values=VALUES, k=st.integers(1, 11))
def test_distinct_and_exposure_equal_plain_loops(values, k):
    docs = having("f", *values)
    docs["other"] = {"f": "x"}
    shown = list("abcdefghij"[: len(values)])
    top = values[:k]
    assert score(f"Distinct(field=f)@{k}", docs, shown) == len(set(top) - {None}) / len(top)
    assert score(f"Distinct(field=f, missing=own)@{k}", docs, shown) == len(set(top)) / len(top)
    weights = [1 / math.log2(i + 2) for i in range(len(top))]
    mine = sum(weight for weight, value in zip(weights, top, strict=True) if value == "x")
    assert score(f"Exposure(field=f, group=x)@{k}", docs, shown) == pytest.approx(mine / sum(weights))


@given(counts=st.lists(st.lists(st.sampled_from("abcde"), unique=True, min_size=1), min_size=1, max_size=6))
def test_gini_equals_the_mean_difference(counts):
    docs = having("x", *range(5))
    queries = {f"q{i}": shown for i, shown in enumerate(counts)}
    got = rs.evaluate({query: {"a": 1} for query in queries}, queries, "Gini", docs=docs)["run"].values
    times = [sum(doc in shown for shown in counts) for doc in docs]
    wanted = sum(abs(one - other) for one in times for other in times) / (2 * 5 * sum(times))
    assert got[:, 0] == pytest.approx([wanted] * len(counts))


@given(days=st.lists(st.integers(0, 9), min_size=1, max_size=8))
def test_date_measures_equal_plain_loops(days):
    docs = {f"d{i}": {"date": f"2024-01-{day + 1:02}"} for i, day in enumerate(days)}
    assert score("DateSpan", docs) == max(days) - min(days)
    ordered = sorted(days)
    changes = [later != earlier for earlier, later in pairwise(ordered)]
    share = sum(changes) / len(changes) if changes else 0
    assert score("DateDistinct", docs, undefined="zero") == pytest.approx(share)
    assert 0 <= score("GapEntropy", docs, undefined="zero") <= 1
