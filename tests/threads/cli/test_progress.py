"""Progress on a terminal, on real threads (the unit tests of the same name hold the rest)."""

import pytest

from tests.fakes.fake_terminal import FakeTerminal
from zkconsumer.cli.progress import progress


def test_rich_draws_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar names what is counted; with NO_COLOR it has no colours."""
    stream = FakeTerminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    with progress("writing", 1_000, unit="offsets") as advance:
        advance(250)
    shown = stream.getvalue()
    assert "writing" in shown
    assert "offsets" in shown
    # Colours are SGR sequences; a cursor movement is none.
    assert "\x1b[3" not in shown.replace("\x1b[3D", "")
