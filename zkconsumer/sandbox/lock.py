"""Updates ``jars.lock.json``: ``python -m zkconsumer.sandbox.lock``.

It resolves every version of the table, Kafka 4, Spark's connector and the KDC, and hashes every
jar. Run it after a change of the table, and read the difference: a jar whose checksum changed for
the same coordinate must not be trusted.
"""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from zkconsumer.sandbox import maven
from zkconsumer.sandbox.jars import LOCK_FILE, sha256_of
from zkconsumer.sandbox.kdc import COORDINATES as KDC_COORDINATES
from zkconsumer.sandbox.kdc import KDC
from zkconsumer.sandbox.kraft import KRAFT
from zkconsumer.sandbox.lockfile import Jar, JarLock, PinnedJar, render_lock
from zkconsumer.sandbox.spark_connector import CONNECTOR, COORDINATES
from zkconsumer.sandbox.versions import VERSIONS, KafkaVersion


def make_lock(versions: Sequence[KafkaVersion], scratch: Path, repository: str | None) -> JarLock:
    """Resolve and download all jars into ``scratch``, and pin their checksums.

    Raises:
        SandboxError: a version can't be resolved, or a jar can't be downloaded.
    """
    return JarLock(
        {
            version.name: pin(maven.resolve(version, scratch, repository), scratch, repository)
            for version in versions
        }
    )


def pin(jars: Iterable[Jar], scratch: Path, repository: str | None) -> tuple[PinnedJar, ...]:
    """Download jars into ``scratch``, and return them with their checksums, in the same order.

    Raises:
        SandboxError: a jar can't be downloaded.
    """
    return tuple(PinnedJar(jar, sha256_of(maven.fetch(jar, scratch, repository))) for jar in jars)


def main() -> None:
    """Write the lock file next to this module."""
    repository = maven.configured_repository()
    with tempfile.TemporaryDirectory() as scratch:
        kafka = make_lock([*VERSIONS.values(), KRAFT], Path(scratch), repository)
        connector = pin(map(Jar.parse, COORDINATES), Path(scratch), repository)
        kdc = pin(map(Jar.parse, KDC_COORDINATES), Path(scratch), repository)
    lock = JarLock({**kafka, CONNECTOR: connector, KDC: kdc})
    Path(__file__).with_name(LOCK_FILE).write_text(render_lock(lock), "utf-8")


if __name__ == "__main__":
    main()
