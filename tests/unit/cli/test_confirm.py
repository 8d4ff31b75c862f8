"""Confirmations before something is deleted."""

import io

import pytest

from tests.fakes.fake_terminal import FakeTerminal
from zkconsumer.cli.confirm import confirm


@pytest.mark.parametrize(("typed", "goes_on"), [("g\n", True), ("y\n", False), ("", False)])
def test_the_name_has_to_be_typed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    goes_on: bool,
) -> None:
    """Neither another input nor the end of the input confirms."""
    monkeypatch.setattr("sys.stdin", FakeTerminal(typed))
    assert confirm("Delete group g?", "g", yes=False) is goes_on
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Delete group g?\nType g to go on: ")


def test_without_a_terminal_nothing_is_confirmed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe that happens to hold the name does not confirm; ``--yes`` does."""
    monkeypatch.setattr("sys.stdin", io.StringIO("g\n"))
    assert not confirm("Delete group g?", "g", yes=False)
    assert "--yes" in capsys.readouterr().err
    assert confirm("Delete group g?", "g", yes=True)
    assert capsys.readouterr().err == ""


def test_an_empty_line_does_not_confirm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even for a name of blanks; and names are escaped before they are printed."""
    monkeypatch.setattr("sys.stdin", FakeTerminal("\n"))
    assert not confirm("Delete\ngroup \x1b[31m?", "  ", yes=False)
    assert capsys.readouterr().err.startswith("Delete\ngroup \\x1b[31m?\n")
