"""`rankscope embed`: vectors of docs and queries as files, the same that a run measures diversity by."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankscope as rs
from rankscope.data.embedding_files import load_embeddings, write_embeddings
from rankscope.errors import InputError

ENCODER = '''
def encode(texts):
    """Count letters: a vector that can be checked by hand."""
    return [[float(text.count(letter)) for letter in "abc"] for text in texts]


def other(texts):
    return [[float(len(text)), 1.0] for text in texts]
'''
PROJECT = """
measures = ["nDCG@3", "ILD@3"]

[collections.letters]
path = "letters"

[systems.counts]
type = "dense"
model = "letter_counts:encode"

[systems.lengths]
type = "dense"
model = "letter_counts:other"
similarity = "dot"

[systems.words]
type = "bm25"
"""
DOCS = {"d1": "aa", "d2": "ab", "d3": "cc", "d4": "b"}


@pytest.fixture
def letters(tmp_path, monkeypatch):
    """Go to the folder of a project whose vectors are known: (1, 0, 0), (1, 1, 0)/√2, (0, 0, 1), (0, 1, 0)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "letter_counts.py").write_text(ENCODER)
    (tmp_path / "rankscope.toml").write_text(PROJECT)
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"_id": i, "text": t}) + "\n" for i, t in DOCS.items()))
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "a b"}\n{"_id": "q2", "text": "c"}\n')
    (folder / "qrels.txt").write_text("q1 0 d2 1\nq2 0 d3 1\n")
    return tmp_path


HALF = 0.5**0.5
EXPECTED = [[1, 0, 0], [HALF, HALF, 0], [0, 0, 1], [0, 1, 0]]


def test_docs_with_their_ids_beside_them(rankscope, letters):
    done = rankscope("embed", "letters", "-o", "docs.npy")
    assert done.code == 0
    assert done.out.startswith("docs.npy and docs.ids.txt: 4 docs, 3 dimensions, of the system counts\n")
    assert 'next: rankscope evaluate QRELS RUN -m "nDCG@10 ILD@10" --embeddings docs.npy' in done.out
    np.testing.assert_allclose(np.load("docs.npy"), EXPECTED, atol=1e-7)
    assert (letters / "docs.ids.txt").read_text() == "d1\nd2\nd3\nd4\n"


def test_docs_and_ids_in_one_file(rankscope, letters):
    assert rankscope("embed", "letters", "--system", "lengths", "-o", "docs.npz").code == 0
    made = np.load("docs.npz")
    assert made["ids"].tolist() == list(DOCS)
    assert made["vectors"].tolist() == [[2, 1], [2, 1], [2, 1], [1, 1]]


def test_queries(rankscope, letters):
    done = rankscope("embed", "letters", "--queries", "-o", "queries.npy")
    assert done.out == "queries.npy and queries.ids.txt: 2 queries, 3 dimensions, of the system counts\n"
    np.testing.assert_allclose(np.load("queries.npy"), [[HALF, HALF, 0], [0, 0, 1]], atol=1e-7)


def test_only_what_runs_have_retrieved(rankscope, letters):
    (letters / "one.run").write_text("q1 Q0 d4 1 2 one\nq1 Q0 d1 2 1 one\n")
    (letters / "two.run").write_text("q2 Q0 d3 1 2 two\n")
    assert rankscope("embed", "letters", "--run", "one.run", "--run", "two.run", "-o", "found.npy").code == 0
    assert (letters / "found.ids.txt").read_text() == "d1\nd3\nd4\n"
    np.testing.assert_allclose(np.load("found.npy"), [EXPECTED[0], EXPECTED[2], EXPECTED[3]], atol=1e-7)
    (letters / "alien.run").write_text("q1 Q0 elsewhere 1 2 alien\n")
    done = rankscope("embed", "letters", "--run", "alien.run", "-o", "none.npy")
    assert done.code == 2
    assert "letters has none of the docs" in done.err
    assert not (letters / "none.npy").exists()


@pytest.mark.parametrize("file", ["docs.npy", "docs.npz"])
def test_evaluate_gives_the_diversity_of_the_run(rankscope, letters, file):
    found = rs.run_project(letters).collections[0].scores
    assert rankscope("embed", "letters", "-o", file).code == 0
    runs = [f"results/runs/letters/{name}.trec.gz" for name in ("counts", "lengths")]
    again = rs.evaluate("letters/qrels.txt", runs, ["ILD@3"], embeddings=file)
    for name in ("counts", "lengths"):
        assert again[name].column("ILD@3").tolist() == found[name].column("ILD@3").tolist()
    # by hand: q1 finds d2, then d1 and d4 at equal scores; cosines 1/√2, 1/√2 and 0
    assert found["counts"]["q1", "ILD@3"] == pytest.approx(((1 - HALF) + (1 - HALF) + 1) / 3, abs=1e-6)


def test_vectors_of_a_run_are_read_from_its_cache(rankscope, letters):
    rs.run_project(letters)
    cached = sorted((letters / ".rankscope").rglob("*.npy"))
    assert cached
    states = [path.stat().st_mtime_ns for path in cached]
    assert rankscope("embed", "letters", "-o", "docs.npy").code == 0
    assert [path.stat().st_mtime_ns for path in sorted((letters / ".rankscope").rglob("*.npy"))] == states


def test_a_folder_and_a_model_need_no_project(rankscope, letters):
    pytest.importorskip("wordllama")
    (letters / "rankscope.toml").unlink()
    done = rankscope("embed", "letters", "-o", "docs.npy")
    assert done.code == 0
    assert "4 docs, 256 dimensions, of the model wordllama" in done.out


def test_the_file_of_ids_that_is_read_first_is_the_one_that_is_written(rankscope, letters):
    (letters / "docs.npy.ids.txt").write_text("x\ny\n")
    assert rankscope("embed", "letters", "-o", "docs.npy").code == 0
    assert (letters / "docs.npy.ids.txt").read_text() == "d1\nd2\nd3\nd4\n"


def test_an_id_of_two_lines_has_room_in_an_archive_alone(rankscope, letters):
    with (letters / "letters" / "corpus.jsonl").open("a") as stream:
        stream.write('{"_id": "two\\nlines", "text": "abc"}\n')
    done = rankscope("embed", "letters", "-o", "docs.npy")
    assert done.code == 2
    assert "npz" in done.err
    assert rankscope("embed", "letters", "-o", "docs.npz").code == 0
    assert np.load("docs.npz")["ids"].tolist()[-1] == "two\nlines"


def test_it_says_where_run_measures_by_other_vectors(rankscope, letters):
    np.savez("own.npz", ids=np.array(list(DOCS)), vectors=np.eye(4))
    file = letters / "rankscope.toml"
    file.write_text(file.read_text().replace('path = "letters"', 'path = "letters"\nembeddings = "own.npz"'))
    done = rankscope("embed", "letters", "-o", "docs.npy")
    assert "`rankscope run` measures diversity by" in done.err
    assert "own.npz, not by these vectors" in done.err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["letters", "-o", "docs.csv"], "vectors are not written as 'docs.csv'"),
        (["letters", "-o", "docs"], "use .npy or .npz"),
        (["leters", "-o", "docs.npy"], "did you mean letters?"),
        (["letters", "--system", "words", "-o", "docs.npy"], "words is of type bm25, which has no vectors of its own"),
        (["letters", "--system", "count", "-o", "docs.npy"], "did you mean counts?"),
        (["letters", "--system", "counts", "--model", "minilm", "-o", "docs.npy"], "give one of them"),
        (["letters", "--queries", "--run", "x.run", "-o", "docs.npy"], "leave out one of them"),
    ],
)
def test_what_is_refused(rankscope, letters, arguments, error):
    done = rankscope("embed", *arguments)
    assert done.code == 2
    assert error in done.err
    assert not list(letters.glob("docs*"))


def test_a_project_without_dense_systems(rankscope, letters):
    (letters / "rankscope.toml").write_text('[collections.letters]\npath = "letters"\n[systems.words]\ntype = "bm25"\n')
    done = rankscope("embed", "letters", "-o", "docs.npy")
    assert done.code == 2
    assert "has no system of type dense" in done.err
    assert "--model wordllama" in done.err


def test_options_that_are_still_to_be_chosen(rankscope, letters):
    file = letters / "rankscope.toml"
    file.write_text(
        file.read_text().replace('"letter_counts:encode"', '["letter_counts:encode", "letter_counts:other"]')
    )
    done = rankscope("embed", "letters", "--system", "counts", "-o", "docs.npy")
    assert done.code == 2
    assert "counts has several values for model" in done.err
    assert rankscope("embed", "letters", "-o", "docs.npy").out.endswith("--embeddings docs.npy\n")


def turn_around(folder):
    """Write the docs of the collection in the opposite order."""
    lines = (folder / "corpus.jsonl").read_text().splitlines(keepends=True)
    (folder / "corpus.jsonl").write_text("".join(reversed(lines)))


@pytest.mark.parametrize("failing", [".npy", ".ids.txt"])
@pytest.mark.parametrize("is_there", [True, False])
def test_vectors_never_count_for_the_ids_of_others(rankscope, letters, monkeypatch, failing, is_there):
    """By hand: d1 and d3 are at right angles (ILD 1); in the opposite order their rows are those of d4 and d2 (0.29)."""
    if is_there:
        assert rankscope("embed", "letters", "-o", "docs.npy").code == 0
    (letters / "one.run").write_text("".join(f"{q} Q0 d1 1 2 one\n{q} Q0 d3 2 1 one\n" for q in ("q1", "q2")))
    turn_around(letters / "letters")
    replace = Path.replace

    def fail(self, target):
        if str(target).endswith(failing):
            raise OSError(28, "No space left on device")
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        assert rankscope("embed", "letters", "-o", "docs.npy").code == 3
    assert not list(letters.glob(".rankscope-*.tmp"))
    done = rankscope("evaluate", "letters/qrels.txt", "one.run", "-m", "ILD@2", "--embeddings", "docs.npy")
    if failing == ".npy" and is_there:
        assert (done.code, "1.0000" in done.out) == (0, True)
        assert (letters / "docs.ids.txt").read_text() == "d1\nd2\nd3\nd4\n"
    else:
        assert done.code == 2
        assert ("do not belong together" in done.err) == is_there
        assert not (letters / "docs.ids.txt").exists() or is_there
    assert rankscope("embed", "letters", "-o", "docs.npy").code == 0
    assert rs.evaluate("letters/qrels.txt", "one.run", "ILD@2", embeddings="docs.npy")["one"]["q1", "ILD@2"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_a_disk_that_takes_only_a_part_leaves_nothing(letters):
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (58_000, 58_000)); "
        "from rankscope.data.embedding_files import write_embeddings; import numpy as np; "
        "write_embeddings('docs.npy', [f'd{i}' for i in range(5000)], np.ones((5000, 3), dtype=np.float32))"
    )
    done = subprocess.run([sys.executable, "-Bc", limited], capture_output=True, text=True, check=False, timeout=60)
    assert "docs.npy cannot be written: File too large" in done.stderr
    assert not list(letters.glob("docs*"))


def test_ids_that_were_changed_on_purpose_are_named(rankscope, letters):
    assert rankscope("embed", "letters", "-o", "docs.npy").code == 0
    (letters / "docs.ids.txt").write_text("x1\r\nx2\r\nx3\r\nx4\r\n")
    with pytest.raises(rs.errors.IdError, match="do not belong together"):
        load_embeddings("docs.npy")
    assert list(load_embeddings("docs.npy:docs.ids.txt").row_of) == ["x1", "x2", "x3", "x4"]
    (letters / "docs.ids.txt").write_bytes(b"d1\r\nd2\r\nd3\r\nd4\r\n")
    assert list(load_embeddings("docs.npy").row_of) == list(DOCS)
    np.save("docs.npy", np.eye(4))  # vectors of one's own, which note no ids
    (letters / "docs.ids.txt").write_text("x1\nx2\nx3\nx4\n")
    assert list(load_embeddings("docs.npy").row_of) == ["x1", "x2", "x3", "x4"]


FAULTY = """
import sys
def boom(texts): raise RuntimeError("no key")
def leaves(texts): sys.exit(0)
def takes_nothing(): return []
def asks(texts): return open("nowhere.txt")
"""


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("faulty_encoder:boom", "RuntimeError: no key"),
        ("faulty_encoder:leaves", "SystemExit: 0"),
        ("faulty_encoder:takes_nothing", "TypeError: takes_nothing() takes 0 positional arguments but 1 was given"),
        ("faulty_encoder:asks", "FileNotFoundError: "),
        ("os:getcwd", "TypeError: "),
        ("builtins:max", "ValueError: "),
    ],
)
@pytest.mark.parametrize("has_project", [True, False])
def test_an_encoder_of_the_user_that_fails(rankscope, letters, function, reason, has_project):
    (letters / "faulty_encoder.py").write_text(FAULTY)
    if not has_project:
        (letters / "rankscope.toml").unlink()
    done = rankscope("embed", "letters", "--model", function, "-o", "docs.npy")
    assert done.code == 2
    assert f"the encoder {function} fails: {reason}" in done.err
    assert not list(letters.glob("docs*"))


@pytest.mark.parametrize("place", ["beside the project file", "in the current folder", "without a project"])
def test_where_the_module_of_an_encoder_is_found(rankscope, letters, monkeypatch, place):
    inner = letters / "inner"
    inner.mkdir()
    folder = letters if place == "beside the project file" else inner
    (folder / "own_encoder.py").write_text(ENCODER)
    if place == "without a project":
        (letters / "rankscope.toml").unlink()
    monkeypatch.chdir(inner)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    done = rankscope("embed", letters / "letters", "--model", "own_encoder:encode", "-o", "docs.npy")
    assert (done.code, done.err) == (0, "")
    np.testing.assert_allclose(np.load("docs.npy"), EXPECTED, atol=1e-7)


def test_vectors_are_kept_in_a_folder_from_which_it_goes_on(rankscope, letters):
    rankscope("embed", "letters", "--cache", "kept", "-o", "docs.npy")
    assert np.load("docs.npy") == pytest.approx(np.array(EXPECTED))
    (block,) = Path("kept").rglob("*.npy")
    np.save(block, np.full((4, 3), 7, dtype=np.float32))  # so it is seen that nothing is encoded again
    rankscope("embed", "letters", "--cache", "kept", "-o", "docs.npy")
    assert (np.load("docs.npy") == 7).all()


def test_vectors_are_written_part_by_part(letters):
    matrix = np.arange(12, dtype=np.float32).reshape(6, 2)
    ids = [f"d{i}" for i in range(6)]
    for name in ("whole.npy", "parts.npy", "parts.npz"):
        parts = matrix if name == "whole.npy" else iter([matrix[:4], matrix[4:4], matrix[4:]])
        assert write_embeddings(name, ids, parts).n_dims == 2
    assert Path("parts.npy").read_bytes() == Path("whole.npy").read_bytes()
    for name in ("parts.npy", "parts.npz"):
        found = load_embeddings(name)
        assert list(found.row_of) == ids
        assert (np.asarray(found.vectors) == matrix).all()
    for parts, error in (([matrix[:4]], "4 vectors for 6 ids"), ([matrix[:4], np.ones((2, 3))], "3 dimensions")):
        with pytest.raises(InputError, match=error):
            write_embeddings("odd.npy", ids, iter(parts))
        assert not Path("odd.npy").exists()
