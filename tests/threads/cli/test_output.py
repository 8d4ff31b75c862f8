"""Output to slow readers, on real threads (the unit tests of the same name hold the rest)."""

import os
import threading

import pytest

from zkconsumer.cli.output import Output


@pytest.mark.parametrize("blocking", [True, False])
def test_a_slow_reader_is_waited_for(blocking: bool) -> None:
    """All of it is written, to a blocking pipe and to a non-blocking one."""
    data = b"0123456789" * 100_000
    reader, writer = os.pipe()
    os.set_blocking(writer, blocking)
    received = bytearray()

    def read() -> None:
        while part := os.read(reader, 65_536):
            received.extend(part)

    thread = threading.Thread(target=read)  # noqa: TID251 - ends with the pipe, joined below
    thread.start()
    try:
        Output(writer).write(data)
    finally:
        os.close(writer)
        thread.join(30)
        os.close(reader)
    assert bytes(received) == data
