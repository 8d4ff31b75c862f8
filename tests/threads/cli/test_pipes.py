"""How many lines are left in a pipe whose reader has gone, on real threads."""

import os
import subprocess
import sys
import threading

import pytest

from tests.support.waiting import wait_until
from zkconsumer.cli.output import Output, OutputClosed
from zkconsumer.cli.pipes import watching_reader

LINE = b"a line of some fifty characters, as logs have them\n"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calls are Linux's")


def write_until_closed(writer: int) -> int:
    """Return how many lines were written until the reader was noticed to be gone."""
    output, count = Output(writer), 0
    try:
        for _ in range(100_000):
            output.write(LINE)
            count += 1
    except OutputClosed:
        return count
    finally:
        output.close()
    raise AssertionError("nobody closed the pipe")


@pytest.mark.parametrize(("wanted", "most"), [(1, 3), (10, 15), (1_000, 1_100)])
def test_a_reader_that_goes_leaves_few_lines_unread(
    pipe: tuple[int, int], wanted: int, most: int
) -> None:
    """Without a limit a pipe would hold more than a thousand."""
    reader, writer = pipe
    with subprocess.Popen(
        [sys.executable, "-c", f"import os\nfor _ in range({wanted}): os.read(0, {len(LINE)})"],
        stdin=reader,
    ):
        os.close(reader)
        assert wanted <= write_until_closed(writer) <= most


def test_a_reader_that_goes_is_noticed_without_a_write(pipe: tuple[int, int]) -> None:
    """A consumer that waits for a message would not notice it; after the block nobody is called."""
    reader, writer = pipe
    gone = threading.Event()
    with watching_reader(writer, gone.set):
        assert not gone.is_set()
    with watching_reader(writer, gone.set):
        os.close(reader)
        wait_until(gone.is_set, what="it is told")
