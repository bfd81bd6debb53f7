"""A diagnosis as a report, and within the reports of evaluate, compare and run; losses are worked out by hand."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

import rankscope as rs
from rankscope.align.policies import Policies
from rankscope.align.top import top_docs, whole_lists
from rankscope.analysis import diagnose as module
from rankscope.data.loading import load_run
from rankscope.report import benchmark
from rankscope.report.comparison import report_of as comparison_report
from rankscope.report.diagnosis import report_of
from rankscope.report.diagnosis_section import compared_sections
from rankscope.report.document import Bullets, Paragraph, Report, Section, Shares, VerdictBlock

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")

QRELS = {f"q{i}": {f"r{i}": 1, "bad": 0} for i in range(1, 6)}
OLD = {
    "q1": ["r1"],  # reached
    "q2": ["x", "r2"],  # 1/log2(3) of it, the rest is lost to order
    "q3": ["x", "y", "r3"],  # below the top 2
    "q4": ["x", "y", "z"],  # not retrieved
}  # q5 has no answer
NEW = {**OLD, "q3": ["r3", "x", "y"], "q2": ["r2", "x"]}
SECOND = 1 / math.log2(3)
OLD_PARTS = ((1 + SECOND) / 5, (1 - SECOND) / 5, 0.2, 0.2, 0.2)
NEW_PARTS = (0.6, 0.0, 0.0, 0.2, 0.2)
QUERIES = {"q1": "one", "q2": "two", "q3": "<b>three</b>", "q4": "why is the sky blue", "q5": "five"}
DOCS = {"r4": {"title": "Light is scattered"}, "r3": {"title": "Threes & fours"}, "x": {"title": "Noise"}}
NAMES = ["reached", "lost to order", "lost to ranking low", "lost to not retrieving", "lost to no answer"]


def blocks_of(part: Report | Section, kind: type) -> list:
    blocks = part.blocks if isinstance(part, Section) else part.first_screen
    return [block for block in blocks if isinstance(block, kind)]


def section_of(report: Report, start: str) -> Section:
    return next(section for section in report.sections if section.title.startswith(start))


def check_shares(shares: Shares, parts: tuple[float, ...]) -> None:
    assert [share.name for share in shares.shares] == NAMES
    assert [share.value for share in shares.shares] == pytest.approx(parts)
    assert sum(share.value for share in shares.shares) == pytest.approx(1)


def sections_of(comparison: rs.Comparison) -> list[Section]:
    return [section for group in comparison.groups for section in compared_sections(comparison, group)]


class PageText(HTMLParser):
    """Collects what a page says, by the section that it stands in."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text: dict[str, str] = {}
        self.tags: set[str] = set()
        self.section, self.skipped = "", False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.tags.add(tag)
        self.skipped = tag in ("script", "style")
        if tag == "section":
            self.section = named.get("id") or named.get("aria-label") or ""

    def handle_data(self, data):
        if not self.skipped:
            self.text[self.section] = self.text.get(self.section, "") + data


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{query} 0 {doc} {grade}\n" for query, docs in QRELS.items() for doc, grade in docs.items()]
    Path("qrels.txt").write_text("".join(rows))
    for name, run in (("old", OLD), ("new", NEW)):
        lines = [f"{query} Q0 {doc} {i} {-i} t\n" for query, docs in run.items() for i, doc in enumerate(docs, 1)]
        Path(f"{name}.run").write_text("".join(lines))
    Path("queries.jsonl").write_text("".join(json.dumps({"_id": q, "text": t}) + "\n" for q, t in QUERIES.items()))
    Path("docs.jsonl").write_text("".join(json.dumps({"_id": d, **fields}) + "\n" for d, fields in DOCS.items()))


# ---------------------------------------------------------------------------------------- a report of its own


def test_shares_are_those_of_the_diagnosis_and_add_up_to_1():
    diagnosis = rs.diagnose(QRELS, OLD, k=2)
    (shares,) = blocks_of(diagnosis.report(), Shares)
    check_shares(shares, OLD_PARTS)
    losses = diagnosis.losses
    parts = (losses.score, losses.order, losses.ranked_low, losses.not_retrieved, losses.not_answered)
    assert tuple(share.value for share in shares.shares) == parts


def test_the_answer_comes_first_and_the_first_step_is_about_it():
    report = rs.diagnose(QRELS, {"q1": ["x", "y", "r1"], "q2": ["x", "y", "r2"], "q3": ["r3"]}, k=2).report()
    answer = report.first_screen[0]
    assert isinstance(answer, VerdictBlock)
    # two queries lose all to ranking low, two have no answer: of equals, what is easier to regain
    assert answer.headline == "run loses most to relevant docs that it ranks below 2: a better ranking usually helps."
    steps = next(block for block in blocks_of(report, Bullets) if block.title == "What usually helps")
    assert steps.numbered
    assert steps.items[0].startswith("Found but ranked low (2 of 5 queries): the docs are there")


def test_where_nothing_is_wrong_there_are_no_steps():
    qrels = {f"q{i}": {"a": 1, "b": 1, "c": 1, "bad": 0} for i in range(60)}
    report = rs.diagnose(qrels, {query: ["a", "b", "c"] for query in qrels}).report()
    assert report.first_screen[0].headline == "These queries show nothing wrong with run."
    assert report.first_screen[0].mark == "fine"
    assert "What usually helps" not in [block.title for block in blocks_of(report, Bullets)]


def test_a_perfect_score_is_not_said_to_lose_anything():
    qrels = {f"q{i}": {f"r{j}": 1 for j in range(9)} for i in range(60)}
    diagnosis = rs.diagnose(qrels, {query: ["r0"] for query in qrels}, k=1)
    assert not diagnosis.is_fine  # under 60% of the relevant docs are retrieved
    assert diagnosis.losses.largest is None
    assert "0.00 of 0.00" not in diagnosis.summary
    assert diagnosis.report().first_screen[0].headline == "run loses nothing by nDCG@1; other things were found."


def test_queries_and_docs_are_shown_in_words():
    diagnosis = rs.diagnose(QRELS, OLD, k=2, queries=QUERIES, docs=DOCS)
    by_query = {one.query: one for one in diagnosis.worst}
    assert by_query["q4"].query_text == "why is the sky blue"
    assert [doc.title for doc in by_query["q4"].docs] == ["Noise", ""]
    assert [(one.doc, one.title, one.rank) for one in by_query["q3"].missed] == [("r3", "Threes & fours", 3)]
    examples = [one for finding in diagnosis.findings for one in finding.examples]
    assert {one.query: one.query_text for one in examples}["q5"] == "five"
    worst = next(block for block in blocks_of(diagnosis.report(), Bullets) if block.title.startswith("The worst"))
    nothing = "nDCG@2 0.0000, 0 of 1 relevant docs in the top 2"
    assert sorted(worst.items[:2]) == [
        f"“five” (query q5): {nothing}, as it has no answer",
        f"“why is the sky blue” (query q4): {nothing}; “Light is scattered” (r4) is not retrieved",
    ]
    assert rs.Diagnosis.from_json(diagnosis.to_json()) == diagnosis


def test_a_diagnosis_is_small_to_print():
    shown = repr(rs.diagnose(QRELS, OLD, k=2))
    assert shown.startswith("run: nDCG@2 is 0.3262 over 5 queries.")
    assert len(shown.splitlines()) < 15


@pytest.mark.parametrize("ending", ["html", "md", "tex", "txt"])
def test_files_by_their_endings(files, rankscope, ending):
    words = ("--queries", "queries.jsonl", "--docs", "docs.jsonl")
    done = rankscope("diagnose", "qrels.txt", "old.run", "--k", 2, *words, "-o", f"d.{ending}")
    assert (done.code, done.out) == (1, "")
    text = Path(f"d.{ending}").read_text("utf-8")
    for words in ("why is the sky blue", "Light is scattered", "What usually helps", "0.3262"):
        assert words in text
    formats = {"html": "html", "md": "markdown", "tex": "latex", "txt": "text"}
    printed = rankscope("diagnose", "qrels.txt", "old.run", "--format", formats[ending])
    assert (printed.code, "old" in printed.out) == (1, True)


def test_the_page(files, rankscope):
    rankscope(
        "diagnose",
        "qrels.txt",
        "old.run",
        "--k",
        2,
        "--queries",
        "queries.jsonl",
        "--docs",
        "docs.jsonl",
        "-o",
        "d.html",
    )
    page = PageText(Path("d.html").read_text("utf-8"))
    assert page.text["In short"].index("loses most to") < page.text["In short"].index("lost to order")
    assert "<b>three</b>" in page.text["In short"]  # what a file holds is text, not markup
    assert "Threes & fours" in page.text["section-the-worst-queries-doc-by-doc"]
    assert {"details", "h1", "h2"} <= page.tags


def test_long_tables_are_named_in_text_and_printed_with_details(files, rankscope):
    short = rankscope("diagnose", "qrels.txt", "old.run").out
    full = rankscope("diagnose", "qrels.txt", "old.run", "--details").out
    assert "judged bad" not in short
    assert "judged bad" in full


# ---------------------------------------------------------------------------------------- within other reports


def test_a_comparison_says_how_the_loss_moved():
    comparison = rs.compare(QRELS, {"old": OLD, "new": NEW}, "nDCG@2", queries=QUERIES, docs=DOCS)
    section = section_of(comparison_report(comparison), "What is still lost")
    old, new = blocks_of(section, Shares)
    check_shares(old, OLD_PARTS)
    check_shares(new, NEW_PARTS)
    moved = blocks_of(section, Paragraph)[0].text
    goes = "From old to new, nDCG@2 goes from 0.3262 to 0.6000"
    assert moved == f"{goes}: 0.2000 less is lost to ranking low, 0.0738 less is lost to order."
    worst = next(block for block in blocks_of(section, Bullets) if block.title.startswith("The worst"))
    assert {item.partition(" (")[0] for item in worst.items} == {"“five”", "“why is the sky blue”"}


def test_the_baseline_and_the_best_challenger_are_diagnosed():
    runs = {"base": OLD, "worse": {"q1": ["r1"]}, "best": NEW, "same": OLD}
    (section,) = sections_of(rs.compare(QRELS, runs, "nDCG@2"))
    assert [block.title for block in blocks_of(section, Shares)] == [
        "Where the nDCG@2 of base goes",
        "Where the nDCG@2 of best goes",
    ]
    assert blocks_of(section, Paragraph)[-1].text == "For same, worse: rankscope diagnose QRELS RUN."
    assert any(block.text.startswith("best loses most in") for block in blocks_of(section, Paragraph))
    (section,) = sections_of(rs.compare(QRELS, {"base": NEW, "other": OLD}, "nDCG@2"))
    assert any(block.text.startswith("base loses most in") for block in blocks_of(section, Paragraph))
    (section,) = sections_of(rs.compare(QRELS, runs, "nDCG@2", all_pairs=True))
    assert [block.title for block in blocks_of(section, Shares)] == ["Where the nDCG@2 of best goes"]


def test_each_language_has_its_own():
    languages = {query: {"language": "de" if query in ("q1", "q2") else "en"} for query in QRELS}
    sections = list(sections_of(rs.compare(QRELS, {"old": OLD, "new": NEW}, "nDCG@2", queries=languages)))
    assert [section.title.rpartition(", ")[2] for section in sections] == ["de", "en"]
    old, new = blocks_of(sections[0], Shares)
    assert old.shares[0].value == pytest.approx((1 + SECOND) / 2)
    assert new.shares[0].value == 1


def test_scores_alone_have_no_diagnosis():
    scores = rs.evaluate(QRELS, {"old": OLD, "new": NEW}, "nDCG@2", missing="zero")
    assert not list(sections_of(rs.compare_scores(scores)))
    comparison = rs.compare(QRELS, {"old": OLD, "new": NEW}, "nDCG@2")
    again = rs.Comparison.from_json(comparison.to_json())
    assert not list(sections_of(again))
    assert list(sections_of(again.with_rankings(comparison.rankings)))


def test_a_run_that_matches_nothing_is_not_diagnosed():
    runs = {"old": OLD, "odd": {query: ["nothing"] for query in QRELS}}
    comparison = rs.compare(QRELS, runs, "nDCG@2", anyway=True)
    (section,) = sections_of(comparison)
    assert [block.title for block in blocks_of(section, Shares)] == ["Where the nDCG@2 of old goes"]


def test_an_evaluation_has_it_for_few_runs_each_and_for_many_the_best(files, rankscope):
    words = ("--missing", "zero", "-m", "nDCG@2 R@2", "-o", "e.html")
    assert rankscope("evaluate", "qrels.txt", "old.run", "new.run", *words).code == 0
    name = "section-what-is-lost-and-what-usually-helps"
    section = PageText(Path("e.html").read_text("utf-8")).text[name]
    assert "Where the nDCG@2 of old goes" in section
    assert "Where the nDCG@2 of new goes" in section
    assert "0.3262" in section
    for copy in ("c1", "c2"):
        Path(f"{copy}.run").write_text(Path("old.run").read_text())
    assert rankscope("evaluate", "qrels.txt", "old.run", "new.run", "c1.run", "c2.run", *words).code == 0
    section = PageText(Path("e.html").read_text("utf-8")).text[name]
    assert "new loses most" in section
    assert "For old, c1, c2: rankscope diagnose QRELS RUN." in section or "c1, c2" in section


def test_plain_output_is_not_diagnosed(files, rankscope, monkeypatch):
    def fail(*_args, **_options):
        raise AssertionError("the diagnosis takes time that nobody asked for")

    monkeypatch.setattr(module, "diagnosis_of", fail)
    assert rankscope("evaluate", "qrels.txt", "old.run").code == 0
    assert rankscope("compare", "qrels.txt", "old.run", "new.run").code == 0
    assert "nobody asked" in rankscope("compare", "qrels.txt", "old.run", "new.run", "--details").err


PROJECT = """
measures = ["nDCG@2"]
[collections.sky]
docs = "corpus.jsonl"
queries = "queries.jsonl"
qrels = "qrels.txt"
"""


@pytest.mark.parametrize("n_systems", [1, 2])
def test_a_benchmark_has_it_with_the_words_of_its_collection(files, n_systems):
    rows = [
        {"_id": doc, "text": doc, **DOCS.get(doc, {})}
        for doc in ["bad", "x", "y", "z", *(f"r{i}" for i in range(1, 6))]
    ]
    Path("corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = ("old", "new")[:n_systems]
    systems = "".join(f'[systems.{name}]\ntype = "run"\npath = "{name}.run"\n' for name in names)
    Path("rankscope.toml").write_text(PROJECT + systems)
    report = benchmark.report_of(rs.run_project("rankscope.toml"))
    section = section_of(report, "What is")
    shares = blocks_of(section, Shares)
    check_shares(shares[0], OLD_PARTS)
    assert len(shares) == n_systems
    worst = next(block for block in blocks_of(section, Bullets) if block.title.startswith("The worst"))
    assert any(
        "“why is the sky blue” (query q4)" in item and "“Light is scattered” (r4)" in item for item in worst.items
    )


def test_weighted_means_are_told_apart():
    weights = {query: {"asked": 5 if query == "q1" else 1} for query in QRELS}
    comparison = rs.compare(QRELS, {"old": OLD, "new": NEW}, "nDCG@2", queries=weights, weights="asked")
    (section,) = sections_of(comparison)
    assert "each query counts the same, and is not weighted by asked" in section.intro


# ---------------------------------------------------------------------------------------- large runs


@pytest.mark.parametrize("make", [lambda path: path, lambda path: pl.DataFrame(rows_of(path))], ids=["text", "polars"])
@pytest.mark.parametrize("ties", ["trec", "given"])
def test_whole_lists_of_a_few_queries(files, make, ties):
    run, policies = load_run(make("old.run")), Policies(ties=ties)
    wanted = ["q3", "q5", "q1"]
    assert whole_lists(run, wanted, policies).docs == top_docs(run, wanted, policies, depth=None).docs
    assert whole_lists(run, wanted, policies).docs == (("x", "y", "r3"), (), ("r1",))


def rows_of(path: str) -> dict[str, list]:
    fields = [line.split() for line in Path(path).read_text().splitlines()]
    return {
        "query": [row[0] for row in fields],
        "doc": [row[2] for row in fields],
        "rank": [int(row[3]) for row in fields],
        "score": [float(row[4]) for row in fields],
    }


def test_a_large_run_is_diagnosed_alike(files, monkeypatch):
    small = rs.diagnose("qrels.txt", "old.run", k=2)
    monkeypatch.setattr(module, "MANY_ROWS", 0)
    assert rs.diagnose("qrels.txt", "old.run", k=2) == small


def test_the_report_is_the_same_from_the_record():
    diagnosis = rs.diagnose(QRELS, OLD, k=2, queries=QUERIES, docs=DOCS)
    assert report_of(rs.Diagnosis.from_json(diagnosis.to_json())) == diagnosis.report()
