"""A member of a ZooKeeper group with the poll API, polled by a thread of its own."""

import itertools
import threading
from collections.abc import Mapping

from tests.interop.mixed_group import MixedGroup
from tests.support.recorded import declare
from tests.support.zk_credentials import credentials_of
from zkconsumer import ConsumerRecord, KafkaConsumer, TopicPartition
from zkconsumer.membership.zookeeper.polled.member import ZookeeperMember
from zkconsumer.scope import ThreadScope

TIMINGS: Mapping[str, object] = {
    "zookeeper_session_timeout_ms": 3000,
    "zookeeper_sync_time_ms": 200,
    "rebalance_backoff_ms": 250,
    "rebalance_max_retries": 20,
    "auto_commit_interval_ms": 200,
    "fetch_max_wait_ms": 50,
    "metadata_max_age_ms": 500,
}
_numbers = itertools.count(1)
ListenerCall = tuple[str, frozenset[int]]


class PollingMember:
    """Polls in a thread, as a program does: a poll's records are delivered before the next poll.

    Args:
        group: the group that it joins, and whose recorder records every poll.
        topics: the topics that it subscribes to.
        pattern: or a pattern.
        settings: on top of ``TIMINGS``.

    Attributes:
        records: what was delivered.
        received: the calls of the rebalance listener, with partition numbers.
        polling: while it is cleared, the thread processes the last poll's records.
    """

    def __init__(
        self,
        group: MixedGroup,
        *topics: str,
        pattern: str | None = None,
        **settings: object,
    ) -> None:
        given: dict[str, object] = {
            "auto_offset_reset": "earliest",
            "consumer_id": f"polling-{next(_numbers)}",
            **TIMINGS,
            **settings,
        }
        self.records: list[ConsumerRecord] = []
        self.received: list[ListenerCall] = []
        self.polling = threading.Event()
        self.polling.set()
        self.idle = threading.Event()
        self._stopped = False
        zookeeper = group.cluster.zookeeper_connect
        given |= {"zookeeper_connect": zookeeper, "group_id": group.name}
        self._consumer = KafkaConsumer(config=given)
        self._member = f"{group.name}_{given['consumer_id']}"
        self._recorder = group.recorder
        declare(self._recorder, self._member, _settings(given))
        self._scope = ThreadScope(f"polls of {group.name}")
        try:
            self._consumer.subscribe(topics, pattern=pattern, listener=self)
            self._scope.spawn("poll", self._run, stop=self._stop)
        except BaseException:
            self._consumer.close()
            raise

    @property
    def values(self) -> list[str]:
        """The values delivered so far."""
        return [(record.value or b"").decode() for record in list(self.records)]

    @property
    def assigned(self) -> frozenset[int]:
        """The partitions that it owns, according to the listener's calls."""
        now: frozenset[int] = frozenset()
        for what, numbers in list(self.received):
            now = now | numbers if what == "assigned" else now - numbers
        return now

    @property
    def session(self) -> tuple[int, bytes]:
        """Id and password of its ZooKeeper session, to expire it."""
        membership = self._consumer._parts.session.membership
        assert isinstance(membership, ZookeeperMember)
        return credentials_of(membership._context.store)

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """See ``ConsumerRebalanceListener``."""
        self._on_notice("assigned", assigned)

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """See ``ConsumerRebalanceListener``."""
        self._on_notice("revoked", revoked)

    def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
        """See ``ConsumerRebalanceListener``."""
        self._on_notice("lost", lost)

    def stop_polling(self) -> None:
        """Stop polling until ``polling`` is set; return when it has stopped."""
        self.idle.clear()
        self.polling.clear()
        assert self.idle.wait(20)

    def leave(self) -> None:
        """Close the consumer; raise the thread's error, if there is one."""
        assert self._scope.close(30_000) == []
        error = self._scope.first_error()
        if error is not None:
            raise error

    def _on_notice(self, what: str, partitions: set[TopicPartition]) -> None:
        self.received.append((what, frozenset(partition.partition for partition in partitions)))

    def _stop(self) -> None:
        self._stopped = True
        self.polling.set()

    def _poll(self, consumer: KafkaConsumer) -> None:
        reader = f"{self._member}/0"
        self._recorder.requests(reader)
        records = [
            consumer_record
            for some in consumer.poll(timeout_ms=100).values()
            for consumer_record in some
        ]
        messages = [
            (record.topic, record.partition, record.offset, (record.value or b"").decode())
            for record in records
        ]
        self._recorder.given(reader, self._member, messages)
        self.records.extend(records)

    def _run(self) -> None:
        with self._consumer as consumer:
            while not self._stopped:
                self._poll(consumer)
                if not self.polling.is_set():
                    self.idle.set()
                    self.polling.wait()
            self._recorder.add(f"{self._member}/0", "invoke", "close")


def _settings(given: Mapping[str, object]) -> dict[str, str]:
    """Return the settings that promises depend on, under a connector's names."""
    commits = {True: "true", False: "false"}[bool(given.get("enable_auto_commit", True))]
    return {
        "zookeeper.session.timeout.ms": str(given["zookeeper_session_timeout_ms"]),
        "auto.offset.reset": "smallest" if given["auto_offset_reset"] == "earliest" else "largest",
        "offsets.storage": str(given.get("offsets_storage", "zookeeper")),
        "auto.commit.enable": commits,
    }
