"""Where a group continues in the target."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.mirror.landed import Landed, Line, ReadFrom, ReadUntil, runs_of
from zkconsumer.mirror.translation import translate
from zkconsumer.model import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def landed(start: int, until: int, at: int, source: TopicPartition = T0) -> Landed:
    """Return a line about consecutive messages."""
    return Landed(source, ((start, until),), source, at)


def test_an_offset_is_translated_to_that_of_its_message() -> None:
    """This holds in the middle of a line, at its end, and at the start."""
    lines: list[Line] = [ReadFrom(T0, 0), landed(0, 400, 7200), landed(400, 500, 7600)]
    for offset, expected in ((0, 7200), (399, 7599), (400, 7600), (500, 7700)):
        found = translate({T0: offset}, lines)
        assert found.offsets == {T0: expected}
        assert not found.not_yet


def test_offsets_that_are_not_mirrored_yet_are_reported() -> None:
    """This includes a partition without a line; one that was never read needs nothing."""
    lines: list[Line] = [ReadFrom(T0, 0), landed(0, 400, 0)]
    assert translate({T0: 401, T1: 5}, lines).not_yet == {T0, T1}
    assert translate({T0: 400, T1: 0}, lines).not_yet == frozenset()


def test_gaps_are_skipped() -> None:
    """An offset without a message is translated to that of the next message."""
    lines: list[Line] = [ReadFrom(T0, 0), Landed(T0, ((10, 12), (20, 22)), T0, 100)]
    translated = {
        offset: translate({T0: offset}, lines).offsets[T0] for offset in (0, 11, 15, 20, 22)
    }
    assert translated == {0: 100, 11: 101, 15: 102, 20: 102, 22: 104}


def test_messages_that_no_mirror_read_are_not_skipped() -> None:
    """Messages before the mirror began, or between two processes, may exist only in the source."""
    late: list[Line] = [ReadFrom(T0, 500), landed(500, 600, 0)]
    assert translate({T0: 300}, late).unread == {T0: 500}
    assert not translate({T0: 500}, late).unread
    jumped: list[Line] = [
        ReadFrom(T0, 0),
        landed(0, 100, 0),
        ReadFrom(T0, 200),
        landed(200, 300, 100),
    ]
    for offset in (100, 150):
        assert translate({T0: offset}, jumped).unread == {T0: 200}
    for offset in (50, 200, 300):
        assert not translate({T0: offset}, jumped).unread
    ended: list[Line] = [ReadFrom(T0, 0), landed(0, 5, 0), ReadFrom(T0, 9)]
    assert translate({T0: 5}, ended).unread == {T0: 9}


def test_a_mirror_that_restarts_after_a_gap_has_skipped_nothing() -> None:
    """Transaction markers and compacted messages are read, but not written."""
    gap: list[Line] = [ReadFrom(T0, 0), landed(0, 100, 0), ReadUntil(T0, 110)]
    went_on: list[Line] = [*gap, ReadFrom(T0, 110), landed(110, 120, 100)]
    for offset in (99, 100, 105, 110, 115, 120):
        assert not translate({T0: offset}, went_on).unread
    assert translate({T0: 105}, went_on).offsets == {T0: 100}
    assert not translate({T0: 110}, [*gap]).not_yet
    assert translate({T0: 111}, [*gap]).not_yet == {T0}
    came_back: list[Line] = [*gap, ReadFrom(T0, 200), landed(200, 210, 150)]
    for offset in (100, 105, 110, 150):
        assert translate({T0: offset}, came_back).unread == {T0: 200}
    others: list[Line] = [ReadFrom(T0, 108), landed(111, 200, 100)]
    for offset in (105, 110, 150, 200, 205):
        assert not translate({T0: offset}, [*came_back, *others]).unread


def test_a_dropped_message_is_read_and_has_no_target_offset() -> None:
    """Such a partition gets no offset, and is reported."""
    lines: list[Line] = [ReadFrom(T0, 0), ReadUntil(T0, 1)]
    found = translate({T0: 1}, lines)
    assert not found.not_yet
    assert found.without == {T0}
    assert not found.offsets


def test_a_line_without_a_beginning_begins_at_its_first_offset() -> None:
    """Nothing is known of messages before it."""
    assert translate({T0: 3}, [landed(10, 12, 0)]).unread == {T0: 10}


def test_partitions_without_an_offset_count_as_unread_in_mixed_targets() -> None:
    """By key, a target partition has messages of several source partitions, which all count."""
    mixed: list[Line] = [Landed(T1, ((0, 70),), T0, 0), Landed(T0, ((0, 50),), T0, 70)]
    assert translate({T0: 20}, mixed).offsets == {T0: 0}


def test_partitions_without_messages_are_reported() -> None:
    """No offset can be written for them."""
    lines: list[Line] = [ReadFrom(T0, 0), landed(0, 5, 7)]
    assert translate({T0: 0, T1: 0}, lines).without == {T1}
    assert translate({T1: 0}, [ReadFrom(T1, 0)]).without == {T1}


@st.composite
def mirrored(draw: st.DrawFn) -> tuple[list[int], list[Line]]:
    """Return source offsets, and the lines of a mirror that was killed a few times."""
    offsets = sorted(draw(st.sets(st.integers(0, 60), min_size=1, max_size=12)))
    lines: list[Line] = [ReadFrom(T0, 0)]
    position, at = 0, draw(st.integers(0, 9))
    kills = draw(st.integers(0, 3))
    while position < len(offsets):
        count = draw(st.integers(1, 7))
        chosen = offsets[position : position + count]
        lines.append(Landed(T0, runs_of(chosen), T0, at))
        at += len(chosen) + draw(st.integers(0, 3))  # of others, or copies without a line
        kills -= 1
        position = max(0, position - 3) if kills >= 0 else position + len(chosen)
    return offsets, lines


@given(mirrored(), st.integers(0, 62))
def test_nothing_is_skipped_and_only_copies_are_repeated(
    world: tuple[list[int], list[Line]], offset: int
) -> None:
    """Every unread message comes after the offset; messages already read only come as copies."""
    offsets, lines = world
    found = translate({T0: offset}, lines)
    if offset > offsets[-1] + 1:
        assert found.not_yet == {T0}
        return
    start = found.offsets[T0]
    log = {at: source for line in lines if isinstance(line, Landed) for source, at in line.pairs()}
    assert {source for at, source in log.items() if at >= start} >= {
        source for source in offsets if source >= offset
    }
    firsts: dict[int, int] = {}
    for at, source in sorted(log.items()):
        firsts.setdefault(source, at)
    assert all(at < start for source, at in firsts.items() if source < offset)
