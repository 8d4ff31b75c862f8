"""How much may wait in a pipe that perhaps nobody reads."""

import os
import sys

import pytest

from zkconsumer.cli.output import Output
from zkconsumer.cli.pipes import PipeWindow, watching_reader

LINE = b"a line of some fifty characters, as logs have them\n"
LONG_MS = 20_000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calls are Linux's")


def test_a_reader_that_keeps_reading_gets_the_full_pipe_size(pipe: tuple[int, int]) -> None:
    """After a megabyte the pipe has its full size again, and writes do not wait for the reader."""
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


def test_a_reader_that_reads_nothing_gets_the_full_pipe_size(pipe: tuple[int, int]) -> None:
    """After a grace period, since a program may read only after ours has ended."""
    _, writer = pipe
    window = PipeWindow(writer, grace_ms=20)
    os.write(writer, LINE)
    assert window.wrote(len(LINE))
    assert window.is_open


def test_only_data_read_before_the_reader_closed_counts(pipe: tuple[int, int]) -> None:
    """A write counts as read if the reader took it before closing."""
    reader, writer = pipe
    window = PipeWindow(writer, grace_ms=LONG_MS)
    os.write(writer, LINE)
    os.read(reader, len(LINE))
    assert window.wrote(len(LINE))
    os.write(writer, LINE)
    os.close(reader)
    assert not window.wrote(len(LINE))


def test_the_pipe_size_is_restored(pipe: tuple[int, int]) -> None:
    """A later writer to the pipe has its full size."""
    reader, writer = pipe
    output = Output(writer)
    output.close()
    os.set_blocking(writer, False)
    assert os.write(writer, b"x" * 65_536) == 65_536
    assert len(os.read(reader, 65_536)) == 65_536


def test_output_to_a_file_is_not_limited(tmp_path: object) -> None:
    """Writes to a file do not wait for a reader."""
    with open(f"{tmp_path}/out", "wb") as file:
        assert PipeWindow(file.fileno()).is_open
        with watching_reader(file.fileno(), pytest.fail):
            Output(file.fileno()).write(LINE)
