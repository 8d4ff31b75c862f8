"""Output that is refreshed in place."""

import argparse
import os

import pytest

from tests.fakes.fake_terminal import FakeTerminal
from tests.support.manual_clock import ManualClock
from zkconsumer.cli import live
from zkconsumer.cli.live import Screen, add_watch_arguments, snapshots


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    """Make standard output a terminal of five lines.

    A fixture would not do, since pytest sets standard output again after it.
    """
    terminal = FakeTerminal()
    monkeypatch.setattr("sys.stdout", terminal)
    size = os.terminal_size((80, 5))
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_args, **_named: size)
    return terminal


def test_a_terminal_is_redrawn_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen is cleared once, to avoid flicker; leftovers of longer output are erased."""
    terminal = on_terminal(monkeypatch)
    screen = Screen()
    screen.show("a\nb\n")
    screen.show("c\n")
    assert terminal.getvalue() == (
        "\x1b[2J\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J" + "\x1b[Hc\x1b[K\n\x1b[J"
    )


def test_lines_that_do_not_fit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output that scrolled would be garbled by the next refresh."""
    terminal = on_terminal(monkeypatch)
    Screen().show("".join(f"{number}\n" for number in range(9)))
    shown = terminal.getvalue().replace("\x1b[K", "").splitlines()
    assert shown[1:4] == ["1", "2", "... 6 more lines: make the window larger"]


def test_without_a_terminal_output_is_appended(capsys: pytest.CaptureFixture[str]) -> None:
    """Output to a file or pipe has no control sequences."""
    screen = Screen()
    screen.show("a\n")
    screen.show("b\n")
    assert capsys.readouterr().out == "a\nb\n"


def test_refreshes_keep_their_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """A late refresh is not made up for, and there is no wait after the last one."""
    clock = ManualClock()
    waited: list[int] = []
    monkeypatch.setattr(live, "wait_ms", waited.append)
    for number in snapshots(400, 3, clock):
        clock.advance((100, 1_000, 100)[number])
    assert waited == [300, 0]


def test_a_long_wait_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait is split into short ones, between which signals are handled."""
    waited: list[int] = []
    monkeypatch.setattr(live, "wait_ms", waited.append)
    assert list(snapshots(1_200, 2, ManualClock())) == [0, 1]
    assert (sum(waited), max(waited)) == (1_200, 500)


def test_the_interval_is_given_in_seconds() -> None:
    """The interval may be a fraction of a second."""
    parser = argparse.ArgumentParser()
    add_watch_arguments(parser)
    assert parser.parse_args([]).interval_ms == 2_000
    assert parser.parse_args(["--interval", "0.25"]).interval_ms == 250
