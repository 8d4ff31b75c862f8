"""Detect from the end of a leader's epoch whether records that were read were truncated. Pure.

An unclean election may elect a replica whose log is shorter than what was read from the last
leader. The last fetched record's epoch, and its end offset in the new leader's log, show that
(KIP-320). Lost records that were only fetched ahead are dropped silently. If the caller has some
of the lost ones, that is an error, or with a reset policy the position steps back.

Source: Kafka 3.9 ``SubscriptionState.maybeCompleteValidation``.
"""

from dataclasses import dataclass

from zkconsumer.fetch.core.starts import PositionView


@dataclass(frozen=True, slots=True)
class Sound:
    """Report that the leader's log has all that was fetched."""


@dataclass(frozen=True, slots=True)
class AheadGone:
    """Report that only records fetched ahead are lost: they are to be fetched again.

    Attributes:
        start: the offset to fetch from.
    """

    start: PositionView


@dataclass(frozen=True, slots=True)
class Truncated:
    """Report that the caller has records that are no longer in the log.

    Attributes:
        common_end: the offset after the last record that both logs share.
    """

    common_end: PositionView


Verdict = Sound | AheadGone | Truncated


def judge(*, position: PositionView, fetched: PositionView, end: PositionView) -> Verdict:
    """Compare what was fetched with the end of its epoch in the leader's log.

    Args:
        position: the caller's position.
        fetched: the fetch position; not below ``position``. Its epoch was looked up.
        end: the leader's largest epoch not above that one, and its end offset.
    """
    if end.offset >= fetched.offset:
        return Sound()
    if end.offset >= position.offset:
        return AheadGone(position)
    return Truncated(end)
