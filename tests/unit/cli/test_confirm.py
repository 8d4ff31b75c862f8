"""Questions before something is deleted, and wishes that are refused."""

import argparse
import io

import pytest

from zkconsumer.cli.confirm import confirm
from zkconsumer.cli.refusal import refusing
from zkconsumer.errors import ConfigError, RegistryError


class Typed(io.StringIO):
    """Somebody at a terminal."""

    def isatty(self) -> bool:
        """See the base class."""
        return True


@pytest.mark.parametrize(("typed", "goes_on"), [("g\n", True), ("y\n", False), ("", False)])
def test_the_name_has_to_be_typed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    goes_on: bool,
) -> None:
    """Nothing else will do, nor the end of the input."""
    monkeypatch.setattr("sys.stdin", Typed(typed))
    assert confirm("Delete group g?", "g", yes=False) is goes_on
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Delete group g?\nType g to go on: ")


def test_where_nobody_can_be_asked_the_answer_is_no(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe that happens to hold the name is nobody; --yes is."""
    monkeypatch.setattr("sys.stdin", io.StringIO("g\n"))
    assert not confirm("Delete group g?", "g", yes=False)
    assert "--yes" in capsys.readouterr().err
    assert confirm("Delete group g?", "g", yes=True)
    assert capsys.readouterr().err == ""


def test_a_wrong_wish_ends_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    """In one line; other errors are for the main program."""

    @refusing
    def refused(_args: argparse.Namespace) -> int:
        raise ConfigError("no such\ngroup")

    @refusing
    def failed(_args: argparse.Namespace) -> int:
        raise RegistryError("no answer")

    assert refused(argparse.Namespace()) == 2
    assert capsys.readouterr().err == "zkconsumer: no such group\n"
    with pytest.raises(RegistryError):
        failed(argparse.Namespace())


def test_an_empty_line_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though a group's name may be blanks alone; and no name reaches the terminal as it is."""
    monkeypatch.setattr("sys.stdin", Typed("\n"))
    assert not confirm("Delete\ngroup \x1b[31m?", "  ", yes=False)
    assert capsys.readouterr().err.startswith("Delete\ngroup \\x1b[31m?\n")
