"""The web page of an invented cluster, and a browser that opens it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.browser import chromium
from tests.support.model_site import ModelSite, served


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a browser for the tests of a module."""
    with chromium() as opened:
        yield opened


@pytest.fixture
def site() -> Iterator[ModelSite]:
    """Serve a site of its own for each test, since tests change what it shows."""
    with served(ModelSite()) as opened:
        yield opened
