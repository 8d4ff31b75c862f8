"""Ends a poll: either the caller gets all its records, or none of them is committed."""

from collections.abc import Callable
from typing import Final, TypeVar

from zkconsumer.consumer.closing import finish
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.consumer.poll_loop import BrokenOff
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.model import TopicPartition

T = TypeVar("T")
Starts = dict[TopicPartition, PositionView]
_NOTHING: Final[Starts] = {}


def deliver(parts: ConsumerComponents, run: Callable[[Starts], T], nothing: Callable[[], T]) -> T:
    """Return the records of a poll; none of them if the consumer is closed meanwhile.

    The public method must ``return`` the result directly: so a signal handler or another thread
    acts either before the last step here, or when the caller already has the records.

    Args:
        parts: the consumer's components.
        run: takes records, and stores their start positions.
        nothing: creates the result of an interrupted poll.

    Raises:
        Exception: an exception of ``run``; the records are put back.
    """
    session, gate = parts.session, parts.one_caller
    here = gate.here
    starts: Starts = {}
    failed = True
    here.depth += 1
    try:
        here.polls = gate.polled = True
        with gate:
            found = run(starts)
        failed = False
        # One uninterrupted step, see ``closing``. A close before it has put the records back; a
        # close after it commits them, and the caller has them.
        if gate.request is None and (session.positions.pending is starts or not starts):
            session.positions.pending = _NOTHING
            return found
    except BrokenOff:
        failed = False
    except BaseException:
        # Raised before the caller got the records, perhaps by a signal handler: put them back.
        session.positions.put_back_all(starts)
        raise
    finally:
        here.depth -= 1
        if gate.request is not None and not here.depth:
            finish(parts, quietly=failed)
    return nothing()


def confirm_or_put_back(parts: ConsumerComponents, starts: Starts) -> bool:
    """Put the taken records back if their partitions may have other owners by now.

    Call it when the result is complete: the process may have been suspended meanwhile.

    Args:
        parts: the consumer's components.
        starts: the start positions of the taken records; emptied if they are put back.

    Returns:
        True if the taken records may be handed out.
    """
    session = parts.session
    if starts.keys() <= session.deliverable():
        return True
    session.positions.put_back_all(starts)
    starts.clear()
    return False
