"""When a browser is started, and when not; the demo's test starts a real command."""

import sys
import webbrowser

import pytest

from tests.support.waiting import wait_until
from zkconsumer.cli.page_browser import open_page


@pytest.mark.parametrize(
    ("variable", "is_terminal", "is_opened"),
    [
        ("BROWSER", True, True),
        ("DISPLAY", True, True),
        ("DISPLAY", False, False),
        ("", True, False),
    ],
)
def test_the_page_is_opened_only_at_a_terminal_with_a_browser(
    monkeypatch: pytest.MonkeyPatch, variable: str, is_terminal: bool, is_opened: bool
) -> None:
    """Without a display a text browser would take the terminal over."""
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "something")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    opened: list[str] = []

    def open_it(url: str) -> bool:
        opened.append(url)
        raise webbrowser.Error("it does not start")

    monkeypatch.setattr(webbrowser, "open", open_it)
    open_page("http://127.0.0.1:1/")
    if is_opened:
        wait_until(lambda: opened, what="the browser")
    assert opened == (["http://127.0.0.1:1/"] if is_opened else [])
