"""The web page of an invented cluster, and a browser that opens it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.browser import chromium
from tests.support.paper_site import PaperSite, served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a browser for the tests of a module."""
    with chromium() as opened:
        yield opened


@pytest.fixture
def site() -> Iterator[PaperSite]:
    """Serve a site of its own for each test, since tests change what it shows."""
    with served(PaperSite()) as opened:
        yield opened
