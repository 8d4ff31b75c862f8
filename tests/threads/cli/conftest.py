"""Fixtures that the tests of commands share."""

from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import pipe

__all__ = ["PrintedLines", "lines", "pipe"]

PrintedLines = Callable[[], list[str]]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> PrintedLines:
    """Return the lines that were printed since the last call."""

    def printed() -> list[str]:
        return capsys.readouterr().out.splitlines()

    return printed
