import pytest

from tests.fakes.fake_terminal import FakeTerminal
from tests.support.manual_clock import ManualClock
from zkconsumer.cli import progress as module
from zkconsumer.cli.progress import nothing, progress


def test_no_progress_is_shown_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """The library that draws it is not even loaded."""
    with progress("writing offsets", 10) as advance:
        advance(10)
        assert advance is nothing
    assert capsys.readouterr() == ("", "")


def test_without_rich_progress_is_a_plain_line() -> None:
    """The line is updated a few times a second at most, and erased at the end."""
    clock, stream = ManualClock(), FakeTerminal()
    for advance in module._plain("writing", 3, "offsets", stream, clock):
        advance(1)
        assert stream.getvalue() == ""
        clock.advance(500)
        advance(1)
        assert stream.getvalue() == "\rwriting: 2 of 3 offsets"
    assert stream.getvalue().endswith("\r                       \r")


def test_no_progress_is_shown_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot return to the start of a line."""
    stream = FakeTerminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "dumb")
    with progress("writing", None) as advance:
        advance(5)
    assert stream.getvalue() == ""
