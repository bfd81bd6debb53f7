"""rankscope compare and rankscope report, as a user calls them."""

import csv
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

QUERIES = [f"q{i:02}" for i in range(30)]
DOCS = [f"d{i}" for i in range(8)]


def trec_run(folder, name, rank_of):
    """Write a run in which the relevant doc d0 of the i-th query stands at rank_of(i)."""
    lines = []
    for i, query in enumerate(QUERIES):
        docs = DOCS[1:]
        docs.insert(rank_of(i) - 1, "d0")
        lines += [f"{query} Q0 {doc} {rank} {10 - rank} {name}" for rank, doc in enumerate(docs, 1)]
    path = folder / f"{name}.run"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def files(tmp_path):
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"{query} 0 {doc} {int(doc == 'd0')}\n" for query in QUERIES for doc in DOCS))
    queries = tmp_path / "queries.csv"
    rows = "".join(f"{query},{'short' if i % 3 else 'long'}\n" for i, query in enumerate(QUERIES))
    queries.write_text("id,kind\n" + rows)
    a = trec_run(tmp_path, "old", lambda i: 2 + i % 3)
    b = trec_run(tmp_path, "new", lambda i: 1 + i % 2)
    return {"qrels": str(qrels), "old": a, "new": b, "queries": str(queries)}


def compare(rankscope, files, *more):
    return rankscope("compare", files["qrels"], files["old"], files["new"], "-m", "RR@10 P@1", *more)


def test_the_answer_comes_first_and_the_command_only_with_details(rankscope, files):
    done = compare(rankscope, files)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "RR@10 · new vs old · 30 queries"
    assert lines[2].startswith("  VERDICT   Use new: it is better than old")
    assert done.out.index("VERDICT") < done.out.index("Can I trust it?") < done.out.index("Why it moved")
    for detail in ("sha256", "rankscope compare", "sign of each query"):
        assert detail not in done.out
    assert "--details prints them" in done.out
    whole = compare(rankscope, files, "--details").out
    assert "- seed: 0" in whole
    assert "- command: rankscope compare" in whole
    assert "sha256" in whole
    assert whole.index("VERDICT") < whole.index("- command")


def test_every_format_by_its_extension(rankscope, files, tmp_path):
    for suffix, start in (
        (".html", "<!doctype html>"),
        (".md", "## "),
        (".tex", "% needs \\usepackage{booktabs}"),
        (".txt", "RR@10"),
        (".csv", "group,"),
    ):
        path = tmp_path / f"report{suffix}"
        assert compare(rankscope, files, "-o", str(path)).code == 0
        assert path.read_text(encoding="utf-8").lower().startswith(start.lower()), suffix
    path = tmp_path / "report.json"
    compare(rankscope, files, "-o", str(path))
    record = json.loads(path.read_text())
    assert record["groups"][0]["comparisons"][0]["verdict"]["code"] == "better"
    path = tmp_path / "report.xml"
    compare(rankscope, files, "-o", str(path))
    assert [case.get("name") for case in ET.parse(path).getroot().iter("testcase")] == ["new vs old"]


def test_strata_and_unknown_attributes(rankscope, files):
    done = compare(rankscope, files, "--queries", files["queries"], "--by", "kind")
    assert "By stratum" in done.out
    wrong = compare(rankscope, files, "--queries", files["queries"], "--by", "kinds")
    assert wrong.code == 2
    assert "kind" in wrong.err


def test_a_gate_fails_where_a_run_is_worse(rankscope, files):
    swapped = rankscope("compare", files["qrels"], files["new"], files["old"], "-m", "RR@10", "--fail-if-worse")
    assert swapped.code == 1
    assert "Keep new: old is worse, by 0.389 in RR@10." in swapped.out
    assert compare(rankscope, files, "--fail-if-worse").code == 0


def run_of(rankings):
    return "".join(f"{q} Q0 {d} {r} {20 - r} x\n" for q, docs in rankings.items() for r, d in enumerate(docs, 1))


def test_judging_the_docs_of_settle_gives_a_verdict(rankscope, tmp_path):
    """Four of the ten docs of one run are unjudged: first nothing is safe to say, then the judged list settles it."""
    known, new = [f"d{i}" for i in range(10)], [f"new{i}" for i in range(4)]
    (tmp_path / "qrels.txt").write_text(
        "".join(
            f"{q} 0 {d} {int((i + j) % (2 if j < 6 else 5) == 0)}\n"
            for i, q in enumerate(QUERIES)
            for j, d in enumerate(known)
        )
    )
    (tmp_path / "old.run").write_text(run_of(dict.fromkeys(QUERIES, known)))
    (tmp_path / "new.run").write_text(run_of({query: [*new, *known[:6]] for query in QUERIES}))
    settle = tmp_path / "settle.csv"
    arguments = ("compare", tmp_path / "qrels.txt", tmp_path / "old.run", tmp_path / "new.run", "-m", "P@10")
    before = rankscope(*arguments, "--settle", settle)
    assert "whether new is better is not safe to say, as too many results are unjudged." in " ".join(before.out.split())
    told = before.out.replace("\n            ", " ")
    # old has 3 + 0.8 of 10, new 3 of 10: it takes one of five of its four unjudged docs; of its judged ones half are
    share = re.search(r"new is lower by 0.080, unless more than (\d+)% of its unjudged results are relevant", told)
    assert int(share[1]) == pytest.approx(20, abs=3)  # 20 draws of 120 docs are a little uneven
    assert "(Of its judged ones 50% are" in told
    rows = list(csv.DictReader(settle.read_text().splitlines()))
    assert f"{len(rows)} docs to judge are in" in before.err
    assert {row["doc"] for row in rows} <= set(new)
    for grade in ("0", "1"):
        judged = tmp_path / f"judged{grade}.csv"
        judged.write_text("query,doc,grade\n" + "".join(f"{row['query']},{row['doc']},{grade}\n" for row in rows))
        after = rankscope(*arguments, "--more-qrels", judged)
        n = len(QUERIES)
        told = f"on {n} queries of qrels.txt ({10 * n} judgments; {len(rows)} added by judged{grade}.csv)"
        assert told in " ".join(after.out.split())
        assert f"VERDICT   {'Use new: it is better' if grade == '1' else 'Keep old: new is worse'}" in after.out


@pytest.mark.parametrize("settled", [False, True])
def test_docs_to_judge_are_those_of_the_worst_case_not_of_the_tipping_point(rankscope, tmp_path, settled):
    """All that new has is relevant: 1. The old run has 0, and 1 if both of its docs are; 1/2 where one is judged useless.

    With 80 % of old's docs relevant, new is still ahead by 0.2 or more, so the verdict stands; it is settled only where
    even the worst case leaves 0.5.
    """
    n = len(QUERIES)
    useless = "".join(f"{query} 0 u1 0\n" for query in QUERIES) if settled else ""
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 d1 1\n{q} 0 d2 1\n" for q in QUERIES) + useless)
    (tmp_path / "old.run").write_text(run_of({query: ["u1", "u2"] for query in QUERIES}))
    (tmp_path / "new.run").write_text(run_of({query: ["d1", "d2"] for query in QUERIES}))
    settle, files = tmp_path / "settle.csv", [tmp_path / name for name in ("qrels.txt", "old.run", "new.run")]
    done = rankscope("compare", *files, "-m", "P@2", "--unjudged", "uncertain", "--settle", settle)
    assert "VERDICT   Use new: it is better" in done.out
    assert "more than 100%" not in done.out
    rows = list(csv.DictReader(settle.read_text().splitlines()))
    if settled:
        assert rows == []
        assert "settled by the worst-case bounds: no grades of unjudged docs change who is ahead" in done.err
    else:
        assert {(row["query"], row["doc"]) for row in rows} == {(q, d) for q in QUERIES for d in ("u1", "u2")}
        assert f"{2 * n} docs to judge are in" in done.err
        told = (
            "stands by the tipping point, but it is not settled: in the worst case the difference is +0.000 to +1.000"
        )
        assert told in done.err
        assert "nearly all of old's unjudged results" in " ".join(done.out.split())
    certain = rankscope("compare", *files, "-m", "P@2", "--unjudged", "irrelevant", "--settle", settle)
    assert "in the worst case was not worked out" in certain.err


def test_judgments_that_were_added_are_named_with_their_counts(rankscope, tmp_path):
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 d0 1\n{query} 0 d1 0\n" for query in QUERIES))
    for name, docs in {"old": ["d1", "d0"], "new": ["d0", "d2"]}.items():
        (tmp_path / f"{name}.run").write_text(run_of(dict.fromkeys(QUERIES, docs)))
    first, second = QUERIES[:2]
    (tmp_path / "more.csv").write_text(f"query,doc,grade\n{first},d1,1\n{first},d2,0\n{second},d0,1\n{second},d2,1\n")
    files = [tmp_path / name for name in ("qrels.txt", "old.run", "new.run")]
    arguments = ["compare", *files, "-m", "RR", "--more-qrels", tmp_path / "more.csv"]
    n = len(QUERIES)
    words = f"of qrels.txt ({2 * n} judgments; 2 added by more.csv, which changes 1 grade)"  # one is there already
    assert words in " ".join(rankscope(*arguments, "--details").out.split())
    record = json.loads(rankscope(*arguments, "--format", "json").out)["qrels"]
    assert [(Path(file["path"]).name, file["n_added"], file["n_changed"]) for file in record["files"]] == [
        ("qrels.txt", 2 * n, 0),
        ("more.csv", 2, 1),
    ]
    digest = hashlib.sha256((tmp_path / "more.csv").read_bytes()).hexdigest()
    assert record["files"][1]["sha256"] == digest
    assert f"sha256:{digest}" in "".join(rankscope(*arguments, "--details").out.split())


def test_scores_of_other_tools(rankscope, tmp_path):
    table = tmp_path / "ndcg.csv"
    table.write_text("query,a,b\n" + "".join(f"{i},{i % 5 / 10},{i % 5 / 10 + 0.1 + i % 3 / 50}\n" for i in range(30)))
    done = rankscope("compare", "--scores", str(table), "--primary", "nDCG@10")
    assert "VERDICT   Use b: it is better than a, by 0.1200 in nDCG@10." in done.out
    report = tmp_path / "r.html"
    assert rankscope("report", str(table), "-m", "nDCG@10", "-o", str(report)).code == 0
    assert "Use b: it is better than a, by " in report.read_text()


def test_json_that_holds_no_scores_is_called_by_its_name(rankscope, files, tmp_path):
    stored = str(tmp_path / "c.json")
    assert rankscope("compare", files["qrels"], files["old"], files["new"], "-o", stored).code == 0
    for command in (["report", stored, "-o", str(tmp_path / "r.html")], ["compare", "--scores", stored]):
        done = rankscope(*command)
        assert done.code == 2
        assert f"{stored} holds no scores of queries: it is the JSON of Comparison" in done.err
        assert "rankscope evaluate" in done.err


def test_options_that_could_do_nothing_are_refused(rankscope, files, tmp_path):
    table = tmp_path / "s.csv"
    table.write_text(
        "run,query,AP,RR\n" + "".join(f"{r},{i},0.{i % 9},{j}\n" for i in range(12) for j, r in enumerate("ab"))
    )
    done = rankscope("compare", "--scores", table, "-m", "rr")
    assert done.out.startswith("RR · b vs a · 12 queries")
    assert "AP" not in done.out
    for more, message in (
        (["--scores", table, "--settle", "x.csv"], "--scores does not know"),
        (["--scores", table, "-m", "nDCG"], "there is no measure 'nDCG'"),
        ([files["qrels"], files["old"], files["new"], "--lower-is-better", "RR"], "goes with --scores"),
        ([files["qrels"], files["old"], files["new"], "--pool"], "nothing to pool"),
    ):
        refused = rankscope("compare", *more)
        assert refused.code == 2
        assert message in refused.err


def test_charts(rankscope, files, tmp_path):
    for kind in ("forest", "differences", "scatter", "systems", "distribution"):
        path = tmp_path / f"{kind}.svg"
        assert compare(rankscope, files, "--chart", kind, "-o", str(path)).code == 0, kind
        ET.parse(path)
    path = tmp_path / "strata.svg"
    done = compare(
        rankscope, files, "--queries", files["queries"], "--by", "kind", "--chart", "strata", "-o", str(path)
    )
    assert done.code == 0
    assert "did you mean forest?" in compare(rankscope, files, "--chart", "forst", "-o", "x.svg").err
    assert "needs a file" in compare(rankscope, files, "--chart", "forest").err


@pytest.fixture
def weeks(rankscope, files, tmp_path):
    """Return a function that saves the scores of some runs under the name of a week."""

    def save(week, *names, measure="RR@10", qrels=None):
        path = tmp_path / f"{week}.json"
        runs = [files[name] for name in names]
        assert rankscope("evaluate", qrels or files["qrels"], *runs, "-m", measure, "-o", str(path)).code == 0
        return str(path)

    return save


def description(path):
    return ET.parse(path).getroot().find("{http://www.w3.org/2000/svg}desc").text


def test_a_trend_has_a_line_for_each_system_and_gaps_where_one_is_missing(rankscope, weeks, tmp_path):
    saved = [weeks("w1", "old"), weeks("w2", "old", "new"), weeks("w3", "new"), weeks("w4", "new", "old")]
    target = tmp_path / "trend.svg"
    assert rankscope("report", *saved, "--chart", "trend", "--target", "0.5", "-o", str(target)).code == 0
    found = description(target)
    assert re.search(r"old from \S+ at w1 to \S+ at w4, 3 values, none at w3; new from .* none at w1", found)
    gaps = [path.get("d").count("M") for path in ET.parse(target).iter("{http://www.w3.org/2000/svg}path")]
    assert 2 in gaps  # the line of old is interrupted
    assert rankscope("report", *saved, "--chart", "trend", "--system", "old", "-o", str(target)).code == 0
    assert re.fullmatch(r"RR@10 from \S+ at w1 to \S+ at w4, 3 values, none at w3\.", description(target))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_target_that_cannot_be_drawn(rankscope, weeks, tmp_path, value):
    done = rankscope("report", weeks("w1", "old"), "--chart", "trend", f"--target={value}", "-o", tmp_path / "x.svg")
    assert done.code == 2
    assert f"--target {value}: no line can be drawn there" in done.err
    assert not (tmp_path / "x.svg").exists()


def test_a_trend_never_joins_systems_of_different_names(rankscope, weeks, tmp_path):
    target = tmp_path / "trend.svg"
    done = rankscope("report", weeks("w1", "old"), weeks("w2", "new"), "--chart", "trend", "-o", str(target))
    assert done.code == 2
    assert "no system is in more than one of the files" in done.err
    assert "w1 has old; w2 has new" in done.err
    assert not target.exists()


def test_a_trend_needs_a_measure_that_the_files_share(rankscope, weeks, tmp_path):
    saved, target = [weeks("w1", "old"), weeks("w2", "old", measure="AP")], str(tmp_path / "trend.svg")
    done = rankscope("report", *saved, "--chart", "trend", "-o", target)
    assert (done.code, "the files have no measure in common" in done.err) == (2, True)
    assert rankscope("report", *saved, "--chart", "trend", "-m", "AP", "-o", target).code == 0
    assert "1 value, none at w1" in description(target)
    done = rankscope("report", *saved, "--chart", "trend", "-m", "nDCG@3", "-o", target)
    assert (done.code, "no measure 'nDCG@3'" in done.err) == (2, True)


def test_two_weeks_of_one_system_are_named_apart_and_followed(rankscope, files, weeks, tmp_path):
    saved, page = [weeks("w1", "old", "new"), weeks("w2", "old")], tmp_path / "report.html"
    done = rankscope("report", *saved, "-o", str(page))
    assert done.code == 0
    assert "old is in several of the files; here it is old (w1), old (w2)" in done.err
    text = page.read_text()
    assert all(words in text for words in ("old (w1)", "old (w2)", "RR@10 over time", "none at w2"))
    assert "new (w1)" not in text  # it is in one of the files only
    assert rankscope("compare", "--scores", *saved).code == 0
    for folder in ("monday", "tuesday"):
        (tmp_path / folder).mkdir()
        rankscope("evaluate", files["qrels"], files["old"], "-o", str(tmp_path / folder / "scores.json"))
    days = [str(tmp_path / day / "scores.json") for day in ("monday", "tuesday")]
    report = tmp_path / "report.txt"
    assert rankscope("report", *days, "-o", str(report)).code == 0
    assert "old (tuesday/scores)" in report.read_text()


def test_weeks_against_other_qrels_are_not_compared(rankscope, files, weeks, tmp_path):
    fewer = tmp_path / "fewer.txt"
    fewer.write_text("".join((tmp_path / "qrels.txt").read_text().splitlines(keepends=True)[:-1]))
    saved, report = [weeks("w1", "old"), weeks("w2", "old", qrels=str(fewer))], tmp_path / "report.txt"
    assert rankscope("report", *saved, "-o", str(report)).code == 0
    assert "are not comparable." in report.read_text()
    assert "not all against the same qrels" in report.read_text()


def test_charts_and_report_of_an_evaluation(rankscope, files, tmp_path):
    for kind in ("curves", "precision_recall", "systems", "distribution", "positions", "overlap"):
        path = tmp_path / f"{kind}.svg"
        done = rankscope("evaluate", files["qrels"], files["old"], files["new"], "--chart", kind, "-o", str(path))
        assert done.code == 0, (kind, done.err)
        ET.parse(path)
    report = tmp_path / "e.html"
    assert rankscope("evaluate", files["qrels"], files["old"], files["new"], "-o", str(report)).code == 0
    assert "Scores, with 95% intervals of the mean" in report.read_text()
    missing = rankscope("evaluate", files["qrels"], files["old"], "--chart", "relevance_diversity", "-o", "x.svg")
    assert "needs a measure of diversity" in missing.err
    alone = rankscope("evaluate", files["qrels"], files["old"], "--chart", "overlap", "-o", "x.svg")
    assert "at least two runs" in alone.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["qrels", "old"], "at least two runs"),
        (["qrels", "old", "new", "-o", "x.docx"], ".docx is not written here"),
        (["qrels", "old", "new", "--unjudged", "maybe"], "maybe"),
        (["qrels", "old", "new", "--margin", "-1"], "negative"),
    ],
)
def test_mistakes_are_explained(rankscope, files, arguments, message):
    done = rankscope("compare", *(files.get(argument, argument) for argument in arguments))
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("copies", "words"), [(1, "1 pair without any difference takes"), (2, "2 pairs without any difference take")]
)
def test_pairs_without_any_difference_are_counted_in_the_notes(rankscope, files, tmp_path, copies, words):
    same = [trec_run(tmp_path, f"copy{i}", lambda i: 2 + i % 3) for i in range(copies)]
    done = rankscope("compare", files["qrels"], files["old"], files["new"], *same, "-m", "RR@10")
    assert f"{words} no part in it" in " ".join(done.out.split())
