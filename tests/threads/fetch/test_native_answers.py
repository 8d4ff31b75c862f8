"""Responses to the native loop that end early, are malformed, or come in pieces."""

import functools
from dataclasses import replace

import pytest

from tests.support.log_broker import LogBroker
from tests.support.log_readers import SETTINGS, lost_early, native_reader
from tests.support.queues import needs_native_engine

pytestmark = needs_native_engine


def test_a_connection_cut_at_any_byte_of_a_response_loses_and_repeats_nothing() -> None:
    """A partial response is ignored; the next connection goes on where the queue ends."""
    cut = largest = 0
    while cut <= largest:
        with LogBroker(2) as broker:
            for log in broker.logs:
                log.add([b"abc"])
            whole: list[int] = []
            broker.mangle = functools.partial(measured, whole)
            broker.cuts = [cut]
            with native_reader(broker) as reader:
                reader.add_all()
                received = reader.read_all()
            assert [len(received[number].records) for number in range(2)] == [1, 1]
            assert lost_early(reader) == []
            # Of one partition, if the other was added after the request: no reason to end.
            largest = max(largest, whole[0])
            cut += 1
    assert cut > 100


def measured(sizes: list[int], frame: bytes) -> bytes:
    """Note the size of a frame, and return it."""
    sizes.append(len(frame))
    return frame


def with_number(frame: bytes, at: int, number: int, size: int = 4) -> bytes:
    """Replace the number at one place of a frame."""
    return frame[:at] + number.to_bytes(size, "big", signed=True) + frame[at + size :]


MALFORMED = {
    "a negative length": (0, -1),
    "a length too small": (0, 3),
    "a length too large": (0, 2**31 - 1),
    "a length beyond what comes": (0, 150),
    "a length short of what comes": (0, 50),
    "another correlation id": (4, 77),
    "a negative count of topics": (8, -1),
    "too many topics": (8, 2),
    "too few topics": (8, 0),
    "a negative count of partitions": (15, -1),
    "too many partitions": (15, 1_000_000),
    "too few partitions": (15, 1),
    "a set beyond the frame": (33, 1_000),
    "a negative set": (33, -2),
    "a huge set": (33, 2**31 - 1),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_response_opens_a_new_connection(what: str) -> None:
    """It is ignored as a whole, as the loop in Python does."""
    at, number = MALFORMED[what]
    with LogBroker(2) as broker:
        for log in broker.logs:
            log.add([b"abc"])

        def mangle(frame: bytes) -> bytes:
            return with_number(frame, at, number) if len(broker.requests) == 1 else frame

        broker.mangle = mangle
        # Hedged after a fifteenth of it: not where a busy machine pauses for a moment.
        with native_reader(broker, settings=replace(SETTINGS, request_timeout_ms=6_000)) as reader:
            reader.add_all()
            received = reader.read_all()
        assert [len(received[number].records) for number in range(2)] == [1, 1]
        assert broker.connections == 2
        assert lost_early(reader) == []


def test_a_partition_that_was_not_requested_is_skipped() -> None:
    """The other one's records count, and the one that is missing is given back."""
    with LogBroker(2) as broker:
        for log in broker.logs:
            log.add([b"abc"])
        names: list[bytes] = []

        def mangle(frame: bytes) -> bytes:
            names.append(frame[19:23])  # the number of its first partition
            return with_number(frame, 19, 5) if len(names) == 1 else frame

        broker.mangle = mangle
        with native_reader(broker) as reader:
            reader.add_all()
            received = reader.read_all()
        (lost,) = lost_early(reader)
        left_out = lost.claim.topic_partition.partition
        assert (left_out, lost.fetch_offset) == (int.from_bytes(names[0], "big"), 0)
        assert len(received[1 - left_out].records) == 1
        assert broker.connections == 1


@pytest.mark.parametrize("size", [1, 3, 17, 1_000])
def test_a_response_in_pieces_is_read_as_it_comes(size: int) -> None:
    """It may even come byte by byte."""
    with LogBroker(3) as broker:
        broker.pieces = [size]
        for log in broker.logs:
            log.add([b"abc"] * 20)
        with native_reader(broker) as reader:
            reader.add_all()
            assert all(len(received.records) == 20 for received in reader.read_all().values())
