"""Whether a new leader's log may lack what was read, and where to go on if it does."""

import pytest

from tests.support.chunks import T0, claim_of
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.leader_epochs import Doubt, LeaderEpochs, cut_back_to, is_open
from zkconsumer.model import Broker

ONE, OTHER = b"1" * 16, b"2" * 16


def view_of(
    leader: int, epoch: int, *, is_exact: bool = True, topic_id: bytes | None = None
) -> ClusterView:
    """A view in which this broker leads in this epoch; -1: the view has none."""
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
        # no higher epoch: the metadata is older, or tells none
        (view_of(1, 4), view_of(2, 4), None),
        (view_of(1, 4), view_of(2, 3), None),
        (view_of(1, 4), view_of(2, -1), None),
        (view_of(1, -1), view_of(2, 5), None),
        # any leader would answer a request without the epoch
        (view_of(1, 4), view_of(2, 5, is_exact=False), None),
        # ids that are not known contradict nothing; another one is another topic's
        (view_of(1, 4), view_of(2, 5, topic_id=ONE), Doubt(5, 4)),
        (view_of(1, 4, topic_id=ONE), view_of(2, 5), Doubt(5, 4)),
        (view_of(1, 4, topic_id=ONE), view_of(2, 5, topic_id=ONE), Doubt(5, 4)),
        (view_of(1, 4, topic_id=ONE), view_of(2, 5, topic_id=OTHER), None),
    ],
)
def test_which_leader_is_asked(before: ClusterView, now: ClusterView, doubt: Doubt | None) -> None:
    """One whose log may lack something, and about the epoch in front of its own."""
    epochs, claim = LeaderEpochs(), claim_of(T0)
    assert epochs.doubtful(claim, now) is None
    epochs.note(claim, before)
    assert epochs.doubtful(claim, now) == doubt


def test_an_older_view_makes_the_leader_unknown() -> None:
    """It names a former one; who serves meanwhile is not known, until another view names it."""
    epochs, claim = LeaderEpochs(), claim_of(T0)
    epochs.note(claim, view_of(1, 4))
    epochs.note(claim, view_of(2, 3))
    assert epochs.doubtful(claim, view_of(3, 5)) is None
    epochs.note(claim, view_of(3, 5))
    assert epochs.doubtful(claim, view_of(1, 6)) == Doubt(6, 5)


def test_what_was_noted_of_a_former_claim_does_not_count() -> None:
    """Nobody knows under which leader its offset was committed."""
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
def test_what_its_answer_means(
    end: EpochEnd | int | None, is_asked_again: bool, offset: int
) -> None:
    """Where it goes on after 150 was to be read, and whether that is known by now."""
    assert is_open(end) is is_asked_again
    assert cut_back_to(150, end) == offset
