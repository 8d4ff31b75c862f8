"""What the native loop makes of answers that end too soon, make no sense, or come in pieces."""

import functools
from dataclasses import replace

import pytest

from tests.support.log_broker import LogBroker
from tests.support.log_readers import SETTINGS, lost_early, native_reader
from tests.support.queues import needs_native_engine

pytestmark = needs_native_engine


def test_a_connection_cut_at_any_byte_of_an_answer_loses_and_repeats_nothing() -> None:
    """Nothing of half an answer counts; the next connection goes on where the queue ends."""
    cut = 0
    is_whole = False
    while not is_whole:
        with LogBroker(2) as broker:
            for log in broker.logs:
                log.add([b"abc"])
            whole: list[int] = []
            broker.mangle = functools.partial(measured, whole)
            broker.cuts = [cut]
            with native_reader(broker) as one:
                one.add_all()
                came = one.read_all()
            assert [len(came[number].records) for number in range(2)] == [1, 1]
            assert lost_early(one) == []
            is_whole = cut == whole[0]
            cut += 1
    assert cut > 100


def measured(sizes: list[int], frame: bytes) -> bytes:
    """The frame, its size noted."""
    sizes.append(len(frame))
    return frame


def with_number(frame: bytes, at: int, number: int, size: int = 4) -> bytes:
    """A frame with another number in one place."""
    return frame[:at] + number.to_bytes(size, "big", signed=True) + frame[at + size :]


NONSENSE = {
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


@pytest.mark.parametrize("what", NONSENSE)
def test_an_answer_that_makes_no_sense_is_met_by_a_new_connection(what: str) -> None:
    """Once; nothing of it counts, as with the loop in Python."""
    at, number = NONSENSE[what]
    with LogBroker(2) as broker:
        for log in broker.logs:
            log.add([b"abc"])

        def mangle(frame: bytes) -> bytes:
            return with_number(frame, at, number) if len(broker.requests) == 1 else frame

        broker.mangle = mangle
        with native_reader(broker, settings=replace(SETTINGS, request_timeout_ms=300)) as one:
            one.add_all()
            came = one.read_all()
        assert [len(came[number].records) for number in range(2)] == [1, 1]
        assert broker.connections == 2
        assert lost_early(one) == []


def test_a_partition_that_nobody_asked_for_is_passed_over() -> None:
    """Whatever it brings; the other one counts, and the one that is left out goes back."""
    with LogBroker(2) as broker:
        for log in broker.logs:
            log.add([b"abc"])
        names: list[bytes] = []

        def mangle(frame: bytes) -> bytes:
            names.append(frame[19:23])  # of the first partition in it
            return with_number(frame, 19, 5) if len(names) == 1 else frame

        broker.mangle = mangle
        with native_reader(broker) as one:
            one.add_all()
            came = one.read_all()
        (lost,) = lost_early(one)
        left_out = lost.claim.topic_partition.partition
        assert (left_out, lost.fetch_offset) == (int.from_bytes(names[0], "big"), 0)
        assert len(came[1 - left_out].records) == 1
        assert broker.connections == 1


@pytest.mark.parametrize("size", [1, 3, 17, 1_000])
def test_an_answer_in_pieces_is_read_as_it_comes(size: int) -> None:
    """Down to byte by byte."""
    with LogBroker(3) as broker:
        broker.pieces = [size]
        for log in broker.logs:
            log.add([b"abc"] * 20)
        with native_reader(broker) as one:
            one.add_all()
            assert all(len(came.records) == 20 for came in one.read_all().values())
