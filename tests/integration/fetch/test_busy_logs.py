"""Logs of real brokers of all generations that are read at their ends while they are written.

Recent brokers may return records beyond the high watermark of the same response; that is valid.
"""

import logging
from contextlib import ExitStack

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.members import Member
from tests.support.traffic import Traffic
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer
from zkconsumer.model import TopicPartition

pytestmark = pytest.mark.sandbox
ENOUGH = 3_000


@pytest.mark.parametrize("version", ["0.8.2.2", "1.1.1", "2.8.2", "3.9.1"])
def test_a_log_that_grows_while_it_is_read_is_no_damage(
    broker_of: BrokerOf, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Streams and polls read all of it once, in order, without an error or a warning."""
    broker, tp = broker_of(version), TopicPartition(fresh_name("busy"), 0)
    broker.create_topic(tp.topic)
    caplog.set_level(logging.WARNING, logger="zkconsumer.fetch")
    seen: list[int] = []
    with ExitStack() as stack:
        writers = [stack.enter_context(Traffic(broker, [tp])) for _ in range(3)]
        member = stack.enter_context(Member(broker, fresh_name("group"), {tp.topic: 1}))
        consumer = stack.enter_context(KafkaConsumer(bootstrap_servers=broker.bootstrap_servers))
        consumer.assign([tp])
        consumer.seek(tp, 0)

        def is_read_to(end: int) -> bool:
            for records in consumer.poll(timeout_ms=100).values():
                seen.extend(record.offset for record in records)
            return len(seen) >= end and len(member.got(tp)) >= end

        wait_until(lambda: is_read_to(ENOUGH), timeout_s=120, what="enough of them")
        end = max(max(writer.stop()[tp]) for writer in writers) + 1
        wait_until(lambda: is_read_to(end), timeout_s=60, what="the rest")
        assert seen == list(range(end))
        assert member.got(tp) == list(range(end))
        assert member.errors == []
    assert caplog.messages == []
