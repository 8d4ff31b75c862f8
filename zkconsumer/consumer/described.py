"""Describes a consumer for log lines and debuggers, without secrets and without blocking."""

from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.one_caller import SingleCaller
from zkconsumer.consumer.subscription import Mode, Subscription
from zkconsumer.printable import shortlist, shown


def described_consumer(
    kind: str, config: PollConfig, caller: SingleCaller, subscription: Subscription
) -> str:
    """Return the text of a consumer's ``repr``.

    Thread: any, also in a forked child and in a signal handler: no lock is taken.
    """
    group = "no group" if config.group_id is None else f"group_id={shown(config.group_id)}"
    facts = (group, f"client_id={shown(config.client_id)}", _reads(subscription), _state(caller))
    return f"<{kind} {', '.join(facts)}>"


def _reads(subscription: Subscription) -> str:
    match subscription.mode:
        case Mode.NONE:
            return "nothing subscribed"
        case Mode.ASSIGNED:
            parts = (f"{tp.topic}-{tp.partition}" for tp in subscription.assigned)
            return f"assigned [{shortlist(parts)}]"
        case Mode.TOPICS:
            return f"topics [{shortlist(subscription.topics)}]"
        case Mode.PATTERN:
            return f"pattern, topics [{shortlist(subscription.topics)}]"


def _state(caller: SingleCaller) -> str:
    if caller.is_forked:
        return "forked"
    if caller.closed:
        return "closed"
    return "closing" if caller.is_closing or caller.request is not None else "open"
