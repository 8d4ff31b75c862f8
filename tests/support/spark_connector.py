"""The jars of Spark's own Kafka connector, which Spark's distribution does not contain.

This release of the connector runs on Spark 4.2 and 4.3, with other dependencies from Spark's own
jars.
"""

from pathlib import Path

from scripts.lock_jars import CONNECTOR
from zkconsumer.sandbox.jars import class_path


def connector_jars() -> list[Path]:
    """Return the connector's jars, from this user's cache; missing ones are downloaded first.

    They are set as ``spark.jars``, joined by commas, before the session starts.

    Raises:
        SandboxError: a jar can't be downloaded, or has the wrong checksum.
    """
    return class_path(CONNECTOR)
