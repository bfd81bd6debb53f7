"""Names the workloads and writes them: qrels and runs in TREC format, the same bytes each time."""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import hashlib
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from paths import BUILD

QUICK_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One pair of qrels and run: its size, and what is peculiar about it."""

    name: str
    kind: str
    """`marco`: about one relevant doc a query; `robust`: about 1,200 graded judgments a query."""
    n_queries: int
    depth: int = 1000
    n_judged: int = 1200
    """Judged docs of a query, on average, where the kind is `robust`."""
    shuffled: bool = False
    tied: bool = False
    gzipped: bool = False
    shrinks: bool = True
    """Whether --quick takes a tenth of the queries."""

    def quick(self) -> Workload:
        """Return the workload as --quick has it."""
        n_queries = max(1, round(self.n_queries * QUICK_SHARE)) if self.shrinks else self.n_queries
        return dataclasses.replace(self, n_queries=n_queries)

    @property
    def n_rows(self) -> int:
        """How many rows the run has."""
        return self.n_queries * self.depth


_MARCO, _ROBUST = 6980, 250
WORKLOADS = (
    Workload(name="marco", kind="marco", n_queries=_MARCO),
    Workload(name="robust", kind="robust", n_queries=_ROBUST),
    Workload(name="small", kind="robust", n_queries=50, depth=100, n_judged=120, gzipped=True, shrinks=False),
    Workload(name="shuffled", kind="marco", n_queries=_MARCO, shuffled=True),
    Workload(name="tied", kind="robust", n_queries=_ROBUST, tied=True),
    Workload(name="quarter", kind="marco", n_queries=_MARCO // 4, gzipped=True),
    Workload(name="fourfold", kind="marco", n_queries=_MARCO * 4),
)


@dataclass(frozen=True, slots=True)
class Files:
    """Where a workload lies."""

    folder: Path
    name: str

    @property
    def qrels(self) -> str:
        """The judgments."""
        return str(self.folder / f"{self.name}.qrels")

    @property
    def run(self) -> str:
        """The ranking."""
        return str(self.folder / f"{self.name}.run")

    @property
    def run_gz(self) -> str:
        """The ranking, compressed."""
        return f"{self.run}.gz"

    @property
    def reference(self) -> Path:
        """The means that pytrec_eval gave."""
        return self.folder / f"{self.name}.means.json"

    @property
    def stamp(self) -> Path:
        """What the files were made from; written last."""
        return self.folder / f"{self.name}.stamp"


def sized(*, quick: bool) -> dict[str, Workload]:
    """Return the workloads by name, in the sizes asked for."""
    return {each.name: each.quick() if quick else each for each in WORKLOADS}


def files_of(workload: Workload, *, quick: bool) -> Files:
    """Return where a workload lies."""
    return Files(BUILD / ("data-quick" if quick else "data"), workload.name)


def write_workload(workload: Workload, files: Files) -> None:
    """Write one workload, unless it is there already as this version of the code makes it."""
    wanted = stamp_of(workload)
    if files.stamp.exists() and files.stamp.read_text() == wanted:
        return
    print(f"Writing {workload.name}: {workload.n_rows:,} rows …", file=sys.stderr)
    files.folder.mkdir(parents=True, exist_ok=True)
    files.stamp.unlink(missing_ok=True)
    files.reference.unlink(missing_ok=True)
    from draw import write_qrels_and_run

    write_qrels_and_run(workload, files)
    if workload.gzipped:
        compress(files.run, files.run_gz)
    files.stamp.write_text(wanted)


def stamp_of(workload: Workload) -> str:
    """Return what changes whenever the workload or the code that makes it does."""
    code = b"".join(Path(__file__).with_name(name).read_bytes() for name in ("workloads.py", "draw.py"))
    return f"{workload} {hashlib.sha256(code).hexdigest()}"


def compress(source: str, target: str) -> None:
    """Write a gzipped copy, at the level of the gzip command."""
    with Path(source).open("rb") as plain, gzip.open(target, "wb", compresslevel=6) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)


def main() -> None:
    """Write the workloads named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=[each.name for each in WORKLOADS])
    parser.add_argument("--quick", action="store_true", help="a tenth of the queries")
    args = parser.parse_args()
    for name in args.names:
        workload = sized(quick=args.quick)[name]
        write_workload(workload, files_of(workload, quick=args.quick))


if __name__ == "__main__":
    main()
