"""What every command is asked in the trials: a folder of files, arguments, and what a trial may leave behind."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rankscope.demo import QRELS, RUNS, demo_file

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

EARLIER = "what was there before\n"
Arguments = tuple[str, ...]


def put_demo(folder: Path) -> None:
    for name in (QRELS, *RUNS):
        (folder / name).write_bytes(demo_file(name).read_bytes())
    (folder / "dense.run.gz").write_bytes(gzip.compress((folder / "dense.run").read_bytes(), mtime=0))


def put_shuffled(folder: Path) -> None:
    """Add a run whose rows of a query do not lie together, as text and as a folder of two files."""
    put_demo(folder)
    lines = (folder / "bm25.run").read_text().splitlines(keepends=True)
    lines = lines[::2] + lines[1::2]
    (folder / "shuffled.run").write_text("".join(lines))
    (folder / "parts").mkdir()
    (folder / "parts" / "a.run").write_text("".join(lines[:80]))
    (folder / "parts" / "b.run").write_text("".join(lines[80:]))


def put_targets(folder: Path) -> None:
    put_demo(folder)
    (folder / "targets.toml").write_text('[[targets]]\nquery = "soup-for-a-cold"\ndoc = "chicken-broth"\ntop = 5\n')


def put_checked_project(folder: Path) -> None:
    small = small_project(folder, n_queries=3, module="searching")
    small.write('[[targets]]\nquery = "q1"\ndoc = "d1"\ntop = 30\n' + systems("other"))


def put_scores(folder: Path) -> None:
    rows = "".join(f"q{i},{i / 9},{i * i % 7 / 9}\n" for i in range(8))
    (folder / "scores.csv").write_text(f"query,bm25,dense\n{rows}")


def put_collection(folder: Path) -> None:
    small_project(folder, n_queries=6, module="searching")


def put_project(folder: Path) -> None:
    small = small_project(folder, n_queries=3, module="searching")
    small.write(systems("other") + "[systems.words]\ntype = 'bm25'\n")


def put_dense_project(folder: Path) -> None:
    small = small_project(folder, n_queries=3, module="searching")
    small.add("def encode(texts):\n    return [[len(text), text.count('t'), 1.0] for text in texts]\n")
    small.write('[systems.lengths]\ntype = "dense"\nmodel = "MODULE:encode"\n')


def put_predecessors_file(folder: Path) -> None:
    cases = [
        {"text": "Krampfanfall", "expected_hpo_ids": ["HP:0001250"]},
        {"text": "x", "expected_hpo_ids": ["HP:0000252"]},
    ]
    (folder / "cases.json").write_text(json.dumps(cases))


def put_ontology(folder: Path) -> None:
    names = ["All", "Phenotypic abnormality", "Seizure", "Rash", "Focal seizure"]
    above = [None, 1, 118, 118, 11]
    ids = [1, 118, 11, 12, 13]
    terms = [
        f'[Term]\nid: HP:{id_:07}\nname: {name}\nsynonym: "Kind of {name}" EXACT layperson []\n'
        + (f"is_a: HP:{up:07}\n" if up else "")
        for id_, name, up in zip(ids, names, above, strict=True)
    ]
    (folder / "small.obo").write_text("format-version: 1.2\ndata-version: hp/2000-01-01\n\n" + "\n".join(terms))


@dataclass(frozen=True)
class Case:
    """One call of a command, in a folder that is made anew for each trial."""

    arguments: Arguments
    prepare: Callable[[Path], object] = put_demo
    earlier: tuple[str, ...] = ()
    """Files that are there already, and that the command replaces."""
    codes: tuple[int, ...] = (2, 3)
    """How it may end where a fault has kept it from its answer."""
    first: Arguments | None = None
    """A call that comes before the trials, and whose files they find."""
    resumes: bool = False
    """Whether a call after a failed one must give the same files as if nothing had happened."""
    varying: tuple[str, ...] = ()
    """Files, by patterns, that hold times: they need only be whole."""
    dense: int = 5
    """Up to about this call each one is tried, then fewer and fewer; lower where a trial takes long."""
    environment: Mapping[str, str] = field(default_factory=dict)


def put_store(folder: Path) -> None:
    import rankscope as rs
    from rankscope.store import CollectionFacts, RunFacts, StoredQuery, open_store

    with open_store(folder, create=True) as store:
        queries = {f"q{i}": StoredQuery(f"text {i}") for i in range(4)}
        facts = RunFacts(
            system="bm25", started="2026-01-01T00:00:00", collection=CollectionFacts(name="c", queries=queries)
        )
        store.runs.add(rs.Run({query: {"d1": 2.0, "d2": 1.0} for query in queries}), facts)
        store.qrels.add(rs.Qrels({query: {"d1": 1} for query in queries}), name="c")


def put_judged_store(folder: Path) -> None:
    from rankscope.judging.importing import import_judgments
    from rankscope.store import open_store

    put_store(folder)
    (folder / "in.txt").write_text("q0 0 d1 1\nq1 0 d2 0\n")
    (folder / "before.txt").write_text("q2 0 d1 1\n")
    with open_store(folder) as store:
        import_judgments(store, folder / "before.txt", collection="c", rater="bo")


REPORT = ("report.html",)
RUN_CODES = (1, 2, 3)
TIMES = ("report.html", "results/manifest.json", "standard-output")
STORED = (*TIMES, ".rankscope/*", "history.html")
REPORT_OF_HISTORY = ("history.html",)
CASES: dict[str, list[Case]] = {
    "evaluate": [
        Case(("evaluate", "qrels.txt", "bm25.run", "dense.run.gz")),
        Case(("evaluate", "qrels.txt", "bm25.run", "-o", "scores.json"), earlier=("scores.json",)),
        Case(("evaluate", "qrels.txt", "bm25.run"), environment={"RANKSCOPE_KERNEL": "python"}),
        Case(
            ("evaluate", "qrels.txt", "bm25.run", "-m", "nDCG", "--chart", "curves", "-o", "c.svg"), earlier=("c.svg",)
        ),
        Case(("evaluate", "qrels.txt", "bm25.run", "dense.run.gz", "--memory", "1GB", "--keep", "kept"), dense=2),
        Case(
            ("evaluate", "qrels.txt", "shuffled.run", "parts/", "--memory", "1GB", "--keep", "kept"),
            put_shuffled,
            dense=2,
            resumes=True,
        ),
    ],
    "compare": [
        Case(("compare", "qrels.txt", "bm25.run", "dense.run", "-o", "report.html"), earlier=REPORT, dense=2),
        Case(("compare", "qrels.txt", "bm25.run", "dense.run", "--settle", "judge.csv", "-o", "gate.xml"), dense=2),
    ],
    "check": [
        Case(
            ("check", "qrels.txt", "bm25.run", "--targets", "targets.toml", "-o", "t.xml"),
            put_targets,
            earlier=("t.xml",),
            dense=2,
        ),
        Case(("check",), put_checked_project, first=("run",), codes=(2, 3), dense=2),
    ],
    "explain": [
        Case(("explain", "qrels.txt", "bm25.run", "--query", "soup-for-a-cold", "-m", "nDCG@5", "-o", "e.json"))
    ],
    "show": [
        Case(("show", "qrels.txt", "bm25.run", "dense.run", "--query", "soup-for-a-cold", "-o", "s.html")),
        Case(("show", "qrels.txt", "bm25.run", "dense.run.gz", "-o", "s.json")),
    ],
    "diagnose": [Case(("diagnose", "qrels.txt", "bm25.run", "-o", "d.json"))],
    "validate": [
        Case(("validate", "qrels.txt", "bm25.run", "--format", "json")),
        Case(("validate", "small"), put_collection),
    ],
    "convert": [
        Case(("convert", "bm25.run", "bm25.json.gz"), earlier=("bm25.json.gz",)),
        Case(("convert", "dense.run.gz", "dense.csv.zst")),
        Case(("convert", "bm25.run", "bm25.parquet"), earlier=("bm25.parquet",)),
        Case(("convert", "bm25.run", "-", "--to", "jsonl")),
    ],
    "fuse": [Case(("fuse", "bm25.run", "dense.run", "-o", "hybrid.run"), earlier=("hybrid.run",))],
    "import": [Case(("import", "cases.json", "-o", "out"), put_predecessors_file)],
    "init": [
        Case(
            ("init", "--collection", "small", "--systems", "bm25", "--yes", "--force"),
            put_collection,
            ("rankscope.toml",),
        )
    ],
    "run": [
        Case(("run", "-o", "report.html"), put_project, REPORT, codes=RUN_CODES, varying=TIMES, dense=2, resumes=True),
        Case(
            ("run", "--format", "json"),
            put_project,
            codes=RUN_CODES,
            varying=TIMES,
            dense=2,
            first=("run",),
            resumes=True,
        ),
        Case(
            ("run", "--fresh", "-o", "gate.xml"),
            put_project,
            codes=RUN_CODES,
            varying=TIMES,
            first=("run",),
            resumes=True,
        ),
    ],
    "watch": [
        Case(("watch", "--stored", "--format", "json"), put_project, varying=TIMES, first=("run",)),
        Case(("watch", "-o", "watch.json"), put_project, codes=RUN_CODES, varying=(*TIMES, "watch.json"), dense=1),
    ],
    "history": [
        Case(
            ("history", "-o", "history.html"), put_project, REPORT_OF_HISTORY, first=("run",), varying=STORED, dense=2
        ),
        Case(("history", "tag", "baseline", "words"), put_project, first=("run",), varying=STORED),
        Case(
            ("history", "diff", "--format", "json", "words", "other"),
            put_project,
            first=("run",),
            varying=STORED,
            dense=2,
        ),
    ],
    "rescore": [
        Case(
            ("rescore", "--format", "json"), put_project, first=("run",), varying=(*STORED, "standard-output"), dense=2
        )
    ],
    "leaderboard": [
        Case(("leaderboard", "-o", "board.json"), put_project, ("board.json",), first=("run",), varying=STORED, dense=2)
    ],
    "baseline": [
        Case(("baseline", "save", "qrels.txt", "bm25.run", "-o", "kept"), varying=("kept/manifest.json",)),
        Case(
            ("baseline", "save", "qrels.txt", "dense.run", "-o", "kept"),
            first=("baseline", "save", "qrels.txt", "bm25.run", "-o", "kept"),
            varying=("kept/*",),
        ),
    ],
    "gate": [
        Case(
            ("gate", "--baseline", "kept", "qrels.txt", "hybrid.run", "-o", "gate.xml"),
            first=("baseline", "save", "qrels.txt", "hybrid.run", "-o", "kept"),
            earlier=("gate.xml",),
            dense=2,
        )
    ],
    "store": [
        Case(("store", "check"), put_store, dense=2),
        Case(("store", "backup", "b.db", "--force"), put_store, ("b.db",), dense=2),
        Case(("store", "export", "out"), put_store, dense=1),
    ],
    "judge": [
        Case(("judge", "create", "t", "bm25", "--k", "2"), put_store, varying=STORED, dense=2),
        Case(
            ("judge", "show", "t", "--format", "json"),
            put_store,
            first=("judge", "create", "t", "bm25"),
            varying=STORED,
        ),
        Case(("judge", "import", "in.txt", "--rater", "ann"), put_judged_store, varying=STORED, dense=2),
        Case(("judge", "export", "out.csv"), put_judged_store, ("out.csv",), varying=STORED, dense=2),
    ],
    "user": [
        Case(("user", "list"), put_store, dense=2),
        Case(("user", "add", "ada", "owner", "--no-password"), put_store, varying=STORED, dense=2),
    ],
    "serve": [
        Case(("serve", "--check", "--port", "0"), put_store, varying=("standard-output", ".rankscope/*"), dense=2)
    ],
    "collection": [
        Case(("collection", "show", "small", "--format", "json"), put_collection),
        Case(("collection", "hpo", "--ontology", "small.obo", "--size", "2", "-o", "hpo"), put_ontology),
    ],
    "split": [
        Case(("split", "small", "-o", "split.json", "--force"), put_collection, ("split.json",)),
        Case(
            ("split", "split.json", "--reveal"),
            put_collection,
            first=("split", "small", "-o", "split.json"),
            varying=("*.reveals.jsonl",),
        ),
    ],
    "plan": [
        Case(("plan", "--scores", "scores.csv", "--detect", "0.1", "-o", "plan.json", "--format", "json"), put_scores)
    ],
    "report": [
        Case(("report", "scores.csv", "-o", "report.md"), put_scores, ("report.md",)),
        Case(("report", "scores.csv", "-o", "report.html"), put_scores),
    ],
    "measures": [Case(("measures",)), Case(("measures", "nDCG"))],
    "profiles": [Case(("profiles",))],
    "doctor": [Case(("doctor", "--format", "json"))],
    "embed": [
        Case(("embed", "small", "-o", "vectors.npy"), put_dense_project, ("vectors.npy", "vectors.ids.txt")),
        Case(("embed", "small", "--queries", "-o", "vectors.npz"), put_dense_project, ("vectors.npz",)),
    ],
    "demo": [
        Case(("demo", "--files", "recipes")),
        Case(
            ("demo", "--doctors", "--folder", "doctors"),
            put_demo,
            codes=RUN_CODES,
            varying=(*TIMES, "doctors/*"),
            dense=1,
        ),
    ],
}
"""Every command of the registry has its row; one that is missing fails a test."""
