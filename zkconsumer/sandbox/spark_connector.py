"""Provides the jars of Spark's own Kafka connector, for modern clusters.

Spark's distribution does not contain them. This release of the connector runs on Spark 4.2 and 4.3,
with other dependencies from Spark's own jars.
"""

from pathlib import Path

from zkconsumer.sandbox.jars import class_path

CONNECTOR = "spark-connector-4.2.0"
"""The name of the connector in the lock file."""

COORDINATES = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    # Version 4.2.0 of this one was not published. Reading and writing work with this version.
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
"""The jars of the connector, in class path order."""


def connector_jars() -> list[Path]:
    """Return the connector's jars, from this user's cache; missing ones are downloaded first.

    They are set as ``spark.jars``, joined by commas, before the session starts.

    Raises:
        SandboxError: a jar can't be downloaded, or has the wrong checksum.
    """
    return class_path(CONNECTOR)
