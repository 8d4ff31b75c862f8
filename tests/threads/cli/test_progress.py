"""What the unit tests of the same name leave out: on real threads."""

import pytest

from tests.fakes.fake_terminal import FakeTerminal
from zkconsumer.cli.progress import progress


def test_rich_draws_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what is counted and of how many."""
    stream = FakeTerminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    with progress("writing", 1_000, unit="offsets") as advance:
        advance(250)
    shown = stream.getvalue()
    assert "writing" in shown
    assert "offsets" in shown
    # Colours are SGR sequences; moving the cursor is none.
    assert "\x1b[3" not in shown.replace("\x1b[3D", "")
