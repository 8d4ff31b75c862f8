"""Whatever the target refuses, no position passes an offset that is not in the target."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.mirroring import RecordingLedger, TargetDouble, batch_of
from zkconsumer.errors import MirrorError
from zkconsumer.mirror.writer import Writer
from zkconsumer.model import TopicPartition

SOURCES = [TopicPartition("t", number) for number in range(3)]
TARGETS = [TopicPartition("copy", number) for number in range(3)]

places = st.dictionaries(
    st.sampled_from(SOURCES),
    st.dictionaries(st.integers(0, 30), st.sampled_from(TARGETS), min_size=1, max_size=12),
    min_size=1,
)
responses = st.lists(st.sampled_from([None, None, None, "later: not now", "never"]), max_size=40)


def check_ranges(
    received: RecordingLedger,
    target: TargetDouble,
    chosen: dict[TopicPartition, dict[int, TopicPartition]],
) -> dict[TopicPartition, list[int]]:
    """Check each acknowledged range against the target's logs; return the mirrored offsets."""
    there: dict[TopicPartition, list[int]] = {}
    for line in received.lines:
        for offset, at in line.pairs():
            there.setdefault(line.source, []).append(offset)
            assert target.logs[line.target][at] == b"v%d" % offset
            assert chosen[line.source][offset] == line.target
    return there


def check_order(received: RecordingLedger, target: TargetDouble) -> None:
    """Check that messages keep their order, and that each is in an acknowledged range."""
    for there, log in target.logs.items():
        of_target = [line for line in received.lines if line.target == there]
        assert len(log) == sum(line.count for line in of_target)
        for source in SOURCES:
            found = [
                offset for line in of_target if line.source == source for offset, _ in line.pairs()
            ]
            assert found == sorted(found), "out of order"


@given(places, responses, st.booleans(), st.none() | st.integers(0, 3))
def test_positions_never_pass_missing_offsets(
    chosen: dict[TopicPartition, dict[int, TopicPartition]],
    verdicts: list[str | None],
    drops: bool,
    retries: int | None,
) -> None:
    """Every message before a position was acknowledged once, or dropped and reported."""
    by_target: dict[TopicPartition, dict[TopicPartition, list[int]]] = {}
    for source, of_source in chosen.items():
        for offset, target in sorted(of_source.items()):
            by_target.setdefault(source, {}).setdefault(target, []).append(offset)
    left = list(verdicts)
    target_double = TargetDouble(lambda _value: left.pop(0) if left else None)
    received = RecordingLedger()
    batch = batch_of(by_target)
    writer = Writer(
        target_double.write,
        received,
        is_stopping=lambda: False,
        pause=lambda: None,
        retries=retries,
        drops=drops,
    )
    finished = True
    try:
        writer.write(batch)
    except MirrorError:
        finished = False
    there = check_ranges(received, target_double, chosen)
    for source, offset, _ in received.dropped_ones:
        there.setdefault(source, []).append(offset)
    positions = batch.positions()
    for source, of_source in chosen.items():
        done = sorted(there.get(source, []))
        assert len(done) == len(set(done)), "written twice"
        assert all(offset in done for offset in of_source if offset < positions[source])
        if finished:
            assert done == sorted(of_source)
        else:
            assert positions[source] <= max(of_source) + 1
    if not drops:
        assert received.dropped_ones == []
    check_order(received, target_double)
