"""The recipe for Spark in docs/scale.md, run as it stands, where Spark and Java are installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankscope as rs

SCALE = Path(__file__).parents[2] / "docs" / "scale.md"
MEASURES = ["nDCG@10", "AP"]
SECONDS = 300


def recipe(folder: Path) -> str:
    """Return the block of the guide, with its /shared in a folder, and two lines that write down what it found."""
    page = SCALE.read_text(encoding="utf-8")
    code = page.split("## Spark")[1].split("```py\n")[1].split("```")[0]
    code = code.replace("/shared", str(folder))
    return f"{code}\nopen({str(folder / 'scores.json')!r}, 'w').write(scores.to_json())\nspark.stop()\n"


def write_run(folder: Path) -> dict[str, dict[str, float]]:
    """Write a run as Parquet, in parts, and return it."""
    draw = np.random.default_rng(7)
    queries = [f"q{i}" for i in range(40)]
    run = {query: {f"d{doc}": float(draw.normal()) for doc in draw.permutation(60)[:25]} for query in queries}
    (folder / "run").mkdir()
    for part in range(4):
        rs.Run(dict(list(run.items())[part::4])).save(folder / "run" / f"part-{part}.parquet")
    judged = "".join(f"{query} 0 d{doc} {doc % 3}\n" for query in queries for doc in range(0, 60, 4))
    (folder / "qrels.txt").write_text(judged)
    return run


@pytest.mark.slow
def test_the_recipe_gives_the_scores_of_one_process(tmp_path):
    pytest.importorskip("pyspark", reason="Spark is not installed; scripts/test --full installs it")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    run = write_run(tmp_path)
    script = tmp_path / "recipe.py"
    script.write_text(recipe(tmp_path))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, script],
        env={**environment, "PYSPARK_SUBMIT_ARGS": "--master local[2] --conf spark.ui.enabled=false pyspark-shell"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = rs.Scores.from_json((tmp_path / "scores.json").read_text())["bm25"]
    whole = rs.evaluate(tmp_path / "qrels.txt", {"bm25": run}, MEASURES)["bm25"]
    assert found.query_ids == whole.query_ids
    assert np.array_equal(found.values, whole.values)
