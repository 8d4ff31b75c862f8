import os

import pytest

from zkconsumer.cli.output import Output, OutputClosed


def test_what_is_written_has_left_at_once() -> None:
    """There is no buffer in between."""
    reader, writer = os.pipe()
    try:
        Output(writer).write(b"line\n")
        assert os.read(reader, 100) == b"line\n"
    finally:
        os.close(reader)
        os.close(writer)


def test_a_closed_reader_is_noticed() -> None:
    """By an exception of its own, which is no error."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with pytest.raises(OutputClosed):
            Output(writer).write(b"line\n")
    finally:
        os.close(writer)


def test_a_full_disk_is_an_error() -> None:
    """It is not taken for a reader that has gone."""
    device = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(OSError, match="No space left"):
            Output(device).write(b"line\n")
    finally:
        os.close(device)
