"""Lets the tests of this folder drive a browser and use the sample reports."""

import sys
from pathlib import Path

import pytest

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "report" / "render")]

from headless import Browser, find_chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all tests."""
    if find_chromium() is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    running = Browser(tmp_path_factory.mktemp("browser"))
    yield running
    running.close()
