"""Small projects for tests of the runner: a collection, a module with systems that log what they are asked, a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

START = "import sys; from rankscope.cli import main; sys.exit(main.main())"

# Ranks the docs of a query by a fixed rule, and writes every query down before it answers.
MODULE = '''
import hashlib, os, signal, time
from pathlib import Path

LOG = Path(__file__).with_suffix(".log")


def log(text):
    with LOG.open("a") as stream:
        stream.write(text + "\\n")


def docs_for(query_id, salt=""):
    """Return ten docs in an order that looks random, with the relevant one among the first for half of the queries."""
    order = sorted(range(30), key=lambda doc: hashlib.sha256(f"{salt}{query_id} {doc}".encode()).digest())
    return [(f"d{doc}", 1 - rank / 7) for rank, doc in enumerate(order[:10])]


def maybe_die(query_id):
    if os.environ.get("DIE_AT") == query_id:
        os.kill(os.getpid(), signal.SIGKILL)


def one(query):
    log(query.id)
    maybe_die(query.id)
    time.sleep(float(os.environ.get("SLOWLY", "0")))
    return docs_for(query.id)


def other(query):
    return docs_for(query.id, "other")


def batch(queries):
    for query in queries:
        log(query.id)
        maybe_die(query.id)
    return [docs_for(query.id) for query in queries]


def picky(query):
    log(query.id)
    if query.id.endswith("3"):
        raise ValueError(f"I do not like {query.id}")
    return docs_for(query.id)
'''


@dataclass
class SmallProject:
    """A project in a folder."""

    folder: Path
    module: str

    @property
    def asked(self) -> Counter[str]:
        """How often each query was asked, by the log of the module."""
        log = self.folder / f"{self.module}.log"
        return Counter(log.read_text().split()) if log.exists() else Counter()

    @property
    def runs(self) -> dict[str, bytes]:
        """The bytes of every run that was written."""
        return {path.name: path.read_bytes() for path in sorted((self.folder / "results/runs").glob("*/*"))}

    def write(self, systems: str, **keys: object) -> None:
        """Write the project file."""
        of_collection = {"split", "group", "weights"}
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items() if key not in of_collection]
        own = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if key in of_collection)
        text = "\n".join([*lines, f'[collections.small]\npath = "small"\n{own}', systems])
        (self.folder / "rankscope.toml").write_text(text.replace("MODULE", self.module))

    def add(self, code: str) -> None:
        """Add functions or classes to the module."""
        with (self.folder / f"{self.module}.py").open("a") as stream:
            stream.write(f"\n{code}")

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `rankscope run` as a process of its own."""
        return subprocess.run(self.command(*arguments), **self.options(environment), check=False, timeout=120)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start `rankscope run` without waiting for it."""
        options = self.options(environment)
        del options["capture_output"]
        return subprocess.Popen(
            self.command(*arguments), **options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-c", START, "run", *arguments]

    def options(self, environment: dict[str, str]) -> dict:
        return {"cwd": self.folder, "env": {**os.environ, **environment}, "capture_output": True, "text": True}


def systems(*names: str, also: str = "") -> str:
    """Return the tables of systems that are functions of the module, which take queries with their ids."""
    table = f'type = "python"\nrecords = true\n{also}'
    return "".join(f'[systems.{name}]\n{table}function = "MODULE:{name}"\n' for name in names)


def small_project(folder: Path, *, n_queries: int = 40, module: str = "") -> SmallProject:
    """Make a collection of 30 docs, and queries of which each has one relevant doc; the project file comes later."""
    collection = folder / "small"
    (collection / "qrels").mkdir(parents=True)
    docs = [{"_id": f"d{i}", "title": "", "text": f"text {i} of the docs"} for i in range(30)]
    queries = [
        {"_id": f"q{i}", "text": f"text {i}", "difficulty": "easy" if i % 2 else "hard"} for i in range(n_queries)
    ]
    (collection / "corpus.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (collection / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    rows = "".join(f"q{i}\td{i % 30}\t1\n" for i in range(n_queries))
    (collection / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    name = module or f"searching_{abs(hash(str(folder))):x}"
    (folder / f"{name}.py").write_text(MODULE)
    return SmallProject(folder, name)


def without_times(record: object) -> object:
    """Return a JSON record without what may differ between two runs of the same project."""
    if isinstance(record, dict):
        return {key: without_times(value) for key, value in record.items() if key not in ("times", "costs", "reused")}
    return [without_times(value) for value in record] if isinstance(record, list) else record
