import pytest

from tests.fakes.fake_terminal import FakeTerminal
from tests.support.manual_clock import ManualClock
from zkconsumer.cli import progress as module
from zkconsumer.cli.progress import nothing, progress


def test_nothing_is_drawn_in_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor is anything loaded for it."""
    with progress("writing offsets", 10) as advance:
        advance(10)
        assert advance is nothing
    assert capsys.readouterr() == ("", "")


def test_a_plain_line_where_rich_is_missing() -> None:
    """A few times a second at most, and gone at the end."""
    clock, stream = ManualClock(), FakeTerminal()
    for advance in module._plain("writing", 3, "offsets", stream, clock):
        advance(1)
        assert stream.getvalue() == ""
        clock.advance(500)
        advance(1)
        assert stream.getvalue() == "\rwriting: 2 of 3 offsets"
    assert stream.getvalue().endswith("\r                       \r")


def test_a_dumb_terminal_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can't go back to the beginning of a line."""
    stream = FakeTerminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "dumb")
    with progress("writing", None) as advance:
        advance(5)
    assert stream.getvalue() == ""
