"""A real Chromium that shows the web interface, and checks that hold on every page."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

Scheme = Literal["light", "dark"]

SCREENSHOTS = os.environ.get("ZKCONSUMER_SCREENSHOTS") == "1"
IMAGES = Path(__file__).parents[2] / "docs" / "images"
_TIMEOUT_MS = 15_000
"""How long to wait for an element; on a busy machine a page may take seconds."""
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the distribution's Chromium without a window.

    Close it after a module's tests: while it runs, this thread has a running asyncio loop.
    """
    path = next((executable for name in _NAMES if (executable := shutil.which(name))), None)
    assert path is not None, "no Chromium: scripts/need-chromium installs one"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        try:
            yield browser
        finally:
            browser.close()


class Window:
    """An open page, and the errors and foreign requests that it caused.

    Attributes:
        page: the page of playwright.
        errors: errors of scripts and the console (including security policy violations).
        foreign_requests: requested addresses on other hosts.
    """

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(_TIMEOUT_MS)
        expect.set_options(timeout=_TIMEOUT_MS)
        self.errors: list[str] = []
        self.foreign_requests: list[str] = []
        self._address = address
        self._host = urlsplit(address).netloc
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self._on_notice(message.type, message.text))
        context.on("request", lambda request: self._note(request.url))

    def open(self, path: str) -> Page:
        """Go to an address of the site."""
        self.page.goto(self._address.rstrip("/") + path)
        return self.page

    def assert_clean(self) -> bool:
        """Assert that there were no errors, and no requests to other hosts."""
        assert self.errors == [], self.errors
        assert self.foreign_requests == []
        return True

    def _on_notice(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.errors.append(text)

    def _note(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"data", "blob"} and parts.netloc != self._host:
            self.foreign_requests.append(url)


@contextmanager
def window(
    browser: Browser,
    address: str,
    *,
    scheme: Scheme = "light",
    now_ms: int | None = None,
    **more: Any,
) -> Iterator[Window]:
    """Open a window with a fresh profile that prefers reduced motion, so nothing is animated.

    Args:
        browser: the browser.
        address: the site's address.
        scheme: the system's preferred colour scheme.
        now_ms: a fixed time for the browser's clock; None: the real time.
        more: further settings of the browser context.
    """
    context = browser.new_context(
        **{
            "viewport": {"width": 1440, "height": 900},
            "color_scheme": scheme,
            "reduced_motion": "reduce",
            "locale": "en-GB",
            "timezone_id": "UTC",
            **more,
        }
    )
    try:
        opened = Window(context, address)
        if now_ms is not None:
            opened.page.clock.set_fixed_time(datetime.fromtimestamp(now_ms / 1000, UTC))
        yield opened
    finally:
        context.close()


@contextmanager
def dark_scheme(page: Page) -> Iterator[None]:
    """Let the system prefer dark colours during the context; the open page is redrawn."""
    page.emulate_media(color_scheme="dark")
    try:
        yield
    finally:
        page.emulate_media(color_scheme="light")


def accessibility_violations(page: Page, scheme: Scheme = "light") -> list[str]:
    """Return axe's serious and critical accessibility violations.

    In dark mode only contrast is checked: everything else is the same as in light mode.
    """
    options = {"resultTypes": ["violations"]}
    if scheme == "dark":
        options["runOnly"] = ["color-contrast"]
    violations = Axe().run(page, options=options).response["violations"]
    return [
        f"{item['impact']} {item['id']}: {[node['html'][:200] for node in item['nodes'][:3]]}"
        for item in violations
        if item["impact"] in {"serious", "critical"}
    ]


def screenshot(page: Page, name: str) -> None:
    """Save a screenshot for the documentation, if ZKCONSUMER_SCREENSHOTS is set."""
    if SCREENSHOTS:
        IMAGES.mkdir(exist_ok=True)
        page.screenshot(path=IMAGES / f"page-{name}.png", full_page=True, animations="disabled")


def count_colours(page: Page, selector: str) -> int:
    """Return the number of different colours in a canvas."""
    colours: int = page.evaluate(
        """selector => {
            const canvas = document.querySelector(selector);
            if (!canvas || !canvas.width) return 0;
            const { width, height } = canvas;
            // Read a copy: browsers warn if the same canvas is read twice.
            const copy = new OffscreenCanvas(width, height).getContext("2d");
            copy.drawImage(canvas, 0, 0);
            const data = copy.getImageData(0, 0, width, height).data;
            const seen = new Set();
            for (let at = 0; at < data.length; at += 4)
                if (data[at + 3]) seen.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
            return seen.size;
        }""",
        selector,
    )
    return colours
