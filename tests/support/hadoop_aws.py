"""Hadoop's file system ``s3a://`` for the project's Spark: pinned jars, and settings.

Hadoop depends on the whole AWS SDK, a jar of 690 MB; these are the 33 modules that ``s3a://``
loads, 14 MB together. ``python -m tests.support.hadoop_aws`` pins them again.
"""

import os
import tempfile
from pathlib import Path
from typing import Final

from scripts.lock_jars import pin, render_lock
from zkconsumer.sandbox import maven
from zkconsumer.sandbox.jars import user_cache
from zkconsumer.sandbox.lockfile import Jar, JarLock, parse_lock

_HADOOP: Final = "3.5.0"
"""The version in the project's Spark."""
_SDK: Final = "2.35.4"
_MODULES: Final = (
    *("annotations", "apache-client", "arns", "auth", "aws-core", "aws-query-protocol"),
    *("aws-xml-protocol", "checksums", "checksums-spi", "crt-core", "endpoints-spi", "http-auth"),
    *("http-auth-aws", "http-auth-aws-eventstream", "http-auth-spi", "http-client-spi"),
    *("identity-spi", "json-utils", "metrics-spi", "netty-nio-client", "profiles"),
    *("protocol-core", "regions", "retries", "retries-spi", "s3", "s3-transfer-manager"),
    *("sdk-core", "sts", "third-party-jackson-core", "utils", "utils-lite"),
)
_COORDINATES: Final = (
    f"org.apache.hadoop:hadoop-aws:{_HADOOP}",
    "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1",
    "software.amazon.eventstream:eventstream:1.0.1",
    "org.reactivestreams:reactive-streams:1.0.4",
    *(f"software.amazon.awssdk:{module}:{_SDK}" for module in _MODULES),
)
_LOCK: Final = Path(__file__).with_name("hadoop_aws.lock.json")


def hadoop_aws_jars() -> list[Path]:
    """Return the jars, from this user's cache; missing ones are downloaded first."""
    return user_cache().class_path(parse_lock(_LOCK.read_text())[_HADOOP])


def s3a_settings() -> dict[str, str]:
    """Return Hadoop's settings for the server that ``s3_server`` put into the environment."""
    return {
        "fs.s3a.endpoint": os.environ["AWS_ENDPOINT_URL"],
        "fs.s3a.endpoint.region": os.environ["AWS_REGION"],
        "fs.s3a.access.key": os.environ["AWS_ACCESS_KEY_ID"],
        "fs.s3a.secret.key": os.environ["AWS_SECRET_ACCESS_KEY"],
        "fs.s3a.path.style.access": "true",
        # Other tests' servers had a bucket of the same name.
        "fs.s3a.impl.disable.cache": "true",
    }


def s3a_words() -> tuple[str, ...]:
    """Return jars and settings as arguments of the command line."""
    settings = (f"spark.hadoop.{name}={value}" for name, value in s3a_settings().items())
    jars = ",".join(map(str, hadoop_aws_jars()))
    return ("--jars", jars, *(word for setting in settings for word in ("--conf", setting)))


def main() -> None:
    """Write the lock file of the jars beside this file."""
    repository = maven.configured_repository()
    with tempfile.TemporaryDirectory() as scratch:
        lock = JarLock({_HADOOP: pin(map(Jar.parse, _COORDINATES), Path(scratch), repository)})
    _LOCK.write_text(render_lock(lock), "utf-8")


if __name__ == "__main__":
    main()
