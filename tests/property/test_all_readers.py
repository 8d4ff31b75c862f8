"""Polls and streams read the same from the same logs over a connection, whatever is in them."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.test_fetch_loops import LOGS, VERSIONS, Drawn, fill
from tests.support.log_broker import LogBroker
from tests.support.log_readers import SETTINGS, LogReader, ReceivedRecords
from tests.support.poll_readers import PollReader
from tests.support.shares import examples
from zkconsumer.records.engine import ENGINE


def comparable_results(number: int, received: ReceivedRecords) -> object:
    """Make results comparable: up to a message that is too large, which no poll gets past."""
    faults: list[tuple[int, int | None, str]] = []
    end = received.next_offset
    for offset, behind, text in received.faults:
        is_too_large = text.startswith("message at")
        reason = text.removeprefix(f"t-{number} stopped at offset {offset}: ")
        faults.append((offset, None if is_too_large else behind, reason))
        if is_too_large:
            end = offset
            break
    records = [(record.offset, record.value) for record in received.records if record.offset < end]
    return records, faults, end


@given(
    logs=st.lists(LOGS, min_size=1, max_size=4),
    skip=st.booleans(),
    version=VERSIONS,
    response_bytes=st.sampled_from([1 << 20, 3_000]),
)
@settings(max_examples=examples(50), deadline=None)
def test_polls_find_what_streams_find(
    logs: list[tuple[Drawn, list[tuple[int, int, int]]]],
    skip: bool,
    version: int,
    response_bytes: int,
) -> None:
    """The records, the unreadable offsets and the offsets after them are the same."""
    chosen = replace(SETTINGS, skip_poison=skip, max_bytes=response_bytes)
    with LogBroker(len(logs)) as broker:
        for log, (sets, damages) in zip(broker.logs, logs, strict=True):
            fill(log, sets)
            for entry, at, flip in damages if log.entries else ():
                log.damage(entry % len(log.entries), at, flip)
        with LogReader(broker, ENGINE, settings=chosen, version=version) as reader:
            reader.add_all()
            by_streams = reader.read_all()
        with PollReader(broker, settings=chosen, version=version) as polls:
            by_polls = polls.read_all()
    for number, received in by_streams.items():
        assert comparable_results(number, by_polls[number]) == comparable_results(number, received)
