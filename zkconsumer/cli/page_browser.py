"""Opens a page in the browser of the terminal's user."""

import contextlib
import os
import sys
import webbrowser

from zkconsumer.scope import ThreadScope

_DISPLAYS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")


def open_page(url: str) -> None:
    """Open a page if there is a terminal and a browser; do not wait for the browser.

    Without a display only a browser in the terminal could be started, which shows our own output:
    that is done only if ``BROWSER`` is set.

    Args:
        url: the address, which the caller has printed, for users without a browser here.
    """
    has_display = sys.platform == "darwin" or any(map(os.environ.get, _DISPLAYS))
    if not has_display or sys.stdout is None or not sys.stdout.isatty():
        return

    def open_it() -> None:
        with contextlib.suppress(OSError, webbrowser.Error):
            webbrowser.open(url)

    # A command of BROWSER may run until its window is closed.
    ThreadScope("page").spawn("browser", open_it, stop=lambda: None)
