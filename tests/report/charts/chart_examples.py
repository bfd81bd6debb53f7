"""Examples of every kind of chart, for any number of systems and with names that are hard to show."""

import random

import chart_kinds as c

NASTY = [
    "bm25",
    "dense-retriever-large-v2-finetuned-on-web-search-and-then-some-more-words-2026-01",
    "検索システム・ハイブリッド型ランキング第二版",
    '<b>&"quoted"\'</b>',
    "Щука-поиск по документам",
    "rocket \N{ROCKET} fusion",
    "bytes \udce4 and \x00 control \x1b\nsecond line",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
]
STRATA = ["English", "German", "short queries", "long natural-language questions", NASTY[3]]
BANDS = ["1", "2 to 3", "4 to 10", "11 to 100", "not found"]
MEASURES = ["nDCG@10", "AP", "R@100", "P@10", "latency p95 (ms)"]


def names(n_systems):
    return [NASTY[i] if i < len(NASTY) else f"system {i:02d}" for i in range(n_systems)]


def interval(value, half):
    return value - half, value + half


def every_kind(n_systems, *, seed=0, prefix="x"):
    """Return one chart of each kind, by kind."""
    return {kind: draw(n_systems, seed, prefix) for kind, draw in DRAW.items()}


def forest(n_systems, seed, prefix):
    rng = random.Random(seed)
    marks = ["better", "unsure", "worse", "same"]
    notes = ["better", "cannot tell", "worse", "practically the same"]
    rows = []
    for i, name in enumerate(names(n_systems)):
        value = rng.gauss(0, 0.05)
        rows.append(c.ForestRow(f"{name} vs base", value, *interval(value, 0.03), notes[i % 4], marks[i % 4]))
    return c.forest(rows, title="Differences", measure="nDCG@10", margin=0.01, subtitle="95%", prefix=prefix)


def matrix(n_systems, seed, prefix):
    rng = random.Random(seed)
    words = {
        "better": "better",
        "probably_better": "probably better",
        "unsure": "cannot tell",
        "same": "practically the same",
        "unsafe": "not safe to call",
        "worse": "worse",
    }
    own = names(max(n_systems, 2))
    cells = []
    for i, row in enumerate(own):
        for column in own[i + 1 :]:
            mark = rng.choice(list(words))
            value = rng.gauss(0, 0.05)
            cells.append(c.MatrixCell(row, column, mark, words[mark], value, *interval(value, 0.03)))
    return c.matrix(own, cells, "nDCG@10", title="Who beats whom", prefix=prefix)


def queries_and_scores(n_queries, seed):
    rng = random.Random(seed)
    scores = [[round(rng.random(), 2) for _ in range(n_queries)] for _ in "ab"]
    return [f"q{i}" for i in range(n_queries)], *scores


def n_queries_for(n_systems):
    return {1: 1, 2: 54, 7: 300}.get(n_systems, 7000)


def differences(n_systems, seed, prefix):
    queries, a, b = queries_and_scores(n_queries_for(n_systems), seed)
    values = [y - x for x, y in zip(a, b, strict=True)]
    pair = (NASTY[0], names(n_systems)[-1])
    return c.differences(queries, values, title="By query", measure="nDCG@10", names=pair, prefix=prefix)


def scatter(n_systems, seed, prefix):
    queries, a, b = queries_and_scores(n_queries_for(n_systems), seed)
    pair = (NASTY[0], names(n_systems)[-1])
    return c.scatter(queries, a, b, title="A and B", measure="nDCG@10", names=pair, prefix=prefix)


def curves(n_systems, seed, prefix):
    rng = random.Random(seed)
    ks = [1, 3, 5, 10, 20, 50, 100, 1000]
    lines = []
    for name in names(n_systems):
        y = sorted(rng.random() for _ in ks)
        lines.append(c.ChartLine(name, ks, y, [v - 0.05 for v in y], [v + 0.05 for v in y]))
    return c.curves(lines, title="Recall by depth", measure="R@k", prefix=prefix)


def precision_recall(n_systems, seed, prefix):
    rng = random.Random(seed)
    recall = [i / 10 for i in range(11)]
    lines = [
        c.ChartLine(name, recall, sorted((rng.random() for _ in recall), reverse=True)) for name in names(n_systems)
    ]
    return c.precision_recall(lines, title="Precision and recall", prefix=prefix)


def strata(n_systems, seed, prefix):
    rng = random.Random(seed)
    cells = [
        c.HeatCell(stratum, name, (value := rng.random()), *interval(value, 0.05), rng.randint(3, 4000))
        for stratum in STRATA
        for name in names(n_systems)
        if rng.random() > 0.05 or name == NASTY[0]
    ]
    return c.strata(cells, title="By stratum", measure="nDCG@10", prefix=prefix)


def systems(n_systems, seed, prefix):
    rng = random.Random(seed)
    cells = [
        c.HeatCell(name, measure, (value := rng.random()), *interval(value, 0.05))
        for name in names(n_systems)
        for measure in MEASURES
    ]
    return c.systems(cells, title="Systems", better={MEASURES[-1]: "lower"}, prefix=prefix)


def overlap(n_systems, seed, prefix):
    rng = random.Random(seed)
    shared, rbo = ([[rng.random() for _ in range(n_systems)] for _ in range(n_systems)] for _ in "ab")
    return c.overlap(names(n_systems), shared, rbo, title="Overlap", depth=10, prefix=prefix)


def distribution(n_systems, seed, prefix):
    rng = random.Random(seed)
    spreads = []
    for name in names(n_systems):
        values = sorted(rng.random() for _ in range(41))
        spreads.append(c.ScoreSpread(name, values, *(values[i] for i in (0, 10, 20, 30, 40)), sum(values) / 41))
    return c.distribution(spreads, title="Spread", measure="nDCG@10", prefix=prefix)


def positions(n_systems, seed, prefix):
    rng = random.Random(seed)
    counts = [c.BandCounts(name, [rng.randint(1, 60) for _ in BANDS]) for name in names(n_systems)]
    return c.positions(BANDS, counts, title="First relevant doc", prefix=prefix)


def map_points(n_systems, seed, *, factor=1.0):
    rng = random.Random(seed)
    points = []
    for name in names(n_systems):
        x, y = rng.uniform(0.1, 0.9) * factor, rng.random()
        points.append(c.MapPoint(name, x, y, x * 0.9, x * 1.1, *interval(y, 0.03)))
    return points


def relevance_diversity(n_systems, seed, prefix):
    points = map_points(n_systems, seed)
    return c.relevance_diversity(points, title="Map", x_measure="nDCG@10", y_measure="ILD@10", prefix=prefix)


def quality_latency(n_systems, seed, prefix):
    points = map_points(n_systems, seed, factor=1000)
    return c.quality_latency(points, title="Latency", measure="nDCG@10", prefix=prefix)


def trend(n_systems, seed, prefix):
    rng = random.Random(seed)
    points = [
        c.TrendPoint(name, (value := rng.random()), *interval(value, 0.02)) for i, name in enumerate(names(n_systems))
    ]
    return c.trend(points, title="Trend", measure="nDCG@10", target=0.5, x_label="version", prefix=prefix)


def waterfall(n_systems, seed, prefix):
    rng = random.Random(seed)
    parts = [c.WaterfallPart(name, rng.gauss(0, 0.03), "better") for name in names(n_systems)]
    return c.waterfall(rng.random(), parts, title="What moved it", measure="nDCG@10", prefix=prefix)


DRAW = {
    draw.__name__: draw
    for draw in (
        forest,
        matrix,
        differences,
        scatter,
        curves,
        precision_recall,
        strata,
        systems,
        distribution,
        positions,
        overlap,
        relevance_diversity,
        trend,
        quality_latency,
        waterfall,
    )
}
