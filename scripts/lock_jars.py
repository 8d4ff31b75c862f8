"""Updates ``zkconsumer/sandbox/jars.lock.json``: ``python -m scripts.lock_jars``.

It resolves every version of the table, Kafka 4, Spark's connector and the KDC, and hashes every
jar. Run it after a change of the table, and read the difference: a jar whose checksum changed for
the same coordinate must not be trusted.
"""

import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox import jars
from zkconsumer.sandbox.jars import LOCK_FILE, sha256_of
from zkconsumer.sandbox.kdc import KDC
from zkconsumer.sandbox.kraft import KRAFT
from zkconsumer.sandbox.lockfile import FORMAT, Jar, JarLock, PinnedJar
from zkconsumer.sandbox.maven import configured_repository, context, fetch, reason_of
from zkconsumer.sandbox.versions import VERSIONS, KafkaVersion

CONNECTOR: Final = "spark-connector-4.2.0"
"""The name of Spark's Kafka connector in the lock file."""

CONNECTOR_COORDINATES: Final = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    # Version 4.2.0 of this one was not published. Reading and writing work with this version.
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
"""The jars of the connector, in class path order."""

_KERBY: Final = "org.apache.kerby:{}:2.0.3"
_KDC_COORDINATES: Final = (
    "org.apache.hadoop:hadoop-minikdc:3.4.1",
    *(
        _KERBY.format(name)
        for name in (
            *("kerb-simplekdc", "kerb-admin", "kerb-client", "kerb-common", "kerb-core"),
            *("kerb-crypto", "kerb-identity", "kerb-server", "kerb-util"),
            *("kerby-asn1", "kerby-config", "kerby-pkix", "kerby-util"),
        )
    ),
    "commons-io:commons-io:2.16.1",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-reload4j:1.7.36",
    "ch.qos.reload4j:reload4j:1.2.25",
)
"""The jars of the KDC, in class path order: those of its dependencies that it loads."""


def make_lock(versions: Sequence[KafkaVersion], scratch: Path, repository: str | None) -> JarLock:
    """Resolve and download all jars into ``scratch``, and pin their checksums.

    Raises:
        SandboxError: a version can't be resolved, or a jar can't be downloaded.
    """
    return JarLock(
        {
            version.name: pin(resolve(version, scratch, repository), scratch, repository)
            for version in versions
        }
    )


def pin(wanted: Iterable[Jar], scratch: Path, repository: str | None) -> tuple[PinnedJar, ...]:
    """Download jars into ``scratch``, and return them with their checksums, in the same order.

    Raises:
        SandboxError: a jar can't be downloaded.
    """
    return tuple(PinnedJar(jar, sha256_of(fetch(jar, scratch, repository))) for jar in wanted)


def resolve(version: KafkaVersion, cache: Path, repository: str | None) -> list[Jar]:
    """Return the class path of a version: its jar, its extras, then sorted dependencies.

    Raises:
        SandboxError: the repository can't be read.
    """
    from jgo.maven import Dependency, Project  # noqa: PLC0415 - see ``sandbox.maven``

    maven = context(cache, repository)
    own = Jar.parse(version.coordinate)
    excluded = [Project(maven, *name.split(":")) for name in version.excluded]
    root = Dependency(
        maven.project(own.group, own.artifact).at_version(own.version).artifact(),
        exclusions=excluded,
    )
    try:
        _, below = maven.resolver.resolve([root])
    except (OSError, RuntimeError, ValueError) as error:
        raise SandboxError(f"can't resolve {own.coordinate}: {reason_of(error)}") from error
    found = {
        Jar(dependency.groupId, dependency.artifactId, dependency.version)
        for dependency in below
        if f"{dependency.groupId}:{dependency.artifactId}" not in version.excluded
    }
    extra = [Jar.parse(part) for part in version.extra]
    return [own, *extra, *sorted(found - {own, *extra})]


def render_lock(lock: JarLock) -> str:
    """Return the text of a lock file, sorted, so that changes are small differences."""
    sums = {jar.jar.coordinate: jar.sha256 for jars in lock.values() for jar in jars}
    content = {
        "format": FORMAT,
        "versions": {name: [jar.jar.coordinate for jar in jars] for name, jars in lock.items()},
        "sha256": dict(sorted(sums.items())),
    }
    return json.dumps(content, indent=1) + "\n"


def main() -> None:
    """Write the lock file of the sandbox."""
    repository = configured_repository()
    with tempfile.TemporaryDirectory() as scratch:
        kafka = make_lock([*VERSIONS.values(), KRAFT], Path(scratch), repository)
        connector = pin(map(Jar.parse, CONNECTOR_COORDINATES), Path(scratch), repository)
        kdc = pin(map(Jar.parse, _KDC_COORDINATES), Path(scratch), repository)
    lock = JarLock({**kafka, CONNECTOR: connector, KDC: kdc})
    Path(jars.__file__).with_name(LOCK_FILE).write_text(render_lock(lock), "utf-8")


if __name__ == "__main__":
    main()
