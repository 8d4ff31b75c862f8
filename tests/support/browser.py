"""A real Chromium that opens the web pages, and the errors that no page may cause."""

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
    """Start the distribution's Chromium, headless.

    Keep it no longer than a module's tests: while it is open, asyncio has a loop in this thread.
    """
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    assert path is not None, "no Chromium: scripts/need-chromium installs one"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        try:
            yield browser
        finally:
            browser.close()


class Window:
    """A browser page, and the errors that it caused.

    Attributes:
        page: Playwright's page.
        complaints: errors of scripts and of the console, and violations of the security policy.
        strangers: requested URLs of other hosts than the page's own.
    """

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(_TIMEOUT_MS)
        expect.set_options(timeout=_TIMEOUT_MS)
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self._address = address
        self._host = urlsplit(address).netloc
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self._on_notice(message.type, message.text))
        context.on("request", lambda request: self._note(request.url))

    def open(self, path: str) -> Page:
        """Go to an address of the site."""
        self.page.goto(self._address.rstrip("/") + path)
        return self.page

    def clean(self) -> bool:
        """Assert that the page caused no error and no request to another host; return True."""
        assert self.complaints == [], self.complaints
        assert self.strangers == []
        return True

    def _on_notice(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.complaints.append(text)

    def _note(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"data", "blob"} and parts.netloc != self._host:
            self.strangers.append(url)


@contextmanager
def window(
    browser: Browser,
    address: str,
    *,
    scheme: Scheme = "light",
    now_ms: int | None = None,
    **more: Any,
) -> Iterator[Window]:
    """Open a page in a fresh profile with reduced motion, so that animations are drawn still.

    Args:
        browser: the browser to open it in.
        address: the base URL of the site.
        scheme: the colour scheme that the system prefers.
        now_ms: the browser's clock, which stands still; None for the real time.
        more: more options of Playwright's browser context.
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
def darkened(page: Page) -> Iterator[None]:
    """Emulate a system that prefers dark colours; the open page is drawn again."""
    page.emulate_media(color_scheme="dark")
    try:
        yield
    finally:
        page.emulate_media(color_scheme="light")


def barriers(page: Page, scheme: Scheme = "light") -> list[str]:
    """Return axe's serious and critical accessibility violations.

    For dark colours only the contrast is checked: all else is the same as with light ones.
    """
    options = {"resultTypes": ["violations"]}
    if scheme == "dark":
        options["runOnly"] = ["color-contrast"]
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{item['impact']} {item['id']}: {[node['html'][:200] for node in item['nodes'][:3]]}"
        for item in found
        if item["impact"] in {"serious", "critical"}
    ]


def picture(page: Page, name: str) -> None:
    """Save a screenshot for the documentation, if ``ZKCONSUMER_SCREENSHOTS`` is set."""
    if SCREENSHOTS:
        IMAGES.mkdir(exist_ok=True)
        page.screenshot(path=IMAGES / f"page-{name}.png", full_page=True, animations="disabled")


def painted(page: Page, selector: str) -> int:
    """Return how many different colours a canvas shows."""
    found: int = page.evaluate(
        """selector => {
            const canvas = document.querySelector(selector);
            if (!canvas || !canvas.width) return 0;
            const { width, height } = canvas;
            // On a copy: Chromium warns about a canvas that is read twice.
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
    return found
