"""How much waits in a pipe that nobody may ever read."""

import os
import sys

import pytest

from zkconsumer.cli.output import Output
from zkconsumer.cli.pipes import PipeWindow, watching_reader

LINE = b"a line of some fifty characters, as logs have them\n"
LONG_MS = 20_000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calls are Linux's")


def test_who_reads_on_gets_the_whole_pipe(pipe: tuple[int, int]) -> None:
    """After a megabyte it is as large as it was, and nothing is waited for."""
    reader, writer = pipe
    window = PipeWindow(writer, grace_ms=LONG_MS)
    opened = []
    for number in range(4 << 10):
        os.write(writer, b"x" * 1024)
        os.read(reader, 1024)
        assert window.wrote(1024)
        if window.is_open:
            opened.append(number)
    assert opened[0] + 1 >= 1 << 10


def test_who_takes_nothing_gets_it_too(pipe: tuple[int, int]) -> None:
    """A program may wait for our end before it reads."""
    _, writer = pipe
    window = PipeWindow(writer, grace_ms=20)
    os.write(writer, LINE)
    assert window.wrote(len(LINE))
    assert window.is_open


def test_what_was_read_before_the_reader_went_counts(pipe: tuple[int, int]) -> None:
    """And what was not does not."""
    reader, writer = pipe
    window = PipeWindow(writer, grace_ms=LONG_MS)
    os.write(writer, LINE)
    os.read(reader, len(LINE))
    assert window.wrote(len(LINE))
    os.write(writer, LINE)
    os.close(reader)
    assert not window.wrote(len(LINE))


def test_the_pipe_is_left_as_it_was(pipe: tuple[int, int]) -> None:
    """Who writes into it after us has all of it."""
    reader, writer = pipe
    output = Output(writer)
    output.close()
    os.set_blocking(writer, False)
    assert os.write(writer, b"x" * 65_536) == 65_536
    assert len(os.read(reader, 65_536)) == 65_536


def test_a_file_is_no_pipe(tmp_path: object) -> None:
    """Nothing is waited for."""
    with open(f"{tmp_path}/out", "wb") as file:
        assert PipeWindow(file.fileno()).is_open
        with watching_reader(file.fileno(), pytest.fail):
            Output(file.fileno()).write(LINE)
