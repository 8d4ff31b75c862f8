"""Both fetch loops read the same from the same logs, whatever is in them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.log_broker import Log, LogBroker
from tests.support.log_readers import SETTINGS, LogReader, ReceivedRecords
from tests.support.queues import needs_native_engine
from zkconsumer.records.batch_header import MAGIC
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.records.engine import Engine
from zkconsumer.wire.messages.fetch import LAST_BY_NAME

pytestmark = needs_native_engine

VERSIONS = st.one_of(st.just(0), st.integers(0, LAST_BY_NAME))
SETS = st.tuples(
    st.lists(st.one_of(st.none(), st.binary(max_size=300)), min_size=1, max_size=8),
    st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.ZSTD]),
    st.integers(0, 2),
)
LARGE = st.tuples(
    st.sampled_from([[3_000], [30_000]]),
    st.sampled_from([Codec.NONE, Codec.GZIP]),
    st.sampled_from([0, 2]),
)
DAMAGE = st.tuples(st.integers(0, 30), st.integers(0, 60), st.integers(1, 255))
LOGS = st.tuples(
    st.lists(st.one_of(SETS, SETS, SETS, LARGE), max_size=12),
    st.lists(DAMAGE, max_size=1),
)


Drawn = list[tuple[list[bytes | int | None], Codec, int]]


def fill(log: Log, sets: Drawn) -> None:
    """Append drawn sets; a number is a value's size, and a commit marker ends each set of nulls."""
    for values, drawn, magic in sets:
        codec = Codec.LZ4 if magic < MAGIC and drawn is Codec.ZSTD else drawn
        log.add(
            [bytes(value) if isinstance(value, int) else value for value in values], codec, magic
        )
        if magic == MAGIC and values[0] is None:
            log.add_marker()


def comparable_results(received: dict[int, ReceivedRecords]) -> dict[int, object]:
    """Make the results comparable."""
    return {
        number: (part.records, part.faults, part.next_offset) for number, part in received.items()
    }


@given(
    logs=st.lists(LOGS, min_size=1, max_size=4),
    pieces=st.lists(st.integers(1, 3_000), max_size=3),
    bounds=st.tuples(st.integers(1, 5), st.sampled_from([None, 3_000, 10_000, 200_000])),
    skip=st.booleans(),
    version=VERSIONS,
    response_bytes=st.sampled_from([1 << 20, 3_000]),
)
@settings(max_examples=50, deadline=None)
def test_both_loops_read_the_same(
    logs: list[tuple[Drawn, list[tuple[int, int, int]]]],
    pieces: list[int],
    bounds: tuple[int, int | None],
    skip: bool,
    version: int,
    response_bytes: int,
) -> None:
    """Records, unreadable offsets and the final offset are the same."""
    received = {}
    for engine in Engine:
        with LogBroker(len(logs)) as broker:
            broker.pieces = pieces
            for log, (sets, damages) in zip(broker.logs, logs, strict=True):
                fill(log, sets)
                for entry, at, flip in damages if log.entries else ():
                    log.damage(entry % len(log.entries), at, flip)
            chosen = replace(
                SETTINGS, skip_poison=skip, max_bytes=response_bytes, grown_bytes=8_000
            )
            reader = LogReader(
                broker,
                engine,
                settings=chosen,
                max_chunks=bounds[0],
                max_bytes=bounds[1],
                version=version,
            )
            with reader:
                reader.add_all()
                received[engine] = comparable_results(reader.read_all())
            assert set(broker.versions) <= {version}
    assert received[Engine.NATIVE] == received[Engine.PURE]


@pytest.mark.parametrize("codec", CODECS_OF_MESSAGES)
def test_a_long_log_is_read_completely(codec: Codec) -> None:
    """It takes many responses, each requested before the one before it was read."""
    with LogBroker(2) as broker:
        for log in broker.logs:
            for number in range(400):
                log.add([b"%d-%d" % (number, at) for at in range(5)], codec)
        with LogReader(broker, Engine.NATIVE, max_chunks=3) as reader:
            reader.add_all()
            received = reader.read_all()
    for part in received.values():
        assert [record.offset for record in part.records] == list(range(2_000))
