"""Write the vectors of a collection's docs, or of its queries, to a file: `evaluate --embeddings` reads it.

COLLECTION is the name of a collection in the project file, or a folder. The vectors are those of a dense system of the
project, by default of the first, which is the one that `run` measures diversity by (ILD); --model takes a model without
any project. FILE.npy has one row per doc, and FILE.ids.txt beside it their ids, a line each; FILE.npz has both in one
file, as ids and vectors.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import ending_of, progress_on
from rankscope.cli.style import show
from rankscope.data.embedding_files import write_embeddings
from rankscope.data.loading import load_runs
from rankscope.errors import OptionError
from rankscope.experiment.collection import CollectionSpec, load_collection, spec_of
from rankscope.experiment.project import NoProjectError, Project, load_project
from rankscope.experiment.vectors import dense_system, doc_vectors, query_vectors
from rankscope.printable import counted
from rankscope.systems.dense import Dense
from rankscope.systems.working_directory import working_directory

ENDINGS = (".npy", ".npz")
DEFAULT_MODEL = "wordllama"
EPILOG = """\
examples:
  rankscope embed scifact -o scifact.npy
  rankscope embed scifact --system e5 -o e5.npz
  rankscope embed scifact --run results/runs/scifact/bm25.trec.gz -o found.npy
  rankscope embed my-collection/ --model wordllama -o docs.npy
  rankscope embed scifact --queries -o queries.npy

then:
  rankscope evaluate qrels.txt any.run -m "nDCG@10 ILD@10" --embeddings scifact.npy
  python -c "import numpy; print(numpy.load('scifact.npy').shape)"

vectors that `rankscope run` has computed are in its cache: they are read there, not computed again"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("collection", metavar="COLLECTION", help="a collection of the project, or the folder of one")
    file = "the file to write: .npy, with the ids beside it, or .npz"
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help=file)
    system = "the dense system of the project whose vectors are wanted (default: the first)"
    parser.add_argument("--system", metavar="NAME", help=system)
    model = "a model instead of a system: wordllama, multilingual, minilm, or one of sentence-transformers"
    parser.add_argument("--model", metavar="NAME", help=model)
    parser.add_argument("--queries", action="store_true", help="the vectors of the queries instead of the docs")
    run = "only docs that this run has retrieved; may be given several times"
    parser.add_argument("--run", metavar="FILE", action="append", default=[], dest="runs", help=run)
    cache = "keep vectors in this folder, in blocks; what was interrupted goes on there (default: the project's cache)"
    parser.add_argument("--cache", metavar="FOLDER", help=cache)
    parser.add_argument("--project", metavar="FILE", help="the project file, where it is not in this folder or above")


def run(args: argparse.Namespace) -> int:
    if ending_of(args.output) not in ENDINGS:
        raise OptionError(f"vectors are not written as {args.output!r}", hint=f"use {' or '.join(ENDINGS)}")
    if args.system is not None and args.model is not None:
        raise OptionError("--system and --model both say whose vectors are wanted", hint="give one of them")
    if args.queries and args.runs:
        raise OptionError("--run chooses docs, and --queries asks for queries", hint="leave out one of them")
    project, spec, cache = find_spec(args)
    with ExitStack() as stack:
        if project is not None:
            stack.enter_context(working_directory(project.folder))
            stack.enter_context(project.secrets.kept_out_of_errors())
        if project is None or args.model is not None:
            dense = Dense(model=args.model or DEFAULT_MODEL, cache=args.cache)
            whose = f"the model {dense.model}"
        else:
            dense = dense_system(project, args.system, cache=args.cache)
            whose = f"the system {dense.name}"
        collection = load_collection(spec, cache=cache)
        if args.queries:
            ids, vectors = query_vectors(dense, collection)
        else:
            retrieved = {doc for each in load_runs(args.runs) for doc in each.rows.doc} if args.runs else None
            ids, vectors = doc_vectors(dense, collection, only=retrieved, progress=progress_on(sys.stderr))
        files = write_embeddings(args.output, ids, vectors)  # here, as queries are encoded while they are written
    what = counted(len(ids), "query" if args.queries else "doc")
    show(f"{' and '.join(files.paths)}: {what}, {files.n_dims} dimensions, of {whose}")
    if not args.queries:
        show(f'next: rankscope evaluate QRELS RUN -m "nDCG@10 ILD@10" --embeddings {args.output}')
    if spec.embeddings is not None and not args.queries:
        show(f"note: `rankscope run` measures diversity by {spec.embeddings}, not by these vectors", file=sys.stderr)
    return FINE


def find_spec(args: argparse.Namespace) -> tuple[Project | None, CollectionSpec, Path | None]:
    """Return the project, where there is one, the collection, and the folder where its hashes are kept.

    A name of the project goes before a folder of the same name. Without a project, a folder and a model are enough.
    """
    try:
        project = load_project(args.project)
    except NoProjectError:
        if args.project is not None or args.system is not None:
            raise
        return None, spec_of(args.collection), None
    if args.collection in project.collections or not Path(args.collection).exists():
        return project, project.collection(args.collection), project.cache
    return project, spec_of(args.collection), None
