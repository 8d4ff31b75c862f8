"""Opens a page in the browser of the terminal's user."""

import contextlib
import os
import sys
import webbrowser

from zkconsumer.scope import ThreadScope

_DISPLAYS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")


def open_page(url: str) -> None:
    """Open a page if there is a terminal and a browser; do not wait for the browser.

    Without a display only browsers in the terminal remain, which shows our own lines: they are
    started only if ``BROWSER`` names one.

    Args:
        url: the address, which was printed before, for users without a browser on this machine.
    """
    has_display = sys.platform == "darwin" or any(map(os.environ.get, _DISPLAYS))
    if not has_display or sys.stdout is None or not sys.stdout.isatty():
        return

    def open_it() -> None:
        with contextlib.suppress(OSError, webbrowser.Error):
            webbrowser.open(url)

    # A command of BROWSER may run until its window is closed.
    ThreadScope("page").spawn("browser", open_it, stop=lambda: None)
