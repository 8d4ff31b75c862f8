"""Cases that come out differently because that was decided, each with its reason.

``python -m tests.alike.differences`` prints the table of docs/migrating-from-kafka-python.md.
"""

import sys
from typing import Final, NamedTuple


class Decision(NamedTuple):
    """Why something is not as in kafka-python.

    Attributes:
        cases: the names of the cases that show it.
        what: what one does.
        theirs: what comes of it there.
        ours: what comes of it here.
        why: the reason.
    """

    cases: tuple[str, ...]
    what: str
    theirs: str
    ours: str
    why: str


DECISIONS: Final[tuple[Decision, ...]] = (
    Decision(
        (
            "settings: made with values that can't be",
            "settings: made with security that can't work",
            "settings: made with brokers that are no addresses",
        ),
        "a setting that can't work",
        "is taken, and nothing is read; or `KafkaTimeoutError` when `bootstrap_timeout_ms` is over",
        "`KafkaConfigurationError` at once, which names the setting",
        "a time-out does not say what to write",
    ),
    Decision(
        ("settings: taken: times that are floats",),
        "`request_timeout_ms=30000.0`",
        "`struct.error` in the first fetch",
        "30 seconds",
        "whole floats are taken for every number",
    ),
    Decision(
        (
            "commits: commit a list",
            "subscribing: a topic's name for its partitions",
        ),
        "a topic's name, or a list, where partitions or offsets are wanted",
        "`AttributeError` of its inside; `assign` then goes on with letters for partitions",
        "`IllegalArgumentError`, a `TypeError` and `ValueError`; nothing changes",
        "the message says what is wanted",
    ),
    Decision(
        ("commits: commit a negative offset", "commits: commit a text as offset"),
        "an offset below 0, or a text, in `commit`",
        "is committed; or `KafkaTimeoutError`",
        "`IllegalArgumentError`",
        "the group would start anew where nobody expects it",
    ),
    Decision(
        ("subscribing: subscribe to a set, and to a generator",),
        "`subscribe` with a set or a generator",
        "`TypeError`",
        "taken",
        "nothing else can be meant",
    ),
    Decision(
        ("subscribing: subscribe to a pattern that can't be",),
        "a pattern that is no regular expression",
        "`re.error`, and the pattern before is forgotten",
        "`IllegalArgumentError`, a `ValueError`",
        "a refused call changes nothing",
    ),
    Decision(
        ("subscribing: a refused subscribe, and what was subscribed before",),
        "`subscribe` with a listener that is none",
        "`TypeError`, but the topics are subscribed",
        "an error, and the subscription stays as it was",
        "a refused call changes nothing",
    ),
    Decision(
        ("groups: the listener of the first join hears of a revocation",),
        "the listener at the first join",
        "hears that nothing was revoked",
        "hears of what there is only",
        "as in Java",
    ),
    Decision(
        ("groups: the listener of an unsubscribe",),
        "the listener at `unsubscribe()`",
        "hears nothing",
        "hears that all is revoked, as at `close()`",
        "as in Java: it can commit what it has done",
    ),
    Decision(
        ("programs: commit when partitions go",),
        "`commit()` of a listener at `close()`",
        "`KafkaError`: the group is left already",
        "commits",
        "the group is left afterwards",
    ),
    Decision(
        ("groups: the listener fails",),
        "an exception of the listener",
        "`KafkaError` out of `poll`, the exception is its cause",
        "comes out of `poll` itself, when the rebalance is through",
        "a program that catches its own exception finds it",
    ),
    Decision(
        ("settings: config's session_timeout_ms on this broker",),
        "`session_timeout_ms` with brokers before 3.0",
        "30 s",
        "45 s; 30 s where a broker of 0.9 or 0.10.0 takes no more",
        "brokers since 0.10.1 take it, and fewer members are taken for dead",
    ),
    Decision(
        ("cluster: bootstrap_connected", "cluster: bootstrap_connected, just made"),
        "`bootstrap_connected()` of a consumer that is connected",
        "False in 3.0, which closes the first connection",
        "True",
        "programs ask it for their health",
    ),
    Decision(
        ("subscribing: a topic that does not exist, without making it",),
        "`allow_auto_create_topics=False`",
        "the topic is made all the same, where the broker allows it",
        "it is not",
        "that is what the setting says",
    ),
    Decision(
        ("records: isinstance of a tuple",),
        "`isinstance(record, tuple)`",
        "True",
        "False, though a record is unpacked, indexed, compared and replaced like one",
        "a key or value is made when it is asked for, so most records cost nothing",
    ),
    Decision(
        ("records: an OffsetAndTimestamp of 2.0, without a leader epoch",),
        "`OffsetAndTimestamp(offset, timestamp)`",
        "`TypeError` since 2.1",
        "the leader epoch is -1",
        "programs of 2.0 make it so",
    ),
    Decision(
        ("commits: commit a topic that does not exist",),
        "`commit` for a topic that does not exist",
        "`KafkaTimeoutError` when the time is over",
        "`UnknownTopicOrPartitionError` at once",
        "another try would not help",
    ),
    Decision(
        ("commits: commit_async with a callback that is none",),
        "`commit_async` with a callback that can't be called",
        "commits, and fails where nobody hears it",
        "`IllegalArgumentError`, a `TypeError`",
        "the program is told",
    ),
    Decision(
        ("errors: are shown with name and text",),
        "`str(error)`",
        "begins with the class's name",
        "says what happened, to what, and what to do",
        "whoever prints an error knows its class, or does not want to",
    ),
    Decision(
        ("groups: a listener that lacks a method",),
        "a listener without `on_partitions_revoked`",
        "can't be made",
        "what is missing does nothing, where it is derived from `ConsumerRebalanceListener`",
        "listeners of ZooKeeper groups have further methods, none of them needed",
    ),
    Decision(
        ("lifecycle: after close: seek",),
        "`seek` after `close()`",
        "does nothing",
        "`ConsumerClosed`, an `IllegalStateError`",
        "the program is told",
    ),
    Decision(
        ("settings: a metrics reporter is made and told of metrics",),
        "`metric_reporters`",
        "are told of each number",
        "no effect",
        "[Prometheus and OpenTelemetry](metrics.md) have doors of their own",
    ),
    Decision(
        ("records: the package has AsyncConsumerRebalanceListener",),
        "`AsyncConsumerRebalanceListener`",
        "there",
        "an `ImportError` that says so",
        "a listener runs in the thread that polls, which has no loop of its own",
    ),
    Decision(
        ("settings: a topic that can't be, in the constructor",),
        "a topic's name of 250 to 255 letters",
        "`ValueError`",
        "taken",
        "brokers before 0.10 have such topics",
    ),
    Decision(
        ("measuring: groups", "measuring: metric_group_prefix names the groups"),
        "groups of `metrics()`",
        "three",
        "those, and one for each partition",
        "lag and position of each partition have no place there",
    ),
)
BY_DECISION: Final[frozenset[str]] = frozenset(
    name for decision in DECISIONS for name in decision.cases
)


def table() -> str:
    """The decisions, as the documentation has them."""
    head = ["| what | kafka-python | here | why |", "|---|---|---|---|"]
    return "\n".join(
        head
        + [
            f"| {decision.what} | {decision.theirs} | {decision.ours} | {decision.why} |"
            for decision in DECISIONS
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
