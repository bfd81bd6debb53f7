"""A store with all that pages show, small and the same every time: a doctor search over four weeks."""

import random

import rankscope as rs
from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredDoc, StoredQuery, open_store
from rankscope.store.alerts import Alert

SPECIALTIES = ("cardiology", "dermatology", "neurology", "orthopaedics")
COMPLAINTS = ("palpitations at night", "a rash on both arms", "headache with aura", "a knee that locks", "chest pain")
TOWNS = ("Leeds", "York", "Bradford", "Harrogate", "Hull", "Wakefield")
WEEKS = ("2026-10-05", "2026-10-12", "2026-10-19", "2026-10-26")
SYSTEMS = {
    "algorithmic": (0.35, 0.36, 0.36, 0.37),
    "hybrid": (0.45, 0.55, 0.6, 0.7),
    "multilingual": (0.3, 0.3, 0.34, 0.33),
}
"""How often a relevant doc comes before the others, week by week."""
N_QUERIES, N_DOCS, DEPTH = 60, 150, 20


def fill_store(location, *, n_queries=N_QUERIES, systems=SYSTEMS, weeks=WEEKS, hostile=None):
    """Fill a new store; return it open. `hostile` is a text that stands in every field that others write."""
    dice = random.Random(7)
    odd = f" {hostile}" if hostile else ""
    queries = {
        f"q{i:03}": StoredQuery(
            f"{COMPLAINTS[i % len(COMPLAINTS)]} {TOWNS[i % len(TOWNS)]}{odd}",
            {"specialty": SPECIALTIES[i % 4] + odd, "language": "en" if i % 3 else "de"},
        )
        for i in range(n_queries)
    }
    docs = {
        f"d{i:03}": StoredDoc(
            f"Dr. {chr(65 + i % 26)}., {SPECIALTIES[i % 4]}, {TOWNS[i % len(TOWNS)]}{odd}",
            f"Sees {COMPLAINTS[i % len(COMPLAINTS)]} and more. Clinic on Thursdays in {TOWNS[i % len(TOWNS)]}.{odd}",
            {"city": TOWNS[i % len(TOWNS)] + odd, "languages": ["en", "de"]},
        )
        for i in range(N_DOCS)
    }
    grades = {query: {doc: float(dice.randint(1, 3)) for doc in dice.sample(list(docs), 6)} for query in queries}
    judged = {query: {**dict.fromkeys(dice.sample(list(docs), 60), 0.0), **good} for query, good in grades.items()}
    first_labels = {query: dict(list(row.items())[:50]) for query, row in judged.items()}
    for query, row in first_labels.items():
        row.update(list(grades[query].items())[:4])
    store = open_store(location, create=True)
    old = store.qrels.add(rs.Qrels(first_labels), name="doctor-finder")
    new = old
    for week, day in enumerate(weeks):
        if week == len(weeks) // 2:
            new = store.qrels.add(rs.Qrels(judged), name="doctor-finder")
        for system, qualities in systems.items():
            quality = qualities[week % len(qualities)]
            rankings = {query: ranking(dice, list(docs), grades[query], quality) for query in queries}
            latencies = {query: dice.lognormvariate(3 if system == "algorithmic" else 4, 0.3) for query in queries}
            failed = tuple(list(queries)[:1]) if system == "multilingual" else ()
            facts = RunFacts(
                system=system,
                started=f"{day}T09:12:00.000000+00:00",
                type="bm25" if system == "algorithmic" else "hybrid",
                config={"k1": 0.9 + week / 10},
                latencies_ms=latencies,
                collection=CollectionFacts(
                    name="doctor-finder",
                    queries=queries,
                    qrels_sha256=new.judgments_sha256,
                    counts={"docs": N_DOCS, "queries": n_queries},
                ),
                details=RunDetails(
                    depth=DEPTH,
                    seeds=(7,),
                    versions={"rankscope": "0.1.0"},
                    host="lab",
                    git_commit="0123abc",
                    latency_ms={"p50": 20.0, "p95": 41.0, "mean": 22.0, "max": 80.0, "n": n_queries},
                    failed=failed,
                    primary="nDCG@10",
                    policies={},
                ),
            )
            rankings = {query: row for query, row in rankings.items() if query not in failed}
            store.runs.add(rs.Run(rankings), facts, docs=docs)
    store.tags.move("production", store.runs.find("algorithmic"))
    guideline = store.judgments.add_guideline("3 is whom you would book.")
    for rater in ("ada", "bo"):
        for query in list(queries)[:5]:
            for doc, grade in grades[query].items():
                source = JudgmentSource("person", id=rater + odd)
                one = SingleJudgment(query=query, doc=doc, source=source, grade=grade, guideline=guideline)
                store.judgments.add(one, collection="doctor-finder")
    alert = Alert(
        kind="drop",
        collection="doctor-finder",
        system="multilingual",
        measure="nDCG@10",
        opened=f"{weeks[-1]}T09:20:00.000000+00:00",
        reasons=(f"nDCG@10 fell below the control band of the last 10 runs.{odd}",),
        run=store.runs.find("multilingual").number,
        before=0.41,
        value=0.33,
    )
    store.alerts.put([alert])
    return store


def ranking(dice, docs, good, quality):
    """Return docs with scores: relevant ones stand before the others with a chance of `quality`."""
    order = sorted(docs, key=lambda doc: dice.random() - (quality if doc in good else 0))
    return {doc: float(DEPTH - i) for i, doc in enumerate(order[:DEPTH])}
