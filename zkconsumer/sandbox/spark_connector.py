"""Spark's own Kafka connector: the jars with which Spark reads and writes modern clusters.

Spark leaves them out of its distribution. This release of the connector runs on Spark 4.2 and 4.3,
and takes what else it needs from the jars of Spark itself.
"""

from pathlib import Path

from zkconsumer.sandbox.jars import class_path

CONNECTOR = "spark-connector-4.2.0"
"""Its name in the lock file."""

COORDINATES = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    # 4.2.0 of this was not published. With this one reading and writing were seen to work.
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
"""What it is made of, in class path order."""


def connector_jars() -> list[Path]:
    """Return the connector's jars, from this user's cache; missing ones are downloaded first.

    Give them to Spark as ``spark.jars``, joined by commas, before the session starts.

    Raises:
        SandboxError: a jar could not be had, or has the wrong checksum.
    """
    return class_path(CONNECTOR)
