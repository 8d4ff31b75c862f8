import os

import pytest

from zkconsumer.cli.output import Output, OutputClosed, show_as_original


def test_output_is_not_buffered() -> None:
    """A line can be read from the pipe as soon as it is written."""
    reader, writer = os.pipe()
    try:
        Output(writer).write(b"line\n")
        assert os.read(reader, 100) == b"line\n"
    finally:
        os.close(reader)
        os.close(writer)


def test_a_closed_reader_is_noticed() -> None:
    """Writing raises ``OutputClosed``, which is not an error."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with pytest.raises(OutputClosed):
            Output(writer).write(b"line\n")
    finally:
        os.close(writer)


def test_a_full_disk_is_an_error() -> None:
    """It is not mistaken for a closed reader."""
    device = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(OSError, match="No space left"):
            Output(device).write(b"line\n")
    finally:
        os.close(device)


@pytest.mark.parametrize(
    ("is_terminal", "printed"), [(True, "g\\x1b[31m\t1\n"), (False, "g\x1b[31m\t1\n")]
)
def test_the_output_of_an_original_does_not_control_a_terminal(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_terminal: bool,
    printed: str,
) -> None:
    """Coordinators accept any group id; programs get it to the byte."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    show_as_original("g\x1b[31m\t1\n")
    assert capsys.readouterr().out == printed
