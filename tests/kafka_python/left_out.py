"""Tests of kafka-python that are not run, each with the reason."""

from typing import Final, NamedTuple

PRIVATE: Final = "looks into private attributes of its consumer"
PATCHES: Final = "patches a module of kafka-python's own, which ours does not use"


class LeftOut(NamedTuple):
    """A test that is not run.

    Attributes:
        version: of kafka-python.
        test: ``file::name``.
        reason: why it can't hold for ours.
        brokers: the Kafka versions where it is left out; empty: all.
    """

    version: str
    test: str
    reason: str
    brokers: tuple[str, ...] = ()


_SESSION: Final = (
    "wants an error for a session longer than a request; since 3.0 kafka-python takes it, and so "
    "does ours"
)
_NEW = "test/integration/test_consumer_integration.py::"
_GROUP_2_2 = "test/integration/test_consumer_group.py::"
_OLD, _GROUP_2_0 = "test/test_consumer_integration.py::", "test/test_consumer_group.py::"

LEFT_OUT: Final[tuple[LeftOut, ...]] = (
    LeftOut("3.0.12", f"{_NEW}test_consumer", PRIVATE),
    LeftOut("3.0.12", f"{_NEW}test_group", PRIVATE),
    LeftOut("3.0.12", f"{_NEW}test_heartbeat_thread", PRIVATE),
    LeftOut("3.0.12", f"{_NEW}test_kafka_consumer_unsupported_encoding", PATCHES),
    LeftOut("2.2.15", "test/test_consumer.py::test_assign", PRIVATE),
    LeftOut(
        "2.2.15",
        "test/test_consumer.py::test_session_timeout_larger_than_request_timeout_raises",
        _SESSION,
    ),
    LeftOut("2.2.15", f"{_GROUP_2_2}test_consumer", PRIVATE),
    LeftOut("2.2.15", f"{_GROUP_2_2}test_group", PRIVATE),
    LeftOut("2.2.15", f"{_GROUP_2_2}test_heartbeat_thread", PRIVATE),
    LeftOut("2.2.15", f"{_NEW}test_kafka_version_infer", PRIVATE),
    LeftOut("2.2.15", f"{_NEW}test_kafka_consumer_unsupported_encoding", PATCHES),
    LeftOut(
        "2.0.2",
        "test/test_consumer.py::TestKafkaConsumer"
        "::test_session_timeout_larger_than_request_timeout_raises",
        _SESSION,
    ),
    LeftOut("2.0.2", f"{_GROUP_2_0}test_consumer", PRIVATE),
    LeftOut("2.0.2", f"{_GROUP_2_0}test_group", PRIVATE),
    LeftOut("2.0.2", f"{_GROUP_2_0}test_heartbeat_thread", PRIVATE),
    LeftOut("2.0.2", f"{_OLD}test_kafka_version_infer", PRIVATE),
    LeftOut("2.0.2", f"{_OLD}test_kafka_consumer_unsupported_encoding", PATCHES),
    LeftOut(
        "2.0.2",
        f"{_OLD}test_kafka_consumer_offsets_for_times_errors",
        "wants None for a partition that does not exist; since 2.1 kafka-python raises "
        "KafkaTimeoutError there, and its later tests, which are run, want that",
    ),
    LeftOut(
        "2.0.2",
        f"{_OLD}test_kafka_consumer_offsets_search_many_partitions",
        "wants no leader epoch; since 2.1 kafka-python tells the one that the broker tells, and "
        "its later tests, which are run, want that",
        brokers=("2.8.2", "3.9.1"),
    ),
)


def left_out(version: str, broker: str) -> dict[str, str]:
    """The tests of this kafka-python that are not run on this broker, with the reasons."""
    return {
        case.test: case.reason
        for case in LEFT_OUT
        if case.version == version and (not case.brokers or broker in case.brokers)
    }
