"""Runs docs/tutorial.ipynb from top to bottom and writes it with what comes out; `scripts/tutorial` calls it.

Charts are kept as SVG alone, which every viewer shows, and what differs from machine to machine is taken out of texts.
"""

# ruff: noqa: INP001 (a script, not a package)

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

TUTORIAL = Path(__file__).parent / "tutorial.ipynb"
CELL_FILE = re.compile(r"\S*ipykernel_\d+\S*\.py:\d+")
"""How a warning names the line of a cell: a file that differs each time."""


def executed(path: Path = TUTORIAL) -> Any:
    """Return the notebook with the outputs of now; it runs in an empty folder."""
    notebook = nbformat.read(path, as_version=4)
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=300, kernel_name="python3", record_timing=False, resources={"metadata": {"path": folder}}
        )
        client.execute()
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        if "image/svg+xml" in output.get("data", {}):
            output.data.pop("text/html", None)
        if output.output_type == "stream":
            output.text = CELL_FILE.sub("this cell", output.text)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def texts(notebook: Any) -> list[tuple[str, list[str]]]:
    """Return what a reader sees of each output: its text, and which other forms it has, such as a picture."""
    return [
        (output["text"], []) if output.output_type == "stream" else (output.data["text/plain"], sorted(output.data))
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    ]


if __name__ == "__main__":
    sys.stdout.write(f"{TUTORIAL}\n")
    nbformat.write(executed(), TUTORIAL)
