"""Accesses the target cluster of a mirror through the Kafka client of Spark's own connector.

The client runs in the driver's JVM, and accepts the same settings (``kafka.*``) as reading and
writing.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from zkconsumer.drain.on_spark.errors import described_by_spark
from zkconsumer.errors import ConfigError, DrainError
from zkconsumer.model import TopicPartition

T = TypeVar("T")
_PREFIX = "kafka."
_ADMIN = "org.apache.kafka.clients.admin.AdminClient"


class TargetCluster:
    """Looks up and creates topics. Every method raises ``DrainError`` on failure.

    Args:
        session: the session, with the connector in its JVM.
        options: options of Spark's Kafka source and sink; at least ``kafka.bootstrap.servers``.

    Raises:
        ConfigError: the session has no Kafka connector.
        DrainError: the JVM has ended.
    """

    def __init__(self, session: SparkSession, options: Mapping[str, str]) -> None:
        # The JVM's types are known at run time only, so py4j returns Any.
        jvm: Any = session._jvm  # noqa: SLF001 - PySpark has no other access
        self._jvm = jvm
        self._servers = options[f"{_PREFIX}bootstrap.servers"]
        self._settings = {
            key.removeprefix(_PREFIX): value
            for key, value in options.items()
            if key.startswith(_PREFIX)
        }
        with described_by_spark(f"the target cluster {self._servers}"):
            loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
            try:
                loader.loadClass(_ADMIN)
            except Py4JJavaError as error:
                raise ConfigError(
                    "--to kafka needs Spark's Kafka connector: give its jars with --jars, or "
                    "--package org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
                ) from error

    def make_topics(self, partitions: Mapping[str, int]) -> None:
        """Create missing topics; check that each has at least its number of partitions.

        Raises:
            DrainError: a topic has fewer; the message names it.
        """
        have = self._request("list its topics", lambda admin: self._counts(admin, partitions))
        missing = {topic: count for topic, count in partitions.items() if topic not in have}
        few = {topic: have[topic] for topic in have if have[topic] < partitions[topic]}
        if few:
            message = ", ".join(
                f"{topic} has {count} of {partitions[topic]}" for topic, count in few.items()
            )
            raise DrainError(
                f"topics of {self._servers} have fewer partitions than those they mirror: "
                f"{message}. Add partitions there, or delete these topics there so that the drain "
                "creates them"
            )
        if missing:
            self._request(
                f"create topics {', '.join(missing)}", lambda admin: self._create(admin, missing)
            )

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the log end offset of each partition."""
        wanted = sorted(partitions)

        def request(admin: Any) -> dict[TopicPartition, int]:
            package = self._jvm.org.apache.kafka
            requested = self._jvm.java.util.HashMap()
            for topic, partition in wanted:
                key = package.common.TopicPartition(topic, partition)
                requested.put(key, package.clients.admin.OffsetSpec.latest())
            found = admin.listOffsets(requested).all().get()
            return {tp: found.get(package.common.TopicPartition(*tp)).offset() for tp in wanted}

        return self._request("return its log ends", request) if wanted else {}

    def _counts(self, admin: Any, wanted: Iterable[str]) -> dict[str, int]:
        there = set(admin.listTopics().names().get())
        requested = self._jvm.java.util.ArrayList()
        for topic in sorted(there & set(wanted)):
            requested.add(topic)
        found = admin.describeTopics(requested).allTopicNames().get()
        return {topic: found.get(topic).partitions().size() for topic in requested}

    def _create(self, admin: Any, topics: Mapping[str, int]) -> None:
        requested = self._jvm.java.util.ArrayList()
        empty = self._jvm.java.util.Optional
        for topic, count in topics.items():
            new = self._jvm.org.apache.kafka.clients.admin.NewTopic
            requested.add(new(topic, empty.of(count), empty.empty()))
        admin.createTopics(requested).all().get()

    def _request(self, what: str, request: Callable[[Any], T]) -> T:
        with described_by_spark(f"the target cluster {self._servers} did not {what}"):
            settings = self._jvm.java.util.HashMap()
            for key, value in self._settings.items():
                settings.put(key, value)
            try:
                admin = self._jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
                try:
                    return request(admin)
                finally:
                    admin.close()
            except Py4JJavaError as error:
                raise DrainError(
                    f"the target cluster {self._servers} did not {what}: {_reason(error)}"
                ) from error


def _reason(error: Py4JJavaError) -> str:
    """Return the message of the innermost cause."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return f"{cause.getClass().getSimpleName()}: {cause.getMessage()}"
