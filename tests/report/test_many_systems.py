"""The page of a comparison: facts of two systems; many of them in order, folded, and not too heavy."""

import json
import math
import re

import numpy as np
import pytest

import rankscope as rs
from rankscope import light
from rankscope.align.hits import Counts
from rankscope.cli.main import main
from rankscope.comparison.compare import compare_scores
from rankscope.comparison.records import Comparison
from rankscope.experiment.project import load_project
from rankscope.experiment.runner import run_project
from rankscope.measures.scores import QrelsInfo, RunScores, Scores
from rankscope.report import document as doc
from rankscope.report.benchmark import report_of as benchmark_report_of
from rankscope.report.comparison import report_of
from rankscope.report.comparison_pair import share_words
from rankscope.report.evaluation_report import report_of as evaluation_report_of
from rankscope.report.render import render
from rankscope.report.render.terminal import to_text


def simulated(n_systems, n_queries):
    rng = np.random.default_rng(1)
    hard, ids = rng.beta(0.8, 1.2, n_queries), tuple(f"q{i:05}" for i in range(n_queries))
    runs = []
    for i in range(n_systems):
        values = np.clip(hard + rng.normal(0.002 * ((7 * i) % n_systems), 0.15, n_queries), 0, 1)[:, None]
        runs.append(
            RunScores(
                name=f"system-{i:03}", query_ids=ids, measures=("nDCG@10",), values=values, undefined=np.isnan(values),
                answered=np.ones(n_queries, dtype=bool), counts=Counts(n_queries, 0, 0, 0, 0, 0), aggregates=("mean",),
                lower_is_better=frozenset(),
            )
        )  # fmt: skip
    return Scores(tuple(runs), qrels=QrelsInfo(n_queries), policies={})


def blocks_of(report, kind):
    return [block for block in report.first_screen if isinstance(block, kind)]


def rated(**columns):
    """Return scores of some systems, given query by query."""
    scores = simulated(len(columns), len(next(iter(columns.values()))))
    return Scores(
        tuple(
            RunScores(
                **{field: getattr(run, field) for field in run.__record_fields__}
                | {"name": name, "values": np.array(values)[:, None]}
            )
            for run, (name, values) in zip(scores.values(), columns.items(), strict=True)
        ),
        qrels=scores.qrels,
        policies={},
    )


def test_of_several_challengers_the_queries_that_the_best_one_changes_are_on_the_page():
    base, low = [0.5] * 20, [0.1, 0.2] * 10
    mixed = [0.5 - 0.01 * i for i in range(7)] + [0.9] * 13
    comparison = compare_scores(rated(base=base, low=low, mixed=mixed), n_resamples=199)
    section = report_of(comparison).sections[0]
    assert section.title == "Queries that changed, mixed vs base"
    assert not section.folded
    losses, gains = section.blocks
    assert losses.title == "Largest losses: 5 of 6 queries that got worse"
    assert [(one.query, round(one.after - one.before, 2)) for one in losses.queries] == [
        ("q00006", -0.06), ("q00005", -0.05), ("q00004", -0.04), ("q00003", -0.03), ("q00002", -0.02)
    ]  # fmt: skip
    assert len(gains.queries) == 5
    assert not any(one.sides for block in section.blocks for one in block.queries)
    titles = [part.title for part in report_of(comparison).sections if part.folded]
    assert section.intro == f"Both rankings of each query are further down, in “{titles[0]}”."


def test_that_a_baseline_is_kept_as_all_others_are_worse_is_no_bad_news():
    base, low, lower = [0.9, 0.8] * 10, [0.3, 0.4, 0.2, 0.3] * 5, [0.1, 0.0, 0.2, 0.1] * 5
    (answer,) = blocks_of(report_of(compare_scores(rated(base=base, low=low, lower=lower))), doc.VerdictBlock)
    assert answer.headline == "Keep base: none of the 2 others is better on this set."
    assert answer.mark == "fine"


def test_facts_of_two_systems_are_counted_by_hand():
    scores = simulated(2, 20)
    a, b = [0.0] * 3 + [0.5] * 17, [0.0] + [0.25] * 2 + [0.5] * 12 + [0.75] * 5
    runs = tuple(
        RunScores(
            **{**{name: getattr(run, name) for name in run.__record_fields__}, "values": np.array(column)[:, None]}
        )
        for run, column in zip(scores.values(), (a, b), strict=True)
    )
    report = report_of(compare_scores(Scores(runs, qrels=scores.qrels, policies={}), n_resamples=199))
    (facts,) = blocks_of(report, doc.Facts)
    values = {fact.label: (fact.value, fact.context) for fact in facts.facts}
    # means: 17 * 0.5 / 20 = 0.425 and (2 * 0.25 + 12 * 0.5 + 5 * 0.75) / 20 = 0.5125; 7 queries rise, none falls
    means, share = values["nDCG@10, system-000 → system-001"]
    assert [float(text) for text in means.split(" → ")] == [
        pytest.approx(0.425, abs=1e-3),
        pytest.approx(0.5125, abs=1e-3),
    ]
    assert share == "21% higher"
    assert values["Queries won / tied / lost"] == ("7 / 13 / 0", "of 20, by system-001")
    assert values["Nothing useful in the first 10"] == ("3 → 1", "of 20 queries")
    assert len(facts.facts) <= 5


def test_a_small_rise_is_not_said_to_be_of_0_percent():
    shares = {0.21: "21%", 0.01: "1%", 0.0043: "0.4%", 0.0094: "0.9%", 0.0096: "1%", 0.0004: "less than 0.1%"}
    assert {share: share_words(share) for share in shares} == shares


@pytest.mark.parametrize("all_pairs", [False, True])
def test_pairs_are_folded_and_the_best_come_first(all_pairs):
    comparison = compare_scores(simulated(21, 60), all_pairs=all_pairs, n_resamples=199)
    report, board = report_of(comparison), [place.system for place in comparison.groups[0].leaderboard]
    pairs = [section for section in report.sections if " against " in section.title]
    assert len(pairs) == 8
    assert all(section.folded for section in pairs)
    named = [set(section.title.split(" against ")) for section in pairs]
    if all_pairs:
        assert named == [{board[0], other} for other in board[1:9]]
    else:
        others = [name for name in board if name != "system-000"]
        assert named == [{name, "system-000"} for name in others[:8]]
    (counts,) = blocks_of(report, doc.VerdictCounts)
    assert sum(len(group.names) for group in counts.groups) == 20
    (forest,) = blocks_of(report, doc.Estimates)
    assert [row.name for row in forest.estimates] == board
    own = [row for row in forest.estimates if row.value is None]
    assert [(row.name, row.verdict) for row in own] == [
        (board[0], "best mean") if all_pairs else ("system-000", "baseline")
    ]
    assert next(section for section in report.sections if section.title == "For the specialist").folded


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_all_pairs_are_read_in_one_direction_the_better_mean_against_the_lower(lower_is_better):
    scores = simulated(7, 60)
    if lower_is_better:
        runs = tuple(light.replace(run, lower_is_better=frozenset(run.measures)) for run in scores.values())
        scores = light.replace(scores, runs=runs)
    means = {name: float(run.values.mean()) for name, run in scores.items()}
    ranked = sorted(means, key=means.get, reverse=not lower_is_better)
    found = compare_scores(scores, all_pairs=True, n_resamples=199)
    report = report_of(found)
    expected = [(better, lower) for i, better in enumerate(ranked) for lower in ranked[i + 1 :]]
    sections = [section for section in report.sections if " against " in section.title]
    assert [tuple(section.title.split(" against ")) for section in sections] == expected[:8]
    verdicts = next(block for block in blocks_of(report, doc.TableBlock) if block.title == "Verdicts").table
    assert [(row[0].text, row[1].text) for row in verdicts.rows] == expected
    assert [(pair.b, pair.a) for pair in found.groups[0].compared] == expected
    for section, (better, lower) in zip(sections, expected, strict=False):
        verdict, measures = section.blocks[0], section.blocks[1].table
        assert f" · {better} vs {lower} · " in verdict.subject
        assert measures.header[1:3] == (lower, better)
        assert float(measures.rows[0][3].raw) == pytest.approx(means[better] - means[lower])
        assert any(getattr(block, "text", "").startswith(f"{better} wins ") for block in section.blocks)


def test_the_direction_of_pairs_changes_signs_and_nothing_else():
    scores = simulated(7, 60)
    by_score, as_given = (
        compare_scores(scores, all_pairs=True, order=order, n_resamples=999) for order in ("score", "given")
    )
    names = list(scores)
    assert [(pair.a, pair.b) for pair in as_given] == [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    turned = {(pair.b, pair.a) for pair in by_score} & {(pair.a, pair.b) for pair in as_given}
    assert 0 < len(turned) < 21
    ahead = {"better": "worse", "probably_better": "probably_worse"}
    for pair in by_score:
        is_turned = (pair.b, pair.a) in turned
        given = as_given[(pair.b, pair.a) if is_turned else (pair.a, pair.b)]
        code = pair.verdict.code
        assert given.verdict.code == (ahead.get(code, code) if is_turned else code)
        assert given.p.adjusted == pair.p.adjusted
        assert given.delta == pytest.approx(-pair.delta if is_turned else pair.delta)
        ends = (-pair.ci.high, -pair.ci.low) if is_turned else (pair.ci.low, pair.ci.high)
        assert (given.ci.low, given.ci.high) == pytest.approx(ends)
    assert [(row.rank, row.system) for row in by_score.groups[0].leaderboard] == [
        (row.rank, row.system) for row in as_given.groups[0].leaderboard
    ]


def test_each_language_has_its_own_direction():
    qrels = {f"{code}{i}": {"d": 1} for code in ("de", "en") for i in range(20)}
    runs = {name: {q: ["d"] if q.startswith(name) else ["x", "d"] for q in qrels} for name in ("de", "en")}
    found = rs.compare(qrels, runs, "RR", all_pairs=True, queries={q: {"language": q[:2]} for q in qrels})
    assert [(pair.group, pair.b, pair.verdict.code) for pair in found] == [
        ("de", "de", "better"),
        ("en", "en", "better"),
    ]
    assert found["en", "de"].group == "de"
    with pytest.raises(rs.errors.UnknownNameError, match="the other way round"):
        found["de", "en"]


def test_the_contents_have_one_entry_for_all_pairs():
    for n_systems, folded in ((3, False), (6, True)):
        comparison = compare_scores(simulated(n_systems, 40), n_resamples=199)
        contents = re.search(r"<nav.*?</nav>", render(report_of(comparison), "html"), flags=re.DOTALL)[0]
        outer = re.sub(r"<details>.*?</details>", "", contents)
        assert contents.count(" against system-000</a>") == n_systems - 1
        assert outer.count(" against system-000</a>") == (0 if folded else n_systems - 1)
        assert ("<summary>Pairs, the best first</summary>" in contents) is folded


def test_docs_to_judge_are_not_listed_without_end(tmp_path):
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"q{i} 0 d{i} 1\nq{i} 0 n{i} 0\n" for i in range(30)))
    rows = {"first": "q{0} Q0 d{0} 1 3 r\nq{0} Q0 x{0} 2 2 r\n", "second": "q{0} Q0 y{0} 1 3 r\nq{0} Q0 d{0} 2 2 r\n"}
    for name, lines in rows.items():
        (tmp_path / f"{name}.run").write_text("".join(lines.format(i) for i in range(30)))
    comparison = rs.compare(qrels, [tmp_path / "first.run", tmp_path / "second.run"], "nDCG@10", n_resamples=199)
    (pair,) = comparison
    n_docs = len(pair.settle)
    assert n_docs > 20
    blocks = (block for section in report_of(comparison).sections for block in section.blocks)
    (listed,) = (
        block for block in blocks if getattr(block, "title", "").endswith("would settle it for certain, best first")
    )
    assert listed.title.startswith(f"{n_docs} judgments")
    assert [row[1].text for row in listed.table.rows] == [doc.doc for doc in pair.settle[:20]]
    assert listed.table.notes == (
        "the first 20; rankscope compare --settle FILE.csv writes all, to be judged and given back",
    )


def test_differences_from_the_best_system_are_those_of_the_pairs():
    comparison = compare_scores(simulated(6, 60), all_pairs=True, n_resamples=199)
    top = comparison.groups[0].leaderboard[0].system
    (forest,) = blocks_of(report_of(comparison), doc.Estimates)
    means = {name: float(run.values.mean()) for name, run in comparison.scores.items()}
    for row in forest.estimates:
        if row.name != top:
            assert row.value == pytest.approx(means[row.name] - means[top])
            assert row.low < row.value < row.high
            assert row.mark not in ("better", "probably_better")


def test_scores_of_very_many_systems_are_shown_as_their_spread(monkeypatch):
    monkeypatch.setattr("rankscope.report.comparison.MANY_SCORES", 200)
    comparison = compare_scores(simulated(6, 40), baseline="system-002", n_resamples=199)
    section = next(section for section in report_of(comparison).sections if section.title == "Every query")
    table, best = section.blocks[0].table, comparison.groups[0].leaderboard[0].system
    assert table.header == ("query", best, "system-002", "lowest of all", "median of all", "highest of all")
    assert "--per-query writes the scores of every system" in section.intro
    scores = np.column_stack([run.values[:, 0] for run in comparison.scores.values()])
    expected = [scores.min(axis=1), np.median(scores, axis=1), scores.max(axis=1)]
    for i, row in enumerate(table.rows):
        for cell, column in zip(row[3:], expected, strict=True):
            assert math.isclose(float(cell.raw), column[i])


def test_the_page_of_an_evaluation_of_very_many_runs_shows_the_best_and_the_spread(monkeypatch):
    monkeypatch.setattr("rankscope.report.evaluation_report.MANY_SCORES", 200)
    scores = simulated(6, 40)
    section = next(one for one in evaluation_report_of(scores).sections if one.title == "Every query")
    table, values = section.blocks[0].table, np.column_stack([run.values[:, 0] for run in scores.values()])
    best = int(np.argmax(values.mean(axis=0)))
    assert table.header == ("query", f"system-{best:03}", "lowest of all", "median of all", "highest of all")
    assert table.notes[0] == f"of 6 runs this is system-{best:03}, and how far all of them spread"
    expected = [values[:, best], values.min(axis=1), np.median(values, axis=1), values.max(axis=1)]
    for i, row in enumerate(table.rows):
        for cell, column in zip(row[1:], expected, strict=True):
            assert math.isclose(float(cell.raw), column[i])


def test_of_very_many_systems_a_short_text_has_the_first_and_says_where_the_others_are(monkeypatch):
    monkeypatch.setattr("rankscope.report.comparison.TOO_MANY_ROWS", 70)
    comparison = compare_scores(simulated(90, 40), all_pairs=True, n_resamples=199)
    best = comparison.groups[0].leaderboard[0].system
    short = to_text(report_of(comparison, with_figures=False, every_pair=False), details=False)
    assert len(short.splitlines()) < 200
    assert f"Of 4,005 verdicts the table has the first 70 of the 89 against {best}" in " ".join(short.split())
    assert "the first 50 of 90 systems; --details prints all of them" in short
    assert "4,005 pairs are in full in the JSON record, and as a row each in the CSV table" in " ".join(short.split())
    page = report_of(comparison)
    (board,) = (b for s in page.sections for b in s.blocks if getattr(b, "title", "") == "Leaderboard")
    assert len(board.table.rows) == 90


def test_of_very_many_pairs_those_with_the_best_system_list_queries_and_the_record_says_so(monkeypatch):
    monkeypatch.setattr("rankscope.comparison.groups.LISTED_PAIRS", 10)
    comparison = compare_scores(simulated(6, 40), all_pairs=True, n_resamples=199)
    best = comparison.groups[0].leaderboard[0].system
    for pair in comparison:
        assert (pair.worst is not None) == (best in (pair.a, pair.b))
        assert len(pair.queries.rows) == 40
    assert any("only those with the best system list the queries" in note for note in comparison.notes)
    assert Comparison.from_json(comparison.to_json()) == comparison
    usual = compare_scores(simulated(4, 40), all_pairs=True, n_resamples=199)
    assert all(pair.worst is not None for pair in usual)
    assert not any("list the queries" in note for note in usual.notes)


@pytest.mark.slow
def test_a_page_of_200_systems_on_5000_queries_is_not_heavy():
    comparison = compare_scores(simulated(200, 5_000), baseline="system-100", n_resamples=999)
    assert len(render(report_of(comparison), "html").encode()) < 4_000_000
    assert len(render(evaluation_report_of(comparison.scores), "html").encode()) < 4_000_000


WORDS = ("heart", "blood", "flow", "boundary", "layer", "supersonic", "wing", "pressure", "treatment", "children")


def write_set(folder, n_systems, n_queries):
    """Write qrels, runs with about half of their docs judged, and the words of queries and docs."""
    rng = np.random.default_rng(3)

    def text(n):
        return " ".join(rng.choice(WORDS, n))

    docs = [f"d{i:05}" for i in range(5_000)]
    judged = {f"q{i:04}": rng.choice(docs, 40, replace=False) for i in range(n_queries)}
    with (folder / "queries.jsonl").open("w") as stream:
        stream.writelines(json.dumps({"_id": query, "text": text(8)}) + "\n" for query in judged)
    with (folder / "docs.jsonl").open("w") as stream:
        stream.writelines(json.dumps({"_id": doc, "title": text(8), "text": text(80)}) + "\n" for doc in docs)
    with (folder / "qrels.txt").open("w") as stream:
        for query, its_docs in judged.items():
            stream.writelines(f"{query} 0 {doc} {i % 3}\n" for i, doc in enumerate(its_docs))
    for system in range(n_systems):
        with (folder / f"system{system:02}.run").open("w") as stream:
            for query, its_docs in judged.items():
                found = its_docs[rng.random(40) < 0.3 + 0.3 * system / n_systems]
                ranked = dict.fromkeys(rng.permutation([*found, *rng.choice(docs, 10)]).tolist())
                stream.writelines(f"{query} Q0 {doc} {i} {100 - i} r\n" for i, doc in enumerate(list(ranked)[:20], 1))


@pytest.mark.slow
def test_pages_of_50_systems_on_1000_queries_are_not_heavy(tmp_path):
    write_set(tmp_path, 50, 1_000)
    qrels, *runs = map(str, (tmp_path / "qrels.txt", *sorted(tmp_path.glob("*.run"))))
    words = ("--queries", str(tmp_path / "queries.jsonl"), "--docs", str(tmp_path / "docs.jsonl"))
    for command in (("evaluate",), ("compare",), ("compare", "--all-pairs")):
        for given, most in (((), 940_000 if "--all-pairs" in command else 1_000_000), (words, 3_000_000)):
            page = tmp_path / "page.html"
            main([command[0], qrels, *runs, *command[1:], *given, "-o", str(page)])
            assert page.stat().st_size < most, (command, given)


RANDOM_SYSTEM = """
import random


def found(query, run):
    rng = random.Random(f"{query.id} {run}")
    own = [f"d{(int(query.id[1:]) * 7 + i) % 600}" for i in range(30)]
    return rng.sample(own, 20)
"""


@pytest.mark.slow
def test_the_page_of_a_run_on_three_languages_with_texts_is_not_heavy(tmp_path):
    rng = np.random.default_rng(5)
    collection, languages, names = tmp_path / "texts", ("de", "en", "fr"), [f"system{i}" for i in range(9)]
    (collection / "qrels").mkdir(parents=True)
    docs = [
        {"_id": f"d{i}", "title": " ".join(rng.choice(WORDS, 8)), "text": " ".join(rng.choice(WORDS, 80))}
        for i in range(600)
    ]
    queries = [{"_id": f"q{i}", "text": " ".join(rng.choice(WORDS, 8))} for i in range(100)]
    for name, rows in (("corpus", docs), ("queries", queries)):
        (collection / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged = "".join(f"q{i}\td{(i * 7 + j) % 600}\t{j % 3}\n" for i in range(100) for j in range(0, 30, 2))
    (collection / "qrels/test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    functions = "".join(f"def {name}(query): return found(query, {name!r})\n" for name in names)
    (tmp_path / "random_systems.py").write_text(RANDOM_SYSTEM + functions)
    tables = [f'[collections.{code}]\npath = "texts"\nattributes = {{ language = "{code}" }}\n' for code in languages]
    how = 'type = "python"\nrecords = true\n'
    tables += [f'[systems.{name}]\n{how}function = "random_systems:{name}"\n' for name in names]
    (tmp_path / "rankscope.toml").write_text("".join(tables))
    page = render(benchmark_report_of(run_project(load_project(tmp_path))), "html")
    assert len(page.encode()) < 3_000_000
    lists = page.count('<div class="sides">')
    assert lists == 60, "5 losses and 5 gains of the 2 best pairs on each of 3 languages"


def test_of_very_many_queries_the_first_have_a_row_each(monkeypatch):
    monkeypatch.setattr("rankscope.report.comparison.MOST_QUERIES", 30)
    comparison = compare_scores(simulated(2, 40), all_pairs=True, n_resamples=199)
    section = next(section for section in report_of(comparison).sections if section.title == "Every query")
    assert [row[0].text for row in section.blocks[0].table.rows] == list(comparison.groups[0].query_ids[:30])
    assert section.intro.startswith("Of 40 queries these are the first 30; evaluate --per-query writes")
    # where it is only named its rows would be made for nothing
    short = next(one for one in report_of(comparison, every_pair=False).sections if one.title == "Every query")
    assert not short.blocks[0].table.rows
    text = to_text(report_of(comparison, every_pair=False), details=False)
    assert "Every query," in text.partition("Not shown: ")[2]
