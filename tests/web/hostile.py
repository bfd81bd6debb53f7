"""A store in which every field that others write is hostile: markup, scripts, turned text, no text, a megabyte of it."""

import rankscope as rs
from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredDoc, StoredQuery, open_store
from rankscope.store.alerts import Alert

ELSEWHERE = "http://elsewhere.invalid"
ATTACKS = (
    f"<img src={ELSEWHERE}/i onerror=window.attacked=1>",
    f"<script src={ELSEWHERE}/s></script><script>window.attacked=1</script>",
    "\"><svg onload=window.attacked=1><a href='javascript:window.attacked=1'>x</a>",
    "'-window.attacked=1-'{{7*7}}{% raw %}${window.attacked=1}",
    "</style><style>@import url(http://elsewhere.invalid/c);*{background:url(http://elsewhere.invalid/b)}",
    "--></script></title></textarea><iframe srcdoc='<script>parent.attacked=1</script>'>",
    "\u202egnp.exe\u2066 turned \x00 null \x1b[31m red \ud800 half \udcff byte \ufffe",
    "javascript:window.attacked=1",
    f"x' hx-get='{ELSEWHERE}/h' hx-trigger='load' onmouseover='window.attacked=1",
    "",
)
LONG = "<b>long</b> " * 90_000


def fill_hostile(location):
    """Fill a new store; return it open."""
    store = open_store(location, create=True)
    n = len(ATTACKS)
    queries = {
        f"q{i} {ATTACKS[i]}": StoredQuery(LONG if i == 3 else ATTACKS[i], {ATTACKS[0]: ATTACKS[i], "kind": ATTACKS[-i]})
        for i in range(n)
    }
    docs = {
        f"d{i} {ATTACKS[i]}": StoredDoc(
            ATTACKS[i], LONG if i == 2 else ATTACKS[-i], {ATTACKS[i]: ATTACKS[i], "list": list(ATTACKS)}
        )
        for i in range(n)
    }
    grades = {query: {doc: float(i % 3) for i, doc in enumerate(list(docs)[:-2])} for query in queries}
    name = f"collection {ATTACKS[0]}"
    qrels = store.qrels.add(rs.Qrels(grades), name=name)
    for week in range(2):
        for which in range(2):
            ranked = {
                query: {doc: float((i * (which + 3) + week) % 11) for i, doc in enumerate(docs)} for query in queries
            }
            facts = RunFacts(
                system=f"system{which} {ATTACKS[which]}",
                started=f"2026-10-{5 + 7 * week:02}T09:12:00.000000+00:00",
                type=f"type {ATTACKS[2]}",
                config={ATTACKS[0]: ATTACKS[1], "plain": list(ATTACKS)},
                latencies_ms=dict.fromkeys(queries, 5.0),
                collection=CollectionFacts(
                    name=name,
                    queries=queries,
                    qrels_sha256=qrels.judgments_sha256,
                    counts={"docs": n, "queries": n},
                ),
                details=RunDetails(
                    depth=n, seeds=(7,), versions={"rankscope": ATTACKS[2]}, host=ATTACKS[0], git_commit=ATTACKS[1],
                    failed=tuple(list(queries)[-1:]), primary="nDCG@10", policies={}, note=ATTACKS[4],
                ),
            )  # fmt: skip
            store.runs.add(
                rs.Run({query: row for query, row in ranked.items() if query != list(queries)[-1]}), facts, docs=docs
            )
    guideline = store.judgments.add_guideline(ATTACKS[1])
    for i, query in enumerate(queries):
        source = JudgmentSource("person", id=f"rater {ATTACKS[i]}")
        one = SingleJudgment(
            query=query, doc=list(docs)[i], source=source, grade=1.0, guideline=guideline, note=ATTACKS[i]
        )
        store.judgments.add(one, collection=name)
    system = store.runs.list()[0].system
    alert = Alert(
        kind="drop", collection=name, system=system, measure="nDCG@10", opened="2026-10-12T09:20:00.000000+00:00",
        reasons=ATTACKS[:5], run=1, before=0.41, value=0.33,
    )  # fmt: skip
    store.alerts.put([alert])
    store.links.add(f"/measures?x={ATTACKS[3]}", who=ATTACKS[0], lasts_s=10**6)
    return store
