"""What it means where a leader's epoch ended: was something truncated that was read? Pure.

An unclean election may make a replica lead whose log is shorter than what was read of the last
leader's. The epoch of the last record that was read, and where the new leader's log has the end of
that epoch, tell it (KIP-320). What was fetched ahead and is gone is dropped without a word; what
the caller has already is an error, or a step back where a reset policy is set.

Source: Kafka 3.9 ``SubscriptionState.maybeCompleteValidation``.
"""

from dataclasses import dataclass

from zkconsumer.fetch.core.starts import PositionView


@dataclass(frozen=True, slots=True)
class Sound:
    """All that was fetched is in the leader's log."""


@dataclass(frozen=True, slots=True)
class AheadGone:
    """What the caller has is there; what was fetched ahead is to be fetched anew.

    Attributes:
        start: from where.
    """

    start: PositionView


@dataclass(frozen=True, slots=True)
class Truncated:
    """The caller has records that are no longer in the log.

    Attributes:
        common_end: behind the last record that both share.
    """

    common_end: PositionView


Verdict = Sound | AheadGone | Truncated


def judge(*, position: PositionView, fetched: PositionView, end: PositionView) -> Verdict:
    """Compare what was read with where the leader's log has the end of its epoch.

    Args:
        position: where the caller stands.
        fetched: how far was fetched; not below the position. The question was about its epoch.
        end: the largest epoch of the leader's that is not above that, and where it ended.
    """
    if end.offset >= fetched.offset:
        return Sound()
    if end.offset >= position.offset:
        return AheadGone(position)
    return Truncated(end)
