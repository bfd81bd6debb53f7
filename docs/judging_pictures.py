"""Makes the pictures of docs/judging.md from the story that the page tells; `scripts/pictures` calls it.

The blocks of the page are run from top to bottom in an empty folder, as the tests run them. What only a picture needs,
as a rater in the middle of the work, is done in a copy of the store, so that the story goes on as it is told.
"""

# ruff: noqa: INP001 (a script, not a package)

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import rankscope as rs
from rankscope.judging.rater_view import SaveRequest
from rankscope.judging.session import open_session

DOCS = Path(__file__).parent
PAGE = DOCS / "judging.md"
FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOKEN = "pictures"  # noqa: S105 (of a server that runs as long as this script)
WIDTH = 1440
LARGEST = 120_000
"""Bytes of a picture."""
N_DONE = 10
"""So many docs Ann has judged in the picture of her screen."""
SECONDS = 12.0


def story() -> tuple[str, str]:
    """Return the page in two parts: until raters were invited, and until qrels are made."""
    whole = PAGE.read_text("utf-8")
    start, rest = whole.split("## From files and to files", 1)
    return start, rest.partition("## Labels of a model")[0]


def run(part: str, folder: Path, namespace: dict[str, Any]) -> None:
    """Run the blocks of a part of the page in a folder."""
    for language, text in FENCE.findall(part):
        if language == "python":
            exec(text, namespace)  # noqa: S102 (our own page)
            continue
        for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
            shell(command, folder)


def shell(command: str, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONUTF8": "1"}
    subprocess.run(["bash", "-c", command], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603, S607


@contextlib.contextmanager
def browser_on(folder: Path) -> Iterator[Page]:
    """Serve the project of a folder, and open a browser there, signed in."""
    command = [sys.executable, "-m", "rankscope", "serve", str(folder), "--port", "0"]
    environment = {**os.environ, "RANKSCOPE_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)  # noqa: S603
    try:
        url = re.search(r"http://[^/\s]+", server.stderr.readline() if server.stderr is not None else "")
        if url is None:
            raise SystemExit("the server has not started")
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(
                viewport={"width": WIDTH, "height": 900}, color_scheme="light", base_url=url[0], locale="en-GB"
            )
            page.goto(f"/?token={TOKEN}")
            yield page
            browser.close()
    finally:
        server.terminate()
        server.wait()


def keep(page: Page, name: str, height: int) -> None:
    """Write what is on the screen as a picture of the page."""
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.wait_for_timeout(300)
    file = DOCS / f"judging-{name}.webp"
    Image.open(BytesIO(page.screenshot())).convert("RGB").save(file, quality=80, method=6)
    size = file.stat().st_size
    sys.stdout.write(f"{file} ({size:,} bytes)\n")
    if size > LARGEST:
        raise SystemExit(f"{file.name} is larger than {LARGEST:,} bytes: make it lower")


def link_of(folder: Path, task: str, name: str, said: dict[tuple[str, str], str] | None = None) -> str:
    """Return the address of a new link of a rater, who has judged the first docs of the queue as `said`."""
    with rs.open_store(folder) as store:
        found = store.tasks.get(task)
        known = [rater for rater in store.raters.list(found) if rater.name == name]
        _, token = store.raters.renew(known[0].number) if known else store.raters.invite(found, name=name)
        session = open_session(store, token)
        for item in session.state().items[:N_DONE] if said else ():
            grade, flag, note = (said or {})[item.query, item.doc].rstrip("b").partition("x:")
            asked = SaveRequest(
                uuid=str(uuid.uuid4()),
                query=item.query,
                doc=item.doc,
                grade=float(grade),
                flag=bool(flag),
                note=note.replace("_", " "),
                seconds=SECONDS,
                replaces=item.state.uuid,
            )
            if (answer := session.save(asked)).status != "ok":
                raise SystemExit(f"{item.query}, {item.doc}: {answer.reason}")
    return f"/judge/start?invite={token}"


def picture_of_a_doc(folder: Path, said: dict[tuple[str, str], str]) -> None:
    """Take the screen of Ann, who has judged some docs."""
    link = link_of(folder, "first-two", "Ann", said)
    with browser_on(folder) as page:
        page.goto(link)
        page.locator("#title:not(:empty)").wait_for()
        page.locator("#settle:not([hidden])").wait_for()
        keep(page, "doc", 700)


def picture_of_lists(folder: Path) -> None:
    """Take two lists side by side: a doc is flagged, another one chosen, and the right list is better."""
    with browser_on(folder) as page:
        page.goto(link_of(folder, "side-by-side", "Ann"))
        page.locator(".board2").nth(1).wait_for()
        for key in ("j", "j", "x"):
            page.keyboard.press(key)
        page.get_by_label("Note").fill("cosmetic only")
        page.keyboard.press("Enter")
        page.get_by_text("cosmetic only").first.wait_for()
        for key in ("l", "k", "k", "b", "4"):
            page.keyboard.press(key)
        page.get_by_text("You would choose this one").first.wait_for()
        page.locator("#saved", has_text=re.compile("^Saved$")).wait_for()
        keep(page, "lists", 900)


def pictures_of_results(folder: Path) -> None:
    """Take the page of the task, how raters agree, and what they flag and choose."""
    with browser_on(folder) as page:
        for path, name, height in (
            ("/judge/show", "task", 1000),
            ("/agreement", "agreement", 1000),
            ("/flags", "flags", 1000),
        ):
            page.goto(f"{path}?task=first-two")
            keep(page, name, height)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clinic, namespace = folder / "clinic", {"__name__": "judging"}
        os.chdir(folder)
        before, after = story()
        run(before, folder, namespace)
        working = folder / "working"
        shutil.copytree(clinic, working)
        run(after, folder, namespace)
        said = {(query, doc): ann for query, doc, ann, _ in map(str.split, namespace["SAID"].splitlines())}
        picture_of_a_doc(working, said)
        shell("rankscope judge create side-by-side algorithmic negatives --lists --k 3 --store working", folder)
        picture_of_lists(working)
        pictures_of_results(clinic)


if __name__ == "__main__":
    main()
