"""Writes ``jars.lock.json`` anew: ``python -m zkconsumer.sandbox.lock``.

Resolves every version of the table and hashes every jar. Run it after a change of the table and
read the difference: a jar whose checksum changed for the same coordinate is not to be trusted.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from zkconsumer.sandbox import maven
from zkconsumer.sandbox.jars import LOCK_FILE, sha256_of
from zkconsumer.sandbox.lockfile import JarLock, PinnedJar, render_lock
from zkconsumer.sandbox.versions import VERSIONS, KafkaVersion


def make_lock(versions: Sequence[KafkaVersion], scratch: Path, repository: str | None) -> JarLock:
    """Resolve and download everything into ``scratch``, and pin what came.

    Raises:
        SandboxError: something could not be resolved or downloaded.
    """
    return JarLock(
        {
            version.name: tuple(
                PinnedJar(jar, sha256_of(maven.fetch(jar, scratch, repository)))
                for jar in maven.resolve(version, scratch, repository)
            )
            for version in versions
        }
    )


def main() -> None:
    """Write the file beside this one."""
    with tempfile.TemporaryDirectory() as scratch:
        lock = make_lock(list(VERSIONS.values()), Path(scratch), maven.configured_repository())
    Path(__file__).with_name(LOCK_FILE).write_text(render_lock(lock), "utf-8")


if __name__ == "__main__":
    main()
