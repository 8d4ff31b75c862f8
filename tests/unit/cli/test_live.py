"""Showing something again and again."""

import argparse
import os

import pytest

from tests.fakes.fake_terminal import FakeTerminal
from tests.support.manual_clock import ManualClock
from zkconsumer.cli import live
from zkconsumer.cli.live import Screen, add_watch_arguments, snapshots


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    """Make standard output one, five lines high; what a fixture sets would be taken away again."""
    terminal = FakeTerminal()
    monkeypatch.setattr("sys.stdout", terminal)
    size = os.terminal_size((80, 5))
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_args, **_named: size)
    return terminal


def test_a_terminal_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cleared once, so that nothing flickers; what was longer before is wiped out."""
    terminal = on_terminal(monkeypatch)
    screen = Screen()
    screen.show("a\nb\n")
    screen.show("c\n")
    assert terminal.getvalue() == (
        "\x1b[2J\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J" + "\x1b[Hc\x1b[K\n\x1b[J"
    )


def test_what_has_no_room_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that scrolls would show garbage."""
    terminal = on_terminal(monkeypatch)
    Screen().show("".join(f"{number}\n" for number in range(9)))
    shown = terminal.getvalue().replace("\x1b[K", "").splitlines()
    assert shown[1:4] == ["1", "2", "... 6 more lines: make the window larger"]


def test_elsewhere_it_is_appended(capsys: pytest.CaptureFixture[str]) -> None:
    """As it is."""
    screen = Screen()
    screen.show("a\n")
    screen.show("b\n")
    assert capsys.readouterr().out == "a\nb\n"


def test_looks_keep_their_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is late is not made up for; nobody waits behind the last one."""
    clock = ManualClock()
    waited: list[int] = []
    monkeypatch.setattr(live, "wait_ms", waited.append)
    for number in snapshots(400, 3, clock):
        clock.advance((100, 1_000, 100)[number])
    assert waited == [300, 0]


def test_a_long_wait_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cut into naps, between which signals are heard."""
    waited: list[int] = []
    monkeypatch.setattr(live, "wait_ms", waited.append)
    assert list(snapshots(1_200, 2, ManualClock())) == [0, 1]
    assert (sum(waited), max(waited)) == (1_200, 500)


def test_flags() -> None:
    """Seconds, with a fraction."""
    parser = argparse.ArgumentParser()
    add_watch_arguments(parser)
    assert parser.parse_args([]).interval_ms == 2_000
    assert parser.parse_args(["--interval", "0.25"]).interval_ms == 250
