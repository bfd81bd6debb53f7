"""Reports made by hand: invented numbers, in the shapes that comparisons of 2, 7 and 50 systems have."""

import random

from rankscope.analysis.side_by_side import ShownDoc, ShownList, SideBySide
from rankscope.report.document import (
    Bullets,
    ChangedQueries,
    ChangedQuery,
    Estimate,
    Estimates,
    Fact,
    Facts,
    Figure,
    Paragraph,
    Report,
    Section,
    Share,
    Shares,
    SideBySideBlock,
    Signal,
    Signals,
    TableBlock,
    VerdictBlock,
    VerdictCount,
    VerdictCounts,
    marked,
)
from rankscope.report.table import Cell, Table

FOOTER = (
    ("seed", "0"),
    ("qrels", "sha256:ab12cd34ef56ab12cd34ef56ab12cd34ef56ab12cd34ef56ab12cd34ef56ab12"),
    ("runs", "sha256:cd34ef56ab12cd34ef56ab12cd34ef56ab12cd34ef56ab12cd34ef56ab12cd34"),
    ("rankscope", "0.1.0"),
    ("looks", "7th comparison on this query set"),
    ("command", "rankscope compare qrels.txt bm25.run dense-v3.run --primary nDCG@10 --margin 0.01 -o report.html"),
)
BOUNDS = "If all of those were useless the gain is still +0.042; if all were relevant it is +0.13. The direction does not depend on them."
NASTY = (
    '<script>alert("1")</script> & co',
    "a|b_c 50% #1 $x {y} ~z ^w \\n [link](http://example.org) `code` **b**",
    "&lt;b&gt;",
)
LONG = "sentence-transformers/multi-qa-mpnet-base-dot-v1_with_a_name_that_does_not_end-rerank@200+rrf(k=60)"
WIDE = (
    "日本語検索システム・第三版",
    "محرك البحث الدلالي",
    "חיפוש היברידי",
    "поиск-по-смыслу",
    "Ελληνικά α",
    "naïve Ærøskøbing",
    "🔎 emoji",
)


def chart(number=0, *, width=720, n_bytes=0):
    """Return a small chart, as large a file as asked for."""
    bars = "".join(
        f'<rect x="{60 + i * 40}" y="{190 - i * 9}" width="24" height="{i * 9 + 10}" fill="currentColor" opacity=".5"/>'
        for i in range(16)
    )
    body = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 240" role="img" aria-labelledby="c{number}-t">'
        f'<title id="c{number}-t">Chart {number}</title>{bars}'
        '<line x1="50" y1="200" x2="700" y2="200" stroke="currentColor"/>'
        '<text x="50" y="225" font-size="20" fill="currentColor">query, by difference</text>'
    )
    filler = '<path d="M0 0L1 1" fill="none"/>'
    return body + filler * max(0, (n_bytes - len(body)) // len(filler)) + "</svg>"


def two_systems(a="bm25", b="dense-v3"):
    """Return the report on two systems of the mock-up in the statistics guide."""
    verdict = VerdictBlock(
        headline=f"{b} is better.",
        reason="Its nDCG@10 is higher by 0.042 (95% CI 0.011 to 0.073), more than your margin of 0.01.",
        mark="better",
        subject=f"nDCG@10 · {b} vs {a} (baseline) · TREC-DL20 · 54 queries",
        cautions=(f"12% of its top 10 is unjudged ({a}: 3%). {BOUNDS}",),
    )
    estimates = Estimates(
        "Difference in nDCG@10",
        (Estimate(f"{b} \N{MINUS SIGN} {a}", 0.042, 0.011, 0.073, "+0.042 (95% CI +0.011 to +0.073)"),),
        margin=0.01,
    )
    measures = Table(
        ["measure", a, b, "Δ", "95% CI", "p (adj)", "d_z", "W / T / L"],
        [
            row(
                "nDCG@10, primary",
                "0.493",
                "0.535",
                "+0.042",
                "[+0.011, +0.073]",
                "0.009",
                "0.37",
                "33 / 6 / 15",
                best=2,
            ),
            row("RR@10", "0.82", "0.85", "+0.03", "[-0.03, +0.09]", "explor.", "0.14", "11 / 36 / 7", best=2),
            row("R@100", "0.75", "0.79", "+0.04", "[+0.02, +0.06]", "explor.", "0.54", "30 / 14 / 10", best=2),
        ],
        notes=(
            "p: sign-flip permutation, B = 9,999; one comparison in the family, so nothing to adjust; paired t agrees.",
        ),
    )
    return Report(
        title=f"{b} vs {a}",
        first_screen=(verdict, estimates, trust(), TableBlock("All measures", measures)),
        sections=(
            Section(
                "Who won where",
                (
                    strata(),
                    Figure(
                        "Differences per query",
                        chart(1),
                        f"{b} wins 33 of 54 queries; the largest gain is +0.77, the largest loss -0.61.",
                    ),
                    extremes(),
                ),
            ),
            Section(
                "How sure is that?",
                (
                    Paragraph(
                        "Smallest difference this set can find (80% power): 0.044. To find 0.02 you need about 255 queries."
                    ),
                    Paragraph(
                        "Chance to be better by more than 0.01: 98%; equivalent: 2%; worse: 0% (Bayesian bootstrap)."
                    ),
                ),
                intro="The interval is the t interval of the per-query differences.",
            ),
            Section("Every query", (TableBlock("Scores per query", per_query([a, b], 54), folded=True),)),
        ),
        footer=FOOTER,
    )


def many_systems(names, n_queries=60, *, charts=3, chart_bytes=0):
    """Return a report on many systems against the first."""
    rng = random.Random(7)
    deltas = [rng.uniform(-0.05, 0.08) for _ in names[1:]]
    verdicts = tuple(
        VerdictBlock(
            headline=words,
            reason=f"Its nDCG@10 differs by {delta:+.3f} (simultaneous 95% CI {delta - 0.03:+.3f} to {delta + 0.03:+.3f}).",
            mark=mark,
            subject=f"{name} vs {names[0]}",
            cautions=("Fewer than 25 queries.",) if i == 1 else (),
        )
        for i, (name, delta) in enumerate(list(zip(names[1:], deltas, strict=True))[:3])
        for words, mark in [
            (f"{name} is better.", "better")
            if delta > 0.04
            else (f"{name} is worse.", "worse")
            if delta < -0.03
            else ("Cannot tell.", "unsure")
        ]
    )
    estimates = Estimates(
        f"Difference in nDCG@10 to {names[0]}",
        tuple(
            Estimate(
                name, delta, delta - 0.03, delta + 0.03, f"{delta:+.3f} ({delta - 0.03:+.3f} to {delta + 0.03:+.3f})"
            )
            for name, delta in zip(names[1:], deltas, strict=True)
        ),
        margin=0.01,
    )
    scores = Table(
        ["system", "nDCG@10", "RR@10", "R@100", "P@5", "AP", "judged@10", "latency, ms"],
        [
            [
                Cell(f"{i + 1} {name}"),
                Cell(marked(f"{0.5 + (deltas[i - 1] if i else 0):.4f}", range(1, i + 1)[:4]), best=i == 1),
                *(Cell(f"{rng.random():.4f}", raw=repr(rng.random())) for _ in range(6)),
            ]
            for i, name in enumerate(names)
        ],
        notes=(
            "A superscript number: statistically significantly better than the system of that number (randomised Tukey HSD, 5%).",
        ),
    )
    figures = tuple(
        Figure(
            f"Chart {i} of many",
            chart(i, n_bytes=chart_bytes),
            f"What chart {i} shows, in one sentence with {i * 3} numbers.",
        )
        for i in range(charts)
    )
    return Report(
        title=f"{len(names)} systems on one collection",
        first_screen=(*verdicts, estimates, trust(), TableBlock("Systems", scores)),
        sections=(
            Section("Where they differ", (strata(), *figures)),
            Section(
                "Every query",
                (TableBlock("nDCG@10 per query", per_query(names, n_queries), folded=True),),
                intro="One row per query, one column per system.",
            ),
        ),
        footer=FOOTER,
    )


def trust():
    """Return the answers to whether the result can be trusted, one of each kind."""
    return Signals(
        "Can I trust it?",
        (
            Signal("queries", "fine", "54 queries; the smallest difference this set can find is 0.044 (80% power)."),
            Signal("judged@10", "look", "88% against 97%: 41 unjudged docs would settle the bounds."),
            Signal("tests", "fails", "Sign-flip permutation and paired t fall on different sides of 5%."),
            Signal("looks", "note", "This is the 7th comparison on this query set."),
        ),
    )


def strata():
    """Return a table by stratum."""
    rows = [
        row("keyword", "21", "-0.02", "[-0.06, +0.02]", "7 / 4 / 10"),
        row("question", "33", "+0.08", "[+0.04, +0.12]", "26 / 2 / 5"),
    ]
    return TableBlock("By stratum (exploratory, BH)", Table(["stratum", "n", "Δ", "95% CI", "W / T / L"], rows))


def extremes():
    """Return the queries that moved most."""
    return Bullets("Largest changes", ("Losses: q1037 -0.61 · q42 -0.48 · q9 -0.40", "Gains: q7 +0.77 · q88 +0.66"))


def per_query(names, n_queries):
    """Return scores per query."""
    rng = random.Random(3)
    rows = [[Cell(f"q{1000 + i}"), *(Cell(f"{rng.random():.4f}") for _ in names)] for i in range(n_queries)]
    return Table(["query", *names], rows)


def row(*texts, best=None):
    """Return a row of cells."""
    return [Cell(text, best=i == best) for i, text in enumerate(texts)]


def nasty():
    """Return a report in which names could be taken for markup, or have letters that are not Latin."""
    return many_systems(["bm25", *NASTY, LONG, *WIDE])


VERDICTS = (
    ("hybrid-rerank", 0.080, 0.044, 0.117, "better", "better"),
    ("hybrid", 0.042, 0.002, 0.083, "probably_better", "probably better"),
    ("fields", 0.003, 0.000, 0.007, "same", "practically the same"),
    ("dense", -0.022, -0.070, 0.025, "unsure", "cannot tell"),
    ("multilingual", -0.063, -0.112, -0.014, "unsafe", "not safe to call"),
    ("synonyms", -0.071, -0.110, -0.004, "probably_worse", "probably worse"),
    (LONG, -0.134, -0.148, -0.120, "worse", "worse"),
)


def every_block(text="palpitations at night, need SVT ablation"):
    """Return a report on several systems in which every kind of block stands."""
    names = [row[0] for row in VERDICTS]
    sides = two_lists(text)
    changed = [
        ChangedQuery("q17", text, 0.37, 0.93, "better", "3 relevant docs enter the first 4", sides),
        ChangedQuery("q4", "my toddler walks on tiptoes", 0.48, 1.0, "better"),
        ChangedQuery("q9", "", 0.14, 0.58, "better", "the first relevant doc rose from 8 to 1"),
    ]
    worse = [
        ChangedQuery(
            "q31",
            "Kinderorthopäde Hüfte, bitte auf Deutsch",
            0.45,
            0.15,
            "worse",
            "a relevant doc fell from 1 to 5",
            sides,
        ),
        ChangedQuery("q32", "Dr. P. dermatology Harrogate", 0.93, 0.66, "worse", "the doctor named is at 4, was 1"),
    ]
    systems = Table(
        [
            "system",
            "verdict",
            "nDCG@10",
            "Δ",
            "95% CI",
            "p (adj.)",
            "d_z",
            "W / T / L",
            "judged@10",
            "RR@10",
            "Recall@100",
        ],
        [
            row(
                name,
                words,
                f"{0.555 + value:.4f}",
                f"{value:+.4f}",
                f"[{low:+.3f}, {high:+.3f}]",
                "0.0002",
                "0.49",
                "142 / 33 / 65",
                "97%",
                "0.724",
                "0.855",
                best=2 if value == 0.08 else None,
            )
            for name, value, low, high, _, words in VERDICTS
        ],
        n_name_columns=2,
        notes=("Δ against algorithmic, n = 240; verdict, interval and p come from one critical value.",),
        keep=("nDCG@10", "verdict"),
    )
    first = (
        VerdictBlock(
            "Use hybrid-rerank: it is better than algorithmic, and nothing else is better than it.",
            "nDCG@10 rises from 0.555 to 0.635, by 0.080 (95% CI 0.044 to 0.117), more than the margin of 0.01.",
            "better",
            "nDCG@10 · 8 systems · 240 queries",
            ("29% of the first ten results of multilingual are unjudged.",),
        ),
        Facts(
            "",
            (
                Fact("nDCG@10", "0.555 → 0.635", "14% higher"),
                Fact("Difference", "+0.080", "95% CI 0.044 to 0.117"),
                Fact("W / T / L", "142 / 33 / 65", "of 240 queries"),
                Fact("Nothing relevant in ten", "19 → 7", "queries"),
                Fact("judged@10", "97%"),
            ),
        ),
        VerdictCounts(
            "Against algorithmic",
            (
                *(VerdictCount(mark, words, (name,)) for name, *_, mark, words in VERDICTS),
                VerdictCount("note", "left out", ()),
            ),
        ),
        Estimates(
            "Difference from algorithmic in nDCG@10",
            tuple(
                Estimate(name, value, low, high, f"{value:+.3f} ({low:+.3f} to {high:+.3f})", mark, words)
                for name, value, low, high, mark, words in VERDICTS
            ),
            margin=0.01,
        ),
    )
    sections = (
        Section(
            "Which searches changed", (ChangedQueries("Better", tuple(changed)), ChangedQueries("Worse", tuple(worse)))
        ),
        Section("How sure is that?", (trust(), Paragraph("Smallest difference this set can find (80% power): 0.029."))),
        Section("All systems", (TableBlock("Systems", systems), Figure("Chart", chart(3), "What the chart shows."))),
        Section(
            "What is still lost",
            (
                Shares(
                    "Of 1, hybrid-rerank reaches 0.636",
                    (
                        Share("reached", 0.636),
                        Share("lost to order", 0.142, "The right docs in the first ten, in the wrong order."),
                        Share("ranked too low", 0.126, "Found, but at 11 to 100."),
                        Share("not found", 0.096, "Not among the first 100."),
                    ),
                ),
                Bullets(
                    "What to do next", ("Release it behind a switch.", "Judge 46 docs of multilingual."), numbered=True
                ),
            ),
        ),
        Section(
            "hybrid against algorithmic", (SideBySideBlock("Both lists", sides, Table(["a"], [row("b")])),), folded=True
        ),
        Section("Every query", (TableBlock("Scores per query", per_query(names, 30), folded=True),)),
    )
    return Report("Eight systems for the doctor finder", first, sections, FOOTER)


def two_lists(text):
    """Return what two systems show for a query: docs that rose, fell, came and went."""
    first = [("d1", 0.0, None, "lost"), ("d2", 3.0, 1, "up"), ("d3", None, 3, "same"), ("d4", 1.0, 4, "down")]
    second = [("d2", 3.0, 2, "up"), ("d9", 2.0, None, "new"), ("d3", None, 3, "same"), ("d4", 1.0, 3, "down")]

    def docs(rows):
        return tuple(
            ShownDoc(
                rank,
                doc,
                f"Clinic {doc} for heart rhythm and what else a long title may say of it",
                (
                    ("Specialists for ", False),
                    ("palpitations", True),
                    (" and the ablation of arrhythmias. " * 3, False),
                ),
                grade,
                bool(grade),
                0.2 * (grade or 0),
                other,
                move,
            )
            for rank, (doc, grade, other, move) in enumerate(rows, 1)
        )

    return SideBySide(
        query="q17",
        query_text=text,
        measure="nDCG@10",
        a=ShownList("algorithmic", 0.37, 100, docs(first)),
        b=ShownList("hybrid-rerank", 0.93, 100, docs(second)),
        changes=(),
        missed=("Clinic d77",),
    )
