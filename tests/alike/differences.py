"""The cases whose outcomes differ from kafka-python's by decision, each with its reason.

``python -m tests.alike.differences`` prints the table of docs/migrating-from-kafka-python.md.
"""

import sys
from typing import Final, NamedTuple


class Decision(NamedTuple):
    """Why something differs from kafka-python.

    Attributes:
        cases: the names of the cases that show it.
        what: what a program does.
        theirs: what kafka-python does then.
        ours: what zkconsumer does then.
        why: the reason for the difference.
    """

    cases: tuple[str, ...]
    what: str
    theirs: str
    ours: str
    why: str


DECISIONS: Final[tuple[Decision, ...]] = (
    Decision(
        (
            "settings: made with invalid values",
            "settings: made with unusable security",
            "settings: made with invalid broker addresses",
        ),
        "an invalid setting",
        "accepted, and nothing is read; or `KafkaTimeoutError` after `bootstrap_timeout_ms`",
        "an immediate `KafkaConfigurationError` that names the setting",
        "a time-out does not say which setting is wrong",
    ),
    Decision(
        ("settings: taken: times that are floats",),
        "`request_timeout_ms=30000.0`",
        "`struct.error` in the first fetch",
        "30 seconds",
        "floats without a fraction are accepted wherever an integer is",
    ),
    Decision(
        (
            "commits: commit a list",
            "subscribing: a topic's name for its partitions",
        ),
        "a topic name or a list in place of partitions or offsets",
        "an internal `AttributeError`; `assign` takes the letters of the name for partitions",
        "`IllegalArgumentError`, a `TypeError` and `ValueError`; nothing changes",
        "the message says what is expected",
    ),
    Decision(
        ("commits: commit a negative offset", "commits: commit a text as offset"),
        "`commit` of a negative offset or a string",
        "committed; or `KafkaTimeoutError`",
        "`IllegalArgumentError`",
        "the group would restart at an unexpected offset",
    ),
    Decision(
        ("subscribing: subscribe to a set, and to a generator",),
        "`subscribe` with a set or a generator",
        "`TypeError`",
        "accepted",
        "the meaning is clear",
    ),
    Decision(
        ("subscribing: subscribe to a pattern that can't be",),
        "`subscribe` with an invalid regular expression",
        "`re.error`, and the earlier pattern is lost",
        "`IllegalArgumentError`, a `ValueError`",
        "a failed call changes nothing",
    ),
    Decision(
        ("subscribing: a refused subscribe, and what was subscribed before",),
        "`subscribe` with an object that is not a listener",
        "`TypeError`, but the topics are subscribed to",
        "an error, and the subscription stays as it was",
        "a failed call changes nothing",
    ),
    Decision(
        ("groups: the listener of the first join gets a revocation",),
        "the listener at the first join",
        "is told that nothing was revoked",
        "is called only for the assigned partitions",
        "as in Java",
    ),
    Decision(
        ("groups: the listener of an unsubscribe",),
        "the listener at `unsubscribe()`",
        "is not called",
        "is told that all partitions are revoked, as at `close()`",
        "as in Java: it can commit what was processed",
    ),
    Decision(
        ("programs: commit when partitions go",),
        "`commit()` in a listener during `close()`",
        "`KafkaError`: the consumer has already left the group",
        "commits",
        "the consumer leaves the group afterwards",
    ),
    Decision(
        ("groups: the listener fails",),
        "an exception in the listener",
        "`poll` raises `KafkaError` with the exception as its cause",
        "`poll` raises it unchanged, after the rebalance",
        "a program can catch its own exception",
    ),
    Decision(
        ("settings: config's session_timeout_ms on this broker",),
        "`session_timeout_ms` with brokers before 3.0",
        "30 s",
        "45 s; 30 s if a broker of 0.9 or 0.10.0 allows no more",
        "brokers since 0.10.1 allow it, and fewer live members are removed from the group",
    ),
    Decision(
        ("cluster: bootstrap_connected", "cluster: bootstrap_connected, just made"),
        "`bootstrap_connected()` of a consumer that is connected",
        "False in 3.0, which closes the first connection",
        "True",
        "programs use it for health checks",
    ),
    Decision(
        ("subscribing: a topic that does not exist, without making it",),
        "`allow_auto_create_topics=False`",
        "the topic is created all the same, if the broker allows it",
        "the topic is not created",
        "this is what the setting means",
    ),
    Decision(
        ("records: isinstance of a tuple",),
        "`isinstance(record, tuple)`",
        "True",
        "False, though a record is unpacked, indexed, compared and replaced like one",
        "keys and values are created on access, so most records cost nothing",
    ),
    Decision(
        ("records: an OffsetAndTimestamp of 2.0, without a leader epoch",),
        "`OffsetAndTimestamp(offset, timestamp)`",
        "`TypeError` since 2.1",
        "the leader epoch is -1",
        "programs written for 2.0 call it this way",
    ),
    Decision(
        ("commits: commit a topic that does not exist",),
        "`commit` for a topic that does not exist",
        "`KafkaTimeoutError` after the time-out",
        "an immediate `UnknownTopicOrPartitionError`",
        "a retry would not help",
    ),
    Decision(
        ("commits: commit_async with a callback that is none",),
        "`commit_async` with a callback that can't be called",
        "commits, and the failed callback goes unnoticed",
        "`IllegalArgumentError`, a `TypeError`",
        "the program learns of its mistake",
    ),
    Decision(
        ("errors: are shown with name and text",),
        "`str(error)`",
        "begins with the class's name",
        "says what happened, to what, and what to do",
        "the message is for people; the class is known where it is caught",
    ),
    Decision(
        ("groups: a listener that lacks a method",),
        "a listener without `on_partitions_revoked`",
        "can't be instantiated",
        "a missing method does nothing, if the class is derived from `ConsumerRebalanceListener`",
        "listeners of ZooKeeper groups have further methods, all optional",
    ),
    Decision(
        ("lifecycle: after close: seek",),
        "`seek` after `close()`",
        "does nothing",
        "`ConsumerClosed`, an `IllegalStateError`",
        "the program learns of its mistake",
    ),
    Decision(
        ("settings: a metrics reporter is created and gets metrics",),
        "`metric_reporters`",
        "get every metric",
        "no effect",
        "use [Prometheus or OpenTelemetry](metrics.md)",
    ),
    Decision(
        ("records: the package has AsyncConsumerRebalanceListener",),
        "`AsyncConsumerRebalanceListener`",
        "exists",
        "an `ImportError` that says so",
        "a listener runs in the polling thread, which has no event loop",
    ),
    Decision(
        ("settings: an invalid topic in the constructor",),
        "a topic name of 250 to 255 characters",
        "`ValueError`",
        "accepted",
        "brokers before 0.10 can have such topics",
    ),
    Decision(
        ("measuring: groups", "measuring: metric_group_prefix names the groups"),
        "groups of `metrics()`",
        "three",
        "the same three, and one for each partition",
        "otherwise there is no place for the lag and position of each partition",
    ),
)
BY_DECISION: Final[frozenset[str]] = frozenset(
    name for decision in DECISIONS for name in decision.cases
)


def table() -> str:
    """The decisions as the table of the documentation."""
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
