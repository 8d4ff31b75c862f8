"""Whether a new leader's log may lack what was read, and where to continue if so."""

import pytest

from tests.support.chunks import T0, claim_of
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.leader_epochs import Doubt, LeaderEpochs, is_open, truncated_to
from zkconsumer.model import Broker

ONE, OTHER = b"1" * 16, b"2" * 16


def view_of(
    leader: int, epoch: int, *, is_exact: bool = True, topic_id: bytes | None = None
) -> ClusterView:
    """Build a view in which this broker leads in this epoch; -1 means no epoch."""
    broker = Broker(leader, "host", 9092)
    return ClusterView(
        brokers={leader: broker},
        leaders={T0: broker},
        leaderless={},
        errors={},
        leader_epochs={T0: epoch} if epoch >= 0 else {},
        has_exact_epochs=is_exact,
        topic_ids={} if topic_id is None else {T0.topic: topic_id},
    )


@pytest.mark.parametrize(
    ("before", "now", "doubt"),
    [
        # another broker in a higher epoch
        (view_of(1, 4), view_of(2, 5), Doubt(5, 4)),
        (view_of(1, 4), view_of(2, 9), Doubt(9, 8)),
        # the same broker has all that it served
        (view_of(1, 4), view_of(1, 5), None),
        # no higher epoch: the metadata is older, or has none
        (view_of(1, 4), view_of(2, 4), None),
        (view_of(1, 4), view_of(2, 3), None),
        (view_of(1, 4), view_of(2, -1), None),
        (view_of(1, -1), view_of(2, 5), None),
        # without an exact epoch the request names none, and any leader would respond
        (view_of(1, 4), view_of(2, 5, is_exact=False), None),
        # an unknown id contradicts nothing; a different id means another topic
        (view_of(1, 4), view_of(2, 5, topic_id=ONE), Doubt(5, 4)),
        (view_of(1, 4, topic_id=ONE), view_of(2, 5), Doubt(5, 4)),
        (view_of(1, 4, topic_id=ONE), view_of(2, 5, topic_id=ONE), Doubt(5, 4)),
        (view_of(1, 4, topic_id=ONE), view_of(2, 5, topic_id=OTHER), None),
    ],
)
def test_a_new_leader_is_doubted_by_its_epoch(
    before: ClusterView, now: ClusterView, doubt: Doubt | None
) -> None:
    """It is asked about the epoch before its own if its log may lack records."""
    epochs, claim = LeaderEpochs(), claim_of(T0)
    assert epochs.doubtful(claim, now) is None
    epochs.note(claim, before)
    assert epochs.doubtful(claim, now) == doubt


def test_an_older_view_makes_the_leader_unknown() -> None:
    """Such a view names a former leader; the current one is unknown until another view comes."""
    epochs, claim = LeaderEpochs(), claim_of(T0)
    epochs.note(claim, view_of(1, 4))
    epochs.note(claim, view_of(2, 3))
    assert epochs.doubtful(claim, view_of(3, 5)) is None
    epochs.note(claim, view_of(3, 5))
    assert epochs.doubtful(claim, view_of(1, 6)) == Doubt(6, 5)


def test_the_epoch_of_a_former_claim_does_not_count() -> None:
    """It is unknown under which leader the new claim's offset was committed."""
    epochs, former, claim = LeaderEpochs(), claim_of(T0), claim_of(T0)
    epochs.note(former, view_of(1, 4))
    assert epochs.doubtful(claim, view_of(2, 5)) is None
    former.active = False
    epochs.forget_inactive()
    assert epochs.doubtful(former, view_of(2, 5)) is None


@pytest.mark.parametrize(
    ("end", "is_asked_again", "offset"),
    [
        (EpochEnd(4, 100), False, 100),
        (EpochEnd(4, 0), False, 0),
        (EpochEnd(4, 150), False, 150),
        (EpochEnd(4, 151), False, 150),
        (EpochEnd(-1, -1), False, 150),
        (None, False, 150),
        (int(ErrorCode.NOT_LEADER_FOR_PARTITION), True, 150),
        (int(ErrorCode.NETWORK_EXCEPTION), True, 150),
        (int(ErrorCode.UNKNOWN), True, 150),
        (int(ErrorCode.TOPIC_AUTHORIZATION_FAILED), False, 150),
    ],
)
def test_the_response_decides_where_reading_continues(
    end: EpochEnd | int | None, is_asked_again: bool, offset: int
) -> None:
    """After offset 150 was to be read; an undecided response is requested again."""
    assert is_open(end) is is_asked_again
    assert truncated_to(150, end) == offset
