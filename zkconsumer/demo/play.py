"""Simulates activity on a sandbox, so that the page, ``lag`` and ``doctor`` have something to show.

It writes to topics, and reads them with healthy, slow, stuck and abandoned groups.
"""

import datetime
import logging
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Final, NamedTuple, Self

from zkconsumer.clock import SystemClock
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.demo.lines import log_line
from zkconsumer.errors import ZkConsumerError
from zkconsumer.produce.kafka_producer import KafkaProducer
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import ThreadScope
from zkconsumer.zk.kazoo_store import connect
from zkconsumer.zk.nodes import Registration, encode_registration
from zkconsumer.zk.paths import GroupPaths

log = logging.getLogger(__name__)

TOPICS: Final = {"orders": 6, "clicks": 4, "payments": 2}
_TURN_S: Final = 0.1
_LINES_A_TURN: Final = 3
_RETRY_S: Final = 1.0
_READ_BEFORE_GONE: Final = 100
_ENDING_MS: Final = 15_000
_ZOOKEEPER_MS: Final = 6_000
_GONE_HOST: Final = "host7"
_STUCK: Final = "settlement"


class _Reader(NamedTuple):
    """A member that reads continuously: its group and topic, and how much it polls how often."""

    group_id: str
    topic: str
    max_records: int
    pause_s: float


_READERS: Final = (
    _Reader("billing", "orders", 500, 0.2),
    _Reader("billing", "orders", 500, 0.2),
    _Reader("dashboard", "clicks", 500, 0.2),
    _Reader("reports", "orders", 2, 0.5),
)

WHAT_PLAYS: Final = """\
topics orders, clicks and payments are written to; group billing (two members) and dashboard keep
up, reports is too slow, settlement is stuck (doctor says why, and what helps), archive was left by
its members"""


class Play:
    """Writes to topics of a sandbox, and reads them in groups. Use it as a context manager.

    Args:
        cluster: a running sandbox with a ZooKeeper, and without security.
    """

    def __init__(self, cluster: Sandbox) -> None:
        self._cluster = cluster
        self._stop = threading.Event()
        self._scope = ThreadScope("play")
        self._lines = 0

    def __enter__(self) -> Self:
        for topic, partitions in TOPICS.items():
            # A sandbox that keeps its folder has these topics from an earlier run.
            if not self._cluster.has_topic(topic):
                self._cluster.create_topic(topic, partitions)
        self._begin("writer", self._write)
        for number, reader in enumerate(_READERS):
            self._begin(f"{reader.group_id}-{number}", partial(self._read, reader))
        self._begin(_STUCK, self._get_stuck)
        self._begin("archive", self._leave)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all members and the writer. Idempotent."""
        self._stop.set()
        self._scope.close(_ENDING_MS)

    def _begin(self, role: str, body: Callable[[], None]) -> None:
        def run() -> None:
            try:
                body()
            except ZkConsumerError as error:
                # A Ctrl-C may have ended the servers first.
                if not self._stop.is_set():
                    log.warning("%s of the play ended: %s", role, error)

        self._scope.spawn(role, run, stop=self._stop.set)

    def _write(self) -> None:
        """Write until stopped; if brokers are down, wait for them."""
        is_told = False
        while not self._stop.is_set():
            try:
                self._write_lines()
            except ZkConsumerError as error:
                if not is_told and not self._stop.is_set():
                    log.warning("the play's writer tries again until it can write: %s", error)
                is_told = True
                self._stop.wait(_RETRY_S)

    def _write_lines(self) -> None:
        with KafkaProducer(
            bootstrap_servers=self._cluster.bootstrap_servers,
            value_serializer=str.encode,
            delivery_timeout_ms=5_000,
        ) as producer:
            while not self._stop.wait(_TURN_S):
                now = datetime.datetime.now(datetime.UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
                for topic in TOPICS:
                    for _ in range(_LINES_A_TURN):
                        producer.send(topic, log_line(self._lines, now))
                        self._lines += 1

    def _read(self, reader: _Reader) -> None:
        with self._consumer(reader.group_id, reader.topic) as consumer:
            while not self._stop.is_set():
                consumer.poll(timeout_ms=500, max_records=reader.max_records)
                self._stop.wait(reader.pause_s)

    def _leave(self) -> None:
        """Read some messages, and leave the group for good."""
        read = 0
        with self._consumer("archive", "clicks") as consumer:
            while read < _READ_BEFORE_GONE and not self._stop.is_set():
                read += sum(map(len, consumer.poll(timeout_ms=500).values()))

    def _get_stuck(self) -> None:
        """Read in a group with the registration of a dead member, to which partitions are assigned.

        Real clusters get such registrations if ZooKeeper's data is copied while members run: copies
        of ephemeral nodes are persistent. The group recovers when the registration is deleted,
        which the doctor offers.
        """
        topic = "payments"
        with self._consumer(_STUCK, topic) as consumer:
            begun: set[int] = set()
            # Commit an offset of each partition first, so that all lags are known.
            while len(begun) < TOPICS[topic] and not self._stop.is_set():
                begun.update(tp.partition for tp in consumer.poll(timeout_ms=500))
            if not self._stop.is_set():
                consumer.commit()
                self._register_gone(topic)
            while not self._stop.is_set():
                consumer.poll(timeout_ms=500)
                self._stop.wait(0.2)

    def _register_gone(self, topic: str) -> None:
        """Create a registration without a session, unless an earlier run has created one."""
        now_ms = SystemClock().wall_ms()
        paths = GroupPaths(_STUCK)
        with closing(
            connect(
                self._cluster.zookeeper_connect,
                session_timeout_ms=_ZOOKEEPER_MS,
                connection_timeout_ms=_ZOOKEEPER_MS,
            )
        ) as store:
            left = f"{_STUCK}_{_GONE_HOST}-"
            if any(member.startswith(left) for member in store.children_many([paths.ids])[0] or ()):
                return
            registration = Registration(subscription={topic: 1}, timestamp_ms=now_ms)
            store.create(
                paths.member(f"{left}{now_ms}-1a2b3c4d"),
                encode_registration(registration),
                ephemeral=False,
            )

    def _consumer(self, group_id: str, topic: str) -> KafkaConsumer:
        return KafkaConsumer(
            topic,
            zookeeper_connect=self._cluster.zookeeper_connect,
            group_id=group_id,
            auto_offset_reset="earliest",
            auto_commit_interval_ms=1_000,
        )
