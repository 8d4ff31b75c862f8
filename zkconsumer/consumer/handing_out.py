"""The end of a poll: its caller gets all that was found, or nothing and no commit covers it."""

from collections.abc import Callable
from typing import Final, TypeVar

from zkconsumer.consumer.closing import finish
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.consumer.poll_loop import BrokenOff
from zkconsumer.fetch.polled.starts import PositionView
from zkconsumer.model import TopicPartition

T = TypeVar("T")
Starts = dict[TopicPartition, PositionView]
_NOTHING: Final[Starts] = {}


def deliver(parts: ConsumerComponents, run: Callable[[Starts], T], nothing: Callable[[], T]) -> T:
    """Give the caller what a poll finds; nothing of it, if the consumer is closed meanwhile.

    Nothing may stand between the call of this and the caller but a plain ``return``: what a signal
    handler or another thread does comes before the last step here, or after the caller has it.

    Args:
        parts: of the consumer.
        run: finds something; notes where in each partition that begins.
        nothing: makes what a poll gives that was broken off.

    Raises:
        Exception: what ``run`` raised; what was found is put back then.
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
        # One step, see ``closing``. Who closed before it has taken back what was found; who closes
        # after it commits that, and the caller has it.
        if gate.request is None and (session.pending is starts or not starts):
            session.pending = _NOTHING
            return found
    except BrokenOff:
        failed = False
    except BaseException:
        # A signal handler's, on the way to the caller: he is not to miss what he did not get.
        session.put_back_all(starts)
        raise
    finally:
        here.depth -= 1
        if gate.request is not None and not here.depth:
            finish(parts, quietly=failed)
    return nothing()


def is_ours_still(parts: ConsumerComponents, starts: Starts) -> bool:
    """Return whether what was taken from there on may be handed out; if not, it is put back.

    To be asked when all is made: the process may have been stopped amid that.
    """
    session = parts.session
    if starts.keys() <= session.deliverable():
        return True
    session.put_back_all(starts)
    starts.clear()
    return False
