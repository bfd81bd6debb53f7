"""The page of evaluate: the answer first, numbers that can be counted by hand, the best run first, and no word against
what compare says of the same files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from html import unescape

import pytest

import rankscope as rs
from rankscope.cli import evaluate as command
from rankscope.report import evaluation_report
from rankscope.report.charts import sources
from rankscope.report.charts.sources import RunData
from rankscope.report.document import Facts, TableBlock, VerdictBlock, VerdictCounts
from rankscope.report.evaluation_report import report_of

N = 20
QRELS = {f"q{i:02}": {"x": 1, "o": 0} for i in range(N)}
RANKS = {"good": [1] * 16 + [2] * 4, "fair": [1] * 14 + [2] * 6, "poor": [4] * 20}
# rank of the only relevant doc


def ranking(rank: int) -> list[str]:
    return [*(f"n{i}" for i in range(rank - 1)), "x"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Go to a folder of qrels and three runs, given from the worst to the best."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{query} 0 {doc} {grade}\n" for query, docs in QRELS.items() for doc, grade in docs.items())
    )
    for name, ranks in RANKS.items():
        rows = (
            f"{query} Q0 {doc} {place} {-place} {name}\n"
            for query, rank in zip(QRELS, ranks, strict=True)
            for place, doc in enumerate(ranking(rank), 1)
        )
        (tmp_path / f"{name}.run").write_text("".join(rows))
    return tmp_path


GIVEN = ("poor.run", "good.run", "fair.run")


def shown(page: str) -> str:
    """Return the text of a page, without markup and scripts."""
    body = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def facts_in(report) -> dict[str, str]:
    return {fact.label: fact.value for block in report.first_screen if isinstance(block, Facts) for fact in block.facts}


def first_table(report):
    return next(block.table for block in report.first_screen if isinstance(block, TableBlock))


def test_one_run_in_one_sentence_and_five_numbers_counted_by_hand():
    # q1: relevant at 1, both judged; q2: at 2, one of two judged; q3: nothing relevant, none judged; q4: no answer
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}, "q3": {"a": 1}, "q4": {"a": 1}}
    runs = {"ours": {"q1": ["a", "b"], "q2": ["x", "a"], "q3": ["x", "y"]}}
    with pytest.warns(rs.RankscopeWarning, match="does not answer 1 of 4"):
        scores = rs.evaluate(qrels, runs, "RR@10 nDCG@10", missing="zero")
    data = RunData.load(qrels, runs, ["RR@10", "nDCG@10"], {"missing": "zero"})
    report = report_of(scores, data=data, with_figures=False)
    answer = report.first_screen[0]
    assert isinstance(answer, VerdictBlock)
    assert re.match(r"ours scores RR@10 0\.375 \(95% interval 0\.\d{3} to 0\.\d{3}\) over 4 queries\.", answer.headline)
    assert "Measured on 4 queries." in answer.reason
    assert "RR@10 answers: how early does the first relevant doc come?" in answer.reason
    assert answer.cautions == ("1 query not answered (counted as 0).",)
    assert facts_in(report) == {
        "RR@10": "0.375",  # (1 + 1/2 + 0 + 0) / 4
        "First result relevant": "1 of 4 queries",
        "Nothing relevant in top 10": "2 of 4 queries",
        "Judged in top 10": "50%",  # (2/2 + 1/2 + 0/2) / 3
        "Not answered": "1 of 4",
    }
    assert report.title == "ours, measured on 4 queries"
    every = report.sections[-1].blocks[0]
    assert every.folded
    assert [row[0].text for row in every.table.rows] == ["q3", "q4", "q2", "q1"], "what went wrong comes first"


def test_without_the_runs_the_numbers_come_from_the_measures_that_tell_them():
    scores = rs.evaluate({"q1": {"a": 1}, "q2": {"a": 1}}, {"ours": {"q1": ["a"], "q2": ["b"]}}, "nDCG@10 RR@10")
    assert facts_in(report_of(scores, with_figures=False)) == {
        "nDCG@10": "0.500",
        "First result relevant": "1 of 2 queries",
        "Nothing relevant in top 10": "1 of 2 queries",
        "Not answered": "0 of 2",
    }
    assert "First result relevant" not in facts_in(report_of(rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "AP")))


def test_no_score_at_all():
    with pytest.warns(rs.RankscopeWarning, match="undefined"):
        scores = rs.evaluate({"q": {"x": 1, "o": 0}}, {"q": ["o"]}, "FirstRel")
    answer = report_of(scores, with_figures=False).first_screen[0]
    assert (answer.headline, answer.mark) == ("No query of run has a score by FirstRel.", "fails")


@pytest.mark.usefixtures("files")
def test_people_see_the_best_first_and_programs_what_was_given(rankscope):
    first_columns = {}
    for form in ("table", "markdown", "latex", "csv", "json", "jsonl"):
        out = rankscope("evaluate", "qrels.txt", *GIVEN, "-m", "RR", "--format", form).out
        first_columns[form] = [name for name in re.findall(r"\b(poor|good|fair)\b", out) if name in RANKS]
    best, given = ["good", "fair", "poor"], ["poor", "good", "fair"]
    for form in ("table", "markdown", "latex"):
        assert list(dict.fromkeys(first_columns[form])) == best, form
    for form in ("csv", "jsonl"):
        assert first_columns[form] == given, form
    out = rankscope("evaluate", "qrels.txt", *GIVEN, "-m", "RR", "--format", "json", "--order", "score").out
    assert [run["name"] for run in json.loads(out)["runs"]] == best
    out = rankscope("evaluate", "qrels.txt", *GIVEN, "-m", "RR", "--order", "given").out
    assert list(dict.fromkeys(re.findall(r"^(poor|good|fair)\b", out, flags=re.MULTILINE))) == given


@pytest.mark.usefixtures("files")
def test_where_lower_is_better_the_lowest_is_first(rankscope):
    out = rankscope("evaluate", "qrels.txt", *GIVEN, "-m", "FirstRel").out
    assert re.findall(r"^(poor|good|fair)\b", out, flags=re.MULTILINE) == ["good", "fair", "poor"]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--order", "scroe"], "--order scroe is not one of score, given"),
        (["--order", "given", "--format", "trec"], "--order does not go with --format trec"),
        (["--order", "given", "--chart", "curves", "-o", "x.svg"], "--chart and --order do not go together"),
    ],
)
def test_an_order_that_would_do_nothing_is_refused(rankscope, options, message):
    done = rankscope("evaluate", "qrels.txt", *GIVEN, *options)
    assert done.code == 2
    assert message in done.err


def report_and_comparison():
    runs = {
        name: {query: ranking(rank) for query, rank in zip(QRELS, ranks, strict=True)} for name, ranks in RANKS.items()
    }
    given = {name: runs[name] for name in ("poor", "good", "fair")}
    data = RunData.load(QRELS, given, ["RR", "P@1"], {})
    scores = data.evaluate(["RR", "P@1"])
    found, why_not = command.compare_all(data, scores)
    assert why_not == ""
    return report_of(command.in_order(scores, None, "html"), data=data, comparison=found, with_figures=False), given


def test_the_verdicts_are_those_of_compare_on_all_pairs():
    """RR: good 16 x 1 and 4 x 1/2, fair 14 and 6, poor 1/4 always; good and fair differ in two queries by 1/2."""
    report, runs = report_and_comparison()
    compared = rs.compare(QRELS, runs, "RR P@1 nDCG@10", all_pairs=True)  # further measures change nothing
    code = {(pair.a, pair.b): pair.final_verdict.code for pair in compared}
    assert code[("fair", "good")] == "cannot_tell"
    assert code[("poor", "good")] == "better"
    table = first_table(report)
    place = table.header.index("verdict vs best")
    assert {row[0].text: row[place].text for row in table.rows} == {
        "good": "best mean",
        "fair": "cannot tell",
        "poor": "worse",
    }
    assert [row[1].text for row in table.rows] == ["0.9000", "0.8500", "0.2500"]
    assert compared.recommendation.systems == ("good", "fair"), "and these are marked"
    assert [row[1].best for row in table.rows] == [True, True, False]
    assert [row[table.header.index("P@1")].best for row in table.rows] == [True, False, False]  # 16, 14 and 0 of 20
    assert table.notes[1] == (
        "marked as best: the best mean, and those that the verdicts do not distinguish from it, by RR; "
        "by other measures the best value"
    )
    assert facts_in(report)["Not distinguished from it"] == "1 of 2"
    assert facts_in(report)["First result relevant"] == "16 of 20 queries"
    (counts,) = (block for block in report.first_screen if isinstance(block, VerdictCounts))
    assert {group.words: group.names for group in counts.groups} == {"worse": ("poor",), "cannot tell": ("fair",)}
    assert report.first_screen[0].headline == compared.recommendation.text
    assert "as rankscope compare --all-pairs gives them on the same files; all 3 pairs are one family" in table.notes[0]


@pytest.mark.usefixtures("files")
def test_the_page_says_it_too(rankscope, files):
    assert rankscope("evaluate", "qrels.txt", *GIVEN, "-m", "RR P@1", "-o", "page.html").code == 0
    words = shown((files / "page.html").read_text())
    compared = rankscope("compare", "qrels.txt", *GIVEN, "-m", "RR", "--all-pairs", "--format", "json").out
    assert json.loads(compared)["recommendation"]["text"] in words
    assert "3 runs, measured on 20 queries" in words
    assert "Measured on 20 queries of qrels.txt." in words


@pytest.mark.usefixtures("files")
def test_too_many_runs_are_not_compared_and_nothing_is_claimed(rankscope, files, monkeypatch):
    monkeypatch.setattr(command, "MOST_COMPARED", 59)  # 3 pairs on 20 queries are 60
    rankscope("evaluate", "qrels.txt", *GIVEN, "-m", "RR", "-o", "page.html")
    words = shown((files / "page.html").read_text())
    assert "good has the best mean RR: 0.900." in words
    assert "Whether that is a real difference: rankscope compare --all-pairs, with the same files." in words
    assert "Here they are not compared: 3 pairs on 20 queries take a while." in words
    assert "verdict vs best" not in words


@pytest.mark.usefixtures("files")
def test_what_cannot_be_compared_says_why(rankscope, files):
    rankscope("evaluate", "qrels.txt", *GIVEN, "-m", "RR(agg='median')", "-o", "page.html")
    words = shown((files / "page.html").read_text())
    assert "Here they are not compared: RR(agg='median') is" in words
    queries = "".join(
        json.dumps({"id": query, "language": "en" if i % 2 else "de", "asked": 1}) + "\n"
        for i, query in enumerate(QRELS)
    )
    (files / "queries.jsonl").write_text(queries)
    rankscope(
        "evaluate", "qrels.txt", *GIVEN, "-m", "RR", "--queries", "queries.jsonl", "--weights", "asked", "-o", "l.html"
    )
    words = shown((files / "l.html").read_text())
    assert "Here they are not compared, as the queries are in several languages." in words


@pytest.mark.usefixtures("files")
def test_the_text_of_queries_stands_beside_their_scores(rankscope, files):
    rows = "".join(json.dumps({"id": query, "text": f"asked <{query}>", "asked": 1}) + "\n" for query in QRELS)
    (files / "queries.jsonl").write_text(rows)
    rankscope(
        "evaluate", "qrels.txt", *GIVEN, "-m", "RR", "--queries", "queries.jsonl", "--weights", "asked", "-o", "l.html"
    )
    page = (files / "l.html").read_text()
    assert "asked &lt;q07&gt;" in page
    assert "asked <q07>" not in page


def test_of_many_runs_the_primary_measure_of_every_query_is_shown():
    runs = {f"r{i}": {query: ranking(1 + i) for query in QRELS} for i in range(5)}
    report = report_of(rs.evaluate(QRELS, runs, "RR P@1"), with_figures=False)
    every = report.sections[-1].blocks[0].table
    assert list(every.header) == ["query", "r0", "r1", "r2", "r3", "r4"]
    assert [cell.text for cell in every.rows[0]] == ["q00", "1.0000", "0.5000", "0.3333", "0.2500", "0.2000"]


def test_a_page_of_very_many_runs_leaves_heavy_charts_out(monkeypatch):
    monkeypatch.setattr(evaluation_report, "MANY_RUNS", 3)
    runs = {f"r{i}": {query: ranking(1 + i) for query in QRELS} for i in range(4)}
    data = RunData.load(QRELS, runs, ["RR"], {})
    sections = report_of(data.evaluate("RR"), data=data).sections
    titles = [getattr(block, "title", "") for section in sections for block in section.blocks]
    assert any("over the queries" in title for title in titles)
    heavy = ("Systems by measure", "Precision over recall")
    assert not any(title.startswith(heavy) or "in common" in title for title in titles)
    charts = next(section for section in sections if section.title == "Charts")
    assert charts.intro == ""
    monkeypatch.setattr(sources, "MOST_SYSTEMS", 2)
    given = data.evaluate("RR")
    charts = next(section for section in report_of(given, data=data).sections if section.title == "Charts")
    assert charts.intro == "Charts that are drawn from rankings show the first 2 of 4 systems."
    curves = charts.blocks[0]
    assert "r0" in curves.svg
    assert "r1" in curves.svg
    assert "r2" not in curves.svg


BEST = "good has the best mean RR: 0.900."  # (16 x 1 + 4 x 1/2) / 20
TELLS = "Whether that is a real difference: rankscope compare --all-pairs, with the same files."


@pytest.mark.usefixtures("files")
def test_of_several_runs_every_form_for_people_and_json_give_one_answer(rankscope, monkeypatch):
    command = ("evaluate", "qrels.txt", *GIVEN, "-m", "RR P@1")
    lines = rankscope(*command).out.splitlines()
    assert lines[0].split() == ["run", "RR", "P@1"], "a program reads the table from its first line on"
    assert lines[-2:] == [f"answer: {BEST}", TELLS], "no line but the row begins with the name of a run"
    markdown = rankscope(*command, "--format", "markdown").out
    assert markdown.startswith(f"**{BEST}** {TELLS}\n\n| run |")
    assert json.loads(rankscope(*command, "--format", "json").out)["answer"] == BEST
    assert json.loads(rankscope(*command, "--format", "json", "--intervals").out)["answer"] == BEST
    assert BEST in rankscope(*command, "--intervals").out
    for form in ("csv", "jsonl", "trec"):
        assert "best mean" not in rankscope(*command, "--format", form).out
    assert "best mean" not in rankscope(*command, "--per-query").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown_lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in rankscope(*command).out.splitlines()]
    assert shown_lines[:3] == [BEST, TELLS, ""]


@pytest.mark.usefixtures("files")
def test_one_run_has_no_answer_but_its_scores(rankscope):
    command = ("evaluate", "qrels.txt", "good.run", "-m", "RR")
    assert "best" not in rankscope(*command).out
    assert rankscope(*command, "--format", "markdown").out.startswith("| run |")
    assert json.loads(rankscope(*command, "--format", "json").out)["answer"] == ""


@pytest.mark.usefixtures("files")
def test_where_a_page_is_written_its_answer_is_shown(rankscope):
    done = rankscope("evaluate", "qrels.txt", *GIVEN, "-m", "RR", "-o", "page.html")
    compared = rankscope("compare", "qrels.txt", *GIVEN, "-m", "RR", "--all-pairs", "--format", "json").out
    assert json.loads(compared)["recommendation"]["text"] in done.err
    assert BEST in rankscope("evaluate", "qrels.txt", *GIVEN, "-m", "RR", "-o", "scores.csv").err


def test_a_notebook_says_what_the_page_of_scores_says():
    runs = {name: {query: ranking(rank) for query, rank in zip(QRELS, RANKS[name], strict=True)} for name in RANKS}
    scores = rs.evaluate(QRELS, runs, "RR P@1")
    answer = scores.report().first_screen[0]
    assert answer.headline == BEST
    card = shown(scores._repr_html_())
    assert answer.headline in card
    assert answer.reason in card
    assert scores.to_markdown().startswith(f"**{BEST}** {TELLS}")
    assert json.loads(scores.to_json())["answer"] == BEST


@pytest.mark.parametrize(
    ("ranks", "measure", "words"),
    [
        ({"a": 1, "b": 2, "c": 1}, "RR", "a and c share the best mean RR: 1.000."),
        ({"a": 2, "b": 2}, "RR", "All 2 runs have the same mean RR: 0.500."),
        ({"a": 1, "b": 2}, "Judged@10", "There is no best run by Judged@10: Judged@10 says how much was judged"),
        ({"a": 1, "b": 0}, "FirstRel", "There is no best FirstRel: not over the same queries"),
    ],
)
def test_there_is_not_always_one_best(ranks, measure, words):
    runs = {name: {query: ranking(rank) if rank else ["n"] for query in QRELS} for name, rank in ranks.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = rs.evaluate(QRELS, runs, measure)
    assert json.loads(scores.to_json())["answer"].startswith(words)
    assert "Best" not in " ".join(facts_in(scores.report())) or "share" in words


@pytest.mark.usefixtures("files")
def test_the_answer_loads_nothing_heavy_and_nothing_for_one_run():
    code = "import sys; from rankscope.cli.main import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    for runs, own in ((["good.run"], False), (list(GIVEN), True)):
        done = subprocess.run(
            [sys.executable, "-c", code, "evaluate", "qrels.txt", *runs, "-m", "RR"],
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        loaded = set(done.stderr.split())
        assert not loaded & {"msgspec", "scipy", "polars", "multiprocessing", "rankscope.comparison"}
        assert ("rankscope.report.best_mean" in loaded) == own


@pytest.mark.usefixtures("files")
def test_the_table_for_a_paper_is_one_from_the_command_and_from_python(rankscope):
    """Letters need qrels and runs: scores alone give the same rows without them, and say which call has them."""
    runs = {name: {query: ranking(rank) for query, rank in zip(QRELS, RANKS[name], strict=True)} for name in RANKS}
    given = {name: runs[name] for name in ("poor", "good", "fair")}
    written = rankscope("evaluate", "qrels.txt", *GIVEN, "-m", "RR P@1", "--format", "latex").out
    compared = rs.compare(QRELS, given, "RR P@1", all_pairs=True).to_latex()
    assert rows_of(written) == rows_of(compared)
    assert any("textsuperscript" in row for row in rows_of(written))
    alone = rs.evaluate(QRELS, given, "RR P@1").to_latex()
    names = [re.findall(r"\b(poor|good|fair)\b", "".join(rows_of(text))) for text in (written, alone)]
    assert names == [["good", "fair", "poor"]] * 2
    assert "rs.compare(qrels, runs, all_pairs=True).to_latex()" in " ".join(alone.replace("%", " ").split())


def rows_of(latex: str) -> list[str]:
    return [line for line in latex.splitlines() if line.rstrip().endswith("\\\\")]
